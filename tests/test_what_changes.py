"""The table of the README on what changes, row by row, and a small broad crawl."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

_ROOT = Path(__file__).parents[1]
_README = (_ROOT / "README.md").read_text(encoding="utf-8")
_ROWS = _README.partition("| case |")[2].partition("\n\n")[0].splitlines()[2:]


@pytest.mark.parametrize("number", range(8))
def test_crawl_does_what_the_readme_says(number: int) -> None:
    command = [sys.executable, "benchmarks/before_after.py", "--row", str(number)]
    done = subprocess.run(command, cwd=_ROOT, capture_output=True, text=True, check=True)
    fact, figure = done.stdout.strip("| \n").rsplit(" | ", 1)
    row = next(row for row in _ROWS if row.startswith(f"| {fact} |"))
    assert figure == row.split("|")[-2].strip()


@pytest.mark.at_length
def test_small_broad_crawl(tmp_path: Path) -> None:
    """The table and the picture of broad crawls, of few hosts."""
    picture = tmp_path / "broad.svg"
    command = [sys.executable, "benchmarks/broad.py", "--hosts", "20", "--seconds", "4"]
    done = subprocess.run(
        [*command, "--picture", str(picture)],
        cwd=_ROOT,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    cells = [line.strip("| ").split(" | ") for line in done.stdout.splitlines()]
    ours = {name: int(count.replace(",", "")) for name, _, count in cells[2:]}
    assert ours["allowed pages downloaded"] > 0
    forbidden = [name for name in ours if "disallows" in name or "unreachable" in name]
    assert [ours[name] for name in forbidden] == [0, 0]
    assert ET.parse(picture).getroot().tag.endswith("svg")

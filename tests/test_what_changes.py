"""The first table of the README, row by row: what a site receives from a crawl with scrapy-rep."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

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
    stated = int(row.split("|")[-2])
    if "MB" in fact:  # what the kernel buffers was sent, too
        assert int(figure) < stated + 10
    else:
        assert int(figure) == stated

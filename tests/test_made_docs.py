"""docs/lint, docs/screens and docs/examples are what their scripts make of the code."""

from __future__ import annotations

import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from scrapy_rep.analysis.checks.codes import Code

_DOCS = Path(__file__).parents[1] / "docs"


@pytest.mark.parametrize(
    ("script", "folder", "suffix"),
    [
        ("make_lint.py", "lint", ".md"),
        pytest.param("make_screens.py", "screens", ".svg", marks=pytest.mark.slow),
        pytest.param("make_report.py", "examples", ".html", marks=pytest.mark.slow),
    ],
)
def test_up_to_date(script: str, folder: str, suffix: str, tmp_path: Path) -> None:
    subprocess.run([sys.executable, _DOCS / script, tmp_path], check=True)
    made = {path.name: path.read_text(encoding="utf-8") for path in tmp_path.iterdir()}
    kept = {
        path.name: path.read_text(encoding="utf-8")
        for path in (_DOCS / folder).iterdir()
        if path.suffix == suffix
    }
    assert kept.keys() == made.keys()
    stale = [name for name in made if made[name] != kept[name]]
    assert stale == [], f"run: python docs/{script}"


def test_each_code_has_a_page() -> None:
    assert {code.value for code in Code} == {path.stem for path in (_DOCS / "lint").glob("REP*.md")}


@pytest.mark.parametrize("name", ["check", "lint", "diff", "agents"])
def test_screens_show_what_they_should(name: str) -> None:
    tree = ET.parse(_DOCS / "screens" / f"{name}.svg")
    text = "".join(tree.getroot().itertext())
    assert f"$ scrapy rep {name}" in text
    words = {"check": "disallowed", "lint": "help:", "diff": "probe URL", "agents": "train on it"}
    assert words[name] in text

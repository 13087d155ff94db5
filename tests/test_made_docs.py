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


@pytest.mark.parametrize("name", ["check", "lint", "diff"])
def test_screens_stay_indented_in_browsers(name: str) -> None:
    """These drop white space at the begin of a text, so that places have to say it."""
    tree = ET.parse(_DOCS / "screens" / f"{name}.svg")
    spans = [span for span in tree.iter("{http://www.w3.org/2000/svg}tspan") if span.text]
    assert all(not span.text.startswith(" ") for span in spans if span.text)
    assert all("  " not in span.text for span in spans if span.text)
    places = {float(span.get("x", "0")) for span in spans}
    assert len(places) > 1
    if name == "check":
        (group,) = [span for span in spans if span.text and span.text.startswith("group: ")][:1]
        assert float(group.get("x", "0")) > min(places)

"""The pages in docs/ that scripts make are up to date."""

from __future__ import annotations

import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from scrapy_rep.extras import EXTRAS
from scrapy_rep.protocol.access.events import PHASES
from scrapy_rep.protocol.access.states import STATES
from tests.extras import needs

_DOCS = Path(__file__).parents[1] / "docs"
_HAVE_TABLES = [needs(extra.name) for extra in EXTRAS if extra.stats]


def _made_by(script: str, *arguments: object) -> str:
    """The output of a script."""
    command = [sys.executable, str(_DOCS / script), *map(str, arguments)]
    return subprocess.run(command, stdout=subprocess.PIPE, encoding="utf-8", check=True).stdout


@pytest.mark.parametrize(
    ("script", "folder", "pattern"),
    [
        pytest.param("make_lint.py", "lint", "*.md", marks=needs("webmaster")),
        pytest.param("make_reference.py", "reference", "s[et]*.md", marks=_HAVE_TABLES),
        pytest.param("make_screens.py", "screens", "*.svg", marks=pytest.mark.slow),
        pytest.param("make_outputs.py", "", "*.md", marks=[pytest.mark.slow, pytest.mark.long]),
        pytest.param("make_report.py", "examples", "*.html", marks=pytest.mark.slow),
    ],
)
def test_made_pages_are_up_to_date(script: str, folder: str, pattern: str, tmp_path: Path) -> None:
    _made_by(script, tmp_path)
    made = {path.name: path.read_text(encoding="utf-8") for path in tmp_path.iterdir()}
    kept = {path.name: path.read_text(encoding="utf-8") for path in (_DOCS / folder).glob(pattern)}
    assert kept.keys() == made.keys()
    stale = [name for name in made if made[name] != kept[name]]
    assert stale == [], f"run: python docs/{script}"


def test_table_of_states_is_made_by_its_script() -> None:
    page = (_DOCS / "states.md").read_text(encoding="utf-8")
    assert page == _made_by("make_states.py"), "run: python docs/make_states.py > docs/states.md"


def test_drawing_of_states_shows_each_state_and_way() -> None:
    """Graphviz names both ends of each arrow in its title."""
    page = (_DOCS / "states.md").read_text(encoding="utf-8")
    assert "(states.svg)" in page
    drawing = ET.parse(_DOCS / "states.svg").getroot()
    svg = "{http://www.w3.org/2000/svg}"
    groups = [group for group in drawing.iter(f"{svg}g") if group.get("class") in ("node", "edge")]
    drawn = {
        (group.findtext(f"{svg}title", ""), "".join(group.itertext()).split("\n")[-2])
        for group in groups
    }
    labels: dict[str, list[str]] = {}
    for before, event, after in re.findall(r"\| `(\w+)` \| ([a-z ]+) \| `(\w+)` \|", page):
        labels.setdefault(f"{before}->{after}", []).append(event)
    ways = {(arrow, " / ".join(events)) for arrow, events in labels.items()}
    assert drawn == ways | {(state.name, state.name) for state in STATES}
    assert all(f"| `{preset}` |" in page for preset in PHASES)

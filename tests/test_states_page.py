"""docs/states.md is what its script makes of the tables of the code."""

from __future__ import annotations

import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

from scrapy_rep.protocol.access.events import PHASES
from scrapy_rep.protocol.access.exchange import STATES, TRANSITIONS

_DOCS = Path(__file__).parents[1] / "docs"


def test_the_page_is_up_to_date() -> None:
    made = subprocess.run(
        [sys.executable, _DOCS / "make_states.py"],
        capture_output=True,
        encoding="utf-8",
        check=True,
    ).stdout
    page = (_DOCS / "states.md").read_text(encoding="utf-8")
    assert page == made, "run: python docs/make_states.py > docs/states.md"


def test_the_drawing_has_every_state_and_every_way() -> None:
    """Drawn by Graphviz, which need not be here: each arrow tells its ends in its title."""
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
    for before, event, after in TRANSITIONS:
        labels.setdefault(f"{before.name}->{after.name}", []).append(event)
    ways = {(arrow, " / ".join(events)) for arrow, events in labels.items()}
    assert drawn == ways | {(state.name, state.name) for state in STATES}
    assert all(f"| `{preset}` |" in page for preset in PHASES)

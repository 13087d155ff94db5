"""docs/states.md is what its script makes of the tables of the code."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from scrapy_rep.protocol.exchange import STATES, TRANSITIONS
from scrapy_rep.protocol.phases import PHASES

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


def test_the_diagram_has_every_state_and_every_way() -> None:
    page = (_DOCS / "states.md").read_text(encoding="utf-8")
    diagram = page.partition("```mermaid\n")[2].partition("```")[0]
    arrows = re.findall(r"^    (\w+) --> (\w+): (.*)$", diagram, re.MULTILINE)
    drawn = {
        (before, event, after) for before, after, labels in arrows for event in labels.split(" / ")
    }
    assert drawn == {(before.name, event, after.name) for before, event, after in TRANSITIONS}
    assert {name for arrow in arrows for name in arrow[:2]} == {state.name for state in STATES}
    assert all(f"| `{preset}` |" in page for preset in PHASES)

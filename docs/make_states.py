"""Prints states.md: the states of a policy, from the tables of the code, and the ways between them.

::

    python docs/make_states.py > docs/states.md
    python docs/make_states.py --dot | dot -Tsvg > docs/states.svg
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from scrapy_rep.protocol.access.events import FOREVER, PHASES
from scrapy_rep.protocol.access.states import STATES, State

_DAY_SECONDS = 86_400
_HOUR_SECONDS = 3600

# The policy decides between two ways with the same state and event: `google`, for example, does not
# use a copy in the first twelve hours of an outage, but does so later.
# `tests/protocol/test_states.py` tries all policies and finds exactly these ways.
_EVENTS = ("successful or unavailable", "time passes", "unreachable")
_WAYS = {
    State.UNKNOWN: ("FRESH", "", "UNREACHABLE"),
    State.FRESH: ("", "DUE", ""),
    State.DUE: ("FRESH", "EXPIRED", "STALE UNREACHABLE"),
    State.EXPIRED: ("FRESH", "", "STALE UNREACHABLE"),
    State.STALE: ("", "STALE_DUE UNREACHABLE", ""),
    State.STALE_DUE: ("FRESH", "STALE_RESTED UNREACHABLE_DUE", "STALE UNREACHABLE"),
    State.STALE_RESTED: ("FRESH", "UNREACHABLE_DUE", "STALE UNREACHABLE"),
    State.UNREACHABLE: ("", "STALE UNREACHABLE_DUE", ""),
    State.UNREACHABLE_DUE: ("FRESH", "STALE_DUE STALE_RESTED", "STALE UNREACHABLE"),
}
_TRANSITIONS: tuple[tuple[State, str, State], ...] = tuple(
    (state, event, State[name])
    for state, ways in _WAYS.items()
    for event, names in zip(_EVENTS, ways, strict=True)
    for name in names.split()
)

_INTRODUCTION = """\
<!-- python docs/make_states.py makes this page from scrapy_rep/protocol/access/states.py. -->

# The states of a policy

For authors of crawls: after reading this page, you know what a request finds in each state of a
robots.txt, and which event leads to another state. [caching.md](caching.md) explains the times and
their settings.

Two facts about an origin decide its state: the *copy*, which is the last answer of the site (a
file, or "there is no file"), and the *outage*, if the file has been unreachable since then."""

_DIAGRAM = """\
## Events

A file is *unreachable* after an error of the server or the network, or an answer that cannot be
read. It is *unavailable* if the server says that there is no file. A confirmed copy (304) is a
success. If one event can lead to two states, the policy decides: see the phases below."""

_PHASES = """\
## The phases of an outage

The table shows what an unreachable file means with each `REP_POLICY`, by the length of the
outage. A copy is usable for 30 days after it was last confirmed. If `REP_POLICY_OVERRIDES`
names the failure, it replaces this table for the whole outage."""


def _page() -> Iterator[str]:
    yield _INTRODUCTION
    yield ""
    yield from _table(
        ("state", "how things stand", "what a request finds"),
        [(_name(state), state.value, act.value) for state, act in STATES.items()],
    )
    yield ""
    yield _DIAGRAM
    yield ""
    yield from _diagram()
    yield ""
    yield from _table(
        ("from", "what happens", "to"),
        [(_name(before), event, _name(after)) for before, event, after in _TRANSITIONS],
    )
    yield ""
    yield _PHASES
    yield ""
    yield from _table(
        ("policy", "the outage has lasted", "with a copy", "without"),
        [row for preset in PHASES for row in _phases(preset)],
    )


def _table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> Iterator[str]:
    for cells in (head, ("---",) * len(head), *rows):
        yield f"| {' | '.join(cells)} |"


def _diagram() -> Iterator[str]:
    """The link to the drawing."""
    yield "![The states, and the events between them](states.svg)"


def dot() -> str:
    """The states and transitions for Graphviz, with one arrow between two states."""
    events: defaultdict[tuple[State, State], list[str]] = defaultdict(list)
    for before, event, after in _TRANSITIONS:
        events[before, after].append(event)
    lines = [
        "digraph states {",
        '    graph [bgcolor="#ffffff", nodesep=0.5, ranksep=0.6, pad=0.3]',
        '    node [shape=box, style="rounded,filled", fillcolor="#eef3fb", color="#3b6fb6"]',
        '    node [fontname="sans-serif", fontsize=12]',
        '    edge [color="#555555", fontname="sans-serif", fontsize=10, fontcolor="#333333"]',
    ]
    lines += [f"    {state.name}" for state in STATES]
    lines += [
        f'    {before.name} -> {after.name} [label="{" / ".join(labels)}"]'
        for (before, after), labels in events.items()
    ]
    return "\n".join([*lines, "}"]) + "\n"


def _phases(preset: str) -> Iterator[tuple[str, ...]]:
    start = 0.0
    for end, with_copy, without_copy in PHASES[preset]:
        yield (f"`{preset}`", _span(start, end), with_copy.value, without_copy.value)
        start = end


def _span(start: float, end: float) -> str:
    if end == FOREVER:
        return f"{_time(start)} or more" if start else "any time"
    return f"{_time(start)} to {_time(end)}" if start else f"less than {_time(end)}"


def _time(seconds: float) -> str:
    if seconds % _DAY_SECONDS == 0:
        return f"{seconds / _DAY_SECONDS:g} days"
    return f"{seconds / _HOUR_SECONDS:g} hours"


def _name(state: State) -> str:
    return f"`{state.name}`"


def page() -> str:
    """The whole page."""
    return "\n".join(_page()) + "\n"


if __name__ == "__main__":
    sys.stdout.write(dot() if "--dot" in sys.argv else page())

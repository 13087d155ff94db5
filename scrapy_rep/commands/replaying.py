"""Replay: makes every decision of a trail again, and shows the differences."""

from __future__ import annotations

from collections import Counter
from typing import Any

from scrapy_rep.decisions.replay import CONFIRMED, DIFFERS, Replayer
from scrapy_rep.proof.trail_reading import Run
from scrapy_rep.protocol.verdict import Verdict

from .running import FOUND, OK, UNSETTLED, Call
from .terminal import count_of, safe

_SHOWN = 20  # differences


def replay(run: Run, call: Call) -> int:
    """Judge again, and show the results.

    Raises:
        RepError: the policy or the agent is invalid.
    """
    replayer = Replayer(run, preset=call.options.policy, agent=call.options.agent)
    counts: Counter[str] = Counter()
    for record, outcome, count in replayer.outcomes():
        counts[outcome.word] += count
        if outcome.word == DIFFERS and (call.is_json or counts[DIFFERS] <= _SHOWN):
            _tell(record, outcome.now, call)
    differing = counts[DIFFERS]
    if call.is_json:
        call.row({"run": run.name, "counts": counts})
    else:
        if differing > _SHOWN:
            call.line(f"... of {count_of(differing, 'difference')}; --json writes all")
        held = "; ".join(f"{count:,} {word}" for word, count in counts.most_common())
        call.line(f"{safe(run.name)}: {held or 'no decisions'}")
    if differing:
        return FOUND
    return OK if counts.total() == counts[CONFIRMED] else UNSETTLED


def _tell(record: dict[str, Any], now: Verdict | None, call: Call) -> None:
    if call.is_json:
        held = now and {"allowed": now.allowed, "reason": now.reason.name, "line": now.line}
        call.row({"t": "difference", "decision": record, "now": held})
        return
    word = "allowed" if record["allowed"] else "disallowed"
    before = f"{word}, {safe(record['reason'])}, line {record.get('line', 0)}"
    call.line(f"{safe(record['url'])} (number {record['n']})")
    call.line(f"  in the trail: {before}")
    call.line(f"  now: {safe(now)}")

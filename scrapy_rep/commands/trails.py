"""Audit trails in words: runs, whether they are whole, and what decided on a URL."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy import Request

from scrapy_rep.proof import trail_records as records
from scrapy_rep.proof.manifests import opened
from scrapy_rep.proof.trail_check import TrailCheck, check
from scrapy_rep.proof.trail_reading import Grounds, Run, TrailError, runs_in
from scrapy_rep.proof.trail_records import Query, redaction
from scrapy_rep.protocol.lines import clean
from scrapy_rep.protocol.verdict import shown

from .entries import moment, span
from .running import FOUND, OK, UNSETTLED, CommandError
from .terminal import count_of, cut

if TYPE_CHECKING:
    from .terminal import Terminal

_CONTEXT_LINES = 2
_LINE_CELLS = 100
_BODIES_OCTETS = 1 << 28
_KEY_OCTETS = 1 << 10
_DONE = {records.DROP: "dropped"}  # the others are words as they are


def list_runs(root: Path, terminal: Terminal, *, as_json: bool) -> int:
    """A line for each run; reads only their beginnings and ends."""
    unreadable: list[TrailError] = []
    rows = [_row(run) for run in runs_in(root, unreadable.append)]
    for error in unreadable:
        terminal.complain(f"left out: {error}")
    if not rows:
        terminal.complain(f"{root}: no trail is here")
        return FOUND
    if as_json:
        for row in rows:
            terminal.line(json.dumps(row))
        return UNSETTLED if unreadable else OK
    heads = ("run", "spider", "began", "allowed", "disallowed", "exempt", "state")
    terminal.table([heads, *(tuple(_cell(row[name]) for name in heads) for row in rows)])
    return UNSETTLED if unreadable else OK


def _row(run: Run) -> dict[str, Any]:
    head = run.head
    end = (run.manifest or {}).get("end") or {}
    began = head.get("at")
    return {
        "run": run.path.name,
        "spider": head.get("spider"),
        "began": moment(float(began)) if isinstance(began, (int, float)) else None,
        "allowed": end.get("allowed"),
        "disallowed": end.get("disallowed"),
        "exempt": end.get("exempt"),
        "state": _state(end),
    }


def _state(end: dict[str, Any]) -> str:
    if not end:
        return "without an end"
    gaps = end.get("gaps", 0)
    return f"ended: {end.get('reason')}" + (f", {count_of(gaps, 'gap')}" if gaps else "")


def _cell(value: Any) -> str:
    return "-" if value is None else f"{value:,}" if isinstance(value, int) else safe(value)


def safe(value: Any) -> str:
    """What a trail holds, safe for a terminal."""
    return shown(str(value).encode("utf-8", "backslashreplace"))


def verify(run: Run, terminal: Terminal, *, as_json: bool) -> int:
    """Tell whether a trail is whole and unchanged."""
    found = check(run)
    status = FOUND if found.problems else UNSETTLED if found.missing else OK
    if as_json:
        terminal.line(json.dumps(_check_dict(run, found)))
        return status
    for problem in found.problems:
        terminal.line(f"{terminal.paint('wrong', 'red', 'bold')}: {safe(problem)}")
    for lack in found.missing:
        terminal.line(f"{terminal.paint('missing', 'yellow', 'bold')}: {safe(lack)}")
    if found.unmarked:
        lines = count_of(found.unmarked, "line")
        terminal.line(f"note: {lines} at the end of a segment are covered by no mark")
    words = {FOUND: "was changed or damaged", UNSETTLED: "is not complete", OK: "is whole"}
    held = ", ".join(f"{found.counts[kind]:,} {_DONE.get(kind, kind)}" for kind in records.OUTCOMES)
    terminal.line(f"{safe(run.name)} {words[status]}: {found.record_count:,} records; {held}")
    if run.manifest_sha256:
        terminal.line(f"SHA-256 of {run.path / 'manifest.json'}: {run.manifest_sha256}")
    return status


def _check_dict(run: Run, found: TrailCheck) -> dict[str, Any]:
    return {
        "run": run.name,
        "problems": found.problems,
        "missing": found.missing,
        "records": found.record_count,
        "unmarked": found.unmarked,
        "last_n": found.last_n,
        "counts": {kind: found.counts[kind] for kind in records.OUTCOMES},
        "lost": {kind: found.lost[kind] for kind in records.OUTCOMES},
        "manifest_sha256": run.manifest_sha256,
    }


def explain(run: Run, url: str, terminal: Terminal, *, as_json: bool) -> int:
    """Show each decision on a URL; FOUND if there is none.

    Reads the trail once, and keeps the policies of a segment, and up to 256 MB of files.
    """
    wanted = _spellings(run, url)
    status = FOUND
    for record, policy, body in _with_grounds(run):
        if record.get("url") not in wanted and record.get("page") not in wanted:
            continue
        status = OK
        if as_json:
            terminal.line(json.dumps({**record, "policy": policy}))
            continue
        for text in _explanation(record, policy, body):
            terminal.line(text)
        terminal.line()
    if status == FOUND:
        terminal.complain(f"{safe(run.name)} holds no decision on {url}")
    return told_of_damage(run, terminal, status)


def told_of_damage(run: Run, terminal: Terminal, status: int) -> int:
    """The status of a command that has read all records; damage is told, and no success."""
    if not run.damaged_count:
        return status
    places = count_of(run.damaged_count, "damaged place")
    terminal.complain(f"{safe(run.name)} has {places}: scrapy rep audit verify tells where")
    return UNSETTLED if status == OK else status


def _spellings(run: Run, url: str) -> set[str]:
    """How a trail may hold a URL that its user gives."""
    kept = run.head.get("settings", {})
    query = Query(kept.get("REP_AUDIT_QUERY", "keep")) if isinstance(kept, dict) else Query.KEEP
    key = b""
    if query is Query.HASH:
        try:
            with opened(run.path / "key") as file:
                key = file.read(_KEY_OCTETS)
        except OSError as error:
            raise CommandError(
                f"queries are hashed in this trail, and its key cannot be read: {error}"
            ) from error
    made = redaction(query, key)
    spellings = {made(url)}
    try:
        spellings.add(made(Request(url).url))
    except ValueError as error:
        raise CommandError(f"{url!r} is no URL: {error}") from error
    return spellings


def _with_grounds(run: Run) -> Iterator[tuple[dict[str, Any], dict[str, Any] | None, bytes | None]]:
    """Each numbered record with its policy and the octets of its file."""
    grounds = Grounds()
    bodies: dict[str, bytes] = {}
    octets = 0
    for place, record in run.records():
        kind = record["t"]
        grounds.take(place, record)
        if kind == records.BODY:
            try:
                body = records.octets_of(record)
            except ValueError:
                continue
            if octets + len(body) <= _BODIES_OCTETS:
                bodies[f"sha256:{record.get('sha256')}"] = body
                octets += len(body)
        elif kind in records.NUMBERED:
            policy = grounds.policy_of(record)
            yield record, policy, bodies.get((policy or {}).get("body", ""))


def _explanation(
    record: dict[str, Any], policy: dict[str, Any] | None, body: bytes | None
) -> Iterator[str]:
    yield f"{safe(record.get('url') or record.get('page'))}"
    yield f"  {_outcome(record)}"
    if body is not None and record.get("line"):
        yield from _context(body, int(record["line"]))
    by = f", by {safe(record['by'])}" if "by" in record else ""
    yield f"  number {record['n']}, at {moment(float(record['at']))}{by}"
    if policy is not None:
        yield from _policy_words(policy, float(record["at"]))


def _outcome(record: dict[str, Any]) -> str:
    kind = record["t"]
    if kind == records.EXEMPT:
        return f"exempt ({safe(record['why'])}): robots.txt was not asked"
    if kind == records.DROP:
        return f"dropped after its browser was redirected: {safe(record['reason'])}"
    if kind == records.WITHHELD:
        because = safe(record["because"]["text"])
        return f"{safe(record['outcome'])}: {safe(record['what'])} ({because})"
    word = "allowed" if record["allowed"] else "disallowed"
    why = safe(record["reason"])
    if "rule" in record:
        group = safe(record.get("group", ""))
        why = f"line {record['line']} (group {group}): {safe(record['rule'])}"
    waited = record.get("waited_seconds")
    after = f", after {waited:g} s" if isinstance(waited, float) else ""
    return f"{word} by {why}; {safe(record['outcome'])}{after}"


def _context(body: bytes, number: int) -> Iterator[str]:
    """The deciding line, with a few before and after it."""
    lines = clean(body)[0].split(b"\n")
    first = max(number - 1 - _CONTEXT_LINES, 0)
    for at, text in enumerate(lines[first : number + _CONTEXT_LINES], start=first + 1):
        mark = ">" if at == number else " "
        yield f"  {mark} {at:>5} | {cut(shown(text), _LINE_CELLS)}".rstrip()


def _policy_words(policy: dict[str, Any], at: float) -> Iterator[str]:
    fetched_at = policy.get("fetched_at")
    age = f", {span(at - fetched_at)} old" if isinstance(fetched_at, (int, float)) else ""
    stale = ", a stale copy" if policy.get("is_stale") else ""
    result = safe(policy.get("access_result") or "not fetched")
    source = safe(policy.get("source", "unknown"))
    yield (
        f"  robots.txt of {safe(policy['origin'])}: {safe(policy['event'])} ({result}), from "
        f"{source}{age}{stale}"
    )
    if "body" in policy:
        yield f"    octets judged: {safe(policy['body'])}"
    for number, hop in enumerate(policy.get("hops", ())):
        came = hop.get("status") or hop.get("failure") or "not known"
        when = f" at {moment(float(hop['at']))}" if "at" in hop else ""
        copied = "; not fetched: from the copy of that origin" if hop["source"] == "store" else ""
        lead = "->" if number else "from"
        yield f"    {lead} {safe(hop['uri'])} ({safe(came)}{when}{copied})"

"""``scrapy rep audit``: read audit trails of crawls."""

from __future__ import annotations

import argparse
import json
import re
import secrets
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from scrapy import Request

from scrapy_rep.commands.running import (
    FOUND,
    OK,
    UNSETTLED,
    Call,
    CommandError,
    unreadable,
    write_rows,
)
from scrapy_rep.commands.terminal import cut, moment, safe
from scrapy_rep.decisions.occasions import BROWSER, PASSED, WOULD_DROP
from scrapy_rep.extras.evidence import trail_records as records
from scrapy_rep.extras.evidence import warc_check
from scrapy_rep.extras.evidence.manifests import CheckOutcome, opened
from scrapy_rep.extras.evidence.replay import (
    CONFIRMED,
    DIFFERS,
    Replayer,
    difference_words,
    tokens_of,
    with_grounds,
)
from scrapy_rep.extras.evidence.spool import MANIFEST, SpoolFile
from scrapy_rep.extras.evidence.trail_check import check
from scrapy_rep.extras.evidence.trail_reading import Run, TrailError, TrailLine, run_at, runs_in
from scrapy_rep.extras.evidence.trail_records import Query, line, redaction
from scrapy_rep.extras.evidence.trail_writer import packed
from scrapy_rep.extras.evidence.warc_check import ArchiveRun, archive_at
from scrapy_rep.protocol.lines import clean
from scrapy_rep.protocol.secrecy import OWNER_ONLY
from scrapy_rep.protocol.units import age_words, counted
from scrapy_rep.protocol.verdict import Reason, Verdict

_DIGEST = re.compile(r"[0-9a-fA-F]{64}")
_CONTEXT_LINES = 2
_LINE_CELLS = 100
_DIFFERENCES_SHOWN = 20
_KEY_OCTETS = 1 << 10
_GOES_WITH = {
    **dict.fromkeys(("policy", "agent", "now", "from_store"), "replay"),
    "url": "explain",
    "manifest": "verify",
}
_DONE = {records.DROP: "dropped"}  # the other outcomes are words
_DROPS = {
    records.RATE_LIMITED: ": its origin answered only 429 or 503, or rested while the crawl closed",
    records.CHALLENGED: ": an edge answered for its origin with challenges",
}
_COLOURS = {"wrong": "red", "missing": "yellow"}


def run(call: Call) -> int:
    """Run one of the actions.

    Raises:
        CommandError: the usage is wrong.
        TrailError: there is no trail.
    """
    options, action = call.options, call.options.action
    _check(options)
    if action == "list":
        root = options.run or call.settings.get("REP_AUDIT_DIR")
        if not root:
            raise CommandError("list needs the folder of the runs, or REP_AUDIT_DIR")
        return _list(Path(root).expanduser(), call)
    if options.run is None:
        raise CommandError(f"{action} needs the folder of a run, such as audit/latest")
    if action == "verify":
        return _verify(Path(options.run), call)
    return _OF_RUN[action](run_at(Path(options.run)), call)


def _check(options: argparse.Namespace) -> None:
    for name, action in _GOES_WITH.items():
        if getattr(options, name) and options.action != action:
            option = "a URL" if name == "url" else f"--{name.replace('_', '-')}"
            raise CommandError(f"{option} goes with {action}")
    if options.from_store and not options.now:
        raise CommandError("--from-store goes with --now")
    if options.action == "explain" and options.url is None:
        raise CommandError("explain needs a run and a URL")
    if options.manifest is not None and not _DIGEST.fullmatch(options.manifest):
        raise CommandError("--manifest: give the SHA-256 of manifest.json, 64 hex digits")
    if options.action == "redact" and options.output is None:
        raise CommandError("redact writes a new trail: give its folder with -o")


def _list(root: Path, call: Call) -> int:
    """Write a line for each run; only the beginning and the end of each is read."""
    unreadable: list[TrailError] = []
    rows = [_row(run) for run in runs_in(root, unreadable.append)]
    for error in unreadable:
        call.terminal.complain(f"skipped: {error}")
    if not rows:
        call.terminal.complain(f"{root}: there is no trail")
        return FOUND
    if call.is_json:
        for row in rows:
            call.row(row)
    else:
        call.table([tuple(rows[0]), *(tuple(map(_cell, row.values())) for row in rows)])
    return UNSETTLED if unreadable else OK


def _row(run: Run) -> dict[str, Any]:
    end = (run.manifest or {}).get("end") or {}
    began, gaps = run.head.get("at"), end.get("gaps", 0)
    state = f"ended: {end.get('reason')}" if end else "no end"
    return {
        "run": run.path.name,
        "spider": run.head.get("spider"),
        "began": moment(float(began)) if isinstance(began, (int, float)) else None,
        "allowed": end.get("allowed"),
        "disallowed": end.get("disallowed"),
        "exempt": end.get("exempt"),
        "state": state + (f", {counted(gaps, 'gap')}" if gaps else ""),
    }


def _cell(value: Any) -> str:
    return "-" if value is None else f"{value:,}" if isinstance(value, int) else safe(value)


def _verify(path: Path, call: Call) -> int:
    """Check that a trail, or a WARC archive, is complete and unchanged."""
    archive = archive_at(path)
    if archive is not None:
        held = warc_check.check(archive)
        facts = {"records": held.counts.total(), "counts": dict(held.counts)}
        return _tell_check(archive.path.name, archive, held, facts, call)
    run = run_at(path)
    found = check(run)
    facts = {
        "records": found.record_count,
        "unmarked": found.unmarked,
        "last_n": found.last_n,
        "counts": {kind: found.counts[kind] for kind in records.OUTCOMES},
        "lost": {kind: found.lost[kind] for kind in records.OUTCOMES},
    }
    return _tell_check(run.name, run, found, facts, call)


def _tell_check(
    name: str, run: Run | ArchiveRun, found: CheckOutcome, facts: dict[str, Any], call: Call
) -> int:
    kept, digest = (call.options.manifest or "").lower(), run.manifest_sha256
    if kept and kept != digest:
        found.wrong(f"the SHA-256 of manifest.json is {digest or 'unknown'}, not {kept}")
    status = FOUND if found.problems else UNSETTLED if found.missing else OK
    if call.is_json:
        told = {"problems": found.problems, "missing": found.missing}
        call.row({"run": name, **told, **facts, "manifest_sha256": digest})
        return status
    flaws = [("wrong", one) for one in found.problems] + [("missing", one) for one in found.missing]
    for word, text in flaws:
        call.line(f"{call.paint(word, _COLOURS[word], 'bold')}: {safe(text)}")
    if facts.get("unmarked"):
        lines = counted(facts["unmarked"], "line")
        call.line(f"note: {lines} at the end of a segment are not covered by a mark")
    words = {FOUND: "was changed or damaged", UNSETTLED: "is not complete", OK: "is complete"}
    counts = facts["counts"].items()
    held = ", ".join(f"{count:,} {safe(_DONE.get(kind, kind))}" for kind, count in counts)
    call.line(f"{safe(name)} {words[status]}: {counted(facts['records'], 'record')}; {held}")
    if digest:
        call.line(f"SHA-256 of {run.path / MANIFEST}: {digest}")
    return status


def _explain(run: Run, call: Call) -> int:
    """Show each decision on a URL; return FOUND if there is none.

    Reads the trail once.
    """
    url = call.options.url
    wanted = _spellings(run, url)
    found: list[tuple[dict[str, Any], list[str]]] = []
    by_number: dict[int, dict[str, Any]] = {}
    for record, policy, body in with_grounds(run):
        if record["t"] == records.AGENT and record["n"] in by_number:
            by_number[record["n"]]["user_agent"] = record["user_agent"]
        elif record["t"] in records.NUMBERED and not wanted.isdisjoint(
            (record.get("url"), record.get("page"))
        ):
            told = {**record, "policy": policy, **_names(record, run.head)}
            by_number[record["n"]] = told
            found.append((told, [*_explanation(record, policy, body)]))
    for told, lines in found:
        if call.is_json:
            call.row(told)
        else:
            names = ("obeyed", told.get("tokens")), ("sent", told.get("user_agent"))
            words = [f"{verb} as {_name(name)}" for verb, name in names if name is not None]
            named = [f"  {safe('; '.join(words))}"] if words else []
            call.lines([*lines, *named, ""])
    if not found:
        call.terminal.complain(f"{safe(run.name)} has no decision on {url}")
    return _told_of_damage(run, call, OK if found else FOUND)


def _names(record: dict[str, Any], head: dict[str, Any]) -> dict[str, Any]:
    """The product tokens that judged a request, and the usual User-Agent if it was sent."""
    kind, told = record["t"], dict[str, Any]()
    if kind == records.DECISION and record["reason"] != Reason.DROPPED.name:
        told["tokens"] = list(tokens_of(record, head))
    is_sent = kind == records.EXEMPT or record.get("outcome") in (PASSED, WOULD_DROP)
    if is_sent and record.get("by") != BROWSER:
        told["user_agent"] = head.get("user_agent")
    return told


def _name(name: str | list[str]) -> str:
    if isinstance(name, list):
        return ", ".join(name) or "*"
    return name or "no User-Agent"


def _spellings(run: Run, url: str) -> set[str]:
    """The forms in which a trail may contain a URL."""
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
    if (run.manifest or {}).get("redacted_from"):
        spellings.add(redaction(Query.DROP)(url))
    try:
        spellings.add(made(Request(url).url))
    except ValueError as error:
        raise CommandError(f"{url!r} is not a URL: {error}") from error
    return spellings


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
        return f"exempt ({safe(record['why'])}): robots.txt was not consulted"
    if kind == records.DROP:
        why = safe(record["reason"])
        return f"dropped{_DROPS.get(why, f' after its browser was redirected: {why}')}"
    if kind == records.WITHHELD:
        because = safe(record["because"]["text"])
        return f"{safe(record['outcome'])}: {safe(record['what'])} ({because})"
    word = "allowed" if record["allowed"] else "disallowed"
    why = safe(record["reason"])
    if "rule" in record:
        group = safe(record.get("group", ""))
        why = f"line {record['line']} (group {group}): {safe(record['rule'])}"
    if "why" in record:
        why = f"{why} ({safe(record['why'])})"
    waited = record.get("waited_seconds")
    after = f", after {waited:g} s" if isinstance(waited, float) else ""
    return f"{word} by {why}; {safe(record['outcome'])}{after}"


def _context(body: bytes, number: int) -> Iterator[str]:
    """The deciding line, with a few before and after it."""
    lines = clean(body)[0].split(b"\n")
    first = max(number - 1 - _CONTEXT_LINES, 0)
    for at, text in enumerate(lines[first : number + _CONTEXT_LINES], start=first + 1):
        mark = ">" if at == number else " "
        yield f"  {mark} {at:>5} | {cut(safe(text), _LINE_CELLS)}".rstrip()


def _policy_words(policy: dict[str, Any], at: float) -> Iterator[str]:
    fetched_at = policy.get("fetched_at")
    age = f", {age_words(at - fetched_at)} old" if isinstance(fetched_at, (int, float)) else ""
    stale = ", stale copy" if policy.get("is_stale") else ""
    result = safe(policy.get("access_result") or "not fetched")
    source = safe(policy.get("source", "unknown"))
    yield (
        f"  robots.txt of {safe(policy['origin'])}: {safe(policy['event'])} ({result}), from "
        f"{source}{age}{stale}"
    )
    if "body" in policy:
        yield f"    octets judged: {safe(policy['body'])}"
    for number, hop in enumerate(policy.get("hops", ())):
        came = hop.get("status") or hop.get("failure") or "unknown"
        when = f" at {moment(float(hop['at']))}" if "at" in hop else ""
        copied = "; not fetched: from the copy of that origin" if hop["source"] == "store" else ""
        lead = "->" if number else "from"
        yield f"    {lead} {safe(hop['uri'])} ({safe(came)}{when}{copied})"


def _replay(run: Run, call: Call) -> int:
    """Judge again, and show the results.

    Raises:
        RepError: the policy or the agent is invalid.
    """
    if call.options.now:
        return _replay_now(run, call)
    replayer = Replayer(run, preset=call.options.policy, agent=call.options.agent)
    counts: Counter[str] = Counter()
    for record, outcome, count in replayer.outcomes():
        counts[outcome.word] += count
        if outcome.word == DIFFERS and (call.is_json or counts[DIFFERS] <= _DIFFERENCES_SHOWN):
            _tell_difference(record, outcome.now, call)
    differing = counts[DIFFERS]
    if call.is_json:
        call.row({"run": run.name, "counts": counts})
    else:
        if differing > _DIFFERENCES_SHOWN:
            call.line(f"... of {counted(differing, 'difference')}; --json writes all")
        held = "; ".join(f"{count:,} {word}" for word, count in counts.most_common())
        call.line(f"{safe(run.name)}: {held or 'no decisions'}")
    if differing:
        if not (call.is_json or call.options.policy or call.options.agent):
            found = check(run)
            ours = difference_words(run, differing, found.unmarked)
            changed = "The trail was changed or damaged: scrapy rep audit verify tells where"
            call.line(changed if found.problems else ours)
        return FOUND
    return OK if counts.total() == counts[CONFIRMED] else UNSETTLED


def _replay_now(run: Run, call: Call) -> int:
    """Judge by the files of today, and list what should be deleted."""
    from .purge import Purge

    # A trail of this command would become `latest`, in place of the crawl's.
    call.set(REP_AUDIT_DIR="", REP_REPORT="")
    if call.options.policy:
        call.set(REP_POLICY=call.options.policy)
    purge = Purge(run, call, time.time())
    return purge.tell(purge.policies_now(from_store=call.options.from_store))


def _tell_difference(record: dict[str, Any], now: Verdict | None, call: Call) -> None:
    if call.is_json:
        held = now and {"allowed": now.allowed, "reason": now.reason.name, "line": now.line}
        call.row({"t": "difference", "decision": record, "now": held})
        return
    word = "allowed" if record["allowed"] else "disallowed"
    before = f"{word}, {safe(record['reason'])}, line {record.get('line', 0)}"
    call.line(f"{safe(record['url'])} (number {record['n']})")
    call.line(f"  in the trail: {before}")
    call.line(f"  now: {safe(now)}")


_URLS = ("url", "page", "uri", "location", "licence")
_COLUMNS = (
    *("n", "at", "t", "url", "allowed", "reason", "line", "rule", "group", "by", "outcome"),
    *("why", "p", "origin", "event", "meaning", "source", "is_stale", "fetched_at", "body"),
)


def _redact(run: Run, call: Call) -> int:
    """Write a new trail without queries; its manifest names the old one.

    Raises:
        CommandError: the old trail is damaged, or the new one cannot be written.
    """
    found = check(run)
    if found.problems:
        raise CommandError(
            f"{run.path} was changed or damaged, so a copy of it would prove nothing: "
            "see scrapy rep audit verify",
            FOUND,
        )
    target = Path(call.options.output)
    secret = secrets.token_bytes(32)
    made = redaction(Query(call.options.query), secret)
    try:
        target.mkdir(parents=True)
        segments = [
            _redacted(one.lines, target / one.plain_name, made, secret) for one in run.segments
        ]
        _write_manifest(run, target, segments)
    except OSError as error:
        raise unreadable(target, error) from error
    call.line(f"{target}: {counted(found.record_count, 'record')}, without the queries of URLs")
    return OK


def _redacted(
    lines: Callable[[], Iterator[TrailLine]], path: Path, made: Callable[[str], str], secret: bytes
) -> dict[str, Any]:
    """Write a segment without queries, with new marks."""
    segment = SpoolFile(path)
    for found in lines():
        if found.record is None or found.is_torn:
            continue
        record = _without_queries(found.record, made)
        if record.get("has_query") and "keys" in record:
            keys = records.keyed(records.unpacked_keys(record["keys"]), secret)
            record.update(keys=records.packed_keys(keys), keyed=records.name_of_secret(secret))
        if record["t"] == records.MARK:
            record.update(lines=segment.records, sha256=segment.sha256)
        segment.append(line(record).encode("ascii"), 1)
    segment.close()
    return {**segment.facts, "name": packed(path).name}


def _without_queries(record: dict[str, Any], made: Callable[[str], str]) -> dict[str, Any]:
    held: dict[str, Any] = {
        name: made(value) if name in _URLS and isinstance(value, str) else value
        for name, value in record.items()
    }
    if "urls" in held:
        held["urls"] = [made(url) for url in held["urls"]]
    if "hops" in held:
        held["hops"] = [_without_queries(hop, made) for hop in held["hops"]]
    if record.get("t") in records.NUMBERED and held != record:
        held["redacted"] = True
    return held


def _write_manifest(run: Run, target: Path, segments: list[dict[str, Any]]) -> None:
    before = run.manifest or {}
    held = {
        "v": records.VERSION,
        "run": run.name,
        "segments": segments,
        "gaps": before.get("gaps", 0),
        "end": before.get("end"),
        "redacted_from": {"run": run.name, "manifest_sha256": run.manifest_sha256},
    }
    (target / MANIFEST).touch(OWNER_ONLY)
    (target / MANIFEST).write_text(json.dumps(held, indent=2) + "\n", encoding="ascii")


def _export(run: Run, call: Call) -> int:
    """Write each decision with the facts of its policy."""
    output = call.options.output
    count = write_rows(call.options, _COLUMNS, _rows(run))
    if output is not None:
        call.line(f"{output}: {counted(count, 'decision')}")
    return _told_of_damage(run, call, OK if count else FOUND)


def _told_of_damage(run: Run, call: Call, status: int) -> int:
    """The exit status of a command that has read all records; damage is reported, and not OK."""
    if not run.damaged_count:
        return status
    places = counted(run.damaged_count, "damaged place")
    call.terminal.complain(f"{safe(run.name)} has {places}: scrapy rep audit verify tells where")
    return UNSETTLED if status == OK else status


def _rows(run: Run) -> Iterator[dict[str, Any]]:
    wanted = ("origin", "event", "meaning", "source", "is_stale", "fetched_at", "body")
    for record, policy, _ in with_grounds(run, needs_bodies=False):
        if record["t"] in records.NUMBERED:
            told = policy or {}
            yield {**{name: told[name] for name in wanted if name in told}, **record}


_OF_RUN = {"explain": _explain, "replay": _replay, "redact": _redact, "export": _export}

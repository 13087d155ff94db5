"""Trails to give away: without the queries of URLs, or as tables."""

from __future__ import annotations

import csv
import json
import secrets
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from scrapy_rep.proof import trail_records as records
from scrapy_rep.proof.spool import MANIFEST, SpoolFile
from scrapy_rep.proof.trail_check import check
from scrapy_rep.proof.trail_reading import Grounds, Run, TrailLine
from scrapy_rep.proof.trail_records import Query, line, redaction
from scrapy_rep.proof.trail_writer import packed

from .running import FOUND, OK, CommandError
from .trails import told_of_damage

if TYPE_CHECKING:
    from .terminal import Terminal

_URLS = ("url", "page", "uri", "location")
_COLUMNS = (
    *("n", "at", "t", "url", "allowed", "reason", "line", "rule", "group", "by", "outcome"),
    *("why", "p", "origin", "event", "meaning", "source", "is_stale", "fetched_at", "body"),
)
_FORMULAS = ("=", "+", "-", "@", "\t", "\r")


def redact(run: Run, target: Path, query: str, terminal: Terminal) -> int:
    """Write a new trail without queries, whose manifest names the old one.

    Raises:
        CommandError: the old trail was changed, or the new one cannot be written.
    """
    found = check(run)
    if found.problems:
        raise CommandError(
            f"{run.path} was changed or damaged, so a trail made of it would prove nothing: "
            "see scrapy rep audit verify",
            FOUND,
        )
    made = redaction(Query(query), secrets.token_bytes(32))
    try:
        target.mkdir(parents=True)
        segments = [_redacted(one.lines, target / one.plain_name, made) for one in run.segments]
        _write_manifest(run, target, segments)
    except OSError as error:
        raise CommandError(f"{target}: {error.strerror or error}") from error
    terminal.line(f"{target}: {found.record_count:,} records, without the queries of URLs")
    return OK


def _redacted(
    lines: Callable[[], Iterator[TrailLine]], path: Path, made: Callable[[str], str]
) -> dict[str, Any]:
    """A segment without queries; its marks are made anew."""
    segment = SpoolFile(path)
    for found in lines():
        if found.record is None or found.is_torn:
            continue
        record = _without_queries(found.record, made)
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
    (target / MANIFEST).write_text(json.dumps(held, indent=2) + "\n", encoding="ascii")


def export(run: Run, output: str | None, kind: str, terminal: Terminal) -> int:
    """Write each decision with the facts of its policy, as JSON lines or CSV."""
    count = 0
    with _opened(output) as file:
        write = _csv(file) if kind == "csv" else _jsonl(file)
        for row in _rows(run):
            write(row)
            count += 1
    if output is not None:
        terminal.line(f"{output}: {count:,} decisions")
    return told_of_damage(run, terminal, OK if count else FOUND)


@contextmanager
def _opened(output: str | None) -> Iterator[TextIO]:
    if output is None:
        yield sys.stdout
        return
    try:
        with Path(output).open("w", encoding="utf-8", newline="") as file:
            yield file
    except OSError as error:
        raise CommandError(f"{output}: {error.strerror or error}") from error


def _rows(run: Run) -> Iterator[dict[str, Any]]:
    grounds = Grounds()
    wanted = ("origin", "event", "meaning", "source", "is_stale", "fetched_at", "body")
    for place, record in run.records():
        grounds.take(place, record)
        if record["t"] in records.NUMBERED:
            policy = grounds.policy_of(record) or {}
            yield {**{name: policy[name] for name in wanted if name in policy}, **record}


def _jsonl(file: TextIO) -> Callable[[dict[str, Any]], None]:
    def write(row: dict[str, Any]) -> None:
        file.write(json.dumps(row) + "\n")

    return write


def _csv(file: TextIO) -> Callable[[dict[str, Any]], None]:
    writer = csv.writer(file)
    writer.writerow(_COLUMNS)

    def write(row: dict[str, Any]) -> None:
        writer.writerow([_cell(row.get(name, "")) for name in _COLUMNS])

    return write


def _cell(value: Any) -> str:
    """A cell that no spreadsheet takes for a formula: what sites write may begin like one."""
    text = str(value)
    return f"'{text}" if text.startswith(_FORMULAS) and not _is_number(text) else text


def _is_number(text: str) -> bool:
    return text.replace("-", "", 1).replace(".", "", 1).isdigit()

"""Audit trails: the last answer of each origin that a crawl judged by, with the octets judged.

A trail has a record for every policy, so the same origin may appear many times, in many runs. As in
the store, the last answer that settled whether the origin has a file counts, and without one, the
last failure. Policies that did not come from a site are skipped: those set by the user, those of
requests that stopped waiting, and local failures.

The trail is read twice: the first pass finds the records that count, the second their octets.
Memory is about 800 octets per origin.
"""

from __future__ import annotations

import os
from collections.abc import Container, Iterator, Mapping
from dataclasses import replace
from hashlib import sha256
from itertools import chain, islice
from pathlib import Path
from typing import Any

from scrapy_rep.extras.evidence import trail_records as records
from scrapy_rep.extras.evidence.trail_reading import Run, is_run, runs_in
from scrapy_rep.extras.survey.captures import Bad, Capture
from scrapy_rep.protocol.access.events import AccessResult, Failure
from scrapy_rep.protocol.access.origin import Origin
from scrapy_rep.protocol.access.redirects import REDIRECT_STATUSES
from scrapy_rep.protocol.errors import InvalidUri

from .answer_facts import BODY_OCTETS, capture_of

_LOOKED_AT = 16  # names in a folder: a folder of runs holds nothing else
_OF_SITES = ("network", "store")
_OWN_FAILURES = (Failure.LOCAL.value, Failure.GUARD.value)  # no store keeps these
_SHA256 = "sha256:"
_FIELDS = ("content-type", "cache-control")

_Origin = tuple[str, str, int | None]
_Told = tuple[bool, float, Capture, bytes]
"""Whether the record settles the question of a file, its time, the capture, and the digest."""


def runs_at(folder: Path) -> list[Run]:
    """The run in a folder, or all runs in a folder of runs; empty if it is neither.

    Raises:
        OSError: it cannot be read; TrailError: a run cannot be read.
    """
    if is_run(folder):
        return [Run(folder)]
    with os.scandir(folder) as entries:
        some = [Path(one.path) for one in islice(entries, _LOOKED_AT) if one.is_dir()]
    return runs_in(folder) if any(map(is_run, some)) else []


def captures_in(runs: list[Run]) -> Iterator[Capture | Bad]:
    """Yield the captures of the runs; origins with the same octets follow one another."""
    told, bad_count = _told_by(runs)
    by_digest: dict[bytes, list[_Origin]] = {}
    for origin, (_, _, capture, digest) in told.items():
        if digest:
            by_digest.setdefault(digest, []).append(origin)
        else:
            yield capture
    for _, record in chain.from_iterable(run.records() for run in runs):
        body = _body(record, by_digest)
        if body is not None:
            for origin in by_digest.pop(sha256(body).digest(), ()):
                yield replace(told.pop(origin)[2], body=body[:BODY_OCTETS])
    # Captures are left over if no run has their octets, or if the octets do not match the digest.
    for _ in range(bad_count + sum(map(len, by_digest.values()))):
        yield Bad("damaged")


def _told_by(runs: list[Run]) -> tuple[dict[_Origin, _Told], int]:
    """Find the record that counts for each origin; also count damaged records and files."""
    told: dict[_Origin, _Told] = {}
    bad_count = 0
    for _, record in chain.from_iterable(run.records() for run in runs):
        if record["t"] != records.POLICY or not _is_of_a_site(record):
            continue
        found = _told(record)
        if found is None:
            bad_count += 1
            continue
        origin = found[2].scheme, found[2].host, found[2].port
        before = told.get(origin)
        if before is None or found[:2] >= before[:2]:
            told[origin] = found
    return told, bad_count + sum(run.damaged_count for run in runs)


def _is_of_a_site(record: Mapping[str, Any]) -> bool:
    return record.get("source") in _OF_SITES and record.get("event") not in _OWN_FAILURES


def _body(record: Mapping[str, Any], wanted: Container[bytes]) -> bytes | None:
    """The octets of a body, if they are wanted and can be read; otherwise None."""
    if record["t"] != records.BODY:
        return None
    try:
        is_wanted = bytes.fromhex(str(record["sha256"])) in wanted
        return records.octets_of(record) if is_wanted else None
    except (KeyError, ValueError):
        return None


def _told(record: Mapping[str, Any]) -> _Told | None:
    """The facts in the record of a policy; None if the record is invalid."""
    try:
        origin = Origin.of(record["origin"])
        if origin is None:
            return None
        at = float(record.get("fetched_at", 0.0))
        is_settled = record["access_result"] != AccessResult.UNREACHABLE.value
        digest = bytes.fromhex(str(record.get("body", _SHA256)).removeprefix(_SHA256))
        headers = {name: record.get(name.replace("-", "_"), "") for name in _FIELDS}
        way = _way(origin.robots_txt_uri, _steps(record))
        return is_settled, at, capture_of(origin, at, record["event"], way, headers), digest
    except (AttributeError, InvalidUri, KeyError, OverflowError, TypeError, ValueError):
        return None


def _steps(record: Mapping[str, Any]) -> list[Any]:
    """The requests behind a policy; for a stale policy, without those that failed since."""
    steps = [*record.get("hops", ())]
    if not record.get("is_stale"):
        return steps
    until = max(float(record.get(name, 0.0)) for name in ("fetched_at", "confirmed_at"))
    return [step for step in steps if step.get("at", 0.0) <= until]


def _way(start: str, steps: list[Any]) -> list[str]:
    """The URIs from the first request to the last, as redirects led.

    A record lists all requests in order, with retries. A request that no redirect led to is a
    retry, or the first of another attempt.
    """
    way, is_led = [start], False
    for step in steps:
        uri = str(step["uri"])
        if is_led:
            way.append(uri)
        elif uri == start:
            way = [start]
        is_led = step.get("status") in REDIRECT_STATUSES
    return way

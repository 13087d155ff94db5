"""Reads the state of a fleet for users, with scripts that change nothing.

Each script costs Redis O(log n) in the number of lanes plus the number of items that it reads.
`scripts` documents the keys. Other programs may have written to them, so a value of an unexpected
type is shown as unknown (`benchmarks/fleet_look.py` measures the scripts).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgpack

from scrapy_rep.protocol.secrecy import bare, without_userinfo

from . import scripts
from .link import Link

COUNTS = (
    *("queued", "in_flight", "done", "seen", "set_aside", "dead_letters", "start_urls_given_back"),
    *("dropped", "lost", "owed", "filter_lost"),
    *("origins", "due", "due_later", "unchecked", "waiting", "origins_dropped"),
    *("workers", "workers_late", "workers_taken_over"),
)
"""Requests: that wait, that workers have, that are done, with a fingerprint, that could not be
read, that are dead letters, that are start URLs, that went with a dropped origin, that Redis has
lost, that wait or that workers have, with the lost ones. Fingerprints that Redis has lost.
Origins: with any data, with a request that may be popped now or later, without a known policy,
that a worker checks or that are held, that an operator dropped. Workers: with a valid lease,
without, taken over."""

_WORKERS_AT_A_TIME = 20
_WORKERS = 1000  # workers that are listed; the others are only counted
_LETTERS_AT_A_TIME = 5  # each may be as long as ENTRY_OCTETS
_LETTER_OCTETS = 8192  # the part of a letter in which the URL is searched
_NUMBER = 1e15  # larger numbers are not ours


@dataclass(frozen=True, slots=True)
class Totals:
    """The counts of a crawl; times are POSIX seconds of Redis's clock.

    Attributes:
        at: the time of the counts.
        began_at: when the crawl began in this Redis; None if that is not known.
        epoch: the id of this crawl in this Redis; empty without a crawl.
        idle_since: when the crawl ran out of work; None while there is work.
        full_since: when memory ran out in Redis; None while there is memory.
        next_due_at: when the next request may be popped, if none may be now.
        is_clearing: whether the crawl is being deleted.
        is_counting: whether requests are being counted, so `queued` and `in_flight` are too small.
        order: what an operator ordered: `pause`, `stop`, or nothing.
        counts: the numbers, by the names in `COUNTS`.
    """

    at: float
    began_at: float | None
    epoch: str
    idle_since: float | None
    full_since: float | None
    next_due_at: float | None
    is_clearing: bool
    is_counting: bool
    order: str
    counts: Mapping[str, int]

    @property
    def is_there(self) -> bool:
        """Whether Redis holds anything of the crawl."""
        return self.epoch != "" or self.counts["dead_letters"] > 0

    @property
    def has_work(self) -> bool:
        """Whether requests wait, or workers run."""
        names = ("queued", "in_flight", "start_urls_given_back", "workers")
        return any(self.counts[name] for name in names)


@dataclass(frozen=True, slots=True)
class Worker:
    """One worker; `name` and `host` are untrusted text.

    Attributes:
        name: its name in Redis.
        host: the host on which it runs.
        lease_seconds: how long it still counts as alive; None if it was taken over.
        in_flight: how many requests it has.
        is_starting: whether its spider still yields start requests.
        age_seconds: how long ago it joined.
        done: how many requests it has done.
    """

    name: str
    host: str
    lease_seconds: float | None
    in_flight: int
    is_starting: bool
    age_seconds: float | None
    done: int


@dataclass(frozen=True, slots=True)
class LaneState:
    """The state of one origin; times are POSIX seconds of Redis's clock.

    Attributes:
        at: the time of the state.
        state: idle, unchecked, checking, held, shut, resting, due, later, closed, full, dropped; or
            unknown.
        until: when it leaves this state by itself; None if it does not.
        queued: how many requests wait.
        queued_by_priority: how many requests wait by priority, for the first hundred priorities.
        in_flight: how many requests are under way.
        in_flight_at_most: how many requests may be under way; None for any number.
        delay_seconds: the delay between two of its requests.
        known_until: when its policy expires; None if it is not known.
        closed_by: the id of the request that closes it.
        worker: the worker that has that request.
        why: why an operator dropped it.
    """

    at: float
    state: str
    until: float | None
    queued: int
    queued_by_priority: Mapping[int, int]
    in_flight: int
    in_flight_at_most: int | None
    delay_seconds: float
    known_until: float | None
    closed_by: str
    worker: str
    why: str


@dataclass(frozen=True, slots=True)
class Letter:
    """A dead letter, or an entry that was set aside; all its values are untrusted.

    Without an origin, it is a start URL, and `url` is its text in Redis.
    """

    origin: str
    reason: str
    url: str
    at: float


_STATES = {"i": "idle", "n": "unchecked", "d": "due", "c": "closed", "f": "full"}
_WAITS = frozenset({"held", "shut", "resting"})


async def totals(link: Link, prefix: str) -> Totals:
    """The counts of one crawl, in one run of O(log n).

    Raises:
        StoreError: Redis can't be reached, or refuses.
    """
    found = _unpacked(await link.run(scripts.LOOK_TOTALS, [prefix]))
    epoch = _text(found.get(b"epoch"))
    return Totals(
        at=_seconds(found.get(b"now")) or 0.0,
        began_at=_number(epoch.partition(".")[0].encode()) or None,
        epoch=epoch,
        idle_since=_seconds(found.get(b"idle")),
        full_since=_seconds(found.get(b"full")),
        next_due_at=_seconds(found.get(b"next")),
        is_clearing=bool(found.get(b"flushing")),
        is_counting=bool(found.get(b"is_counting")),
        order=_text(found.get(b"order")),
        counts={name: _count(found.get(name.encode())) for name in COUNTS},
    )


async def workers(link: Link, prefix: str) -> tuple[Worker, ...]:
    """The workers of a crawl, a thousand at most, in the order in which their leases end.

    Raises:
        StoreError: Redis can't be reached, or refuses.
    """
    found: list[Worker] = []
    for begin in range(0, _WORKERS, _WORKERS_AT_A_TIME):
        span = [begin, begin + _WORKERS_AT_A_TIME - 1, _WORKERS_AT_A_TIME]
        rows = _unpacked(await link.run(scripts.LOOK_WORKERS, [prefix], span))
        found += map(_worker, rows)
        if sum(lease is not False for _, lease, *_ in rows) < _WORKERS_AT_A_TIME:
            break
    return tuple(found)


def _worker(row: list[Any]) -> Worker:
    name, lease, flying, starts, host, age, done = row
    age_seconds = _seconds(age)
    flying, done = _count(flying), _count(done)
    return Worker(
        _text(name), _text(host), _seconds(lease), flying, bool(starts), age_seconds, done
    )


async def lane(link: Link, prefix: str, name: str) -> LaneState | None:
    """The state of one origin; None if Redis has no data and no requests for it.

    Raises:
        StoreError: Redis can't be reached, or refuses.
    """
    octets = await link.run(scripts.LOOK_LANE, [prefix], [name, 99])
    return None if octets is None else _lane(_unpacked(octets))


def _lane(found: dict[bytes, Any]) -> LaneState:
    def after(name: bytes) -> float | None:
        """A time that is still to come."""
        seconds = _seconds(found.get(name))
        return seconds if seconds is not None and seconds > at else None

    at = _seconds(found.get(b"now")) or 0.0
    state, until = _STATES.get(_text(found.get(b"place")), "unknown"), None
    if state == "unchecked" and (until := after(b"check")) is not None:
        reason = _text(found.get(b"why_it_waits"))
        state = reason if reason in _WAITS else "checking"
    elif state == "due" and (until := after(b"due")) is not None:
        state = "later"
    lengths = [*(found.get(b"priorities") or ()), (0, found.get(b"usual"))]
    return LaneState(
        at,
        "dropped" if found.get(b"dropped") is not None else state,
        until,
        _count(found.get(b"queued")),
        {_count(priority): _count(length) for priority, length in lengths if _count(length)},
        _count(found.get(b"out")),
        _count(found.get(b"limit")) or None,
        _seconds(found.get(b"delay")) or 0.0,
        after(b"valid"),
        _text(found.get(b"closer")),
        _text(found.get(b"holder")),
        _text(found.get(b"dropped")),
    )


async def letters(link: Link, prefix: str, most: int) -> tuple[Letter, ...]:
    """The latest dead letters, newest first.

    Raises:
        StoreError: Redis can't be reached, or refuses.
    """
    found: list[Letter] = []
    while len(found) < most:
        last = -1 - len(found)
        first = last + 1 - min(_LETTERS_AT_A_TIME, most - len(found))
        span = [first, last, _LETTER_OCTETS]
        rows = _unpacked(await link.run(scripts.LOOK_LETTERS, [prefix], span))
        for name, reason, entry, at in reversed(rows):
            url = _url_in(entry) or ("" if name else without_userinfo(_text(entry)))
            found.append(Letter(_text(name), _text(reason), url, _seconds(at) or 0.0))
        if len(rows) < last - first + 1:
            break
    return tuple(found)


def _url_in(entry: Any) -> str:
    """The URL of an entry without userinfo; it may be cut at the end; empty if it can't be read."""
    reader = msgpack.Unpacker(raw=True, max_buffer_size=_LETTER_OCTETS)
    try:
        reader.feed(entry)
        reader.read_map_header()
        return bare(_text(reader.unpack())) if reader.unpack() == b"url" else ""
    except Exception:  # noqa: BLE001 - msgpack has a dozen, and a bad octet may be any
        return ""


def _unpacked(octets: bytes) -> Any:
    return msgpack.unpackb(octets, raw=True, strict_map_key=False)


def _number(value: Any) -> float | None:
    """An untrusted value as a number; None if it is not a number."""
    if isinstance(value, bool) or not isinstance(value, (int, float, bytes)):
        return None
    try:
        number = float(value)
    except ValueError:
        return None
    return number if abs(number) < _NUMBER else None  # this also refuses NaN and infinities


def _count(value: Any) -> int:
    return int(_number(value) or 0)


def _seconds(milliseconds: Any) -> float | None:
    number = _number(milliseconds)
    return None if number is None else number / 1000


def _text(octets: Any) -> str:
    """Untrusted octets as text; anything else is empty."""
    return octets.decode("utf-8", "backslashreplace") if isinstance(octets, bytes) else ""

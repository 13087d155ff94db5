"""Reads the state of a fleet for users, with scripts that change nothing, and requeues letters.

Each script costs Redis O(log n) in the number of lanes plus the number of items that it reads.
Callers read few items at a time, so that no run takes a millisecond. `scripts` documents the keys.
Other programs may have written to them, so values of an unexpected type are shown as unknown.

100,000 origins take 400 runs (`benchmarks/fleet_look.py` measures them).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import msgpack

from scrapy_rep.cache.base import StoreError
from scrapy_rep.cache.link import Link
from scrapy_rep.protocol.secrecy import bare

from . import scripts

LANES = 1_000_000
"""The most lanes that are read; the counts for more lanes are estimates from these."""

_LANES_AT_A_TIME = 250
_WORKERS_AT_A_TIME = 20
_WORKERS = 1000  # workers that are listed; the others are only counted
_LETTERS_AT_A_TIME = 5  # each may be as long as ENTRY_OCTETS
_LETTER_OCTETS = 8192  # the part of a letter in which the URL is searched
_NUMBER = 1e15  # larger numbers are not ours


@dataclass(frozen=True, slots=True)
class Worker:
    """One worker; `name` and `host` are untrusted text.

    Attributes:
        name: its name in Redis.
        host: the host on which it runs.
        lease_seconds: how long it still counts as alive; None if it was taken over.
        flying_count: how many requests it has.
        is_starting: whether its spider still yields start requests.
        age_seconds: how long ago it joined.
        done_count: how many requests it has done.
    """

    name: bytes
    host: bytes
    lease_seconds: float | None
    flying_count: int
    is_starting: bool
    age_seconds: float | None
    done_count: int


@dataclass(frozen=True, slots=True)
class Places:
    """The number of lanes in each place; an estimate if not all lanes were read."""

    counts: Mapping[str, int] = field(default_factory=dict)
    is_estimate: bool = False


@dataclass(frozen=True, slots=True)
class Totals:
    """The counts of a crawl; times are POSIX seconds of Redis's clock.

    Attributes:
        now: the time of the counts.
        began_at: when the crawl began in this Redis; None if that is not known.
        epoch: the id of this crawl in this Redis; empty without a crawl.
        idle_since: when the crawl ran out of work; None while there is work.
        is_clearing: whether a worker is deleting the crawl.
        queued, flying, done, aside, taken_over: requests that wait, that workers have, that are
            done, that could not be read; workers that were taken over.
        letters: dead letters that are kept.
        seen: fingerprints of queued requests.
        seeds: start URLs that were given back.
        full_since: when memory ran out in Redis; None while there is memory.
        lanes: origins with any data.
        due, later: origins with a request that may be popped now, or later.
        next_at: the first time for the latter.
        unasked: origins without a known policy that no worker is checking yet.
        waiting: origins that a worker is checking, or that are held.
        workers, alive, dying: workers that are listed, that have a valid lease, or that have
            requests which are being handed on.
    """

    now: float
    began_at: float | None
    epoch: bytes
    idle_since: float | None
    is_clearing: bool
    full_since: float | None
    queued: int
    flying: int
    done: int
    aside: int
    taken_over: int
    letters: int
    seen: int
    seeds: int
    lanes: int
    due: int
    later: int
    next_at: float | None
    unasked: int
    waiting: int
    workers: int
    alive: int
    dying: int

    @property
    def is_there(self) -> bool:
        """Whether Redis holds anything of the crawl; its dead letters outlive it."""
        return self.epoch != b"" or self.letters > 0

    @property
    def has_work(self) -> bool:
        """Whether requests wait, or workers run."""
        return self.queued + self.flying + self.seeds + self.alive > 0


@dataclass(frozen=True, slots=True)
class Lane:
    """The state of one lane; times are POSIX seconds of Redis's clock.

    Attributes:
        now: the time of the state.
        place: idle, unasked, asked, held, shut, resting, due, later, closed, full; or unknown.
        until: when it leaves this place by itself; None if it does not.
        queued: how many requests wait.
        by_priority: how many requests wait by priority, for the first hundred priorities.
        delay_seconds: the delay between two of its requests.
        at_a_time: how many requests may be under way; 0 for any number.
        out: how many requests are under way.
        known_until: when its policy expires; None if it is not known.
        closed_by: the id of the request that closes it.
        holder: the worker that has that request.
    """

    now: float
    place: str
    until: float | None
    queued: int
    by_priority: Mapping[int, int]
    delay_seconds: float
    at_a_time: int
    out: int
    known_until: float | None
    closed_by: bytes
    holder: bytes


@dataclass(frozen=True, slots=True)
class Letter:
    """A dead letter, or an entry that was set aside; all its values are untrusted."""

    lane: bytes
    reason: bytes
    url: bytes
    at: float


_PLACE_NAMES = {"i": "idle", "n": "unasked", "d": "due", "c": "closed", "f": "full"}
_SPELT = frozenset({"asked", "held", "shut", "resting"})


async def totals(link: Link, prefix: str) -> Totals:
    """The counts of one crawl, in one run of O(log n).

    Raises:
        StoreError: Redis can't be reached, or refuses.
    """
    found = _unpacked(await link.run(scripts.LOOK_TOTALS, [prefix]))
    epoch = _octets(found.get(b"epoch"))
    numbers = {name: _count(found.get(name.encode())) for name in _NUMBERS}
    return Totals(
        now=_seconds(found.get(b"now")) or 0.0,
        began_at=_number(epoch.partition(b".")[0]) or None,
        epoch=epoch,
        idle_since=_seconds(found.get(b"idle")),
        is_clearing=bool(found.get(b"flushing")),
        full_since=_seconds(found.get(b"full")),
        next_at=_seconds(found.get(b"next")),
        **numbers,
    )


_NUMBERS = (
    *("queued", "flying", "done", "aside", "taken_over", "letters", "seen", "seeds", "lanes"),
    *("due", "later", "unasked", "waiting", "workers", "alive", "dying"),
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
    name, lease, flying, is_starting, host, age, done = row
    return Worker(
        _octets(name),
        _octets(host),
        _seconds(lease),
        _count(flying),
        bool(is_starting),
        _seconds(age),
        _count(done),
    )


async def places(link: Link, prefix: str, count: int, most: int = LANES) -> Places:
    """The number of lanes in each place, read piece by piece; `count` is the number of lanes.

    Raises:
        StoreError: Redis can't be reached, or refuses.
    """
    counts: Counter[str] = Counter()
    cursor, looked = b"0", 0
    while looked < most:
        span: list[bytes | int] = [cursor, _LANES_AT_A_TIME]
        cursor, found = _unpacked(await link.run(scripts.LOOK_PLACES, [prefix], span))
        for where, number in dict(found).items():  # an empty table of Lua is a list
            counts[_place(where)] += _count(number)
        looked = sum(counts.values())
        if cursor == b"0":
            return Places(dict(counts))
    # Hashes have a random order, so the lanes that were read are a sample.
    share = max(1.0, count / looked)
    return Places({where: round(share * number) for where, number in counts.items()}, True)


async def lane(link: Link, prefix: str, name: str) -> Lane | None:
    """The state of one lane; None if Redis has no data and no requests for it.

    Raises:
        StoreError: Redis can't be reached, or refuses.
    """
    octets = await link.run(scripts.LOOK_LANE, [prefix], [name, 99])
    return None if octets is None else _lane(_unpacked(octets))


def _lane(found: dict[bytes, Any]) -> Lane:
    now = _seconds(found.get(b"now")) or 0.0
    place, until = _place(found.get(b"place")), None
    if place == "unasked":
        until = _seconds(found.get(b"ask"))
        if until is not None and until > now:
            reason = _octets(found.get(b"reason")).decode("ascii", "replace")
            place = reason if reason in _SPELT else "asked"
    elif place == "due":
        until = _seconds(found.get(b"due"))
        place = "later" if until is not None and until > now else "due"
    by_priority = {
        _count(priority): _count(length) for priority, length in found.get(b"priorities") or ()
    }
    if usual := _count(found.get(b"usual")):
        by_priority[0] = usual
    known_until = _seconds(found.get(b"valid"))
    return Lane(
        now,
        place,
        until if until is not None and until > now else None,
        _count(found.get(b"queued")),
        by_priority,
        _seconds(found.get(b"delay")) or 0.0,
        _count(found.get(b"at_a_time")),
        _count(found.get(b"out")),
        known_until if known_until is not None and known_until > now else None,
        _octets(found.get(b"id")),
        _octets(found.get(b"holder")),
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
            url = _url_in(_octets(entry))
            found.append(Letter(_octets(name), _octets(reason), url, _seconds(at) or 0.0))
        if len(rows) < last - first + 1:
            break
    return tuple(found)


async def requeue(link: Link, prefix: str, count: int, *, only_letters: bool = False) -> int:
    """Put up to `count` dead letters back into the queue; return how many were put back.

    With `only_letters`, the next run leaves out start requests.

    Raises:
        StoreError: Redis can't be reached, or refuses; or the crawl is being deleted, or belongs to
            another release.
    """
    back = 0
    for begin in range(0, count, _LETTERS_AT_A_TIME):
        most = min(_LETTERS_AT_A_TIME, count - begin)
        values = {"version": scripts.VERSION, "most": most, "only_letters": only_letters}
        some = await link.run(scripts.REQUEUE, [prefix], [msgpack.packb(values)])
        if some < 0:
            raise StoreError(
                "the crawl is being deleted, or belongs to another release of scrapy-rep"
            )
        back += some
    return back


def _url_in(entry: bytes) -> bytes:
    """The URL of an entry without userinfo; it may be cut at the end; empty if it can't be read."""
    reader = msgpack.Unpacker(raw=True, max_buffer_size=_LETTER_OCTETS)
    try:
        reader.feed(entry)
        reader.read_map_header()
        url = _octets(reader.unpack()) if reader.unpack() == b"url" else b""
        return bare(url.decode("latin-1")).encode("latin-1")
    except Exception:  # noqa: BLE001 - msgpack has a dozen, and a bad octet may be any
        return b""


def _place(letter: Any) -> str:
    name = _octets(letter).decode("ascii", "replace")
    return name if name in _SPELT else _PLACE_NAMES.get(name, "unknown")


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


def _octets(value: Any) -> bytes:
    return value if isinstance(value, bytes) else b""

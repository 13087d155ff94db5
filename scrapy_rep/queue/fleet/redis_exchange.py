"""One exchange with Redis, in octets: what a worker brings and wants, and what it gets."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

import msgpack

from scrapy_rep.cache.base import StoreError

from .batch import Batch, HeldRequest, Settled
from .ledger import PUSH_OCTETS

DELIVERIES = 3
"""How often a request is given to workers that die, before it is a dead letter."""

_TAKEOVERS = 50  # requests of a dead worker that are handed on in one exchange


@dataclass(frozen=True, slots=True)
class Wants:
    """What a worker asks for, by the names that the script knows.

    Attributes:
        requests: how many it could begin now.
        lanes: of how many it could find out what their policy is.
        seeds: how many start URLs, if there are too few requests.
        seeds_key: where users put them; empty for nowhere.
        lease_ms: for how long it wants to be counted as alive.
        is_busy: whether its spider still yields start requests.
        is_fresh: whether everything is to be cleared first, if nobody else is there.
        leaves: whether it ends.
        flushes: whether everything is to be cleared, if it is the last.
        host: where it runs, for people.
        longest: how many octets an entry may take; longer ones are set aside unseen.
        ahead_ms: how long before it is due it may be given a request, to keep it until then.
    """

    requests: int = 0
    lanes: int = 0
    seeds: int = 0
    seeds_key: str = ""
    lease_ms: int = 60_000
    is_busy: bool = False
    is_fresh: bool = False
    leaves: bool = False
    flushes: bool = False
    host: str = ""
    longest: int = 1 << 20
    ahead_ms: int = 0


@dataclass(frozen=True, slots=True)
class Turn:
    """What came of a wish for a turn.

    Attributes:
        key: of the wish.
        id: by which Redis knows the turn.
        lane: whose turn it is.
        wait_seconds: when it comes; None if that is not known yet.
        delay_seconds: what the lane leaves between two requests.
    """

    key: int
    id: str
    lane: str
    wait_seconds: float | None
    delay_seconds: float


@dataclass(frozen=True, slots=True)
class Reply:
    """What a worker got.

    Attributes:
        word: `ok`; `late`, if a later attempt was there before; `gone`, if the worker was
            succeeded; `epoch`, if this is not the Redis it has joined; `flush`, if it is to clear
            first; `wait`, while another clears.
        epoch: of this Redis.
        last_id: the last that was given to anybody.
        queued: requests that wait, over the fleet.
        flying: requests that workers have, over the fleet.
        idle_ms: for how long there has been nothing to do; None while there is.
        workers: how many there are.
        next_ms: when a lane becomes due, or wants a policy; None if none will by itself.
        popped: requests for this worker.
        asked: lanes whose policy it is to find out, each with an entry.
        free: those of them where nobody has to wait for a turn.
        filtered: which pushes of the batch had been seen, from 0.
        seeds: start URLs for this worker.
        seeds_left: how many are left.
        dead: requests that became dead letters.
        is_last: whether nobody else is there, to a worker that leaves.
        turns: what came of its wishes for turns.
        odd: keys that were of another type than the crawl's, and are set aside.
        is_mender: whether this worker is to have everything counted anew.
    """

    word: str
    epoch: str
    last_id: int = 0
    queued: int = 0
    flying: int = 0
    idle_ms: int | None = None
    workers: int = 0
    next_ms: int | None = None
    popped: tuple[HeldRequest, ...] = ()
    asked: tuple[tuple[str, bytes], ...] = ()
    free: frozenset[str] = frozenset()
    filtered: tuple[int, ...] = ()
    seeds: tuple[HeldRequest, ...] = ()
    seeds_left: int = 0
    dead: int = 0
    is_last: bool = False
    turns: tuple[Turn, ...] = ()
    odd: tuple[str, ...] = ()
    is_mender: bool = False


def arguments(batch: Batch, wants: Wants, now: float, **others: Any) -> bytes:
    """What the script is given, at `now`, monotonic seconds. O(what it brings)."""

    def age(at: float) -> int:
        return round(1000 * (now - at))

    values = {
        "deliveries": DELIVERIES,
        "most": _TAKEOVERS,
        "octets": PUSH_OCTETS,
        **_by_name(batch),
        **_by_name(wants),
        "moved": [(id_, lane, age(at)) for id_, (lane, at) in batch.moved.items()],
        "done": [*batch.done.items()],
        "aside": [(id_, _plain(reason)) for id_, reason in batch.aside.items()],
        "settled": [_settled(one, age) for one in batch.settled],
        "kept": [_kept(before, held) for before, held in batch.kept],
        "turns": [(key, wish.lane, round(1000 * wish.delay_seconds)) for key, wish in batch.turns],
        **others,
    }
    # Redis's own msgpack is older than the kind for octets.
    octets: bytes = msgpack.packb(values, use_bin_type=False, unicode_errors="surrogateescape")
    return octets


def _by_name(told: Batch | Wants) -> dict[str, Any]:
    return {one.name: getattr(told, one.name) for one in fields(told)}


@dataclass(frozen=True, slots=True)
class MendStep:
    """A step of the count that begins where anything in Redis was seen to be wrong.

    Attributes:
        round: which count; 0 before the first step.
        phase: what is gone through: `keys`, then `lanes`; empty when it is over.
        cursor: where the step begins.
        odd: keys that were set aside, as in a reply.
    """

    round: int = 0
    phase: str = "keys"
    cursor: bytes = b"0"
    odd: tuple[str, ...] = ()

    def arguments(self, worker: str, lease_ms: int, **others: Any) -> bytes:
        """What the script is given."""
        values = {
            "worker": worker,
            "round": self.round,
            "phase": self.phase,
            "cursor": self.cursor,
            "lease_ms": lease_ms,
            "deliveries": DELIVERIES,
            **others,
        }
        octets: bytes = msgpack.packb(values, use_bin_type=False)
        return octets

    @classmethod
    def of(cls, octets: Any) -> MendStep:
        """The next one, as the script gives it.

        Raises:
            NoReplyError: it is nothing that the script gives.
        """
        try:
            number, phase, cursor, odd = msgpack.unpackb(octets, raw=True)
            return cls(int(number), phase.decode(), bytes(cursor), tuple(map(_text, odd)))
        except Exception as error:  # whatever is not there, or of another kind
            raise NoReplyError(f"it is no reply of the script: {error!r}") from error


def _settled(one: Settled, age: Callable[[float], int]) -> tuple[Any, ...]:
    return (
        one.lane,
        -1 if one.wait_until is None else max(0, -age(one.wait_until)),
        round(1000 * one.delay_seconds),
        one.concurrency,
        max(0, -age(one.valid_until)),
        -1 if one.visited_at is None else max(0, age(one.visited_at)),
        one.reason,
    )


def _plain(words: str) -> str:
    """Words for people, from errors of anybody's, without what UTF-8 can't say."""
    return words.encode("utf-8", "replace").decode("utf-8")


def _kept(before: str, held: HeldRequest) -> tuple[Any, ...]:
    # Priorities hold within an origin, and this one is under way: it has none any more.
    return (
        held.id,
        before,
        held.lane,
        0,
        held.deliveries,
        held.payload,
        held.fingerprint,
        int(held.has_left),
        round(1000 * held.delay_seconds),
    )


class NoReplyError(StoreError):
    """What came is no reply of the script."""


def reply_of(octets: Any) -> Reply:
    """What the script gave.

    Raises:
        NoReplyError: it is nothing that the script gives.
    """
    try:
        return _reply_of(octets)
    except Exception as error:  # whatever is not there, or of another kind
        raise NoReplyError(f"it is no reply of the script: {error!r}") from error


def _reply_of(octets: bytes) -> Reply:
    word, epoch, *rest = msgpack.unpackb(octets, raw=True)
    if len(rest) == 1:
        return Reply(word.decode(), epoch.decode(), odd=tuple(map(_text, rest[0])))
    if not all(isinstance(rest[place], int) for place in _NUMBERS):
        raise TypeError("a number in it is none")
    last_id, queued, flying, idle, workers, next_ms = rest[:6]
    pops, asks, filtered, seeds, seeds_left, dead, is_last, turns, odd, is_mender = rest[6:]
    return Reply(
        word.decode(),
        epoch.decode(),
        last_id,
        queued,
        flying,
        None if idle < 0 else idle,
        workers,
        None if next_ms < 0 else next_ms,
        tuple(
            HeldRequest(
                id_.decode(),
                _text(lane),
                delay / 1000,
                deliveries,
                payload,
                wait_seconds=wait / 1000,
            )
            for id_, lane, delay, deliveries, payload, wait in pops
        ),
        tuple((_text(lane), sample) for lane, sample, _ in asks),
        frozenset(_text(lane) for lane, _, is_paced in asks if not is_paced),
        tuple(number - 1 for number in filtered),
        tuple(
            HeldRequest(id_.decode(), "", 0.0, deliveries, data) for id_, deliveries, data in seeds
        ),
        seeds_left,
        dead,
        bool(is_last),
        tuple(
            Turn(key, id_.decode(), _text(lane), None if wait < 0 else wait / 1000, delay / 1000)
            for key, id_, lane, wait, delay in turns
        ),
        tuple(map(_text, odd)),
        bool(is_mender),
    )


_NUMBERS = (0, 1, 2, 3, 4, 5, 10, 11, 12)  # where the script gives some, after word and epoch


def _text(lane: bytes) -> str:
    """A lane's name; somebody may have written one that is no UTF-8."""
    return lane.decode("utf-8", "surrogateescape")

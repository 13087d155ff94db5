"""A batch in octets: the arguments of the script, and its reply."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from typing import Any

import msgpack

from scrapy_rep.cache.base import StoreError
from scrapy_rep.protocol.extensions.rest import Rest

from .batch import Batch, HeldRequest, Push, Rested, Settled
from .ledger import PUSH_OCTETS
from .scripts import VERSION

DELIVERIES = 3
"""How many workers may die with a request before it becomes a dead letter."""

REST_TIMES = ("since_at", "until_at", "given_up_until")
"""The times of a rest that workers share: seconds from now."""

_REST_NAMES = {one.name for one in fields(Rest)} - {"began_at"}
_TAKEOVERS = 50  # the most requests of a dead worker that one batch hands on


@dataclass(frozen=True, slots=True)
class Wants:
    """The wants of a worker, sent with each batch, with the script's names.

    Attributes:
        requests: how many requests it could begin now.
        lanes: for how many lanes it could fetch the policy.
        seeds: how many start URLs it wants if there are too few requests.
        seeds_key: the key where users put start URLs; empty for no key.
        lease_ms: how long the worker counts as alive from now.
        is_busy: whether its spider still yields start requests.
        is_fresh: whether to clear the crawl first, if there is no other worker.
        leaves: whether the worker ends.
        flushes: whether to clear the crawl if this is the last worker and nothing is left.
        host: the host on which it runs, for users.
        about: what matters of its settings, while it joins.
        spider: the class of its spider, and the project.
        longest: how many octets an entry may take; longer entries are set aside unread.
        ahead_ms: how long before a request is due the worker may get it, to keep it until then.
        dropped_at: the `dropped_at` of the last reply that had one.
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
    about: str = ""
    spider: str = ""
    longest: int = 1 << 20
    ahead_ms: int = 0
    dropped_at: str = ""


@dataclass(frozen=True, slots=True)
class Reply:
    """The reply to a batch.

    Attributes:
        word: `ok`; `late`, if a later attempt came first; `gone`, if the worker was taken over;
            `epoch`, if this is not the Redis that it has joined; `flush`, if it must clear the
            crawl, before it joins or after it has left; `wait`, while another worker clears it;
            `full`, if Redis has no memory for the pushes.
        epoch: the epoch of this Redis.
        last_id: the last id that was given to any worker.
        queued: requests that wait, over the fleet.
        flying: requests that workers have, over the fleet.
        idle_ms: for how long there has been no work; None while there is work.
        workers: the number of workers with a valid lease.
        next_ms: when the next lane becomes due or needs a policy; None without such a lane.
        popped: requests for this worker.
        to_check: lanes for which this worker must find the policy, each with an entry, and
            whether no worker must wait for a turn there.
        filtered: the indexes, from 0, of pushes that were duplicates.
        seeds: start URLs for this worker.
        seeds_left: how many start URLs are left.
        dead: requests that became dead letters.
        letters: the number of dead letters that are kept.
        turns: the turns that it has, by the keys of its wishes.
        is_mender: whether this worker must run the recount of the crawl.
        aside: entries and keys that the script set aside, and the reasons.
        is_full: whether Redis has no memory left.
        only_letters: whether start requests are left out in this run.
        about: what matters of a worker that differs from this one, which has joined.
        rests: the rests that have changed since the last batch, or None at their ends, by lane;
            times are seconds from now.
        rests_seen: the version of the rests that this worker knows now.
        probes: the lanes where this worker has the first request after a rest.
        order: what an operator orders: `pause`, `stop`, or nothing.
        dropped_at: the id of the last change of the dropped origins; empty without any.
        dropped: why each dropped origin was dropped; None if the worker knows this change.
        books: counts that the next batch brings back, if Redis should lose them.
        lost: how many requests were accepted, and neither fetched nor dropped nor are dead
            letters, although nothing is left.
        filter_lost: how many ended requests the duplicate filters do not know any more.
        is_counting: whether the requests are being counted, so that the totals are too small.
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
    to_check: tuple[tuple[str, bytes, bool], ...] = ()
    filtered: tuple[int, ...] = ()
    seeds: tuple[HeldRequest, ...] = ()
    seeds_left: int = 0
    dead: int = 0
    letters: int = 0
    turns: dict[int, HeldRequest] = field(default_factory=dict)
    is_mender: bool = False
    aside: tuple[tuple[str, str], ...] = ()
    is_full: bool = False
    only_letters: bool = False
    about: str = ""
    rests: tuple[tuple[str, Rest | None], ...] = ()
    rests_seen: int = 0
    probes: frozenset[str] = frozenset()
    order: str = ""
    dropped_at: str = ""
    dropped: dict[str, str] | None = None
    books: tuple[int, ...] = ()
    lost: int = 0
    filter_lost: int = 0
    is_counting: bool = False


def arguments(batch: Batch, wants: Wants, now: float, **others: Any) -> bytes:
    """The arguments of the script at `now`, in monotonic seconds. O(size of the batch)."""

    def age(at: float) -> int:
        return round(1000 * (now - at))

    values = {
        "version": VERSION,
        "deliveries": DELIVERIES,
        "most": _TAKEOVERS,
        "octets": PUSH_OCTETS,
        **_by_name(batch),
        **_by_name(wants),
        "pushes": [_pushed(push) for push in batch.pushes],
        "left": [(id_, lane, age(at)) for id_, (lane, at) in batch.left.items()],
        "ended": [(id_, how, token) for id_, (how, token) in batch.ended.items()],
        "settled": [_settled(one, age) for one in batch.settled],
        "rests": [_rested(one, age) for one in batch.rests],
        "turns": [(key, wish.lane, round(1000 * wish.delay_seconds)) for key, wish in batch.turns],
        **others,
    }
    # Redis's msgpack is older than the msgpack type for octets.
    octets: bytes = msgpack.packb(values, use_bin_type=False, unicode_errors="surrogateescape")
    return octets


def _by_name(told: Batch | Wants) -> dict[str, Any]:
    return {one.name: getattr(told, one.name) for one in fields(told)}


def mend_arguments(worker: str, lease_ms: int, **others: Any) -> bytes:
    """The arguments of a step of the recount."""
    values = {"worker": worker, "lease_ms": lease_ms, "deliveries": DELIVERIES, **others}
    octets: bytes = msgpack.packb(values, use_bin_type=False)
    return octets


def mended(octets: Any) -> tuple[bool, tuple[tuple[str, str], ...]]:
    """Whether the recount has more steps, and what the step set aside, as in a reply.

    Raises:
        NoReplyError: it is not a reply of the script.
    """
    try:
        has_more, aside = msgpack.unpackb(octets, raw=True)
        return bool(has_more), _told(aside)
    except Exception as error:  # whatever is not there, or of another kind
        raise NoReplyError(f"it is not a reply of the script: {error!r}") from error


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


def _rested(one: Rested, age: Callable[[float], int]) -> tuple[Any, ...]:
    rest = one.rest
    if rest is None:
        return one.lane, age(one.sent_at), False
    values = {name: getattr(rest, name) for name in _REST_NAMES}
    times = {name: values[name] and -age(values[name]) for name in REST_TIMES}
    retry = {"retry_after_seconds": rest.retry_after_seconds or 0}
    return one.lane, age(one.sent_at), {**values, **times, **retry}


def _rest(found: dict[bytes, Any]) -> Rest:
    """A rest in a reply; it counts as begun when the refusals began."""
    values = {name.decode(): value for name, value in found.items()}
    values |= {name: values[name] / 1000 for name in REST_TIMES}
    values |= {name: _text(values[name]) for name in ("url", "service")}
    values["retry_after_seconds"] = values["retry_after_seconds"] or None
    return Rest(**values, began_at=values["since_at"])


def _pushed(push: Push) -> tuple[Any, ...]:
    held = push.held
    values = (*push[:3], push.token, push.payload, push.is_root)
    if held is None:
        return values
    return (*values, held.id, held.deliveries, held.has_left, round(1000 * held.delay_seconds))


class NoReplyError(StoreError):
    """A reply did not come from the script."""


class RefusedError(StoreError):
    """The crawl in Redis belongs to another spider, or to workers of another release."""


def reply_of(octets: Any) -> Reply:
    """Decode the reply of the script.

    Raises:
        NoReplyError: it is not a reply of the script.
        RefusedError: it refuses this release or this spider.
    """
    try:
        reply = _reply_of(octets)
    except Exception as error:  # whatever is not there, or of another kind
        raise NoReplyError(f"it is not a reply of the script: {error!r}") from error
    if reply.word == "version":
        raise RefusedError(
            f"the crawl in Redis has version {reply.epoch}, and this release of scrapy-rep has "
            f"version {VERSION}: run one release on all workers, or let the crawl end to upgrade"
        )
    if reply.word == "stranger":
        raise RefusedError(
            f"the crawl in Redis belongs to {reply.epoch}: for two spiders, set another "
            "SCHEDULER_QUEUE_KEY; for a new name, let the crawl end with the old one"
        )
    return reply


def _reply_of(octets: bytes) -> Reply:
    found = {name.decode(): value for name, value in msgpack.unpackb(octets, raw=True).items()}
    return Reply(**{name: _READERS.get(name, _number)(value) for name, value in found.items()})


def _number(value: Any) -> Any:
    if not isinstance(value, int):
        raise TypeError("a value in it is not a number")
    return value


def _dropped(flat: list[bytes]) -> dict[str, str]:
    """Why each origin was dropped; the empty name stands for the time of the change."""
    pairs = zip(flat[::2], flat[1::2], strict=True)
    return {_text(lane): why.decode("utf-8", "backslashreplace") for lane, why in pairs if lane}


def _held(row: list[Any]) -> HeldRequest:
    id_, lane, delay, times, payload, token, wait = row
    return HeldRequest(id_.decode(), _text(lane), delay / 1000, times, payload, token, wait / 1000)


def _told(told: Any) -> tuple[tuple[str, str], ...]:
    return tuple((_text(what), _text(reason)) for what, reason in told)


def _text(lane: bytes) -> str:
    """A lane's name; a name in Redis may be invalid UTF-8."""
    return lane.decode("utf-8", "surrogateescape")


def _turns(rows: list[Any]) -> dict[int, HeldRequest]:
    return {
        key: replace(_held([id_, lane, delay, 1, b"", b"", wait]), is_turn=True)
        for key, id_, lane, wait, delay in rows
        if wait >= 0
    }


# How the fields of a reply are read; fields without a row are numbers.
_READERS: dict[str, Callable[[Any], Any]] = {
    **dict.fromkeys(("word", "epoch", "about", "order", "dropped_at"), _text),
    **dict.fromkeys(("is_mender", "is_full", "only_letters", "is_counting"), bool),
    "books": tuple,
    **dict.fromkeys(("popped", "seeds"), lambda rows: tuple(map(_held, rows))),
    "probes": lambda lanes: frozenset(map(_text, lanes)),
    "to_check": lambda rows: tuple((_text(lane), entry, is_free) for lane, entry, is_free in rows),
    "filtered": lambda numbers: tuple(number - 1 for number in numbers),
    "turns": _turns,
    "aside": _told,
    "rests": lambda rows: tuple((_text(lane), _rest(row) if row else None) for lane, row in rows),
    "dropped": _dropped,
}

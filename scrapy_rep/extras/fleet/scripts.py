"""The scripts that Redis runs for a fleet; each is a file in `lua/` that documents its arguments.

Workers run `BATCH`, `MEND` and `CLEAR`; users run `CONTROL`, `REQUEUE` and `CLEAR`. The other
scripts show the state of a fleet to users, and write nothing. They cost O(log n) in the number of
lanes plus the number of items that they read; `looking` documents their results.

These are the keys of a crawl in Redis, without the prefix that the scripts take:

=============  ==========================================================================
`due`          sorted set: lane -> when its next request may be popped, in ms
`new`          sorted set: lane without a known policy -> when to request its policy, in ms
`lines`        hash: lane -> its state (see `LANE` in `lua/records.lua`)
`q:<lane>`     list: its requests of priority 0; `q<priority>:<lane>` for other priorities
`p:<lane>`     sorted set: its priorities other than 0 that have requests
`w`            sorted set: worker -> when its lease ends, in ms
`f:<worker>`   hash: id -> a request that the worker got and has not done
`m:<worker>`   hash: the number of its last batch and attempt, and facts for users and workers
`dying`        set: taken-over workers with requests that are being handed on
`busy`         set: workers with a spider that still yields start requests
`owed`         set: tokens of the requests that were accepted and have not ended: so what is owed
               when nothing is queued or in flight was lost
`df`           set: tokens of requests that have ended, which filters their repetitions
`starts`       set: the same of start requests, until the crawl has ended
`seeds`        list: start URLs that a worker took and gave back
`t`            hash of totals: `n` queued, `fly` in flight, `done`, `dead`, `aside`,
               `idle` when the work ran out, `ended` if nothing is left: `clear` or `keep`,
               `only_letters` if start requests are left out, `gen` the id of the
               recount, `f:<worker>` the recount that includes the worker's requests, `stir`
               the time of the last change, `mended` when the last recount ended, `step` the next
               step of the recount under way, `now` the clock
               of the crawl and `shift` its lead over Redis's, `full` when memory ran out,
               `version` of the keys, entries and batches, `spider` to which all belong,
               `order` of an operator (`pause` or `stop`), `dropped` requests that went with
               their origins, `forgotten` their tokens; and for a Redis that loses data: `owed`
               requests, `seen` ends in `df` and `starts`, also those with a lost token, `roots`
               requests that no page led to, `copied` the roots in an older copy, `lost_at` when
               totals were lost, `told` the totals by the worker that heard last
`refused`      hash: SHA-1 of a queued entry -> why workers refused it, and their names
`dropped`      hash: origin that an operator dropped -> why; under the empty name, when the
               hash changed last; it outlives the crawl
`dead`         list: entries delivered too often, or unreadable; the last 10,000
`epoch`, `ids` when this began, and the last id; they reveal an emptied or older Redis
`rests`        hash: lane -> the rest of its origin after a 429 or 503 (see `REST` in
               `lua/batch.lua`); `rested`: sorted set: lane -> the version of its last change
`first`        hash: lane -> the worker that has the first request after a rest;
               `first_until`: sorted set: lane -> when another one may go first, in ms
`renewed`      when a worker found Redis emptied or older last, in ms
`flushing`     whether a worker is clearing the crawl
`over`         the epoch of a crawl that was cleared without some of its workers, for a day: if
               such a worker wakes, it learns that nothing was lost
`mend`         the id of the recount under way; `mending`: the worker that runs it
`odd:<key>`    a key of an unexpected type, kept for a week
=============  ==========================================================================
"""

from __future__ import annotations

from importlib.resources import files
from typing import Any

import msgpack

from scrapy_rep.cache.base import StoreError
from scrapy_rep.protocol.errors import ConfigurationError

from .link import Link, Script

VERSION = "4"
"""Raise it when keys, entries or batches change: workers of two versions share no crawl."""

_LETTERS_AT_A_TIME = 5  # each may be as long as ENTRY_OCTETS
_FOLDER = files("scrapy_rep.extras.fleet").joinpath("lua")


def _script(*names: str) -> Script:
    parts = (_FOLDER.joinpath(f"{name}.lua").read_text(encoding="utf-8") for name in names)
    return Script("".join(parts))


def prefix_of(queue_key: str | None, spider_name: str) -> str:
    """The prefix of all keys of one crawl, with a hash tag so that one node has all of them.

    Args:
        queue_key: SCHEDULER_QUEUE_KEY, in which ``%(spider)s`` stands for the spider's name; None
            for the default of scrapy-redis.
        spider_name: the name of the spider.

    Raises:
        ConfigurationError: something else is to be replaced in it.
    """
    key = queue_key or "%(spider)s:requests"
    try:
        return f"rep:{{{key % {'spider': spider_name}}}}:"
    except (KeyError, TypeError, ValueError):
        words = "only %(spider)s is replaced in it, and %% stands for a percent sign"
        raise ConfigurationError(f"SCHEDULER_QUEUE_KEY = {key!r} cannot be used: {words}") from None


BATCH = _script("clock", "records", "books", "batch")
MEND = _script("clock", "records", "books", "mend")
CLEAR = _script("clear")
REQUEUE = _script("clock", "records", "books", "requeue")
CONTROL = _script("clock", "records", "books", "control")
LOOK_TOTALS = _script("clock", "look_totals")
LOOK_WORKERS = _script("clock", "look_workers")
LOOK_LANE = _script("clock", "records", "look_lane")
LOOK_LETTERS = _script("records", "look_letters")

# The orders of an operator; workers get them with their next batch.


async def order(link: Link, prefix: str, name: str, *, lane: str = "", why: str = "") -> int:
    """Write an order, and return a number.

    Args:
        link: to the Redis.
        prefix: of the keys of the crawl.
        name: `pause`, `resume` or `stop`, which return the number of workers; `drop`, which
            returns the number of queued requests that are deleted; or `allow`, which returns
            whether the lane was dropped.
        lane: for `drop` and `allow`.
        why: for `drop`.

    Raises:
        StoreError: Redis can't be reached, or refuses; or the crawl is being deleted, or belongs to
            another release.
    """
    return await _written(link, prefix, CONTROL, order=name, lane=lane, why=why)


async def requeue(link: Link, prefix: str, count: int, *, only_letters: bool = False) -> int:
    """Put up to `count` dead letters back into the queue; return how many were put back.

    With `only_letters`, the next run leaves out start requests.

    Raises:
        StoreError: as with `order`.
    """
    back = 0
    for begin in range(0, count, _LETTERS_AT_A_TIME):
        most = min(_LETTERS_AT_A_TIME, count - begin)
        back += await _written(link, prefix, REQUEUE, most=most, only_letters=only_letters)
    return back


async def _written(link: Link, prefix: str, script: Script, **values: Any) -> int:
    values["version"] = VERSION
    octets = msgpack.packb(values, use_bin_type=False, unicode_errors="replace")
    found: int = await link.run(script, [prefix], [octets])
    if found < 0:
        raise StoreError("the crawl is being deleted, or belongs to another release of scrapy-rep")
    return found


async def clear(link: Link, prefix: str, name: str) -> None:
    """Delete all keys of a crawl, except its dropped origins.

    `name` is that of the worker or command that deletes them; no worker can join until the end.

    Raises:
        StoreError: Redis can't be reached, or refuses.
    """
    cursor = b""
    while cursor != b"0":
        cursor = await link.run(CLEAR, [prefix], [cursor or b"0", name])

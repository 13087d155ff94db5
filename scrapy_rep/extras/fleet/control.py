"""The orders of an operator for a crawl in Redis; workers get them with their next batch."""

from __future__ import annotations

from typing import Any

import msgpack

from scrapy_rep.cache.base import StoreError
from scrapy_rep.cache.link import Link, Script

from . import scripts

_LETTERS_AT_A_TIME = 5  # each may be as long as ENTRY_OCTETS


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
    return await _written(link, prefix, scripts.CONTROL, order=name, lane=lane, why=why)


async def requeue(link: Link, prefix: str, count: int, *, only_letters: bool = False) -> int:
    """Put up to `count` dead letters back into the queue; return how many were put back.

    With `only_letters`, the next run leaves out start requests.

    Raises:
        StoreError: as with `order`.
    """
    back = 0
    for begin in range(0, count, _LETTERS_AT_A_TIME):
        most = min(_LETTERS_AT_A_TIME, count - begin)
        back += await _written(link, prefix, scripts.REQUEUE, most=most, only_letters=only_letters)
    return back


async def _written(link: Link, prefix: str, script: Script, **values: Any) -> int:
    values["version"] = scripts.VERSION
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
        cursor = await link.run(scripts.CLEAR, [prefix], [cursor or b"0", name])

"""The orders of an operator for crawls that workers share: each is a row of `ORDERS`."""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from scrapy_rep.commands.inputs import named_origin
from scrapy_rep.commands.running import FOUND, OK, Call, CommandError
from scrapy_rep.commands.terminal import safe
from scrapy_rep.extras.fleet import looking, scripts
from scrapy_rep.extras.fleet.looking import Totals
from scrapy_rep.protocol.units import counted

from .fleet_crawls import FleetCrawl, nothing_of

_Act = Callable[[Call, FleetCrawl, Totals, str], Awaitable[tuple[dict[str, Any], str]]]
NO_REASON = "no reason was given"
ONLY_LETTERS = "--only-letters belongs to requeue"


@dataclass(frozen=True, slots=True)
class Order:
    """An order.

    Attributes:
        act: carries it out; returns numbers for JSON, and a sentence.
        has_origins: whether it names origins, which need no crawl in Redis.
        question: what it deletes; empty if it deletes nothing.
    """

    act: _Act
    has_origins: bool = False
    question: str = ""


async def _steer(
    call: Call, crawl: FleetCrawl, totals: Totals, _: str
) -> tuple[dict[str, Any], str]:
    """Pause, resume or stop."""
    name = call.options.origins[0]
    count = await scripts.order(crawl.link, crawl.prefix, name)
    workers, waiting = counted(count, "worker"), totals.counts["queued"]
    wait = counted(waiting, "queued request waits", "queued requests wait")
    words = {
        "pause": f"{workers} will pause within a second; {wait}",
        "resume": f"{workers} will go on within a second; {wait}",
        "stop": f"{workers} will end within a second; {wait} for the next run",
    }
    return {"workers": count, "queued": totals.counts["queued"]}, words[name]


async def _clear(_: Call, crawl: FleetCrawl, totals: Totals, __: str) -> tuple[dict[str, Any], str]:
    counts = totals.counts
    if counts["workers"]:
        raise CommandError(
            f"{counted(counts['workers'], 'worker')} of {safe(crawl.name)} would write the crawl "
            "again: use stop first. A killed worker counts until its lease ends"
        )
    await scripts.clear(crawl.link, crawl.prefix, "operator")
    numbers = {"deleted": counts["queued"], "dead_letters": counts["dead_letters"]}
    letters = counted(counts["dead_letters"], "dead letter")
    return numbers, f"{counted(counts['queued'], 'queued request')} and {letters} deleted"


async def _requeue(
    call: Call, crawl: FleetCrawl, totals: Totals, __: str
) -> tuple[dict[str, Any], str]:
    count, only = totals.counts["dead_letters"], call.options.only_letters
    if only and totals.has_work:
        raise CommandError(
            f"--only-letters: {safe(crawl.name)} has workers or waiting requests; leave it out"
        )
    back = await scripts.requeue(crawl.link, crawl.prefix, count, only_letters=only)
    left = (await looking.totals(crawl.link, crawl.prefix)).counts["dead_letters"]
    words = f"; {counted(left, 'is', 'are')} left: not whole requests, or new" if left else ""
    return {"requeued": back, "kept": left}, f"{counted(back, 'dead letter')} put back{words}"


async def _drop(
    call: Call, crawl: FleetCrawl, _: Totals, origin: str
) -> tuple[dict[str, Any], str]:
    why = call.options.why or NO_REASON
    count = await scripts.order(crawl.link, crawl.prefix, "drop", lane=origin, why=why)
    other = "http" if origin.startswith("https:") else "https"
    words = f"{origin} is dropped (not with {other}); {counted(count, 'queued request')} deleted"
    return {"origin": origin, "deleted": count}, words


async def _allow(_: Call, crawl: FleetCrawl, __: Totals, origin: str) -> tuple[dict[str, Any], str]:
    count = await scripts.order(crawl.link, crawl.prefix, "allow", lane=origin)
    words = f"{origin} {'may be visited again' if count else 'was not dropped'}"
    return {"origin": origin, "was_dropped": bool(count)}, words


ORDERS: Mapping[str, Order] = {
    **dict.fromkeys(("pause", "resume", "stop"), Order(_steer)),
    "clear": Order(_clear, question="Delete the crawl of {names}, with {count} and {letters}?"),
    "requeue": Order(_requeue),
    "drop": Order(
        _drop, has_origins=True, question="Drop {origins} in {names}, and delete {count}?"
    ),
    "allow": Order(_allow, has_origins=True),
}


def check(call: Call) -> None:
    """Check what follows the name of an order.

    Raises:
        CommandError: it is not what the order takes.
    """
    options = call.options
    name, *rest = options.origins
    order = ORDERS[name]
    if options.watch or bool(rest) is not order.has_origins:
        needs = "needs origins" if order.has_origins else "takes no origins"
        raise CommandError(f"{name} {needs}, and no --watch")
    if options.only_letters and name != "requeue":
        raise CommandError(ONLY_LETTERS)
    options.origins = [name, *(_whole_origin(name, text) for text in rest)]


def _whole_origin(name: str, text: str) -> str:
    origin = str(named_origin(text))
    if re.search(r"[^:/][/?#]+[^/]", text):
        order = f"'scrapy rep fleet {name} {origin}' is for all URLs there"
        raise CommandError(f"{name} is for whole origins, and not for {text}: {order}")
    return origin


async def carry_out(
    call: Call, crawls: Sequence[FleetCrawl], before: Mapping[FleetCrawl, Totals]
) -> int:
    """Carry out an order for each crawl that is there; for a dropped origin, for each crawl.

    Raises:
        CommandError: it was not confirmed, or cannot be carried out now.
        StoreError: Redis can't be reached, or refuses.
    """
    name, *origins = call.options.origins
    order = ORDERS[name]
    there = [one for one in crawls if order.has_origins or before[one].is_there]
    if not there:
        call.terminal.complain(nothing_of(crawls))
        return FOUND
    if order.question and not call.options.yes:
        await _confirm(call, order, there, before)
    for crawl in there:
        for origin in origins or [""]:
            numbers, words = await order.act(call, crawl, before[crawl], origin)
            row = {"crawl": crawl.name, **numbers}
            call.line(json.dumps(row) if call.is_json else f"{safe(crawl.name)}: {words}")
    return OK


async def _confirm(
    call: Call, order: Order, crawls: Sequence[FleetCrawl], before: Mapping[FleetCrawl, Totals]
) -> None:
    """Go on only if the user confirms at the terminal."""
    origins, count = call.options.origins[1:], 0
    for crawl in crawls:
        lanes = [await looking.lane(crawl.link, crawl.prefix, one) for one in origins]
        queued = sum(lane.queued for lane in lanes if lane is not None)
        count += queued if order.has_origins else before[crawl].counts["queued"]
    letters = sum(before[crawl].counts["dead_letters"] for crawl in crawls)
    question = order.question.format(
        origins=", ".join(origins),
        names=safe(", ".join(crawl.name for crawl in crawls)),
        count=counted(count, "queued request"),
        letters=counted(letters, "dead letter"),
    )
    call.confirm(question)

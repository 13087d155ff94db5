"""``scrapy rep fleet``: show and steer crawls that several workers share."""

from __future__ import annotations

import argparse
import asyncio
import json
from collections.abc import Sequence
from contextlib import AsyncExitStack
from itertools import chain

from scrapy_rep.commands.inputs import named_origin
from scrapy_rep.commands.running import FOUND, OK, Call, CommandError
from scrapy_rep.extras.fleet.link import LinkDownError
from scrapy_rep.extras.fleet.looking import Totals

from . import fleet_orders
from .fleet_crawls import FleetCrawl, crawls_of, first_totals, nothing_of
from .fleet_view import View, table_of

_EVERY_SECONDS = {False: 1.0, True: 2.0}  # with --watch
_LEAST_SECONDS, _MOST_SECONDS = 0.1, 3600.0
_LETTERS_MOST = 10_000  # the number that is kept


def run(call: Call) -> int:
    """Show the state, once or repeatedly; or carry out an order."""
    is_order = call.options.origins[:1] and call.options.origins[0] in fleet_orders.ORDERS
    if is_order:
        fleet_orders.check(call)
    else:
        _check(call.options)
    return asyncio.run(_run(call, crawls_of(call), is_order=bool(is_order)))


def _check(options: argparse.Namespace) -> None:
    if options.every is None:
        options.every = _EVERY_SECONDS[options.watch]
    least = _LEAST_SECONDS if options.watch else 0.0
    if not least <= options.every <= _MOST_SECONDS:
        raise CommandError(f"--every {options.every:g}: give {least:g} to {_MOST_SECONDS:g}")
    if options.only_letters:
        raise CommandError(fleet_orders.ONLY_LETTERS)
    options.origins = [str(named_origin(text)) for text in options.origins]
    if not 0 <= options.dead <= _LETTERS_MOST:
        raise CommandError(f"--dead {options.dead}: give a number up to {_LETTERS_MOST}")


async def _run(call: Call, crawls: Sequence[FleetCrawl], *, is_order: bool) -> int:
    async with AsyncExitStack() as links:
        for crawl in crawls:
            crawl.link.open()
            links.push_async_callback(crawl.link.close)
        before = await first_totals(crawls)
        if is_order:
            return await fleet_orders.carry_out(call, crawls, before)
        if not call.options.watch:
            if any(one.is_there for one in before.values()) and not call.options.origins:
                await asyncio.sleep(call.options.every)
            lines, complaints = await _look(call, before)
            call.lines(lines)
            for words in complaints:
                call.terminal.complain(words)
            return FOUND if complaints else OK
        while True:
            await _look_again(call, before)
            await asyncio.sleep(call.options.every)


async def _look(call: Call, before: dict[FleetCrawl, Totals]) -> tuple[list[str], list[str]]:
    """The state as lines, and complaints about missing crawls and origins; updates `before`."""
    origins, letters = call.options.origins, call.options.dead
    is_only = sum(last.is_there for last in before.values()) <= 1
    is_closer = not origins and (call.is_json or is_only)
    views = [
        await View.of(crawl, last, origins=origins, letters=letters, closer=is_closer)
        for crawl, last in before.items()
    ]
    before.update((view.crawl, view.totals) for view in views)
    there = [view for view in views if view.totals.is_there or any(view.lanes.values())]
    if not there:
        return [], [nothing_of(list(before))]
    if call.is_json:
        lines = list(map(json.dumps, chain.from_iterable(view.dicts() for view in there)))
    elif origins or len(there) == 1:
        lines = list(chain.from_iterable(view.words(call) for view in there))
    else:
        lines = list(table_of(there, call))
    missing = [one for one in origins if not any(view.lanes[one] for view in there)]
    return lines, [f"nothing is queued or known for {one}" for one in missing]


async def _look_again(call: Call, before: dict[FleetCrawl, Totals]) -> None:
    """Show the state again, in place of the last one."""
    try:
        lines, complaints = await _look(call, before)
    except LinkDownError as error:
        words = f"{str(error).rstrip('.')}. It does not answer; trying again"
        lines, complaints = [], [words]
    if not call.is_json:
        call.terminal.screen([*lines, *complaints, ""])
        return
    call.lines(lines)
    for words in complaints:
        call.terminal.complain(words)
    call.terminal.flush()

"""``scrapy rep fleet``: how things stand with the crawls that workers share in Redis."""

from __future__ import annotations

import argparse
import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from .running import FOUND, OK, CommandError
from .sources import is_url, origin_of

if TYPE_CHECKING:
    from scrapy.settings import Settings

    from scrapy_rep.cache.link import Link, LinkDownError
    from scrapy_rep.fleet.looking import Totals

    from .crawls import Crawl
    from .fleet_words import View
    from .terminal import Terminal

SUMMARY = "look at crawls that several workers share"
DESCRIPTION = """\
Show how things stand with this project's crawls under RepRedisScheduler (REP_REDIS_URL,
SCHEDULER_QUEUE_KEY): workers and their leases, what is queued, in flight and done, dead letters,
pages per second, and how many origins are due, closed, held or unreachable. With several crawls in
Redis, a line for each. With an ORIGIN (a URL, or a host, which stands for https://host), how things
stand with that one. It only reads, a little at a time: looking slows no crawl down."""
EXAMPLES = """\
examples:
  scrapy rep fleet
  scrapy rep fleet --watch
  scrapy rep fleet --spider shop --dead 5
  scrapy rep fleet https://example.com
  scrapy rep fleet --spider shop -s REP_REDIS_URL=redis://10.0.0.5:6379/0 --json

exit status: 0 shown; 1 no such crawl or origin is in Redis; 2 wrong usage; 3 Redis can't be
reached"""

_EVERY_SECONDS = {False: 1.0, True: 2.0}  # with --watch
_LEAST_SECONDS, _MOST_SECONDS = 0.1, 3600.0
_LETTERS_MOST = 10_000  # so many are kept
_LANES_WATCHED = 20_000  # that each look of --watch goes through
_PATIENCE_SECONDS = 1.0
_RETRY_SECONDS = 0.1
_NAMES = 5
_RATE_SECONDS = 0.05  # pages per second are not measured over less


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of this subcommand."""
    parser.add_argument("origins", nargs="*", metavar="ORIGIN", help="how things stand with these")
    parser.add_argument(
        "--spider",
        action="append",
        default=[],
        metavar="NAME",
        help="only the crawl of this spider; may be given more than once",
    )
    parser.add_argument("--watch", action="store_true", help="look again and again, until Ctrl-C")
    parser.add_argument(
        "--every",
        type=float,
        metavar="SECONDS",
        help="between two looks, over which pages/s are measured (default: 1; with --watch 2)",
    )
    parser.add_argument(
        "--dead", type=int, default=0, metavar="NUMBER", help="show the last dead letters, too"
    )
    parser.add_argument("--json", action="store_true", help="write JSON lines")


def run(options: argparse.Namespace, settings: Settings, terminal: Terminal) -> int:
    """Show how things stand, once or again and again."""
    _check(options)
    origins = [
        str(origin_of(text if is_url(text) else f"https://{text}")) for text in options.origins
    ]
    from .crawls import crawls_of

    return asyncio.run(_run(options, crawls_of(settings, options.spider), origins, terminal))


def _check(options: argparse.Namespace) -> None:
    if options.every is None:
        options.every = _EVERY_SECONDS[options.watch]
    least = _LEAST_SECONDS if options.watch else 0.0
    if not least <= options.every <= _MOST_SECONDS:
        raise CommandError(f"--every {options.every:g}: give {least:g} to {_MOST_SECONDS:g}")
    if not 0 <= options.dead <= _LETTERS_MOST:
        raise CommandError(f"--dead {options.dead}: give a number up to {_LETTERS_MOST}")


async def _run(
    options: argparse.Namespace, crawls: Sequence[Crawl], origins: list[str], terminal: Terminal
) -> int:
    async with _links(crawls) as links:
        looker = _Looker(options, crawls, links, origins, terminal)
        await looker.reach()
        if not options.watch:
            return await looker.once()
        while True:
            await looker.again()
            await asyncio.sleep(options.every)


@asynccontextmanager
async def _links(crawls: Sequence[Crawl]) -> AsyncIterator[dict[str, Link]]:
    from scrapy_rep.cache.link import Link

    links = {url: Link(url) for url in {crawl.url for crawl in crawls}}
    for link in links.values():
        link.open()
    try:
        yield links
    finally:
        for link in links.values():
            await link.close()


class _Looker:
    """Looks at some crawls, and shows them."""

    def __init__(
        self,
        options: argparse.Namespace,
        crawls: Sequence[Crawl],
        links: dict[str, Link],
        origins: list[str],
        terminal: Terminal,
    ) -> None:
        self._options = options
        self._crawls = crawls
        self._links = links
        self._origins = origins
        self._terminal = terminal
        self._before: dict[Crawl, Totals] = {}

    async def reach(self) -> None:
        """Look for the first time, at what is counted.

        Raises:
            LinkDownError: Redis can't be reached.
        """
        loop = asyncio.get_running_loop()
        patience = loop.time() + _PATIENCE_SECONDS
        while (error := await self._failed()) is not None:
            if loop.time() > patience:
                raise error
            await asyncio.sleep(_RETRY_SECONDS)

    async def _failed(self) -> LinkDownError | None:
        """Look; the error if Redis can't be reached."""
        from scrapy_rep.cache.link import LinkDownError

        try:
            for crawl in self._crawls:
                self._before[crawl] = await self._totals(crawl)
        except LinkDownError as error:
            return error
        return None

    async def once(self) -> int:
        """Show how things stand."""
        there = [crawl for crawl in self._crawls if self._before[crawl].is_there]
        if not there:
            self._terminal.complain(self._nothing())
            return FOUND
        if not self._origins:
            await asyncio.sleep(self._options.every)
        views = await self._views(there)
        for text in self._lines(views):
            self._terminal.line(text)
        missing = self._missing(views)
        for origin in missing:
            self._terminal.complain(f"nothing is queued or known of {origin}")
        return FOUND if missing else OK

    async def again(self) -> None:
        """Show how things stand in the place of how they stood before."""
        from scrapy_rep.cache.link import LinkDownError

        try:
            lines, complaints = await self._news()
        except LinkDownError as error:
            lines, complaints = (
                [],
                [f"{str(error).rstrip('.')}. It does not answer, and is asked again"],
            )
        if self._options.json:
            for text in lines:
                self._terminal.line(text)
            for text in complaints:
                self._terminal.complain(text)
            self._terminal.flush()
        else:
            self._terminal.screen([*lines, *complaints, ""])

    async def _news(self) -> tuple[list[str], list[str]]:
        """What there is to show, and to complain of."""
        views = await self._views(self._crawls)
        there = [view for view in views if view.totals.is_there]
        complaints = [f"nothing is queued or known of {one}" for one in self._missing(there)]
        return [*self._lines(there)], complaints if there else [self._nothing()]

    def _nothing(self) -> str:
        from .fleet_words import safe

        addresses = sorted({self._links[crawl.url].address for crawl in self._crawls})
        names = ", ".join(safe(crawl.name) for crawl in self._crawls[:_NAMES])
        more = len(self._crawls) - _NAMES
        others = f" and {more:,} more" if more > 0 else ""
        return f"Redis at {safe(', '.join(addresses))} has no crawl of {names}{others}"

    def _missing(self, views: Sequence[View]) -> list[str]:
        return [one for one in self._origins if not any(view.lanes.get(one) for view in views)]

    async def _totals(self, crawl: Crawl) -> Totals:
        from scrapy_rep.fleet.looking import totals

        return await totals(self._links[crawl.url], crawl.prefix)

    async def _views(self, crawls: Sequence[Crawl]) -> list[View]:
        views = [await self._counted(crawl) for crawl in crawls]
        if self._origins:
            return [await self._looked_up(view) for view in views]
        is_one = sum(view.totals.is_there for view in views) == 1
        if is_one or self._options.json:
            return [await self._whole(view) for view in views]
        return views

    async def _counted(self, crawl: Crawl) -> View:
        from .fleet_words import View

        now, before = await self._totals(crawl), self._before.get(crawl)
        self._before[crawl] = now
        rate, seconds = None, 0.0
        if before is not None and before.epoch == now.epoch:
            seconds = now.now - before.now
        if before is not None and self._options.every and seconds >= _RATE_SECONDS:
            rate = max(0.0, (now.done - before.done) / seconds)
        address = self._links[crawl.url].address
        return View(crawl, address, now, rate, seconds)

    async def _looked_up(self, view: View) -> View:
        from scrapy_rep.fleet.looking import lane

        link = self._links[view.crawl.url]
        lanes = {one: await lane(link, view.crawl.prefix, one) for one in self._origins}
        return replace(view, lanes=lanes)

    async def _whole(self, view: View) -> View:
        from scrapy_rep.fleet.looking import LANES, letters, places, workers

        link, prefix = self._links[view.crawl.url], view.crawl.prefix
        most = _LANES_WATCHED if self._options.watch else LANES
        return replace(
            view,
            places=await places(link, prefix, view.totals.lanes, most),
            workers=await workers(link, prefix),
            letters=await letters(link, prefix, self._options.dead),
        )

    def _lines(self, views: Sequence[View]) -> list[str]:
        from .fleet_words import as_dict, lane_dicts, lane_words, table_of, words_of

        if self._options.json:
            found = [
                one
                for view in views
                for one in (lane_dicts(view) if self._origins else [as_dict(view)])
            ]
            return [json.dumps(one) for one in found]
        if self._origins:
            return [text for view in views for text in lane_words(view, self._terminal)]
        if len(views) == 1:
            return [*words_of(views[0], self._terminal)]
        return [*table_of(views, self._terminal)] if views else []

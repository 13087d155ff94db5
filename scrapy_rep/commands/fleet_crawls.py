"""Finds the crawls of a project in Redis, by the settings of its spiders."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from scrapy import Spider
from scrapy.settings import Settings
from scrapy.spiderloader import get_spider_loader

from scrapy_rep.cache.link import Link, LinkDownError
from scrapy_rep.queue.fleet import looking
from scrapy_rep.queue.fleet.looking import Totals
from scrapy_rep.queue.fleet.scripts import prefix_of
from scrapy_rep.settings import RepSettings

from .running import Call, CommandError
from .terminal import safe

_PATIENCE_SECONDS = 1.0
_RETRY_SECONDS = 0.1
_NAMES = 5
_USUAL_KEY = "%(spider)s:requests"  # scrapy-redis's


@dataclass(frozen=True)
class FleetCrawl:
    """A crawl that may be in Redis.

    Attributes:
        name: the spider's.
        prefix: of its keys.
        link: to its Redis.
    """

    name: str
    prefix: str
    link: Link


def crawls_of(call: Call) -> list[FleetCrawl]:
    """The crawls of the named spiders; without names, of all spiders of the project.

    An unknown name stands for a spider with the project's settings.

    Raises:
        CommandError: there is no spider, or no Redis is set.
        ConfigurationError: a setting is wrong.
    """
    classes = dict(_spiders(call.settings))
    wanted = list(dict.fromkeys(call.options.spider)) or sorted(classes)
    if not wanted:
        raise CommandError(
            "there are no spiders here: run this in the folder of a project, or use --spider"
        )
    links: dict[str, Link] = {}
    # Spiders may share a queue, if SCHEDULER_QUEUE_KEY does not contain the spider's name.
    found: dict[tuple[str, str], FleetCrawl] = {}
    for name in wanted:
        own = call.settings.copy()
        if name in classes:
            classes[name].update_settings(own)
        prefix, ours = _prefix(own, name), RepSettings.of(own)
        url = ours.redis_url
        if url and url not in links:
            links[url] = Link(url, ours.redis_timeout_seconds)
        if url:
            found.setdefault((prefix, url), FleetCrawl(name, prefix, links[url]))
    if not found:
        raise CommandError(
            "REP_REDIS_URL is not set, so no crawl is in Redis; set it, for example with\n"
            "-s REP_REDIS_URL=redis://localhost:6379/0"
        )
    return list(found.values())


def _spiders(settings: Settings) -> Iterator[tuple[str, type[Spider]]]:
    own = settings.copy()
    own.set("SPIDER_LOADER_WARN_ONLY", True, priority="cmdline")  # a broken one hides no other
    loader = get_spider_loader(own)
    for name in loader.list():
        yield name, loader.load(name)


def _prefix(settings: Settings, name: str) -> str:
    key = settings.get("SCHEDULER_QUEUE_KEY") or _USUAL_KEY
    try:
        return prefix_of(key, name)
    except (KeyError, TypeError, ValueError) as error:
        raise CommandError(
            f"SCHEDULER_QUEUE_KEY = {key!r} cannot be used ({error!r}): only %(spider)s is "
            "replaced in it"
        ) from error


async def first_totals(crawls: Sequence[FleetCrawl]) -> dict[FleetCrawl, Totals]:
    """The counts of crawls; a server that has just started gets a second.

    Raises:
        LinkDownError: Redis cannot be reached.
    """
    patience = time.monotonic() + _PATIENCE_SECONDS
    while True:
        try:
            return {crawl: await looking.totals(crawl.link, crawl.prefix) for crawl in crawls}
        except LinkDownError:
            if time.monotonic() > patience:
                raise
        await asyncio.sleep(_RETRY_SECONDS)


def nothing_of(crawls: Sequence[FleetCrawl]) -> str:
    """The words for crawls that are not in Redis."""
    addresses = sorted({crawl.link.address for crawl in crawls})
    names = ", ".join(safe(crawl.name) for crawl in crawls[:_NAMES])
    more = len(crawls) - _NAMES
    others = f" and {more:,} more" if more > 0 else ""
    return f"Redis at {safe(', '.join(addresses))} has no crawl of {names}{others}"

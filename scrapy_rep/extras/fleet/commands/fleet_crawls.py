"""Finds the crawls of a project in Redis, by the settings of its spiders."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass

from scrapy import Spider
from scrapy.settings import Settings
from scrapy.spiderloader import get_spider_loader

from scrapy_rep.commands.running import Call, CommandError
from scrapy_rep.commands.terminal import cut, safe
from scrapy_rep.extras.fleet import looking
from scrapy_rep.extras.fleet.link import Link, LinkDownError
from scrapy_rep.extras.fleet.looking import Totals
from scrapy_rep.extras.fleet.scripts import prefix_of
from scrapy_rep.settings import RepSettings


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
        ours = RepSettings.of(own)
        prefix, url = prefix_of(own.get("SCHEDULER_QUEUE_KEY"), name), ours.redis_url
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


async def first_totals(crawls: Sequence[FleetCrawl]) -> dict[FleetCrawl, Totals]:
    """The counts of crawls; a server that has just started gets a second.

    Raises:
        LinkDownError: Redis cannot be reached.
    """
    with suppress(LinkDownError):
        return {crawl: await looking.totals(crawl.link, crawl.prefix) for crawl in crawls}
    for crawl in crawls:
        await crawl.link.comes_back()
    return {crawl: await looking.totals(crawl.link, crawl.prefix) for crawl in crawls}


def nothing_of(crawls: Sequence[FleetCrawl]) -> str:
    """The words for crawls that are not in Redis."""
    addresses = sorted({crawl.link.address for crawl in crawls})
    names = cut(safe(", ".join(crawl.name for crawl in crawls)), 80)
    return f"Redis at {safe(', '.join(addresses))} has no crawl of {names}"

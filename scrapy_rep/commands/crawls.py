"""Which crawls of a project may be in Redis: one for each spider, by the settings that it has."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from scrapy_rep.fleet.scripts import prefix_of
from scrapy_rep.settings import RepSettings

from .running import CommandError

if TYPE_CHECKING:
    from scrapy import Spider
    from scrapy.settings import Settings

_USUAL_KEY = "%(spider)s:requests"  # scrapy-redis's


@dataclass(frozen=True, slots=True)
class Crawl:
    """A crawl that may be there.

    Attributes:
        name: the spider's.
        prefix: of its keys.
        url: of its Redis.
    """

    name: str
    prefix: str
    url: str


def crawls_of(settings: Settings, names: Iterable[str]) -> list[Crawl]:
    """The crawls of some spiders; of all spiders of the project, if none is named.

    A name that is none of the project's stands for a spider with the project's settings.

    Raises:
        CommandError: there is none, or no Redis for them.
        ConfigurationError: a setting is wrong.
    """
    classes = dict(_spiders(settings))
    wanted = list(dict.fromkeys(names)) or sorted(classes)
    if not wanted:
        raise CommandError(
            "no spiders are here: call this in the folder of a project, or name one with --spider"
        )
    found = [_crawl(name, classes.get(name), settings) for name in wanted]
    at_redis = [crawl for crawl in found if crawl.url]
    if not at_redis:
        raise CommandError(
            "REP_REDIS_URL is not set, so no crawl is in Redis; set it, such as with\n"
            "-s REP_REDIS_URL=redis://localhost:6379/0"
        )
    # Spiders may share a queue, if SCHEDULER_QUEUE_KEY names none of them.
    return list({(crawl.prefix, crawl.url): crawl for crawl in reversed(at_redis)}.values())[::-1]


def _spiders(settings: Settings) -> Iterator[tuple[str, type[Spider]]]:
    from scrapy.spiderloader import get_spider_loader

    own = settings.copy()
    own.set("SPIDER_LOADER_WARN_ONLY", True, priority="cmdline")  # one that is broken hides none
    loader = get_spider_loader(own)
    for name in loader.list():
        yield name, loader.load(name)


def _crawl(name: str, cls: type[Spider] | None, settings: Settings) -> Crawl:
    own = settings.copy()
    if cls is not None:
        cls.update_settings(own)
    key = own.get("SCHEDULER_QUEUE_KEY") or _USUAL_KEY
    try:
        prefix = prefix_of(key, name)
    except (KeyError, TypeError, ValueError) as error:
        raise CommandError(
            f"SCHEDULER_QUEUE_KEY = {key!r} can't be used ({error!r}): only %(spider)s is replaced "
            "in it"
        ) from error
    return Crawl(name, prefix, RepSettings.of(own).redis_url)

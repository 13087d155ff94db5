"""The one-line installation: ``ADDONS = {"scrapy_rep.Addon": 500}``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.core.scheduler import Scheduler
from scrapy.downloadermiddlewares.robotstxt import RobotsTxtMiddleware
from scrapy.utils.misc import load_object

from scrapy_rep.engine.components import middleware_orders
from scrapy_rep.engine.refusals import refusals_in_one_line
from scrapy_rep.extras import EXTRAS
from scrapy_rep.middleware import RepMiddleware
from scrapy_rep.protocol.errors import ConfigurationError
from scrapy_rep.settings import checked_values

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.settings import BaseSettings
    from typing_extensions import Self

_MIDDLEWARES = "DOWNLOADER_MIDDLEWARES"
_QUEUE = "SCHEDULER_PRIORITY_QUEUE"
_SPIDER_MIDDLEWARES = "SPIDER_MIDDLEWARES"
_PAGES_ORDER = 950  # next to the spider: requests that other middlewares add are not judged
_LINKS_ORDER = 0  # next to the engine: also links that other middlewares add are noted
_FIRST = -1000  # before all other extensions
_ORDER = 100  # the order of Scrapy's own robots.txt middleware


class Refusal:
    """An extension of a crawl with a wrong setting, which ends it at its start.

    Scrapy builds extensions after it has installed the reactor, which the next crawls of the
    process need, and before parts that it would not close again.
    """

    @refusals_in_one_line()
    def __init__(self, crawler: Crawler) -> None:
        """Read and check the settings.

        Raises:
            ConfigurationError: a setting is wrong.
        """
        checked_values(crawler.settings)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Build from a crawler."""
        return cls(crawler)


def _are_right(settings: BaseSettings) -> bool:
    try:
        checked_values(settings)
    except ConfigurationError:
        return False
    return True


class Addon:
    """Replaces Scrapy's middleware and queue with `RepMiddleware` and `RepPriorityQueue`.

    It adds `RepPageMiddleware`, which does nothing unless a setting enables it. It keeps the order
    that the user gave to a middleware, and a queue or a scheduler that the user chose. It changes
    nothing else: `ROBOTSTXT_OBEY` still decides whether robots.txt is obeyed.
    """

    @refusals_in_one_line()
    def update_settings(self, settings: BaseSettings) -> None:
        """Change the settings of a crawl, at the add-on's priority.

        Raises:
            ConfigurationError: the user disabled `RepMiddleware`.
        """
        if settings.getbool("ROBOTSTXT_OBEY") and not _are_right(settings):
            settings.set_in_component_priority_dict("EXTENSIONS", Refusal, _FIRST)
        for component, order in (settings[_MIDDLEWARES] or {}).items():
            if order is None and load_object(component) is RepMiddleware:
                raise ConfigurationError(
                    "DOWNLOADER_MIDDLEWARES disables RepMiddleware, and scrapy_rep.Addon disables "
                    "Scrapy's own: robots.txt would not be obeyed. Remove one of the two, or set "
                    "ROBOTSTXT_OBEY = False"
                )
        order = middleware_orders(settings).get(RobotsTxtMiddleware)
        settings.set_in_component_priority_dict(_MIDDLEWARES, RobotsTxtMiddleware, None)
        settings.setdefault_in_component_priority_dict(
            _MIDDLEWARES, RepMiddleware, _ORDER if order is None else order
        )
        for extra in EXTRAS:
            if extra.spider_middleware and extra.is_installed:
                settings.setdefault_in_component_priority_dict(
                    _SPIDER_MIDDLEWARES, load_object(extra.spider_middleware), _PAGES_ORDER
                )
        scheduler = load_object(settings["SCHEDULER"])
        if links := getattr(scheduler, "spider_middleware", None):
            settings.setdefault_in_component_priority_dict(_SPIDER_MIDDLEWARES, links, _LINKS_ORDER)
        # Another scheduler may need another kind of queue. A queue that the user set stays anyway.
        if scheduler is Scheduler:
            settings.set(_QUEUE, "scrapy_rep.RepPriorityQueue", priority="addon")

"""The one-line installation: ``ADDONS = {"scrapy_rep.Addon": 500}``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.core.scheduler import Scheduler
from scrapy.downloadermiddlewares.robotstxt import RobotsTxtMiddleware
from scrapy.utils.misc import load_object

from .components import MIDDLEWARES, middleware_orders
from .middleware import RepMiddleware
from .protocol.errors import ConfigurationError

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings

_QUEUE = "SCHEDULER_PRIORITY_QUEUE"
_ORDER = 100  # that of Scrapy's own robots.txt middleware


class Addon:
    """Puts `RepMiddleware` and `RepPriorityQueue` in the place of Scrapy's own.

    The order the user gave to either middleware is kept, and so is a queue or a scheduler that the
    user chose. Nothing else is changed, and whether robots.txt is obeyed at all stays with
    `ROBOTSTXT_OBEY`.
    """

    def update_settings(self, settings: BaseSettings) -> None:
        """Change the settings of a crawl, at the add-on's priority.

        Raises:
            ConfigurationError: the user switched `RepMiddleware` off.
        """
        for component, order in (settings[MIDDLEWARES] or {}).items():
            if order is None and load_object(component) is RepMiddleware:
                raise ConfigurationError(
                    f"{MIDDLEWARES} switches RepMiddleware off, and scrapy_rep.Addon takes the "
                    "place of Scrapy's own: nobody would judge. Remove one of the two, or set "
                    "ROBOTSTXT_OBEY = False"
                )
        order = middleware_orders(settings).get(RobotsTxtMiddleware)
        settings.set_in_component_priority_dict(MIDDLEWARES, RobotsTxtMiddleware, None)
        settings.setdefault_in_component_priority_dict(
            MIDDLEWARES, RepMiddleware, _ORDER if order is None else order
        )
        # Another scheduler may have queues of another kind; one that the user set is kept anyway.
        if load_object(settings["SCHEDULER"]) is Scheduler:
            settings.set(_QUEUE, "scrapy_rep.RepPriorityQueue", priority="addon")

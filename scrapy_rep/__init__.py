"""scrapy-rep: the Robots Exclusion Protocol (RFC 9309) for Scrapy."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .extras import load_late

# The names for spiders and settings, by module. Other public names are imported from their room.
_NAMES = {
    "addon": "Addon",
    "cache.base": "Store",
    "decisions.request_records": "verdict_of",
    "extras.fleet.scheduler": "RepRedisScheduler",
    "extras.pages.browsers.browser_pages": "playwright_abort_request",
    "extras.pages.page_middleware": "RepPageMiddleware",
    "extras.pages.readings": "page_rules usage usage_of",
    "middleware": "RepMiddleware",
    "policies": "policy_for",
    "policy": "Policy",
    "protocol.access.events": "AccessResult",
    "protocol.access.origin": "Origin",
    "protocol.document": "RobotsTxt parse",
    "protocol.errors": "ConfigurationError InvalidProductToken InvalidUri RepError",
    "protocol.verdict": "Reason Rule Verdict",
    "queue.explaining": "explain",
    "queue.priority_queue": "RepPriorityQueue",
    "robotparser": "RepRobotParser",
    "signals": "signals Challenged RateLimited RobotsTxtDisallowed RobotsTxtUnreachable",
    "sitemaps.spiders": "RobotsSitemapMixin RobotsSitemapSpider",
}
_named = load_late(__name__, _NAMES)

if TYPE_CHECKING:
    __version__: str

    from . import signals as signals
    from .addon import Addon as Addon
    from .cache.base import Store as Store
    from .decisions.request_records import verdict_of as verdict_of
    from .extras.fleet.scheduler import RepRedisScheduler as RepRedisScheduler
    from .extras.pages.browsers.browser_pages import (
        playwright_abort_request as playwright_abort_request,
    )
    from .extras.pages.page_middleware import RepPageMiddleware as RepPageMiddleware
    from .extras.pages.readings import page_rules as page_rules
    from .extras.pages.readings import usage as usage
    from .extras.pages.readings import usage_of as usage_of
    from .middleware import RepMiddleware as RepMiddleware
    from .policies import policy_for as policy_for
    from .policy import Policy as Policy
    from .protocol.access.events import AccessResult as AccessResult
    from .protocol.access.origin import Origin as Origin
    from .protocol.document import RobotsTxt as RobotsTxt
    from .protocol.document import parse as parse
    from .protocol.errors import ConfigurationError as ConfigurationError
    from .protocol.errors import InvalidProductToken as InvalidProductToken
    from .protocol.errors import InvalidUri as InvalidUri
    from .protocol.errors import RepError as RepError
    from .protocol.verdict import Reason as Reason
    from .protocol.verdict import Rule as Rule
    from .protocol.verdict import Verdict as Verdict
    from .queue.explaining import explain as explain
    from .queue.priority_queue import RepPriorityQueue as RepPriorityQueue
    from .robotparser import RepRobotParser as RepRobotParser
    from .signals import Challenged as Challenged
    from .signals import RateLimited as RateLimited
    from .signals import RobotsTxtDisallowed as RobotsTxtDisallowed
    from .signals import RobotsTxtUnreachable as RobotsTxtUnreachable
    from .sitemaps.spiders import RobotsSitemapMixin as RobotsSitemapMixin
    from .sitemaps.spiders import RobotsSitemapSpider as RobotsSitemapSpider
else:  # type checkers would accept every name

    def __getattr__(name: str) -> Any:
        if name == "__version__":
            return import_module("importlib.metadata").version("scrapy-rep")
        return _named(name)

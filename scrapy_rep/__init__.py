"""scrapy-rep: the Robots Exclusion Protocol (RFC 9309) for Scrapy."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

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
    from .extras.pages.page.rules import PageRule as PageRule
    from .extras.pages.page.rules import PageRules as PageRules
    from .extras.pages.page_middleware import RepPageMiddleware as RepPageMiddleware
    from .extras.pages.readings import page_rules as page_rules
    from .extras.pages.readings import usage as usage
    from .extras.pages.readings import usage_of as usage_of
    from .extras.pages.usage.licences import PaymentRequired as PaymentRequired
    from .extras.pages.usage.preference import Licence as Licence
    from .extras.pages.usage.preference import Preference as Preference
    from .extras.pages.usage.preference import Statement as Statement
    from .extras.pages.usage.preference import UsagePreferences as UsagePreferences
    from .extras.pages.usage.preference import UseLevel as UseLevel
    from .extras.webmaster.checks.codes import Code as Code
    from .extras.webmaster.checks.codes import Effect as Effect
    from .extras.webmaster.checks.codes import Severity as Severity
    from .extras.webmaster.findings import Finding as Finding
    from .extras.webmaster.linting.linter import lint as lint
    from .extras.webmaster.rewrite.normal import Mode as Mode
    from .extras.webmaster.rewrite.normal import normalise as normalise
    from .middleware import RepMiddleware as RepMiddleware
    from .policies import policy_for as policy_for
    from .policy import Policy as Policy
    from .protocol.access.events import AccessResult as AccessResult
    from .protocol.access.events import Meaning as Meaning
    from .protocol.access.knowledge import Step as Step
    from .protocol.access.origin import Origin as Origin
    from .protocol.document import Group as Group
    from .protocol.document import RobotsTxt as RobotsTxt
    from .protocol.document import parse as parse
    from .protocol.errors import ConfigurationError as ConfigurationError
    from .protocol.errors import InvalidProductToken as InvalidProductToken
    from .protocol.errors import InvalidUri as InvalidUri
    from .protocol.errors import RepError as RepError
    from .protocol.extensions.records import OtherRecord as OtherRecord
    from .protocol.extensions.records import RequestRate as RequestRate
    from .protocol.extensions.records import VisitTime as VisitTime
    from .protocol.fields.remarks import Remark as Remark
    from .protocol.fields.remarks import Source as Source
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

# The public names by where they live. They are loaded on first use: reading a robots.txt does not
# load Scrapy, and `scrapy` does not load what a command does not use. Type checkers cannot follow
# that, so they read the imports above; a test compares the two.
_NAMES = {
    "addon": "Addon",
    "extras.webmaster.checks.codes": "Code Effect Severity",
    "extras.webmaster.findings": "Finding",
    "extras.webmaster.linting.linter": "lint",
    "extras.webmaster.rewrite.normal": "Mode normalise",
    "cache.base": "Store",
    "decisions.request_records": "verdict_of",
    "middleware": "RepMiddleware",
    "extras.pages.browsers.browser_pages": "playwright_abort_request",
    "extras.pages.page_middleware": "RepPageMiddleware",
    "extras.pages.readings": "page_rules usage usage_of",
    "policies": "policy_for",
    "policy": "Policy",
    "protocol.access.events": "AccessResult Meaning",
    "protocol.access.knowledge": "Step",
    "protocol.access.origin": "Origin",
    "protocol.document": "Group RobotsTxt parse",
    "protocol.errors": "ConfigurationError InvalidProductToken InvalidUri RepError",
    "protocol.extensions.records": "OtherRecord RequestRate VisitTime",
    "protocol.fields.remarks": "Remark Source",
    "extras.pages.page.rules": "PageRule PageRules",
    "extras.pages.usage.licences": "PaymentRequired",
    "extras.pages.usage.preference": "Licence Preference Statement UsagePreferences UseLevel",
    "protocol.verdict": "Reason Rule Verdict",
    "queue.explaining": "explain",
    "extras.fleet.scheduler": "RepRedisScheduler",
    "queue.priority_queue": "RepPriorityQueue",
    "robotparser": "RepRobotParser",
    "signals": "Challenged RateLimited RobotsTxtDisallowed RobotsTxtUnreachable",
    "sitemaps.spiders": "RobotsSitemapMixin RobotsSitemapSpider",
}
_HOMES = {name: home for home, names in _NAMES.items() for name in names.split()}

# Type checkers do not see what follows. They cannot read this `__all__`, and would hide the imports
# above from `import *`. With a `__getattr__`, they would accept every name, misspelt ones too.
if not TYPE_CHECKING:
    __all__ = list(_HOMES)
    __all__ += ["signals"]

    def __getattr__(name: str) -> Any:
        if name == "signals":
            return import_module(f"{__name__}.signals")
        if name == "__version__":
            return import_module("importlib.metadata").version("scrapy-rep")
        if name in _HOMES:
            return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})

"""scrapy-rep: the Robots Exclusion Protocol (RFC 9309) for Scrapy."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import signals as signals
    from .addon import Addon
    from .exceptions import RobotsTxtDisallowed, RobotsTxtUnreachable
    from .middleware import RepMiddleware
    from .policies import policy_for
    from .policy import Policy
    from .protocol.access import AccessPolicy, AccessResult
    from .protocol.document import Group, RobotsTxt, parse
    from .protocol.errors import ConfigurationError, InvalidProductToken, InvalidUri, RepError
    from .protocol.findings import Finding
    from .protocol.lint.linter import lint
    from .protocol.origin import Origin
    from .protocol.rewrite.normal import normalise
    from .protocol.verdict import Reason, Rule, Verdict
    from .queue import RepPriorityQueue
    from .robotparser import RepRobotParser
    from .spiders import RobotsSitemapMixin, RobotsSitemapSpider

# Where each public name lives. They are loaded when they are asked for, so that reading a
# robots.txt does not load Scrapy, and `scrapy` does not load what a command does not use.
_HOMES = {
    "AccessPolicy": "protocol.access",
    "AccessResult": "protocol.access",
    "Addon": "addon",
    "ConfigurationError": "protocol.errors",
    "Finding": "protocol.findings",
    "Group": "protocol.document",
    "InvalidProductToken": "protocol.errors",
    "InvalidUri": "protocol.errors",
    "Origin": "protocol.origin",
    "Policy": "policy",
    "Reason": "protocol.verdict",
    "RepError": "protocol.errors",
    "RepMiddleware": "middleware",
    "RepPriorityQueue": "queue",
    "RepRobotParser": "robotparser",
    "RobotsSitemapMixin": "spiders",
    "RobotsSitemapSpider": "spiders",
    "RobotsTxt": "protocol.document",
    "RobotsTxtDisallowed": "exceptions",
    "RobotsTxtUnreachable": "exceptions",
    "Rule": "protocol.verdict",
    "Verdict": "protocol.verdict",
    "lint": "protocol.lint.linter",
    "normalise": "protocol.rewrite.normal",
    "parse": "protocol.document",
    "policy_for": "policies",
}

__all__ = [
    "AccessPolicy",
    "AccessResult",
    "Addon",
    "ConfigurationError",
    "Finding",
    "Group",
    "InvalidProductToken",
    "InvalidUri",
    "Origin",
    "Policy",
    "Reason",
    "RepError",
    "RepMiddleware",
    "RepPriorityQueue",
    "RepRobotParser",
    "RobotsSitemapMixin",
    "RobotsSitemapSpider",
    "RobotsTxt",
    "RobotsTxtDisallowed",
    "RobotsTxtUnreachable",
    "Rule",
    "Verdict",
    "lint",
    "normalise",
    "parse",
    "policy_for",
]


def __getattr__(name: str) -> Any:
    if name == "signals":
        return import_module(f"{__name__}.signals")
    if name in _HOMES:
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

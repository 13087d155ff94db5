"""The exceptions that dropped requests raise, for errbacks."""

from __future__ import annotations

from typing import Any

from scrapy.exceptions import IgnoreRequest

from scrapy_rep.protocol.verdict import Verdict


class RobotsTxtDisallowed(IgnoreRequest):
    """The request was dropped because the robots.txt of its origin does not allow it.

    Attributes:
        verdict: what decided: the rule, its line and file, or the access result.
    """

    def __init__(self, verdict: Verdict) -> None:
        super().__init__(f"Forbidden by robots.txt: {verdict}")
        self.verdict = verdict

    def __reduce__(self) -> tuple[type[RobotsTxtDisallowed], tuple[Verdict], dict[str, Any]]:
        """Copies and pickles are made of the verdict, not of the message."""
        return type(self), (self.verdict,), self.__dict__


class RobotsTxtUnreachable(RobotsTxtDisallowed):
    """The request was dropped because the robots.txt of its origin is unreachable.

    RFC 9309, 2.3.1.4 tells crawlers to assume complete disallow then. A later retry may succeed.
    """

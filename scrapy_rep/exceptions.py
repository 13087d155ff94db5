"""What a dropped request raises, for errbacks to ask."""

from __future__ import annotations

from scrapy.exceptions import IgnoreRequest

from .protocol.verdict import Verdict


class RobotsTxtDisallowed(IgnoreRequest):
    """The request was dropped because the robots.txt of its origin does not allow it.

    Attributes:
        verdict: what decided: the rule, its line and file, or the access result.
    """

    def __init__(self, verdict: Verdict) -> None:
        super().__init__(f"Forbidden by robots.txt: {verdict}")
        self.verdict = verdict


class RobotsTxtUnreachable(RobotsTxtDisallowed):
    """The request was dropped because the robots.txt of its origin is unreachable.

    RFC 9309, 2.3.1.4 has crawlers assume complete disallow then. It may be worth a later try.
    """

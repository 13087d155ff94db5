"""The origins that an operator dropped: no request goes there any more, whatever robots.txt says.

The order comes to the workers of a fleet with a reply of Redis (`scrapy rep fleet drop`). It covers
robots.txt files, media, exempt requests and dry runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from scrapy import Request
from scrapy.exceptions import IgnoreRequest
from twisted.python.failure import Failure

from scrapy_rep.decisions.decisions import Decisions
from scrapy_rep.engine.downloader import Downloader
from scrapy_rep.protocol.access.origin import origin_of
from scrapy_rep.protocol.errors import InvalidUri
from scrapy_rep.protocol.verdict import Reason, Verdict

if TYPE_CHECKING:
    from scrapy_rep.crawl import Crawl


class Drops:
    """The dropped origins of one crawl; false without any."""

    def __init__(self, crawl: Crawl) -> None:
        self._decisions = crawl.part(Decisions)
        self._downloader = Downloader(crawl.crawler)
        self._why: Mapping[str, str] = {}

    def __bool__(self) -> bool:
        return bool(self._why)

    def set(self, why: Mapping[str, str]) -> None:
        """Take the dropped origins, as text, and refuse their requests that wait in slots."""
        self._why = why
        if why:
            self._downloader.recall(lambda one: self.verdict(one.url) is not None, self._refusal)

    def verdict(self, url: str) -> Verdict | None:
        """The verdict on a URL of a dropped origin; None for others."""
        with suppress(InvalidUri):
            origin = origin_of(url)
            if origin is not None and (why := self._why.get(str(origin))) is not None:
                uri = origin.robots_txt_uri
                return Verdict(allowed=False, reason=Reason.DROPPED, robots_txt=uri, why=why)
        return None

    def refuse(self, request: Request) -> None:
        """Let a request pass if its origin is not dropped.

        Raises:
            RobotsTxtDisallowed: its origin is dropped.
        """
        verdict = self.verdict(request.url) if self._why else None
        if verdict is not None:
            self._decisions.refused(request, verdict)

    def _refusal(self, request: Request) -> Any:
        """The failure of a request that waits."""
        try:
            self.refuse(request)
        except IgnoreRequest:
            return Failure()  # type: ignore[no-untyped-call]

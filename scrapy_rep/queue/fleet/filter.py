"""How requests are filtered over the fleet, and what this worker knows of it without Redis."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from scrapy import Request
from scrapy.utils.datatypes import LocalCache

from scrapy_rep.signals import STARTED

from .batch import PushKind

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

_COUNT = 100_000
_IS_START = "is_start_request"  # Scrapy's, in meta


class Filter:
    """The filter of one worker.

    Attributes:
        seen: what it has queued last, so that the same link is not sent to Redis again.
    """

    def __init__(self, crawler: Crawler) -> None:
        self.seen: LocalCache[bytes, None] = LocalCache(_COUNT)
        self._crawler = crawler
        self._starts: Counter[bytes] = Counter()

    def of(self, request: Request) -> tuple[PushKind, bytes]:
        """How a request is filtered, and by what.

        Every worker's spider yields the same start requests, which Scrapy does not filter: over the
        fleet, each is queued once for each time that one spider yields it. The retry of one, or the
        target of its redirect, has its meta. But that is made by one worker, and each makes others.
        """
        if not request.dont_filter:
            return PushKind.FILTERED, self.fingerprint(request)
        if not request.meta.get(_IS_START) or request.meta.get(STARTED):
            return PushKind.UNFILTERED, b""
        fingerprint = self.fingerprint(request)
        self._starts[fingerprint] += 1
        return PushKind.START, b"%s.%d" % (fingerprint, self._starts[fingerprint])

    def hand_out(self, request: Request) -> None:
        """A request is about to be sent: what is made of it is no start request."""
        if request.meta.get(_IS_START):
            request.meta[STARTED] = True

    def fingerprint(self, request: Request) -> bytes:
        """What Scrapy knows a request by."""
        fingerprinter = self._crawler.request_fingerprinter
        assert fingerprinter is not None  # noqa: S101 - a crawl that has begun has one
        return fingerprinter.fingerprint(request)

"""Where the word of a site may lead this crawl (`REP_REDIRECT_GUARD`).

A site names URLs that we request without a choice of the spider: the targets of redirects of its
files, its sitemaps, the entries of these. The fetch of a file calls `refusal` before each hop and
`why_unread` after it. Other requests carry `NAMED_BY`, and the middleware refuses them.

A host that may not be visited is found by its addresses before the request. The connection may lead
to another address, so the address of the answer counts too, if the download handler tells it.
"""

from __future__ import annotations

import logging
import socket
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from scrapy.utils.asyncio import run_in_thread

from scrapy_rep import stats
from scrapy_rep.cache.memory import Lru
from scrapy_rep.checks import site_of
from scrapy_rep.engine.loops import within
from scrapy_rep.protocol.access.events import Failure
from scrapy_rep.protocol.access.guard import Guard, is_public_address
from scrapy_rep.protocol.access.origin import Origin, origin_or_none
from scrapy_rep.signals import NAMED_BY
from scrapy_rep.stats import Journal

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.http import Response

    from scrapy_rep.crawl import Crawl

_KEPT_SECONDS = 60.0  # a sitemap may list thousands of pages of one other host
_KEPT_OCTETS = 1 << 20
_HOST_OCTETS = 300


class SiteGuard:
    """Judges the URLs that sites name, by their hosts and addresses."""

    def __init__(self, crawl: Crawl) -> None:
        self._settings = crawl.settings
        self._guard: Guard = crawl.settings.redirect_guard
        self._journal = Journal(crawl.crawler, __name__)
        self._found: Lru[str, tuple[float, str]] = Lru(_KEPT_OCTETS)

    async def refusal(self, namer: Origin, uri: str) -> Failure | None:
        """The reason not to fetch a file from a URI that a site names; None if it may be fetched.

        An empty URI is refused.
        """
        target = Origin.of(uri)
        if target is None:
            return Failure.GUARD
        try:
            why = await self._why(namer, target)
        except (OSError, UnicodeError):  # a TimeoutError is an OSError
            return Failure.DNS
        if why:
            self.tell(namer, uri, why)
        return Failure.GUARD if why else None

    async def why_refused(self, request: Request) -> str:
        """Why a request may not be sent that a site named; empty if it may be.

        A host without an address is not refused: its request fails, and is tried again, as usual.
        """
        target = origin_or_none(request.url)
        if NAMED_BY not in request.meta or target is None:
            return ""
        with suppress(OSError, UnicodeError):
            return await self._why(_namer(request), target)
        return ""

    def why_unread(self, namer: Origin | None, uri: str, response: Response) -> str:
        """Why an answer must not be read: it came from a refused address; empty if it may be.

        With a proxy, the address is that of the proxy, and is not checked.
        """
        target, address = origin_or_none(uri), response.ip_address
        if self._guard is not Guard.PUBLIC or address is None or target is None:
            return ""
        if namer is not None and target.host == namer.host:
            return ""
        if response.request is not None and response.request.meta.get("proxy"):
            return ""
        return self._why_not_at({str(address)})

    def why_answer_unread(self, request: Request, response: Response) -> str:
        """The same for the answer to a request that may carry `NAMED_BY`."""
        if NAMED_BY not in request.meta:
            return ""
        return self.why_unread(_namer(request), request.url, response)

    def tell(self, namer: Origin | str, uri: str, why: str) -> None:
        """Count a refusal, and log the first of each host."""
        self._journal.count(stats.GUARDED)
        target = origin_or_none(uri)
        more = " or REP_GUARD_NETWORKS" * (self._guard is Guard.PUBLIC)
        self._journal.once(
            target.host if target is not None else uri,
            "%s, named by %s, is refused by REP_REDIRECT_GUARD = %r: %s. If this host is yours, "
            "change that setting%s",
            *(uri, namer, self._guard.value, why, more),
            level=logging.WARNING,
        )

    async def _why(self, namer: Origin | None, target: Origin) -> str:
        if self._guard is Guard.ANY or (namer is not None and target.host == namer.host):
            return ""
        if self._guard is Guard.SAME_SITE:
            is_near = namer is not None and site_of(target.host) == site_of(namer.host)
            return "" if is_near else f"{target.host} is of another site"
        until, why = self._found.get(target.host) or (0.0, "")
        if time.monotonic() >= until:
            looking = run_in_thread(socket.getaddrinfo, target.host, target.port)
            found = await within(self._settings.fetch_timeout_seconds, looking)
            why = self._why_not_at({str(address[4][0]) for address in found})
            self._found.put(target.host, (time.monotonic() + _KEPT_SECONDS, why), _HOST_OCTETS)
        return why

    def _why_not_at(self, addresses: set[str]) -> str:
        also = self._settings.guard_networks
        if not addresses:
            return "it has no address"
        bad = next((one for one in sorted(addresses) if not is_public_address(one, also)), "")
        return f"{bad} is no public address" if bad else ""


def _namer(request: Request) -> Origin | None:
    """The site that named a request; None if the mark is not ours, so that no host is its own."""
    mark = request.meta.get(NAMED_BY)
    return origin_or_none(mark) if isinstance(mark, str) else None

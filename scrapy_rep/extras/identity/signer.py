"""Signs the requests of a crawl as they leave, after all middlewares (Web Bot Auth).

The download handler gets a signed copy of each request. The request itself never has a signature,
so no queue, cache, redirect, retry or record can have one.

A site may want something else signed: 403 or 429 with `Accept-Signature`. Then the request is sent
once more, with the components and the nonce that it names, after the delay of its origin.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import nullcontext
from copy import copy
from functools import partial
from typing import TYPE_CHECKING

from scrapy.core.downloader import Downloader
from scrapy.http import Headers
from scrapy.utils.httpobj import urlparse_cached
from scrapy.utils.misc import load_object
from scrapy.utils.python import global_object_name

from scrapy_rep.engine.handlers import Download, handler_of, rewrite_of, wrap_downloads
from scrapy_rep.engine.loops import sleep
from scrapy_rep.engine.state import is_closing
from scrapy_rep.engine.transfer import Transfer
from scrapy_rep.extras.identity import identity_stats as stats
from scrapy_rep.fetch.requesters import Signing
from scrapy_rep.protocol.access.origin import origin_of
from scrapy_rep.protocol.errors import ConfigurationError
from scrapy_rep.stats import Journal

from .keys import KeyPair
from .signatures import Message, SignatureWish, signed_fields, texts_of, wish_of

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.http import Response

    from scrapy_rep.crawl import Crawl
    from scrapy_rep.fetch.requesters import DelaySeconds

_TOO_MANY = 429
_REFUSALS = (403, _TOO_MANY)
_LOOK_SECONDS = 0.2  # how soon a request that waits notices that the crawl is closing


class Signer(Signing):
    """Signs the requests of one crawl.

    Attributes:
        keyid: the thumbprint of its key.
        agent: the origin that publishes the key.
    """

    def __init__(self, crawl: Crawl) -> None:
        """Read the key.

        Raises:
            ConfigurationError: the key cannot be used, or `DOWNLOADER` has no download handlers.
        """
        self._crawler = crawl.crawler
        downloader = load_object(crawl.crawler.settings["DOWNLOADER"])
        if not (isinstance(downloader, type) and issubclass(downloader, Downloader)):
            raise ConfigurationError(
                f"REP_SIGN_KEY: requests are signed at the download handlers of Scrapy's "
                f"Downloader, and DOWNLOADER = {global_object_name(downloader)} is another class. "
                "Use a subclass of scrapy.core.downloader.Downloader, or remove REP_SIGN_KEY"
            )
        self._key = KeyPair.read(crawl.settings.sign_key).signing
        self.keyid = self._key.keyid
        self.agent = crawl.settings.sign_agent
        self._schemes = ("https", "http") if crawl.settings.sign_http else ("https",)
        self._journal = Journal(crawl.crawler, __name__)
        self._urls: dict[str, Callable[[Request], str] | None] = {}
        self._told: set[str] = set()
        self._is_installed = False

    def install(self, delay_seconds: DelaySeconds) -> None:
        """Sign all requests from now on; `delay_seconds` tells the delay of an origin."""
        if not self._is_installed:
            self._is_installed = True
            wrap_downloads(self._crawler, lambda send: partial(self._send, send, delay_seconds))

    async def _send(
        self, download: Download, delay_seconds: DelaySeconds, request: Request
    ) -> Response:
        signed = self._signed(request)
        if signed is None:
            return await download(request)
        self._journal.count(stats.SIGNED)
        response = await download(signed)
        wish = _wish_in(response)
        if wish is None or self._signed(request, wish) is None:
            return response
        origin = origin_of(request.url)
        assert origin is not None  # noqa: S101 - its URL was signed
        if not await self._has_waited(request, delay_seconds(origin, request)):
            return response
        self._journal.count(stats.SIGNED_AGAIN)
        return await download(self._signed(request, wish) or request)

    async def _has_waited(self, request: Request, seconds: float) -> bool:
        """Wait before a request is sent again; False if the crawl begins to close."""
        transfer, until_at = Transfer.of(request), time.monotonic() + seconds
        with nullcontext() if transfer is None else transfer.in_line(seconds):
            while (left := until_at - time.monotonic()) > 0:
                if is_closing(self._crawler):
                    return False
                await sleep(min(left, _LOOK_SECONDS))
        if transfer is not None:
            transfer.begin(transfer.sent or request)
            transfer.is_wished = True
        return True

    def _signed(self, request: Request, wish: SignatureWish | None = None) -> Request | None:
        """A signed copy of a request; None if it is not to be signed."""
        scheme = urlparse_cached(request).scheme
        if scheme not in self._urls:
            self._urls[scheme] = self._rewrite_of(scheme, request.url)
        as_sent = self._urls[scheme]
        if as_sent is None:
            return None
        if b"Host" in request.headers:
            words = "Requests with a Host header of their own are not signed, such as %s"
            self._tell("Host", words, request.url)
            return None
        headers = {} if wish is None else texts_of(request.headers)
        message = Message(request.method, as_sent(request), headers)
        fields = signed_fields(message, self.agent, self._key, time.time(), wish)
        if fields is None:
            return None
        signed = copy(request)  # with the same meta, in which handlers write
        signed.headers = Headers(encoding=request.encoding)
        dict.update(signed.headers, request.headers)
        for name, value in fields.items():
            dict.__setitem__(signed.headers, name.encode(), [value.encode()])
        return signed

    def _rewrite_of(self, scheme: str, url: str) -> Callable[[Request], str] | None:
        """The function for the URLs that a handler sends; None if its requests are not signed.

        Other handlers than Scrapy's may follow redirects, and would send a signature to another
        site.
        """
        if scheme not in self._schemes:
            if scheme == "http":
                self._tell(
                    scheme,
                    "Requests by http are not signed, because others on the way could use their "
                    "signatures (REP_SIGN_HTTP = True signs them), such as %s",
                    url,
                )
            return None
        handler = handler_of(self._crawler, scheme)
        rewrite = rewrite_of(type(handler))
        if rewrite is None:
            name = global_object_name(type(handler))
            self._tell(
                name,
                "Requests by %s are not signed: %s may follow redirects itself, and would send "
                "signatures to other sites. Use a handler of Scrapy's (DOWNLOAD_HANDLERS)",
                *(scheme, name),
            )
        return rewrite

    def _tell(self, once: str, words: str, *values: object) -> None:
        if once not in self._told:
            self._told.add(once)
            self._journal.warning(words, *values)


def _wish_in(response: Response) -> SignatureWish | None:
    """The wish of a site for another signature; None if the request need not be sent again."""
    if response.status not in _REFUSALS or b"Accept-Signature" not in response.headers:
        return None
    headers = texts_of(response.headers)
    is_limit = response.status == _TOO_MANY and "retry-after" in headers
    return None if is_limit else wish_of(headers["accept-signature"])

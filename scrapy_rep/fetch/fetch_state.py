"""The state of one fetch: its current part, the time that it has taken, and its requests.

In two parts a fetch waits for us and not for the site: for a place of `REP_CONCURRENT_FETCHES`, and
for its turn at a host. That time is measured separately, so that our own queueing does not make the
site look slow.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any, NamedTuple

from scrapy_rep.engine.loops import Place, Stopwatch
from scrapy_rep.engine.state import wake
from scrapy_rep.protocol.access.knowledge import Copy, Step
from scrapy_rep.protocol.access.origin import Origin
from scrapy_rep.settings import CARRIED_KEYS

from .cookies import Cookies
from .faults import PROXY, Fault
from .origin_files import OriginFile

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler

_PROXY_AUTHORIZATION = "Proxy-Authorization"
_PORT = ":443"
_WRITTEN_PORT = re.compile(rf"https://[^/?#@]*{_PORT}(?![^/?#])")

# The keys of Scrapy's components, and the beginnings of ours and of those of browsers.
_OF_SCRAPY = frozenset(
    {
        *("allow_offsite", "autothrottle_dont_adjust_delay", "cookiejar", "depth"),
        *("dont_cache", "dont_merge_cookies", "dont_obey_robotstxt", "dont_redirect", "dont_retry"),
        *("download_fail_on_dataloss", "download_latency", "download_maxsize", "download_slot"),
        *("download_timeout", "download_warnsize", "give_up_log_level", "handle_httpstatus_all"),
        *("handle_httpstatus_list", "http_auth_domain", "is_start_request", "link_text"),
        *("max_retry_times", "priority_adjust", "redirect_reasons", "redirect_times"),
        *("redirect_ttl", "redirect_urls", "referrer_policy", "refresh_cache", "retry_times"),
        *("rule", "verbatim_url", "_splash_processed"),
    }
)
_OF_PAGES = (
    *("rep_", "playwright", "pyppeteer", "pptr", "puppeteer", "selenium", "splash"),
    *("zyte_api", "impersonate"),
)


class FetchPart(Enum):
    """The part that a fetch is in; the log shows the value after "it was waiting for"."""

    STORE = "the store"
    LEASE = "another process, which fetches it"
    PLACE = "a place of REP_CONCURRENT_FETCHES"
    MIDDLEWARES = "the downloader middlewares, or a look-up of a redirect's target"
    SLOT = "its turn in the slot of the host"
    HANDLER = "the answer of the site, in the download handler"
    JUDGE = "the robots.txt of the redirect's target"
    ANSWER = "the downloader middlewares, which process its answer"
    PAUSE = "the pause before a retry"

    __hash__ = object.__hash__  # each is one object, and Enum's own is Python code


# Our own queues; in all other parts the fetch makes progress.
_QUEUES = {FetchPart.PLACE, FetchPart.SLOT}
# These parts take only a little memory.
_IDLE = {FetchPart.LEASE, FetchPart.SLOT, FetchPart.PAUSE}
# Other fetches can use the place in these parts; in JUDGE, another fetch may even need it.
_LENDING = {FetchPart.SLOT, FetchPart.JUDGE}


class Carried(NamedTuple):
    """The meta and headers that a robots.txt request copies from the page request behind it.

    If a page needs a proxy, its robots.txt needs the proxy too. So the request copies the proxy,
    the local address and the other keys in `REP_FETCH_META_KEYS`.

    `base` is the page's scheme and authority, if it writes the port 443 of https: a connection that
    Scrapy's HTTP/2 opens for a URL without the port refuses pages with it.
    """

    meta: Mapping[str, Any] = {}
    headers: Mapping[str, bytes] = {}
    base: str = ""

    @classmethod
    def of(cls, request: Request | None, keys: Collection[str]) -> Carried:
        """Copy some of a request's meta, and the credentials for its proxy.

        The credentials may be in a header already: Scrapy's proxy middleware moves them there, and
        retries and the targets of redirects have passed it before.
        """
        if request is None:
            return cls()
        theirs = request.meta
        meta = {key: theirs[key] for key in keys if key in theirs}
        credentials = request.headers.get(_PROXY_AUTHORIZATION) if meta.get(PROXY) else None
        headers = {_PROXY_AUTHORIZATION: credentials} if credentials else {}
        written = _WRITTEN_PORT.match(request.url)
        return cls(meta, headers, written[0] if written else "")

    @classmethod
    def whole(cls, request: Request, keys: Collection[str], number: int) -> Carried:
        """Copy the meta that a project may need, and the number of this retry.

        For the retry after a middleware of the project failed. The middleware may read a key of the
        spider, or choose another proxy for each retry. Keys that control how a page is fetched are
        left out, unless `keys` names them.
        """
        few = cls.of(request, keys)
        left_out = set(CARRIED_KEYS) - set(keys)  # by REP_FETCH_META_KEYS
        more = {
            key: value
            for key, value in request.meta.items()
            if key not in left_out and not _is_of_page(key)
        }
        return cls({**more, **few.meta, "retry_times": number}, few.headers, few.base)

    def written(self, uri: str) -> str:
        """A URI with the port that the page writes, if it is of the page's origin."""
        bare = self.base.removesuffix(_PORT)
        return self.base + uri.removeprefix(bare) if bare and uri.startswith(f"{bare}/") else uri

    def headers_for(self, meta: Mapping[str, Any]) -> Mapping[str, bytes]:
        """The copied headers if the meta names the same proxy; other proxies get no credentials."""
        return self.headers if meta.get(PROXY) == self.meta.get(PROXY) else {}


def _is_of_page(key: object) -> bool:
    """Whether a meta key is ours, or says how Scrapy or a browser fetches a page."""
    return not isinstance(key, str) or key in _OF_SCRAPY or key.startswith(_OF_PAGES)


@dataclass(frozen=True, slots=True)
class Way:
    """The redirects of one attempt to fetch a file.

    Attributes:
        origin: the origin of the file.
        hops: the URIs so far, in order.
        copy: the stored copy, if there is one.
        cookies: the cookies that its hops have set.
    """

    origin: Origin
    hops: list[str]
    copy: Copy | None
    cookies: Cookies = field(default_factory=Cookies)


@dataclass(eq=False)
class FetchState:
    """The state of one fetch.

    Attributes:
        crawler: the crawler.
        origin: the origin of the file.
        resource: the kind of file, such as robots.txt.
        carried: the meta and headers that its requests copy from a page request.
        is_awaited: tells whether a request in the downloader waits for its result.
        uses_store: whether the store is used and its requests are recorded.
        part: the part that it is in; None before its start and after its end.
        place: its place of `REP_CONCURRENT_FETCHES`, if it has one.
        busy: measures the time in all parts except our own queues.
        queued: measures the time that it waits for its turn at a host.
        user_agent: the User-Agent of its last request; None if nothing was sent.
        is_proxied: whether its last request went through a proxy.
        fault: the failure of our own side in its last request that ended; None without one.
        is_for_signed: whether the site wanted a signature first, in its last attempt.
        steps: its requests so far, including failed attempts.
        way: the redirects of its last attempt.
        held: its last request, until it is recorded; used by the recorder.
        is_over: whether its last request was recorded.
    """

    crawler: Crawler
    origin: Origin
    resource: OriginFile
    carried: Carried
    is_awaited: Callable[[], bool]
    uses_store: bool
    part: FetchPart | None = None
    place: Place | None = None
    busy: Stopwatch = field(default_factory=Stopwatch)
    queued: Stopwatch = field(default_factory=Stopwatch)
    user_agent: str | None = None
    is_proxied: bool = False
    fault: Fault | None = None
    is_for_signed: bool = False
    steps: list[Step] = field(default_factory=list)
    way: Way | None = None
    held: Any = None
    is_over: bool = False

    @property
    def is_idle(self) -> bool:
        """Whether it only waits, without taking a place that others could use."""
        return self.part in _IDLE

    def enter(self, part: FetchPart | None) -> None:
        """Go on to another part; None at the end.

        While it waits for its turn or for another fetch, it lends its place to others. It takes
        the place back once its request is sent, even if that exceeds the limit, because the request
        cannot be stopped.
        """
        before, self.part = self.part, part
        if before is part:
            return
        if part is None or part in _QUEUES:
            self.busy.stop()
        else:
            self.busy.start()
        if part is FetchPart.SLOT:
            self.queued.start()
        elif before is FetchPart.SLOT:
            self.queued.stop()
        if self.place is not None:
            if part in _LENDING:
                self.place.lend()
            elif before in _LENDING:
                self.place.take_back()
        if part in _IDLE:
            wake(self.crawler)  # the queue may start another fetch

"""One fetch under way: the part that it is in, the time that it has taken, what it sent.

In two parts a fetch waits for us and not for the site: for a place of `REP_CONCURRENT_FETCHES`, and
for its turn at a host. Our own queueing does not count as the site being slow, so that time is
measured apart.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any, NamedTuple

from scrapy_rep.engine.loops import Place, Stopwatch
from scrapy_rep.engine.state import wake
from scrapy_rep.protocol.access.knowledge import Copy, Step
from scrapy_rep.protocol.access.origin import Origin

from .cookies import Cookies
from .origin_files import OriginFile

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler

    from scrapy_rep.proof.warc_exchanges import Archived

PROXY = "proxy"
"""Scrapy's meta key."""

_PROXY_AUTHORIZATION = "Proxy-Authorization"


class FetchPart(Enum):
    """The part that a fetch is in; the value is for people, after "it waited for"."""

    STORE = "the store"
    LEASE = "another process, which fetches it"
    PLACE = "a place of REP_CONCURRENT_FETCHES"
    MIDDLEWARES = "the downloader middlewares, or a look-up of a redirect's target"
    SLOT = "its turn in the slot of the host"
    HANDLER = "the download handler"
    JUDGE = "the robots.txt of what it is redirected to"
    ANSWER = "the downloader middlewares, which have its answer"
    PAUSE = "the pause before a retry"

    __hash__ = object.__hash__  # each is one object, and Enum's own is Python code


# Our own queues; in all other parts the fetch makes progress.
_QUEUES = {FetchPart.PLACE, FetchPart.SLOT}
# These take nothing but a little memory.
_IDLE = {FetchPart.LEASE, FetchPart.SLOT, FetchPart.PAUSE}
# Others can use the place meanwhile, and in the latter they have to.
_LENDING = {FetchPart.SLOT, FetchPart.JUDGE}


class Carried(NamedTuple):
    """What a request of ours copies from the one on whose behalf it is sent: meta and headers.

    A user who needs a proxy for a page needs it for the robots.txt too. So the request copies the
    proxy, the local address and what else `REP_FETCH_META_KEYS` names.
    """

    meta: Mapping[str, Any] = {}
    headers: Mapping[str, bytes] = {}

    @classmethod
    def of(cls, request: Request | None, keys: Collection[str]) -> Carried:
        """Copy some of a request's meta, and the credentials for its proxy.

        Scrapy's proxy middleware moves the credentials into a header. Retries and the targets of
        redirects have passed it already.
        """
        if request is None:
            return cls()
        theirs = request.meta
        meta = {key: theirs[key] for key in keys if key in theirs}
        credentials = request.headers.get(_PROXY_AUTHORIZATION) if meta.get(PROXY) else None
        return cls(meta, {_PROXY_AUTHORIZATION: credentials} if credentials else {})

    def headers_for(self, meta: Mapping[str, Any]) -> Mapping[str, bytes]:
        """The copied headers, if the meta names the same proxy: others get no credentials."""
        return self.headers if meta.get(PROXY) == self.meta.get(PROXY) else {}


@dataclass(frozen=True, slots=True)
class Way:
    """The way of one attempt to a file.

    Attributes:
        origin: whose file.
        hops: the URIs so far, in order.
        copy: the stored copy, if there is one.
        cookies: those that its hops have set.
    """

    origin: Origin
    hops: list[str]
    copy: Copy | None
    cookies: Cookies = field(default_factory=Cookies)


@dataclass(eq=False)
class FetchState:
    """The state of one fetch.

    Attributes:
        crawler: the crawl.
        origin: whose file is fetched.
        resource: which file.
        carried: what its requests copy from the one on whose behalf they are sent.
        is_awaited: tells whether a request in the downloader waits for its result.
        uses_store: whether it looks at the store, and its requests are archived.
        part: the part that it is in; None before its start and after its end.
        place: its place of `REP_CONCURRENT_FETCHES`, if it has one.
        asked: runs in all parts but our own queues.
        queued: runs while it waits for its turn at a host.
        user_agent: the User-Agent of its last request; None where nothing was sent.
        steps: its requests so far, those of attempts that failed too.
        way: of its last attempt.
        held: its last request, until it is archived.
        is_over: whether nothing waits for its archiving any more.
    """

    crawler: Crawler
    origin: Origin
    resource: OriginFile
    carried: Carried
    is_awaited: Callable[[], bool]
    uses_store: bool
    part: FetchPart | None = None
    place: Place | None = None
    asked: Stopwatch = field(default_factory=Stopwatch)
    queued: Stopwatch = field(default_factory=Stopwatch)
    user_agent: str | None = None
    steps: list[Step] = field(default_factory=list)
    way: Way | None = None
    held: Archived | None = None
    is_over: bool = False

    @property
    def is_idle(self) -> bool:
        """Whether it only waits, and takes no place that others could use."""
        return self.part in _IDLE

    def enter(self, part: FetchPart | None) -> None:
        """Go on to another part; None at the end.

        While it waits for its turn, or for another fetch, it lends its place to others. It takes
        the place back once its request is sent, even if there is one too many then: nothing can
        stop the request.
        """
        before, self.part = self.part, part
        if before is part:
            return
        if part is None or part in _QUEUES:
            self.asked.stop()
        else:
            self.asked.start()
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
            wake(self.crawler)  # the queue may start another fetch meanwhile

"""Browser pages driven by scrapy-playwright, and the crawls that they belong to.

scrapy-playwright calls its `PLAYWRIGHT_ABORT_REQUEST` hook for each request of a page, with the
request as the only argument. So each page is registered with its crawl before its first request,
and the hook finds the crawl by the page. This keeps several crawls in one process apart.

The hook does not see redirects that the browser follows, other pages that a page opens, and service
workers. A route of the browser context watches pages and workers; the protocol of Chromium's
developer tools watches redirects (`paused`). Redirects that cannot be stopped, in other browsers or
in frames of other sites, are counted. A page of Chromium makes no request before it is watched, and
none at all if watching fails.

This module imports nothing from Playwright: its objects are passed in.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import WeakKeyDictionary

from scrapy import Request, signals
from scrapy.utils.misc import load_object

from scrapy_rep.crawl import Crawl
from scrapy_rep.engine.transfer import is_own
from scrapy_rep.protocol.access.origin import Origin
from scrapy_rep.protocol.paths import path_of
from scrapy_rep.protocol.secrecy import bare
from scrapy_rep.protocol.verdict import Verdict

from .judge import BrowserJudge
from .paused import pause_requests

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

logger = logging.getLogger(__name__)

Value = TypeVar("Value")

_PLAYWRIGHT = "playwright"
_INIT = "playwright_page_init_callback"
_BLANK = "about:blank"
_WATCH_SECONDS = 10.0  # a browser that takes longer is broken
_LOOK_SECONDS, _LOOKS = 0.05, 20  # to find the page of a request
_ABORTED = "blockedbyclient"
_ELSEWHERE = "only available in Chromium"  # Playwright's error for other browsers


@dataclass(eq=False, slots=True)
class _OpenPage:
    """A request of the crawl that is open in a page.

    Attributes:
        judge: None if the crawl does not obey robots.txt.
        url: the URL of the request, which the middleware has allowed.
        user_agent: the User-Agent of the request, and of all requests of its page.
        init: the user's own callback for new pages.
        is_due: whether the page is about to request that URL.
        is_fresh: whether the page was empty, so that its first request is that one.
        refusal: the verdict that stopped a redirect of the request.
    """

    judge: BrowserJudge | None
    url: str
    user_agent: str
    init: Any
    is_due: bool = False
    is_fresh: bool = False
    refusal: Verdict | None = None

    def expects(self, url: str) -> bool:
        """Whether the request for this URL is the one that the middleware has allowed."""
        return self.is_due and (self.is_fresh or _place(self.url) == _place(url))


# All keys compare by identity, and these mappings keep none of them alive.
_VISITS: WeakKeyDictionary[Request, _OpenPage] = WeakKeyDictionary()
_REFUSALS: WeakKeyDictionary[Request, Verdict] = WeakKeyDictionary()
_PAGES: WeakKeyDictionary[Any, _OpenPage] = WeakKeyDictionary()
_JUDGES: WeakKeyDictionary[Any, BrowserJudge | None] = WeakKeyDictionary()  # by context
_WATCHED: WeakKeyDictionary[Any, asyncio.Future[bool]] = WeakKeyDictionary()  # contexts and pages
_TASKS: set[asyncio.Future[Any]] = set()


class CrawlPages:
    """Registers the pages for a crawl's requests."""

    def __init__(self, crawler: Crawler, judge: BrowserJudge | None) -> None:
        """Connect to the crawl's requests; without a judge, everything is allowed."""
        self._judge = judge
        is_kept = judge is not None  # a judge exists only if the crawl obeys robots.txt
        connect = crawler.signals.connect
        connect(self._reached, signals.request_reached_downloader, weak=is_kept)
        connect(_left, signals.request_left_downloader)

    def _reached(self, request: Request) -> None:
        if not request.meta.get(_PLAYWRIGHT):
            return
        if is_own(request):
            # A browser would wrap the file in an HTML page, and no rule could be read.
            request.meta[_PLAYWRIGHT] = False
            return
        if self._judge is not None:
            self._judge.stay_here()
        header = request.headers.get(b"User-Agent") or b""
        init = request.meta.get(_INIT)
        if init is _prepare:  # copied from the meta of a cancelled request
            init = None
        _REFUSALS.pop(request, None)
        user_agent = header.decode("utf-8", "replace")
        _VISITS[request] = _OpenPage(self._judge, request.url, user_agent, init)
        request.meta[_INIT] = _prepare

    def refusal_of(self, request: Request) -> Verdict | None:
        """The verdict that stopped a redirect of a request in the browser; None without one."""
        return _REFUSALS.get(request)


def crawl_pages(
    crawler: Crawler, verdict_on: Callable[[Request], Coroutine[Any, Any, Verdict | None]] | None
) -> CrawlPages:
    """The registry of a crawl's pages, with the function that judges its own requests, if any."""
    judge = None if verdict_on is None else BrowserJudge(Crawl.of(crawler), verdict_on)
    return CrawlPages(crawler, judge)


def _left(request: Request) -> None:
    """Restore the meta of a request."""
    visit = _VISITS.pop(request, None)
    if visit is None:
        return
    if visit.refusal is not None:
        _REFUSALS[request] = visit.refusal
    if visit.init is not None:
        request.meta[_INIT] = visit.init
    else:
        request.meta.pop(_INIT, None)


async def playwright_abort_request(request: Any) -> bool:
    """Whether to abort a request of a page: the value of `PLAYWRIGHT_ABORT_REQUEST`.

    A request that cannot be judged is aborted. This function does not raise, because a request
    without an answer would block its page until the navigation times out.
    """
    try:
        return await _is_refused(request)
    except Exception:
        logger.exception("Cannot judge a browser's request, so it is aborted")
        return True


async def _is_refused(request: Any) -> bool:
    frame = request.frame
    page = frame.page
    visit = _PAGES.get(page)
    if visit is None and page.context not in _JUDGES:
        logger.warning(
            "Aborted %s: its page does not belong to a crawl with RepMiddleware. Set "
            'ADDONS = {"scrapy_rep.Addon": 500}, or remove PLAYWRIGHT_ABORT_REQUEST',
            bare(request.url),
        )
        return True
    judge = _JUDGES[page.context] if visit is None else visit.judge
    if judge is None:
        return False
    judge.is_hooked = True
    if not await _is_watched(page, judge):
        return True
    if visit is not None and request.is_navigation_request() and frame.parent_frame is None:
        is_expected, visit.is_due = visit.expects(request.url), False
        if is_expected:
            return False
    return await judge.refusal(request.url, _user_agent(page)) is not None


async def _prepare(page: Any, request: Request) -> None:
    """Register a page with its crawl; scrapy-playwright awaits this before it uses the page.

    If this raises, scrapy-playwright continues with the page, and its requests are aborted.
    """
    visit = _VISITS[request]
    judge = visit.judge
    if judge is not None:
        # The user's own hook may not call ours; nothing is refused before it does.
        await asyncio.wait_for(_once(page.context, _watch_context, judge), _WATCH_SECONDS)
    _JUDGES.setdefault(page.context, judge)
    _PAGES[page] = visit
    if judge is not None:
        await _is_watched(page, judge)
    try:
        if visit.init is not None:
            await load_object(visit.init)(page, request)
    finally:  # the middleware has not allowed the URLs that the user's callback opened
        visit.is_fresh = page.url == _BLANK
        visit.is_due = True


async def _is_watched(page: Any, judge: BrowserJudge) -> bool:
    """Whether the redirects of a page are judged, or its browser cannot stop them.

    Waits until that is known: a page opened by another page may be faster than this code.
    """
    return not page.is_closed() and await _once(page, _watch_redirects, judge)


def _once(
    key: Any, work: Callable[[Any, BrowserJudge], Coroutine[Any, Any, bool]], judge: BrowserJudge
) -> asyncio.Future[bool]:
    """One task for all that wait for the same work."""
    if key not in _WATCHED:
        _WATCHED[key] = _spawn(work(key, judge))
    return asyncio.shield(_WATCHED[key])


def _spawn(work: Coroutine[Any, Any, Value]) -> asyncio.Future[Value]:
    task = asyncio.ensure_future(work)
    _TASKS.add(task)  # keeps the task alive
    task.add_done_callback(_TASKS.discard)
    return task


async def _watch_context(context: Any, judge: BrowserJudge) -> bool:
    """Judge requests that no route of a page sees: from opened pages and from service workers."""
    context.on("page", lambda page: _once(page, _watch_redirects, judge))
    context.on("request", partial(_look_at, judge))
    await context.route("**", partial(_route, judge))
    return True


async def _route(judge: BrowserJudge, route: Any, request: Any) -> None:
    is_refused = judge.is_hooked and (
        not await _is_of_watched_page(request, judge)
        or await judge.refusal(request.url) is not None
    )
    with suppress(Exception):  # the page may be gone
        await (route.abort(_ABORTED) if is_refused else route.fallback())


def _look_at(judge: BrowserJudge, request: Any) -> None:
    """Judge the target of a redirect that was not stopped."""
    if request.redirected_from is None or not judge.is_hooked:
        return
    user_agent = ""
    with suppress(Exception):  # a worker has no page, or the page is being created
        user_agent = _user_agent(request.frame.page)
    _spawn(judge.note_slip(request.url, user_agent))


async def _watch_redirects(page: Any, judge: BrowserJudge) -> bool:
    """Judge the redirects of a page; browsers other than Chromium cannot stop them.

    If this fails in Chromium, all requests of the page are aborted, so that no redirect is
    unjudged.
    """
    try:
        await asyncio.wait_for(_stop_at_redirects(page, judge), _WATCH_SECONDS)
    except Exception as error:  # noqa: BLE001 - from Playwright or a browser
        is_elsewhere = _ELSEWHERE in str(error)
        if is_elsewhere or page.is_closed():
            logger.debug("Cannot stop redirects of a browser's page: %r", error)
            return is_elsewhere
        logger.warning(
            "Cannot judge redirects of a browser's page, so all its requests are aborted: %r",
            error,
        )
        return False
    return True


async def _stop_at_redirects(page: Any, judge: BrowserJudge) -> None:
    def stopped(refusal: Verdict) -> None:
        visit = _PAGES.get(page)
        if visit is not None:
            visit.refusal = refusal

    async def refusal(url: str) -> Verdict | None:
        return await judge.refusal(url, _user_agent(page)) if judge.is_hooked else None

    await pause_requests(page, refusal, stopped)


async def _is_of_watched_page(request: Any, judge: BrowserJudge) -> bool:
    """The same for a request that only the route of the context sees."""
    if request.service_worker is not None:
        return True
    for _ in range(_LOOKS):
        with suppress(Exception):  # the page is being created
            return await _is_watched(request.frame.page, judge)
        if request.is_navigation_request():  # the answer creates the page
            return True
        await asyncio.sleep(_LOOK_SECONDS)
    return False


def _user_agent(page: Any) -> str:
    visit = _PAGES.get(page)
    return "" if visit is None else visit.user_agent


def _place(url: str) -> tuple[Origin | None, str]:
    """The part that Scrapy's and a browser's spelling of a URL have in common."""
    return Origin.of(url), path_of(Request(url).url)

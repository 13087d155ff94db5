"""The pages of browsers that scrapy-playwright drives, and the crawls that they belong to.

scrapy-playwright calls its `PLAYWRIGHT_ABORT_REQUEST` hook for each request of a page, and passes
nothing but the request. So each page is registered with its crawl before its first request, and the
hook finds the crawl by the page: several crawls of a process do not mix.

The hook does not see redirects that the browser follows, other pages that a page opens, and service
workers. A route of the browser context watches pages and workers; the protocol of Chromium's
developer tools watches redirects. Redirects that cannot be stopped, in other browsers or in frames
of other sites, are counted. A page of Chromium whose redirects cannot be watched fetches nothing.

Nothing of Playwright is imported: its objects are passed in.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary, WeakSet

from scrapy import Request, signals
from scrapy.utils.misc import load_object

from scrapy_rep.fetching.transfer import is_own
from scrapy_rep.protocol.access.origin import Origin
from scrapy_rep.protocol.paths import path_of
from scrapy_rep.protocol.verdict import Verdict

from .judge import BrowserJudge

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

logger = logging.getLogger(__name__)

_HOOK = "PLAYWRIGHT_ABORT_REQUEST"
_PLAYWRIGHT = "playwright"
_INIT = "playwright_page_init_callback"
_BLANK = "about:blank"
_WATCH_SECONDS = 10.0  # a browser that takes longer to set this up is broken
_ABORTED = "blockedbyclient"
_BLOCKED = "BlockedByClient"  # the same to Chromium; "Aborted" would be taken for a download
_ELSEWHERE = "only available in Chromium"  # what Playwright says of sessions in other browsers


@dataclass(eq=False, slots=True)
class _Visit:
    """One of the crawl's requests on its way through a page.

    Attributes:
        judge: None where the crawl does not obey robots.txt.
        url: the URL of the request, which the middleware has allowed.
        user_agent: the User-Agent of the request and of everything that its page fetches.
        init: the user's own callback for new pages.
        is_due: whether the page has not fetched that URL yet.
        is_fresh: whether the page was empty, so that its first request is that one.
        refusal: the verdict that stopped a redirect of the request.
    """

    judge: BrowserJudge | None
    url: str
    user_agent: str
    init: Any
    is_due: bool = True
    is_fresh: bool = False
    refusal: Verdict | None = None

    def expects(self, url: str) -> bool:
        """Whether a page that goes to this URL fetches what the middleware has allowed."""
        return self.is_due and (self.is_fresh or _place(self.url) == _place(url))


# All keys go by identity, and none is kept alive here.
_VISITS: WeakKeyDictionary[Request, _Visit] = WeakKeyDictionary()
_REFUSALS: WeakKeyDictionary[Request, Verdict] = WeakKeyDictionary()
_PAGES: WeakKeyDictionary[Any, _Visit] = WeakKeyDictionary()
_JUDGES: WeakKeyDictionary[Any, BrowserJudge | None] = WeakKeyDictionary()  # by context
_WATCHED: WeakKeyDictionary[Any, asyncio.Future[None]] = WeakKeyDictionary()  # contexts and pages
_UNWATCHED: WeakSet[Any] = WeakSet()  # pages of Chromium whose redirects nobody sees
_TASKS: set[asyncio.Future[Any]] = set()


class CrawlPages:
    """Registers the pages of one crawl's requests with the crawl."""

    def __init__(self, crawler: Crawler, judge: BrowserJudge | None) -> None:
        """Listen to the crawl's requests if it uses the hook; without a judge, all is allowed."""
        self._judge = judge
        if not crawler.settings.get(_HOOK):
            return
        is_kept = judge is not None  # by the middleware; there is none where nothing is obeyed
        connect = crawler.signals.connect
        connect(self._reached, signals.request_reached_downloader, weak=is_kept)
        connect(_left, signals.request_left_downloader)

    def _reached(self, request: Request) -> None:
        if not request.meta.get(_PLAYWRIGHT):
            return
        if is_own(request):
            # A browser would wrap the file in a page of HTML, in which no rule can be read.
            request.meta[_PLAYWRIGHT] = False
            return
        if self._judge is not None:
            self._judge.stay_here()
        header = request.headers.get(b"User-Agent") or b""
        init = request.meta.get(_INIT)
        if init is _prepare:  # copied from the meta of a request that was cancelled on its way
            init = None
        _REFUSALS.pop(request, None)
        user_agent = header.decode("utf-8", "replace")
        _VISITS[request] = _Visit(self._judge, request.url, user_agent, init)
        request.meta[_INIT] = _prepare


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


def refusal_of(request: Request) -> Verdict | None:
    """The verdict that stopped a redirect of a crawl's request in the browser; None without one."""
    return _REFUSALS.get(request)


async def playwright_abort_request(request: Any) -> bool:
    """Whether a request of a page must be aborted: the value of `PLAYWRIGHT_ABORT_REQUEST`.

    A request that cannot be judged is aborted. This function does not raise: a request without an
    answer would hold its page until the navigation times out.
    """
    try:
        return await _is_refused(request)
    except Exception:
        logger.exception("A request of a browser cannot be judged, and is aborted")
        return True


async def _is_refused(request: Any) -> bool:
    frame = request.frame
    page = frame.page
    visit = _PAGES.get(page)
    if visit is None and page.context not in _JUDGES:
        logger.warning(
            "%s is aborted: its page belongs to no crawl with RepMiddleware. Set "
            'ADDONS = {"scrapy_rep.Addon": 500}, or remove %s',
            request.url,
            _HOOK,
        )
        return True
    judge = _JUDGES[page.context] if visit is None else visit.judge
    if judge is None:
        return False
    judge.is_asked = True
    if page in _UNWATCHED:
        return True
    if visit is not None and request.is_navigation_request() and frame.parent_frame is None:
        is_expected, visit.is_due = visit.expects(request.url), False
        if is_expected:
            return False
    return await judge.refusal(request.url, _user_agent(page)) is not None


async def _prepare(page: Any, request: Request) -> None:
    """Register a page with its crawl; scrapy-playwright awaits this before it uses the page."""
    visit = _VISITS[request]
    visit.is_fresh = page.url == _BLANK
    if visit.judge is not None:
        await asyncio.wait_for(_watch(page, visit.judge), _WATCH_SECONDS)
    _JUDGES.setdefault(page.context, visit.judge)
    _PAGES[page] = visit
    if visit.init is not None:
        await load_object(visit.init)(page, request)


async def _watch(page: Any, judge: BrowserJudge) -> None:
    """Watch what the hook does not see, before the page loads: later it would not answer.

    The user's own hook may or may not call ours: nothing is refused before it does.
    """
    await _once(page.context, _watch_context, judge)
    await _once(page, _watch_redirects, judge)


def _once(
    key: Any, work: Callable[[Any, BrowserJudge], Coroutine[Any, Any, None]], judge: BrowserJudge
) -> asyncio.Future[None]:
    """One task for all that wait for the same work."""
    if key not in _WATCHED:
        _WATCHED[key] = _spawn(work(key, judge))
    return asyncio.shield(_WATCHED[key])


def _spawn(work: Coroutine[Any, Any, None]) -> asyncio.Future[None]:
    task = asyncio.ensure_future(work)
    _TASKS.add(task)  # or it would be collected while it runs
    task.add_done_callback(_TASKS.discard)
    return task


async def _watch_context(context: Any, judge: BrowserJudge) -> None:
    """Judge what no route of a page sees: other pages that pages open, and service workers."""
    context.on("page", lambda page: _once(page, _watch_redirects, judge))
    context.on("request", partial(_look_at, judge))
    await context.route("**", partial(_route, judge))


async def _route(judge: BrowserJudge, route: Any, request: Any) -> None:
    is_refused = judge.is_asked and (
        _is_unwatched(request) or await judge.refusal(request.url) is not None
    )
    with suppress(Exception):  # the page may be gone
        await (route.abort(_ABORTED) if is_refused else route.fallback())


def _look_at(judge: BrowserJudge, request: Any) -> None:
    """Judge the target of a redirect that was not stopped."""
    if request.redirected_from is None or not judge.is_asked:
        return
    user_agent = ""
    with suppress(Exception):  # a worker's, or the page is just being made
        user_agent = _user_agent(request.frame.page)
    _spawn(judge.note_slip(request.url, user_agent))


async def _watch_redirects(page: Any, judge: BrowserJudge) -> None:
    """Judge the redirects of a page; other browsers than Chromium cannot stop them.

    Where Chromium should, and fails, the page is let fetch nothing: a redirect would pass unjudged.
    """
    try:
        session = await page.context.new_cdp_session(page)
        info = await session.send("Target.getTargetInfo")
        main_frame = info["targetInfo"]["targetId"]
        session.on(
            "Fetch.requestPaused",
            lambda event: _spawn(_let_on(session, event, page, judge, main_frame)),
        )
        await session.send("Fetch.enable", {"patterns": [{"urlPattern": "*"}]})
    except Exception as error:  # noqa: BLE001 - Playwright's, or that of a browser
        if _ELSEWHERE in str(error) or page.is_closed():
            logger.debug("Redirects of a browser's page cannot be stopped: %s", error)
            return
        _UNWATCHED.add(page)
        logger.warning(
            "Redirects of a browser's page cannot be judged, so all that it requests is aborted: "
            "%s",
            error,
        )


async def _let_on(
    session: Any, event: dict[str, Any], page: Any, judge: BrowserJudge, main_frame: str
) -> None:
    """Continue a request that Chromium has paused, unless it is a redirect to a forbidden URL."""
    refusal = None
    if event.get("redirectedRequestId") and judge.is_asked:
        refusal = await judge.refusal(event["request"]["url"], _user_agent(page))
    answer: dict[str, Any] = {"requestId": event["requestId"]}
    with suppress(Exception):  # the page may be gone
        if refusal is None:
            await session.send("Fetch.continueRequest", answer)
            return
        visit = _PAGES.get(page)
        is_document = event.get("resourceType") == "Document"
        if visit is not None and is_document and event.get("frameId") == main_frame:
            visit.refusal = refusal
        await session.send("Fetch.failRequest", {**answer, "errorReason": _BLOCKED})


def _is_unwatched(request: Any) -> bool:
    with suppress(Exception):  # a service worker's request has no page
        return request.frame.page in _UNWATCHED
    return False


def _user_agent(page: Any) -> str:
    visit = _PAGES.get(page)
    return "" if visit is None else visit.user_agent


def _place(url: str) -> tuple[Origin | None, str]:
    """What Scrapy's and a browser's spelling of a URL have in common."""
    return Origin.of(url), path_of(Request(url).url)

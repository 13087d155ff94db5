"""The answers of the hook after failures, without a browser."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
from scrapy import Request
from scrapy.utils.defer import deferred_from_coro, maybe_deferred_to_future
from scrapy.utils.test import get_crawler
from twisted.internet.defer import Deferred

from scrapy_rep import playwright_abort_request
from scrapy_rep.crawl import Crawl
from scrapy_rep.engine.loops import sleep
from scrapy_rep.extras.pages.browsers import browser_pages
from scrapy_rep.extras.pages.browsers.judge import BrowserJudge
from scrapy_rep.protocol.verdict import Reason, Verdict
from tests.crawling import REPOSITORY

Judge = Callable[[Request], Coroutine[Any, Any, Verdict | None]]

URL = "https://example.com/a.png"


class Context:
    """A browser's, as far as the hook looks at it."""

    why = "CDP session is only available in Chromium"

    async def new_cdp_session(self, _: Page) -> Any:
        raise RuntimeError(self.why)


class Page:
    def __init__(self, context: Context, *, is_gone: bool) -> None:
        self.context = context
        self.is_gone = is_gone

    def is_closed(self) -> bool:
        return self.is_gone


class Frame:
    parent_frame: Any = None

    def __init__(self, page: Page) -> None:
        self.page = page


class Asked:
    """A request of a page's."""

    service_worker: Any = None

    def __init__(
        self, url: str = URL, context: Context | None = None, *, is_gone: bool = False
    ) -> None:
        self.url = url
        self._page = Page(context or Context(), is_gone=is_gone)

    @property
    def frame(self) -> Frame:
        return Frame(self._page)

    def is_navigation_request(self) -> bool:
        return False


class WithoutFrame(Asked):
    @property
    def frame(self) -> Frame:
        raise RuntimeError("Frame for this navigation request is not available")


def browser_judge(crawler: Any, judge: Judge) -> BrowserJudge:
    return BrowserJudge(Crawl.of(crawler), judge)


async def allowed(_: Request) -> Verdict:
    return Verdict(allowed=True, reason=Reason.NO_GROUP)


async def disallowed(_: Request) -> Verdict:
    return Verdict(allowed=False, reason=Reason.UNREACHABLE)


async def never(_: Request) -> Verdict:
    await sleep(3600)
    raise AssertionError


async def broken(_: Request) -> Verdict:
    raise KeyError("unthought-of")


async def not_governed(_: Request) -> None:
    return None


@pytest.mark.parametrize("request_", [Asked(), WithoutFrame()], ids=["unknown page", "no frame"])
def test_request_of_an_unknown_page_is_aborted(request_: Asked) -> Deferred[None]:
    async def check() -> None:
        assert await playwright_abort_request(request_) is True

    return deferred_from_coro(check())


@pytest.mark.parametrize(
    ("judge", "url", "expected", "stat"),
    [
        (allowed, URL, False, "rep/browser/allowed"),
        (disallowed, URL, True, "rep/browser/aborted"),
        (never, URL, True, "rep/browser/unjudged"),
        (broken, URL, True, "rep/browser/unjudged"),
        (not_governed, URL, False, "rep/not_judged"),
        (broken, "data:text/plain,x", False, "rep/not_judged"),
        (broken, "blob:null/3f1c", False, "rep/not_judged"),
        (broken, "blob:https://example.com/3f1c", False, "rep/not_judged"),
        (broken, "about:blank", False, "rep/not_judged"),
        (allowed, "https://:0/", True, "rep/browser/aborted"),
    ],
)
@pytest.mark.parametrize("dry_run", [False, True])
def test_request_without_a_verdict_is_aborted(
    judge: Judge, url: str, expected: bool, stat: str, dry_run: bool
) -> Deferred[None]:
    settings = {"REP_FETCH_TIMEOUT_SECONDS": 0.05, "REP_DRY_RUN": dry_run}
    crawler = get_crawler(settings_dict=settings)
    context = Context()
    browser_pages._JUDGES[context] = browser_judge(crawler, judge)

    async def check() -> None:
        answer = await playwright_abort_request(Asked(url, context))
        assert answer is (expected and not dry_run)
        name = "rep/dry_run/would_drop" if expected and dry_run else stat
        assert crawler.stats.get_stats() == {name: 1}

    return deferred_from_coro(check())


def test_pages_keep_few_origins_waiting_at_a_time() -> Deferred[None]:
    """A page may name thousands of hosts that never answer: the crawl's own fetches go on."""
    crawler = get_crawler(settings_dict={"REP_FETCH_TIMEOUT_SECONDS": 0.2})
    under_way: set[str] = set()
    most = 0

    async def judge(request: Request) -> Verdict:
        nonlocal most
        under_way.add(request.url)
        most = max(most, len(under_way))
        try:
            return await never(request)
        finally:
            under_way.discard(request.url)

    context = Context()
    browser_pages._JUDGES[context] = browser_judge(crawler, judge)
    requests = [Asked(f"https://host{number}.example/", context) for number in range(50)]

    async def check() -> None:
        asking = [deferred_from_coro(playwright_abort_request(request)) for request in requests]
        answers = [await maybe_deferred_to_future(one) for one in asking]
        assert answers == [True] * 50
        assert most == 8
        assert crawler.stats.get_value("rep/browser/unjudged") == 50
        assert not under_way

    return deferred_from_coro(check())


def test_no_other_package_is_loaded() -> None:
    code = (
        "import scrapy_rep, sys; scrapy_rep.playwright_abort_request; scrapy_rep.RepMiddleware;"
        "print({name.partition('.')[0] for name in sys.modules})"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=REPOSITORY
    )
    assert "scrapy_rep" in done.stdout
    for name in ("playwright", "scrapy_playwright", "scrapy_poet", "web_poet"):
        assert f"'{name}'" not in done.stdout


class Navigation(Asked):
    def is_navigation_request(self) -> bool:
        return True


class Browser(Context):
    """A context that keeps its routes."""

    def __init__(self) -> None:
        self.routes: list[Any] = []

    def on(self, event: str, listener: Any) -> None:
        pass

    async def route(self, pattern: str, handler: Any) -> None:
        self.routes.append((pattern, handler))


class Route:
    def __init__(self) -> None:
        self.answers: list[str] = []

    async def fallback(self) -> None:
        self.answers.append("fallback")

    async def abort(self, reason: str) -> None:
        self.answers.append(reason)
        raise RuntimeError("the page is gone")


@pytest.mark.parametrize("is_fresh", [True, False])
def test_only_the_first_request_of_a_page_is_not_judged_again(
    is_fresh: bool,
) -> Deferred[None]:
    """The request of the crawl is not judged again; later requests are."""

    async def check() -> None:
        judge = browser_judge(get_crawler(), disallowed)
        for url, expected in ((URL, False), ("https://example.com/b", not is_fresh)):
            request = Navigation(url)
            page = request._page
            browser_pages._PAGES[page] = browser_pages._OpenPage(
                judge, URL, "", None, is_due=True, is_fresh=is_fresh
            )
            assert await playwright_abort_request(request) is expected
            assert await playwright_abort_request(request) is True

    return deferred_from_coro(check())


class Crashing(Browser):
    """A Chromium that opens no session of its developer tools."""

    why = "Target crashed"


@pytest.mark.parametrize("is_gone", [False, True])
def test_page_without_a_session_fetches_nothing(is_gone: bool) -> Deferred[None]:
    """This also holds for a closed page."""

    async def check() -> None:
        context, route = Crashing(), Route()
        judge = browser_judge(get_crawler(), allowed)
        browser_pages._JUDGES[context] = judge
        request = Asked(URL, context, is_gone=is_gone)
        assert await playwright_abort_request(request) is True
        await browser_pages._route(judge, route, request)
        assert route.answers == ["blockedbyclient"]

    return deferred_from_coro(check())

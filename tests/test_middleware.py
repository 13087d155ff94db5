"""What the middleware does at Scrapy's signals: it hears of answers, drops links, and closes."""

from __future__ import annotations

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from scrapy import Request, Spider, signals
from scrapy.core.downloader.middleware import DownloaderMiddlewareManager
from scrapy.exceptions import NotConfigured
from scrapy.http import Response
from scrapy.statscollectors import MemoryStatsCollector
from scrapy.utils.test import get_crawler
from twisted.internet.defer import succeed

from scrapy_rep import Origin, RepMiddleware
from scrapy_rep.fetch.reading import Reading
from scrapy_rep.fetch.transfer import MARK, Transfer
from scrapy_rep.pace.visits import Ask
from scrapy_rep.pages.browsers import browser_pages
from scrapy_rep.policy import Policy
from scrapy_rep.protocol.access.events import Event, Meaning
from scrapy_rep.protocol.document import parse
from scrapy_rep.protocol.extensions.pace import Pace
from scrapy_rep.protocol.verdict import Reason, Verdict
from scrapy_rep.signals import RobotsTxtDisallowed, RobotsTxtUnreachable, request_disallowed
from tests.crawls.settings import ADDON

ORIGIN = Origin("http", "example.com", 80)


@pytest.mark.parametrize(
    ("url", "seen"),
    [
        ("http://example.com/", [(ORIGIN, 301)]),
        ("http://example.com/a/robots.txt", [(ORIGIN, 301)]),
        # The file's own answers say nothing of the pages: an outage of it is judged by these.
        ("http://example.com/robots.txt", []),
        ("data:,x", []),
        ("http://example.com:0/", []),  # of no origin: an exempt request
    ],
)
def test_answers_of_pages_show_that_an_origin_is_up(
    url: str,
    seen: list[tuple[Origin, int]],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    crawler = get_crawler(settings_dict={**ADDON, "REP_POLICY": "google"})
    middleware = RepMiddleware.from_crawler(crawler)
    told: list[tuple[Origin, int]] = []
    monkeypatch.setattr(
        type(middleware.policies.fetching),
        "saw_answer",
        lambda _, origin, status: told.append((origin, status)),
    )
    crawler.stats = MemoryStatsCollector(crawler)
    crawler.signals.send_catch_log(
        signals.response_downloaded,
        response=Response(url, status=301),
        request=Request(url),
        spider=Spider("test"),
    )
    assert told == seen
    crawler.signals.send_catch_log(
        signals.response_received,
        response=Response(url, status=301, flags=["cached"]),
        request=Request(url),
        spider=Spider("test"),
    )
    assert told == seen, "an answer of a cache shows nothing"
    assert not caplog.records


class Crawl:
    """The middleware of a crawl that knows the policy of one origin."""

    def __init__(self, policy: Policy | None, **settings: Any) -> None:
        self.crawler = crawler = get_crawler(
            settings_dict={**ADDON, "REP_FILTER_LINKS": True, **settings}
        )
        crawler.stats = MemoryStatsCollector(crawler)
        crawler.spider = Spider("test")
        self.middleware = RepMiddleware.from_crawler(crawler)
        self.middleware._identity.open()
        crawler.engine = SimpleNamespace(downloader=None)  # type: ignore[assignment]

        def peek(
            origin: Origin, request: Request | None = None, *, renew: bool = True
        ) -> Policy | None:
            assert renew is (request is not None), "a link that is only queued fetches nothing"
            return policy if origin == ORIGIN else None

        self.middleware.policies.peek = peek  # type: ignore[method-assign]

    def schedule(self, request: Request) -> None:
        self.middleware._request_scheduled(request)

    def process(self, request: Request) -> Request | None:
        async def work() -> Request | None:
            try:
                return await self.middleware.process_request(request)
            finally:
                await self.middleware._decisions.notices.finish()

        with ThreadPoolExecutor(1) as thread:
            return thread.submit(asyncio.run, work()).result(timeout=20)

    def counted(self, name: str) -> int:
        found: int = self.crawler.stats.get_value(name, 0)
        return found


def policy_of(body: bytes = b"", event: Event = 200, meaning: Meaning = Meaning.RULES) -> Policy:
    robots_txt = parse(body, ORIGIN.robots_txt_uri)
    return Policy(ORIGIN, event, meaning, Reading(robots_txt, robots_txt), ("*",))


_CLOSED = b"User-agent: *\nDisallow: /\n"
_PAGE = "http://example.com/a"


def test_what_is_disallowed_waits_for_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    crawl = Crawl(policy_of(_CLOSED), REP_VISIT_TIME_OBEY=True)
    waited: list[str] = []
    for name in ("wait_for_visit_time", "turn"):
        monkeypatch.setattr(crawl.middleware.pacing, name, lambda *_: waited.append("one"))
    with pytest.raises(RobotsTxtDisallowed):
        crawl.process(Request(_PAGE))
    assert waited == []


def test_the_target_of_a_redirect_goes_through_a_slot_of_its_own() -> None:
    """It comes with the meta of the request that was redirected, and past the queue."""
    meta = {"download_slot": "former.example", "redirect_urls": ["http://former.example/"]}
    request = Request(_PAGE, meta=meta)
    assert Crawl(policy_of()).process(request) is None
    assert "download_slot" not in request.meta


def turns_of(crawl: Crawl) -> list[float]:
    """The delays by which the requests of a crawl wait for their turns, from now on."""
    asked: list[float] = []

    async def turn(request: Request, ask: Ask) -> None:
        asked.append(ask.seconds)

    crawl.middleware.pacing.turn = turn  # type: ignore[method-assign, assignment]
    return asked


class TestPaces:
    """A policy that asks for nothing is judged by without a look at paces, and others are not."""

    def policy(self, body: bytes = b"") -> Policy:
        robots_txt = parse(body, ORIGIN.robots_txt_uri)
        return Policy(ORIGIN, 200, Meaning.RULES, Reading(robots_txt, robots_txt), ("foo",))

    def test_of_a_request_that_names_another_crawler(self) -> None:
        policy = self.policy(b"User-agent: *\nAllow: /\n\nUser-agent: bar\nCrawl-delay: 7\n")
        assert policy.asked_of().is_nothing
        crawl = Crawl(policy, USER_AGENT="foo/1.0")
        asked = turns_of(crawl)
        crawl.process(Request(_PAGE))
        assert asked == []
        crawl.process(Request(_PAGE, headers={"User-Agent": "bar/1.0"}))
        assert asked == [7]

    def test_of_a_policy_that_nobody_asked_yet(self) -> None:
        crawl = Crawl(self.policy(b"User-agent: *\nCrawl-delay: 7\n"), USER_AGENT="foo/1.0")
        asked = turns_of(crawl)
        crawl.process(Request(_PAGE))
        assert asked == [7]

    def test_who_judged_is_known_in_either_case(self) -> None:
        policy = self.policy()
        crawl = Crawl(policy, USER_AGENT="foo/1.0")
        for is_asked in (False, True):
            assert policy.asks_nothing == is_asked
            crawl.process(request := Request(_PAGE))
            assert crawl.middleware.policy_of(request) is policy


@pytest.mark.parametrize(
    "url", [_PAGE, "http://example.com/robots.txt", "data:,x", "http://example.com:0/"]
)
@pytest.mark.parametrize("meta", [{}, {"dont_obey_robotstxt": True}])
def test_every_request_is_known_to_be_the_crawls(url: str, meta: dict[str, Any]) -> None:
    """Whose its answer is can be told by that."""
    crawl = Crawl(policy_of(), REP_DRY_RUN=True)
    crawl.process(request := Request(url, meta=meta))
    assert request in crawl.middleware._decisions.judged_by


def test_what_is_not_judged() -> None:
    crawl = Crawl(policy_of(_CLOSED))
    own = Transfer(1000)
    own.uri = _PAGE
    for meta in ({MARK: own}, {"dont_obey_robotstxt": True}):
        assert crawl.process(Request(_PAGE, meta=meta)) is None


class TestWaitingLongerThanAPolicyHolds:
    """A visit time begins hours later; and the site may have closed since."""

    def process(
        self, monkeypatch: pytest.MonkeyPatch, left_seconds: float, newer: Policy
    ) -> tuple[list[str], list[str]]:
        """What is done for a request that waits until its policy holds for so long; its refusal."""
        policy = policy_of()
        policy.usable_until = time.time() + 600
        crawl = Crawl(policy, REP_VISIT_TIME_OBEY=True)
        done: list[str] = []

        async def wait(waiting: Policy, _: object) -> bool:
            done.append("wait")
            waiting.usable_until = time.time() + left_seconds
            return True

        async def get(*_: object) -> Policy:
            done.append("get")
            return newer

        pacing = crawl.middleware.pacing
        monkeypatch.setattr(pacing, "wait_for_visit_time", wait)
        monkeypatch.setattr(pacing, "give_up", lambda *_: done.append("give up"))
        monkeypatch.setattr(crawl.middleware.policies, "get", get)
        monkeypatch.setattr(
            crawl.middleware.policies,
            "peek",
            lambda *_: policy if time.time() < policy.usable_until else None,
        )
        try:
            assert crawl.process(Request(_PAGE)) is None
        except RobotsTxtDisallowed as refused:
            return done, [refused.verdict.reason.value]
        return done, []

    @pytest.mark.parametrize("left_seconds", [600.0, -1.0, -25.0])
    def test_it_is_used_for_half_a_minute_more(
        self, left_seconds: float, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        found = self.process(monkeypatch, left_seconds, policy_of(_CLOSED))
        assert found == (["wait"], [])

    def test_then_a_newer_one_judges(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Its turn is given up first: the newer robots.txt needs one itself."""
        found = self.process(monkeypatch, -40.0, policy_of(_CLOSED))
        assert found == (["wait", "give up", "get"], [Reason.RULE.value])

    def test_once(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """The newer one is waited with too, and has run out likewise: the request leaves."""
        found = self.process(monkeypatch, -40.0, policy_of())
        assert found == (["wait", "give up", "get", "wait"], [])


class TestPuttingBack:
    """A request that waited when the crawl was stopped is there when it is resumed."""

    UNREACHABLE = policy_of(event=503, meaning=Meaning.DISALLOW)

    @pytest.fixture(autouse=True)
    def closing(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("scrapy_rep.middleware.is_closing", lambda crawler: True)

    def test_once(self, tmp_path: Path) -> None:
        """What the engine's `download_async` requests would come again without end."""
        crawl = Crawl(self.UNREACHABLE, JOBDIR=str(tmp_path))
        request = Request(_PAGE, meta={"a": 1}, priority=3)
        found = crawl.process(request)
        assert found is not None
        assert found.dont_filter, "the duplicate filter has seen it"
        assert (found.url, found.priority, found.meta["a"]) == (_PAGE, 3, 1)
        assert request.meta == {"a": 1}
        assert crawl.counted("rep/queue/put_back") == 1
        assert not crawl.counted("rep/verdict/disallowed") + crawl.counted("robotstxt/forbidden")
        with pytest.raises(RobotsTxtUnreachable):
            crawl.process(found)

    @pytest.mark.parametrize("dont_filter", [False, True])
    def test_it_is_as_before_when_it_is_resumed(self, dont_filter: bool, tmp_path: Path) -> None:
        """`dont_filter` would be copied to the targets of its redirects."""
        found = Crawl(self.UNREACHABLE, JOBDIR=str(tmp_path)).process(
            Request(_PAGE, dont_filter=dont_filter)
        )
        assert found is not None
        crawl = Crawl(policy_of(), JOBDIR=str(tmp_path))
        assert crawl.process(found) is None
        assert found.dont_filter is dont_filter
        assert "rep_put_back" not in found.meta

    def test_not_what_is_disallowed(self, tmp_path: Path) -> None:
        crawl = Crawl(policy_of(_CLOSED), JOBDIR=str(tmp_path))
        with pytest.raises(RobotsTxtDisallowed):
            crawl.process(Request(_PAGE))

    def test_not_without_a_place_for_it(self) -> None:
        with pytest.raises(RobotsTxtUnreachable):
            Crawl(self.UNREACHABLE).process(Request(_PAGE))

    def test_not_in_a_dry_run(self, tmp_path: Path) -> None:
        """Nothing is dropped there, so nothing is lost."""
        crawl = Crawl(self.UNREACHABLE, JOBDIR=str(tmp_path), REP_DRY_RUN=True)
        assert crawl.process(Request(_PAGE)) is None
        assert crawl.counted("rep/dry_run/would_drop") == 1

    def test_not_while_the_crawl_goes_on(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("scrapy_rep.middleware.is_closing", lambda crawler: False)
        with pytest.raises(RobotsTxtUnreachable):
            Crawl(self.UNREACHABLE, JOBDIR=str(tmp_path)).process(Request(_PAGE))


class Renames:
    """A middleware behind ours, which makes a request that of another crawler."""

    def __init__(self, answer: Any = None) -> None:
        self.answer = answer

    def process_request(self, request: Request, spider: Spider) -> Any:
        assert spider.name == "test"
        request.headers["User-Agent"] = "OtherBot/1.0"
        return self.answer


@pytest.mark.filterwarnings("ignore:.*requires a spider argument", "ignore:.*returned a Deferred")
class TestLookingAgain:
    """A request is judged as whom it is sent, whatever a middleware behind ours has set."""

    def send(self, crawl: Crawl, request: Request, behind: Renames | None = None) -> Any:
        """What comes of a request behind all middlewares: None if it is sent."""
        engine: Any = crawl.crawler.engine
        if engine.downloader is None:
            middlewares = (crawl.middleware, behind or Renames())
            manager = DownloaderMiddlewareManager(*middlewares, crawler=crawl.crawler)
            engine.downloader = SimpleNamespace(middleware=manager)
            crawl.middleware._spider_opened()

        async def download(request: Request) -> Response:
            return Response(request.url, status=418)

        async def work() -> Any:
            try:
                found = await engine.downloader.middleware.download_async(download, request)
            finally:
                await crawl.middleware._decisions.notices.finish()
            return None if getattr(found, "status", 0) == 418 else found

        with ThreadPoolExecutor(1) as thread:
            return thread.submit(asyncio.run, work()).result(timeout=20)

    @pytest.mark.parametrize("answer", [None, succeed(None)])
    def test_dropped(self, answer: Any) -> None:
        crawl = Crawl(policy_of(b"User-agent: OtherBot\nDisallow: /\n"))
        with pytest.raises(RobotsTxtDisallowed, match="group otherbot"):
            self.send(crawl, Request(_PAGE), Renames(answer))
        assert crawl.counted("rep/verdict/disallowed") == crawl.counted("robotstxt/forbidden") == 1
        assert crawl.counted("rep/verdict/allowed") == 0

    @pytest.mark.parametrize("answer", [Response(_PAGE), Request(_PAGE), succeed(Response(_PAGE))])
    def test_not_what_is_not_sent(self, answer: Any) -> None:
        crawl = Crawl(policy_of(b"User-agent: OtherBot\nDisallow: /\n"))
        found = self.send(crawl, Request(_PAGE), Renames(answer))
        assert found.url == _PAGE
        assert crawl.counted("rep/verdict/allowed") == 1

    @pytest.mark.parametrize(
        "request_",
        [
            Request(_PAGE, meta={"dont_obey_robotstxt": True}),
            Request("http://example.com/robots.txt"),
            Request("data:,x"),
            Request(_PAGE, headers={"User-Agent": "OtherBot/2.0"}),
        ],
    )
    def test_not_what_no_header_says_anything_of(
        self, request_: Request, caplog: pytest.LogCaptureFixture
    ) -> None:
        assert self.send(Crawl(policy_of()), request_) is None
        assert "second time" not in caplog.text

    def test_a_second_look_that_fails_lets_nothing_pass(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        crawl = Crawl(policy_of())

        def pace_of(policy: Policy, tokens: tuple[str, ...] | None = None) -> Pace:
            if tokens == ("OtherBot",):
                raise RuntimeError("unthought-of")
            return Pace()

        monkeypatch.setattr(crawl.middleware.pacing, "of", pace_of)
        with pytest.raises(RuntimeError, match="unthought-of"):
            self.send(crawl, Request(_PAGE))

    def test_its_turn_is_that_of_the_other(self) -> None:
        policy = policy_of(
            b"User-agent: OtherBot\nCrawl-delay: 9\nAllow: /\n\nUser-agent: *\nAllow: /\n"
        )
        crawl = Crawl(policy, REP_VISIT_TIME_OBEY=True)
        asked = turns_of(crawl)
        assert self.send(crawl, Request(_PAGE)) is None
        assert asked == [9.0]

    def test_put_back_once_when_the_crawl_closes(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        crawl = Crawl(policy_of(), REP_VISIT_TIME_OBEY=True, JOBDIR=str(tmp_path))

        async def wait(policy: Policy, tokens: tuple[str, ...]) -> bool:
            return tokens != ("OtherBot",)

        monkeypatch.setattr("scrapy_rep.middleware.is_closing", lambda crawler: True)
        monkeypatch.setattr(crawl.middleware.pacing, "wait_for_visit_time", wait)
        found = self.send(crawl, Request(_PAGE))
        assert (found.url, found.dont_filter) == (_PAGE, True)
        del found.headers["User-Agent"]
        with pytest.raises(RobotsTxtDisallowed, match="visit"):
            self.send(crawl, found)

    def test_a_downloader_that_does_not_show_its_middlewares(
        self, caplog: pytest.LogCaptureFixture
    ) -> None:
        crawl = Crawl(policy_of(b"User-agent: *\nCrawl-delay: 3\n"))
        crawl.middleware._spider_opened()
        asked = turns_of(crawl)
        crawl.process(Request(_PAGE))
        assert asked == [3.0], "it has its turn before other middlewares"
        assert caplog.text.count("does not show its middlewares") == 1


class TestFilterLinks:
    """What is known to be disallowed is not queued."""

    def test_dropped(self) -> None:
        crawl = Crawl(policy_of(_CLOSED))
        with pytest.raises(RobotsTxtDisallowed):
            crawl.schedule(Request(_PAGE))
        for name in ("rep/verdict/disallowed", "rep/filtered_links", "robotstxt/forbidden"):
            assert crawl.counted(name) == 1

    @pytest.mark.parametrize(
        ("policy", "request_"),
        [
            (None, Request(_PAGE)),
            (policy_of(), Request(_PAGE)),
            # It may be there by the time that the request's turn comes.
            (policy_of(event=503, meaning=Meaning.DISALLOW), Request(_PAGE)),
            (policy_of(_CLOSED), Request("http://example.com/robots.txt")),
            (policy_of(_CLOSED), Request("http://another.example/a")),
            (policy_of(_CLOSED), Request("data:,a")),
            (policy_of(_CLOSED), Request("http://example.com:0/a")),
            (policy_of(_CLOSED), Request(_PAGE, meta={"dont_obey_robotstxt": True})),
            (policy_of(_CLOSED), Request(_PAGE, meta={"rep_queue": True})),
        ],
        ids=repr,
    )
    def test_queued(self, policy: Policy | None, request_: Request) -> None:
        crawl = Crawl(policy)
        crawl.schedule(request_)
        assert not any(map(crawl.counted, ("rep/verdict/disallowed", "robotstxt/forbidden")))

    @pytest.mark.parametrize(
        ("settings", "is_listening"),
        [
            ({}, True),
            ({"REP_FILTER_LINKS": False}, False),
            ({"REP_DRY_RUN": True}, False),
        ],
    )
    def test_only_if_the_settings_say_so(
        self, settings: dict[str, Any], is_listening: bool
    ) -> None:
        crawl = Crawl(policy_of(_CLOSED), **settings)
        failures = crawl.crawler.signals.send_catch_log(
            signals.request_scheduled,
            request=Request(_PAGE),
            spider=crawl.crawler.spider,
            dont_log=RobotsTxtDisallowed,
        )
        assert crawl.counted("robotstxt/forbidden") == is_listening
        assert len(failures) == is_listening


@pytest.mark.parametrize(
    ("event", "error"), [(503, RobotsTxtUnreachable), (200, RobotsTxtDisallowed)]
)
def test_a_redirect_of_a_browser_that_was_refused_drops_its_request(
    event: Event, error: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    crawl = Crawl(None)
    verdict = policy_of(event=event, meaning=Meaning.DISALLOW).verdict(_PAGE)
    refusals = {_PAGE: verdict}
    pages: Any = SimpleNamespace(refusal_of=lambda request: refusals.get(request.url))
    monkeypatch.setattr(crawl.middleware, "_pages", pages)
    with pytest.raises(error) as caught:
        crawl.middleware.process_exception(Request(_PAGE), OSError())
    assert type(caught.value) is error
    crawl.middleware.process_exception(Request("http://example.com/b"), OSError())
    assert crawl.counted("robotstxt/forbidden") == 1


def test_the_end_of_a_crawl() -> None:
    """Handlers of our signals may still look at policies; the store is closed after them."""
    crawl = Crawl(None)
    told: list[str] = []

    async def finish() -> None:
        told.append("handlers have ended")

    async def close() -> None:
        told.append("policies are closed")

    crawl.middleware._decisions.notices.finish = finish  # type: ignore[method-assign]
    crawl.middleware.policies.close = close  # type: ignore[method-assign]
    with ThreadPoolExecutor(1) as thread:
        thread.submit(asyncio.run, crawl.middleware._spider_closed()).result(timeout=20)
    assert told == ["handlers have ended", "policies are closed"]


@pytest.mark.parametrize("obeys", [True, False])
def test_pages_of_browsers_are_known_as_the_crawl_s(obeys: bool) -> None:
    """Even where it obeys nothing: the hook aborts what belongs to no crawl."""
    settings = {**ADDON, "PLAYWRIGHT_ABORT_REQUEST": "scrapy_rep.playwright_abort_request"}
    crawler = get_crawler(settings_dict={**settings, "ROBOTSTXT_OBEY": obeys})
    with nullcontext() if obeys else pytest.raises(NotConfigured):
        crawler.middleware = RepMiddleware.from_crawler(crawler)  # type: ignore[attr-defined]
    crawler.spider = Spider("test")
    request = Request(_PAGE, meta={"playwright": True})
    crawler.signals.send_catch_log(signals.request_reached_downloader, request=request)
    assert "playwright_page_init_callback" in request.meta
    assert browser_pages._VISITS[request].judge is not None or not obeys
    crawler.signals.send_catch_log(signals.request_left_downloader, request=request)
    assert "playwright_page_init_callback" not in request.meta


class TestJudging:
    """What a request comes to, by a policy that is in memory."""

    @pytest.mark.parametrize("is_dry", [True, False])
    def test_disallowed(self, is_dry: bool) -> None:
        crawl = Crawl(policy_of(_CLOSED), REP_DRY_RUN=is_dry)
        request = Request(_PAGE)
        if is_dry:
            crawl.process(request)
            assert not request.meta["rep_verdict"].allowed
        else:
            with pytest.raises(RobotsTxtDisallowed):
                crawl.process(request)
            assert "rep_verdict" not in request.meta
        names = ("rep/verdict/disallowed", "rep/cache/hit", "robotstxt/forbidden")
        assert [*map(crawl.counted, names)] == [1, 1, not is_dry]
        assert crawl.counted("rep/dry_run/would_drop") == is_dry

    def test_allowed(self) -> None:
        crawl = Crawl(policy_of(b"User-agent: *\nDisallow: /b\n"))
        request = Request(_PAGE, meta={"rep_verdict": "another request's"})
        crawl.process(request)
        assert request.meta["rep_verdict"].allowed
        names = ("rep/verdict/allowed", "rep/cache/hit", "robotstxt/forbidden")
        assert [*map(crawl.counted, names)] == [1, 1, 0]

    def test_by_the_tokens_of_its_own_header(self) -> None:
        crawl = Crawl(policy_of(b"User-agent: mine\nDisallow: /\n"))
        with pytest.raises(RobotsTxtDisallowed):
            crawl.process(Request(_PAGE, headers={"User-Agent": "mine/1.0"}))
        crawl.process(Request(_PAGE, headers={"User-Agent": "yours/1.0"}))

    def test_without_a_clear_origin(self) -> None:
        crawl = Crawl(policy_of())
        with pytest.raises(RobotsTxtDisallowed):
            crawl.process(Request("http://example.com:0/a"))

    @pytest.mark.parametrize(
        ("url", "meta", "stat"),
        [
            ("data:,a", {}, "rep/not_judged"),
            (_PAGE, {"dont_obey_robotstxt": True}, "rep/exempt"),
            ("http://example.com/robots.txt", {}, "rep/verdict/allowed"),
        ],
    )
    def test_not_by_the_policy(self, url: str, meta: dict[str, Any], stat: str) -> None:
        crawl = Crawl(policy_of(_CLOSED))
        request = Request(url, meta={"rep_verdict": "another request's", **meta})
        crawl.process(request)
        assert crawl.counted(stat) == 1
        assert request.meta.get("rep_verdict") != "another request's"

    @pytest.mark.parametrize(("excess", "is_dropped"), [("skip", True), ("cap", False)])
    def test_a_delay_beyond_what_the_crawl_bears(self, excess: str, is_dropped: bool) -> None:
        policy = policy_of(b"User-agent: *\nCrawl-delay: 9999\n")
        crawl = Crawl(policy, REP_CRAWL_DELAY_EXCESS=excess)
        crawl.crawler.engine = SimpleNamespace(downloader=None)  # type: ignore[assignment]
        if is_dropped:
            with pytest.raises(RobotsTxtDisallowed):
                crawl.process(Request(_PAGE))
        else:
            crawl.process(Request(_PAGE))
        assert crawl.counted("rep/pace/skipped") == is_dropped

    @pytest.mark.parametrize("comes", [True, False])
    def test_a_visit_time_that_does_not_come(self, comes: bool) -> None:
        async def wait(*_: Any) -> bool:
            return comes

        crawl = Crawl(policy_of(), REP_VISIT_TIME_OBEY=True)
        crawl.middleware.pacing.wait_for_visit_time = wait  # type: ignore[method-assign, assignment]
        if comes:
            crawl.process(Request(_PAGE))
        else:
            with pytest.raises(RobotsTxtDisallowed, match="visit"):
                crawl.process(Request(_PAGE))


def test_whoever_listens_hears_of_what_is_dropped() -> None:
    crawl = Crawl(policy_of(_CLOSED))
    heard: list[tuple[Request, bool]] = []

    def hear(request: Request, verdict: Verdict) -> None:
        heard.append((request, verdict.allowed))

    crawl.crawler.signals.connect(hear, signal=request_disallowed)
    request = Request(_PAGE)
    with pytest.raises(RobotsTxtDisallowed):
        crawl.process(request)
    assert heard == [(request, False)]

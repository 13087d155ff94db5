"""The middleware at Scrapy's signals: it notes answers, drops links, and closes."""

from __future__ import annotations

import subprocess
import sys
import time
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from scrapy import Request, Spider, signals
from scrapy.core.downloader.middleware import DownloaderMiddlewareManager
from scrapy.exceptions import NotConfigured
from scrapy.http import Response
from scrapy.utils.test import get_crawler
from twisted.internet.defer import succeed

from scrapy_rep import Origin, RepMiddleware
from scrapy_rep.fetch.reading import Reading
from scrapy_rep.policy import Policy
from scrapy_rep.protocol.access.events import Event, Meaning
from scrapy_rep.protocol.access.knowledge import Knowledge, Outage
from scrapy_rep.protocol.document import parse
from scrapy_rep.protocol.extensions.pace import Pace
from scrapy_rep.settings import RepSettings
from scrapy_rep.signals import RobotsTxtDisallowed, RobotsTxtUnreachable
from tests.crawls.settings import ADDON
from tests.extras import needs, skip_refused
from tests.played import in_a_loop, played_crawler
from tests.processes import REPOSITORY
from tests.servers.handle import Answer, Site

ORIGIN = Origin("http", "example.com", 80)


class Crawl:
    """The middleware of a crawl that knows the policy of one origin."""

    def __init__(self, policy: Policy | None, *, is_closing: bool = False, **settings: Any) -> None:
        settings = {**ADDON, "REP_FILTER_LINKS": True, **settings}
        self.crawler = crawler = played_crawler(settings, is_closing=is_closing)
        self.middleware = RepMiddleware.from_crawler(crawler)
        self.middleware._identity.open()

        def peek(
            origin: Origin, request: Request | None = None, *, renew: bool = True
        ) -> Policy | None:
            assert renew is (request is not None), "a link that is only queued fetches nothing"
            return policy if origin == ORIGIN else None

        self.middleware.policies.peek = peek  # type: ignore[method-assign]

    def process(self, request: Request) -> Request | None:
        async def work() -> Request | None:
            try:
                return await self.middleware.process_request(request)
            finally:
                await self.middleware._decisions.notices.finish()

        return in_a_loop(work)

    def counted(self, name: str) -> int:
        found: int = self.crawler.stats.get_value(name, 0)
        return found


def policy_of(body: bytes = b"", event: Event = 200, meaning: Meaning = Meaning.RULES) -> Policy:
    robots_txt = parse(body, ORIGIN.robots_txt_uri)
    return Policy(ORIGIN, event, meaning, Reading(robots_txt, robots_txt), ("*",))


_CLOSED = b"User-agent: *\nDisallow: /\n"
_OPEN_AT_NIGHT = b"User-agent: *\nVisit-time: 0000-0100\n"
_PAGE = "http://example.com/a"


@pytest.mark.parametrize(
    ("response", "is_up"),
    [
        (Response("http://example.com/", status=301), True),
        (Response("http://example.com/a/robots.txt", status=499), True),
        (Response("http://example.com/", status=500), False),
        # The file's own answers say nothing of the pages: an outage of it is judged by these.
        (Response("http://example.com/robots.txt"), False),
        (Response("http://example.com/", flags=["cached"]), False),
        (Response("data:,x"), False),
        (Response("http://example.com:0/"), False),  # of no origin: an exempt request
    ],
    ids=repr,
)
def test_answers_of_pages_show_that_an_origin_is_up(response: Response, is_up: bool) -> None:
    """Google's crawlers then take an outage of a month for a file that is not there."""
    crawl = Crawl(None, REP_POLICY="google")
    event = signals.response_received if response.flags else signals.response_downloaded
    request, spider = Request(response.url), crawl.crawler.spider
    crawl.crawler.signals.send_catch_log(event, response=response, request=request, spider=spider)
    rules = RepSettings.of(crawl.crawler.settings).options
    now = time.time()
    outage = Outage(503, (ORIGIN.robots_txt_uri,), now - 31 * 86_400, now, 9, now + 60)
    known = Knowledge(outage=outage)
    stands = crawl.middleware.policies.fetching.weigh(ORIGIN, known, rules)
    assert (stands.meaning is Meaning.ALLOW) is is_up


def test_target_of_a_redirect_goes_through_its_own_slot() -> None:
    """It comes with the meta of the request that was redirected, and past the queue."""
    meta = {"download_slot": "former.example", "redirect_urls": ["http://former.example/"]}
    request = Request(_PAGE, meta=meta)
    assert Crawl(policy_of()).process(request) is None
    assert "download_slot" not in request.meta


@pytest.mark.parametrize(
    ("left_seconds", "newer", "expected"),
    [
        # It is used for half a minute more,
        *[(left_seconds, _CLOSED, ["wait"]) for left_seconds in (600.0, -1.0, -25.0)],
        # and then a newer one judges. The turn is given up first: the newer one needs one itself.
        (-40.0, _CLOSED, ["wait", "give up", "get", "a rule matches"]),
        # That one is waited with too, and has run out likewise: the request leaves.
        (-40.0, _OPEN_AT_NIGHT, ["wait", "give up", "get", "wait"]),
    ],
)
def test_request_that_waited_longer_than_its_policy_holds_is_judged_again(
    left_seconds: float, newer: bytes, expected: list[str]
) -> None:
    """A visit time begins hours later; and the site may have closed since."""
    policy = policy_of(_OPEN_AT_NIGHT)
    policy.usable_until = time.time() + 600
    crawl = Crawl(policy, REP_VISIT_TIME_OBEY=True)
    done: list[str] = []

    async def wait(waiting: Policy, _: object) -> bool:
        done.append("wait")
        waiting.usable_until = time.time() + left_seconds
        return True

    async def get(*_: object) -> Policy:
        done.append("get")
        return policy_of(newer)

    pacing: Any = crawl.middleware.pacing
    policies: Any = crawl.middleware.policies
    pacing.wait_for_visit_time = wait
    pacing.give_up = lambda *_: done.append("give up")
    policies.get = get
    policies.peek = lambda *_: policy if time.time() < policy.usable_until else None
    try:
        assert crawl.process(Request(_PAGE)) is None
    except RobotsTxtDisallowed as refused:
        done.append(refused.verdict.reason.value)
    assert done == expected


class TestPuttingBack:
    """A request that waited when the crawl was stopped is there when it is resumed."""

    UNREACHABLE = policy_of(event=503, meaning=Meaning.DISALLOW)

    def test_request_is_put_back_once(self, tmp_path: Path) -> None:
        """A request of the engine's `download_async` would come again without end."""
        crawl = Crawl(self.UNREACHABLE, is_closing=True, JOBDIR=str(tmp_path))
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
    def test_resumed_request_is_as_before(self, dont_filter: bool, tmp_path: Path) -> None:
        """`dont_filter` would be copied to the targets of its redirects."""
        stopped = Crawl(self.UNREACHABLE, is_closing=True, JOBDIR=str(tmp_path))
        found = stopped.process(Request(_PAGE, dont_filter=dont_filter))
        assert found is not None
        crawl = Crawl(policy_of(), JOBDIR=str(tmp_path))
        assert crawl.process(found) is None
        assert found.dont_filter is dont_filter
        assert "rep_put_back" not in found.meta

    @pytest.mark.parametrize(
        ("policy", "is_closing", "has_place"),
        [
            (policy_of(_CLOSED), True, True),
            (UNREACHABLE, True, False),
            (UNREACHABLE, False, True),
        ],
        ids=["disallowed", "without a place for it", "while the crawl goes on"],
    )
    def test_others_are_not_put_back(
        self, policy: Policy, is_closing: bool, has_place: bool, tmp_path: Path
    ) -> None:
        place = {"JOBDIR": str(tmp_path)} if has_place else {}
        with pytest.raises((RobotsTxtDisallowed, RobotsTxtUnreachable)):
            Crawl(policy, is_closing=is_closing, **place).process(Request(_PAGE))

    def test_dry_run_puts_nothing_back(self, tmp_path: Path) -> None:
        """Nothing is dropped there, so nothing is lost."""
        settings = {"JOBDIR": str(tmp_path), "REP_DRY_RUN": True}
        crawl = Crawl(self.UNREACHABLE, is_closing=True, **settings)
        assert crawl.process(Request(_PAGE)) is None
        assert crawl.counted("rep/dry_run/would_drop") == 1


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
    """A request is judged by the User-Agent that is sent, which a later middleware may set."""

    def send(self, crawl: Crawl, request: Request, behind: Renames | None = None) -> Any:
        """The result for a request after all middlewares: None if it is sent."""
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

        return in_a_loop(work)

    @pytest.mark.parametrize("answer", [Response(_PAGE), Request(_PAGE), succeed(Response(_PAGE))])
    def test_request_that_is_not_sent_is_not_judged_again(self, answer: Any) -> None:
        crawl = Crawl(policy_of(b"User-agent: OtherBot\nDisallow: /\n"))
        found = self.send(crawl, Request(_PAGE), Renames(answer))
        assert found.url == _PAGE
        assert crawl.counted("rep/verdict/allowed") == 1

    def test_second_judgement_that_fails_lets_nothing_pass(self) -> None:
        crawl = Crawl(policy_of())

        def pace_of(policy: Policy, tokens: tuple[str, ...] | None = None) -> Pace:
            if tokens == ("OtherBot",):
                raise RuntimeError("unthought-of")
            return Pace()

        crawl.middleware.pacing.of = pace_of  # type: ignore[method-assign]
        with pytest.raises(RuntimeError, match="unthought-of"):
            self.send(crawl, Request(_PAGE))

    def test_request_is_put_back_once_when_the_crawl_closes(self, tmp_path: Path) -> None:
        settings = {"REP_VISIT_TIME_OBEY": True, "JOBDIR": str(tmp_path)}
        crawl = Crawl(policy_of(_OPEN_AT_NIGHT), is_closing=True, **settings)

        async def wait(policy: Policy, tokens: tuple[str, ...]) -> bool:
            return tokens != ("OtherBot",)

        crawl.middleware.pacing.wait_for_visit_time = wait  # type: ignore[method-assign]
        found = self.send(crawl, Request(_PAGE))
        assert (found.url, found.dont_filter) == (_PAGE, True)
        del found.headers["User-Agent"]
        with pytest.raises(RobotsTxtDisallowed, match="visit"):
            self.send(crawl, found)


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
def test_links_without_a_known_refusal_are_queued(policy: Policy | None, request_: Request) -> None:
    """Others are known to be disallowed."""
    crawl = Crawl(policy)
    crawl.crawler.signals.send_catch_log(
        signals.request_scheduled, request=request_, spider=crawl.crawler.spider
    )
    assert not any(map(crawl.counted, ("rep/verdict/disallowed", "robotstxt/forbidden")))


@needs("pages")
@pytest.mark.parametrize(
    ("event", "error"), [(503, RobotsTxtUnreachable), (200, RobotsTxtDisallowed)]
)
def test_refused_redirect_of_a_browser_drops_its_request(
    event: Event, error: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    from scrapy_rep.extras.pages.browsers import browser_pages

    verdict = policy_of(event=event, meaning=Meaning.DISALLOW).verdict(_PAGE)
    refusals = {_PAGE: verdict}
    monkeypatch.setattr(
        browser_pages.CrawlPages, "refusal_of", lambda _, request: refusals.get(request.url)
    )
    crawl = Crawl(None, PLAYWRIGHT_ABORT_REQUEST="scrapy_rep.playwright_abort_request")
    with pytest.raises(error) as caught:
        crawl.middleware.process_exception(Request(_PAGE), OSError())
    assert type(caught.value) is error
    crawl.middleware.process_exception(Request("http://example.com/b"), OSError())
    assert crawl.counted("robotstxt/forbidden") == 1


@needs("pages")
@pytest.mark.parametrize("obeys", [True, False])
def test_pages_of_browsers_belong_to_the_crawl(obeys: bool) -> None:
    """Even where it obeys nothing: the hook aborts what belongs to no crawl."""
    from scrapy_rep.extras.pages.browsers import browser_pages

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


@pytest.mark.parametrize(
    ("url", "meta", "stat"),
    [
        ("data:,a", {}, "rep/not_judged"),
        (_PAGE, {"dont_obey_robotstxt": True}, "rep/exempt"),
        ("http://example.com/robots.txt", {}, "rep/verdict/allowed"),
    ],
)
def test_requests_that_no_policy_judges_are_counted(
    url: str, meta: dict[str, Any], stat: str
) -> None:
    crawl = Crawl(policy_of(_CLOSED))
    request = Request(url, meta={"rep_verdict": "another request's", **meta})
    crawl.process(request)
    assert crawl.counted(stat) == 1
    assert request.meta.get("rep_verdict") != "another request's"


_WITHOUT_POSIX = """
import builtins
import sys

from scrapy import Spider
from scrapy.crawler import AsyncCrawlerProcess

imported = builtins.__import__

def import_one(name, *rest, **others):
    importer = sys._getframe(1).f_globals["__name__"]
    if name in ("fcntl", "pty", "resource", "termios") and importer.startswith("scrapy_rep"):
        raise ImportError(name)
    return imported(name, *rest, **others)

builtins.__import__ = import_one
url, folder = sys.argv[1:]
process = AsyncCrawlerProcess(
    {
        "ADDONS": {"scrapy_rep.Addon": 500},
        "ROBOTSTXT_OBEY": True,
        "REP_STORE_PATH": folder + "/robots.sqlite",
        "REP_AUDIT_DIR": folder + "/audit",
    }
)
pages = {"name": "pages", "start_urls": [url + "a", url + "b"], "parse": lambda *_: None}
process.crawl(type("Pages", (Spider,), pages))
process.start()
"""


def test_crawl_needs_no_module_that_only_posix_has(tmp_path: Path) -> None:
    skip_refused(["REP_AUDIT_DIR"])
    with Site({"/robots.txt": Answer(body="User-agent: *\nDisallow: /b\n")}) as site:
        words = [sys.executable, "-c", _WITHOUT_POSIX, site.url("/"), str(tmp_path)]
        done = subprocess.run(words, cwd=REPOSITORY, capture_output=True, text=True, check=True)
        assert sorted(site.paths()) == ["/a", "/robots.txt"], done.stderr
    assert "Traceback" not in done.stderr
    assert (tmp_path / "robots.sqlite").exists()
    assert (tmp_path / "audit" / "latest").exists()

"""Crawls in projects whose middlewares change, break or answer the requests for robots.txt.

Each crawl fetches what it would fetch without the middleware. If that cannot be, it fetches
nothing, and the log names the middleware.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tests.crawling import LOOPS, Crawl, Loop, crawl
from tests.crawls.settings import ADDON, URLS_SPIDER, WITH_SCRAPYS_QUEUE
from tests.servers.handle import Answer, Site, free_port

_PAGE = Answer(body="<html>a page</html>")
_RULES = Answer(body="User-agent: *\nDisallow: /private\nDisallow: /*.pdf$\n")
_ROUTES = {
    "/robots.txt": _RULES,
    "/robots.txt?session=1": _RULES,
    **{f"{path}{query}": _PAGE for path in ("/a", "/b") for query in ("", "?session=1", "/next")},
}
_WANTED = ("/a", "/b", "/private")


def run(site: Site, guest: str, loop: Loop, queue: dict[str, Any] = ADDON, **more: Any) -> Crawl:
    """A crawl with a middleware of `tests.crawls.guests`, and no waits that it could need."""
    settings = {
        **queue,
        "DOWNLOADER_MIDDLEWARES": {f"tests.crawls.guests.{guest}": more.pop("order", 543)},
        "REP_UNREACHABLE_HOLD_SECONDS": 60,
        "REP_QUICK_RETRY_SECONDS": [1, 4],
        **more,
    }
    urls = [site.url(path) for path in _WANTED]
    return crawl(URLS_SPIDER, loop=loop, settings=settings, urls=urls, meta={"account": 1})


def pages(site: Site) -> set[str]:
    """The paths of the pages that a site was requested for, without their queries."""
    return {path.partition("?")[0] for path in site.paths()} - {"/robots.txt"}


def told(result: Crawl, level: str = "WARNING") -> list[str]:
    return [line for line in result.log.splitlines() if f"{level}: " in line]


@pytest.fixture
def site() -> Any:
    with Site(_ROUTES) as made:
        yield made


@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize("queue", [ADDON, WITH_SCRAPYS_QUEUE], ids=["ours", "Scrapy's"])
def test_rewritten_request_is_still_ours(site: Site, queue: dict[str, Any], loop: Loop) -> None:
    result = run(site, "AddsQuery", loop, queue, REP_POLICY="scrapy")
    assert pages(site) == {"/a", "/b"}, result.log
    assert site.paths().count("/robots.txt?session=1") == 1


@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize("order", [50, 543])
@pytest.mark.parametrize(
    ("guest", "error"),
    [
        ("ReadsAccount", "KeyError: 'account'"),
        ("RefusesAnswers", "AnswerForNobodyError"),
        ("ReturnsTrue", "ReturnsTrue.process_request must return None, Response or Request"),
    ],
)
def test_second_try_has_the_meta_of_the_page(
    site: Site, guest: str, error: str, order: int, loop: Loop
) -> None:
    result = run(site, guest, loop, order=order)
    assert pages(site) == {"/a", "/b"}, result.log
    (warning,) = [line for line in told(result) if "was not fetched" in line]
    line = Path(__file__).with_name("guests.py").read_text(encoding="utf-8").split(f"class {guest}")
    assert error in warning
    assert f"tests.crawls.guests.{guest} (" in warning
    number = re.search(r"guests\.py, line (\d+)\)", warning)
    assert number is not None
    assert 0 < int(number[1]) - line[0].count("\n") < 8
    assert "The next try worked" in warning
    assert "Traceback" in result.log


@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize(
    ("guest", "error"),
    [
        ("DropsTextFiles", "IgnoreRequest: no text files"),
        ("AlwaysReturnsText", "AlwaysReturnsText.process_response must return Response or Request"),
    ],
)
def test_culprit_is_named_and_nothing_waits(
    site: Site, guest: str, error: str, loop: Loop, tmp_path: Path
) -> None:
    store: dict[str, Any] = {
        "REP_STORE": "sqlite",
        "REP_STORE_PATH": str(tmp_path / "robots.sqlite"),
    }
    result = run(site, guest, loop, **store)
    assert pages(site) == set(), result.log
    assert result.stats["elapsed_time_seconds"] < 25, "REP_UNREACHABLE_HOLD_SECONDS is 60"
    assert result.stats["rep/event/local"] == 1
    (warning,) = [line for line in told(result) if "was not fetched, because" in line]
    assert error in warning
    assert f"tests.crawls.guests.{guest} (" in warning
    assert all(f"guests.{guest}" in item["message"] for item in result.items)
    site.change(_ROUTES)
    again = run(site, guest, loop, REP_FETCH_MIDDLEWARES="builtin", **store)
    assert pages(site) == {"/a", "/b"}, again.log
    assert not [line for line in told(again) if "robots.txt" in line]


@pytest.mark.parametrize("loop", LOOPS)
def test_failure_of_the_site_stays_one(loop: Loop) -> None:
    """Whatever exception a middleware makes of it."""
    with Site({"/robots.txt": Answer(fault="reset_before_answer")}) as site:
        result = run(site, "OwnErrorForFailures", loop, REP_UNREACHABLE_HOLD_SECONDS=0)
        assert result.stats["rep/event/reset"] == 1, result.log
        assert pages(site) == set()


@pytest.mark.parametrize("loop", LOOPS)
def test_page_source_of_a_browser_is_read(site: Site, loop: Loop) -> None:
    result = run(site, "Renders", loop)
    assert pages(site) == {"/a", "/b"}, result.log


@pytest.mark.parametrize("loop", LOOPS)
def test_name_of_a_browser_is_told(site: Site, loop: Loop) -> None:
    result = run(site, "NamesBrowser", loop, ROBOTSTXT_USER_AGENT="FooBot", USER_AGENT="FooBot/1")
    (warning,) = [line for line in told(result) if "product token" in line]
    assert "Firefox/140.0', which does not contain the product token 'FooBot'" in warning


@pytest.mark.parametrize("loop", LOOPS)
def test_proxies_that_are_down_are_exchanged(loop: Loop) -> None:
    down = [f"http://user:secret@127.0.0.1:{free_port()}" for _ in range(4)]
    routes = {f"http://h.example{path}": answer for path, answer in _ROUTES.items()}
    with Site(routes) as proxy:
        result = crawl(
            URLS_SPIDER,
            loop=loop,
            settings={
                **ADDON,
                "DOWNLOADER_MIDDLEWARES": {"tests.crawls.guests.Proxies": 543},
                "GUEST_PROXIES": [*down, proxy.url("")],
                "RETRY_TIMES": 6,
            },
            urls=[f"http://h.example{path}" for path in _WANTED],
        )
        seen = {path.removeprefix("http://h.example") for path in proxy.paths()}
        assert seen == {"/robots.txt", "/a", "/b"}, result.log
    (warning,) = [line for line in told(result) if "the proxy, or the site behind it" in line]
    assert re.search(r"127\.0\.0\.1:\d+ \(refused\)", warning)
    assert "secret" not in "".join(told(result))


@pytest.mark.parametrize("loop", LOOPS)
def test_pool_without_a_proxy_that_works_blames_no_site(loop: Loop) -> None:
    settings: dict[str, Any] = {
        "GUEST_PROXIES": [f"http://127.0.0.1:{free_port()}"],
        "RETRY_TIMES": 2,
    }
    with Site(_ROUTES) as site:
        result = run(site, "Proxies", loop, REP_UNREACHABLE_HOLD_SECONDS=0, **settings)
        assert not site.paths()
    assert result.stats["rep/event/local"] == 1, result.log
    assert result.stats["rep/quick_retries"] == 2
    assert all("127.0.0.1:" in item["message"] for item in result.items)


@pytest.mark.parametrize("loop", LOOPS)
def test_answer_of_a_proxy_decides_for_no_direct_request(loop: Loop, tmp_path: Path) -> None:
    with Site({"/robots.txt": Answer(body="User-agent: *\nDisallow: /a\n")}) as site:
        settings = {
            **ADDON,
            "REP_STORE": "sqlite",
            "REP_STORE_PATH": str(tmp_path / "robots.sqlite"),
        }
        url = site.url("/a")
        with Site({"http://*": _PAGE, site.url("/robots.txt"): Answer(body="")}) as proxy:
            through = crawl(
                URLS_SPIDER,
                loop=loop,
                settings=settings,
                urls=[url],
                meta={"proxy": proxy.url("")},
            )
            assert url in proxy.paths(), through.log
        direct = crawl(URLS_SPIDER, loop=loop, settings=settings, urls=[url])
        assert site.paths() == ["/robots.txt"], direct.log


@pytest.mark.parametrize("loop", LOOPS)
def test_url_is_judged_as_it_is_sent(site: Site, loop: Loop) -> None:
    """Twisted's client drops parameters and queries that are empty."""
    urls = [site.url(path) for path in ("/x.pdf;", "/x.pdf;?", "/x.pdf;a")]
    crawl(URLS_SPIDER, loop=loop, settings=ADDON, urls=urls)
    assert "/x.pdf" not in site.paths()
    assert "/x.pdf;a" in site.paths()


@pytest.mark.parametrize("loop", LOOPS)
def test_request_that_a_fetch_needs_does_not_wait_for_it(site: Site, loop: Loop) -> None:
    result = run(site, "LogsInFirst", loop, REP_UNREACHABLE_WAIT_SECONDS=60)
    assert result.stats["elapsed_time_seconds"] < 30, "it would wait until the limit"
    (warning,) = [line for line in told(result) if "waits for the same file" in line]
    assert "/login> is sent by a middleware" in warning
    assert "set dont_obey_robotstxt in its meta" in warning
    assert pages(site) <= {"/a", "/b"}


@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize("queue", [ADDON, WITH_SCRAPYS_QUEUE], ids=["ours", "Scrapy's"])
def test_pages_wait_for_a_fetch_in_slow_middlewares(queue: dict[str, Any], loop: Loop) -> None:
    """They are no part of it, although one causes the other in the same turn of the loop."""
    hosts = ("127.0.0.1", "localhost")
    routes = {"/robots.txt": _RULES, **{f"/p{number}": _PAGE for number in range(12)}}
    with Site(routes) as site:
        settings = {
            **queue,
            "DOWNLOADER_MIDDLEWARES": {"tests.crawls.guests.Slow": 543},
            "CONCURRENT_REQUESTS_PER_DOMAIN": 2,
            "REP_CACHE_MIN_SECONDS": 0,
        }
        urls = [site.url(f"/p{number}", host) for number in range(12) for host in hosts]
        result = crawl(URLS_SPIDER, loop=loop, settings=settings, urls=urls)
        assert len([path for path in site.paths() if path != "/robots.txt"]) == 24, result.log
    assert "waits for the same file" not in result.log


@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize("queue", ["MarshalFifoDiskQueue", "PickleLifoDiskQueue"])
def test_meta_fits_into_items_and_disk_queues(
    site: Site, queue: str, loop: Loop, tmp_path: Path
) -> None:
    result = crawl(
        "tests.crawls.guests:MetaSpider",
        loop=loop,
        settings={
            **ADDON,
            "JOBDIR": str(tmp_path / "job"),
            "SCHEDULER_DISK_QUEUE": f"scrapy.squeues.{queue}",
            "SCHEDULER_START_DISK_QUEUE": f"scrapy.squeues.{queue}",
            "REP_AUDIT_DIR": str(tmp_path / "audit"),
            "REP_PAGE_OBEY": ["noindex"],
        },
        urls=[site.url("/a"), site.url("/b")],
    )
    assert not result.error, result.error
    assert len(result.items) == 4, result.log
    assert "scheduler/unserializable" not in result.stats
    for item in result.items:
        ours = {key: value for key, value in item["meta"].items() if key.startswith("rep_")}
        assert ours == {"rep_verdict": "allowed: no rule of the group matches"}


@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize("queue", [ADDON, WITH_SCRAPYS_QUEUE], ids=["ours", "Scrapy's"])
def test_pages_are_no_part_of_a_fetch_that_is_retried(queue: dict[str, Any], loop: Loop) -> None:
    """The engine may take them from the queue in a turn of the loop that the fetch began."""
    rules = [Answer(status=503), _RULES]
    with Site({"/robots.txt": rules, **{f"/p{number}": _PAGE for number in range(40)}}) as site:
        settings = {**queue, "REP_QUICK_RETRY_SECONDS": [0.3]}
        urls = [site.url(f"/p{number}") for number in range(40)]
        result = crawl(URLS_SPIDER, loop=loop, settings=settings, urls=urls)
        assert len(pages(site)) == 40, result.log


@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize(("guest", "order"), [("SendsBeside", 50), ("QueuesBeside", 543)])
def test_copy_of_our_request_is_judged(guest: str, order: int, loop: Loop) -> None:
    with Site({**_ROUTES, "/robots.txt": _RULES, "/private/login": _PAGE}) as site:
        result = run(site, guest, loop, order=order)
        assert "/private/login" not in site.paths(), result.log
        assert pages(site) == {"/a", "/b"}, result.log


@pytest.mark.parametrize("loop", LOOPS)
def test_connection_of_a_middleware_may_fail_for_a_while(site: Site, loop: Loop) -> None:
    result = run(site, "LooksUpAProxy", loop, REP_QUICK_RETRY_SECONDS=[0.5, 1])
    assert pages(site) == {"/a", "/b"}, result.log


@pytest.mark.parametrize("loop", LOOPS)
def test_answer_of_a_middleware_for_a_site_that_is_down_permits_nothing(loop: Loop) -> None:
    with Site({"/robots.txt": Answer(fault="reset_before_answer")}) as site:
        result = run(site, "AnswersForFailures", loop, REP_UNREACHABLE_HOLD_SECONDS=0)
        assert pages(site) == set(), result.log
        assert result.stats["rep/event/reset"] == 1


@pytest.mark.parametrize("loop", LOOPS)
def test_request_that_is_sent_again_and_again_ends(loop: Loop) -> None:
    with Site({"/robots.txt": Answer(status=503)}) as site:
        result = run(site, "SendsAgain", loop)
        assert len(site.paths()) == 20, "ten for each of two tries"
    assert result.stats["elapsed_time_seconds"] < 25
    (warning,) = [line for line in told(result) if "was not fetched, because" in line]
    assert "a middleware that returns the request for each answer SentTooOftenError" in warning
    (outage,) = [line for line in told(result) if "for a reason on our side" in line]
    assert "wait for the next attempt" not in outage, "they are dropped"


def test_log_and_verdicts_have_no_secrets_of_an_exception(site: Site) -> None:
    result = run(site, "RaisesSecrets", "asyncio")
    text = "".join([*told(result), *(item["message"] for item in result.items)])
    assert "tests.crawls.guests.RaisesSecrets" in text
    assert "hunter" not in text

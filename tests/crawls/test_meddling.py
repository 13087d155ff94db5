"""Other components change our requests, and URLs are odd: none of it means permission."""

from __future__ import annotations

import gzip

import pytest

from tests.crawling import crawl
from tests.crawls.settings import ADDON, DISALLOW_ALL, URLS_SPIDER
from tests.servers.handle import Answer, Site

HERE = "tests.crawls.meddling"
RULES = Answer(body="User-agent: *\nDisallow: /private\n")


def test_a_download_handler_that_stops_a_robots_txt() -> None:
    """The beginning of a file is no permission, and one warning says how to get the whole file."""
    with Site({"/robots.txt": RULES}) as site:
        settings = {**ADDON, "DOWNLOAD_HANDLERS": {"http": f"{HERE}.StopsItself"}}
        settings["REP_UNREACHABLE_HOLD_SECONDS"] = 0
        result = crawl(URLS_SPIDER, settings=settings, urls=[site.url("/private/x")])
        assert set(site.paths()) == {"/robots.txt"}, result.log
    warnings = [line for line in result.log.splitlines() if "with StopDownload" in line]
    assert len(warnings) == 1
    assert "NO_CALLBACK" in warnings[0]


@pytest.mark.parametrize("fail", [False, True])
@pytest.mark.parametrize("signal", ["bytes_received", "headers_received"])
def test_handler_that_stops_each_download_stops_no_robots_txt(signal: str, fail: bool) -> None:
    """Its rules are longer than the first octets that come; pages are stopped as before."""
    body = "# more\n" * 30_000 + "User-agent: *\nDisallow: /private\n"
    page = Answer(body=b"x" * 300_000, drip=(100_000, 0.1))
    stops = {"STOPS": signal, "STOPS_AS_FAILURE": fail}
    settings = {**ADDON, **stops, "EXTENSIONS": {f"{HERE}.StopsAll": 0}}
    with Site({"/robots.txt": Answer(body=body)}, default=page) as site:
        urls = [site.url("/private/x"), site.url("/1"), site.url("/2")]
        result = crawl(URLS_SPIDER, settings=settings, urls=urls)
        assert sorted(site.paths()) == ["/1", "/2", "/robots.txt"], result.log
    errors = {item["url"]: item.get("error") for item in result.items}
    stopped = "StopDownload" if fail else None
    assert errors == dict(zip(urls, ["RobotsTxtDisallowed", stopped, stopped], strict=True))


@pytest.mark.parametrize("encoding", ["gzip", None])
def test_a_middleware_refuses_the_answer(encoding: str | None) -> None:
    answer = Answer(
        body=b"User-agent: *\n",
        headers=(("X-Challenge", "1"),),
        content_encoding="gzip" if encoding else None,
    )
    with Site({"/robots.txt": answer}) as site:
        settings = {**ADDON, "DOWNLOADER_MIDDLEWARES": {f"{HERE}.Refusing": 800}}
        result = crawl(URLS_SPIDER, settings=settings, urls=[site.url("/private/x")])
        assert site.paths() == ["/robots.txt"], result.log
    assert result.stats["rep/event/local"] == 1


def test_request_in_place_of_ours_serves_the_fetch() -> None:
    """Services that fetch pages are used like this: their answer is the robots.txt."""
    with Site({"/fetch": Answer(body="User-agent: *\nDisallow: /private\n")}) as service:
        answer = Answer(headers=(("X-Login", service.url("/fetch")),))
        with Site({"/robots.txt": answer}) as site:
            settings = {**ADDON, "DOWNLOADER_MIDDLEWARES": {f"{HERE}.LogsInWithOurMeta": 800}}
            result = crawl(URLS_SPIDER, settings=settings, urls=[site.url("/private/x")])
            assert site.paths() == ["/robots.txt"], result.log
        assert service.paths() == ["/fetch"]


def test_request_beside_ours_with_its_meta_is_judged() -> None:
    with Site({"/robots.txt": Answer(body=DISALLOW_ALL)}) as other, Site() as site:
        settings = {
            **ADDON,
            "DOWNLOADER_MIDDLEWARES": {f"{HERE}.AsksBesideWithOurMeta": 800},
            "MEDDLING_URL": other.url("/private/login"),
        }
        result = crawl(URLS_SPIDER, settings=settings, urls=[site.url("/x")])
        assert "/x" in site.paths(), result.log
        assert other.paths() == ["/robots.txt"]


@pytest.mark.parametrize("other_handlers", [False, True])
def test_handler_changed_during_a_download_hides_no_truncation(other_handlers: bool) -> None:
    """Scrapy decompresses a truncated body, which then looks whole without the raw answer."""
    packed = gzip.compress(RULES.octets + b"# more\n" * 100, 0)
    coding = (("Content-Encoding", "gzip"),)
    settings = {
        **ADDON,
        "DOWNLOADER_MIDDLEWARES": {f"{HERE}.TakesThePlace": 950},
        "MEDDLING_OTHER_HANDLERS": other_handlers,
    }
    with (
        Site({"/robots.txt": Answer(body=packed[:20], headers=coding)}) as cut,
        Site({"/robots.txt": Answer(body=packed, headers=coding)}) as whole,
    ):
        urls = [cut.url("/private/x")]
        result = crawl(URLS_SPIDER, settings=settings, urls=urls)
        assert set(cut.paths()) == {"/robots.txt"}, result.log
        assert result.stats["rep/event/truncated"] == 1
        urls = [whole.url("/private/x"), whole.url("/a")]
        result = crawl(URLS_SPIDER, settings=settings, urls=urls)
        assert list(dict.fromkeys(whole.paths())) == ["/robots.txt", "/a"], result.log


@pytest.mark.parametrize("seconds", ["none there", None, 0])
def test_middleware_cannot_take_the_time_of_a_fetch(seconds: float | None) -> None:
    with Site({"/robots.txt": RULES}) as site:
        settings = {
            **ADDON,
            "DOWNLOADER_MIDDLEWARES": {f"{HERE}.WritesTimeout": 950},
            "MEDDLING_TIMEOUT": seconds,
        }
        urls = [site.url("/private/x"), site.url("/a")]
        result = crawl(URLS_SPIDER, settings=settings, urls=urls)
        assert site.paths() == ["/robots.txt", "/a"], result.log


@pytest.mark.parametrize("policy", ["rfc9309", "lenient"])
def test_a_parser_that_cannot_read_the_file_permits_nothing(policy: str) -> None:
    with Site({"/robots.txt": RULES}) as site:
        settings = {**ADDON, "REP_POLICY": policy, "ROBOTSTXT_PARSER": f"{HERE}.RaisingParser"}
        result = crawl(URLS_SPIDER, settings=settings, urls=[site.url("/private/x")])
        assert site.paths() == ["/robots.txt"], result.log


def test_request_before_spider_opened_is_judged() -> None:
    """It is judged as the crawler that it is, and not as everyone else."""
    body = "User-agent: ExampleBot\nDisallow: /private\n\nUser-agent: *\nAllow: /\n"
    with Site() as site:
        settings = {
            **ADDON,
            "USER_AGENT": "ExampleBot/1.0",
            "REP_OVERRIDES": {"127.0.0.1": {"robots_txt": body}},
            "EXTENSIONS": {f"{HERE}.AsksEarly": 0},
            "EARLY_URL": site.url("/private/early"),
        }
        result = crawl(URLS_SPIDER, settings=settings, urls=[site.url("/public")])
        assert site.paths() == ["/public"], result.log


def test_paths_are_judged_as_written_and_as_resolved() -> None:
    with Site({"/robots.txt": RULES}) as site:
        paths = ["/public/../private/x", "/public/%2e%2E/private/y", "/./private/z", "/ok/../yes"]
        crawl(URLS_SPIDER, settings=ADDON, urls=[site.url(path) for path in paths])
        fetched = [path for path in site.paths() if path != "/robots.txt"]
    assert len(fetched) == 1
    assert fetched[0].endswith("/yes")


@pytest.mark.parametrize("shape", [" {}", "{} ", "\t{}", "ht\ntp{}"])
def test_urls_with_blanks_are_judged(shape: str) -> None:
    with Site({"/robots.txt": RULES}) as site:
        url = site.url("/private/x")
        odd = shape.format(url.removeprefix("http") if "tp" in shape else url)
        crawl(URLS_SPIDER, settings=ADDON, urls=[odd], meta={"verbatim_url": True})
        assert [path for path in site.paths() if path != "/robots.txt"] == []

"""With other components of Scrapy and of users between a crawl and a site."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.crawling import Crawl, crawl
from tests.crawls.settings import ADDON, DISALLOW_ALL, URLS_SPIDER
from tests.servers.handle import Answer, Site, redirect
from tests.together import Job, crawl_together

_RULES = Answer(body="User-agent: *\nDisallow: /private\n")
_MINE = "tests.faults.middlewares"


def run(site: Site, *paths: str, **settings: Any) -> Crawl:
    urls = [site.url(path) for path in paths]
    return crawl(URLS_SPIDER, settings={**ADDON, **settings}, urls=urls)


def test_http_cache_keeps_no_robots_txt(tmp_path: Path) -> None:
    settings: dict[str, Any] = {
        "HTTPCACHE_ENABLED": True,
        "HTTPCACHE_DIR": str(tmp_path),
        "HTTPCACHE_POLICY": "scrapy.extensions.httpcache.DummyPolicy",
    }
    with Site({"/robots.txt": [Answer(), Answer(body=DISALLOW_ALL)]}) as site:
        first = run(site, "/a", **settings)
        second = run(site, "/a", **settings)
        assert Counter(site.paths()) == {"/robots.txt": 2, "/a": 1}
    assert first.items[0]["status"] == 200
    assert second.items[0]["error"] == "RobotsTxtDisallowed", "though the page is in the cache"


def test_robots_txt_is_fetched_although_the_http_cache_fetches_no_page(tmp_path: Path) -> None:
    cache: dict[str, Any] = {"HTTPCACHE_ENABLED": True, "HTTPCACHE_DIR": str(tmp_path)}
    with Site({"/robots.txt": _RULES}) as site:
        run(site, "/a", **cache)
        result = run(site, "/a", "/b", "/private", **cache, HTTPCACHE_IGNORE_MISSING=True)
        assert Counter(site.paths()) == {"/robots.txt": 2, "/a": 1}
    errors = sorted(item.get("error", "") for item in result.items)
    assert errors == ["", "IgnoreRequest", "RobotsTxtDisallowed"]


@pytest.mark.parametrize("name", ["Cancel", "CancelInTwisted"])
def test_robots_txt_cancelled_by_a_middleware_permits_nothing(name: str) -> None:
    """A failure of our own, as another exception would be; not a site that is shut in silence."""
    with Site({"/robots.txt": _RULES}) as site:
        result = run(site, "/a", DOWNLOADER_MIDDLEWARES={f"{_MINE}.{name}": 850})
        assert "/a" not in site.paths()
    assert [item["error"] for item in result.items] == ["RobotsTxtUnreachable"]
    assert result.stats["rep/event/local"] == 1
    assert (
        "robots.txt was not fetched, for a reason on our side (local, failures in a row: 1)"
        in result.log
    )


def test_crawls_of_one_process_have_policies_of_their_own() -> None:
    """Each is judged by its own name, and has policies, stats and an end of its own."""
    rules = "User-agent: one\nDisallow: /1\n\nUser-agent: two\nDisallow: /2\n"
    names = ("one", "two")
    with Site({"/robots.txt": [Answer(body=rules, delay_seconds=0.2)]}) as site:
        urls = [site.url(f"/{number}/{page}") for number in (1, 2) for page in range(5)]
        results = crawl_together(
            [
                Job(URLS_SPIDER, {**ADDON, "USER_AGENT": f"{name}/1.0"}, {"urls": urls})
                for name in names
            ]
        )
        asked_by = {
            name: Counter(
                seen.path.split("/")[1]
                for seen in site.requests()
                if seen.headers["user-agent"].startswith(name)
            )
            for name in names
        }
    assert asked_by == {"one": {"robots.txt": 1, "2": 5}, "two": {"robots.txt": 1, "1": 5}}
    for result in results:
        assert len(result["items"]) == 10
        assert result["stats"]["robotstxt/request_count"] == 1
        assert result["stats"]["robotstxt/forbidden"] == 5
        assert result["stats"]["finish_reason"] == "finished"


@pytest.mark.slow
def test_end_of_a_crawl_does_not_close_the_store_of_another(tmp_path: Path) -> None:
    store = {"REP_STORE": "sqlite", "REP_STORE_PATH": str(tmp_path / "robots.sqlite")}
    with Site({"/robots.txt": _RULES}) as site:
        slow = Answer(delay_seconds=1.0)
        site.change({"/slow": slow})
        short, long = crawl_together(
            [
                Job(URLS_SPIDER, {**ADDON, **store}, {"urls": [site.url("/a")]}),
                Job(
                    URLS_SPIDER,
                    {**ADDON, **store, "CONCURRENT_REQUESTS": 1},
                    {"urls": [site.url("/slow"), site.url("/private"), site.url("/b")]},
                ),
            ]
        )
        assert Counter(site.paths()) == {"/robots.txt": 1, "/a": 1, "/slow": 1, "/b": 1}
    for result in (short, long):
        assert "rep/store/failed" not in result["stats"]
    assert long["stats"]["robotstxt/forbidden"] == 1


def test_redirect_of_robots_txt_may_leave_the_allowed_domains() -> None:
    """A redirect of robots.txt may leave the allowed domains."""
    with Site({"/robots.txt": _RULES}) as elsewhere:
        there = elsewhere.url("/robots.txt", "localhost")
        with Site({"/robots.txt": redirect(there)}) as site:
            result = crawl(
                URLS_SPIDER,
                settings=ADDON,
                urls=[site.url("/a"), site.url("/private")],
                allowed_domains=["127.0.0.1"],
            )
            assert sorted(site.paths()) == ["/a", "/robots.txt"], result.log
        assert elsewhere.paths() == ["/robots.txt"]


def test_retry_is_for_pages() -> None:
    page = [Answer(status=500), Answer(status=500), Answer()]
    with Site({"/robots.txt": _RULES, "/a": page}) as site:
        result = run(site, "/a", "/private")
        assert Counter(site.paths()) == {"/robots.txt": 1, "/a": 3}
    assert result.stats["retry/count"] == 2
    with Site({"/robots.txt": Answer(status=503)}) as site:
        result = run(site, "/a")
        assert site.paths() == ["/robots.txt"], "with pauses of its own, not with Retry's"
    assert "retry/count" not in result.stats


@pytest.mark.parametrize("middleware", ["AskAgain", "LogIn"])
def test_crawl_ends_if_a_middleware_replaces_a_robots_txt_request(middleware: str) -> None:
    """The new request is judged, so it waits for the file that waits for it: all waits end."""
    with Site({"/robots.txt": _RULES}) as site:
        result = run(
            site,
            *["/a", "/private"],
            DOWNLOADER_MIDDLEWARES={f"{_MINE}.{middleware}": 50},
            REP_UNREACHABLE_WAIT_SECONDS=1.5,
            REP_FETCH_TIMEOUT_SECONDS=20,
        )
        assert "/private" not in site.paths()
        if middleware == "AskAgain":
            assert Counter(site.paths()) == {"/robots.txt": 2, "/a": 1}, result.log
    assert result.finish_reason == "finished"
    assert len(result.items) == 2
    assert result.exit_code == 0, result.error


@pytest.mark.parametrize("middleware", ["Refuse", "Break"])
def test_failing_middleware_permits_nothing(middleware: str) -> None:
    with Site() as site:
        settings = {"DOWNLOADER_MIDDLEWARES": {f"{_MINE}.{middleware}": 950}}
        result = run(site, "/a", "/b", **settings)
        assert set(site.paths()) <= {"/robots.txt"}
    assert [item["error"] for item in result.items] == ["RobotsTxtUnreachable"] * 2
    assert result.stats["rep/event/local"] == 1

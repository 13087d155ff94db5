"""`REP_TDMREP` in whole crawls: tdmrep.json is fetched like robots.txt, and obeys it.

A file that could not be read is unknown, is reported as such, and permits nothing.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.crawling import LOOPS, Crawl, Loop, crawl
from tests.crawls.settings import ADDON
from tests.extras import needs
from tests.redis_server import RedisServer
from tests.servers.handle import Answer, Site, redirect

from .answers import page

_loops = pytest.mark.parametrize("loop", LOOPS)
_PATH = "/.well-known/tdmrep.json"
_NAME = {"USER_AGENT": "FooBot/1.0 (+https://example.com)"}
_ON = {**ADDON, **_NAME, "REP_TDMREP": True, "REP_QUICK_RETRY_SECONDS": []}
_FILE = Answer(
    body='[{"location": "/a*", "tdm-reservation": 1, "tdm-policy": "/policy"},'
    '{"location": "/b", "tdm-reservation": 0}]'
)
_NO = {"tdm": "n", "train-ai": "n"}
_PAGES = ("/a1", "/a2", "/b", "/c")
_UNKNOWN: dict[str, dict[str, str]] = {path: {} for path in _PAGES}
_SAID = {"/a1": _NO, "/a2": _NO, "/b": {"tdm": "y"}, "/c": {}}


@pytest.fixture
def site() -> Iterator[Site]:
    html = Answer(body=page(), headers=[("Content-Type", "text/html")])
    routes = {"/robots.txt": Answer(body="User-agent: *\nAllow: /\n"), _PATH: _FILE}
    with Site({**routes, **dict.fromkeys(_PAGES, html)}, address="0.0.0.0") as made:
        yield made


def run(site: Site, loop: Loop = "asyncio", **values: Any) -> Crawl:
    settings = {**_ON, **values.pop("settings", {})}
    spider = values.pop("spider", "tests.extras.pages.spiders:AskingSpider")
    values.setdefault("urls", [site.url(path) for path in _PAGES])
    result = crawl(spider, loop=loop, settings=settings, **values)
    assert not result.error, result.error
    assert not result.deprecations
    return result


def said(site: Site, result: Crawl) -> dict[str, dict[str, str]]:
    return {item["url"].removeprefix(site.url("")): item["usage"] for item in result.items}


def is_complete(result: Crawl) -> bool:
    (found,) = {item["is_complete"] for item in result.items}
    return bool(found)


def files(site: Site) -> list[str]:
    """The files that were fetched, in order."""
    return [path for path in site.paths() if path in ("/robots.txt", _PATH)]


class TestOff:
    """By default, no file is fetched."""

    def test_nothing_is_fetched(self, site: Site) -> None:
        result = run(site, settings={"REP_TDMREP": False})
        assert files(site) == ["/robots.txt"]
        assert said(site, result) == _UNKNOWN
        assert is_complete(result)
        assert not [name for name in result.stats if name.startswith("rep/tdmrep/")]


class TestFile:
    """The file of each origin is fetched once, before its first page, with each loop and queue."""

    @pytest.mark.parametrize(
        ("loop", "queue"),
        [*((loop, None) for loop in LOOPS), (LOOPS[0], "scrapy.pqueues.ScrapyPriorityQueue")],
    )
    def test_tdmrep_file_is_read_before_the_pages(
        self, site: Site, loop: Loop, queue: str | None
    ) -> None:
        settings = {} if queue is None else {"SCHEDULER_PRIORITY_QUEUE": queue}
        result = run(site, loop, settings=settings)
        assert site.paths()[:2] == ["/robots.txt", _PATH]
        assert files(site) == ["/robots.txt", _PATH]
        assert said(site, result) == _SAID
        assert is_complete(result)
        why = next(item["why"] for item in result.items if item["url"].endswith("/a1"))
        assert f"tdm=n by tdmrep.json 1 of {site.url(_PATH)}: /a* tdm-reservation=1" in why
        assert result.stats["rep/tdmrep/request_count"] == 1
        assert result.stats["rep/tdmrep/event/200"] == 1
        assert result.stats["rep/tdmrep/access/successful"] == 1
        assert result.stats["robotstxt/request_count"] == 1

    def test_request_for_tdmrep_accepts_json(self, site: Site) -> None:
        run(site)
        (seen,) = (one for one in site.requests() if one.path == _PATH)
        assert seen.headers["accept"].startswith("application/json")
        assert seen.headers["user-agent"] == _NAME["USER_AGENT"]

    def test_without_robots_txt(self, site: Site) -> None:
        """An unavailable robots.txt allows all URLs, so this file too."""
        site.change({"/robots.txt": Answer(status=404)})
        assert said(site, run(site)) == _SAID

    def test_overrides_govern_the_file(self, site: Site) -> None:
        settings = {"REP_OVERRIDES": {"127.0.0.1": {"robots_txt": "User-agent: *\nDisallow: /c"}}}
        result = run(site, settings=settings)
        assert files(site) == [_PATH]
        assert said(site, result) == {path: _SAID[path] for path in _PAGES if path != "/c"}

    def test_tdmrep_is_not_fetched_without_robots_txt(self, site: Site) -> None:
        result = run(site, settings={"ROBOTSTXT_OBEY": False})
        assert files(site) == []
        assert not is_complete(result)
        assert "REP_TDMREP is on, but ROBOTSTXT_OBEY is off" in result.log


class TestFailures:
    """No failure permits anything."""

    @pytest.mark.parametrize(
        ("answer", "complete"),
        [
            (Answer(status=404, body=_FILE.body), True),
            (Answer(status=500, body=_FILE.body), False),
            (Answer(status=429), False),
            (Answer(body="<html>"), True),
            (Answer(body='{"location": "/", "tdm-reservation": 0}'), True),
            (Answer(body=b'[{"location": "/", "tdm-reservation": 0}]' + b" " * 600_000), False),
            (redirect(_PATH), True),
        ],
    )
    def test_failed_tdmrep_says_nothing(self, site: Site, answer: Answer, complete: bool) -> None:
        site.change({_PATH: answer})
        result = run(site)
        assert said(site, result) == _UNKNOWN
        assert is_complete(result) == complete
        assert result.stats.get("rep/tdmrep/failed", 0) == int(not complete)

    def test_unknown_items_are_dropped(self, site: Site) -> None:
        """A page's own y does not count if the file could not be read."""
        settings = {"REP_USES": ["tdm"], "REP_USES_UNKNOWN": "drop"}
        spider = "tests.extras.pages.spiders:PagesSpider"
        result = run(site, spider=spider, settings=settings)
        assert [item["url"] for item in result.items] == [site.url("/b")]
        html = Answer(body=page(), headers=[("tdm-reservation", "0")])
        site.change({_PATH: Answer(status=503), "/b": html})
        assert run(site, spider=spider, settings=settings).items == []

    def test_tdmrep_without_an_answer_says_nothing(self, site: Site) -> None:
        site.change({_PATH: Answer(fault="hang")})
        result = run(site, settings={"REP_FETCH_TIMEOUT_SECONDS": 2})
        assert said(site, result) == _UNKNOWN
        assert not is_complete(result)
        assert result.stats["rep/tdmrep/event/timeout"] == 1

    @_loops
    def test_crawl_that_only_waits_for_it_ends(self, site: Site, loop: Loop) -> None:
        """Its pages are fetched nevertheless, and the preferences of the file are unknown."""
        site.change({_PATH: Answer(fault="hang")})
        settings = {"REP_FETCH_TIMEOUT_SECONDS": 100, "CLOSESPIDER_TIMEOUT": 1}
        result = run(site, loop, settings=settings, timeout_seconds=60)
        assert result.finish_reason == "closespider_timeout"
        assert _PATH in site.paths()
        assert said(site, result) == _UNKNOWN
        assert not is_complete(result)


class TestRobotsTxt:
    """robots.txt governs the file and the targets of its redirects."""

    def test_robots_txt_can_disallow_tdmrep(self, site: Site) -> None:
        rules = "User-agent: FooBot\nDisallow: /.well-known/\n"
        site.change({"/robots.txt": Answer(body=rules)})
        result = run(site)
        assert files(site) == ["/robots.txt"]
        assert said(site, result) == _UNKNOWN
        assert not is_complete(result)
        assert result.stats["rep/tdmrep/disallowed"] == 1

    @pytest.mark.parametrize("rules", ["Disallow:", "Disallow: /tdm"])
    def test_of_a_redirect(self, site: Site, rules: str) -> None:
        site.change({"/robots.txt": Answer(body=f"User-agent: *\n{rules}")})
        site.change({_PATH: redirect("/tdm.json"), "/tdm.json": _FILE})
        result = run(site)
        is_allowed = rules == "Disallow:"
        assert ("/tdm.json" in site.paths()) == is_allowed
        assert said(site, result) == (_SAID if is_allowed else _UNKNOWN)
        assert is_complete(result) == is_allowed

    @pytest.mark.parametrize("rules", ["Disallow:", "Disallow: /.well-known/"])
    def test_of_another_origin(self, site: Site, rules: str) -> None:
        with Site({"/robots.txt": Answer(body=f"User-agent: *\n{rules}"), _PATH: _FILE}) as other:
            site.change({_PATH: redirect(other.url(_PATH))})
            result = run(site, settings={"REP_CONCURRENT_FETCHES": 1})
            is_allowed = rules == "Disallow:"
            assert (_PATH in other.paths()) == is_allowed
            assert said(site, result) == (_SAID if is_allowed else _UNKNOWN)

    def test_mutual_redirects_end(self, site: Site) -> None:
        """Neither waits for the other."""
        with Site({"/robots.txt": Answer(body=""), _PATH: redirect(site.url(_PATH))}) as other:
            site.change({_PATH: redirect(other.url(_PATH))})
            urls = [site.url("/a1"), other.url("/a1")]
            settings = {"REP_CONCURRENT_FETCHES": 1, "REP_UNREACHABLE_WAIT_SECONDS": 10}
            result = run(site, urls=urls, settings=settings)
            assert [item["usage"] for item in result.items] == [{}, {}]
            assert "rep/late" not in result.stats

    def test_guard_refuses_the_redirect(self, site: Site) -> None:
        with Site({_PATH: _FILE}) as other:
            site.change({_PATH: redirect(other.url(_PATH, host="localhost"))})
            result = run(site, settings={"REP_REDIRECT_GUARD": "same-site"})
            assert other.paths() == []
            assert said(site, result) == _UNKNOWN
            assert not is_complete(result)

    def test_its_delay_is_kept(self, site: Site) -> None:
        rules = "User-agent: *\nCrawl-delay: 1\n"
        site.change({"/robots.txt": Answer(body=rules)})
        run(site, urls=[site.url("/a1")])
        assert site.paths() == ["/robots.txt", _PATH, "/a1"]
        times = [one.at for one in site.requests()]
        assert min(b - a for a, b in pairwise(times)) >= 1

    def test_skipped_origin_is_not_fetched(self, site: Site) -> None:
        rules = "User-agent: *\nCrawl-delay: 1000\n"
        site.change({"/robots.txt": Answer(body=rules)})
        run(site, settings={"REP_CRAWL_DELAY_EXCESS": "skip"})
        assert site.paths() == ["/robots.txt"]


class TestStores:
    """Crawls share the file, as they share robots.txt."""

    def test_next_crawl_takes_tdmrep_from_the_store(self, site: Site, tmp_path: Path) -> None:
        settings = {"REP_STORE": "sqlite", "REP_STORE_PATH": str(tmp_path / "robots.sqlite")}
        for _ in range(2):
            assert said(site, run(site, settings=settings)) == _SAID
        assert files(site) == ["/robots.txt", _PATH]

    def test_stale_copy_counts(self, site: Site, tmp_path: Path) -> None:
        settings = {
            "REP_STORE": "sqlite",
            "REP_STORE_PATH": str(tmp_path / "robots.sqlite"),
            "REP_POLICY": "strict",
            "REP_CACHE_MIN_SECONDS": 0,
        }
        site.change({_PATH: Answer(body=_FILE.body, headers=[("Cache-Control", "max-age=0")])})
        assert said(site, run(site, settings=settings)) == _SAID
        site.change({_PATH: Answer(status=503)})
        time.sleep(1.1)  # a new answer is fresh for a second
        result = run(site, settings=settings)
        assert files(site).count("/robots.txt") == 1
        assert said(site, result) == _SAID
        assert {item["is_stale"] for item in result.items} == {True}

    def test_known_file_counts_during_the_next_fetch(self, site: Site) -> None:
        """The file expires at once: it is fetched again once a second, not for each page."""
        first = Answer(body=_FILE.body, headers=[("Cache-Control", "max-age=0")])
        site.change({_PATH: [first, Answer(status=503)]})
        settings = {"REP_CACHE_MIN_SECONDS": 0, "DOWNLOAD_DELAY": 0.6}
        assert said(site, run(site, settings=settings)) == _SAID
        assert 2 <= site.paths().count(_PATH) <= 3

    @needs("fleet")
    def test_workers_of_a_fleet_share_tdmrep(self, site: Site, redis_server: RedisServer) -> None:
        """Two crawls, of which the second is a worker of a fleet."""
        settings: dict[str, Any] = {
            "REP_STORE": "redis",
            "REP_STORE_PATH": ":memory:",
            "REP_REDIS_URL": redis_server.url,
        }
        for scheduler in ({}, {"SCHEDULER": "scrapy_rep.RepRedisScheduler"}):
            assert said(site, run(site, settings={**settings, **scheduler})) == _SAID
        assert files(site) == ["/robots.txt", _PATH]

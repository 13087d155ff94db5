"""How long a file is used: refreshes, retries, earlier runs, and targets of redirects."""

from __future__ import annotations

import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from scrapy_rep.cache.entry import Entry
from scrapy_rep.cache.sqlite import SqliteStore
from scrapy_rep.protocol.access.knowledge import Copy, Knowledge
from scrapy_rep.protocol.access.origin import Origin
from tests.cache.samples import usual_key
from tests.crawling import crawl
from tests.crawls.settings import ADDON, DISALLOW_ALL, URLS_SPIDER, WITH_SCRAPYS_QUEUE
from tests.servers.handle import Answer, Seen, Sequence, Site, free_port, redirect

pytestmark = pytest.mark.timed

_RULES = "User-agent: *\nDisallow: /private\n"
_DOWN = Answer(status=503)
_HOUR = 3600.0
_QUEUES = pytest.mark.parametrize("queue", [ADDON, WITH_SCRAPYS_QUEUE], ids=["ours", "Scrapy's"])
PACED_SPIDER = "tests.faults.spiders:PacedSpider"
RESTING_SPIDER = "tests.faults.spiders:RestingSpider"
_IN_ORDER = {"CONCURRENT_REQUESTS": 1, "DOWNLOAD_DELAY": 0.1}
_BRIEF = {"REP_CACHE_MIN_SECONDS": 0.2, "REP_CACHE_MAX_SECONDS": 1}


def pages(site: Site, count: int, host: str = "127.0.0.1") -> list[str]:
    return [site.url(f"/{number}", host) for number in range(count)]


def robots(site: Site) -> list[Seen]:
    return [seen for seen in site.requests() if seen.path == "/robots.txt"]


def stored(tmp_path: Path, **settings: Any) -> dict[str, Any]:
    """The settings of crawls that keep their answers in a file."""
    path = str(tmp_path / "store.sqlite")
    return {**ADDON, "REP_STORE": "sqlite", "REP_STORE_PATH": path, **settings}


def keep(tmp_path: Path, site: Site, body: str, age_seconds: float) -> Entry:
    """Store the copy that a crawl would have fetched so long ago."""
    origin = Origin.of(site.url())
    assert origin is not None
    then = time.time() - age_seconds
    uri, headers = origin.robots_txt_uri, (("etag", '"1"'),)
    copy = Copy(200, body.encode(), (uri,), headers, then, then, then + 24 * _HOUR)
    entry = Entry(usual_key(origin), Knowledge(copy))
    store = SqliteStore(tmp_path / "store.sqlite", 1 << 30)
    store.commit(entry, None).result()
    store.close()
    return entry


class TestRevalidation:
    """1: "revalidated in the background while it is still usable, without holding requests"."""

    def test_pages_do_not_wait_for_a_304(self) -> None:
        first = Answer(body=_RULES, etag='"1"')
        slow = Answer(body=_RULES, etag='"1"', delay_seconds=0.7)
        with Site({"/robots.txt": Sequence([first, slow])}) as site:
            settings = {**ADDON, **_BRIEF, "REP_CACHE_MAX_SECONDS": 2}
            urls = [*pages(site, 30), site.url("/private")]
            result = crawl(PACED_SPIDER, settings=settings, urls=urls)
            asked = robots(site)
            assert [item["status"] for item in result.items if "status" in item] == [200] * 30
            assert "/private" not in site.paths()
            times = [seen.at for seen in site.requests() if seen.path != "/robots.txt"]
            assert max(after - before for before, after in pairwise(times)) < 0.6
        assert [one.headers.get("if-none-match") for one in asked[:2]] == [None, '"1"']
        assert result.stats["rep/cache/refreshed"] >= 1
        assert result.stats["rep/event/304"] >= 1
        assert "rep/access/unreachable" not in result.stats
        assert "rep/cache/miss" not in result.stats  # the queue fetched it before
        assert result.exit_code == 0, result.error

    @pytest.mark.parametrize("status", [304, 503])
    def test_first_page_waits_for_the_delay_after_a_revalidation(
        self, status: int, tmp_path: Path
    ) -> None:
        with Site({"/robots.txt": Answer(status=status)}) as site:
            keep(tmp_path, site, "User-agent: *\nCrawl-delay: 0.5\n", 48 * _HOUR)
            result = crawl(URLS_SPIDER, settings=stored(tmp_path), urls=pages(site, 1))
            *_, asked, page = site.requests()
        assert (asked.path, page.path) == ("/robots.txt", "/0")
        assert result.stats[f"rep/event/{status}"] == 1
        assert page.at - asked.at >= 0.5

    def test_a_refresh_brings_new_rules_and_its_failure_keeps_the_old_ones(self) -> None:
        changed = {"/robots.txt": [Answer(), Answer(body=DISALLOW_ALL)]}
        fails = {"/robots.txt": Sequence([Answer(body=_RULES), _DOWN])}
        with Site(changed) as one, Site(fails) as other:
            urls = [
                url for pair in zip(pages(one, 30), pages(other, 30), strict=True) for url in pair
            ]
            urls.append(other.url("/private"))
            settings = {**ADDON, **_BRIEF}
            result = crawl(PACED_SPIDER, settings=settings, urls=urls, pause_seconds=0.05)
            fetched = len(one.paths()) - len(robots(one))
            assert len(robots(other)) == 2
            assert len(other.paths()) == 32
        assert 5 <= fetched <= 25
        assert result.stats["robotstxt/forbidden"] == 30 - fetched + 1
        assert result.stats["rep/stale"] == 1
        assert "a stale copy is obeyed" in result.log


class TestFreshness:
    """6: "used without asking only while it is fresh"; a rested host waits for the answer."""

    @_QUEUES
    def test_expired_file_is_fetched_before_the_next_page(self, queue: dict[str, Any]) -> None:
        """If that fails, the copy is obeyed. A 304 that names another version confirms nothing."""
        new = Answer(body=DISALLOW_ALL, etag='"2"', delay_seconds=0.7)
        wrong = Answer(status=304, headers=[("ETag", '"2"')])
        old = Answer(body=_RULES, etag='"1"')
        with (
            Site({"/robots.txt": Sequence([old, new])}) as changed,
            Site({"/robots.txt": Sequence([old, _DOWN])}) as down,
            Site({"/robots.txt": Sequence([old, wrong, new])}) as unlike,
        ):
            sites = (changed, down, unlike)
            urls = [url for site in sites for url in [*pages(site, 4), site.url("/private")]]
            firsts = [site.url("/first") for site in sites]
            result = crawl(
                RESTING_SPIDER,
                settings={**queue, **_BRIEF},
                urls=[*firsts, *urls],
                first_count=3,
                rest_seconds=1.5,
            )
            assert changed.paths() == ["/robots.txt", "/first", "/robots.txt"], result.log
            found = ["/0", "/1", "/2", "/3", "/first", "/robots.txt", "/robots.txt"]
            assert sorted(down.paths()) == found
            asked = [one.headers.get("if-none-match") for one in robots(unlike)]
            assert asked == [None, '"1"', None]
            assert len(unlike.paths()) == 4, "one page, before the file changed"
        assert result.stats["robotstxt/forbidden"] == 5 + 1 + 5
        assert result.stats["rep/stale"] == 1

    @_QUEUES
    def test_file_without_a_lifetime_holds_for_waiting_requests(
        self, queue: dict[str, Any]
    ) -> None:
        fleeting = Answer(body=_RULES, headers=[("Cache-Control", "no-store")])
        with Site({"/robots.txt": fleeting}) as site:
            settings = {**queue, "REP_CACHE_MIN_SECONDS": 0}
            urls = [*pages(site, 6), site.url("/private")]
            result = crawl(URLS_SPIDER, settings=settings, urls=urls)
            assert sorted({*site.paths()}) == ["/0", "/1", "/2", "/3", "/4", "/5", "/robots.txt"]
            assert len(robots(site)) <= 3
        assert result.stats["robotstxt/forbidden"] == 1


class TestEarlierRuns:
    """6: "asked again at once by a new run, unless a Retry-After still holds"."""

    def test_next_run_fetches_an_unreachable_file_at_once(self, tmp_path: Path) -> None:
        """Each run fetches it once; once it is up, no page waits for the rest of the pause."""
        settings = stored(tmp_path, REP_RETRY_FIRST_SECONDS=20)
        with Site({"/robots.txt": _DOWN}) as site:
            urls = [*pages(site, 2), site.url("/private")]
            for count in (1, 2):
                result = crawl(PACED_SPIDER, settings=settings, urls=urls)
                assert site.paths() == ["/robots.txt"] * count, result.log
            assert "unreachable (503, failures in a row: 2)" in result.log
            site.change({"/robots.txt": Answer(body=_RULES)})
            held = {**settings, "REP_UNREACHABLE_HOLD_SECONDS": 60}
            result = crawl(PACED_SPIDER, settings=held, urls=urls)
            assert site.paths() == [*["/robots.txt"] * 3, "/0", "/1"], result.log
        assert result.stats["elapsed_time_seconds"] < 10

    @pytest.mark.parametrize(
        "answer", [Answer(status=404), Answer(status=503, headers=[("Retry-After", "3600")])]
    )
    def test_next_run_uses_a_404_and_a_retry_after(self, answer: Answer, tmp_path: Path) -> None:
        with Site({"/robots.txt": answer}) as site:
            for _ in range(2):
                result = crawl(PACED_SPIDER, settings=stored(tmp_path), urls=pages(site, 1))
            pages_count = 2 if answer.status == 404 else 0
            assert site.paths() == ["/robots.txt", *["/0"] * pages_count], result.log
        assert result.stats["rep/store/hit"] == 1

    def test_log_tells_the_age_of_a_stored_file_once(self, tmp_path: Path) -> None:
        with Site() as site:
            keep(tmp_path, site, _RULES, 3 * _HOUR)
            urls = [*pages(site, 9), site.url("/private")]
            result = crawl(URLS_SPIDER, settings=stored(tmp_path), urls=urls)
            assert sorted(site.paths()) == sorted(f"/{number}" for number in range(9))
            told = f"The rules of {site.url('/robots.txt')} are from the store, 3 h old"
        assert result.log.count(told) == 1


class TestRetries:
    """2: "retried with exponential backoff and jitter, Retry-After honoured and capped"."""

    def test_a_quick_retry_finds_the_file(self) -> None:
        flapping = Sequence([_DOWN, Answer(fault="close_before_answer"), Answer(body=_RULES)])
        with Site({"/robots.txt": flapping}) as site:
            settings = {**ADDON, "REP_QUICK_RETRY_SECONDS": [0.3, 0.3, 0.3]}
            urls = [*pages(site, 3), site.url("/private")]
            result = crawl(PACED_SPIDER, settings=settings, urls=urls)
            fetched = {path for path in site.paths() if path != "/robots.txt"}
        assert fetched == {"/0", "/1", "/2"}, result.log
        assert result.stats["rep/quick_retries"] >= 1

    def test_quick_retries_end(self) -> None:
        with Site({"/robots.txt": _DOWN}) as site:
            settings = {**ADDON, "REP_QUICK_RETRY_SECONDS": [0.1, 0.2]}
            result = crawl(PACED_SPIDER, settings=settings, urls=pages(site, 3))
            assert site.paths() == ["/robots.txt"] * 3
        assert result.stats["rep/quick_retries"] == 2
        assert result.stats["rep/access/unreachable"] == 1

    @pytest.mark.parametrize("status", [429, 503])
    def test_retry_after_is_honoured(self, status: int) -> None:
        later = Answer(status=status, headers=[("Retry-After", "1")])
        with Site({"/robots.txt": Sequence([later, Answer(body=_RULES)])}) as site:
            settings = {**ADDON, "REP_RETRY_FIRST_SECONDS": 0.1, "REP_QUICK_RETRY_SECONDS": [0.1]}
            result = crawl(PACED_SPIDER, settings=settings, urls=pages(site, 20))
            first, second = (seen.at for seen in robots(site))
        assert second - first >= 1
        assert "rep/quick_retries" not in result.stats

    def test_requests_are_dropped_after_their_longest_wait(self) -> None:
        """Others do not wait: of a host that is up, or that an override exempts."""
        hang = {"/robots.txt": Answer(fault="hang")}
        with Site(hang) as site, Site() as up:
            settings = {
                **WITH_SCRAPYS_QUEUE,
                "REP_FETCH_TIMEOUT_SECONDS": 3,
                "REP_UNREACHABLE_WAIT_SECONDS": 0.5,
                "REP_OVERRIDES": {"localhost": "ignore"},
            }
            urls = [*pages(site, 5), f"http://127.0.0.1:{free_port()}/a", *pages(up, 5)]
            urls.append(site.url("/exempt", "localhost"))
            result = crawl(URLS_SPIDER, settings=settings, urls=urls)
            assert sorted(site.paths()) == ["/exempt", "/robots.txt"]
            asked = robots(site)[0].at
            assert max(seen.at for seen in up.requests()) - asked < 0.4
        errors = [item["error"] for item in result.items if "error" in item]
        assert errors == ["RobotsTxtUnreachable"] * 6
        assert result.stats["rep/cache/gave_up"] == 5


class TestTargets:
    """3: a target's own entry is read and filled only where its path is exactly /robots.txt."""

    @pytest.mark.parametrize(
        ("location", "asked"),
        [("/robots.txt", 1), ("/robots.txt?a", 2), ("//robots.txt", 2)],
    )
    def test_redirect_fills_the_entry_of_its_target(self, location: str, asked: int) -> None:
        with Site({"/robots.txt*": Answer(body=_RULES), "//robots.txt": Answer()}) as target:
            with Site({"/robots.txt": redirect(target.url(location))}) as site:
                settings = {**WITH_SCRAPYS_QUEUE, **_IN_ORDER}
                urls = [site.url("/a"), target.url("/a")]
                result = crawl(URLS_SPIDER, settings=settings, urls=urls)
            assert sum("robots.txt" in path for path in target.paths()) == asked
        assert result.stats.get("rep/store/hit", 0) == 2 - asked

    def test_redirect_limit_is_not_kept_for_the_target(self) -> None:
        """From there it is one hop less, and leads to a file."""
        hops = {f"/{number}": redirect(f"/{number + 1}") for number in range(1, 5)}
        routes = {"/robots.txt": redirect("/1"), **hops, "/5": Answer(body=DISALLOW_ALL)}
        with Site(routes) as target:
            with Site({"/robots.txt": redirect(target.url("/robots.txt"))}) as site:
                settings = {**WITH_SCRAPYS_QUEUE, **_IN_ORDER}
                crawl(URLS_SPIDER, settings=settings, urls=[site.url("/a"), target.url("/a")])
                assert site.paths() == ["/robots.txt", "/a"]
            assert "/5" in target.paths()
            assert "/a" not in target.paths()

    @pytest.mark.parametrize("age_hours", [20, 30])
    def test_entry_of_a_target_keeps_its_age(self, age_hours: int, tmp_path: Path) -> None:
        """RFC 9309, 2.4: 24 hours from when it was fetched, by however many origins it is used."""
        with Site({"/robots.txt": Answer(body=DISALLOW_ALL)}) as target:
            kept = keep(tmp_path, target, _RULES, age_hours * _HOUR)
            with Site({"/robots.txt": redirect(target.url("/robots.txt"))}) as site:
                urls = [site.url("/a"), site.url("/private")]
                crawl(URLS_SPIDER, settings=stored(tmp_path), urls=urls)
                is_used = age_hours < 24
                assert site.paths() == ["/robots.txt", *(["/a"] if is_used else [])]
                assert target.paths() == ([] if is_used else ["/robots.txt"])
                ours = Origin.of(site.url())
        assert ours is not None
        store = SqliteStore(tmp_path / "store.sqlite", 1 << 30)
        entry = store.peek(usual_key(ours))
        store.close()
        assert entry is not None
        assert entry.known.copy is not None
        assert kept.known.copy is not None
        if is_used:
            assert entry.known.copy.confirmed_at == pytest.approx(kept.known.copy.fetched_at)
            assert entry.known.copy.fresh_until <= kept.known.copy.fresh_until

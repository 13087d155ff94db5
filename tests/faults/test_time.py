"""Long crawls: revalidation, retries, and how long requests wait."""

from __future__ import annotations

import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from scrapy_rep.cache.entry import Entry
from scrapy_rep.cache.sqlite import SqliteStore
from scrapy_rep.protocol.access.knowledge import Answer as Learnt
from scrapy_rep.protocol.access.knowledge import Copy, Knowledge
from scrapy_rep.protocol.access.lifetime import Limits
from scrapy_rep.protocol.access.origin import Origin
from scrapy_rep.protocol.access.states import learn
from tests.cache.samples import usual_key
from tests.crawling import LOOPS, Loop, crawl
from tests.crawls.settings import ADDON, DISALLOW_ALL, URLS_SPIDER, WITH_SCRAPYS_QUEUE
from tests.servers.handle import Answer, Seen, Sequence, Site, free_port, redirect

pytestmark = pytest.mark.timed

_RULES = "User-agent: *\nDisallow: /private\n"
_DOWN = Answer(status=503)


def pages(site: Site, count: int, host: str = "127.0.0.1") -> list[str]:
    return [site.url(f"/{number}", host) for number in range(count)]


def robots(site: Site) -> list[Seen]:
    return [seen for seen in site.requests() if seen.path == "/robots.txt"]


def longest_gap(site: Site) -> float:
    """Between the arrivals of pages."""
    instants = [seen.at for seen in site.requests() if seen.path != "/robots.txt"]
    return max(after - before for before, after in pairwise(instants))


PACED_SPIDER = "tests.faults.spiders:PacedSpider"
RESTING_SPIDER = "tests.faults.spiders:RestingSpider"
_IN_ORDER = {"CONCURRENT_REQUESTS": 1, "DOWNLOAD_DELAY": 0.1}


class TestRevalidation:
    """1: "revalidated in the background while it is still usable, without holding requests"."""

    @pytest.mark.parametrize("loop", LOOPS)
    def test_pages_do_not_wait_for_a_304(self, loop: Loop) -> None:
        first = Answer(body=_RULES, etag='"1"', headers=[("Cache-Control", "max-age=2")])
        slow = Answer(body=_RULES, etag='"1"', delay_seconds=0.7)
        with Site({"/robots.txt": Sequence([first, slow])}) as site:
            settings = {**ADDON, "REP_CACHE_MIN_SECONDS": 0.2}
            urls = [*pages(site, 30), site.url("/private")]
            result = crawl(PACED_SPIDER, loop=loop, settings=settings, urls=urls)
            asked = robots(site)
            assert [item["status"] for item in result.items if "status" in item] == [200] * 30
            assert "/private" not in site.paths()
            assert longest_gap(site) < 0.6
        assert len(asked) >= 2
        assert [one.headers.get("if-none-match") for one in asked[:2]] == [None, '"1"']
        assert result.stats["rep/cache/refreshed"] >= 1
        assert result.stats["rep/event/304"] >= 1
        assert "rep/access/unreachable" not in result.stats
        assert "rep/cache/miss" not in result.stats  # the queue fetched it before
        assert result.exit_code == 0, result.error

    @pytest.mark.parametrize("retries", [[], [0.1, 0.1]])
    def test_304_is_not_retried(self, retries: list[float]) -> None:
        answer = Answer(body=_RULES, etag='"1"', headers=[("Cache-Control", "max-age=1")])
        kept = Answer(body=_RULES, etag='"1"', headers=[("Cache-Control", "max-age=3600")])
        with Site({"/robots.txt": Sequence([answer, kept])}) as site:
            settings = {
                **ADDON,
                "REP_CACHE_MIN_SECONDS": 0.2,
                "REP_QUICK_RETRY_SECONDS": retries,
            }
            result = crawl(PACED_SPIDER, settings=settings, urls=pages(site, 30))
            assert len(robots(site)) == 2
        assert "rep/quick_retries" not in result.stats
        assert result.stats["rep/access/successful"] == 2

    @pytest.mark.parametrize("loop", LOOPS)
    @pytest.mark.parametrize("status", [304, 503])
    def test_first_page_waits_for_the_delay_after_a_revalidation(
        self, loop: Loop, status: int, tmp_path: Path
    ) -> None:
        """The store has had the file for two days; a new crawl fetches it."""
        body = b"User-agent: *\nCrawl-delay: 1\n"
        with Site({"/robots.txt": Answer(status=status)}) as site:
            origin = Origin.of(site.url("/"))
            assert origin is not None
            answer = Learnt(200, body, (origin.robots_txt_uri,), {"etag": '"1"'})
            store = SqliteStore(tmp_path / "a.sqlite", 1 << 20)
            known = learn(Knowledge(), answer, time.time() - 2 * 86_400, Limits())
            store.commit(Entry(usual_key(origin), known), None).result()
            store.close()
            settings = {
                **ADDON,
                "REP_STORE": "sqlite",
                "REP_STORE_PATH": str(tmp_path / "a.sqlite"),
            }
            result = crawl(URLS_SPIDER, loop=loop, settings=settings, urls=pages(site, 1))
            *_, asked, page = site.requests()
        assert (asked.path, page.path) == ("/robots.txt", "/0")
        assert result.stats[f"rep/event/{status}"] == 1
        assert page.at - asked.at >= 1

    def test_file_in_use_is_fetched_again_before_it_expires(self) -> None:
        """After two of its four seconds: that leaves the answer time enough."""
        answer = Answer(body=_RULES, headers=[("Cache-Control", "max-age=4")])
        with Site({"/robots.txt": answer}) as site:
            settings = {**ADDON, "REP_CACHE_MIN_SECONDS": 0.1}
            crawl(PACED_SPIDER, settings=settings, urls=pages(site, 13), pause_seconds=0.25)
            first, second = (seen.at for seen in robots(site)[:2])
        assert 1.5 < second - first < 3.7

    def test_new_rules_are_obeyed_after_a_refresh(self) -> None:
        old = Answer(body="", headers=[("Cache-Control", "max-age=1")])
        with Site({"/robots.txt": [old, Answer(body=DISALLOW_ALL)]}) as site:
            settings = {**ADDON, "REP_CACHE_MIN_SECONDS": 0.2}
            result = crawl(PACED_SPIDER, settings=settings, urls=pages(site, 40))
            fetched = len(site.paths()) - len(robots(site))
        assert 5 <= fetched <= 35
        assert result.stats["robotstxt/forbidden"] == 40 - fetched

    def test_copy_stays_in_use_after_a_failed_refresh(self) -> None:
        good = Answer(body=_RULES, headers=[("Cache-Control", "max-age=1")])
        with Site({"/robots.txt": Sequence([good, _DOWN])}) as site:
            settings = {**ADDON, "REP_CACHE_MIN_SECONDS": 0.2}
            urls = [*pages(site, 30), site.url("/private")]
            result = crawl(PACED_SPIDER, settings=settings, urls=urls)
            assert len(robots(site)) == 2
            assert len(site.paths()) == 32
        assert result.stats["rep/stale"] == 1
        assert "a stale copy is obeyed" in result.log


class TestFreshness:
    """6: "used without asking only while it is fresh"; a rested host waits for the answer."""

    @pytest.mark.parametrize("queue", [ADDON, WITH_SCRAPYS_QUEUE], ids=["our queue", "Scrapy's"])
    @pytest.mark.parametrize("loop", LOOPS)
    def test_expired_file_is_fetched_before_the_next_page(
        self, loop: Loop, queue: dict[str, Any]
    ) -> None:
        old = Answer(body="", headers=[("Cache-Control", "max-age=1")])
        new = Answer(body=DISALLOW_ALL, delay_seconds=0.7)
        with Site({"/robots.txt": Sequence([old, new])}) as site:
            settings = {**queue, "REP_CACHE_MIN_SECONDS": 0.2}
            urls = pages(site, 11)
            result = crawl(RESTING_SPIDER, loop=loop, settings=settings, urls=urls, rest_seconds=2)
            assert site.paths() == ["/robots.txt", "/0", "/robots.txt"], result.log
        assert result.stats["robotstxt/forbidden"] == 10

    @pytest.mark.parametrize("queue", [ADDON, WITH_SCRAPYS_QUEUE], ids=["our queue", "Scrapy's"])
    def test_stale_copy_is_obeyed_if_the_fetch_fails(self, queue: dict[str, Any]) -> None:
        old = Answer(body=_RULES, headers=[("Cache-Control", "max-age=1")])
        with Site({"/robots.txt": Sequence([old, _DOWN])}) as site:
            settings = {**queue, "REP_CACHE_MIN_SECONDS": 0.2}
            urls = [*pages(site, 4), site.url("/private")]
            result = crawl(RESTING_SPIDER, settings=settings, urls=urls, rest_seconds=1.5)
            assert sorted(site.paths()) == ["/0", "/1", "/2", "/3", "/robots.txt", "/robots.txt"]
        assert result.stats["rep/stale"] == 1

    @pytest.mark.parametrize("queue", [ADDON, WITH_SCRAPYS_QUEUE], ids=["our queue", "Scrapy's"])
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

    def test_old_outage_does_not_bring_an_older_copy_back(self, tmp_path: Path) -> None:
        """The file was unreachable last week: it is fetched before any page."""
        with Site({"/robots.txt": Answer(body=DISALLOW_ALL)}) as site:
            origin = Origin.of(site.url("/"))
            assert origin is not None
            then = time.time() - 7 * 86_400
            answer = Learnt(200, b"", (origin.robots_txt_uri,))
            known = learn(Knowledge(), answer, then, Limits())
            known = learn(known, Learnt(503), then + 86_400, Limits())
            store = SqliteStore(tmp_path / "a.sqlite", 1 << 20)
            store.commit(Entry(origin, known), None).result()
            store.close()
            settings = {
                **ADDON,
                "REP_STORE": "sqlite",
                "REP_STORE_PATH": str(tmp_path / "a.sqlite"),
            }
            crawl(URLS_SPIDER, settings=settings, urls=pages(site, 3))
            assert site.paths() == ["/robots.txt"]

    @pytest.mark.parametrize("loop", LOOPS)
    def test_304_of_another_version_is_followed_by_a_plain_request(self, loop: Loop) -> None:
        old = Answer(body="", etag='"1"', headers=[("Cache-Control", "max-age=1")])
        wrong = Answer(status=304, headers=[("ETag", '"2"')])
        new = Answer(body=DISALLOW_ALL, etag='"2"')
        with Site({"/robots.txt": Sequence([old, wrong, new])}) as site:
            settings = {**ADDON, "REP_CACHE_MIN_SECONDS": 0.2}
            urls = pages(site, 5)
            result = crawl(
                RESTING_SPIDER, loop=loop, settings=settings, urls=urls, rest_seconds=1.5
            )
            asked = [one.headers.get("if-none-match") for one in robots(site)]
            assert asked == [None, '"1"', None], result.log
            assert len(site.paths()) == 4, "one page, before the file changed"


class TestNegative:
    """1: "negative results have lifetimes of their own, so that no host is asked per URL"."""

    def test_next_crawl_uses_a_stored_404(self, tmp_path: Path) -> None:
        settings = stored(tmp_path)
        with Site({"/robots.txt": Answer(status=404)}) as site:
            for _ in range(2):
                crawl(PACED_SPIDER, settings=settings, urls=pages(site, 1))
            assert site.paths() == ["/robots.txt", "/0", "/0"]


def stored(tmp_path: Path, **settings: Any) -> dict[str, Any]:
    """The settings of crawls that keep their answers in a file."""
    path = str(tmp_path / "store.sqlite")
    return {**ADDON, "REP_STORE": "sqlite", "REP_STORE_PATH": path, **settings}


class TestEarlierRuns:
    """6: "asked again at once by a new run, unless a Retry-After still holds"."""

    @pytest.mark.parametrize("loop", LOOPS)
    def test_next_run_fetches_an_unreachable_file_at_once(self, loop: Loop, tmp_path: Path) -> None:
        """The site is up again, and no page waits for the rest of the pause."""
        settings = stored(tmp_path, REP_UNREACHABLE_HOLD_SECONDS=60, REP_RETRY_FIRST_SECONDS=20)
        with Site({"/robots.txt": _DOWN}) as site:
            urls = [*pages(site, 2), site.url("/private")]
            left = crawl(
                PACED_SPIDER,
                loop=loop,
                settings={**settings, "REP_UNREACHABLE_HOLD_SECONDS": 0},
                urls=urls,
            )
            assert site.paths() == ["/robots.txt"], left.log
            site.change({"/robots.txt": Answer(body=_RULES)})
            result = crawl(PACED_SPIDER, loop=loop, settings=settings, urls=urls)
            assert site.paths() == ["/robots.txt", "/robots.txt", "/0", "/1"], result.log
            assert site.requests()[-1].at - site.requests()[0].at < 15
        assert result.stats["elapsed_time_seconds"] < 10

    @pytest.mark.parametrize("loop", LOOPS)
    def test_unreachable_file_permits_nothing_in_the_next_run(
        self, loop: Loop, tmp_path: Path
    ) -> None:
        """Each run fetches it once, for any number of requests."""
        with Site({"/robots.txt": _DOWN}) as site:
            for count in (1, 2):
                result = crawl(
                    PACED_SPIDER, loop=loop, settings=stored(tmp_path), urls=pages(site, 5)
                )
                assert site.paths() == ["/robots.txt"] * count, result.log
        assert "unreachable (503, failures in a row: 2)" in result.log

    @pytest.mark.parametrize("loop", LOOPS)
    def test_retry_after_holds_in_the_next_run(self, loop: Loop, tmp_path: Path) -> None:
        later = Answer(status=503, headers=[("Retry-After", "3600")])
        with Site({"/robots.txt": later}) as site:
            for _ in range(2):
                result = crawl(
                    PACED_SPIDER, loop=loop, settings=stored(tmp_path), urls=pages(site, 2)
                )
            assert site.paths() == ["/robots.txt"], result.log
        assert result.stats["rep/store/hit"] == 1

    def test_expired_retry_after_does_not_hold(self, tmp_path: Path) -> None:
        """Though the pause of the run that got it was longer."""
        later = Answer(status=503, headers=[("Retry-After", "1")])
        with Site({"/robots.txt": Sequence([later, Answer(body=_RULES)])}) as site:
            for _ in range(2):
                crawl(PACED_SPIDER, settings=stored(tmp_path), urls=pages(site, 1))
                time.sleep(1)
            assert site.paths() == ["/robots.txt", "/robots.txt", "/0"]

    @pytest.mark.parametrize("loop", LOOPS)
    def test_stored_copy_is_obeyed_while_the_file_is_unreachable(
        self, loop: Loop, tmp_path: Path
    ) -> None:
        good = Answer(body=_RULES, headers=[("Cache-Control", "max-age=1")])
        with Site({"/robots.txt": Sequence([good, _DOWN])}) as site:
            settings = stored(tmp_path, REP_CACHE_MIN_SECONDS=0.1)
            for _ in range(3):
                result = crawl(
                    PACED_SPIDER,
                    loop=loop,
                    settings=settings,
                    urls=[site.url("/private"), *pages(site, 1)],
                )
                time.sleep(1)
            # The third crawl need not wait for its fetch: the stale copy is obeyed.
            assert site.paths()[:4] == ["/robots.txt", "/0"] * 2, result.log
            assert [path for path in site.paths() if path != "/robots.txt"] == ["/0"] * 3
        assert result.stats["rep/stale"] >= 1

    @pytest.mark.parametrize("loop", LOOPS)
    def test_log_tells_the_age_of_a_stored_file_once(self, loop: Loop, tmp_path: Path) -> None:
        path, then = tmp_path / "store.sqlite", time.time() - 3 * 3600
        with Site() as site:
            origin = Origin.of(site.url())
            assert origin is not None
            uri = origin.robots_txt_uri
            old = Copy(200, _RULES.encode(), (uri,), (), then, then, then + 86_400)
            store = SqliteStore(path, 1 << 30)
            store.commit(Entry(usual_key(origin), Knowledge(old)), None).result()
            store.close()
            settings = stored(tmp_path, LOG_LEVEL="DEBUG")
            urls = [*pages(site, 9), site.url("/private")]
            result = crawl(PACED_SPIDER, loop=loop, settings=settings, urls=urls)
            assert sorted(site.paths()) == sorted(f"/{number}" for number in range(9))
        assert result.log.count(f"The rules of {uri} are from the store, 3 h old") == 1


class TestRetries:
    """2: "retried with exponential backoff and jitter, Retry-After honoured and capped"."""

    @pytest.mark.parametrize("loop", LOOPS)
    def test_a_quick_retry_finds_the_file(self, loop: Loop) -> None:
        flapping = Sequence([_DOWN, Answer(fault="close_before_answer"), Answer(body=_RULES)])
        with Site({"/robots.txt": flapping}) as site:
            settings = {**ADDON, "REP_QUICK_RETRY_SECONDS": [0.3, 0.3, 0.3]}
            urls = [*pages(site, 3), site.url("/private")]
            result = crawl(PACED_SPIDER, loop=loop, settings=settings, urls=urls)
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

    @pytest.mark.slow
    def test_pauses_between_retries_double(self) -> None:
        with Site({"/robots.txt": _DOWN}) as site:
            settings = {**ADDON, "REP_RETRY_FIRST_SECONDS": 0.3}
            crawl(PACED_SPIDER, settings=settings, urls=pages(site, 40))
            instants = [seen.at for seen in robots(site)]
        waits = [b - a for a, b in pairwise(instants)]
        assert len(waits) >= 2
        assert all(wait >= 0.3 * 2**n for n, wait in enumerate(waits))

    @pytest.mark.slow
    @pytest.mark.parametrize("status", [429, 503])
    def test_retry_after_is_honoured(self, status: int) -> None:
        later = Answer(status=status, headers=[("Retry-After", "2")])
        with Site({"/robots.txt": Sequence([later, Answer(body=_RULES)])}) as site:
            settings = {
                **ADDON,
                "REP_RETRY_FIRST_SECONDS": 0.1,
                "REP_QUICK_RETRY_SECONDS": [0.1, 0.1],
            }
            result = crawl(PACED_SPIDER, settings=settings, urls=pages(site, 40))
            instants = [seen.at for seen in robots(site)]
        assert len(instants) == 2
        assert instants[1] - instants[0] >= 2
        assert "rep/quick_retries" not in result.stats


class TestWaiting:
    """2: requests wait for a bounded time."""

    @pytest.mark.parametrize("loop", LOOPS)
    def test_requests_are_dropped_after_their_longest_wait(self, loop: Loop) -> None:
        with Site({"/robots.txt": Answer(fault="hang")}) as site:
            settings = {
                **WITH_SCRAPYS_QUEUE,
                "REP_FETCH_TIMEOUT_SECONDS": 3,
                "REP_UNREACHABLE_WAIT_SECONDS": 0.5,
            }
            result = crawl(URLS_SPIDER, loop=loop, settings=settings, urls=pages(site, 5))
            assert site.paths() == ["/robots.txt"]
        assert [item["error"] for item in result.items] == ["RobotsTxtUnreachable"] * 5
        assert result.stats["rep/cache/gave_up"] == 5
        assert result.stats["robotstxt/forbidden"] == 5

    def test_override_needs_no_wait(self) -> None:
        with Site({"/robots.txt": Answer(fault="hang")}) as site:
            settings = {
                **ADDON,
                "REP_FETCH_TIMEOUT_SECONDS": 3,
                "REP_OVERRIDES": {"localhost": "ignore"},
            }
            urls = [site.url("/a"), site.url("/b", "localhost")]
            crawl(URLS_SPIDER, settings=settings, urls=urls)
            assert "/b" in site.paths()


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

    def test_redirect_uses_the_entry_of_its_target(self) -> None:
        with Site({"/robots.txt": Answer(body=_RULES)}) as target:
            with Site({"/robots.txt": redirect(target.url("/robots.txt"))}) as site:
                settings = {**WITH_SCRAPYS_QUEUE, **_IN_ORDER}
                urls = [target.url("/a"), site.url("/private"), site.url("/a")]
                crawl(URLS_SPIDER, settings=settings, urls=urls)
                assert site.paths() == ["/robots.txt", "/a"]
            assert target.paths() == ["/robots.txt", "/a"]

    def test_expired_entry_of_a_target_is_not_used(self, tmp_path: Path) -> None:
        path, then = tmp_path / "robots.sqlite", time.time() - 30 * 3600
        with Site({"/robots.txt": Answer(body=_RULES)}) as target:
            with Site({"/robots.txt": redirect(target.url("/robots.txt"))}) as site:
                origin = Origin.of(target.url())
                assert origin is not None
                old = Copy(200, b"", (origin.robots_txt_uri,), (), then, then, then + 86_400)
                store = SqliteStore(path, 1 << 30)
                store.commit(Entry(usual_key(origin), Knowledge(old)), None).result()
                store.close()
                settings = {**ADDON, "REP_STORE": "sqlite", "REP_STORE_PATH": str(path)}
                crawl(URLS_SPIDER, settings=settings, urls=[site.url("/private")])
                assert site.paths() == ["/robots.txt"]
            assert target.paths() == ["/robots.txt"]

    def test_entry_of_a_target_keeps_its_age(self, tmp_path: Path) -> None:
        """RFC 9309, 2.4: 24 hours from when it was fetched, by however many origins it is used."""
        path, now = tmp_path / "robots.sqlite", time.time()
        with Site() as target, Site({"/robots.txt": redirect(target.url("/robots.txt"))}) as site:
            origins = [Origin.of(one.url()) for one in (target, site)]
            assert origins[0] is not None
            assert origins[1] is not None
            hops = (origins[0].robots_txt_uri,)
            then = now - 20 * 3600
            copy = Copy(200, _RULES.encode(), hops, (), then, then, then + 86_400)
            store = SqliteStore(path, 1 << 30)
            store.commit(Entry(usual_key(origins[0]), Knowledge(copy)), None).result()
            settings = {**ADDON, "REP_STORE": "sqlite", "REP_STORE_PATH": str(path)}
            crawl(URLS_SPIDER, settings=settings, urls=[site.url("/a"), site.url("/private")])
            assert site.paths() == ["/robots.txt", "/a"]
            assert target.paths() == []
            theirs, ours = (store.peek(usual_key(origin)) for origin in origins)
            store.close()
        assert theirs == Entry(usual_key(origins[0]), Knowledge(copy))
        assert ours is not None
        assert ours.known.copy is not None
        assert ours.known.copy.confirmed_at == pytest.approx(then)
        assert ours.known.copy.fresh_until <= then + 86_400


def test_host_that_is_down_delays_no_other() -> None:
    with Site({"/robots.txt": Answer(fault="hang")}) as down, Site() as up:
        settings: dict[str, Any] = {**ADDON, "REP_FETCH_TIMEOUT_SECONDS": 4}
        began = time.monotonic()
        urls = [down.url("/a"), f"http://127.0.0.1:{free_port()}/a", *pages(up, 5)]
        crawl(URLS_SPIDER, settings=settings, urls=urls)
        instants = [seen.at for seen in up.requests()]
        asked = robots(down)[0].at
    assert len(instants) == 6
    assert max(instants) - asked < 3.9, f"{time.monotonic() - began} seconds in all"

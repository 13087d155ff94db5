"""Orders of an operator to running crawls: pause, resume, stop, clear, drop, allow."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from scrapy_rep.extras.fleet.batch import PushKind
from tests.commands.calling import rep
from tests.extras.fleet.commands.test_fleet import shown
from tests.extras.fleet.crews import FLAT, TREE, Begin, Crew, SiteOf, roots, until
from tests.extras.fleet.workers import A, B, Fleet, drain
from tests.redis_server import RedisServer, needs_redis
from tests.servers.handle import Answer, Site

pytestmark = needs_redis

SOON_SECONDS = 1.0  # in which all workers know of an order
FEW = {"CONCURRENT_REQUESTS_PER_DOMAIN": 1}
SLOW_PAGE = Answer(body="page", delay_seconds=0.1)
ANXIOUS = "tests.extras.fleet.spiders:AnxiousSpider"
Order = Callable[..., dict[str, Any]]


@pytest.fixture
def order(redis_server: RedisServer) -> Order:
    """Give an order with --yes; what it did, after all workers know of it."""

    def given(*words: str, spider: str = "flat") -> dict[str, Any]:
        settings = {"REP_REDIS_URL": redis_server.url}
        done = shown(*words, "--spider", spider, "--json", "--yes", settings=settings)
        assert (done.status, done.err) == (0, "")
        time.sleep(SOON_SECONDS)
        row: dict[str, Any] = json.loads(done.out)
        return row

    return given


def origin(site: Site) -> str:
    return roots(site, 1)[0][:-1]


def of(site: Site, crew: Crew) -> list[str]:
    return [url for url in crew.scraped if url.startswith(origin(site))]


@pytest.mark.slow
class TestRunningCrawls:
    """Of two workers."""

    @pytest.mark.parametrize("loop", ["asyncio", "reactorless"])
    def test_it_pauses_and_goes_on(
        self, site_of: SiteOf, begin: Begin, order: Order, loop: Any
    ) -> None:
        site = site_of(page=SLOW_PAGE)
        crew = begin(site, TREE, loop=loop, pages=99, settings=FEW)
        until(site, 12)
        assert order("pause", spider="tree")["workers"] == 2
        count = len(site.requests())
        late = crew.add()
        time.sleep(3.0)
        assert len(site.requests()) == count < 99
        assert "An operator paused this crawl" in crew.log(late)
        assert order("resume", spider="tree")["workers"] == 3
        crew.wait()
        assert sorted(crew.scraped) == sorted(f"{origin(site)}/{number}" for number in range(99))

    def test_it_stops_and_the_next_run_goes_on(
        self, site_of: SiteOf, begin: Begin, order: Order
    ) -> None:
        """Requests that wait in slots, for a delay of the user, go back to the queue."""
        settings = {"DOWNLOAD_DELAY": 0.5, "REP_PACE_SCOPE": "process"}
        site = site_of()
        crew = begin(site, pages=20, settings=settings)
        until(site, 6)
        assert order("stop")["workers"] == 2
        count = len(site.requests())
        crew.wait(10)
        assert len(site.requests()) == count < 20
        assert [crew.reason(number) for number in (0, 1)] == ["fleet_stopped"] * 2
        next_one = begin(site, pages=20, settings=settings)
        next_one.wait()
        assert next_one.reason() == "finished"
        found = sorted([*crew.scraped, *next_one.scraped])
        first = f"{origin(site)}/0"  # the run begins with its start requests
        assert found[found.count(first) - 1 :] == sorted(f"{first[:-1]}{n}" for n in range(20))

    def test_a_dropped_origin_gets_no_request(
        self, site_of: SiteOf, begin: Begin, order: Order, tmp_path: Path
    ) -> None:
        """Not of a worker that joins later either, and not for media; errbacks and trails know."""
        settings = {"REP_AUDIT_DIR": str(tmp_path), "REP_FLEET_LEASE_SECONDS": 5}
        site, other = site_of(page=SLOW_PAGE), site_of(page=SLOW_PAGE)
        both = [*roots(site, 1), *roots(other, 1)]
        crew = begin(site, ANXIOUS, settings=settings, roots=both, pages=150)
        until(site, 32)
        row = order("drop", f"{origin(site)}/", "--why", "a mail of the owner")
        assert row["origin"] == origin(site)
        assert row["deleted"] > 0
        count = len(site.requests())
        crew.add()
        crew.wait()
        assert len(site.requests()) == count < 200
        assert len(of(other, crew)) == 150
        results = [crew.result(number) for number in range(3)]
        errors = [item["error"] for one in results for item in one["items"] if "error" in item]
        words = "disallowed: an operator dropped this origin (a mail of the owner)"
        assert all(words in one for one in errors)
        assert any(one.startswith("RobotsTxtDisallowed: ") for one in errors)
        assert {crew.reason(number) for number in range(3)} == {"finished"}
        runs = [path for path in tmp_path.iterdir() if path.is_dir() and not path.is_symlink()]
        told = [row for run in runs for row in rep("audit", "export", run).rows]
        dropped = [row for row in told if row.get("reason") == "DROPPED"]
        assert {(row["why"], row["outcome"]) for row in dropped} == {
            ("a mail of the owner", "dropped")
        }
        assert [rep("audit", "verify", run).status for run in runs] == [0, 0, 0]

    @pytest.mark.parametrize(
        ("robots", "settings"),
        [
            ("Crawl-delay: 1", {"CONCURRENT_REQUESTS": 32}),
            ("", {"DOWNLOAD_DELAY": 1.0, "REP_PACE_SCOPE": "process"}),
        ],
        ids=["turns", "slots"],
    )
    def test_waiting_requests_are_dropped(
        self, site_of: SiteOf, begin: Begin, order: Order, robots: str, settings: dict[str, Any]
    ) -> None:
        """For its turn by a Crawl-delay; or in a slot, for a delay of the user."""
        site = site_of(robots)
        crew = begin(site, ANXIOUS, settings=settings, pages=20)
        until(site, 5)
        order("drop", origin(site))
        count = len(site.requests())
        crew.wait(10)
        assert len(site.requests()) == count < 20

    def test_robots_txt_is_not_fetched_again(
        self, site_of: SiteOf, begin: Begin, order: Order
    ) -> None:
        """Nor is a page, in a dry run."""
        site, other = site_of(page=SLOW_PAGE), site_of(page=SLOW_PAGE)
        robots = Answer(body="User-agent: *\n", headers=(("Cache-Control", "max-age=1"),))
        site.change({"/robots.txt": robots})
        settings = {**FEW, "REP_CACHE_MIN_SECONDS": 1, "REP_DRY_RUN": True}
        both = [*roots(site, 1), *roots(other, 1)]
        crew = begin(site, FLAT, settings=settings, roots=both, pages=90)
        while site.paths().count("/robots.txt") < 2:
            time.sleep(0.02)
        order("drop", origin(site))
        count = len(site.requests())
        crew.wait()
        assert len(site.requests()) == count < 90
        assert len(of(other, crew)) == 90
        assert order("allow", origin(site))["was_dropped"] is True
        assert order("allow", origin(site))["was_dropped"] is False


class TestKeys:
    """With simulated workers."""

    @pytest.fixture
    def settings(self, redis_server: RedisServer) -> dict[str, Any]:
        return {"REP_REDIS_URL": redis_server.url, "SCHEDULER_QUEUE_KEY": "test"}

    @pytest.fixture
    def crawl(self, fleet: Fleet) -> Fleet:
        """Four requests that wait, of two origins, and a worker."""
        fleet.now = time.time()
        one = fleet.worker("one")
        one.push("a1", "a2", lane=A)
        one.push("a3", lane=A, priority=5)
        one.push("b1", lane=B)
        one.talk()
        return fleet

    def leave(self, crawl: Fleet) -> None:
        crawl.client.delete(crawl.key("w"))

    def test_clear_asks_before_it_deletes(self, crawl: Fleet, settings: dict[str, Any]) -> None:
        call = ("clear", "--spider", "x")
        done = shown(*call, "--yes", settings=settings)
        assert done.status == 2
        assert "1 worker of x would write the crawl again: use stop first" in done.err
        self.leave(crawl)
        done = shown(*call, settings=settings)
        assert done.status == 2
        assert "of x, with 4 queued requests and 0 dead letters? Without a terminal" in done.err
        assert "--yes" in done.err
        done = shown(*call, settings=settings, is_terminal=True, stdin=b"n\n")
        assert (done.status, "nothing was deleted" in done.err) == (2, True)
        assert crawl.total("n") == 4
        done = shown(*call, "--json", settings=settings, is_terminal=True, stdin=b"y\n")
        assert done.rows == [{"crawl": "x", "deleted": 4, "dead_letters": 0}]
        assert crawl.all_keys() == set()
        assert shown(*call, "--yes", settings=settings).status == 1

    def test_drop_asks_before_it_deletes(self, crawl: Fleet, settings: dict[str, Any]) -> None:
        done = shown("drop", A, "--spider", "x", settings=settings)
        assert done.status == 2
        assert f"Drop {A} in x, and delete 3 queued requests?" in done.err
        assert "--yes" in done.err
        assert crawl.total("n") == 4
        done = shown("drop", A, "--spider", "x", "--yes", settings=settings)
        assert done.out == f"x: {A} is dropped (not with https); 3 queued requests deleted\n"
        done = shown("drop", "b.example", "--spider", "x", "--yes", settings=settings)
        assert "https://b.example is dropped (not with http); 0 queued requests" in done.out
        assert crawl.total("n") == 1

    def test_a_dropped_origin_is_not_queued(self, crawl: Fleet, settings: dict[str, Any]) -> None:
        """Not as a link, not as what a lost worker had, not as a dead letter."""
        one = crawl.worker("two")
        one.settle(A)
        one.talk()
        (held,) = one.talk(1)
        assert shown("drop", A, "--spider", "x", "--yes", settings=settings).status == 0
        one.push("a4", lane=A, kind=PushKind.UNFILTERED)
        one.push("b2", lane=B)
        one.ledger.give_back()
        one.talk()
        assert one.reply.dropped == {A: "no reason was given"}
        assert held.lane == A
        for worker in (one, crawl.worker("three")):
            worker.settle(A)
        assert set(drain(one, times=5)) == {"b1", "b2"}
        assert crawl.total("n") == 0

    def test_it_is_shown(self, crawl: Fleet, settings: dict[str, Any]) -> None:
        why = ("--why", "a mail\x1b of the owner")
        assert shown("drop", A, "--spider", "x", "--yes", *why, settings=settings).status == 0
        done = shown(A, "--spider", "x", settings=settings)
        assert "dropped: an operator ended all requests to it" in done.out
        assert "because: a mail\\x1b of the owner" in done.out
        done = shown("--spider", "x", "--every", "0", settings=settings)
        assert "by an operator, with 3 requests" in done.out
        assert shown("pause", "--spider", "x", settings=settings).out == (
            "x: 1 worker will pause within a second; 1 queued request waits\n"
        )
        done = shown("--spider", "x", "--every", "0", settings=settings)
        assert "paused by an operator: 'scrapy rep fleet resume' goes on" in done.out

    def test_it_outlives_the_crawl(self, crawl: Fleet, settings: dict[str, Any]) -> None:
        """Without workers, of a crawl that is cleared, and before the first run."""
        self.leave(crawl)
        shown("drop", A, "--spider", "x", "--yes", settings=settings)
        shown("clear", "--spider", "x", "--yes", settings=settings)
        assert crawl.all_keys() == {"dropped"}
        assert shown("drop", B, "--spider", "x", "--yes", settings=settings).status == 0
        worker = crawl.worker("later")
        worker.push("a1", lane=A)
        worker.talk()
        assert worker.reply.dropped == dict.fromkeys((A, B), "no reason was given")
        assert worker.reply.queued == 0

    def test_a_stop_ends_with_the_next_run(self, crawl: Fleet, settings: dict[str, Any]) -> None:
        assert shown("stop", "--spider", "x", settings=settings).status == 0
        two = crawl.worker("two")
        two.talk()
        assert two.reply.order == "stop"
        self.leave(crawl)
        three = crawl.worker("three")
        three.talk()
        assert three.reply.order == ""

    @pytest.mark.parametrize(
        ("words", "problem"),
        [
            (["drop"], "drop needs origins"),
            (["allow"], "allow needs origins"),
            (["pause", A], "pause takes no origins"),
            (["clear", "--watch"], "clear takes no origins, and no --watch"),
            (["drop", "a b"], "names no origin"),
            (["drop", f"{A}/b?c"], f"not for {A}/b?c: 'scrapy rep fleet drop {A}' is for all"),
            (["drop", "a.example/b"], "'scrapy rep fleet drop https://a.example' is for all URLs"),
            (["drop", f"{A}?c"], f"drop is for whole origins, and not for {A}?c: "),
            (["allow", f"{A}/b"], f"'scrapy rep fleet allow {A}' is for all URLs there"),
        ],
    )
    def test_wrong_usage_of_fleet_orders_is_explained(
        self, settings: dict[str, Any], words: list[str], problem: str
    ) -> None:
        done = shown(*words, "--spider", "x", settings=settings)
        assert (done.status, done.out) == (2, "")
        assert problem in done.err

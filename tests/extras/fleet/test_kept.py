"""Requests that can't be written to Redis: their worker keeps them, and none is lost with it."""

from __future__ import annotations

import signal
import time
from collections import Counter

import pytest

from scrapy_rep.extras.fleet.batch import HeldRequest, Push, PushKind
from tests.extras.fleet.crews import Begin, SiteOf, assert_paced, until
from tests.extras.fleet.workers import LEASE_MS, Fleet, Worker, assert_over, drained, urls
from tests.redis_server import RedisServer, needs_redis
from tests.servers.handle import Answer, Site

pytestmark = needs_redis

ODD = "tests.extras.fleet.spiders:OddSpider"
PAGES = 8


def keep(worker: Worker, name: str, cause: str = "", kind: PushKind = PushKind.FILTERED) -> None:
    fingerprint = name.encode()
    held = HeldRequest(f"{worker.ledger.name}!{name}", "", 0.0, 1, b"")
    held.is_kept = True
    worker.ledger.push(Push("", 0, kind, fingerprint, b"", held), cause)


def kept(worker: Worker) -> list[str]:
    return [held.id.partition("!")[2] for held in worker.ledger.kept]


def taken(worker: Worker) -> HeldRequest:
    held = worker.ledger.take(may_be_kept=True)
    assert held is not None
    return held


def page_of(worker: Worker) -> HeldRequest:
    """A page that a worker got from the queue, and fetched."""
    (page,) = worker.take("page")
    worker.ledger.take()
    page.has_reached = True
    worker.ledger.left(page, worker.fleet.now)
    return page


class TestBooks:
    """The page of a kept request is done after it, and Redis knows its worker."""

    def test_page_is_done_after_a_kept_request(self, one: Worker) -> None:
        page = page_of(one)
        keep(one, "x", page.id)
        one.finish(page)
        one.talk()
        one.talk()
        assert (kept(one), one.reply.flying) == (["x"], 2)
        assert one.reply.idle_ms is None
        one.finish(taken(one))
        one.talk()
        one.talk()
        assert_over(one)
        assert one.fleet.total("done") == 2

    def test_page_is_done_after_the_links_of_a_kept_request(self, one: Worker) -> None:
        page = page_of(one)
        keep(one, "x", page.id)
        one.finish(page)
        one.talk()
        x = taken(one)
        keep(one, "y", x.id)
        one.finish(x)
        one.talk()
        assert (kept(one), one.reply.flying) == (["y"], 3)
        one.finish(taken(one))
        for _ in range(3):
            one.talk()
        assert_over(one)

    def test_one_of_two_workers_keeps_a_request(self, one: Worker, two: Worker) -> None:
        two.talk()
        for kind in (PushKind.FILTERED, PushKind.START):
            keep(one, f"x{kind}", kind=kind)
            keep(two, f"x{kind}", kind=kind)
        one.talk()
        two.talk()
        assert (kept(one), kept(two), two.reply.filtered) == (["x0", "x2"], [], (0, 1))
        two.push("x0")
        two.talk()
        assert two.reply.filtered == (0,)
        one.finish(taken(one), taken(one))
        one.talk()
        assert_over(one)

    @pytest.mark.parametrize("is_killed", [True, False])
    def test_if_its_worker_stops_the_page_comes_again(
        self, fleet: Fleet, one: Worker, two: Worker, is_killed: bool
    ) -> None:
        two.talk()
        page = page_of(one)
        keep(one, "x", page.id)
        keep(one, "y", page.id)
        one.finish(page)
        one.talk()
        x = taken(one)
        one.finish(x)
        one.talk()
        if is_killed:
            fleet.now += LEASE_MS / 1000 + 1
        else:
            one.ledger.give_back()
            one.talk(leaves=True)
        two.settle()
        two.talk()
        (again,) = two.talk(9)
        assert urls([again]) == ["page"]
        keep(two, "x", again.id)
        keep(two, "y", again.id)
        two.finish(again)
        two.talk()
        assert kept(two) == ["y"]
        two.finish(taken(two))
        two.talk()
        two.talk()
        assert_over(two)

    def test_a_retry_holds_the_page(self, fleet: Fleet, one: Worker, two: Worker) -> None:
        """A middleware that replaces a kept request does not say which one."""
        two.talk()
        page = page_of(one)
        keep(one, "x", page.id)
        one.finish(page)
        one.talk()
        x = taken(one)
        keep(one, "again", kind=PushKind.UNFILTERED)
        one.finish(x)
        one.talk()
        assert (kept(one), one.reply.flying) == (["again"], 3)
        fleet.now += LEASE_MS / 1000 + 1
        two.settle()
        two.talk()
        assert urls(two.talk(9)) == ["page"]

    def test_kept_request_without_a_page_waits_for_no_other(self, one: Worker) -> None:
        keep(one, "x")
        one.talk()
        x = taken(one)
        page = page_of(one)
        keep(one, "y", page.id)
        one.finish(page, x)
        one.talk()
        one.finish(taken(one))
        for _ in range(3):
            one.talk()
        assert_over(one)

    def test_start_requests_stay_with_a_worker_that_was_taken_over(
        self, fleet: Fleet, one: Worker, two: Worker
    ) -> None:
        two.talk()
        keep(one, "start", kind=PushKind.START)
        one.talk()
        fleet.now += LEASE_MS / 1000 + 1
        two.talk()
        assert_over(two)
        one.talk()
        assert one.reply.word == "gone"
        one.talk()
        assert (kept(one), one.reply.flying) == (["start"], 1)

    @pytest.mark.parametrize("is_confirmed", [True, False])
    def test_kept_pages_survive_an_emptied_redis(
        self, fleet: Fleet, one: Worker, is_confirmed: bool
    ) -> None:
        one.talk()
        keep(one, "x")
        if is_confirmed:
            one.talk()
        fleet.client.flushall()
        one.talk()
        assert one.reply.word == "epoch"
        one.talk()
        assert (kept(one), one.reply.flying) == (["x"], 1)
        keep(one, "x")
        one.talk()
        assert one.reply.filtered == (0,)
        one.finish(taken(one))
        one.talk()
        assert_over(one)

    def test_kept_pages_survive_a_recount(self, fleet: Fleet, one: Worker) -> None:
        page = page_of(one)
        keep(one, "x", page.id)
        one.talk()
        fleet.client.delete(fleet.key("t"))
        one.talk()
        one.talk()
        assert (one.mend_count, one.reply.flying) == (1, 2)
        one.finish(taken(one), page)
        for _ in range(3):
            one.talk()
        assert_over(one)
        assert drained(one) == []


def fetched(site: Site) -> Counter[str]:
    return Counter(seen.path for seen in site.requests() if seen.path != "/robots.txt")


def expected() -> set[str]:
    numbers = [number for number in range(1, PAGES) if number != 3]
    return {"/0", "/x", "/x+", "/y", "/y+", *(f"/{n}{more}" for n in numbers for more in ("", "+"))}


@pytest.mark.slow
@pytest.mark.timed
class TestCrawls:
    """The requests that sites get."""

    def test_each_is_fetched_once(self, site_of: SiteOf, begin: Begin) -> None:
        site = site_of("Disallow: /3$")
        crew = begin(site, ODD, pages=PAGES)
        crew.wait()
        assert {crew.reason(number) for number in range(2)} == {"finished"}
        assert crew.stat("rep/fleet/in_memory") >= 2 * PAGES
        assert crew.logs.count("meta['thing'] is of type object") in (1, 2)
        assert "callback is not a method" in crew.logs
        assert "only http and https are queued" in crew.logs
        assert "were not fetched before this worker stopped" not in crew.logs
        assert fetched(site) == dict.fromkeys(expected(), 1)

    def test_a_start_request_of_a_killed_worker(
        self, site_of: SiteOf, begin: Begin, redis_server: RedisServer
    ) -> None:
        """Another worker, which yielded it too, fetches it, though no worker starts again."""
        site = site_of()
        site.change({"/robots.txt": Answer(body="User-agent: *\n", delay_seconds=2)})
        crew = begin(site, ODD, settings={"REP_FLEET_LEASE_SECONDS": 2}, pages=1)
        keepers: list[str] = []
        with redis_server.client() as client:
            while not keepers or client.zcard("rep:{odd:requests}:w") < 2:
                keepers = [
                    key.decode()
                    for key in client.keys("*:f:*")
                    if any(one.startswith(b"K") for one in client.hvals(key))
                ]
                time.sleep(0.05)
        number = crew.number_of(int(keepers[0].split(":")[-2]))
        time.sleep(0.5)  # until the other one knows that it is kept
        crew.signal(number, signal.SIGKILL)
        crew.wait(without=(number,))
        assert crew.reason(1 - number) == "finished"
        assert "/0" in site.paths()

    def test_its_worker_stops(self, site_of: SiteOf, begin: Begin) -> None:
        """With a delay, so that most of them wait in memory when the worker stops."""
        site = site_of("Disallow: /3$\nCrawl-delay: 0.5")
        settings = {"REP_FLEET_LEASE_SECONDS": 2, "SCHEDULER_IDLE_BEFORE_CLOSE": 4}
        crew = begin(site, ODD, 1, settings=settings, pages=PAGES)
        until(site, 4)
        crew.add()
        time.sleep(2)
        crew.signal(0, signal.SIGTERM)
        crew.wait(without=(0,))
        crew.add()
        crew.wait(without=(0,))
        assert set(fetched(site)) == expected()
        assert_paced([seen.at for seen in site.requests()], 0.5)

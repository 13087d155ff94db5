"""Rests over several workers: the 429 that one worker gets rests the origin for all of them."""

from __future__ import annotations

import itertools
import time

import pytest

from scrapy_rep.extras.fleet.batch import Rested
from scrapy_rep.protocol.extensions.rest import Rest
from tests.crawls.test_backoff import busy, rounds
from tests.extras.fleet.crews import Begin, SiteOf, until
from tests.extras.fleet.workers import A, Fleet, Worker, urls
from tests.redis_server import RedisServer, SlowLine, needs_redis
from tests.servers.handle import Answer, Site

pytestmark = needs_redis


def rest_of(fleet: Fleet, seconds: float = 4.0, doublings: int = 1) -> Rest:
    now = fleet.now
    url, service = f"{A}/x", "edge"
    return Rest(now - 1, now, now + seconds, seconds, None, doublings, 0.0, url, 429, 2, service, 1)


def tell(worker: Worker, rest: Rest | None, lane: str = A, ago: float = 0.0) -> None:
    worker.ledger.rested(Rested(lane, worker.fleet.now - ago, rest))
    worker.talk()


def heard(worker: Worker) -> dict[str, Rest | None]:
    worker.talk()
    return dict(worker.reply.rests)


def has_first(worker: Worker, lane: str = A) -> bool:
    worker.ledger.probes[lane] = True
    worker.talk()
    return lane in worker.reply.probes


def test_rest_is_reported_to_others_once(fleet: Fleet, one: Worker, two: Worker) -> None:
    two.talk()
    tell(one, rest_of(fleet))
    fleet.now += 1
    found = heard(two)[A]
    assert found is not None
    assert (found.until_at, found.since_at, found.given_up_until) == (3.0, -2.0, 0.0)
    assert (found.seconds, found.retry_after_seconds, found.doublings) == (4.0, None, 1)
    assert (found.url, found.status, found.count) == (f"{A}/x", 429, 2)
    assert (found.service, found.challenges) == ("edge", 1)
    assert heard(two) == {}
    assert list(heard(fleet.worker("late"))) == [A], "a worker that joins"


def test_one_reply_brings_fifty(fleet: Fleet, one: Worker, two: Worker) -> None:
    lanes = [f"http://{number}.example" for number in range(70)]
    for lane in lanes:
        one.ledger.rested(Rested(lane, fleet.now, rest_of(fleet)))
    for _ in range(3):
        one.talk()
    found = [heard(two) for _ in range(3)]
    assert [len(some) for some in found] == [50, 20, 0]
    assert {**found[0], **found[1]}.keys() == set(lanes)


def test_old_answer_only_extends_a_rest(fleet: Fleet, one: Worker, two: Worker) -> None:
    tell(one, rest_of(fleet, doublings=3))
    heard(two)
    fleet.now += 1
    tell(two, None, ago=0.5)
    tell(two, rest_of(fleet, seconds=1.0))
    assert heard(one) == {}
    tell(two, rest_of(fleet, seconds=9.0))
    found = heard(one)[A]
    assert found is not None
    assert (found.until_at, found.since_at, found.doublings) == (9.0, -2.0, 3)


def test_one_worker_goes_first(fleet: Fleet, one: Worker, two: Worker) -> None:
    tell(one, rest_of(fleet))
    assert not has_first(one), "the rest is not over"
    fleet.now += 4
    assert has_first(one)
    assert not has_first(two)
    tell(one, None, ago=0.5)  # sent a moment early, by the clock of Redis
    one.ledger.probes[A] = False
    one.talk()
    assert heard(two) == {A: None}
    assert has_first(two), "nothing rests"


def test_a_first_request_that_ends_without_an_answer(
    fleet: Fleet, one: Worker, two: Worker
) -> None:
    tell(one, rest_of(fleet))
    fleet.now += 4
    assert has_first(one)
    one.ledger.probes[A] = False
    one.talk()
    assert one.ledger.probes == {}
    assert has_first(two)


@pytest.mark.parametrize("delay_seconds", [0.0, 2.0])
@pytest.mark.parametrize("has_said_so", [True, False])
def test_first_request_of_a_silent_worker_ends_after_five_seconds(
    fleet: Fleet, one: Worker, two: Worker, has_said_so: bool, delay_seconds: float
) -> None:
    """Also if it was killed before it said that its request goes first."""
    tell(one, rest_of(fleet))
    fleet.now += 4
    one.queue("a", "b", concurrency=1, delay_seconds=delay_seconds)
    assert urls(one.talk(9)) == ["a"]
    if has_said_so:
        assert has_first(one)
    for _ in range(5):
        assert two.talk(9) == []
        assert not has_said_so or not has_first(two)
        fleet.now += 1
    fleet.now += 0.1
    two.talk()
    fleet.now += delay_seconds
    assert urls(two.talk(9)) == ["b"]
    assert has_first(two)
    assert not has_first(one)


def test_a_damaged_rest_counts_as_absent(fleet: Fleet, one: Worker, two: Worker) -> None:
    tell(one, rest_of(fleet))
    fleet.client.hset(fleet.key("rests"), A, b"x")
    assert heard(two) == {A: None}
    assert has_first(two)


@pytest.mark.parametrize("key", ["rests", "rested", "first", "first_until"])
@pytest.mark.parametrize("is_deleted", [True, False])
def test_a_key_is_gone_and_its_worker_too(
    fleet: Fleet, one: Worker, two: Worker, key: str, is_deleted: bool
) -> None:
    """Evicted, or another program wrote to it: the origin does not rest for ever."""
    two.talk()
    tell(one, rest_of(fleet))
    fleet.now += 5
    assert has_first(one)
    fleet.client.delete(fleet.key(key))
    if not is_deleted:
        fleet.client.set(fleet.key(key), "of another program")
    fleet.now += 6
    two.talk()
    assert has_first(two) or has_first(two)


SETTINGS = {"REP_FLEET_LEASE_SECONDS": 3, "SCHEDULER_IDLE_BEFORE_CLOSE": 1}
PAGES = 24


def pages(site: Site, count: int = PAGES) -> list[str]:
    return sorted(site.url(f"/{number}", host="127.0.2.1") for number in range(count))


@pytest.mark.slow
@pytest.mark.timed
class TestCrawls:
    """As the site sees them."""

    def test_three_workers_rest_together(self, site_of: SiteOf, begin: Begin) -> None:
        """After the first burst nothing comes within 3 s, and then one probe each time."""
        site = site_of(**{"/*": [busy(429, 8.0, "3"), Answer(body="page")]})
        crew = begin(site, count=3, settings=SETTINGS, pages=PAGES)
        crew.wait()
        assert sorted(crew.scraped) == pages(site)
        found = rounds(site.requests())
        first = found[0][0]
        assert found[0][-1] - first < 0.6, found
        assert len(found) > 2, found
        for before, after in itertools.pairwise(found):
            assert after[0] - before[-1] >= 2.6, found
            assert len(after) == 1 or after[0] >= first + 8.0, found

    def test_redis_is_out_amid_a_rest(
        self, site_of: SiteOf, begin: Begin, redis_server: RedisServer
    ) -> None:
        """Each worker is by itself then; nothing is lost."""
        site = site_of(**{"/*": [busy(429, 4.0, "3"), Answer(body="page")]})
        with SlowLine(redis_server.port) as line:
            crew = begin(site, url=line.url, settings=SETTINGS, pages=12)
            until(site, 6)
            time.sleep(1)
            line.refuses = True
            line.cut()
            time.sleep(6)
            line.refuses = False
            crew.wait()
        assert sorted(crew.scraped) == pages(site, 12)

    def test_an_origin_is_given_up_over_workers(self, site_of: SiteOf, begin: Begin) -> None:
        """Every worker drops its requests; to the site go the first burst and the probes."""
        site = site_of(**{"/*": busy(429, 0, "2")})
        settings = {**SETTINGS, "REP_BACKOFF_GIVE_UP_SECONDS": 4}
        crew = begin(site, count=3, settings=settings, pages=PAGES)
        crew.wait()
        assert crew.scraped == []
        assert crew.stat("rep/backoff/given_up") == 1
        assert crew.stat("rep/backoff/dropped") == PAGES
        assert all(len(one) == 1 for one in rounds(site.requests())[1:])

    def test_each_for_itself(
        self, site_of: SiteOf, begin: Begin, redis_server: RedisServer
    ) -> None:
        """REP_PACE_SCOPE = "process": no rest is shared, and each worker keeps the delay."""
        site = site_of("Crawl-delay: 0.5", **{"/*": [busy(429, 1.0, "2"), Answer(body="page")]})
        settings = {**SETTINGS, "REP_PACE_SCOPE": "process", "CONCURRENT_REQUESTS": 4}
        crew = begin(site, settings=settings, pages=12)
        with redis_server.client() as client:
            until(site, 4)
            assert not client.exists("rep:{flat:requests}:rests")
        crew.wait()
        assert sorted(crew.scraped) == pages(site, 12)
        assert all(crew.result(n)["stats"].get("item_scraped_count") for n in range(2))

"""The script at a real Redis; the test sets the clock of the workers."""

from __future__ import annotations

import itertools
import random
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from scrapy_rep.extras.fleet.batch import HeldRequest, Push, PushKind, Wish
from scrapy_rep.extras.fleet.batch_codec import RefusedError
from scrapy_rep.extras.fleet.ledger import PUSH_OCTETS, PUSHES, REPORTS
from scrapy_rep.extras.fleet.scripts import VERSION
from tests.at_length import at_length
from tests.extras.fleet.workers import (
    DELAY,
    LEASE_MS,
    A,
    B,
    Fleet,
    Worker,
    assert_over,
    drained,
    popped,
    urls,
)
from tests.redis_server import needs_redis

pytestmark = needs_redis


def push(url: str) -> Push:
    return Push(A, 0, PushKind.FILTERED, url.encode(), url.encode())


class TestQueue:
    """The worker that gets each request."""

    def test_one_worker_checks_a_lane_without_a_policy(self, one: Worker, two: Worker) -> None:
        one.push("x", "y")
        assert one.talk(5, lanes=5) == []
        assert list(one.reply.to_check) == [(A, b"x", True)]
        assert two.talk(5, lanes=5) == []
        assert len(two.reply.to_check) == 0
        one.settle()
        one.talk()
        assert urls(two.talk(5)) == ["x", "y"]

    def test_another_worker_checks_a_lane_after_a_silent_one(
        self, fleet: Fleet, one: Worker, two: Worker
    ) -> None:
        one.push("x")
        one.talk(lanes=1)
        fleet.now += LEASE_MS / 1000 + 1
        two.talk(lanes=1)
        assert two.reply.to_check == ((A, b"x", True),)

    def test_priorities_within_a_lane_then_order(self, one: Worker) -> None:
        for number, priority in enumerate([0, -5, 7, 0, 12, 7, -5]):
            one.push(f"{number}", priority=priority)
        one.settle()
        one.talk()
        assert urls(one.talk(10)) == ["4", "2", "5", "0", "3", "1", "6"]

    def test_lanes_take_turns(self, fleet: Fleet, one: Worker) -> None:
        one.push("a1", "a2", "a3")
        one.push("b1", "b2", "b3", lane=B)
        one.settle()
        one.settle(B)
        one.talk()
        assert [url[0] for url in urls(one.talk(4))] in (list("abab"), list("baba"))

    def test_held_lane_waits_and_blocks_no_other(self, fleet: Fleet, one: Worker) -> None:
        one.push("a")
        one.push("b", lane=B)
        one.settle(wait_until=fleet.now + 30, reason="held")
        one.settle(B)
        one.talk()
        assert urls(one.talk(5, lanes=5)) == ["b"]
        assert len(one.reply.to_check) == 0
        assert one.reply.next_ms == 30_000
        fleet.now += 31
        one.talk(5, lanes=5)
        assert list(one.reply.to_check) == [(A, b"a", True)]

    def test_lane_is_checked_again_after_its_policy_expires(
        self, fleet: Fleet, one: Worker
    ) -> None:
        one.queue("a", "b", valid_until=fleet.now + 5)
        assert urls(one.talk(1)) == ["a"]
        fleet.now += 6
        assert one.talk(1, lanes=1) == []
        one.talk(1, lanes=1)
        assert one.reply.to_check == ((A, b"b", True),)

    def test_origin_limits_its_requests_at_a_time(self, one: Worker, two: Worker) -> None:
        one.push(*"abcde")
        one.settle(concurrency=2)
        first = one.talk(1) + one.talk(1)
        assert urls(first) == ["a", "b"]
        assert two.talk(5) == []
        one.ledger.left(first[0], one.fleet.now)
        one.talk()
        assert urls(two.talk(5)) == ["c"]
        one.finish(*first)
        one.talk()
        assert urls(two.talk(5)) == ["d"], "the one that was answered had given its place up"

    def test_a_request_with_a_lane_that_is_no_utf8(self, fleet: Fleet, one: Worker) -> None:
        one.push("a")
        one.talk()
        record = fleet.client.hget(fleet.key("lines"), A)
        fleet.client.hset(fleet.key("lines"), b"\xff", record)
        fleet.client.zadd(fleet.key("new"), {b"\xff": 0})
        one.talk(lanes=5)
        for lane, *_ in one.reply.to_check:
            one.settle(lane)
        one.talk(5)
        one.talk(5)
        assert one.reply.word == "ok"


class TestFilter:
    """Each link is queued once."""

    def test_fingerprints_filter_what_was_pushed_before(self, one: Worker, two: Worker) -> None:
        one.push("a", "a", "b")
        one.push("a", "a", kind=PushKind.UNFILTERED)
        one.push("start", kind=PushKind.START)
        two.push("b", "c")
        two.push("start", kind=PushKind.START)
        one.talk()
        assert (one.reply.filtered, one.reply.queued) == ((2,), 5)
        two.talk()
        assert (two.reply.filtered, two.reply.queued) == ((0, 1), 6)

    @pytest.mark.parametrize(("done", "queued"), [(2, 2), (1, 1)])
    def test_start_requests_are_queued_again_after_the_end(
        self, one: Worker, two: Worker, done: int, queued: int
    ) -> None:
        """Not in a run that goes on where another was stopped."""
        one.push("a", "b", kind=PushKind.START)
        one.settle()
        one.finish(*(one.talk(done) or one.talk(done)))
        one.talk(leaves=True)
        two.push("a", "b", kind=PushKind.START)
        two.talk(), two.talk()
        assert two.reply.queued == queued


class TestPace:
    """A lane with a delay is closed from a pop to the departure."""

    def test_worker_gets_a_request_shortly_before_it_is_due(
        self, fleet: Fleet, one: Worker, two: Worker
    ) -> None:
        """The worker keeps it until then, and no other worker gets one of its lane."""
        held = popped(one, "a", "b", "c")
        one.ledger.left(held, fleet.now)
        one.talk()
        fleet.now += 1.949
        assert two.talk(9, ahead_ms=50) == []
        assert two.reply.next_ms == 1
        fleet.now += 0.009
        (early,) = two.talk(9, ahead_ms=50)
        assert early.wait_seconds == pytest.approx(0.042)
        fleet.now += 5
        assert one.talk(9, ahead_ms=50) == []
        assert two.ledger.take() is early
        two.ledger.left(early, fleet.now)
        two.talk()
        fleet.now += 1.96
        assert urls(one.talk(9, ahead_ms=50)) == ["c"]

    def test_request_that_is_not_due_is_given_back(self, fleet: Fleet, one: Worker) -> None:
        held = popped(one, "a", "b")
        one.ledger.left(held, fleet.now)
        one.talk()
        fleet.now += 1.96
        assert urls(one.talk(9, ahead_ms=50)) == ["b"]
        one.ledger.give_back()
        assert one.ledger.take() is None
        assert one.talk(9) == []
        assert one.reply.next_ms == 40, "as before: it has visited nobody"
        fleet.now += 0.05
        assert urls(one.talk(9)) == ["b"]

    def test_later_report_counts(self, fleet: Fleet, one: Worker, two: Worker) -> None:
        held = popped(one, "a", "b")
        one.ledger.left(held, fleet.now + 0.1)
        one.talk()
        assert one.reply.next_ms == 2100
        one.ledger.left(held, fleet.now)
        one.talk()
        assert one.reply.next_ms == 2000
        fleet.now += 2
        two.talk(9)
        one.ledger.left(held, fleet.now)
        one.talk()
        assert one.reply.next_ms is None, "it was closed by another, which is on its way"

    def test_request_that_ends_without_a_visit_costs_no_delay(
        self, fleet: Fleet, one: Worker, two: Worker
    ) -> None:
        held = popped(one, "a", "b")
        one.finish(held)
        one.talk()
        assert urls(two.talk(9)) == ["b"]

    def test_request_that_reached_the_downloader_counts_as_a_visit(
        self, fleet: Fleet, one: Worker
    ) -> None:
        held = popped(one, "a", "b")
        held.has_reached = True
        one.finish(held)
        assert one.talk(9) == []
        assert one.reply.next_ms == 2000

    def test_the_robots_txt_counts_as_a_visit(self, fleet: Fleet, one: Worker) -> None:
        one.push("a")
        one.settle(delay_seconds=2.0, visited_at=fleet.now - 0.5)
        assert one.talk(9) == []
        assert one.reply.next_ms == 1500

    def test_delay_is_kept_while_nothing_is_queued(
        self, fleet: Fleet, one: Worker, two: Worker
    ) -> None:
        held = popped(one, "a")
        one.ledger.left(held, fleet.now)
        one.finish(held)
        one.talk()
        fleet.now += 1
        two.push("b")
        assert two.talk(9) == []
        assert two.reply.next_ms == 1000


class TestLeases:
    """Nothing is lost with a worker, and a late one changes nothing."""

    def test_a_takeover_counts_as_a_visit(self, fleet: Fleet, one: Worker, two: Worker) -> None:
        popped(one, "a", "b")
        fleet.now += LEASE_MS / 1000 + 1
        assert two.talk(9) == []
        assert two.reply.next_ms == 2000
        fleet.now += 2
        assert urls(two.talk(9)) == ["b"], "what may have killed a worker comes after the others"

    def test_late_worker_changes_nothing(self, fleet: Fleet, one: Worker, two: Worker) -> None:
        (held,) = one.take("a")
        one.push("child")
        one.push("start", kind=PushKind.START)
        one.finish(held)
        fleet.now += LEASE_MS / 1000 + 1
        (again,) = two.talk(9)
        one.talk()
        assert one.reply.word == "gone"
        one.talk()
        assert one.reply.word == "ok"
        assert (one.reply.queued, one.reply.flying) == (1, 1), "the start request, and a"
        two.finish(again)
        two.talk()
        assert two.reply.flying == 0

    def test_leases_do_not_end_while_redis_is_out(
        self, fleet: Fleet, one: Worker, two: Worker
    ) -> None:
        """And a worker that died then is taken over a lease later."""
        dead = fleet.worker("dead")
        (held,) = one.take("a")
        (lost,) = dead.take("b")
        two.talk()
        fleet.now += 100 * LEASE_MS / 1000
        assert two.talk(9) == []
        one.finish(held)
        one.talk()
        assert (one.reply.word, one.reply.flying) == ("ok", 1)
        for _ in range(3):
            assert two.talk(9) == []
            fleet.now += LEASE_MS / 3000 + 0.1
        assert urls(two.talk(9)) == urls([lost])

    def test_many_are_handed_on_in_several_batches(
        self, fleet: Fleet, one: Worker, two: Worker
    ) -> None:
        some = [f"{number}" for number in range(3 * PUSHES)]
        one.push(*some)
        one.settle()
        while one.ledger.unsent_count:
            one.talk()
        assert len(one.talk(200)) == 150
        fleet.now += LEASE_MS / 1000 + 1
        assert sorted(urls(drained(two, 400))) == sorted(some)
        assert "f:one" not in fleet.all_keys()

    def test_entry_of_three_dead_workers_is_a_dead_letter(self, fleet: Fleet) -> None:
        fleet.worker("0").take("a")
        for number in range(1, 3):
            fleet.now += LEASE_MS / 1000 + 1
            assert urls(fleet.worker(str(number)).talk(9)) == ["a"]
        fleet.now += LEASE_MS / 1000 + 1
        last = fleet.worker("last")
        assert last.talk(9) == []
        assert (last.reply.dead, fleet.total("dead"), last.reply.queued) == (1, 1, 0)
        assert b"a" in fleet.client.lindex(fleet.key("dead"), 0)

    def test_only_the_request_that_kills_becomes_a_dead_letter(
        self, fleet: Fleet, one: Worker
    ) -> None:
        """Four workers die of one request; a fifth does their other requests."""
        for number in range(8):
            one.push(f"{number}", lane=f"lane {number}")
            one.settle(f"lane {number}")
        one.talk()
        worker = one
        for number in range(4):
            got: list[HeldRequest] = []
            for _ in range(30):
                if "3" in urls(got := worker.talk(9)):
                    break
                worker.finish(*got[1:])
                fleet.now += 0.11
            fleet.now += LEASE_MS / 1000 + 1
            worker = fleet.worker(f"next {number}")
            worker.talk()
            if fleet.total("dead"):
                break
        assert fleet.total("dead") == 1
        drained(worker, 60)
        assert fleet.total("done") == 7

    def test_request_that_was_given_back_counts_no_delivery(self, one: Worker) -> None:
        for _ in range(9):
            (held,) = one.take("a")
            assert held.deliveries == 1
            one.ledger.give_back()

    def test_worker_learns_of_entries_that_are_set_aside(self, fleet: Fleet, one: Worker) -> None:
        (held,) = one.take("a")
        fleet.client.hset(fleet.key("f:one"), held.id, b"Fgarbage")
        one.finish(held)
        one.push("l" * 5000)
        one.talk(longest=100)
        assert one.reply.aside == (("An entry", "it was changed while a worker had it"),)
        one.talk(9, longest=100)
        assert fleet.total("aside") == 2
        assert len(fleet.client.lindex(fleet.key("dead"), 0)) < 1200
        ((what, reason),) = one.reply.aside
        assert (what, reason) == (f"An entry of {A}", "5000 octets, of which these are the first")

    def test_a_page_with_many_links_delays_no_other_page(self, fleet: Fleet, one: Worker) -> None:
        """Each page is done with its own links. After a death, no other page is done twice."""
        large, small = one.take("large", "small")
        for number in range(5000):
            one.ledger.push(push(f"l{number}"), large.id)
        one.ledger.push(push("s0"), small.id)
        one.finish(large, small)
        one.talk()
        assert fleet.total("done") == 1
        fleet.now += LEASE_MS / 1000 + 1
        two = fleet.worker("two")
        found = urls(drained(two, 40))
        assert "small" not in found
        assert {"s0", "large"} <= set(found)
        assert found[-1] == "large", "a suspect comes after the others"


class TestRefused:
    """Each other worker gets a refused request once."""

    def refused(self, worker: Worker, *others: str) -> HeldRequest:
        (held,) = worker.take("new", *others, count=1)
        worker.ledger.set_aside(held, "no such callback")
        worker.talk()
        return held

    def test_one_refusal_passes_a_request_on(self, fleet: Fleet, one: Worker, two: Worker) -> None:
        two.talk()
        self.refused(one, "old")
        got = drained(one)
        assert urls(got) == ["old"]
        (held,) = two.talk(9) or two.talk(9)
        two.finish(held)
        two.talk()
        assert (held.payload, held.deliveries) == (b"new", 1)
        assert (two.reply.letters, two.reply.queued, two.reply.flying) == (0, 0, 0)
        assert "refused" not in fleet.all_keys()

    def test_request_that_all_remaining_workers_refuse_is_set_aside(
        self, fleet: Fleet, one: Worker, two: Worker
    ) -> None:
        two.talk()
        self.refused(one)
        assert drained(one) == []
        two.talk(leaves=True)
        assert drained(one) == []
        assert (one.reply.letters, one.reply.queued) == (1, 0)

    def test_worker_that_joins_later_gets_the_request(self, one: Worker, two: Worker) -> None:
        two.talk()
        self.refused(one)
        one.talk(leaves=True)
        two.talk(leaves=True)
        assert urls(drained(one.fleet.worker("three"))) == ["new"]


class TestSuspects:
    def test_suspects_come_after_a_hundred_others(
        self, fleet: Fleet, one: Worker, two: Worker
    ) -> None:
        """This holds for any number of requests of their origin."""
        one.push("a", "b")
        one.settle()
        assert len(one.talk(9) or one.talk(9)) == 2
        fleet.now += LEASE_MS / 1000 + 1
        two.push(*(f"{number}" for number in range(400)))
        for _ in range(10):
            two.talk()
        got = drained(two, 30)
        places = [place for place, held in enumerate(got) if held.deliveries == 2]
        assert len(places) == 2
        assert 90 < places[0] <= 110
        assert places[1] <= 130


class TestAbout:
    def test_worker_hears_of_different_settings(
        self, one: Worker, two: Worker, fleet: Fleet
    ) -> None:
        one.talk(about="a")
        two.talk(about="a")
        assert two.reply.about == ""
        three = fleet.worker("three")
        three.talk(about="b")
        assert three.reply.about == "a"
        three.talk()
        assert three.reply.about == ""


class TestEpoch:
    """A Redis that is emptied, or older than it was."""

    def test_workers_push_again_after_redis_is_emptied(
        self, fleet: Fleet, one: Worker, two: Worker
    ) -> None:
        first, second = one.take("a", "b", "c", count=2)
        two.talk()
        one.push("unsent")
        fleet.client.flushall()
        one.talk()
        assert one.reply.word == "epoch" or one.reply.queued == 1
        one.talk()
        assert (one.reply.queued, one.reply.flying) == (1, 2)
        two.talk()
        two.talk()
        assert two.reply.word == "ok"
        one.push("a")
        one.finish(first, second)
        one.talk()
        assert (one.reply.flying, one.reply.filtered) == (0, (0,))

    def test_new_worker_joins_an_emptied_redis_first(
        self, fleet: Fleet, one: Worker, two: Worker
    ) -> None:
        """The others may have visited any site just before they come back."""
        held = popped(one, "a")
        fleet.client.flushall()
        two.push("b")
        two.talk()
        one.ledger.left(held, fleet.now)
        one.talk()
        assert one.reply.word == "epoch"
        two.settle(delay_seconds=DELAY)
        two.talk()
        fleet.now += DELAY
        assert two.talk(9) == []
        one.finish(held)
        one.talk(), one.talk()
        fleet.now += 1.1
        assert urls(two.talk(9)) == ["b"]

    def test_restarted_without_scripts(self, fleet: Fleet, one: Worker) -> None:
        one.push("a")
        one.talk()
        fleet.client.script_flush()
        one.talk()
        assert one.reply.queued == 1


class TestClock:
    """A clock that is set back, as after a fail-over, stops nothing."""

    def test_a_dead_worker_is_taken_over(self, fleet: Fleet, one: Worker, two: Worker) -> None:
        one.queue("a")
        one.talk(1)
        fleet.now -= 600
        for _ in range(3):
            assert two.talk(9) == []
            fleet.now += LEASE_MS / 3000 + 0.1
        assert urls(two.talk(9)) == ["a"]

    def test_a_delay_stays_as_long_as_it_is(self, fleet: Fleet, one: Worker, two: Worker) -> None:
        held = popped(one, "a", "b")
        one.ledger.left(held, fleet.now)
        one.finish(held)
        one.talk()
        fleet.now -= 600
        two.settle(delay_seconds=2.0)
        assert two.talk(9) == []
        assert 1900 < (two.reply.next_ms or 0) <= 2000
        fleet.now += 2
        assert urls(two.talk(9)) == ["b"]
        fleet.now -= 600  # once more
        held = two.ledger.buffer[0]
        two.ledger.left(held, fleet.now)
        two.finish(held)
        two.talk()
        fleet.now += 2
        assert_over(two)

    @pytest.mark.parametrize("key", ["flushing", "mending"])
    def test_lock_of_a_dead_worker_ends(
        self, fleet: Fleet, one: Worker, two: Worker, key: str
    ) -> None:
        """Redis keeps it by its own clock."""
        one.push("a")
        one.talk()
        fleet.client.set(fleet.key(key), "dead", px=610_000)
        fleet.client.delete(fleet.key("t"))
        two.talk()
        assert fleet.client.pttl(fleet.key(key)) <= 10_000


class TestBounds:
    """No batch costs Redis more than a few milliseconds, whatever a worker has."""

    def held(self, one: Worker, count: int) -> list[HeldRequest]:
        one.push(*(f"{number}" for number in range(count)))
        one.settle()
        while one.ledger.unsent_count:
            one.talk()
        found: list[HeldRequest] = []
        while len(found) < count:
            found += one.talk(50)
        return found

    def test_requests_are_written_again_in_parts(self, fleet: Fleet, one: Worker) -> None:
        held = self.held(one, 200)
        fleet.client.flushall()
        one.finish(*held[:80])
        sizes = []
        one.talk()
        assert one.reply.word == "epoch"
        one.finish(*held[80:100])
        while one.ledger.has_news or one.ledger.has_reports:
            batch = one.ledger.batch()
            sizes.append((len(batch.pushes), len(batch.ended)))
            one.talk()
        assert max(sizes) <= (PUSHES, REPORTS)
        assert (one.reply.flying, fleet.client.zcard(fleet.key("w"))) == (100, 1)
        one.finish(*held)
        drained(one)
        assert_over(one)

    def test_death_during_a_rewrite_loses_no_request(
        self, fleet: Fleet, one: Worker, two: Worker
    ) -> None:
        held = self.held(one, 100)
        keys = {key: fleet.client.dump(key) for key in fleet.client.keys("*")}
        one.push("later")
        self.held(one, 1)
        fleet.client.flushall()
        for key, value in keys.items():
            fleet.client.restore(key, 0, value)
        one.talk()
        assert one.reply.word == "epoch"
        one.talk()  # one part
        fleet.now += LEASE_MS / 1000 + 1
        found = Counter(urls(drained(two, 300)))
        assert set(found) >= set(urls(held))
        assert max(found.values()) == 1


class TestVersions:
    """Workers of two releases share no crawl."""

    def test_another_version_is_refused_when_it_joins(self, fleet: Fleet, one: Worker) -> None:
        one.push("a")
        one.talk()
        fleet.client.hset(fleet.key("t"), "version", "0")
        two = fleet.worker("two")
        words = (
            f"has version 0, and this release of scrapy-rep has version {VERSION}: run one release"
        )
        with pytest.raises(RefusedError, match=words):
            two.talk()
        assert fleet.client.zscore(fleet.key("w"), "two") is None
        with pytest.raises(RefusedError):
            fleet.worker("three").talk(is_fresh=True)
        fleet.now += LEASE_MS / 1000 + 1
        fleet.worker("four").talk(is_fresh=True)
        fleet.clear()
        two.talk()
        assert two.reply.word == "ok"

    def test_another_spider_is_refused(self, fleet: Fleet, one: Worker, two: Worker) -> None:
        words = "belongs to old.A, not to new.B"
        one.take("a")
        one.talk(spider="old.A")
        with pytest.raises(RefusedError, match=words):
            two.talk(spider="new.B")
        assert fleet.client.zscore(fleet.key("w"), "two") is None
        fleet.worker("three").talk(spider="old.A")
        fleet.now += LEASE_MS / 1000 + 1  # no worker is left, but one request
        with pytest.raises(RefusedError, match=words):
            two.talk(spider="new.B")
        three = fleet.worker("four")
        three.talk(spider="old.A")
        three.finish(*drained(three))
        three.talk(), three.talk(leaves=True, spider="old.A")
        with pytest.raises(RefusedError, match=words):  # the filter is left
            two.talk(spider="new.B")
        fleet.clear()
        two.talk(spider="new.B")
        assert two.reply.word == "ok"


class TestFull:
    """Without memory (noeviction), what frees memory goes on, and pushes wait in the worker."""

    @pytest.fixture
    def full(self, fleet: Fleet) -> Iterator[Callable[[bool], None]]:
        def fill(is_full: bool) -> None:
            fleet.client.config_set("maxmemory", 1 if is_full else 0)

        yield fill
        fill(False)

    def test_pages_end_and_links_wait(
        self, fleet: Fleet, one: Worker, two: Worker, full: Callable[[bool], None]
    ) -> None:
        first, second = one.take("a", "b", count=2)
        full(True)
        one.ledger.push(push("child"), first.id)
        one.finish(first, second)
        one.talk(1)
        assert (one.reply.word, one.ledger.unsent_count) == ("full", 1)
        one.talk(1)
        assert (one.reply.word, one.reply.is_full, fleet.total("done")) == ("ok", True, 1)
        assert int(fleet.client.hget(fleet.key("t"), "full")) == round(1000 * fleet.now)
        two.talk(), two.talk()
        assert two.reply.is_full, "a worker can join"
        full(False)
        one.talk(), one.talk()
        assert (one.ledger.unsent_count, fleet.total("done")) == (0, 2)
        assert not fleet.client.hexists(fleet.key("t"), "full")
        assert urls(two.talk(1)) == ["child"]

    def test_pushes_of_a_lost_reply_are_not_made_twice(
        self, one: Worker, full: Callable[[bool], None]
    ) -> None:
        one.push("a", kind=PushKind.UNFILTERED)
        one.lose()
        full(True)
        one.talk(), one.talk()
        one.push("b", kind=PushKind.UNFILTERED)
        one.talk()
        full(False)
        one.talk(), one.talk(), one.talk()
        assert one.reply.queued == 2

    def test_a_dead_workers_requests_are_handed_on(
        self, fleet: Fleet, one: Worker, two: Worker, full: Callable[[bool], None]
    ) -> None:
        one.push("a")
        one.settle()
        one.talk(), one.talk(1)
        fleet.now += LEASE_MS / 1000 + 1
        full(True)
        assert urls(two.talk(9)) == ["a"]


class TestSeeds:
    """Start URLs that users put into Redis are moved by the script, and leased."""

    @pytest.mark.parametrize("kind", ["list", "set", "zset"])
    def test_every_kind_of_key_of_start_urls(self, fleet: Fleet, one: Worker, kind: str) -> None:
        if kind == "list":
            fleet.client.rpush("urls", "x", "y")
        elif kind == "set":
            fleet.client.sadd("urls", "x", "y")
        else:
            fleet.client.zadd("urls", {"y": 1, "x": 2})
        one.talk(1, seeds=9, seeds_key="urls")
        (seed,) = one.reply.seeds
        assert one.reply.seeds_left == 1
        assert kind == "set" or seed.payload == b"x"
        assert one.reply.flying == 1
        one.push("made of it")
        one.finish(seed)
        one.talk()
        assert (one.reply.queued, one.reply.flying) == (1, 0)
        assert fleet.total("done") == 0, "it is no request"

    def test_dead_worker_loses_no_start_url(self, fleet: Fleet, one: Worker, two: Worker) -> None:
        fleet.client.rpush("urls", "x", "y")
        one.talk(9, seeds=9, seeds_key="urls")
        fleet.now += LEASE_MS / 1000 + 1
        two.talk(9, seeds=9, seeds_key="urls")
        assert sorted(urls(list(two.reply.seeds))) == ["x", "y"]

    def test_full_reply_loses_no_start_url(self, fleet: Fleet, one: Worker) -> None:
        fleet.client.rpush("urls", "x", "y")
        one.queue(PUSH_OCTETS * "a")
        one.talk(9, seeds=9, seeds_key="urls")
        assert (len(one.reply.popped), one.reply.seeds_left) == (1, 2)
        one.talk(9, seeds=9, seeds_key="urls")
        assert urls(list(one.reply.seeds)) == ["x", "y"]


class TestEnding:
    """All workers learn at the same time that nothing is left; the last one clears."""

    def test_all_workers_learn_that_the_crawl_is_idle(
        self, fleet: Fleet, one: Worker, two: Worker
    ) -> None:
        (held,) = one.take("a")
        assert one.reply.idle_ms != 0
        two.talk(is_busy=True)
        one.finish(held)
        one.talk()
        assert one.reply.idle_ms is None, "the other's spider still has start requests"
        two.talk()
        fleet.now += 3
        one.talk()
        two.talk()
        assert [one.reply.idle_ms, two.reply.idle_ms] == [3000, 3000]
        one.push("b")
        one.talk()
        assert one.reply.idle_ms is None

    def test_dead_busy_worker_does_not_delay_the_end(
        self, fleet: Fleet, one: Worker, two: Worker
    ) -> None:
        one.talk(is_busy=True)
        fleet.now += LEASE_MS / 1000 + 1
        two.talk(), two.talk()
        assert two.reply.idle_ms == 0

    def test_only_the_last_worker_clears(self, one: Worker, two: Worker) -> None:
        one.talk(), two.talk()
        one.talk(leaves=True, flushes=True)
        assert one.reply.word == "ok"
        two.talk(leaves=True, flushes=True)
        assert two.reply.word == "flush"

    @pytest.mark.parametrize("left", ["a frozen worker's", "a letter", "a start URL", "a stop"])
    def test_unfinished_crawl_is_kept(
        self, fleet: Fleet, one: Worker, two: Worker, left: str
    ) -> None:
        two.talk()
        if left == "a frozen worker's":
            two.push("a")
            two.settle()
            assert two.talk(9) or two.talk(9)
        else:
            two.talk(leaves=True)
        if left == "a letter":
            fleet.client.rpush(fleet.key("dead"), b"letter")
        if left == "a start URL":
            fleet.client.rpush("urls", b"http://a.example")
        one.talk()
        for _ in range(3):
            fleet.now += LEASE_MS / 3000 + 1
            one.talk()
        one.talk(seeds_key="urls", leaves=True, flushes=left != "a stop")
        three = fleet.worker("three")
        three.talk()
        assert [one.reply.word, three.reply.word] == ["ok", "ok"]

    def test_clearing_leaves_nothing(self, fleet: Fleet, one: Worker) -> None:
        for number in range(500):
            one.push(f"{number}", lane=f"http://{number}.example", priority=number % 3 - 1)
        while one.ledger.unsent_count:
            one.talk(3)
        fleet.clear()
        assert fleet.all_keys() == set()

    def test_next_run_clears_after_a_dead_last_worker(
        self, fleet: Fleet, one: Worker, two: Worker
    ) -> None:
        (held,) = one.take("a")
        two.talk()
        one.finish(held)
        one.talk()
        one.talk(leaves=True, flushes=True)
        fleet.now += LEASE_MS / 1000 + 1  # the other was killed
        three = fleet.worker("three")
        three.push("a")
        three.talk()
        assert three.reply.word == "flush"
        fleet.clear()
        three.talk()
        assert (three.reply.word, three.reply.queued) == ("ok", 1)

    def test_worker_waits_while_another_clears(self, fleet: Fleet, one: Worker) -> None:
        fleet.client.set(fleet.key("flushing"), "another")
        one.talk()
        assert one.reply.word == "wait"

    def test_fresh_run_clears_if_it_is_alone(self, fleet: Fleet, one: Worker, two: Worker) -> None:
        one.talk()
        two.talk(is_fresh=True)
        assert two.reply.word == "ok", "another is at work"
        one.talk(leaves=True), two.talk(leaves=True)
        three = fleet.worker("three")
        three.talk(is_fresh=True)
        assert three.reply.word == "flush"


class TestAtRandom:
    """After any events in any order, each URL is done; without deaths, only once.

    No visit of a site with a delay comes too early, be it for a queued request or for a turn.
    """

    COUNT, PACED, DELAY_SECONDS = 60, "lane 1", 0.5

    @pytest.mark.parametrize("seed", [*range(4), *at_length(range(4, 12))])
    def test_queue_loses_nothing_at_random(self, fleet: Fleet, seed: int) -> None:
        self.chance, self.fleet = random.Random(seed), fleet
        self.done: Counter[str] = Counter()
        self.visits: list[float] = []
        self.late: list[bytes] = []
        may_die = seed % 2 == 0
        workers = [fleet.worker(f"w{number}") for number in range(4)]
        workers[0].push("0", lane="lane 0")
        workers[0].talk()
        for turn in range(4000):
            fleet.now += self.chance.random() * 0.2
            number = self.chance.randrange(4)
            self.work(workers[number])
            if self.chance.random() < 0.02:
                if not may_die:
                    self.leave(workers[number])
                workers[number] = fleet.worker(f"{turn}")
            self.talk(workers[number], may_die=may_die)
            if len(self.done) == self.COUNT and workers[number].reply.idle_ms is not None:
                break
        for worker in workers:
            self.leave(worker)
        gaps = [after - before for before, after in itertools.pairwise(sorted(self.visits))]
        assert min(gaps) >= self.DELAY_SECONDS - 0.002
        buried = fleet.client.lrange(fleet.key("dead"), 0, -1)
        if may_die and buried:  # after three deaths over one request, its links are not known
            return
        assert (len(self.done), buried) == (self.COUNT, [])
        if not may_die:
            assert set(self.done.values()) == {1}
            assert [fleet.total(name) for name in ("done", "n", "fly")] == [self.COUNT, 0, 0]

    def talk(self, worker: Worker, *, may_die: bool) -> None:
        """A batch, or one that is lost, or that comes late."""
        event = self.chance.random()
        if event < 0.03:
            worker.lose(3, lanes=3)
        elif event < 0.05:
            self.late.append(worker.sent(3)[1])
            worker.ledger.failed()
        elif event < 0.07 and self.late:
            worker.carry_out(self.late.pop(self.chance.randrange(len(self.late))))
        elif event < 0.075 and may_die:
            self.fleet.now += LEASE_MS / 1000 * 1.2  # all but one are late
        else:
            self.heard(worker)

    def heard(self, worker: Worker) -> None:
        if self.chance.random() < 0.05:
            worker.ledger.wish(Wish(self.PACED, self.DELAY_SECONDS))
        worker.talk(self.chance.randrange(4), lanes=3)
        if worker.reply.word == "ok":
            worker.leased_until = self.fleet.now + 0.9 * LEASE_MS / 1000
        for lane, *_ in worker.reply.to_check:
            delay_seconds = self.DELAY_SECONDS * (lane == self.PACED)
            worker.settle(lane, concurrency=3, delay_seconds=delay_seconds)
        for key, held in worker.reply.turns.items():
            worker.ledger.grant(key, held)
            held.due_at = self.fleet.now + held.wait_seconds

    def leave(self, worker: Worker) -> None:
        worker.ledger.give_back()
        while worker.reply.word != "gone" and worker.ledger.has_news:
            worker.talk()
        worker.talk(leaves=True)

    def work(self, worker: Worker) -> None:
        """Some of what a worker holds is done, and leads to other pages."""
        worker.ledger.buffer.clear()
        for held in list(worker.ledger.held.values()):
            is_begun = self.chance.random() < 0.6 and held.due_at <= self.fleet.now
            if not is_begun or self.fleet.now > worker.leased_until:
                continue
            held.has_reached = True
            if held.lane == self.PACED:
                self.visits.append(self.fleet.now)
            if self.chance.random() < 0.8:
                worker.ledger.left(held, self.fleet.now)
            if not held.is_turn:
                self.done[held.payload.decode()] += 1
                number = int(held.payload)
                for child in (2 * number + 1, 2 * number + 2, number // 2):
                    if child < self.COUNT:
                        worker.push(f"{child}", lane=f"lane {child % 5}")
            worker.finish(held)


def test_the_script_takes_little_time(fleet: Fleet, one: Worker) -> None:
    """Fifty pushes, reports and pops in one run: bounded, whatever the batch."""
    client: Any = fleet.client
    client.slowlog_reset()
    for lane in range(20):
        one.settle(f"http://{lane}.example")
    for number in range(2000):
        one.push(f"{number}", lane=f"http://{number % 20}.example")
    while one.ledger.unsent_count:
        one.finish(*one.talk(16, lanes=16))
    slowest = max((entry["duration"] for entry in client.slowlog_get(128)), default=0)
    assert slowest < 50_000, "microseconds, on a machine that is busy"


def turn_if_any(worker: Worker, key: int) -> HeldRequest | None:
    """The turn that a wish gets in one batch, which is held from then on; None if none came."""
    worker.talk()
    turn = worker.reply.turns.get(key)
    if turn is not None:
        worker.ledger.grant(key, turn)
    return turn


def turn_of(worker: Worker, key: int) -> HeldRequest:
    """The turn that a wish must get in one batch."""
    turn = turn_if_any(worker, key)
    assert turn is not None
    return turn


def wish(worker: Worker, lane: str = A) -> int:
    return worker.ledger.wish(Wish(lane, DELAY))


class TestTurns:
    """A turn closes its lane as a request that was popped does."""

    def test_turn_in_an_unknown_lane(self, one: Worker, two: Worker) -> None:
        turn = turn_of(one, wish(one))
        assert (turn.wait_seconds, turn.delay_seconds) == (0.0, DELAY)
        two.queue("a", delay_seconds=DELAY)
        assert two.talk(9) == [], "the turn has not left"
        held = one.ledger.held[turn.id]
        one.ledger.left(held, one.fleet.now)
        one.talk()
        assert two.talk(9) == []
        assert two.reply.next_ms == 1000 * DELAY
        one.fleet.now += DELAY
        assert urls(two.talk(9)) == ["a"]

    def test_turn_comes_before_queued_requests(
        self, fleet: Fleet, one: Worker, two: Worker
    ) -> None:
        """After the request that is on its way in any worker, and before all others."""
        held = popped(one, "a", "b")
        key = wish(two)
        assert turn_if_any(two, key) is None
        one.ledger.left(held, fleet.now)
        one.talk()
        fleet.now += 10
        assert one.talk(9) == []
        turn = turn_of(two, key)
        assert turn.wait_seconds == 0.0
        mine = two.ledger.held[turn.id]
        two.ledger.left(mine, fleet.now)
        two.finish(mine)
        two.talk()
        assert one.talk(9) == []
        fleet.now += DELAY
        assert urls(one.talk(9)) == ["b"]

    def test_later_report_on_the_previous_request_counts(
        self, fleet: Fleet, one: Worker, two: Worker
    ) -> None:
        held = popped(one, "a")
        key = wish(two)
        two.talk()
        one.ledger.left(held, fleet.now + 0.1)
        one.talk()
        one.ledger.left(held, fleet.now)
        one.talk()
        assert turn_of(two, key).wait_seconds == DELAY

    @pytest.mark.parametrize("has_it", [True, False])
    def test_a_dead_workers_turn_ends(
        self, fleet: Fleet, one: Worker, two: Worker, has_it: bool
    ) -> None:
        held = None if has_it else popped(two, "x", "b")
        turn = turn_if_any(one, wish(one))
        assert (turn is not None) is has_it
        if held is None:
            two.push("b")
            two.settle(delay_seconds=DELAY)
        else:
            two.ledger.left(held, fleet.now)
        for _ in range(9):
            fleet.now += LEASE_MS / 3000 - 0.3
            two.talk()
        fleet.now += DELAY
        assert urls(two.talk(9)) == ["b"]
        assert "f:one" not in fleet.all_keys()

    @pytest.mark.parametrize("has_it", [True, False])
    def test_turn_without_a_waiting_request(
        self, fleet: Fleet, one: Worker, two: Worker, has_it: bool
    ) -> None:
        held = None if has_it else popped(two, "x")
        key = wish(one)
        turn = turn_if_any(one, key)
        if turn is not None:
            one.finish(one.ledger.held[turn.id])
        one.ledger.withdraw(key)
        if held is not None:
            two.finish(held)
        two.push("b")
        two.settle(delay_seconds=DELAY)
        one.talk(), two.talk()
        assert urls(two.talk(9)) == ["b"]

    def test_turn_is_no_request_in_flight(self, one: Worker) -> None:
        key = wish(one)
        turn = turn_of(one, key)
        assert (one.reply.flying, one.reply.idle_ms) == (0, 0)
        one.finish(one.ledger.held[turn.id])
        one.talk()
        assert (one.reply.flying, one.fleet.total("done")) == (0, 0)

    def test_wish_gets_its_turn_after_redis_is_emptied(self, fleet: Fleet, one: Worker) -> None:
        """A turn that was granted is forgotten; a wish gets its turn."""
        granted = turn_of(one, wish(one))
        key = wish(one, B)
        fleet.client.flushall()
        one.talk()
        assert one.reply.word == "epoch"
        assert turn_if_any(one, key) is not None
        assert granted.id not in one.ledger.held
        assert one.reply.flying == 0

    def test_an_emptied_redis_lets_each_delay_pass_first(
        self, fleet: Fleet, one: Worker, two: Worker
    ) -> None:
        """Redis does not know when the site was visited last."""
        held = popped(one, "a")
        one.ledger.left(held, fleet.now)
        one.finish(held)
        one.talk(), two.talk()
        fleet.client.flushall()
        two.talk(), two.talk()
        two.queue("b", delay_seconds=DELAY)
        began = fleet.now
        while not two.talk(9):
            fleet.now += 0.1
        assert DELAY <= fleet.now - began <= DELAY + 1.2

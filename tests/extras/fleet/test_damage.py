"""The script at a Redis with keys that are damaged, older, or changed by other programs."""

from __future__ import annotations

import random
from collections.abc import Callable
from itertools import product
from typing import Any

import msgpack
import pytest

from scrapy_rep.extras.fleet.batch import HeldRequest, PushKind
from scrapy_rep.extras.fleet.ledger import REPORTS
from tests.extras.fleet.workers import LEASE_MS, A, B, Fleet, Worker, assert_over, drain, urls
from tests.redis_server import needs_redis

pytestmark = needs_redis


class Snapshot:
    """All keys, as they are now."""

    def __init__(self, fleet: Fleet) -> None:
        self._client = fleet.client
        self._keys = {key: fleet.client.dump(key) for key in fleet.client.keys("*")}

    def restore(self) -> None:
        self._client.flushall()
        for key, value in self._keys.items():
            self._client.restore(key, 0, value)


class TestOlderSnapshot:
    """Redis goes back in time: no lane stays closed or full for ever."""

    @pytest.mark.parametrize("pace", [{"delay_seconds": 2.0}, {"concurrency": 1}])
    @pytest.mark.parametrize("what", ["done", "done, and not told yet", "departed", "held"])
    def test_lane_that_was_closed(
        self, fleet: Fleet, one: Worker, two: Worker, pace: dict[str, Any], what: str
    ) -> None:
        one.push("a", "b")
        one.push("x", lane=B)
        one.settle(**pace)
        one.settle(B)
        one.talk()
        (first,) = [held for held in one.talk(9) if held.lane == A]
        two.talk()
        snapshot = Snapshot(fleet)
        if what == "departed":
            one.ledger.left(first, fleet.now)
        elif what == "done":
            one.finish(first)
        one.push("new")
        one.talk()
        one.settle(B)
        fleet.client.incr(fleet.key("ids"))  # another worker got one
        one.talk()
        snapshot.restore()
        if what == "done, and not told yet":
            one.finish(first)
        one.talk(), two.talk()
        one.talk(), two.talk()
        one.finish(*one.ledger.held.values())
        found = drain(one, two)
        assert "b" in found
        assert_over(one)

    def test_lease_ends_without_a_holder(self, fleet: Fleet, one: Worker, two: Worker) -> None:
        """No worker gets a request that another still has."""
        (first,) = one.take("a", "b", count=1)
        (second,) = two.talk(1)
        snapshot = Snapshot(fleet)
        one.push("c")
        one.talk()
        fleet.client.incr(fleet.key("ids"))
        one.talk()
        fleet.now += 3 * LEASE_MS / 1000
        snapshot.restore()
        one.talk(), one.talk(), one.talk(), two.talk(), two.talk()
        assert (one.reply.word, two.reply.word) == ("ok", "ok")
        assert (two.reply.queued, two.reply.flying) == (0, 2)
        one.finish(first)
        two.finish(second)
        one.talk(), two.talk()
        assert_over(one)


class TestBounds:
    """However much a worker brings or wants at a time."""

    def test_departure_is_reported_before_the_end(
        self, fleet: Fleet, one: Worker, two: Worker
    ) -> None:
        """Of more requests than one batch tells of: no lane is opened without its delay."""
        some: list[HeldRequest] = []
        for number in range(2 * REPORTS):
            lane = f"http://{number}.example"
            one.push(f"{number}", f"{number} again", lane=lane)
            one.settle(lane, delay_seconds=10.0)
        while one.ledger.unsent_count or len(some) < 2 * REPORTS:
            some += one.talk(50)
        for held in some:
            held.has_reached = True
            one.ledger.left(held, fleet.now)
        one.finish(*reversed(some))
        one.talk()
        assert two.talk(50) == []
        one.talk(), one.talk()
        assert two.talk(50) == []
        assert two.reply.flying == 0

    def test_many_octets_come_in_several_batches(
        self, fleet: Fleet, one: Worker, two: Worker
    ) -> None:
        """One script does not copy a hundred megabytes, nor does it hand them on."""
        for number in range(30):
            one.push(f"{number}" + 262_144 * "x", lane=f"http://{number}.example")
            one.settle(f"http://{number}.example")
        while one.ledger.unsent_count:
            one.talk()
        assert [len(one.talk(64)) for _ in range(30)] == [1] * 30
        fleet.now += LEASE_MS / 1000 + 1
        two.talk()
        assert two.reply.queued == 1
        for _ in range(30):
            two.talk()
        assert two.reply.queued == 30


def spoil(fleet: Fleet, name: str) -> None:
    """A key is of another type than the crawl's."""
    fleet.client.delete(fleet.key(name))
    if name.startswith("q") or name == "seeds":
        fleet.client.set(fleet.key(name), "somebody else's")
    else:
        fleet.client.rpush(fleet.key(name), "somebody else's")


def evict(fleet: Fleet, name: str) -> None:
    fleet.client.delete(fleet.key(name))


_SINGLE = ("due", "new", "lines", "t", "w", "dying", "busy", "starts", "seeds", "refused")
_SINGLE_AND_OWN = (*_SINGLE, "df", "m:one", "f:one", "epoch", "ids")


def all_done(*workers: Worker, some: set[str]) -> None:
    """All requests are done by any worker, and the crawl ends."""
    held = {held.payload.decode() for one in workers for held in one.ledger.held.values()}
    for worker in workers:
        worker.finish(*worker.ledger.held.values())
        worker.ledger.buffer.clear()
    assert some - held <= set(drain(*workers, times=60))
    for worker in workers:
        assert_over(worker)


class TestReconciled:
    """After keys are lost or damaged, all remaining requests are found: no worker waits for ever.

    So it is after an eviction, a wrong hand, or a snapshot that was taken in between.
    """

    def crawl(self, one: Worker, two: Worker) -> set[str]:
        """A lane of each kind: due, unchecked, closed, full, held; and requests in flight."""
        one.push("due 1", "due 2", lane="http://due.example")
        one.push("high", lane="http://due.example", priority=5)
        one.settle("http://due.example")
        one.push("unchecked", lane="http://new.example")
        one.push("closed 1", "closed 2", "closed 3", lane="http://closed.example")
        one.settle("http://closed.example", delay_seconds=2.0)
        one.push("full 1", "full 2", lane="http://full.example")
        one.settle("http://full.example", concurrency=1)
        one.push("held", lane="http://held.example")
        one.settle("http://held.example", wait_until=one.fleet.now + 30, reason="held")
        one.talk(), two.talk()
        got = [*one.talk(1), *two.talk(2)]
        urls = {"due 1", "due 2", "high", "unchecked", "closed 1", "closed 2", "closed 3"}
        return (urls | {"full 1", "full 2", "held"}) - {held.payload.decode() for held in got}

    @pytest.mark.parametrize("name", _SINGLE_AND_OWN)
    @pytest.mark.parametrize("happens", [evict, spoil])
    def test_crawl_survives_the_loss_of_any_key(
        self, fleet: Fleet, one: Worker, two: Worker, name: str, happens: Callable[..., None]
    ) -> None:
        left = self.crawl(one, two)
        happens(fleet, name)
        one.push("start", kind=PushKind.START)
        one.push("another")
        one.talk(5, seeds=5, seeds_key="urls")
        all_done(one, two, some=left | {"start", "another"})
        assert one.odd + two.odd == ([name] if happens is spoil else [])

    @pytest.mark.parametrize("name", [f"q:{A}", f"q5:{A}", f"p:{A}"])
    @pytest.mark.parametrize("happens", [evict, spoil])
    def test_a_key_of_a_lane(
        self, fleet: Fleet, one: Worker, name: str, happens: Callable[..., None]
    ) -> None:
        one.push("5", priority=5)
        one.push("-5", priority=-5)
        one.push("0")
        one.push("b", lane=B)
        one.settle()
        one.settle(B)
        one.talk()
        happens(fleet, name)
        one.push("more", "high", priority=5)
        one.push("0 more")
        gone = {f"q:{A}": "0", f"q5:{A}": "5"}.get(name, "")
        all_done(one, some={"5", "-5", "0", "b", "more", "high", "0 more"} - {gone})
        assert one.odd == ([name] if happens is spoil else [])

    @pytest.mark.parametrize("name", [*_SINGLE_AND_OWN, "f:two", "m:two"])
    @pytest.mark.parametrize("happens", [evict, spoil])
    def test_while_a_worker_is_dead(
        self, fleet: Fleet, one: Worker, two: Worker, name: str, happens: Callable[..., None]
    ) -> None:
        left = self.crawl(one, two)
        had = {held.payload.decode() for held in two.ledger.held.values()}
        happens(fleet, name)
        all_done(one, some=left if name == "f:two" else left | had)

    def test_entries_of_an_unknown_lane(self, fleet: Fleet, one: Worker) -> None:
        """Somebody has pushed them by hand, and counted them; one is empty."""
        one.push("b", lane=B)
        one.settle(B)
        one.talk()
        fleet.client.rpush(fleet.key(f"q:{A}"), b"\0\0a", b"", b"\0\0aa")
        fleet.client.hincrby(fleet.key("t"), "n", 3)
        all_done(one, some={"a", "aa", "b"})

    @pytest.mark.parametrize(
        "wrong",
        [
            *product("t", ("n", "fly", "gen", "done", "idle", "stir", "mended"), ["many"]),
            *product("t", ("n", "fly"), (93, -7, 0.5)),
            *product(("due", "new", "w"), [None], ("inf", "-inf", 1e300)),
            *product(["p:http://due.example"], ["x", "", "1.5", "inf", "nan", "1e3", "0"], [-9]),
            *product(["lines"], [0], "indcf?"),
            *product(["lines"], [1, 2, 3, 4, 5, 8], [-5, float("nan"), float("inf"), 1e300]),
            *product(["lines"], [1, 5, 6, 10], [900, "9"]),
            *product(["f:two"], [2], [-1, 300, 1.5, float("inf")]),
            *product(["lines", "f:two"], [None], [b"", b"F", b"\xc1", b"F\x91\x01"]),
        ],
    )
    def test_crawl_survives_any_wrong_value(
        self, fleet: Fleet, one: Worker, two: Worker, wrong: tuple[str, Any, Any]
    ) -> None:
        """A total, a score, or a field of all records is wrong, and a worker is dead."""
        key, field, value = wrong
        left, client, name = self.crawl(one, two), fleet.client, fleet.key(key)
        had = {held.payload.decode() for held in two.ledger.held.values()}
        if key == "t":
            client.hset(name, field, value)
        elif key[0] == "p":
            client.zadd(name, {field: value})
        elif key in ("due", "new", "w"):
            client.zadd(name, dict.fromkeys(client.zrange(name, 0, -1), value))
        for member, packed in client.hgetall(name).items() if key in ("lines", "f:two") else ():
            letter, octets = (packed[:1], packed[1:]) if key == "f:two" else (b"", packed)
            record = msgpack.unpackb(octets)
            record[field or 0] = value
            changed = value if field is None else letter + msgpack.packb(record)
            client.hset(name, member, changed)
        all_done(one, some=left if key == "f:two" else left | had)

    @pytest.mark.parametrize("name", [*_SINGLE_AND_OWN, "p:http://due.example"])
    def test_crawl_is_cleared_at_its_end(
        self, fleet: Fleet, one: Worker, two: Worker, name: str
    ) -> None:
        self.crawl(one, two)
        spoil(fleet, name)
        fleet.clear()
        left = {key for key in fleet.all_keys() if key[0] not in "qp"}
        assert left <= {"f:one", "m:one", "f:two", "m:two"}, "those of workers that nobody knows"

    def test_one_worker_counts(self, fleet: Fleet, one: Worker, two: Worker) -> None:
        """Once; a sound crawl is never recounted."""
        left = self.crawl(one, two)
        assert (one.mend_count, two.mend_count) == (0, 0)
        evict(fleet, "t")
        one.talk(), two.talk(), one.talk(), two.talk()
        assert one.mend_count + two.mend_count == 1
        assert int(fleet.total("n")) == len(left)
        assert fleet.total("fly") == 3
        all_done(one, two, some=left)

    @pytest.mark.slow
    def test_recount_of_many_lanes_in_steps(self, fleet: Fleet, one: Worker) -> None:
        some = {f"{number}" for number in range(1000)}
        for url in some:
            one.push(url, lane=f"http://{url}.example", priority=int(url) % 3 - 1)
            one.settle(f"http://{url}.example")
        while one.ledger.unsent_count:
            one.talk()
        one.talk(), one.talk()
        for name in ("due", "new", "lines", "t"):
            evict(fleet, name)
        one.talk(), one.talk()
        assert (one.reply.queued, one.reply.flying) == (1000, 0)
        found: list[str] = []
        for _ in range(200):
            got = one.talk(50, lanes=50)
            for lane, *_ in one.reply.to_check:
                one.settle(lane)
            found += urls(got)
            one.finish(*got)
        assert set(found) == some

    def test_ids_never_go_back_when_redis_does(self, fleet: Fleet) -> None:
        """Two workers that know different ids come to a Redis that lost both."""
        one, two = fleet.worker("one"), fleet.worker("two")
        one.push(*(f"a{number}" for number in range(60)))
        one.settle(concurrency=0)
        one.talk()
        two.talk()
        two.talk(2)
        one.talk(3)
        snapshot = Snapshot(fleet)
        one.talk()
        two.talk()
        snapshot.restore()
        fleet.now += 1
        ids = []
        for worker in (one, one, two, two, one, two):
            worker.talk(3)
            worker.settle()
            ids.append(int(fleet.client.get(fleet.key("ids")) or 0))
        assert ids == sorted(ids)

    @pytest.mark.parametrize("seed", range(12))
    def test_crawl_ends_whatever_is_damaged(self, fleet: Fleet, seed: int) -> None:
        """Keys vanish or change, snapshots come back, replies are lost: the crawl ends."""
        chance, snapshot = random.Random(seed), Snapshot(fleet)
        workers = [fleet.worker(f"w{number}") for number in range(3)]
        pushed, done = 0, set()
        for turn in range(300):
            worker = chance.choice(workers)
            if turn < 200 and chance.random() < 0.4:
                lane = f"http://{pushed % 7}.example"
                worker.push(f"{pushed}", lane=lane, priority=chance.choice((0, 0, 4, -4)))
                pushed += 1
            if turn < 250:
                snapshot = self.harm(fleet, chance, snapshot)
            if chance.random() < 0.03:
                worker.lose(3)
                fleet.client.delete(fleet.key("mending"))  # which ends by the clock of Redis
            got = worker.talk(chance.randrange(3), lanes=3)
            for lane, *_ in worker.reply.to_check:
                worker.settle(lane, delay_seconds=chance.choice((0.0, 0.2)), concurrency=2)
            for held in got:
                if chance.random() < 0.7:
                    held.has_reached = True
                    worker.ledger.left(held, fleet.now)
                worker.finish(held)
                done.add(held.payload)
            worker.ledger.buffer.clear()
            fleet.now += 0.1
        for worker in workers:
            worker.finish(*worker.ledger.held.values())
        drain(*workers, times=60)
        for worker in workers:
            assert_over(worker)

    def harm(self, fleet: Fleet, chance: random.Random, snapshot: Snapshot) -> Snapshot:
        """Perhaps change a key, or go back to a snapshot; return the last one."""
        event = chance.random()
        if event < 0.05:
            keys = sorted(fleet.all_keys())
            chance.choice((evict, spoil))(fleet, chance.choice(keys or ["t"]))
        elif event < 0.06:
            snapshot.restore()
        elif event < 0.08:
            return Snapshot(fleet)
        return snapshot

"""The rests in the batches of workers: what each hears, and which of them goes first."""

from __future__ import annotations

import pytest

from scrapy_rep.protocol.extensions.rest import Rest
from scrapy_rep.queue.fleet.batch import Rested
from tests.fleet.workers import A, Fleet, Worker, urls
from tests.redis_server import needs_redis

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

"""The accounts of a crawl: each accepted request is done, dropped, a dead letter, or lost.

Each kind of loss is planted, and is counted exactly.
"""

from __future__ import annotations

import random

import msgpack
import pytest

from scrapy_rep.extras.fleet.batch import HeldRequest, PushKind
from scrapy_rep.extras.fleet.scripts import CONTROL, LOOK_TOTALS, REQUEUE, VERSION
from tests.at_length import at_length
from tests.extras.fleet.test_damage import Snapshot
from tests.extras.fleet.workers import LEASE_MS, A, B, Fleet, Worker, drain
from tests.redis_server import needs_redis

pytestmark = needs_redis

DROPPED = "http://dropped.example"
SETTLED = 10**6
LANES = [f"http://{number}.example" for number in range(4)]


class Books:
    """A crawl with requests of all kinds, and its accounts."""

    def __init__(self, one: Worker) -> None:
        """Queue 3 + 5 + 2 + 2 requests: one gets done, one is refused, two are dropped."""
        self.fleet, self.one = one.fleet, one
        one.push("done", "refused", "a")
        one.push(*(f"b{number}" for number in range(5)), lane=B)
        one.push("d1", "d2", lane=DROPPED)
        one.push("again", "again", lane=B, kind=PushKind.UNFILTERED)
        for lane in (A, B, DROPPED):
            one.settle(lane, valid_until=one.fleet.now + SETTLED)
        one.talk()
        self.drop(DROPPED)
        (done,) = one.talk(1)
        while done.payload != b"done":
            one.ledger.give_back()
            (done,) = one.talk(1) or one.talk(1)
        one.finish(done)
        one.talk()
        self.accepted = 12
        self.done = {"done"}

    def drop(self, lane: str) -> None:
        order = {"order": "drop", "lane": lane, "why": "x", "version": VERSION}
        control = self.fleet.client.register_script(CONTROL.text)
        control([self.fleet.key("")], [msgpack.packb(order)])

    def end(self, *workers: Worker) -> dict[str, int]:
        """Fetch all that is left; return the accounts."""
        for _ in range(60):
            for worker in workers:
                got = worker.talk(9, lanes=9)
                for lane, *_ in worker.reply.to_check:
                    worker.settle(lane, valid_until=self.fleet.now + SETTLED)
                for held in got:
                    if held.payload == b"refused":
                        worker.ledger.set_aside(held, "no such callback")
                    else:
                        worker.finish(held)
                self.fleet.now += 1.0
        reply = workers[0].reply
        assert (reply.queued, reply.flying, reply.is_counting) == (0, 0, False)
        counts = {name: self.fleet.total(name) for name in ("done", "dropped")}
        return counts | {"dead": reply.letters, "lost": reply.lost}

    def assert_exact(self, accounts: dict[str, int], lost: int) -> None:
        assert accounts["lost"] == lost
        assert sum(accounts.values()) == self.accepted


@pytest.fixture
def books(one: Worker) -> Books:
    return Books(one)


def test_accounts_of_a_whole_crawl_lose_nothing(books: Books) -> None:
    accounts = books.end(books.one)
    assert accounts == {"done": 9, "dropped": 2, "dead": 1, "lost": 0}
    books.assert_exact(accounts, lost=0)


@pytest.mark.parametrize("has_died", [False, True])
def test_a_list_is_deleted(books: Books, two: Worker, has_died: bool) -> None:
    """By an eviction, or by hand; with the lane's state, or without it; a worker may die too."""
    fleet = books.fleet
    if has_died:
        books.one.talk(1)
        fleet.now += LEASE_MS / 1000 + 1
        two.talk()
    waiting = fleet.client.llen(fleet.key(f"q:{B}"))
    fleet.client.unlink(fleet.key(f"q:{B}"))
    if has_died:
        fleet.client.hdel(fleet.key("lines"), B)
    books.assert_exact(books.end(two if has_died else books.one), lost=waiting)


@pytest.mark.parametrize("name", ["t", "lines", "due", "epoch", "ids", "w", "m:one"])
def test_keys_without_requests_lose_no_request(books: Books, name: str) -> None:
    books.fleet.client.unlink(books.fleet.key(name))
    books.assert_exact(books.end(books.one), lost=0)


def test_the_tokens_are_deleted(books: Books) -> None:
    """All that waits is fetched; the tokens of other kinds are lost as well."""
    books.fleet.client.unlink(books.fleet.key("owed"))
    accounts = books.end(books.one)
    books.assert_exact(accounts, lost=0)


@pytest.mark.parametrize("name", ["df", "starts"])
@pytest.mark.parametrize("has_order", [False, True])
def test_a_filter_is_deleted(books: Books, name: str, has_order: bool) -> None:
    """No request is lost, but pages come again. The next script notices it; all workers hear."""
    one, client, key = books.one, books.fleet.client, books.fleet.key(name)
    one.push("start", kind=PushKind.START)
    books.accepted += 1
    books.end(one)
    assert (one.reply.lost, one.reply.filter_lost) == (0, 0)
    lost = client.scard(key)
    assert lost > 0
    client.unlink(key)
    if has_order:
        books.drop("http://other.example")
    one.push("done", "start", kind=PushKind.FILTERED if name == "df" else PushKind.START)
    again = drain(one, books.fleet.worker("two"))
    assert {"df": "done", "starts": "start"}[name] in again
    assert (one.reply.lost, one.reply.filter_lost) == (0, lost)


def test_a_part_of_the_filter_is_deleted(books: Books) -> None:
    books.fleet.client.srem(books.fleet.key("df"), b"0done")
    books.assert_exact(books.end(books.one), lost=0)
    assert books.one.reply.filter_lost == 1


def test_letters_that_are_put_back_leave_the_filter(books: Books) -> None:
    books.end(books.one)
    requeue = books.fleet.client.register_script(REQUEUE.text)
    octets = msgpack.packb({"version": VERSION, "most": 5, "only_letters": False})
    assert requeue([books.fleet.key("")], [octets]) == 1
    accounts = books.end(books.one)
    assert (accounts["dead"], accounts["lost"], books.one.reply.filter_lost) == (1, 0, 0)


def test_next_run_does_not_tell_of_a_lost_filter(books: Books, two: Worker) -> None:
    """It begins with the filter that is left."""
    books.fleet.client.unlink(books.fleet.key("df"))
    books.end(books.one)
    books.one.talk(leaves=True)
    two.talk(), two.talk()
    assert (two.reply.word, two.reply.filter_lost) == ("ok", 0)


@pytest.mark.parametrize("has_order", [False, True])
def test_the_tokens_and_a_list_are_deleted(books: Books, has_order: bool) -> None:
    """The first script that runs notices it, such as that of an operator's order."""
    waiting = books.fleet.client.llen(books.fleet.key(f"q:{B}"))
    books.fleet.client.unlink(books.fleet.key("owed"), books.fleet.key(f"q:{B}"))
    if has_order:
        books.drop("http://other.example")
    books.assert_exact(books.end(books.one), lost=waiting)


@pytest.mark.parametrize("lives", [True, False])
def test_the_entries_of_a_worker_are_deleted(books: Books, two: Worker, lives: bool) -> None:
    """A living worker still tells which requests it has done; a dead one cannot."""
    held = books.one.talk(3)
    books.fleet.client.unlink(books.fleet.key("f:one"))
    if lives:
        books.one.finish(*held)
        books.assert_exact(books.end(books.one), lost=0)
    else:
        books.fleet.now += LEASE_MS / 1000 + 1
        books.assert_exact(books.end(two), lost=len(held))


def test_the_batch_that_ends_the_last_request_tells_of_the_loss(one: Worker) -> None:
    held = one.take("a", "b", "c", count=1)
    one.fleet.client.unlink(one.fleet.key("owed"), one.fleet.key(f"q:{A}"))
    one.talk(1)  # it finds no list, and counts
    one.finish(*held)
    one.talk()
    assert (one.reply.queued, one.reply.flying, one.reply.lost) == (0, 0, 2)


def test_half_a_batch(books: Books) -> None:
    """The script stops after it has accepted a request and before it has queued it."""
    books.fleet.client.sadd(books.fleet.key("owed"), b"0half")
    books.accepted += 1
    books.one.push("half")
    books.assert_exact(books.end(books.one), lost=1)


def test_accounts_are_exact_after_redis_is_emptied(books: Books, two: Worker) -> None:
    """Both workers tell what they heard; the last word counts. What they have is not lost."""
    two.talk()
    held = books.one.talk(2)
    waiting, ended = books.one.reply.queued, books.fleet.client.scard(books.fleet.key("df"))
    books.fleet.client.flushall()
    two.talk()
    books.one.finish(*held)
    books.assert_exact(books.end(books.one, two), lost=waiting)
    assert (books.one.reply.filter_lost, two.reply.filter_lost) == (ended, ended)


def test_another_worker_joins_the_emptied_redis_first(books: Books, two: Worker) -> None:
    waiting = books.one.reply.queued
    books.fleet.client.flushall()
    two.push("new", kind=PushKind.START)
    two.talk()
    books.accepted += 1
    books.assert_exact(books.end(two, books.one), lost=waiting)


@pytest.mark.parametrize("happens", ["restart", "fail-over"])
def test_an_older_copy(books: Books, two: Worker, happens: str) -> None:
    """Start requests that came after the copy are lost; links are found again on their pages."""
    one, fleet = books.one, books.fleet
    (page,) = one.talk(1)
    snapshot = Snapshot(fleet)
    one.push("s1", "s2", "s3", kind=PushKind.START)
    books.accepted += 3
    one.talk(), two.talk()
    snapshot.restore()
    if happens == "fail-over":  # another worker comes first, with a higher id
        fleet.client.incr(fleet.key("ids"))
        two.talk()
    one.finish(page)
    books.assert_exact(books.end(one, two), lost=3)
    assert one.reply.filter_lost == 0, "the copy knows all ends that it needs"


def test_links_of_a_page_under_way_survive_an_older_copy(one: Worker) -> None:
    """The page of links that the copy does not know is fetched again."""
    (page,) = one.take("page")
    snapshot = Snapshot(one.fleet)
    for name in ("x", "y"):
        one.push_link(name, page)
    one.talk(), one.talk()
    snapshot.restore()
    one.talk(), one.talk()
    one.finish(page)
    again = drain(one)
    assert "page" in again
    assert one.reply.lost == 0


def test_next_run_fetches_what_was_lost(books: Books, two: Worker) -> None:
    """With SCHEDULER_PERSIST, the filter keeps what was fetched, and forgets what was lost."""
    books.fleet.client.unlink(books.fleet.key(f"q:{B}"))
    books.end(books.one)
    books.one.talk(leaves=True)
    two.push("done", "a", "refused", *(f"b{number}" for number in range(5)))
    two.settle()
    two.talk()
    assert two.reply.filtered == (0, 1, 2)
    two.talk()
    assert (two.reply.queued, two.reply.lost) == (5, 0)


def test_clean_restart_needs_no_count(books: Books, two: Worker) -> None:
    queued = books.one.reply.queued
    books.one.talk(leaves=True)
    two.talk()
    assert (two.reply.queued, two.reply.is_counting, two.mend_count) == (queued, False, 0)


def test_restart_after_a_loss_says_that_it_counts(books: Books, two: Worker) -> None:
    books.one.talk(leaves=True)
    books.fleet.client.hincrby(books.fleet.key("t"), "n", -3)
    octets = two.lose()
    assert octets.is_counting


def test_start_urls_that_came_back_are_not_lost(one: Worker, two: Worker) -> None:
    """They wait in Redis for the next worker: nothing is lost, and nothing must be counted."""
    fleet = one.fleet
    fleet.client.rpush("seeds", "a", "b")
    assert len(_take_seeds(one)) == 2
    one.talk(leaves=True)
    look = fleet.client.register_script(LOOK_TOTALS.text)
    assert msgpack.unpackb(look([fleet.key("")]))["lost"] == 0
    two.talk(seeds_key="seeds")
    assert (two.reply.lost, two.reply.is_counting) == (0, False)
    two.finish(*_take_seeds(two))
    drain(two)
    assert two.reply.lost == 0


def _take_seeds(worker: Worker) -> tuple[HeldRequest, ...]:
    worker.talk(9, seeds=9, seeds_key="seeds")
    return worker.reply.seeds


@pytest.mark.parametrize("has_next", [False, True])
def test_a_worker_that_wakes_after_the_end(books: Books, two: Worker, has_next: bool) -> None:
    """It was frozen; the others have fetched everything, and have deleted the crawl."""
    one, fleet = books.one, books.fleet
    (page,) = one.talk(1)
    fleet.now += LEASE_MS / 1000 + 1
    assert books.end(two)["lost"] == 0
    two.talk(leaves=True, flushes=True)
    fleet.clear()
    three = fleet.worker("three")
    if has_next:
        three.push("new", kind=PushKind.START)
        three.talk()
    one.push_link("link", page)
    one.finish(page)
    fetched = drain(one, three)
    assert fetched == ["new"] * has_next
    assert (three.reply.lost, fleet.total("done")) == (0, int(has_next))


def _unlink_a_list(fleet: Fleet, choice: random.Random) -> int:
    lists = sorted(fleet.client.keys(fleet.key("q*")))
    if not lists:
        return 0
    name = choice.choice(lists)
    count: int = fleet.client.llen(name)
    fleet.client.unlink(name)
    return count


def _pop_an_entry(fleet: Fleet, choice: random.Random) -> int:
    lists = sorted(fleet.client.keys(fleet.key("q*")))
    return 1 if lists and fleet.client.rpop(choice.choice(lists)) else 0


def _evict(fleet: Fleet, choice: random.Random) -> int:
    names = ["lines", "due", "new", "w", "epoch", "ids", "m:one", "busy", "owed", "t"]
    for name in choice.sample(names, choice.choice([1, 1, 2, 5])):
        fleet.client.unlink(fleet.key(name))
    return 0


def _push_some(worker: Worker, choice: random.Random, number: int) -> int:
    """Queue up to five new requests of one lane; return how many."""
    worker.talk(), worker.talk()  # a worker that was taken over begins again
    count, lane = choice.randrange(1, 6), choice.choice(LANES)
    for one in range(number, number + count):
        kind = choice.choice([PushKind.FILTERED, PushKind.UNFILTERED, PushKind.START])
        worker.push(f"{one}", lane=lane, kind=kind, priority=choice.choice([0, 0, 0, 5, -5]))
    worker.settle(lane, valid_until=worker.fleet.now + SETTLED)
    while worker.ledger.unsent_count:
        worker.talk()
    return count


def _fetch_some(worker: Worker, want: int, choice: random.Random, share: float) -> None:
    """Get some requests, and end a share of them."""
    got = worker.talk(want, lanes=9)
    for lane, *_ in worker.reply.to_check:
        worker.settle(lane, valid_until=worker.fleet.now + SETTLED)
    worker.finish(*(held for held in got if choice.random() < share))


@pytest.mark.parametrize("seed", [*range(12), *at_length(range(12, 40))])
def test_accounts_are_exact_whatever_happens(fleet: Fleet, seed: int) -> None:
    """Workers push, fetch, freeze and die while keys vanish: the accounts are exact."""
    choice = random.Random(seed)
    workers = [fleet.worker(f"w{number}") for number in range(3)]
    accepted, lost = 0, 0
    for step in range(120):
        worker = choice.choice(workers)
        what = choice.random()
        if what < 0.5 and step < 80:
            accepted += _push_some(worker, choice, accepted)
        elif what < 0.8:
            _fetch_some(worker, choice.randrange(6), choice, share=0.9)
        elif what < 0.85 and step < 80:
            lost += choice.choice([_unlink_a_list, _pop_an_entry, _evict])(fleet, choice)
        fleet.now += choice.random()
    for _ in range(40):
        for worker in workers:
            worker.finish(*worker.ledger.held.values())
            worker.ledger.buffer.clear()
            _fetch_some(worker, 9, choice, share=1.0)
            fleet.now += 0.3
    reply = workers[0].reply
    assert (reply.queued, reply.flying, reply.is_counting) == (0, 0, False)
    assert fleet.total("done") + reply.lost == accepted
    assert (reply.lost <= lost, reply.letters) == (True, 0), "an entry may have been done before"
    assert reply.filter_lost == 0

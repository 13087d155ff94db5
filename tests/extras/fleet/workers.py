"""Workers without Scrapy, with clocks of their own, at a real Redis."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import redis

from scrapy_rep.extras.fleet.batch import HeldRequest, Push, PushKind, Settled
from scrapy_rep.extras.fleet.batch_codec import (
    Reply,
    Wants,
    arguments,
    mend_arguments,
    mended,
    reply_of,
)
from scrapy_rep.extras.fleet.ledger import Ledger
from scrapy_rep.extras.fleet.scripts import BATCH, CLEAR, MEND
from tests.redis_server import RedisServer

PREFIX = "rep:{test}:"
LEASE_MS = 10_000
DELAY = 2.0
A, B = "http://a.example", "http://b.example"


class Fleet:
    """Simulated workers at one Redis; `now` is the time of all, in seconds."""

    def __init__(self, server: RedisServer, lease_ms: int = LEASE_MS) -> None:
        self.client: Any = redis.Redis(port=server.port)
        self.now = 1000.0
        self.lease_ms = lease_ms
        self.batch = self.client.register_script(BATCH.text)
        self.mend_script = self.client.register_script(MEND.text)
        self.clear_script = self.client.register_script(CLEAR.text)

    def worker(self, name: str = "one") -> Worker:
        return Worker(self, name)

    def key(self, name: str) -> str:
        return PREFIX + name

    def total(self, name: str) -> int:
        return int(self.client.hget(self.key("t"), name) or 0)

    def clear(self, name: str = "clearer") -> None:
        cursor = b"0"
        while True:
            cursor = self.clear_script([PREFIX], [cursor, name])
            if cursor == b"0":
                return

    def all_keys(self) -> set[str]:
        """Without `over`, which outlives a crawl for a day if it has lost a worker."""
        keys = {key.decode().removeprefix(PREFIX) for key in self.client.keys("*")}
        return keys - {"over"}


class Worker:
    """One of them."""

    def __init__(self, fleet: Fleet, name: str) -> None:
        self.fleet = fleet
        self.ledger = Ledger(name)
        self.reply: Reply = Reply("", "")
        self.odd: list[str] = []
        self.mend_count = 0
        self.leased_until = 0.0

    def push(self, *urls: str, lane: str = A, **fields: Any) -> None:
        for url in urls:
            kind = fields.get("kind", PushKind.FILTERED)
            priority = fields.get("priority", 0)
            self.ledger.push(Push(lane, priority, kind, url.encode(), url.encode()))

    def push_link(self, url: str, page: HeldRequest, lane: str = A) -> None:
        self.ledger.push(Push(lane, 0, PushKind.FILTERED, url.encode(), url.encode()), page.id)

    def settle(self, lane: str = A, **fields: Any) -> None:
        fields.setdefault("valid_until", self.fleet.now + 10_000)
        self.ledger.settle(Settled(lane, **fields))

    def queue(self, *urls: str, **settled: Any) -> None:
        """Push requests to a lane and settle it."""
        self.push(*urls)
        self.settle(**settled)
        self.talk()

    def take(self, *urls: str, count: int = 9) -> list[HeldRequest]:
        """Push requests to a lane and settle it; return some of them, popped."""
        self.queue(*urls)
        return self.talk(count)

    def sent(self, want: int = 0, **fields: Any) -> Any:
        """The octets of a batch, and the batch."""
        fields.setdefault("lease_ms", self.fleet.lease_ms)
        batch = self.ledger.batch()
        at = round(1000 * self.fleet.now)
        octets = arguments(batch, Wants(requests=want, **fields), self.fleet.now, at=at)
        return batch, octets, fields.get("seeds_key", "")

    def carry_out(self, octets: bytes, seeds_key: str = "") -> Reply:
        return reply_of(self.fleet.batch([PREFIX, seeds_key or PREFIX + "none"], [octets]))

    def talk(self, want: int = 0, **fields: Any) -> list[HeldRequest]:
        """Send a batch; return the popped requests."""
        batch, octets, seeds_key = self.sent(want, **fields)
        self.reply = reply = self.carry_out(octets, seeds_key)
        self.ledger.is_full = reply.is_full or reply.word == "full"
        if reply.word == "ok":
            self.ledger.confirmed(batch, reply.epoch, reply.last_id, reply.filtered)
            self.ledger.rests_seen, self.ledger.books = reply.rests_seen, reply.books
            for held in (*reply.popped, *reply.seeds):
                self.ledger.hold(held)
        elif reply.word == "gone":
            self.ledger.succeeded()
        elif reply.word == "epoch":
            self.ledger.began_anew()
        self.odd += odd_in(reply.aside)
        if reply.is_mender:
            self.mend()
        return [*reply.popped]

    def mend(self) -> None:
        """Run the recount, as the task of the worker does."""
        self.mend_count += 1
        has_more = True
        while has_more:
            at = round(1000 * self.fleet.now)
            octets = mend_arguments(self.ledger.name, self.fleet.lease_ms, at=at)
            has_more, aside = mended(self.fleet.mend_script([PREFIX], [octets]))
            self.odd += odd_in(aside)

    def lose(self, want: int = 0, **fields: Any) -> Reply:
        """Send a batch and lose its reply."""
        _, octets, seeds_key = self.sent(want, **fields)
        self.ledger.failed()
        return self.carry_out(octets, seeds_key)

    def finish(self, *some: HeldRequest) -> None:
        for held in some:
            self.ledger.done(held)


def odd_in(aside: Iterable[tuple[str, str]]) -> list[str]:
    """The keys that the script set aside."""
    keys = (what.partition(f"The key {PREFIX}")[2] for what, _ in aside)
    return [key for key in keys if key]


def urls(some: list[HeldRequest]) -> list[str]:
    return [held.payload.decode() for held in some]


def drained(worker: Worker, times: int = 20) -> list[HeldRequest]:
    """The requests that a worker gets in so many batches; it does each at once."""
    found = []
    for _ in range(times):
        got = worker.talk(9)
        found += got
        worker.finish(*got)
        worker.fleet.now += 0.11
    return found


def drain(*workers: Worker, times: int = 30) -> list[str]:
    """The requests that workers get until nothing is left; they do each at once."""
    found: list[str] = []
    for _ in range(times):
        for worker in workers:
            got = worker.talk(9, lanes=9)
            for lane, *_ in worker.reply.to_check:
                worker.settle(lane)
            found += urls(got)
            worker.finish(*got)
            worker.fleet.now += 1.0
    return found


def assert_over(worker: Worker) -> None:
    worker.talk(), worker.talk()
    assert (worker.reply.queued, worker.reply.flying) == (0, 0)
    assert worker.reply.idle_ms is not None


def popped(one: Worker, *some: str) -> HeldRequest:
    """The first of some requests to a site with a delay; it closes its lane."""
    one.queue(*some, delay_seconds=DELAY)
    (held,) = one.talk(9)
    return held

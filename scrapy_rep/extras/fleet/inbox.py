"""Processes replies of Redis: makes requests of entries, queues start URLs, checks lanes."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from scrapy import Request, Spider
from scrapy_redis.spiders import RedisMixin

from scrapy_rep.extras.fleet import fleet_stats as stats
from scrapy_rep.protocol.units import counted
from scrapy_rep.stats import Journal

from .batch import HeldRequest
from .batch_codec import Reply
from .fleet_lanes import FleetLanes
from .ledger import Ledger
from .packed_values import EntryRefused
from .request_codec import Entries

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

_SEEDS = 50


class Seeds:
    """Start URLs that users put into Redis for a spider of scrapy-redis.

    Such spiders take start URLs out of Redis before they are queued, and block the event loop while
    they wait for Redis. Here the script takes them instead: they are leased like requests, and
    done once their requests are queued.

    Attributes:
        key: the key where users put them; empty for other spiders.
        at_a_time: how many are taken in one batch.
    """

    def __init__(self, spider: Spider) -> None:
        self._spider: Any = spider
        self._left = 0
        self.key = ""
        self.at_a_time = 0
        if isinstance(spider, RedisMixin):
            self.key = str(spider.redis_key)
            self.at_a_time = min(int(spider.redis_batch_size or 16), _SEEDS)
            # Otherwise the spider would take some and wait for Redis whenever it is idle.
            spider.fetch_data = lambda _key, _count: []
            spider.count_size = lambda _key: self._left

    def count(self, left: int) -> None:
        """Note how many are left."""
        self._left = left

    def requests(self, data: bytes) -> Iterator[Request]:
        """The requests that the spider makes of a start URL.

        Raises:
            Exception: any error of the spider.
        """
        made = self._spider.make_request_from_data(data)
        if isinstance(made, Request):
            yield made
        elif isinstance(made, Iterable):
            yield from made


@dataclass(frozen=True, slots=True)
class Inbox:
    """Processes the replies that one worker gets."""

    crawler: Crawler
    ledger: Ledger
    entries: Entries
    seeds: Seeds
    lanes: FleetLanes
    journal: Journal

    def take(self, reply: Reply) -> None:
        """Process a reply."""
        self.seeds.count(reply.seeds_left)
        if reply.dead:
            self.journal.count(stats.FLEET_DEAD, reply.dead)
            words = "%s: three workers in a row were lost with each"
            dead = counted(reply.dead, "request is a dead letter", "requests are dead letters")
            self.journal.once("dead", words, f"{dead} now")
        now = time.monotonic()
        for held in reply.popped:
            self._receive(held, now)
        for held in reply.seeds:
            self._begin(held)
        for lane, sample, is_free in reply.to_check:
            self.lanes.check(lane, self._sample(sample), is_free=is_free)

    def _receive(self, held: HeldRequest, now: float) -> None:
        """Make a request of an entry; an entry that breaks a rule here is left to other workers."""
        self.ledger.hold(held, now)
        if held.deliveries > 1:
            self.journal.count(stats.FLEET_AGAIN)
        try:
            held.request = self.entries.read(held.payload)
        except EntryRefused as error:
            self.journal.count(stats.FLEET_PASSED_ON)
            self.ledger.set_aside(held, f"it is not executed: {error}")

    def _begin(self, held: HeldRequest) -> None:
        """Queue the requests that the spider makes of a start URL; then the URL is done."""
        self.ledger.hold(held)
        self.journal.count(stats.FLEET_SEEDS)
        engine = self.crawler.engine
        assert engine is not None  # noqa: S101 - it runs
        try:
            for request in self.seeds.requests(held.payload):
                engine.crawl(request)
        except Exception as error:  # noqa: BLE001 - it is the spider's
            self.journal.exception("No request was made from a start URL")
            self.ledger.set_aside(held, f"no request was made from it: {error}")
        else:
            self.ledger.done(held)

    def _sample(self, payload: bytes) -> Request | None:
        with suppress(EntryRefused):
            return self.entries.read(payload)
        return None

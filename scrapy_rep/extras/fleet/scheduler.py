"""The scheduler of a fleet: `SCHEDULER = "scrapy_rep.RepRedisScheduler"`.

It replaces the scheduler of scrapy-redis, and reads its settings. It answers Scrapy from the last
reply of Redis, and never blocks while it waits for Redis.
"""

from __future__ import annotations

import logging
import os
import secrets
import socket
import time
from collections import Counter, deque
from contextlib import suppress
from copy import copy
from typing import TYPE_CHECKING, Any, NoReturn

from scrapy import Request, Spider, signals
from scrapy.core.scheduler import Scheduler as OwnScheduler
from scrapy.dupefilters import RFPDupeFilter
from scrapy.exceptions import CloseSpider
from scrapy.utils.datatypes import LocalCache
from scrapy.utils.defer import deferred_from_coro
from scrapy.utils.misc import load_object
from scrapy_redis.scheduler import Scheduler
from twisted.internet.defer import Deferred

from scrapy_rep.cache.base import StoreError
from scrapy_rep.crawl import Crawl
from scrapy_rep.engine.downloader import Downloader, leave_inherited_slot
from scrapy_rep.engine.loops import sleep
from scrapy_rep.engine.refusals import refusals_in_one_line
from scrapy_rep.engine.state import is_closing, is_command, set_exit_status, stop, wake
from scrapy_rep.extras.fleet import fleet_stats as stats
from scrapy_rep.pace.drops import Drops
from scrapy_rep.pace.pacing import Pacing
from scrapy_rep.policies import Policies
from scrapy_rep.protocol.errors import ConfigurationError
from scrapy_rep.protocol.units import counted
from scrapy_rep.signals import STARTED
from scrapy_rep.stats import Journal

from .about import about, differences, identity
from .batch import HeldRequest, Push, PushKind
from .batch_codec import RefusedError, Reply, Wants
from .fleet_lanes import FleetLanes, lane_of
from .fleet_turns import FleetLinks, FleetTurns, Out
from .inbox import Inbox, Seeds
from .ledger import Ledger
from .link import LinkDownError, advice_on, passes
from .packed_values import EntryRefused
from .progress import can_take_more, is_starting
from .redis_opening import link_of
from .request_codec import ENTRY_OCTETS, Entries
from .scripts import prefix_of
from .talk import Talk

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from typing_extensions import Self

_AHEAD_SECONDS = 0.05  # how early a request is fetched; batches follow each other faster
_OPEN_SECONDS = 10.0  # the time limit for the first answer of Redis
_PASSING_SECONDS = 1800.0  # the same, while Redis loads its data or becomes the master
_CLOSE_SECONDS = 8.0  # the time limit for the last batches
_ENQUEUED, _DEQUEUED = "scheduler/enqueued/redis", "scheduler/dequeued/redis"  # scrapy-redis's
_DUPLICATES = "dupefilter/filtered"  # Scrapy's
_IS_START = "is_start_request"  # Scrapy's, in meta
_SEEN = 100_000
_POPS = 32  # the most requests that one batch brings: each costs Redis 40 us
_UNSENT = 2000  # a worker that has so many unsent requests gets no others
_ALARM_SECONDS = 60.0  # after this, an error is repeated
_STALL_SECONDS = 600.0  # if nothing changes for this time, a warning is logged
_ENDS = {"finished", "queue_lost"}  # the reasons of a crawl that ended by itself
_LOSSES = {"queue_lost", "dead_letters"}  # those of a crawl that lost requests
_LOSS_STATS = (stats.FLEET_LOST, stats.FLEET_FILTER_LOST)
_LOST_STATUS = 3  # the exit status after them
_ORDERS = {
    "pause": "An operator paused this crawl; 'scrapy rep fleet resume' goes on",
    "stop": "An operator stopped this crawl; its queue stays for the next run",
}
_AGAIN = "Their pages go back to the queue; start requests come again when the spider starts"
_ELSEWHERE = {
    "SCHEDULER_QUEUE_CLASS": "it has its own queue",
    "SCHEDULER_SERIALIZER": "requests are queued as msgpack, never as pickle",
    "JOBDIR": "queue and filter are in Redis, and SCHEDULER_PERSIST keeps them for the next run",
}


def is_start(request: Request) -> bool:
    """Whether `start` of the spider yielded a request that was not handed out yet."""
    return bool(request.meta.get(_IS_START)) and not request.meta.get(STARTED)


class Filter:
    """The fingerprints for the fleet's duplicate filter, with a local cache.

    Attributes:
        seen: the last fingerprints, so that a repeated link is not sent to Redis again.
    """

    def __init__(self, crawler: Crawler) -> None:
        self.seen: LocalCache[bytes, None] = LocalCache(_SEEN)
        self._crawler = crawler
        self._starts: Counter[bytes] = Counter()

    def of(self, request: Request) -> tuple[PushKind, bytes]:
        """How a request is filtered, and its fingerprint.

        Every worker's spider yields the same start requests, which Scrapy does not filter. The
        fleet queues each of them as often as a single spider yields it. A retry or the target of a
        redirect copies the meta of a start request, but must not be filtered like one.
        """
        if not request.dont_filter:
            return PushKind.FILTERED, self.fingerprint(request)
        if not is_start(request):
            return PushKind.UNFILTERED, b""
        fingerprint = self.fingerprint(request)
        self._starts[fingerprint] += 1
        return PushKind.START, b"%s.%d" % (fingerprint, self._starts[fingerprint])

    def hand_out(self, request: Request) -> None:
        """Mark a request that is handed out: its retries are not start requests."""
        if request.meta.get(_IS_START):
            request.meta[STARTED] = True

    def fingerprint(self, request: Request) -> bytes:
        """Scrapy's fingerprint of a request."""
        fingerprinter = self._crawler.request_fingerprinter
        assert fingerprinter is not None  # noqa: S101 - a crawl that has begun has one
        return fingerprinter.fingerprint(request)


class RepRedisScheduler(Scheduler):  # type: ignore[misc]
    """One queue, one duplicate filter and one pace for all workers of a crawl, in Redis.

    It reads these settings of scrapy-redis: `SCHEDULER_QUEUE_KEY` (which names the crawl),
    `SCHEDULER_PERSIST`, `SCHEDULER_FLUSH_ON_START` and `SCHEDULER_IDLE_BEFORE_CLOSE`.
    """

    keeps_pace_over_fleet = True
    spider_middleware = FleetLinks

    @classmethod
    @refusals_in_one_line(at_once=True)
    def from_crawler(cls, crawler: Crawler) -> Self | OwnScheduler:
        """Build from a crawler; Scrapy's own scheduler for a command that does not crawl.

        Raises:
            ConfigurationError: a setting is wrong, or contradicts another.
        """
        if is_command(crawler):
            if crawler.spider is not None:
                Seeds(crawler.spider)  # otherwise a RedisSpider would take start URLs
            words = "A command that does not crawl uses Scrapy's own scheduler and duplicate filter"
            Journal(crawler, __name__).info("%s, not those of the fleet", words)
            return OwnScheduler.from_crawler(crawler)
        return cls(crawler)

    def __init__(self, crawler: Crawler) -> None:
        _check(crawler)
        settings = crawler.settings
        self.stats: Any = crawler.stats
        self.persist = settings.getbool("SCHEDULER_PERSIST")
        self.flush_on_start = settings.getbool("SCHEDULER_FLUSH_ON_START")
        self.idle_before_close = settings.getfloat("SCHEDULER_IDLE_BEFORE_CLOSE")
        self._crawler = crawler
        crawl = Crawl.of(crawler)
        self._settings = crawl.settings
        self.lease_seconds = crawl.settings.fleet_lease_seconds
        self._link = crawl.part(link_of)
        self._downloader = Downloader(crawler)
        self._host = socket.gethostname()
        self._ledger = Ledger(f"{self._host}:{os.getpid()}:{secrets.token_hex(4)}")
        self._filter = Filter(crawler)
        self._journal = Journal(crawler, __name__)
        self._was_idle = False
        self._memory_policy = ""
        self._kept_count = 0
        self._most_kept = max(1, settings.getint("CONCURRENT_REQUESTS") // 2)
        self._is_joined = False
        self._order, self._dropped_at = "", ""
        self._dropped: deque[Request] = deque()  # to a dropped origin: the middleware refuses them
        self._told_at: dict[str, float] = {}
        self._rest: Reply | None = None  # what it leaves as the last worker
        self._counts, self._changed_at = (0, 0, 0), 0.0

    # Scrapy's interface

    def open(self, spider: Spider) -> Deferred[None]:
        """Join the fleet.

        Raises:
            ConfigurationError: this release of Scrapy is not supported; or, in the Deferred, Redis
                does not answer.
        """
        self.spider = spider
        settings, crawler = self._settings, self._crawler
        self._entries = Entries(spider)
        self._seeds = Seeds(spider)
        with refusals_in_one_line():
            prefix = prefix_of(crawler.settings.get("SCHEDULER_QUEUE_KEY"), spider.name)
        self._talk = Talk(self._link, prefix, self._ledger, self, self._journal)
        crawl = Crawl.of(crawler)
        self._drops, pacing = crawl.find(Drops), crawl.find(Pacing)
        is_fleet_wide = settings.pace_scope == "fleet"
        self._lanes = FleetLanes(self._ledger, crawler, is_fleet_wide=is_fleet_wide)
        self._out = Out(crawler, self._ledger, self._talk)
        self._inbox = Inbox(
            crawler, self._ledger, self._entries, self._seeds, self._lanes, self._journal
        )
        self._turns = FleetTurns(self._ledger, self._talk, self._lanes, self._out)
        self._out.follow()
        crawler.signals.connect(self._idle, signal=signals.spider_idle)
        crawler.signals.connect(self._tell_of_rest, signal=signals.engine_stopped)
        if pacing is not None:
            pacing.gate = self._turns
            if is_fleet_wide:
                pacing.backoff.listen(self._lanes.rested)
            policies = crawl.part(Policies)
            policies.listen(self._lanes.settled)
            policies.listen(lambda _: self._talk.wake())
        self._link.open()
        return deferred_from_coro(self._join())

    async def _join(self) -> None:
        with refusals_in_one_line():
            reply = await self._first_reply()
        if reply.queued or reply.is_counting:
            words = counted(reply.queued, "request") + " queued"
            known = "its requests are being counted" if reply.is_counting else words
            self._journal.info("Resuming crawl (%s)", known)
        self._memory_policy = await self._link.memory_policy()
        if self._deletes_keys:
            self._journal.warning(
                "The maxmemory-policy of Redis at %s is %s: without free memory, it deletes keys "
                "that this crawl needs. Set it to noeviction",
                self._link.address,
                self._memory_policy,
            )
        self._is_joined = True
        self._talk.begin()

    async def _first_reply(self) -> Reply:
        patience = time.monotonic() + _OPEN_SECONDS
        longest = time.monotonic() + _PASSING_SECONDS
        while True:
            reply = None
            with suppress(StoreError):
                reply = await self._talk.send_batch(self._wants(requests=0))
            if isinstance(self._talk.problem, RefusedError):
                raise ConfigurationError(f"{self._talk.problem}. {self._clearing} the old crawl")
            if reply is not None and reply.word == "ok":
                return reply
            if reply is not None:  # an earlier crawl is being cleared, or was
                patience = time.monotonic() + _OPEN_SECONDS
                self.flush_on_start &= reply.word != "flush"
            elif passes(self._talk.problem) and time.monotonic() < longest:
                patience = time.monotonic() + _OPEN_SECONDS
                if self._is_time("passes", _ALARM_SECONDS):
                    words = "This worker waits until Redis is ready: %s"
                    self._journal.warning(words, self._talk.problem)
            elif time.monotonic() > patience:
                problem = self._talk.problem or LinkDownError("Redis does not answer")
                words = f"{str(problem).rstrip('.')}; {advice_on(problem)}"
                raise ConfigurationError(f"REP_REDIS_URL: {words}")
            await sleep(0.1)

    @property
    def _clearing(self) -> str:
        clear = f"'scrapy rep fleet clear --spider {self.spider.name}'"
        return f"{clear} or SCHEDULER_FLUSH_ON_START = True deletes"

    @property
    def _deletes_keys(self) -> bool:
        """Whether Redis, without free memory, deletes keys that have no expiry."""
        return self._memory_policy.startswith("allkeys-")

    def close(self, reason: str) -> Deferred[None]:
        """Leave the fleet: send unsent requests, and give back requests that were not begun."""
        if self._ledger.kept:
            words = "%s not written to Redis and not fetched before this worker stopped"
            kept = counted(len(self._ledger.kept), "request was", "requests were")
            self._journal.warning(f"{words} (rep/fleet/in_memory). {_AGAIN}", kept)
        if reason in _LOSSES or any(map(self.stats.get_value, _LOSS_STATS)):
            set_exit_status(_LOST_STATUS)
        return deferred_from_coro(self._leave(reason))

    def _idle(self) -> None:
        reply = self._talk.reply
        if reply is None:
            return
        if reply.lost or reply.filter_lost:
            if self.stats.get_value(stats.FLEET_LOST, 0) != reply.lost:  # a spider may wait on
                is_estimate = self.stats.get_value(stats.FLEET_EMPTIED)  # some may have come back
                self._journal.error(
                    "%s%s in Redis, and not fetched: another program deleted keys there, or Redis "
                    "evicted them, was emptied or was restored from an older copy. The next run "
                    "fetches those that it finds again",
                    "Up to " if is_estimate else "",
                    counted(reply.lost, "request was lost", "requests were lost"),
                )
                self.stats.set_value(stats.FLEET_LOST, reply.lost)
            raise CloseSpider("queue_lost")
        if reply.letters:
            raise CloseSpider("dead_letters")

    async def _leave(self, reason: str) -> None:
        try:
            if self._talk.reply is None:
                return  # it has never joined
            await self._talk.stop()
            self._ledger.give_back()
            flushes = reason in _ENDS and not self.persist
            if pages := sum(not held.is_turn for held in self._ledger.held.values()):
                words = "%s back to the queue: some of their links or files are left out"
                self._journal.warning(words, counted(pages, "page goes", "pages go"))
            ends_at = time.monotonic() + _CLOSE_SECONDS
            is_last = False
            while not is_last:
                is_last = time.monotonic() > ends_at
                leaves = is_last or not (self._ledger.unsent_count or self._ledger.has_reports)
                wants = self._wants(requests=0, leaves=leaves, flushes=flushes)
                reply = await self._talk.send_batch(wants)
                if leaves and reply is not None and reply.word in ("ok", "flush"):
                    has_rest = reply.queued + reply.flying + reply.seeds_left + reply.letters > 0
                    if not reply.workers and (has_rest or reason not in _ENDS):
                        self._rest = reply
                    break
                if reply is None or reply.word != "ok" or self._ledger.is_full:
                    await sleep(0.1)
            self._tell_of_unsent(reply)
        except StoreError as error:
            self._journal.warning("The crawl could not be cleared: %s", error)
        finally:
            await self._link.close()

    def _tell_of_unsent(self, reply: Reply | None) -> None:
        """Log how many requests did not come into the queue, and the reason."""
        count, problem = self._ledger.unsent_count, f"answers, but {_CLOSE_SECONDS:g} s are over"
        if reply is None:
            problem = "does not answer, so other workers wait for the end of this worker's lease"
        elif self._ledger.is_full:
            problem = "has no memory left"
        if count or reply is None:
            unsent = counted(count, "request was", "requests were")
            self._journal.warning(f"Redis {problem}: %s not queued. {_AGAIN}", unsent)

    def _tell_of_rest(self) -> None:
        """Log what the last worker leaves in Redis, and what to do with it."""
        if (rest := self._rest) is None:
            return
        name, waiting = self.spider.name, rest.queued + rest.flying
        advice = [f"{self._clearing} all this"]
        if rest.letters:
            shown = f"'scrapy rep fleet --spider {name} --dead 20' shows the dead letters"
            back = f"'scrapy rep fleet requeue --spider {name}' puts them back"
            advice.insert(0, f"{shown}, and {back}")
        if waiting or rest.seeds_left or not rest.letters:
            advice.insert(0, "To go on, run the spider again")
        self._journal.warning(
            "The crawl stays in Redis: %s (%d of them with workers that do not "
            "answer), %s and %s. %s",
            counted(waiting, "request waits", "requests wait"),
            rest.flying,
            counted(rest.seeds_left, "start URL"),
            counted(rest.letters, "dead letter"),
            ". ".join(advice),
        )

    def __len__(self) -> int:
        return self._talk.reply.queued if self._talk.reply is not None else 0

    def enqueue_request(self, request: Request) -> bool:
        """Queue a request, or keep it if it can't be written; return False for a duplicate."""
        leave_inherited_slot(request)
        cause = self._out.cause_of(request)
        if self._drops and self._drops.verdict(request.url) is not None:
            self._dropped.append(request)
            return True
        kind, fingerprint = self._filter.of(request)
        is_left_out = is_start(request) and self._talk.reply and self._talk.reply.only_letters
        if is_left_out or (kind is PushKind.FILTERED and fingerprint in self._filter.seen):
            self._journal.count(_DUPLICATES)
            return False
        try:
            payload = self._entries.write(request)
        except EntryRefused as error:
            push = self._kept(request, kind, fingerprint, str(error))
        else:
            if kind is PushKind.FILTERED:
                self._filter.seen[fingerprint] = None
            lane = lane_of(request)
            push = Push(lane, request.priority, kind, fingerprint, payload)
            self._lanes.queues_again(lane)
            self._journal.count(_ENQUEUED)
        self._ledger.push(push, cause, is_start=is_start(request))
        self._talk.wake()
        return True

    def _kept(self, request: Request, kind: PushKind, fingerprint: bytes, reason: str) -> Push:
        """The push of a request that stays here; Redis filters it, and notes this worker."""
        self._journal.count(stats.FLEET_IN_MEMORY)
        words = "%s stays in the memory of this worker, because it can't be written to Redis: %s"
        self._journal.once(reason, words, request, reason, level=logging.WARNING)
        self._kept_count += 1
        id_ = f"{self._ledger.name}!{self._kept_count}"
        held = HeldRequest(id_, "", 0.0, 1, b"", is_kept=True)
        held.request = copy(request)  # a spider may yield one request twice
        return Push("", 0, kind, fingerprint, b"", held)

    def next_request(self) -> Request | None:
        """The next request of the buffer, unless another worker may have it already."""
        if self._dropped:
            return self._dropped.popleft()
        may_be_kept = bool(self._ledger.kept) and self._out.kept_count < self._most_kept
        may_begin = self._talk.is_leased and not self._order
        held = self._ledger.take(may_be_kept=may_be_kept) if may_begin else None
        if held is None:
            self._talk.hunger()
            return None
        request: Request = held.request
        self._filter.hand_out(request)
        self._out.add(held)
        self._journal.count(_DEQUEUED)
        return request

    def has_pending_requests(self) -> bool:
        """Whether the fleet has work, or had work a short time ago."""
        reply = self._talk.reply
        if reply is None or reply.idle_ms is None or self._dropped or self._order:
            return True
        has_own = self._ledger.unsent_count or self._ledger.held
        return bool(has_own) or reply.idle_ms < 1000 * self.idle_before_close

    # What the replies bring

    def wants(self) -> Wants:
        """The wants of this worker for the next batch."""
        return self._wants(requests=self._free_places())

    def _wants(self, *, requests: int, **fields: Any) -> Wants:
        is_over = is_closing(self._crawler)
        is_open = not (is_over or self._order) and self._talk.reply is not None
        return Wants(
            requests=requests,
            lanes=self._lanes.free_places if is_open else 0,
            seeds=self._seeds.at_a_time if requests else 0,
            seeds_key=self._seeds.key,
            lease_ms=round(1000 * self.lease_seconds),
            is_busy=not is_over and is_starting(self._crawler),
            is_fresh=self.flush_on_start,
            host=self._host,
            about="" if self._ledger.epoch else about(self._crawler),
            spider=identity(self._crawler),
            longest=ENTRY_OCTETS,
            ahead_ms=round(1000 * _AHEAD_SECONDS),
            dropped_at=self._dropped_at,
            **fields,
        )

    def _free_places(self) -> int:
        has_enough = self._ledger.unsent_count >= _UNSENT
        if self._order or has_enough or not can_take_more(self._crawler):
            return 0
        return min(_POPS, max(0, self._downloader.free_places - len(self._ledger.buffer)))

    def got(self, reply: Reply) -> None:
        """Process the reply of a batch."""
        self.flush_on_start = False
        self._journal.count(stats.FLEET_BATCHES)
        self._journal.count(_DUPLICATES, len(reply.filtered))
        if self._settings.pace_scope == "fleet":
            self._lanes.take_over(reply.rests)
        self._lanes.heed_probes(reply.probes)
        self._obey(reply)
        self._turns.heed(reply.turns)
        self._inbox.take(reply)
        if reply.filter_lost:
            self.stats.set_value(stats.FLEET_FILTER_LOST, reply.filter_lost)
            words = "The filter in Redis lost %s, so pages may be fetched again: set %s"
            lost = counted(reply.filter_lost, "fingerprint")
            self._journal.once("filter", words, lost, "its maxmemory-policy to noeviction")
        is_idle = reply.idle_ms is not None
        if is_idle and not self._was_idle:
            self._ledger.push_spares()
        self._was_idle = is_idle
        is_news = reply.popped or reply.seeds or reply.rests or self._ledger.kept
        if is_news or is_idle:
            wake(self._crawler)
        if reply.about:
            words = "; ".join(differences(about(self._crawler), reply.about))
            self._journal.warning(
                "Another worker of the crawl %s differs: %s", self._talk.prefix, words
            )
        self._watch(reply)

    def _obey(self, reply: Reply) -> None:
        """Follow the orders of an operator."""
        if reply.dropped is not None:
            self._dropped_at = reply.dropped_at
            names = ", ".join(reply.dropped) or "none"
            self._journal.warning("Origins that an operator dropped: %s", names)
            if self._drops is None:
                words = "Without ROBOTSTXT_OBEY, only their queued requests are dropped"
                self._journal.error(words)
            else:
                self._drops.set(reply.dropped)
        if reply.order != self._order:
            words = _ORDERS.get(reply.order, "An operator lets this crawl go on")
            self._journal.warning(words)
            self._order = reply.order
            if self._order:
                self._downloader.recall(self._out.__contains__)
            if self._is_joined:
                wake(self._crawler)
        if reply.order == "stop" and self._is_joined:
            stop(self._crawler, "fleet_stopped")

    def _watch(self, reply: Reply) -> None:
        """Log a warning, again and again, while nothing changes in the whole fleet."""
        now, counts = time.monotonic(), (reply.queued, reply.flying, reply.last_id)
        if counts != self._counts or not reply.queued + reply.flying or reply.order:
            self._counts, self._changed_at = counts, now
        elif now > self._changed_at + _STALL_SECONDS and self._is_time("stall", _STALL_SECONDS):
            self._journal.warning(
                "No request began or ended in %d min (queued: %d, in workers: %d). 'scrapy rep "
                "fleet' shows where they wait",
                (now - self._changed_at) // 60,
                reply.queued,
                reply.flying,
            )

    def _is_time(self, alarm: str, seconds: float) -> bool:
        """Whether an alarm is due; it was not given for these seconds."""
        now = time.monotonic()
        is_due = now >= self._told_at.get(alarm, -seconds) + seconds
        if is_due:
            self._told_at[alarm] = now
        return is_due

    def found_full(self) -> None:
        """Log that Redis has no memory left, so that requests wait in this worker."""
        self._journal.count(stats.FLEET_FULL)
        if self._is_time("full", _ALARM_SECONDS):
            self._journal.error(
                "Redis at %s has no memory left: in this worker, %s to be queued, and the crawl "
                "slows down. Raise maxmemory, or delete other keys",
                self._link.address,
                counted(self._ledger.unsent_count, "request waits", "requests wait"),
            )

    def was_succeeded(self) -> None:
        """Begin again, because other workers got this worker's requests."""
        self._out.clear()
        self._filter.seen.clear()
        self._journal.count(stats.FLEET_SUCCEEDED)
        self._journal.warning(
            "This worker had no contact with Redis for %g s (REP_FLEET_LEASE_SECONDS), so other "
            "workers got its requests: it goes on as a new worker",
            self.lease_seconds,
        )

    def begins_anew(self) -> None:
        """Bring this worker's requests back to a Redis that has lost them."""
        self._filter.seen.clear()
        self._journal.count(stats.FLEET_EMPTIED)
        if self._is_time("emptied", _ALARM_SECONDS):
            policy = f" (its maxmemory-policy is {self._memory_policy}: set it to noeviction)"
            self._journal.warning(
                "Redis was emptied or restored from an older copy%s: the requests of this worker "
                "are written again",
                policy if self._deletes_keys else "",
            )


def _check(crawler: Crawler) -> None:
    """Refuse settings that would be ignored.

    Raises:
        ConfigurationError: such a setting is set; the message says how to fix it.
    """
    settings = crawler.settings
    if not settings.get("REP_REDIS_URL"):
        raise ConfigurationError(
            "RepRedisScheduler needs REP_REDIS_URL, such as redis://localhost:6379/0"
        )
    for name, reason in _ELSEWHERE.items():
        if settings.get(name):
            _refuse_setting(name, reason)
    if load_object(settings["DUPEFILTER_CLASS"]) is not RFPDupeFilter:
        _refuse_setting("DUPEFILTER_CLASS", "it has its own filter, which works with its queue")


def _refuse_setting(name: str, reason: str) -> NoReturn:
    raise ConfigurationError(f"{name} has no effect with RepRedisScheduler ({reason}): remove it")

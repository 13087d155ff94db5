"""The queue alone: whose request is next, and what becomes of those who wait."""

from __future__ import annotations

import time
from hashlib import md5
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from scrapy import Request, signals
from scrapy.pqueues import DownloaderAwarePriorityQueue
from scrapy.squeues import FifoMemoryQueue, PickleFifoDiskQueue
from scrapy.utils.test import get_crawler

from scrapy_rep import ConfigurationError, RepPriorityQueue
from scrapy_rep.engine.slots import Slots
from scrapy_rep.protocol.access.origin import Origin
from scrapy_rep.queue.asking import Asking
from scrapy_rep.queue.readiness import OriginState, Outlook
from scrapy_rep.queue.targets import folder_of, target_named
from tests.test_slots import Downloader

URLS = [f"http://{host}.example/{number}" for number in range(3) for host in "abc"]


class FakePolicies:
    def __init__(self) -> None:
        self.listeners: list[Any] = []

    def listen(self, listener: Any) -> None:
        self.listeners.append(listener)


class FakeReadiness:
    """Says what the test says of each host; ready where it says nothing."""

    def __init__(self, slots: Slots) -> None:
        self.slots = slots
        self.policies = FakePolicies()
        self.prefetch_origins = 0
        self.concurrent_fetches = 64
        self.kept_origins = 1000
        self.queued: set[str] = set()
        self.outlooks: dict[str, Outlook] = {}
        self.asked: list[tuple[str, str]] = []
        self.origins: dict[str, Origin] = {}

    def of(self, origin: Origin | None, key: str) -> Outlook:
        return self.outlooks.get(origin.host if origin else "", Outlook(OriginState.READY))

    def ask(self, origin: Origin, request: Request | None) -> None:
        self.asked.append((origin.host, request.url if request else ""))
        self.origins[origin.host] = origin
        self.outlooks[origin.host] = Outlook(OriginState.ASKED)

    def is_queued(self, origin: Origin) -> bool:
        return origin.host in self.queued

    def tell_of_wait(self, origin: Origin | None, outlook: Outlook, count: int) -> None:
        pass

    def settle(self, host: str, state: OriginState = OriginState.READY) -> None:
        self.outlooks[host] = Outlook(state)
        for listener in self.policies.listeners:
            listener(self.origins.get(host, Origin("http", host, 80)))


class OtherQueue(FifoMemoryQueue):  # type: ignore[misc,valid-type]
    """A class of the user's, which is not known to be as harmless as Scrapy's."""


class Setup:
    def __init__(
        self,
        folder: str = "",
        state: Any = None,
        kind: Any = FifoMemoryQueue,
        start_kind: Any = None,
    ) -> None:
        self.crawler = get_crawler(settings_dict={"CONCURRENT_REQUESTS_PER_DOMAIN": 8})
        self.downloader = Downloader()
        self.crawler.engine = SimpleNamespace(downloader=self.downloader, spider=None)  # type: ignore[assignment]
        self.readiness = FakeReadiness(Slots(self.crawler))
        self.queue = RepPriorityQueue(
            self.crawler,
            kind,
            folder,
            state,
            start_queue_cls=start_kind,
            readiness=self.readiness,  # type: ignore[arg-type]
        )

    def push(self, *urls: str, **arguments: Any) -> None:
        for url in urls:
            self.queue.push(Request(url, **arguments))

    def pop(self, count: int = 100, *, stays: bool = False) -> list[str]:
        """The next URLs; whether each stays under way, or has ended by the next."""
        popped: list[str] = []
        while len(popped) < count and (request := self.queue.pop()) is not None:
            popped.append(request.url)
            if stays:
                self.downloader.active.add(request)
        return popped


def test_hosts_take_turns() -> None:
    setup = Setup()
    setup.push(*sorted(URLS))
    assert len(setup.queue) == 9
    assert "a.example" in setup.queue
    assert setup.pop() == URLS
    assert len(setup.queue) == 0
    assert "a.example" not in setup.queue


class TestEmptied:
    """A lane that was emptied last is kept in memory, and is nobody's until its next request."""

    def test_its_next_request_takes_it_again(self) -> None:
        setup = Setup()
        for url in ("http://a.example/0", "http://a.example/1", "http://a.example/2"):
            setup.push(url)
            assert len(setup.queue) == 1
            assert "a.example" in setup.queue
            assert setup.pop() == [url]
            assert len(setup.queue) == 0
            assert "a.example" not in setup.queue
        assert [lane.name for lane in setup.queue._lanes] == ["http://a.example a.example"]

    def test_another_one_takes_its_place(self) -> None:
        setup = Setup()
        for host in "abc":
            setup.push(f"http://{host}.example/")
            setup.pop()
        assert [lane.name for lane in setup.queue._lanes] == ["http://c.example c.example"]
        assert setup.queue._lanes.slot("a.example") is None

    def test_others_of_its_slot_stay(self) -> None:
        setup = Setup()
        setup.push("http://a.example/", "https://a.example/", "https://a.example/1")
        assert setup.pop(1) == ["http://a.example/"]
        assert "a.example" in setup.queue
        assert setup.pop(2) == ["https://a.example/", "https://a.example/1"]
        assert "a.example" not in setup.queue

    def test_its_robots_txt_is_asked_for_anew(self) -> None:
        setup = Setup()
        setup.readiness.prefetch_origins = 1
        setup.push("http://a.example/0")
        setup.pop()
        setup.readiness.outlooks["a.example"] = Outlook(OriginState.UNASKED)
        setup.push("http://a.example/1")
        assert setup.pop() == []
        assert setup.readiness.asked == [("a.example", "http://a.example/1")]
        setup.readiness.settle("a.example")
        assert setup.pop() == ["http://a.example/1"]

    def test_what_changes_in_its_slot_wakes_nobody(self) -> None:
        setup = Setup()
        setup.push("http://a.example/0")
        setup.pop()
        setup.queue._slot_changed("a.example")
        assert not setup.queue._changed

    def test_closing(self) -> None:
        setup = Setup()
        setup.push("http://a.example/0")
        setup.pop()
        assert setup.queue.close() == {}
        setup.push("http://a.example/1")
        assert setup.pop() == ["http://a.example/1"]

    def test_on_disk_it_goes_with_its_folder(self, tmp_path: Path) -> None:
        setup = Setup(str(tmp_path), kind=PickleFifoDiskQueue)
        setup.push("http://a.example/0")
        setup.pop()
        assert not list(setup.queue._lanes)
        assert not list(tmp_path.iterdir())


def test_the_least_active_host_is_first() -> None:
    setup = Setup()
    setup.push(*(f"http://a.example/{number}" for number in range(6)))
    assert len(setup.pop(3, stays=True)) == 3
    setup.push("http://b.example/0", "http://b.example/1")
    assert setup.pop(3, stays=True) == [
        "http://b.example/0",
        "http://b.example/1",
        "http://a.example/3",
    ]


def test_a_host_has_no_more_than_its_places() -> None:
    setup = Setup()
    setup.push(*(f"http://a.example/{number}" for number in range(12)))
    assert len(setup.pop(stays=True)) == 8
    assert setup.queue.pop() is None
    setup.downloader.active.pop()  # dropped by a middleware: no signal tells
    assert len(setup.pop(stays=True)) == 1
    assert len(setup.queue) == 3


def test_priorities_within_an_origin_and_origins_within_a_host() -> None:
    setup = Setup()
    setup.push("http://a.example/low", "http://a.example:81/low")
    setup.push("http://a.example/high", "http://a.example:81/high", priority=1)
    paths = [url.partition("example")[2] for url in setup.pop()]
    assert paths == ["/high", ":81/high", "/low", ":81/low"]


def test_peek_takes_nothing() -> None:
    setup = Setup()
    assert setup.queue.peek() is None
    setup.push(*URLS)
    assert [setup.queue.peek().url, setup.queue.peek().url] == [URLS[0]] * 2  # type: ignore[union-attr]
    assert setup.pop() == URLS


def test_who_waits_stays_and_others_go_on() -> None:
    setup = Setup()
    setup.readiness.outlooks["a.example"] = Outlook(OriginState.UNASKED)
    setup.readiness.outlooks["b.example"] = Outlook(OriginState.HELD, float("inf"))
    setup.push(*URLS)
    setup.push("http://a.example/exempt", meta={"dont_obey_robotstxt": True})
    setup.push("http://a.example/robots.txt", "data:,x")
    assert setup.readiness.asked == [], "not before it is needed"
    popped = setup.pop()
    assert sorted(popped) == sorted(
        [url for url in URLS if "c.example" in url]
        + ["http://a.example/exempt", "http://a.example/robots.txt", "data:,x"]
    )
    assert setup.readiness.asked == [("a.example", "http://a.example/0")]
    assert (len(setup.queue), setup.queue.pop()) == (6, None)
    setup.readiness.settle("a.example")
    assert setup.pop() == [url for url in URLS if "a.example" in url]
    assert len(setup.queue) == 3


def test_a_policy_that_is_gone_is_asked_for_again() -> None:
    setup = Setup()
    setup.push(*URLS[:4])
    setup.readiness.outlooks["a.example"] = Outlook(OriginState.UNASKED)
    assert setup.pop() == URLS[1:3]
    assert [host for host, _ in setup.readiness.asked] == ["a.example"]
    setup.readiness.settle("a.example", OriginState.UNASKED)  # evicted at once
    assert setup.pop() == [URLS[0]], "or it might be asked for for ever"
    assert len(setup.readiness.asked) == 2
    setup.readiness.settle("a.example")
    assert setup.pop() == [URLS[3]]


@pytest.mark.parametrize("state", [OriginState.READY, OriginState.ASKED, OriginState.HELD])
def test_who_needs_no_robots_txt_by_the_turn_is_not_lost(state: OriginState) -> None:
    """A browser has asked for it meanwhile, say, and no event told the queue."""
    setup = Setup()
    setup.readiness.outlooks["a.example"] = Outlook(OriginState.UNASKED)
    setup.push(URLS[0])
    setup.readiness.outlooks["a.example"] = Outlook(state, 0.0)
    first = setup.pop()
    setup.readiness.settle("a.example")
    assert first + setup.pop() == [URLS[0]]
    assert setup.readiness.asked == []
    assert len(setup.queue) == 0


def test_the_engine_is_woken_when_a_slot_has_sent_a_request() -> None:
    """Its next one has a time of its own then, which may be long before the answer."""
    setup = Setup()
    woken: list[str] = []
    setup.crawler.engine.spider = object()  # type: ignore[assignment]
    setup.crawler.engine._slot = SimpleNamespace(  # type: ignore[assignment]
        closing=None, nextcall=SimpleNamespace(schedule=lambda: woken.append("engine"))
    )
    setup.push(*URLS)
    request = setup.queue.pop()
    assert request is not None
    assert woken == []
    request.meta["download_slot"] = "a.example"
    setup.crawler.signals.send_catch_log(signals.request_reached_downloader, request=request)
    assert woken


@pytest.mark.parametrize("url", ["http://:0/x", "http://a.example:0/x", "http:///x"])
def test_what_names_no_origin_is_handed_out(url: str) -> None:
    """The middleware drops it, and says why."""
    setup = Setup()
    setup.push(url)
    assert setup.pop() == [Request(url).url]


def test_the_pace_of_an_origin_holds_from_when_it_is_known() -> None:
    """Also if nothing is popped before its policy is evicted again."""
    setup = Setup()
    setup.readiness.outlooks["a.example"] = Outlook(OriginState.UNASKED)
    setup.push(URLS[0])
    assert setup.pop() == []
    looked: list[tuple[str, str]] = []
    of = setup.readiness.of

    def note(origin: Origin | None, key: str) -> Outlook:
        looked.append((str(origin), key))
        return of(origin, key)

    setup.readiness.of = note  # type: ignore[method-assign]
    setup.readiness.settle("a.example")
    assert looked == [("http://a.example", "a.example")]


def test_the_engine_is_woken_at_the_first_of_the_times(monkeypatch: pytest.MonkeyPatch) -> None:
    alarms: list[Any] = []

    def call_later(seconds: float, call: Any) -> Any:
        alarm = SimpleNamespace(seconds=seconds, call=call)
        alarm.cancel = lambda: alarms.remove(alarm)
        alarms.append(alarm)
        return alarm

    monkeypatch.setattr("scrapy_rep.queue.alarm.call_later", call_later)
    setup = Setup()
    woken: list[str] = []
    setup.crawler.engine.spider = object()  # type: ignore[assignment]
    setup.crawler.engine._slot = SimpleNamespace(  # type: ignore[assignment]
        closing=None, nextcall=SimpleNamespace(schedule=lambda: woken.append("engine"))
    )
    for host, seconds, first in (("a", 1000, 1000), ("b", 100, 100), ("c", 500, 100)):
        setup.readiness.outlooks[f"{host}.example"] = Outlook(
            OriginState.HELD, time.time() + seconds
        )
        setup.push(f"http://{host}.example/")
        assert setup.pop() == []
        (alarm,) = alarms
        assert first - 50 < alarm.seconds <= first
    woken.clear()
    alarms.pop().call()
    assert woken
    assert setup.pop() == []
    assert len(alarms) == 1
    setup.queue.close()
    assert alarms == []


def test_a_request_that_can_t_be_read_keeps_nobody_waiting(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its callback is gone, say."""

    def fail(_: Any) -> None:
        raise KeyError

    monkeypatch.setattr(OtherQueue, "peek", fail)
    setup = Setup(kind=OtherQueue)
    setup.readiness.outlooks["a.example"] = Outlook(OriginState.UNASKED)
    setup.push(URLS[0])
    assert setup.pop() == []
    assert setup.readiness.asked == [("a.example", "")]
    setup.readiness.settle("a.example")
    assert setup.pop() == [URLS[0]]


def test_what_was_looked_at_before_is_still_there_for_robots_txt() -> None:
    """Queues in memory hold nothing any more once they were closed."""
    setup = Setup(kind=OtherQueue)
    setup.push(*(f"http://a.example/{number}" for number in range(3)))
    assert setup.queue.peek() is not None
    setup.readiness.outlooks["a.example"] = Outlook(OriginState.UNASKED)
    assert setup.pop() == []
    assert setup.readiness.asked == [("a.example", "http://a.example/0")]
    setup.readiness.settle("a.example")
    assert setup.pop() == [f"http://a.example/{number}" for number in range(3)]


class Woken(Setup):
    """Counts how often the engine is told to ask again."""

    def __init__(self, **arguments: Any) -> None:
        super().__init__(**arguments)
        self.woken_count = 0
        self.crawler.engine.spider = object()  # type: ignore[assignment]
        self.crawler.engine._slot = SimpleNamespace(  # type: ignore[assignment]
            closing=None, nextcall=SimpleNamespace(schedule=self._wake)
        )

    def _wake(self) -> None:
        self.woken_count += 1


def test_many_requests_that_are_lost_keep_the_loop_for_a_while_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    setup = Woken(kind=OtherQueue)
    setup.push(*(f"http://h{number}.example/" for number in range(150)))
    for lane in list(setup.queue._lanes)[:-1]:
        monkeypatch.setattr(lane.requests, "pop", [].pop)
    assert setup.queue.pop() is None
    assert setup.woken_count == 1, "or the rest would wait for the engine's own timer"
    assert len(setup.queue) == 50
    assert setup.pop() == ["http://h149.example/"]


def test_a_queue_that_cannot_return_a_request_now_is_asked_later(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its disk is full, say: it would be the first again and again."""
    setup = Setup(kind=OtherQueue)
    setup.push(URLS[0])
    (lane,) = setup.queue._lanes
    tries: list[str] = []

    def take() -> None:
        tries.append("one")
        lane.requests.is_stuck = True

    monkeypatch.setattr(lane.requests, "take", take)
    assert setup.queue.pop() is None
    assert setup.queue.pop() is None
    assert tries == ["one"]
    assert len(setup.queue) == 1
    monkeypatch.undo()
    now = time.monotonic()
    monkeypatch.setattr("scrapy_rep.queue.priority_queue.time.monotonic", lambda: now + 5)
    assert setup.pop() == [URLS[0]]


def test_a_slot_that_became_ready_during_a_look_has_the_engine_ask_again() -> None:
    setup = Woken()
    setup.readiness.outlooks["a.example"] = Outlook(OriginState.UNASKED)
    setup.push(URLS[0])
    ask = setup.readiness.ask

    def ask_and_change(origin: Origin, request: Request | None) -> None:
        ask(origin, request)
        setup.queue._slot_changed("a.example")

    setup.readiness.ask = ask_and_change  # type: ignore[method-assign]
    assert setup.queue.pop() is None
    assert setup.woken_count == 1


def test_a_lane_whose_last_request_proves_lost_is_asked_for_by_nobody(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    setup = Setup(kind=OtherQueue)
    setup.readiness.outlooks["a.example"] = Outlook(OriginState.UNASKED)
    setup.push(URLS[0])
    (lane,) = setup.queue._lanes

    def sample() -> None:
        lane.requests.pop()  # type: ignore[union-attr]

    monkeypatch.setattr(lane.requests, "sample", sample)
    assert setup.queue.pop() is None
    assert setup.readiness.asked == []
    assert len(setup.queue) == 0
    assert "a.example" not in setup.queue


def test_a_queue_below_that_has_nothing_is_passed_over() -> None:
    """What could not be pushed leaves an empty one behind, in front."""
    setup = Setup(kind=OtherQueue)
    setup.push(URLS[0])
    requests: Any = next(iter(setup.queue._lanes)).requests
    requests.queues[-9] = FifoMemoryQueue()
    requests.curprio = -9
    assert setup.pop() == [URLS[0]]


@pytest.mark.parametrize(("octets", "is_kept"), [(0, True), (1 << 14, True), (1 << 15, False)])
def test_small_requests_are_kept_to_ask_on_behalf_of(octets: int, is_kept: bool) -> None:
    """Larger ones stay on disk alone; what is taken back is forgotten."""
    asking: Asking[Any] = Asking(FakeReadiness(Slots(get_crawler())))  # type: ignore[arg-type]
    lane: Any = object()
    request = Request(URLS[0], body=b"x" * octets)
    asking.remember(lane, request)
    assert asking.sample(lane) is None, "it does not wait"
    asking.put(lane)
    asking.remember(lane, request)
    assert (asking.sample(lane) is request) is is_kept
    assert asking.sample(lane) is None


def test_few_requests_are_kept_to_ask_on_behalf_of(monkeypatch: pytest.MonkeyPatch) -> None:
    """On disk there may be millions of origins."""
    monkeypatch.setattr("scrapy_rep.queue.asking._SAMPLES", 2)
    asking: Asking[Any] = Asking(FakeReadiness(Slots(get_crawler())))  # type: ignore[arg-type]
    lanes: list[Any] = [object() for _ in range(4)]
    for lane in lanes:
        asking.put(lane)
        asking.remember(lane, Request(URLS[0]))
    assert [asking.sample(lane) is not None for lane in lanes] == [True, True, False, False]


def test_fetches_that_are_queued_in_slots_are_counted_again_later_and_not_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each count looks at all of them."""
    readiness = FakeReadiness(Slots(get_crawler()))
    asking: Asking[Any] = Asking(readiness)  # type: ignore[arg-type]
    counted: list[Origin] = []

    def is_queued(origin: Origin) -> bool:
        counted.append(origin)
        return True

    monkeypatch.setattr(readiness, "is_queued", is_queued)
    hosts = [f"{number}.example" for number in range(99)]
    lanes: list[Any] = [SimpleNamespace(origin=Origin("http", host, 80)) for host in hosts]
    for lane in lanes:
        asking.put(lane)
    assert asking.look_at() is None, "events tell of a place"
    for lane in lanes[: readiness.concurrent_fetches]:
        asking.wait_for(lane)
    began = time.monotonic()
    assert asking.next(is_needed=True) is lanes[0]
    assert asking.next(is_needed=True) is lanes[1]
    assert len(counted) == readiness.concurrent_fetches, "once"
    at = asking.look_at()
    assert at is not None
    assert began < at <= time.monotonic() + 0.5
    monkeypatch.setattr("scrapy_rep.queue.asking.time.monotonic", lambda: at)
    assert asking.next(is_needed=True) is lanes[2]
    assert len(counted) == 2 * readiness.concurrent_fetches


class TestPrefetch:
    def push_many(self, setup: Setup, count: int = 200) -> None:
        hosts = [f"h{number}.example" for number in range(count)]
        setup.readiness.outlooks |= dict.fromkeys(hosts, Outlook(OriginState.UNASKED))
        setup.push(*(f"http://{host}/" for host in hosts))

    def test_is_bounded_ahead_of_need(self) -> None:
        setup = Setup()
        setup.readiness.prefetch_origins = 16
        setup.push("http://ready.example/1", "http://ready.example/2")
        self.push_many(setup)
        assert [host for host, _ in setup.readiness.asked] == [
            f"h{number}.example" for number in range(16)
        ]
        assert setup.pop(1) == ["http://ready.example/1"]
        assert len(setup.readiness.asked) == 16

    def test_is_bounded_at_need(self) -> None:
        setup = Setup()
        self.push_many(setup)
        assert setup.readiness.asked == []
        assert setup.queue.pop() is None
        assert len(setup.readiness.asked) == 64
        setup.readiness.settle("h5.example")
        assert setup.pop(1) == ["http://h5.example/"]
        assert setup.queue.pop() is None
        assert len(setup.readiness.asked) == 65

    def test_a_push_asks_for_one_at_most(self) -> None:
        """Or the one after which places are free takes the time of all who could be asked for."""
        setup = Setup()
        self.push_many(setup, 50)
        setup.readiness.prefetch_origins = 16
        setup.push("http://h50.example/")
        assert len(setup.readiness.asked) == 1

    def test_everybody_is_served_in_the_end(self) -> None:
        setup = Setup()
        setup.readiness.prefetch_origins = 4
        self.push_many(setup)
        popped: list[str] = []
        for _ in range(300):
            popped += setup.pop()
            for host, _ in setup.readiness.asked:
                if setup.readiness.outlooks[host].state is OriginState.ASKED:
                    setup.readiness.settle(host)
        assert len(set(popped)) == len(popped) == 200
        assert len(setup.queue) == 0

    def test_who_waits_for_a_delay_keeps_nobody_from_being_asked_for(self) -> None:
        """Half of the origins ask for long delays; others are ready all the time."""
        setup = Setup()
        setup.readiness.prefetch_origins = 16
        setup.readiness.slots.ready_at = (  # type: ignore[method-assign]
            lambda key: float("inf") if key.startswith("h") else 0.0
        )
        setup.push(*(f"http://ready.example/{number}" for number in range(100)))
        self.push_many(setup)
        for _ in range(20):
            for host, _ in setup.readiness.asked:
                if setup.readiness.outlooks[host].state is OriginState.ASKED:
                    setup.readiness.settle(host)
            assert setup.pop(1) == [f"http://ready.example/{99 - len(setup.queue) + 200}"]
        assert len(setup.readiness.asked) == 200

    def test_what_is_kept_ahead_is_bounded(self) -> None:
        setup = Setup()
        setup.readiness.prefetch_origins = 16
        setup.readiness.kept_origins = 50
        setup.readiness.slots.ready_at = (  # type: ignore[method-assign]
            lambda key: float("inf") if key.startswith("h") else 0.0
        )
        setup.push(*(f"http://ready.example/{number}" for number in range(100)))
        self.push_many(setup)
        for _ in range(20):
            for host, _ in setup.readiness.asked:
                if setup.readiness.outlooks[host].state is OriginState.ASKED:
                    setup.readiness.settle(host)
            setup.pop(1)
        assert 50 <= len(setup.readiness.asked) < 50 + 16

    def test_need_knows_no_such_bound(self) -> None:
        """If all that are kept ahead wait for delays, others are fetched all the same."""
        setup = Setup()
        setup.readiness.kept_origins = 10
        setup.readiness.slots.ready_at = lambda key: float("inf")  # type: ignore[method-assign]
        self.push_many(setup)
        for _ in range(4):
            setup.pop()
            for host, _ in setup.readiness.asked:
                if setup.readiness.outlooks[host].state is OriginState.ASKED:
                    setup.readiness.settle(host)
        assert len(setup.readiness.asked) == 200

    def test_who_stands_in_the_line_of_a_slot_keeps_nobody_from_being_asked_for(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Nobody has been asked for those; they are bounded all the same."""
        monkeypatch.setattr("scrapy_rep.queue.asking._RECOUNT_SECONDS", 0.0)
        setup = Setup()
        setup.readiness.concurrent_fetches = 8
        setup.readiness.queued = {f"h{number}.example" for number in range(100)}
        self.push_many(setup)
        assert setup.pop() == []
        assert len(setup.readiness.asked) == 108
        assert setup.pop() == []
        assert len(setup.readiness.asked) == 108, "eight are under way"
        setup.readiness.queued = {f"h{number}.example" for number in range(200)}
        assert setup.pop() == []
        assert len(setup.readiness.asked) == 8 * 16

    def test_a_fetch_that_waits_for_a_place_is_looked_at_again(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """No event tells that a fetch which is under way came to stand in the line of its slot."""
        setup = Setup()
        setup.readiness.concurrent_fetches = 8
        rung: list[float | None] = []
        monkeypatch.setattr(setup.queue._alarm, "set", rung.append)
        self.push_many(setup)
        assert setup.pop() == []
        assert len(setup.readiness.asked) == 8
        (at,) = rung
        assert at is not None
        assert at <= time.monotonic() + 0.5

    def test_one_that_proves_not_to_be_ready_any_more_is_looked_at_again(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """While somebody else waits for longer: what comes first counts."""
        setup = Setup()
        setup.readiness.concurrent_fetches = 1
        rung: list[float] = []
        monkeypatch.setattr(setup.queue._alarm, "set", rung.append)
        setup.readiness.outlooks["c.example"] = Outlook(OriginState.HELD, time.time() + 100)
        setup.push("http://a.example/", "http://b.example/", "http://c.example/")
        for host in ("a.example", "b.example"):
            setup.readiness.outlooks[host] = Outlook(OriginState.UNASKED)
        assert setup.pop() == []
        assert [host for host, _ in setup.readiness.asked] == ["a.example"]
        (at,) = rung
        assert at <= time.monotonic() + 0.5

    def test_a_host_at_work_is_not_enough(self) -> None:
        """Only while one is ready that does nothing, nobody is asked for."""
        setup = Setup()
        setup.push(*(f"http://a.example/{number}" for number in range(3)))
        setup.readiness.outlooks["b.example"] = Outlook(OriginState.UNASKED)
        setup.push("http://b.example/")
        assert setup.pop(1, stays=True) == ["http://a.example/0"]
        assert setup.readiness.asked == []
        assert setup.pop(1, stays=True) == ["http://a.example/1"]
        assert [host for host, _ in setup.readiness.asked] == ["b.example"]

    def test_nobody_is_woken_for_nothing(self, monkeypatch: pytest.MonkeyPatch) -> None:
        setup = Setup()
        rung: list[float | None] = []
        monkeypatch.setattr(setup.queue._alarm, "set", rung.append)
        setup.push(*URLS)
        assert len(setup.pop()) == len(URLS)
        setup.push(*(f"http://a.example/{number}" for number in range(10)))
        assert len(setup.pop(stays=True)) == 8, "the places of its slot"
        assert setup.pop() == []
        assert rung == []


class TestDisk:
    def test_close_and_open(self, tmp_path: Path) -> None:
        setup = Setup(str(tmp_path), kind=PickleFifoDiskQueue)
        setup.push(*URLS)
        setup.push("http://a.example/high", priority=5)
        state = setup.queue.close()
        assert set(state) == {f"http://{host}.example {host}.example" for host in "abc"}
        setup = Setup(str(tmp_path), state, kind=PickleFifoDiskQueue)
        assert len(setup.queue) == 10
        assert sorted(setup.pop()) == sorted([*URLS, "http://a.example/high"])
        assert list(tmp_path.iterdir()) == []

    def test_what_scrapy_s_queue_left_is_taken_over(self, tmp_path: Path) -> None:
        setup = Setup()
        theirs = DownloaderAwarePriorityQueue(setup.crawler, PickleFifoDiskQueue, str(tmp_path))
        for url in URLS:
            theirs.push(Request(url))
        setup = Setup(str(tmp_path), theirs.close(), kind=PickleFifoDiskQueue)
        setup.push("http://a.example/new")
        assert len(setup.queue) == 10
        assert sorted(setup.pop()) == sorted([*URLS, "http://a.example/new"])
        assert list(tmp_path.iterdir()) == []

    def test_what_another_queue_left_is_refused(self) -> None:
        with pytest.raises(ConfigurationError, match="another SCHEDULER_PRIORITY_QUEUE"):
            Setup("folder", [0, 1])

    def test_what_can_t_be_written_leaves_nothing(self, tmp_path: Path) -> None:
        setup = Setup(str(tmp_path), kind=PickleFifoDiskQueue)
        for _ in range(2):
            with pytest.raises(ValueError, match="instance method"):
                setup.push("http://a.example/", callback=lambda: None)
        assert (len(setup.queue), "a.example" in setup.queue) == (0, False)
        assert setup.pop() == []

    @pytest.mark.parametrize(
        ("name", "origin", "key"),
        [
            ("http://a.example a.example", "http://a.example", "a.example"),
            ("https://a.example:81 my slot", "https://a.example:81", "my slot"),
            (" a.example", None, "a.example"),
            ("a.example", None, "a.example"),
            ("my slot", None, "my slot"),
            ("", None, ""),
        ],
    )
    def test_a_name_says_where_it_goes(self, name: str, origin: str | None, key: str) -> None:
        target = target_named(name)
        assert (target.origin and str(target.origin), target.key) == (origin, key)
        assert target.name == name

    def test_names_of_folders_are_bounded(self) -> None:
        host = ".".join(["a" * 60] * 4)
        assert len(folder_of(f"http://{host} {host}")) < 150

    @pytest.mark.parametrize("character", ["a", "é", "字", "\U00020000", "/", "\0"])
    @pytest.mark.parametrize("count", [1, 60, 72, 100, 250, 5000])
    def test_names_of_folders_are_bounded_in_octets(
        self, character: str, count: int, tmp_path: Path
    ) -> None:
        """The user says `download_slot`, of which file systems take 255 octets."""
        slot = character * count
        setup = Setup(str(tmp_path), kind=PickleFifoDiskQueue)
        setup.push("http://a.example/", meta={"download_slot": slot})
        state = setup.queue.close()
        (folder,) = tmp_path.iterdir()
        assert len(folder.name.encode()) <= 255
        setup = Setup(str(tmp_path), state, kind=PickleFifoDiskQueue)
        assert setup.pop() == ["http://a.example/"]

    @pytest.mark.parametrize("slot", ["x" * 90, "字" * 60, "字" * 55 + "x" * 60])
    def test_folders_of_versions_before_are_found(self, slot: str, tmp_path: Path) -> None:
        """They were cut to 100 characters."""
        setup = Setup(str(tmp_path), kind=PickleFifoDiskQueue)
        setup.push("http://a.example/", meta={"download_slot": slot})
        state = setup.queue.close()
        (name,) = state
        safe = "".join(c if c.isalnum() or c in "-._" else "_" for c in name)
        (folder,) = tmp_path.iterdir()
        folder.rename(tmp_path / f"{safe[:100]}-{md5(name.encode()).hexdigest()}")
        setup = Setup(str(tmp_path), state, kind=PickleFifoDiskQueue)
        assert setup.pop() == ["http://a.example/"]
        assert list(tmp_path.iterdir()) == []


def test_addresses_are_not_paced() -> None:
    crawler = get_crawler(settings_dict={"CONCURRENT_REQUESTS_PER_IP": 1})
    with pytest.raises(ConfigurationError, match="CONCURRENT_REQUESTS_PER_IP"):
        RepPriorityQueue.from_crawler(crawler, FifoMemoryQueue, "")


def test_a_downloader_that_is_made_otherwise() -> None:
    """It tells nobody of slots and middlewares: requests are handed out as they come."""
    crawler = get_crawler()
    crawler._engine = crawler.engine = SimpleNamespace(downloader=object(), spider=None)  # type: ignore[assignment]
    queue = RepPriorityQueue.from_crawler(crawler, FifoMemoryQueue, "")
    for url in URLS:
        queue.push(Request(url))
    assert {queue.pop().url for _ in URLS} == set(URLS)  # type: ignore[union-attr]
    assert queue.pop() is None


@pytest.mark.parametrize(("length", "is_cut"), [(222, False), (223, True)])
def test_a_folder_has_the_longest_name_that_file_systems_take(length: int, is_cut: bool) -> None:
    folder = folder_of("a" * length)  # and a mark of 33 octets
    assert len(folder) == (100 + 33 if is_cut else 255)

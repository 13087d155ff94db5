"""The queue alone: whose request is next, and what becomes of those who wait."""

from __future__ import annotations

import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from scrapy import Request
from scrapy.pqueues import DownloaderAwarePriorityQueue
from scrapy.squeues import FifoMemoryQueue, PickleFifoDiskQueue
from scrapy.utils.test import get_crawler

from scrapy_rep import ConfigurationError, RepPriorityQueue
from scrapy_rep.pace.downloader import Downloader, slot_key
from scrapy_rep.protocol.access.origin import Origin
from scrapy_rep.queue.lane_order import Asking
from scrapy_rep.queue.readiness import OriginState, Outlook
from scrapy_rep.queue.targets import folder_of, target_named

URLS = [f"http://{host}.example/{number}" for number in range(3) for host in "abc"]


class Engine:
    """An engine whose downloader has no slots yet, and which counts how often it is woken."""

    def __init__(self) -> None:
        self.spider = object()
        self.woken_count = 0
        self.active: set[Request] = set()
        self.downloader = SimpleNamespace(
            slots={}, per_slot_settings={}, domain_concurrency=8, active=self.active, _delay=0.0
        )
        self.downloader.get_slot_key = slot_key
        self._slot = SimpleNamespace(closing=None, nextcall=SimpleNamespace(schedule=self._wake))

    def _wake(self) -> None:
        self.woken_count += 1


class FakeReadiness:
    """Says what the test says of each host; ready where it says nothing."""

    def __init__(self, downloader: Downloader) -> None:
        self.downloader = downloader
        self.concurrent_fetches = 64
        self.queued: set[str] = set()
        self.outlooks: dict[str, Outlook] = {}
        self.paced: set[str] = set()
        self.asked: list[tuple[str, str]] = []
        self.origins: dict[str, Origin] = {}
        self._settled: Any = None

    def listen(self, origin_settled: Any) -> None:
        self._settled = origin_settled

    def of(self, origin: Origin) -> Outlook:
        return self.outlooks.get(origin.host, Outlook(OriginState.READY))

    def without_policy(self, host: str) -> Outlook:
        return Outlook(OriginState.READY)

    def is_paced(self, host: str) -> bool:
        return host in self.paced

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
        self._settled(self.origins.get(host, Origin("http", host, 80)))

    def settle_all(self) -> None:
        for host, _ in self.asked:
            if self.outlooks[host].state is OriginState.ASKED:
                self.settle(host)


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
        self.crawler = get_crawler()
        self.engine = Engine()
        self.crawler.engine = self.engine  # type: ignore[assignment]
        self.readiness = FakeReadiness(Downloader(self.crawler))
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
                self.engine.active.add(request)
        return popped


def test_hosts_take_turns() -> None:
    setup = Setup()
    setup.push(*sorted(URLS))
    assert len(setup.queue) == 9
    assert "a.example" in setup.queue
    assert setup.pop() == URLS
    assert len(setup.queue) == 0
    assert "a.example" not in setup.queue


def test_others_of_its_slot_stay() -> None:
    setup = Setup()
    setup.push("http://a.example/", "https://a.example/", "https://a.example/1")
    assert setup.pop(1) == ["http://a.example/"]
    assert "a.example" in setup.queue
    assert setup.pop(2) == ["https://a.example/", "https://a.example/1"]
    assert "a.example" not in setup.queue


def test_a_paced_host_gets_one_request_at_a_time() -> None:
    """And one that a middleware drops holds up nothing."""
    setup = Setup()
    setup.readiness.paced = {"a.example"}
    setup.push("http://a.example/0", "http://a.example/1", "http://b.example/0")
    assert setup.pop(stays=True) == ["http://a.example/0", "http://b.example/0"]
    setup.engine.active.clear()
    assert setup.pop(stays=True) == ["http://a.example/1"]


def test_a_paced_host_gets_one_request_at_a_time_over_its_ports(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("scrapy_rep.queue.priority_queue._LOOK_SECONDS", 1e-6)
    setup = Setup()
    setup.readiness.paced = {"a.example"}
    setup.push("http://a.example/0", "http://a.example:81/0", "http://b.example/0")
    setup.push("http://a.example/exempt", meta={"dont_obey_robotstxt": True})
    first = setup.pop(stays=True)
    assert len(first) == 2
    assert "http://b.example/0" in first
    for left in (1, 0):
        setup.engine.active.clear()
        assert len(setup.pop(stays=True)) == 1
        assert len(setup.queue) == left


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
    setup.engine.active.pop()  # dropped by a middleware: no signal tells
    assert len(setup.pop(stays=True)) == 1
    assert len(setup.queue) == 3


def test_priorities_within_an_origin_and_origins_within_a_host() -> None:
    setup = Setup()
    setup.push("http://a.example/low", "http://a.example:81/low")
    setup.push("http://a.example/high", "http://a.example:81/high", priority=1)
    paths = [url.partition("example")[2] for url in setup.pop()]
    assert paths == ["/high", ":81/high", "/low", ":81/low"]


def test_who_waits_stays_and_others_go_on() -> None:
    setup = Setup()
    setup.readiness.outlooks["a.example"] = Outlook(OriginState.UNASKED)
    setup.readiness.outlooks["b.example"] = Outlook(OriginState.HELD, float("inf"))
    setup.push(*URLS)
    setup.push("http://a.example/exempt", meta={"dont_obey_robotstxt": True})
    setup.push("http://a.example/robots.txt", "data:,x")
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
    ask = setup.readiness.ask
    setup.readiness.ask = lambda *_: None  # type: ignore[method-assign]
    for number in range(64):
        setup.readiness.outlooks[f"h{number}.example"] = Outlook(OriginState.UNASKED)
        setup.push(f"http://h{number}.example/")
    setup.readiness.ask = ask  # type: ignore[method-assign]
    setup.readiness.outlooks["a.example"] = Outlook(OriginState.UNASKED)
    setup.push(URLS[0])
    setup.readiness.outlooks["a.example"] = Outlook(state, 0.0)
    setup.readiness.settle("h0.example")
    popped = setup.pop()
    setup.readiness.settle("a.example")
    assert [*popped, *setup.pop()].count(URLS[0]) == 1
    assert setup.readiness.asked == []


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
    looked: list[str] = []
    of = setup.readiness.of

    def note(origin: Origin) -> Outlook:
        looked.append(str(origin))
        return of(origin)

    setup.readiness.of = note  # type: ignore[method-assign]
    setup.readiness.settle("a.example")
    assert looked == ["http://a.example"]


def test_the_engine_is_woken_at_the_first_of_the_times(monkeypatch: pytest.MonkeyPatch) -> None:
    alarms: list[Any] = []

    def call_later(seconds: float, call: Any) -> Any:
        alarm = SimpleNamespace(seconds=seconds, call=call)
        alarm.cancel = lambda: alarms.remove(alarm)
        alarms.append(alarm)
        return alarm

    monkeypatch.setattr("scrapy_rep.queue.priority_queue.call_later", call_later)
    setup = Setup()
    for host, seconds, first in (("a", 1000, 1000), ("b", 100, 100), ("c", 500, 100)):
        setup.readiness.outlooks[f"{host}.example"] = Outlook(
            OriginState.HELD, time.monotonic() + seconds
        )
        setup.push(f"http://{host}.example/")
        assert setup.pop() == []
        (alarm,) = alarms
        assert first - 50 < alarm.seconds <= first
    setup.engine.woken_count = 0
    alarms.pop().call()
    assert setup.engine.woken_count == 1
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


def test_many_requests_that_are_lost_keep_the_loop_for_a_while_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    setup = Setup(kind=OtherQueue)
    setup.push(*(f"http://h{number}.example/" for number in range(150)))
    for lane in list(setup.queue._lanes.by_name.values())[:-1]:
        monkeypatch.setattr(lane.requests, "pop", [].pop)
    assert setup.queue.pop() is None
    assert setup.engine.woken_count == 1, "or the rest would wait for the engine's own timer"
    assert len(setup.queue) == 50
    assert setup.pop() == ["http://h149.example/"]


def test_a_queue_that_cannot_return_a_request_now_is_asked_later(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its disk is full, say: it would be the first again and again."""
    setup = Setup(kind=OtherQueue)
    setup.push(URLS[0])
    (lane,) = setup.queue._lanes.by_name.values()
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


def test_a_lane_whose_last_request_proves_lost_is_asked_for_by_nobody(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    setup = Setup(kind=OtherQueue)
    setup.readiness.outlooks["a.example"] = Outlook(OriginState.UNASKED)
    monkeypatch.setattr("scrapy_rep.queue.stock.Stock.sample", lambda stock: stock.pop() and None)
    setup.push(URLS[0])
    assert setup.queue.pop() is None
    assert setup.readiness.asked == []
    assert len(setup.queue) == 0
    assert "a.example" not in setup.queue


def test_fetches_that_are_queued_in_slots_are_counted_again_later_and_not_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each count looks at all of them."""
    readiness = FakeReadiness(Downloader(get_crawler()))
    asking = Asking(readiness)  # type: ignore[arg-type]
    counted: list[Origin] = []

    def is_queued(origin: Origin) -> bool:
        counted.append(origin)
        return True

    monkeypatch.setattr(readiness, "is_queued", is_queued)
    hosts = [f"{number}.example" for number in range(99)]
    lanes: list[Any] = [
        SimpleNamespace(origin=Origin("http", host, 80), is_fresh=False) for host in hosts
    ]
    for lane in lanes:
        asking.put(lane)
    at = asking.look_at
    assert at is None, "events tell of a place"
    for lane in lanes[: readiness.concurrent_fetches]:
        asking.wait_for(lane)
    began = time.monotonic()
    assert asking.next() is lanes[0]
    assert asking.next() is lanes[1]
    assert len(counted) == readiness.concurrent_fetches, "once"
    at = asking.look_at
    assert at is not None
    assert began < at <= time.monotonic() + 0.5
    monkeypatch.setattr("scrapy_rep.queue.lane_order.time.monotonic", lambda: at)
    assert asking.next() is lanes[2]
    assert len(counted) == 2 * readiness.concurrent_fetches


class TestPrefetch:
    def alarms(self, monkeypatch: pytest.MonkeyPatch) -> list[float]:
        """In how many seconds the queue asks to be called."""
        rung: list[float] = []

        def call_later(seconds: float, _: Any) -> Any:
            rung.append(seconds)
            return SimpleNamespace(cancel=lambda: None)

        monkeypatch.setattr("scrapy_rep.queue.priority_queue.call_later", call_later)
        return rung

    def push_many(self, setup: Setup, count: int = 200) -> None:
        hosts = [f"h{number}.example" for number in range(count)]
        setup.readiness.outlooks |= dict.fromkeys(hosts, Outlook(OriginState.UNASKED))
        setup.push(*(f"http://{host}/" for host in hosts))

    def test_is_bounded(self) -> None:
        setup = Setup()
        self.push_many(setup)
        assert setup.queue.pop() is None
        assert len(setup.readiness.asked) == 64
        setup.readiness.settle("h5.example")
        assert setup.pop(1) == ["http://h5.example/"]
        assert setup.queue.pop() is None
        assert len(setup.readiness.asked) == 65

    def test_a_push_asks_for_one_at_most(self) -> None:
        """Or the one after which places are free takes the time of all who could be asked for."""
        setup = Setup()
        setup.readiness.concurrent_fetches = 0
        self.push_many(setup, 50)
        setup.readiness.concurrent_fetches = 16
        setup.push("http://h50.example/")
        assert len(setup.readiness.asked) == 1

    def test_everybody_is_served_in_the_end(self) -> None:
        setup = Setup()
        self.push_many(setup)
        popped: list[str] = []
        for _ in range(300):
            popped += setup.pop()
            setup.readiness.settle_all()
        assert len(set(popped)) == len(popped) == 200
        assert len(setup.queue) == 0

    def test_who_waits_for_a_delay_keeps_nobody_from_being_asked_for(self) -> None:
        """Half of the origins ask for long delays; others are ready all the time."""
        setup = Setup()
        setup.readiness.downloader.ready_at = (  # type: ignore[method-assign]
            lambda key, *_: float("inf") if key.startswith("h") else 0.0
        )
        setup.push(*(f"http://ready.example/{number}" for number in range(100)))
        self.push_many(setup)
        for _ in range(20):
            setup.readiness.settle_all()
            assert setup.pop(1) == [f"http://ready.example/{99 - len(setup.queue) + 200}"]
        assert len(setup.readiness.asked) == 200

    def test_what_is_kept_ahead_is_bounded(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("scrapy_rep.queue.lane_order._KEPT_ORIGINS", 50)
        setup = Setup()
        setup.readiness.downloader.ready_at = (  # type: ignore[method-assign]
            lambda key, *_: float("inf") if key.startswith("h") else 0.0
        )
        setup.push(*(f"http://ready.example/{number}" for number in range(100)))
        self.push_many(setup)
        for _ in range(20):
            setup.readiness.settle_all()
            setup.pop(1)
        assert 50 <= len(setup.readiness.asked) < 50 + 64

    def test_who_stands_in_the_line_of_a_slot_keeps_nobody_from_being_asked_for(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Nobody has been asked for those; they are bounded all the same."""
        monkeypatch.setattr("scrapy_rep.queue.lane_order._RECOUNT_SECONDS", 0.0)
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
        rung = self.alarms(monkeypatch)
        self.push_many(setup)
        assert setup.pop() == []
        assert len(setup.readiness.asked) == 8
        (seconds,) = rung
        assert seconds <= 0.5

    def test_one_that_proves_not_to_be_ready_any_more_is_looked_at_again(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """While somebody else waits for longer: what comes first counts."""
        setup = Setup()
        setup.readiness.concurrent_fetches = 1
        rung = self.alarms(monkeypatch)
        outlook = Outlook(OriginState.HELD, time.monotonic() + 100)
        setup.readiness.outlooks["c.example"] = outlook
        setup.push("http://a.example/", "http://b.example/", "http://c.example/")
        for host in ("a.example", "b.example"):
            setup.readiness.outlooks[host] = Outlook(OriginState.UNASKED)
        assert setup.pop() == []
        assert [host for host, _ in setup.readiness.asked] == ["a.example"]
        (seconds,) = rung
        assert seconds <= 0.5

    def test_nobody_is_woken_for_nothing(self, monkeypatch: pytest.MonkeyPatch) -> None:
        setup = Setup()
        rung = self.alarms(monkeypatch)
        setup.push(*URLS)
        assert len(setup.pop()) == len(URLS)
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

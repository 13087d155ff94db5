"""The queue alone: whose request is next, and what becomes of those who wait."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from scrapy import Request, signals
from scrapy.pqueues import DownloaderAwarePriorityQueue
from scrapy.squeues import FifoMemoryQueue, PickleFifoDiskQueue
from scrapy.utils.test import get_crawler

from scrapy_rep import ConfigurationError, RepPriorityQueue
from scrapy_rep.protocol.origin import Origin
from scrapy_rep.readiness import Outlook, State
from scrapy_rep.slots import Slots
from scrapy_rep.targets import folder_of, target_named
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
        self.outlooks: dict[str, Outlook] = {}
        self.asked: list[tuple[str, str]] = []

    def of(self, origin: Origin | None, key: str) -> Outlook:
        return self.outlooks.get(origin.host if origin else "", Outlook(State.READY))

    def ask(self, origin: Origin, request: Request | None) -> None:
        self.asked.append((origin.host, request.url if request else ""))
        self.outlooks[origin.host] = Outlook(State.ASKED)

    def settle(self, host: str, state: State = State.READY) -> None:
        self.outlooks[host] = Outlook(state)
        for listener in self.policies.listeners:
            listener(Origin("http", host, 80))


class Setup:
    def __init__(self, folder: str = "", state: Any = None, kind: Any = FifoMemoryQueue) -> None:
        self.crawler = get_crawler(settings_dict={"CONCURRENT_REQUESTS_PER_DOMAIN": 8})
        self.downloader = Downloader()
        self.crawler.engine = SimpleNamespace(downloader=self.downloader, spider=None)  # type: ignore[assignment]
        self.readiness = FakeReadiness(Slots(self.crawler))
        self.queue = RepPriorityQueue(
            self.crawler,
            kind,
            folder,
            state,
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
    setup.readiness.outlooks["a.example"] = Outlook(State.UNASKED)
    setup.readiness.outlooks["b.example"] = Outlook(State.HELD, float("inf"))
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
    setup.readiness.outlooks["a.example"] = Outlook(State.UNASKED)
    assert setup.pop() == URLS[1:3]
    assert [host for host, _ in setup.readiness.asked] == ["a.example"]
    setup.readiness.settle("a.example", State.UNASKED)  # evicted at once
    assert setup.pop() == [URLS[0]], "or it might be asked for for ever"
    assert len(setup.readiness.asked) == 2
    setup.readiness.settle("a.example")
    assert setup.pop() == [URLS[3]]


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


def test_a_request_that_can_t_be_read_keeps_nobody_waiting(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its callback is gone, say; and Scrapy's own `peek` fails while start requests are left."""

    def fail(_: Any) -> None:
        raise KeyError

    monkeypatch.setattr("scrapy.pqueues.ScrapyPriorityQueue.peek", fail)
    setup = Setup()
    setup.readiness.outlooks["a.example"] = Outlook(State.UNASKED)
    setup.push(URLS[0])
    assert setup.pop() == []
    assert setup.readiness.asked == [("a.example", "")]
    setup.readiness.settle("a.example")
    assert setup.pop() == [URLS[0]]


def test_a_queue_below_that_has_nothing_is_passed_over() -> None:
    """What could not be pushed leaves an empty one behind, in front."""
    setup = Setup()
    setup.push(URLS[0])
    next(iter(setup.queue._lines.values())).requests.queues[-9] = FifoMemoryQueue()
    next(iter(setup.queue._lines.values())).requests.curprio = -9
    assert setup.pop() == [URLS[0]]


class TestPrefetch:
    def push_many(self, setup: Setup, count: int = 200) -> None:
        hosts = [f"h{number}.example" for number in range(count)]
        setup.readiness.outlooks |= dict.fromkeys(hosts, Outlook(State.UNASKED))
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

    def test_everybody_is_served_in_the_end(self) -> None:
        setup = Setup()
        setup.readiness.prefetch_origins = 4
        self.push_many(setup)
        popped: list[str] = []
        for _ in range(300):
            popped += setup.pop()
            for host, _ in setup.readiness.asked:
                if setup.readiness.outlooks[host].state is State.ASKED:
                    setup.readiness.settle(host)
        assert len(set(popped)) == len(popped) == 200
        assert len(setup.queue) == 0


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

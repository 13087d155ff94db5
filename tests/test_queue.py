"""The queue alone: which request is next, and how the others wait."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from scrapy import Request
from scrapy.squeues import FifoMemoryQueue, PickleFifoDiskQueue
from scrapy.utils.test import get_crawler

from scrapy_rep import ConfigurationError, RepPriorityQueue
from scrapy_rep.engine.downloader import EVENT, NEVER, slot_key
from scrapy_rep.pace.waits import READY, Wait, Why
from scrapy_rep.protocol.access.origin import Origin
from scrapy_rep.queue.targets import target_named
from tests.played import in_a_loop

URLS = [f"http://{host}.example/{number}" for number in range(3) for host in "abc"]


class Engine:
    """An engine with a downloader that has no slots yet."""

    def __init__(self) -> None:
        self.spider = object()
        self.downloader = SimpleNamespace(
            slots={}, per_slot_settings={}, domain_concurrency=8, active=set(), _delay=0.0
        )
        self.downloader.get_slot_key = slot_key
        nextcall = SimpleNamespace(schedule=lambda: None)
        self._slot = SimpleNamespace(closing=None, nextcall=nextcall)


class FakeWaits:
    """Says what the test says of each host; ready where it says nothing."""

    def __init__(self) -> None:
        self.concurrent_fetches = 64
        self.waits: dict[str, Wait] = {}
        self.asked: list[tuple[str, str]] = []
        self.origins: dict[str, Origin] = {}
        self.paced: set[str] = set()
        self._settled: Any = None

    def listen(self, origin_settled: Any) -> None:
        self._settled = origin_settled

    def of(self, origin: Origin) -> Wait:
        return self.waits.get(origin.host, READY)

    def of_host(self, host: str) -> Wait:
        return READY

    def hand_out(self, origin: Origin, request: Request) -> None:
        pass

    def note_delay(self, origin: Origin) -> None:
        pass

    def is_paced(self, host: str) -> bool:
        return host in self.paced

    def fetch(self, origin: Origin, request: Request | None) -> None:
        self.asked.append((origin.host, request.url if request else ""))
        self.origins[origin.host] = origin
        self.waits[origin.host] = Wait(Why.FETCHING, EVENT)

    def is_queued(self, origin: Origin) -> bool:
        return False

    def settle(self, host: str, why: Why = Why.READY) -> None:
        self.waits[host] = Wait(why)
        self._settled(self.origins.get(host, Origin("http", host, 80)))


class Setup:
    def __init__(self, folder: str = "", state: Any = None, kind: Any = FifoMemoryQueue) -> None:
        self.crawler = get_crawler()
        self.crawler.engine = Engine()  # type: ignore[assignment]
        self.site = FakeWaits()
        self.queue = RepPriorityQueue(
            self.crawler,
            kind,
            folder,
            state,
            waits=self.site,  # type: ignore[arg-type]
        )

    def push(self, *urls: str, **arguments: Any) -> None:
        for url in urls:
            self.queue.push(Request(url, **arguments))

    def pop(self, count: int = 100) -> list[str]:
        """The next URLs; each request has ended by the next."""
        popped: list[str] = []
        while len(popped) < count and (request := self.queue.pop()) is not None:
            popped.append(request.url)
        return popped


def test_hosts_take_turns() -> None:
    setup = Setup()
    setup.push(*sorted(URLS))
    assert len(setup.queue) == 9
    assert "a.example" in setup.queue
    assert setup.pop() == URLS
    assert len(setup.queue) == 0
    assert "a.example" not in setup.queue


def test_a_paced_host_gets_one_request_at_a_time_over_its_ports() -> None:
    """The others wait in no place of the downloader."""
    setup = Setup()
    setup.site.paced = {"a.example"}
    setup.push("http://a.example/0", "http://a.example/1", "http://b.example/0")
    setup.push("http://a.example:81/0")
    setup.push("http://a.example/exempt", meta={"dont_obey_robotstxt": True})
    active: Any = setup.crawler.engine.downloader.active
    for left in (3, 2, 1, 0):
        while (request := setup.queue.pop()) is not None:
            active.add(request)
        assert len(setup.queue) == left
        assert sum(request.url.startswith("http://a.") for request in active) == 1
        active.clear()
        time.sleep(0.25)  # as soon as the end of a turn is seen that another one had


def test_priorities_within_an_origin_and_origins_within_a_host() -> None:
    setup = Setup()
    setup.push("http://a.example/low", "http://a.example:81/low")
    setup.push("http://a.example/high", "http://a.example:81/high", priority=1)
    paths = [url.partition("example")[2] for url in setup.pop()]
    assert paths == ["/high", ":81/high", "/low", ":81/low"]


def test_other_requests_pass_one_that_waits() -> None:
    setup = Setup()
    setup.site.waits["a.example"] = Wait(Why.UNFETCHED)
    setup.site.waits["b.example"] = Wait(Why.HELD, EVENT)
    setup.push(*URLS)
    setup.push("http://a.example/exempt", meta={"dont_obey_robotstxt": True})
    setup.push("http://a.example/robots.txt", "data:,x")
    popped = setup.pop()
    assert sorted(popped) == sorted(
        [url for url in URLS if "c.example" in url]
        + ["http://a.example/exempt", "http://a.example/robots.txt", "data:,x"]
    )
    assert setup.site.asked == [("a.example", "http://a.example/0")]
    assert (len(setup.queue), setup.queue.pop()) == (6, None)
    setup.site.settle("a.example")
    assert setup.pop() == [url for url in URLS if "a.example" in url]
    assert len(setup.queue) == 3


def test_evicted_policy_is_fetched_again() -> None:
    setup = Setup()
    setup.push(*URLS[:4])
    setup.site.waits["a.example"] = Wait(Why.UNFETCHED)
    assert setup.pop() == URLS[1:3]
    assert [host for host, _ in setup.site.asked] == ["a.example"]
    setup.site.settle("a.example", Why.UNFETCHED)  # evicted at once
    assert setup.pop() == [URLS[0]], "or it might be asked for for ever"
    assert len(setup.site.asked) == 2
    setup.site.settle("a.example")
    assert setup.pop() == [URLS[3]]


@pytest.mark.parametrize("state", [Why.READY, Why.FETCHING, Why.HELD])
def test_request_that_becomes_exempt_is_not_lost(state: Why) -> None:
    """Another component fetched it, such as a browser, and no event reached the queue."""
    setup = Setup()
    fetch = setup.site.fetch
    setup.site.fetch = lambda *_: None  # type: ignore[method-assign]
    for number in range(64):
        setup.site.waits[f"h{number}.example"] = Wait(Why.UNFETCHED)
        setup.push(f"http://h{number}.example/")
    setup.site.fetch = fetch  # type: ignore[method-assign]
    setup.site.waits["a.example"] = Wait(Why.UNFETCHED)
    setup.push(URLS[0])
    setup.site.waits["a.example"] = Wait(state, NEVER)
    setup.site.settle("h0.example")
    popped = setup.pop()
    setup.site.settle("a.example")
    assert [*popped, *setup.pop()].count(URLS[0]) == 1
    assert setup.site.asked == []


@pytest.mark.parametrize("url", ["http://:0/x", "http://a.example:0/x", "http:///x"])
def test_lane_without_an_origin_is_handed_out(url: str) -> None:
    """The middleware drops it, and says why."""
    setup = Setup()
    setup.push(url)
    assert setup.pop() == [Request(url).url]


class TestPrefetch:
    def push_many(self, setup: Setup) -> None:
        hosts = [f"h{number}.example" for number in range(200)]
        setup.site.waits |= dict.fromkeys(hosts, Wait(Why.UNFETCHED))
        setup.push(*(f"http://{host}/" for host in hosts))

    def test_prefetch_asks_a_bounded_count(self) -> None:
        setup = Setup()
        self.push_many(setup)
        assert setup.queue.pop() is None
        assert len(setup.site.asked) == 64
        setup.site.settle("h5.example")
        assert setup.pop(1) == ["http://h5.example/"]
        assert setup.queue.pop() is None
        assert len(setup.site.asked) == 65

    def test_fetch_in_a_full_slot_is_counted_again(self) -> None:
        """No event tells that a fetch which is under way came to stand in the line of its slot."""
        woken: list[str] = []

        async def work() -> None:
            setup = Setup()
            setup.site.concurrent_fetches = 8
            self.push_many(setup)
            assert setup.pop() == []
            assert len(setup.site.asked) == 8
            slot: Any = setup.crawler.engine._slot
            slot.nextcall.schedule = lambda: woken.append("once")
            await asyncio.sleep(0.5)
            setup.queue.close()

        in_a_loop(work)
        assert woken == ["once"]


class TestDisk:
    def test_folder_of_another_queue_is_refused(self) -> None:
        with pytest.raises(ConfigurationError, match="another SCHEDULER_PRIORITY_QUEUE"):
            Setup("folder", [0, 1])

    def test_failed_write_leaves_no_file(self, tmp_path: Path) -> None:
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
    def test_lane_name_gives_origin_and_slot(self, name: str, origin: str | None, key: str) -> None:
        target = target_named(name)
        assert (target.origin and str(target.origin), target.key) == (origin, key)
        assert target.name == name

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

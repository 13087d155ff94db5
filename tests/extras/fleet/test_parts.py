"""Parts of a worker that need neither Redis nor a crawl."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from types import SimpleNamespace
from typing import Any

import msgpack
import pytest
from scrapy import Request
from scrapy.utils.test import get_crawler

from scrapy_rep.extras.fleet.batch import HeldRequest, Push, PushKind
from scrapy_rep.extras.fleet.batch_codec import Wants, arguments
from scrapy_rep.extras.fleet.fleet_lanes import lane_of
from scrapy_rep.extras.fleet.ledger import PUSH_OCTETS, PUSHES, Ledger
from scrapy_rep.extras.fleet.link import LinkDownError
from scrapy_rep.extras.fleet.progress import tell_of_ends
from scrapy_rep.extras.fleet.scheduler import Filter
from scrapy_rep.extras.fleet.talk import Talk
from scrapy_rep.protocol.errors import ConfigurationError
from scrapy_rep.stats import Journal
from tests.played import in_a_loop


def crawler_of(**slot: Any) -> Any:
    return SimpleNamespace(engine=SimpleNamespace(_slot=SimpleNamespace(**slot)))


class TestProgress:
    """The engine's set tells of each request that leaves it."""

    def test_ends_are_reported(self) -> None:
        one, two, three = (Request(f"http://a.example/{n}") for n in range(3))
        crawler = crawler_of(inprogress={one})
        told: list[Request] = []
        tell_of_ends(crawler, told.append)
        some = crawler.engine._slot.inprogress
        some.add(two)
        some.remove(one)
        some.discard(two)
        some.discard(three)
        with pytest.raises(KeyError):
            some.remove(three)
        assert (told, bool(some)) == ([one, two], False)

    @pytest.mark.parametrize("slot", [{}, {"inprogress": []}, {"inprogress": None}])
    def test_a_release_without_it_is_refused(self, slot: dict[str, Any]) -> None:
        with pytest.raises(ConfigurationError, match="does not tell RepRedisScheduler which"):
            tell_of_ends(crawler_of(**slot), print)


class TestFilter:
    """A start request is queued once over the fleet, but all of its retries and redirects."""

    def test_start_requests_of_two_workers_count_as_equal(self) -> None:
        one, two = Filter(get_crawler()), Filter(get_crawler())
        seen = [each.of(start_request()) for each in (one, two) for _ in range(2)]
        assert [kind for kind, _ in seen] == [PushKind.START] * 4
        assert seen[:2] == seen[2:]
        assert len(set(seen)) == 2

    def test_retries_of_start_requests_are_not_filtered(self) -> None:
        """The retry of a retry may be another worker's; two may be redirected to one page."""
        one, two = Filter(get_crawler()), Filter(get_crawler())
        request = start_request()
        one.hand_out(request)
        retry = request.copy()
        assert one.of(retry) == (PushKind.UNFILTERED, b"")
        two.hand_out(retry)
        assert two.of(retry.replace(url="http://a.example/login")) == (PushKind.UNFILTERED, b"")
        assert two.of(Request("http://a.example/", dont_filter=True)) == (PushKind.UNFILTERED, b"")


def start_request() -> Request:
    return Request("http://a.example/", dont_filter=True, meta={"is_start_request": True})


class TestLines:
    """Where a request queues."""

    @pytest.mark.parametrize(
        ("url", "meta", "lane"),
        [
            ("http://A.example/x?y", {}, "http://a.example"),
            ("http://a.example:80/", {}, "http://a.example"),
            ("https://a.example:8443/", {}, "https://a.example:8443"),
            ("http://a.example/", {"download_slot": "proxy 1"}, "http://a.example"),
            ("http://a.example/", {"dont_obey_robotstxt": True}, " a.example"),
            ("http://a.example/robots.txt", {}, " a.example"),
            ("data:,x", {}, " "),
        ],
    )
    def test_lane_of_a_request_is_its_origin(
        self, url: str, meta: dict[str, Any], lane: str
    ) -> None:
        assert lane_of(Request(url, meta=meta)) == lane


def push(octets: int = 10, kind: PushKind = PushKind.FILTERED) -> Push:
    return Push("http://a.example", 0, kind, b"f", b"x" * octets)


class TestLedger:
    """The content of a batch."""

    def test_is_bounded_by_octets(self) -> None:
        ledger = Ledger("w")
        for octets in (PUSH_OCTETS // 2, PUSH_OCTETS // 2, 10, 3 * PUSH_OCTETS, 10):
            ledger.push(push(octets))
        sizes = []
        while ledger.unsent_count:
            batch = ledger.batch()
            sizes.append([len(one.payload) for one in batch.pushes])
            ledger.confirmed(batch, "e", 0)
        assert sizes == [[PUSH_OCTETS // 2] * 2, [10], [3 * PUSH_OCTETS], [10]]

    def test_report_during_a_batch_comes_in_the_next(self) -> None:
        ledger = Ledger("w")
        held = HeldRequest("1", "lane", 1.0, 1, b"")
        ledger.hold(held)
        ledger.left(held, 5.0)
        batch = ledger.batch()
        ledger.left(held, 4.0)
        ledger.confirmed(batch, "e", 1)
        assert ledger.batch().left == {"1": ("lane", 4.0)}

    @pytest.mark.parametrize("is_full", [False, True])
    def test_a_request_is_done_after_all_pushes_of_unknown_cause(self, is_full: bool) -> None:
        """Also if another request was done between its retry and its own end."""
        ledger = Ledger("w")
        pages = [HeldRequest(f"{number}", "lane", 1.0, 1, b"") for number in range(PUSHES + 2)]
        for held in pages:
            ledger.hold(held)
        retried, other, *parents = pages
        for held in parents:
            ledger.push(push(), held.id)
        ledger.push(push(), "")  # the retry
        ledger.done(other)
        ledger.done(retried)
        batch = ledger.batch()
        assert len(batch.pushes) == PUSHES
        assert retried.id not in batch.ended
        ledger.confirmed(batch, "e", 1)
        if is_full:
            ledger.batch()  # takes the retry; the batch is lost, and then Redis is full
            ledger.failed()
            ledger.is_full = True
            assert retried.id not in ledger.batch().ended
            ledger.is_full = False
        batch = ledger.batch()
        assert len(batch.pushes) == 1
        assert retried.id in batch.ended


class Silent:
    """A link and an owner without any reply."""

    lease_seconds, address = 60.0, "here"

    async def run(self, *_: Any) -> bytes:
        raise LinkDownError("no")

    def wants(self) -> Wants:
        return Wants(requests=1)


def talk_of(silent: Silent, ledger: Ledger) -> tuple[Talk, Callable[[], int]]:
    """A task, and the number of lost batches."""
    some: Any = silent
    crawler = get_crawler()
    talk = Talk(some, "p:", ledger, some, Journal(crawler))
    assert crawler.stats is not None
    return talk, partial(crawler.stats.get_value, "rep/fleet/failed", 0)


def test_without_redis_nothing_begins_and_the_task_goes_on() -> None:
    async def work() -> None:
        talk, lost_count = talk_of(Silent(), Ledger("w"))
        assert not talk.is_leased
        talk.begin()
        talk.wake()
        began = time.monotonic()
        await asyncio.sleep(0.7)
        await talk.stop()
        assert 2 <= lost_count() <= 1 + (time.monotonic() - began) / 0.2
        assert not talk.is_leased

    in_a_loop(work)


@pytest.mark.parametrize("missing", ["scrapy_redis", "msgpack"])
def test_error_names_a_missing_package(missing: str) -> None:
    code = (
        f"import sys; sys.modules[{missing!r}] = None\n"
        "import scrapy_rep\n"
        "try: scrapy_rep.RepRedisScheduler\n"
        "except scrapy_rep.ConfigurationError as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert 'pip install "scrapy-rep[redis]"' in done.stdout


_GARBAGE = [
    None,
    7,
    [],
    "text",
    b"",
    b"\xc1",
    b"OK",
    b"\x93",
    b"\xff" * 100,
    msgpack.packb([]),
    msgpack.packb(["ok"]),
    msgpack.packb([1, 2]),
    msgpack.packb({"word": "ok"}),
    msgpack.packb({"word": "ok", "epoch": "e", "last_id": "1"}),
    msgpack.packb({"word": "ok", "epoch": "e", "popped": [[1]]}),
    msgpack.packb({"word": "ok", "epoch": "e", "popped": 5}),
    msgpack.packb({"word": "ok", "epoch": "e", "weather": 5}),
]


def test_invalid_replies_are_logged_once_and_count_as_lost(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Garbage(Silent):
        count = 0

        async def run(self, *_: Any) -> Any:
            self.count += 1
            return _GARBAGE[self.count % len(_GARBAGE)]

    async def work() -> None:
        ledger = Ledger("w")
        ledger.push(push())
        talk, lost_count = talk_of(Garbage(), ledger)
        for _ in range(2 * len(_GARBAGE)):
            assert await talk.send_batch(Wants(requests=1)) is None
        assert lost_count() == 2 * len(_GARBAGE)
        assert ledger.unsent_count == 1
        assert not talk.is_leased

    in_a_loop(work)
    assert [record.getMessage()[:40] for record in caplog.records] == [
        "The server at here does not answer as us"
    ]


@pytest.mark.parametrize("words", ["\ud83d", "plain"])
def test_message_may_hold_any_characters(words: str) -> None:
    ledger = Ledger("w")
    held = HeldRequest("1", "", 0.0, 1, b"x")
    ledger.hold(held)
    ledger.set_aside(held, words)
    assert arguments(ledger.batch(), Wants(), 0.0)

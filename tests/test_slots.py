"""The floor under the downloader's slots, against Scrapy's own slots without downloads."""

from __future__ import annotations

import time
from types import SimpleNamespace
from typing import Any

import pytest
from scrapy import Request
from scrapy.core.downloader import Slot
from scrapy.utils.test import get_crawler

from scrapy_rep.slots import (
    Slots,
    _jitter,
    _set_jitter,
    guard_seconds,
    leave_inherited_slot,
    slot_key,
)

KEY = "a.example"


class Downloader:
    """What is asked of Scrapy's."""

    def __init__(self) -> None:
        self.slots: dict[str, Any] = {}
        self.per_slot_settings: dict[str, dict[str, Any]] = {}
        self.domain_concurrency = 8
        self.total_concurrency = 16
        self.active: set[Request] = set()
        self._delay = 0.0

    def get_slot_key(self, request: Request) -> str:
        return slot_key(request)

    def make(self, concurrency: int = 8, delay: float = 0.0, jitter: float = 0.0) -> Slot:
        slot = self.slots[KEY] = Slot(concurrency, delay, 0.0)
        _set_jitter(slot, jitter)
        return slot


@pytest.fixture
def downloader() -> Downloader:
    return Downloader()


@pytest.fixture
def slots(downloader: Downloader) -> Slots:
    crawler = get_crawler()
    crawler.engine = SimpleNamespace(downloader=downloader, spider=None)  # type: ignore[assignment]
    return Slots(crawler)


def with_guard(seconds: float) -> float:
    return seconds + guard_seconds(seconds)


class TestFloor:
    def test_is_the_longest_of_the_slot_s_origins(
        self, slots: Slots, downloader: Downloader
    ) -> None:
        slot = downloader.make()
        slots.set_floor(KEY, "one", 1.0)
        slots.set_floor(KEY, "two", 3.0)
        assert slot.delay == with_guard(3.0)
        slots.set_floor(KEY, "two", 0.0)
        assert slot.delay == with_guard(1.0)
        slots.set_floor(KEY, "one", 0.0)
        assert slot.delay == 0.0

    def test_takes_nothing_from_a_longer_delay(self, slots: Slots, downloader: Downloader) -> None:
        slot = downloader.make(delay=5.0, jitter=0.5)
        slots.set_floor(KEY, "one", 1.0)
        assert (slot.delay, _jitter(slot)) == (5.0, 0.5)

    @pytest.mark.parametrize("delay", [0.0, 1.0, 2.0, 2.5])
    def test_jitter_never_reaches_below(
        self, slots: Slots, downloader: Downloader, delay: float
    ) -> None:
        slot = downloader.make(delay=delay, jitter=0.5)
        slots.set_floor(KEY, "one", 1.8)
        assert slot.delay * (1 - _jitter(slot)) >= with_guard(1.8) - 1e-9
        slots.set_floor(KEY, "one", 0.0)
        assert (slot.delay, _jitter(slot)) == (delay, 0.5), "as it was"

    def test_what_others_write_counts_if_it_is_longer(
        self, slots: Slots, downloader: Downloader
    ) -> None:
        slot = downloader.make()
        slots.set_floor(KEY, "one", 1.0)
        for written in (0.2, 7.0, 0.1):
            slot.delay = written
            slots._downloaded(Request("http://a.example/", meta={"download_slot": KEY}))
            assert slot.delay == max(written, with_guard(1.0))
        slots.set_floor(KEY, "one", 0.0)
        assert slot.delay == 0.1

    def test_a_new_slot_knows_when_the_old_one_sent(
        self, slots: Slots, downloader: Downloader
    ) -> None:
        old = downloader.make()
        slots.set_floor(KEY, "one", 100.0)
        old.lastseen = time.monotonic()
        del downloader.slots[KEY]
        assert slots.ready_at(KEY) == pytest.approx(old.lastseen + with_guard(100.0))
        new = downloader.make()
        slots.set_floor(KEY, "one", 100.0)
        assert (new.lastseen, new.delay) == (old.lastseen, with_guard(100.0))

    def test_an_hour_that_has_passed_asks_for_nothing(
        self, slots: Slots, downloader: Downloader
    ) -> None:
        slot = downloader.make()
        slots.set_floor(KEY, "one", 9.0, time.time() - 1)
        assert slot.delay == 0.0

    def test_is_forgotten_once_it_lies_in_the_past(
        self, slots: Slots, downloader: Downloader
    ) -> None:
        slot = downloader.make()
        slots.set_floor(KEY, "one", 0.01)
        slots._forget_at = [(0.0, KEY)]
        slots.set_floor("b.example", "two", 5.0)
        assert KEY not in slots._floors
        assert slot.delay == 0.0

        slots.set_floor(KEY, "one", 0.01)
        downloader.active.add(Request("http://a.example/"))  # in some middleware after ours
        slots._forget_at = [(0.0, KEY)]
        slots.set_floor("b.example", "two", 5.0)
        assert KEY in slots._floors, "somebody still waits in it"

    def test_who_asks_for_nothing_any_more(self, slots: Slots, downloader: Downloader) -> None:
        slot = downloader.make()
        request = Request("http://a.example/", meta={"download_slot": KEY})
        slot.transferring.add(request)
        slots.set_floor(KEY, "one", 5.0)
        slots.set_floor(KEY, "one", 0.0)
        slots._answered(request)
        assert slot.lastseen == 0

    @pytest.mark.parametrize("is_sent", [True, False])
    def test_is_counted_from_when_a_request_left_if_it_did(
        self, slots: Slots, downloader: Downloader, monkeypatch: Any, is_sent: bool
    ) -> None:
        calls: list[Any] = []
        monkeypatch.setattr("scrapy_rep.slots.call_later", lambda _, *call: calls.append(call))
        slot = downloader.make()
        slot.lastseen = 1.0
        slots.set_floor(KEY, "one", 5.0)
        slots._reached(Request("http://a.example/", meta={"download_slot": KEY}))
        if is_sent:
            slot.lastseen = 2.0
        while calls:
            call, *arguments = calls.pop()
            call(*arguments)
        assert (slot.lastseen > 2.0, slot.lastseen == 1.0) == (is_sent, not is_sent)


class TestReadiness:
    def test_nobody_is_known(self, slots: Slots) -> None:
        assert slots.ready_at(KEY) < time.monotonic()

    def test_a_delay_runs(self, slots: Slots, downloader: Downloader) -> None:
        slot = downloader.make(delay=2.0)
        slot.lastseen = 1000.0
        assert slots.ready_at(KEY) == 1002.0

    def test_jitter_is_drawn_once_for_each_request(
        self, slots: Slots, downloader: Downloader
    ) -> None:
        slot = downloader.make(delay=2.0, jitter=0.5)
        drawn = set()
        for lastseen in range(1000, 1100):
            slot.lastseen = lastseen
            waits = slots.ready_at(KEY) - lastseen
            assert slots.ready_at(KEY) - lastseen == waits
            assert 1.0 <= waits <= 3.0
            drawn.add(waits)
        assert len(drawn) > 50

    def test_all_places_are_taken(self, slots: Slots, downloader: Downloader) -> None:
        slot = downloader.make(concurrency=2)
        request = Request("http://a.example/")
        slot.transferring.add(request)
        assert slots.ready_at(KEY) < time.monotonic()
        slots.hand_out(Request("http://a.example/2"), KEY)
        assert slots.ready_at(KEY) == float("inf")
        assert slots.active_count(KEY) == 1

    def test_what_ends_in_the_middlewares_is_noticed(
        self, slots: Slots, downloader: Downloader
    ) -> None:
        told: list[str] = []
        slots.listen(told.append)
        dropped, kept = Request("http://a.example/1"), Request("http://a.example/2")
        downloader.active.add(kept)
        slots.hand_out(dropped, KEY)
        slots.hand_out(kept, "b.example")
        slots.take_stock()
        assert told == [KEY]
        assert (slots.active_count(KEY), slots.active_count("b.example")) == (0, 1)

    def test_without_slots_nothing_waits(self) -> None:
        crawler = get_crawler()
        crawler.engine = SimpleNamespace(downloader=object())  # type: ignore[assignment]
        slots = Slots(crawler)
        slots.set_floor(KEY, "one", 5.0)
        assert slots.ready_at(KEY) < time.monotonic()
        with slots.place_of_its_own():
            pass


class TestPlaces:
    @pytest.mark.parametrize(("limit", "meanwhile"), [(16, 17), (0, 0)])
    def test_one_more_for_a_while(
        self, slots: Slots, downloader: Downloader, limit: int, meanwhile: int
    ) -> None:
        downloader.total_concurrency = limit

        def fail() -> None:
            with slots.place_of_its_own():
                assert downloader.total_concurrency == meanwhile
                raise KeyError

        with pytest.raises(KeyError):
            fail()
        assert downloader.total_concurrency == limit


@pytest.mark.parametrize(
    ("url", "meta", "key"),
    [
        ("http://a.example/", {}, "a.example"),
        ("http://a.example/", {"download_slot": "mine"}, "mine"),
        ("http://a.example/", {"download_slot": 7}, "7"),
        (
            "http://b.example/",
            {"download_slot": "a.example", "redirect_urls": ["http://a.example/"]},
            "b.example",
        ),
        (
            "http://b.example/",
            {"download_slot": "mine", "redirect_urls": ["http://a.example/"]},
            "mine",
        ),
        (
            "http://a.example/2",
            {"download_slot": "a.example", "redirect_urls": ["http://a.example/"]},
            "a.example",
        ),
    ],
)
def test_a_redirect_to_another_host_leaves_the_slot_of_the_first(
    url: str, meta: dict[str, Any], key: str
) -> None:
    request = Request(url, meta=meta)
    leave_inherited_slot(request)
    assert slot_key(request) == key
    assert request.meta.get("download_slot", key) == key, "and Scrapy finds the same"

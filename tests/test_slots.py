"""The floor under the downloader's slots, against Scrapy's own slots without downloads."""

from __future__ import annotations

import time
from itertools import product
from types import SimpleNamespace
from typing import Any

import pytest
from scrapy import Request, signals
from scrapy.core.downloader import Downloader as ScrapysDownloader
from scrapy.core.downloader import Slot
from scrapy.utils.test import get_crawler

from scrapy_rep.engine.downloader import DownloaderSlot
from scrapy_rep.engine.floors import Ask
from scrapy_rep.engine.slot_keys import SLOT, leave_inherited_slot, slot_key, slot_key_at
from scrapy_rep.engine.slots import Slots
from scrapy_rep.engine.visits import VisitBook
from scrapy_rep.protocol.access.origin import Origin

KEY = "a.example"
ORIGIN = Origin("http", "a.example", 80)


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

    def make(
        self, concurrency: int = 8, delay: float = 0.0, jitter: float = 0.0, key: str = KEY
    ) -> Slot:
        slot = self.slots[key] = Slot(concurrency, delay, 0.0)
        DownloaderSlot(slot).jitter = jitter
        return slot


@pytest.fixture
def downloader() -> Downloader:
    return Downloader()


@pytest.fixture
def book() -> VisitBook:
    return VisitBook()


def slots_of(downloader: Any, book: VisitBook) -> Slots:
    crawler = get_crawler()
    crawler.engine = SimpleNamespace(downloader=downloader, spider=None)  # type: ignore[assignment]
    return Slots(crawler, book)


@pytest.fixture(params=[True, False], ids=["monotonic", "wall"])
def slots(
    downloader: Downloader,
    book: VisitBook,
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
) -> Slots:
    """Over slots that count by the one clock, as of Scrapy 2.16, or by the other."""
    monkeypatch.setattr("scrapy_rep.engine.downloader._IS_MONOTONIC", request.param)
    return slots_of(downloader, book)


def seen(slot: Slot) -> DownloaderSlot:
    """The slot with all its times by the monotonic clock."""
    return DownloaderSlot(slot)


@pytest.fixture(autouse=True)
def held(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What was to be called later."""
    calls: list[Any] = []
    monkeypatch.setattr("scrapy_rep.engine.visits.call_later", lambda _, call: calls.append(call))
    return calls


def page(key: str = KEY) -> Request:
    return Request("http://a.example/", meta={"download_slot": key})


def reach(slots: Slots, slot: Slot, request: Request) -> None:
    """As Scrapy's downloader does when a request gets there."""
    slots._reached(request)
    slot.queue.append((request, None))  # type: ignore[arg-type]


class TestFloor:
    def test_is_the_longest_of_the_slot_s_origins(
        self, slots: Slots, downloader: Downloader
    ) -> None:
        slot = downloader.make()
        slots.set_floor(KEY, Ask("one", 1.0))
        slots.set_floor(KEY, Ask("two", 3.0))
        assert slot.delay == 3.0
        slots.set_floor(KEY, Ask("two", 0.0))
        assert slot.delay == 1.0
        slots.set_floor(KEY, Ask("one", 0.0))
        assert slot.delay == 0.0

    def test_takes_nothing_from_a_longer_delay(self, slots: Slots, downloader: Downloader) -> None:
        slot = downloader.make(delay=5.0, jitter=0.5)
        slots.set_floor(KEY, Ask("one", 1.0))
        assert (slot.delay, DownloaderSlot(slot).jitter) == (5.0, 0.5)

    @pytest.mark.parametrize("delay", [0.0, 1.0, 2.0, 2.5])
    def test_jitter_never_reaches_below(
        self, slots: Slots, downloader: Downloader, delay: float
    ) -> None:
        slot = downloader.make(delay=delay, jitter=0.5)
        slots.set_floor(KEY, Ask("one", 1.8))
        assert slot.delay * (1 - DownloaderSlot(slot).jitter) >= 1.8 - 1e-9
        slots.set_floor(KEY, Ask("one", 0.0))
        assert (slot.delay, DownloaderSlot(slot).jitter) == (delay, 0.5), "as it was"

    def test_what_others_write_counts_if_it_is_longer(
        self, slots: Slots, downloader: Downloader
    ) -> None:
        slot = downloader.make()
        slots.set_floor(KEY, Ask("one", 1.0))
        for written in (0.2, 7.0, 0.1):
            slot.delay = written
            slots._downloaded(Request("http://a.example/", meta={"download_slot": KEY}))
            assert slot.delay == max(written, 1.0)
        slots.set_floor(KEY, Ask("one", 0.0))
        assert slot.delay == 0.1

    def test_a_new_slot_knows_when_the_old_one_sent(
        self, slots: Slots, downloader: Downloader
    ) -> None:
        old = downloader.make()
        slots.set_floor(KEY, Ask("one", 100.0))
        seen(old).last_at = sent_at = time.monotonic()
        del downloader.slots[KEY]
        assert slots.ready_at(KEY) == pytest.approx(sent_at + 100.0, abs=0.01)
        new = downloader.make()
        slots.set_floor(KEY, Ask("one", 100.0))
        assert seen(new).last_at == seen(old).last_at == pytest.approx(sent_at, abs=0.01)
        assert new.delay == 100.0

    def test_an_hour_that_has_passed_asks_for_nothing(
        self, slots: Slots, downloader: Downloader
    ) -> None:
        slot = downloader.make()
        slots.set_floor(KEY, Ask("one", 9.0, time.time() - 1))
        assert slot.delay == 0.0

    def test_is_forgotten_once_it_lies_in_the_past(
        self, slots: Slots, downloader: Downloader
    ) -> None:
        slot = downloader.make()
        slots.set_floor(KEY, Ask("one", 0.01))
        slots._delays._forget_at = [(0.0, KEY)]
        slots.set_floor("b.example", Ask("two", 5.0))
        assert KEY not in slots._delays.floors
        assert slots._delays.of("one") == []
        assert [*slots._delays._keys] == ["two"], "its origin takes no memory either"
        assert slot.delay == 0.0

        slots.set_floor(KEY, Ask("one", 0.01))
        downloader.active.add(Request("http://a.example/"))  # in some middleware after ours
        slots._delays._forget_at = [(0.0, KEY)]
        slots.set_floor("b.example", Ask("two", 5.0))
        assert KEY in slots._delays.floors, "somebody still waits in it"

    def test_one_that_holds_for_longer_is_looked_at_again(
        self, slots: Slots, downloader: Downloader
    ) -> None:
        slot = downloader.make()
        slots.set_floor(KEY, Ask("one", 9.0))
        seen(slot).last_at = time.monotonic()
        slots._delays._forget_at = [(0.0, KEY)]
        slots.set_floor("b.example", Ask("two", 5.0))
        assert KEY in slots._delays.floors
        ((at, _),) = [one for one in slots._delays._forget_at if one[1] == KEY]
        assert time.monotonic() < at <= time.monotonic() + 9, "or it would stay for ever"

    def test_who_asks_for_nothing_any_more(self, slots: Slots, downloader: Downloader) -> None:
        slot = downloader.make()
        slots.set_floor(KEY, Ask(ORIGIN, 5.0))
        slots.set_floor(KEY, Ask(ORIGIN, 0.0))
        slots._let_go(page(), KEY)
        slots._arrived(page())
        assert (slot.lastseen, slot.delay) == (0, 0.0)
        assert slots.ready_at(KEY) < time.monotonic()

    def test_what_our_own_requests_ask_for(self, slots: Slots, downloader: Downloader) -> None:
        """Beside what pages ask for, which may be newer, and until a delay after the answer."""
        slots.ask_of = lambda origin: Ask(origin, 5.0)
        slot = downloader.make()
        slots.set_floor(KEY, Ask(ORIGIN, 7.0))
        request = page()
        slots.ask_as_known(request)
        reach(slots, slot, request)
        assert slot.delay == 7.0
        slots.set_floor(KEY, Ask(ORIGIN, 0.0))
        assert slot.delay == 5.0
        slots._arrived(request)
        (hold,) = slots._delays.floors[KEY].holds.values()
        assert hold.count == 0
        assert hold.until == pytest.approx(time.time() + 5.0, abs=1)

    def test_our_own_requests_in_a_slot_that_somebody_chose(
        self, slots: Slots, downloader: Downloader
    ) -> None:
        """The files of others go through it, too."""
        slots.ask_of = lambda origin: Ask(origin, 5.0)
        request = page("robots")
        slots.ask_as_known(request)
        reach(slots, slot := downloader.make(key="robots"), request)
        assert slot.delay == 0.0

    def test_what_a_request_asks_for_itself_is_left(
        self, slots: Slots, downloader: Downloader
    ) -> None:
        """A log-in that a middleware sends may have the meta of ours."""
        slots.ask_of = lambda origin: Ask(origin, 1.0)
        request = page()
        slots.ask(request, Ask(ORIGIN, 3.0, as_whom=("slowbot",)))
        slots.ask_as_known(request)
        reach(slots, slot := downloader.make(), request)
        assert slot.delay == 3.0

    @pytest.mark.parametrize("seconds", [None, 0.0])
    def test_our_own_requests_where_nothing_is_asked_for(
        self, slots: Slots, seconds: float | None
    ) -> None:
        slots.ask_of = lambda _: None if seconds is None else Ask(ORIGIN, seconds)
        for url in ("http://a.example/", "http://a;b/", "file:///a"):
            slots.ask_as_known(Request(url, meta={"download_slot": KEY}))
        assert not slots._has_asked
        assert not slots._asks

    def test_the_file_that_asks_for_it_was_a_visit(
        self, slots: Slots, downloader: Downloader
    ) -> None:
        slot = downloader.make()
        slots.set_floor(KEY, Ask(ORIGIN, 5.0, last_at=1000.0))
        assert slots.ready_at(KEY) == seen(slot).last_at + slot.delay
        assert slots.ready_at(KEY) == pytest.approx(1005.0, abs=0.01)


class TestVisits:
    """From when a delay is counted."""

    def test_is_not_known_from_when_until_the_answer(
        self, slots: Slots, downloader: Downloader
    ) -> None:
        slot = downloader.make()
        slots.set_floor(KEY, Ask(ORIGIN, 5.0))
        request = page()
        reach(slots, slot, request)
        slot.queue.popleft()
        assert slots.ready_at(KEY) == float("inf")
        began = time.monotonic()
        slots._arrived(request)
        assert began + 5 <= slots.ready_at(KEY) <= time.monotonic() + 5
        assert seen(slot).last_at >= began - 0.01

    def test_what_is_known_to_have_left_counts_at_once(
        self, slots: Slots, book: VisitBook, downloader: Downloader
    ) -> None:
        slot = downloader.make()
        slots.set_floor(KEY, Ask(ORIGIN, 5.0))
        request = page()
        reach(slots, slot, request)
        slot.queue.popleft()
        visits = book.get(ORIGIN)
        assert visits is not None
        visits.has_left()
        now = time.monotonic()
        assert slots.ready_at(KEY) == pytest.approx(now + 5.15, abs=0.05), "with a guard"
        slots._arrived(request)
        assert slots.ready_at(KEY) == pytest.approx(now + 5, abs=0.1), "without"
        visits.is_sent_again()
        assert slots.ready_at(KEY) == pytest.approx(now + 5, abs=0.1), "it is over"

    def test_a_request_leaves_some_turns_after_it_has_a_connection(
        self, book: VisitBook, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The process may have to wait for its processor before the octets are written."""
        turns: list[Any] = []

        def call_later(seconds: float, call: Any, *values: Any) -> Any:
            if not seconds:
                turns.append(lambda: call(*values))
            return SimpleNamespace(cancel=lambda: None)

        monkeypatch.setattr("scrapy_rep.engine.visits.call_later", call_later)
        visits, request = book.of(ORIGIN, 0.0, 1.0), page()
        visits.let_go(request)
        visits.is_leaving()
        time.sleep(0.1)
        while turns:
            assert visits.is_unsure
            turns.pop()()
        assert not visits.is_unsure
        assert visits.last_at == pytest.approx(time.monotonic() + 0.03, abs=0.02)
        visits.is_there(request)
        again = page()
        visits.let_go(again)
        visits.is_leaving()
        visits.is_sent_again()
        while turns:
            turns.pop()()
        assert visits.is_unsure, "of the second time, nothing is known before the answer"

    def test_what_is_sent_again_is_not_known_of_again(
        self, slots: Slots, book: VisitBook, downloader: Downloader
    ) -> None:
        slot = downloader.make()
        slots.set_floor(KEY, Ask(ORIGIN, 5.0))
        request = page()
        reach(slots, slot, request)
        slot.queue.popleft()
        visits = book.get(ORIGIN)
        assert visits is not None
        visits.has_left()
        visits.is_sent_again()
        slots._delays.apply(KEY)
        assert slots.ready_at(KEY) == float("inf")
        assert slot.lastseen < float("inf"), "a timer of Scrapy's would never ring"
        slots._arrived(request)
        assert slots.ready_at(KEY) < float("inf")

    def test_requests_of_other_slots_are_held(
        self, slots: Slots, downloader: Downloader, held: list[Any]
    ) -> None:
        one, two = downloader.make(), downloader.make(key="two")
        for key in (KEY, "two"):
            slots.set_floor(key, Ask(ORIGIN, 1.0))
        first, second = page(), page("two")
        reach(slots, one, first)
        reach(slots, two, second)
        one.queue.popleft()
        for _ in range(3):
            assert seen(two).last_at + two.delay > time.monotonic(), "or it would be let go"
            two.lastseen = 0.0
            held.pop()()
        slots._arrived(first)
        assert seen(two).last_at + two.delay == pytest.approx(time.monotonic() + 1, abs=0.1)
        held.pop()()
        assert held == []

    def test_a_slot_that_sent_later_is_not_set_back(
        self, slots: Slots, downloader: Downloader
    ) -> None:
        """It was to another origin: both delays hold."""
        slot = downloader.make()
        seen(slot).last_at = sent_at = time.monotonic()
        before = slot.lastseen
        slots.set_floor(KEY, Ask(ORIGIN, 5.0, last_at=sent_at - 100))
        assert slot.lastseen == before
        assert slots.ready_at(KEY) == pytest.approx(sent_at + 5.0)

    def test_a_delay_that_holds_no_more_keeps_nobody_until_the_answer(
        self, slots: Slots, downloader: Downloader
    ) -> None:
        slot = downloader.make(delay=1.0)
        slots.set_floor(KEY, Ask(ORIGIN, 5.0))
        reach(slots, slot, page())
        slot.queue.popleft()
        assert slots.ready_at(KEY) == float("inf")
        slots.set_floor(KEY, Ask(ORIGIN, 0.0))
        assert slots.ready_at(KEY) < float("inf")

    def test_a_request_whose_policy_asks_for_nothing_any_more(
        self, slots: Slots, downloader: Downloader
    ) -> None:
        slot = downloader.make()
        slots.set_floor(KEY, Ask(ORIGIN, 5.0))
        request = page()
        slots.ask(request, Ask(ORIGIN, 0.0))
        reach(slots, slot, request)
        assert slot.delay == 0.0

    def test_a_slot_that_comes_while_it_is_not_known_waits(
        self, slots: Slots, downloader: Downloader
    ) -> None:
        one = downloader.make()
        slots.set_floor(KEY, Ask(ORIGIN, 1.0))
        reach(slots, one, page())
        one.queue.popleft()
        two = downloader.make(key="two")
        slots.set_floor("two", Ask(ORIGIN, 1.0))
        assert seen(two).last_at + two.delay > time.monotonic(), "or it would send at once"

    def test_what_goes_through_a_slot_without_a_delay_is_a_visit(
        self, slots: Slots, downloader: Downloader
    ) -> None:
        """One that is exempt, say: nobody asks for it to wait, and others wait for it."""
        downloader.make()
        slots.set_floor(KEY, Ask(ORIGIN, 5.0))
        plain, request = downloader.make(key="plain"), page("plain")
        reach(slots, plain, request)
        assert plain.delay == 0.0
        assert slots.ready_at(KEY) == float("inf")
        slots._left(request)
        assert slots.ready_at(KEY) == pytest.approx(time.monotonic() + 5, abs=0.1)

    def test_a_slot_that_is_forgotten_takes_nothing_from_another(
        self, slots: Slots, book: VisitBook, downloader: Downloader
    ) -> None:
        for key in (KEY, "two", "three"):
            downloader.make(key=key)
            slots.set_floor(key, Ask(ORIGIN, 1.0 if key == "two" else 9.0))
        slots._delays.floors["two"].holds[ORIGIN, None].until = 0.0
        slots._delays._forget_at = [(0.0, "two")]
        book.get(ORIGIN).last_at = -1e6  # type: ignore[union-attr]
        slots.set_floor(KEY, Ask(ORIGIN, 9.0))
        assert "two" not in slots._delays.floors
        told: list[str] = []
        slots.listen(told.append)
        visits = book.get(ORIGIN)
        assert visits is not None
        visits.let_go(page())
        assert sorted(told) == [KEY, "three"]

    def test_what_is_sent_again_holds_lines_again(
        self, slots: Slots, book: VisitBook, downloader: Downloader, held: list[Any]
    ) -> None:
        """Its octets were thought to have left, and the looks had ended."""
        one, two = downloader.make(), downloader.make(key="two")
        for key in (KEY, "two"):
            slots.set_floor(key, Ask(ORIGIN, 1.0))
        reach(slots, one, page())
        reach(slots, two, page("two"))
        one.queue.popleft()
        visits = book.get(ORIGIN)
        assert visits is not None
        visits.has_left()
        told: list[str] = []
        slots.listen(told.append)
        held.clear()
        visits.last_at = two.lastseen = 0.0
        began = time.monotonic()
        visits.is_sent_again()
        assert visits.last_at >= began
        assert sorted(told) == [KEY, "two"]
        assert seen(two).last_at + two.delay > time.monotonic(), "or it would be let go"
        assert len(held) == 1
        visits.is_sent_again()
        assert len(held) == 1, "there is one look at a time"

    @pytest.mark.parametrize(("delay", "most"), [(1e-9, 100), (0.05, 100), (9.0, 50)])
    def test_what_is_not_known_is_looked_at_now_and_then(
        self, book: VisitBook, monkeypatch: pytest.MonkeyPatch, delay: float, most: int
    ) -> None:
        """The site names the delay, and keeps us waiting for the answer as long as it likes."""
        pauses: list[float] = []
        monkeypatch.setattr(
            "scrapy_rep.engine.visits.call_later", lambda pause, _: pauses.append(pause)
        )
        book.of(ORIGIN, 0.0, delay).let_go(page())
        assert [pause >= 1 / most for pause in pauses] == [True]

    def test_nobody_looks_once_all_is_known(
        self, book: VisitBook, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The loop may end before the next look, and another crawl of the thread have a new one."""
        loop: list[Any] = []

        def call_later(_: float, call: Any) -> Any:
            loop.append(call)
            return SimpleNamespace(cancel=lambda: loop.remove(call))

        monkeypatch.setattr("scrapy_rep.engine.visits.call_later", call_later)
        visits = book.of(ORIGIN, 0.0, 1.0)
        one, two = page(), page()
        for request in (one, two):
            visits.let_go(request)
        visits.is_there(one)
        assert len(loop) == 1
        visits.has_left()
        assert loop == []
        three = page()
        visits.let_go(three)
        assert len(loop) == 1, "there is a look at the next one"
        visits.is_there(three)
        assert loop == []

    def test_who_chose_another_slot_is_out_until_it_is_let_go(
        self, slots: Slots, downloader: Downloader
    ) -> None:
        slots.set_floor(KEY, Ask(ORIGIN, 1.0))
        proxy = downloader.make(key="proxy")
        request = page("proxy")
        slots.hand_out(request, KEY)
        slots.ask(request, Ask(ORIGIN, 1.0))
        reach(slots, proxy, request)
        assert (proxy.delay, slots.ready_at(KEY)) == (1.0, float("inf"))
        proxy.queue.popleft()
        slots._left(request)
        assert slots.ready_at(KEY) == pytest.approx(time.monotonic() + 1, abs=0.1)

    def test_other_product_tokens_ask_for_as_long_as_they_come(
        self, slots: Slots, downloader: Downloader
    ) -> None:
        slot = downloader.make()
        request = page()
        slots.ask(request, Ask(ORIGIN, 3.0, as_whom=("slowbot",)))
        assert slot.delay == 0.0
        reach(slots, slot, request)
        assert slot.delay == 3.0
        slot.queue.popleft()
        slots._left(request)
        slots.set_floor(KEY, Ask(ORIGIN, 0.0))
        assert slot.delay == 3.0, "it was there only now"
        slots._delays.floors[KEY].holds[ORIGIN, ("slowbot",)].until = time.time() - 1
        slots.set_floor(KEY, Ask(ORIGIN, 0.0))
        assert slot.delay == 0.0

    def test_crawls_of_a_thread_share_them(
        self, slots: Slots, book: VisitBook, downloader: Downloader
    ) -> None:
        other = slots_of(Downloader(), book)
        told: list[str] = []
        other.listen(told.append)
        slot = downloader.make()
        for one in (slots, other):
            one.set_floor(KEY, Ask(ORIGIN, 5.0))
        request = page()
        reach(slots, slot, request)
        slot.queue.popleft()
        assert other.ready_at(KEY) == float("inf")
        told.clear()
        slots._left(request)
        assert told == [KEY]
        assert other.ready_at(KEY) == pytest.approx(time.monotonic() + 5, abs=0.1)

    def test_a_crawl_that_ends_keeps_nobody_waiting(
        self, slots: Slots, book: VisitBook, downloader: Downloader
    ) -> None:
        other = slots_of(Downloader(), book)
        slot = downloader.make()
        for one in (slots, other):
            one.set_floor(KEY, Ask(ORIGIN, 5.0))
        reach(slots, slot, page())
        slot.queue.popleft()
        slots._spider_closed()
        assert other.ready_at(KEY) < float("inf")
        assert slot.delay == 0.0

    def test_are_forgotten_once_they_say_nothing(self, book: VisitBook) -> None:
        now = time.monotonic()
        for number in range(1000):
            book.of(number, now - 10, 1.0)
        book._look_at = [(0.0, number, origin) for _, number, origin in book._look_at]
        book.of("new", now, 1.0)
        assert len(book) == 1

    def test_are_kept_while_somebody_needs_them(self, slots: Slots, book: VisitBook) -> None:
        now = time.monotonic()
        book.of("followed", now - 10, 1.0).follow(slots)
        book.of("unsure", now - 10, 1.0).let_go(page())
        book.of("over", now - 10, 1.0)
        book.of("young", now, 60.0)
        book._look_at = [(0.0, number, origin) for _, number, origin in book._look_at]
        for origin in ("new", "newer"):
            book.of(origin, now, 1.0)
        assert sorted(map(str, book._records)) == ["followed", "new", "newer", "unsure", "young"]

    def test_origins_that_are_met_at_the_same_instant(
        self, book: VisitBook, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Clocks may be coarse, and origins have no order."""
        monkeypatch.setattr("scrapy_rep.engine.visits.time.monotonic", lambda: 1000.0)
        for number in range(9):
            origin = Origin("http", f"h{number}.example", 80)
            assert book.of(origin, 1000.0, 0.5).seconds == 0.5
        assert len(book) == 9


class TestReadiness:
    def test_nobody_is_known(self, slots: Slots) -> None:
        assert slots.ready_at(KEY) < time.monotonic()

    def test_a_delay_runs(self, slots: Slots, downloader: Downloader) -> None:
        slot = downloader.make(delay=2.0)
        seen(slot).last_at = 1000.0
        assert slots.ready_at(KEY) == pytest.approx(1002.0, abs=0.01)

    def test_jitter_is_drawn_once_for_each_request(
        self, slots: Slots, downloader: Downloader
    ) -> None:
        slot = downloader.make(delay=2.0, jitter=0.5)
        drawn = set()
        for sent_at in range(1000, 1100):
            seen(slot).last_at = sent_at
            waits = slots.ready_at(KEY) - sent_at
            assert [slots.ready_at(KEY) - sent_at for _ in range(20)] == [waits] * 20
            assert 0.99 <= waits <= 3.01
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

    @pytest.mark.parametrize("is_usual", [True, False])
    @pytest.mark.parametrize("concurrency", [0, 2, 102])
    @pytest.mark.parametrize(("sent_count", "out_count"), [*product([0, 1, 100], repeat=2)])
    def test_places(
        self,
        slots: Slots,
        downloader: Downloader,
        *,
        sent_count: int,
        out_count: int,
        concurrency: int,
        is_usual: bool,
    ) -> None:
        """The same of a slot that has to be looked at more closely; 0 is no limit."""
        slot: Any = downloader.make(concurrency=concurrency)
        if not is_usual:
            slot.latercall = SimpleNamespace(cancel=lambda: None)
        for number in range(sent_count):
            request = Request(f"http://a.example/{number}")
            if number % 2:
                slot.transferring.add(request)
            else:
                slot.queue.append((request, None))
        for number in range(out_count):
            slots.hand_out(Request(f"http://a.example/out/{number}"), KEY)
        is_full = 0 < concurrency <= sent_count + out_count
        assert slots.ready_at(KEY) == (float("inf") if is_full else float("-inf"))

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

    def test_what_takes_the_place_that_it_held_changes_nothing(
        self, slots: Slots, downloader: Downloader
    ) -> None:
        """Each request of a crawl without delays comes here: listeners need not look again."""
        slot = downloader.make(concurrency=2)
        told: list[str] = []
        slots.listen(told.append)
        one, two = page(), page()
        for request in (one, two):
            slots.hand_out(request, KEY)
        assert slots.ready_at(KEY) == float("inf")
        reach(slots, slot, one)
        assert not told
        assert (slots.active_count(KEY), slots.ready_at(KEY)) == (2, float("inf"))
        slots._left(one)
        slot.queue.clear()
        assert told == [KEY]
        assert (slots.active_count(KEY), slots.ready_at(KEY)) == (1, float("-inf"))

    @pytest.mark.parametrize(
        "make_it_matter",
        [
            lambda slots, slot: setattr(slot, "delay", 1.0),
            lambda slots, slot: setattr(slot, "latercall", SimpleNamespace(cancel=lambda: None)),
            lambda slots, slot: setattr(slot, "transferring", None),
            lambda slots, slot: setattr(slot, "queue", None),
            lambda slots, slot: slots.set_floor(KEY, Ask(ORIGIN, 1.0)),
            lambda slots, slot: slots._book.of("another crawl's", 0.0, 9.0),
            lambda slots, slot: slots._under_way.out.clear(),
            lambda slots, slot: slots._under_way.out.update(
                dict.fromkeys(slots._under_way.out, "")
            ),
        ],
    )
    def test_where_it_may_change_something_listeners_are_told(
        self, slots: Slots, downloader: Downloader, make_it_matter: Any
    ) -> None:
        slot = downloader.make()
        told: list[str] = []
        slots.listen(told.append)
        request = page()
        slots.hand_out(request, KEY)
        slots._under_way.out_counts[""] = 1
        make_it_matter(slots, slot)
        told.clear()
        slots._reached(request)
        assert KEY in told

    def test_what_has_left_is_under_way_no_more(self, slots: Slots, downloader: Downloader) -> None:
        """Scrapy takes it out of `slot.active` some turns after its signal; no signal tells."""
        slot = downloader.make()
        request = Request("http://a.example/", meta={"download_slot": KEY})
        slots.hand_out(request, KEY)
        slot.active.add(request)
        send = slots._crawler.signals.send_catch_log
        send(signals.request_reached_downloader, request=request)
        assert slots.has(request)
        assert slots.active_count(KEY) == 1
        send(signals.request_left_downloader, request=request)
        assert slots.active_count(KEY) == 0
        assert not slots._under_way._inside_counts, "or each host would leave something"
        assert not slots._under_way.out_counts
        slot.active.discard(request)
        assert not slots.has(request)

    @pytest.mark.parametrize("is_sent", [False, True])
    def test_what_was_abandoned_is_under_way_no_more(
        self, slots: Slots, downloader: Downloader, is_sent: bool
    ) -> None:
        """No signal tells of it, or its slot would be behind all others from then on."""
        told: list[str] = []
        slots.listen(told.append)
        slot = downloader.make()
        slots.set_floor(KEY, Ask(ORIGIN, 1.0))
        request = page()
        reach(slots, slot, request)
        if is_sent:
            slot.queue.popleft()
            slot.transferring.add(request)
        assert slots.active_count(KEY) == 1
        told.clear()
        slots.abandon(request)
        assert (len(slot.queue), slot.transferring) == (0, set())
        assert slots.active_count(KEY) == 0
        assert slots.ready_at(KEY) < float("inf")
        assert set(told) == {KEY}
        assert slots.active_count(KEY) == 0
        assert not slots._sent

    def test_nothing_is_left_of_a_request_with_a_pace_of_its_own_that_was_not_sent(
        self, slots: Slots, downloader: Downloader
    ) -> None:
        slot = downloader.make()
        slots.ask(request := page(), Ask(ORIGIN, 9.0, as_whom=("bar",)))
        reach(slots, slot, request)
        assert (list(slots._others), list(slots._sent)) == ([request], [])
        slots.abandon(request)
        assert not slots._others

    @pytest.mark.parametrize("is_sent", [False, True])
    def test_the_next_request_takes_the_place_of_one_that_was_abandoned(
        self, slots: Slots, downloader: Any, is_sent: bool
    ) -> None:
        """No answer will have Scrapy look at the slot again."""
        looked_at: list[Slot] = []
        downloader._process_queue = looked_at.append
        slot = downloader.make(concurrency=1)
        request = page()
        reach(slots, slot, request)
        if is_sent:
            slot.queue.popleft()
            slot.transferring.add(request)
        slots.abandon(request)
        assert looked_at == ([slot] if is_sent else [])

    def test_a_request_whose_delay_is_not_known_yet_counts_from_its_answer(
        self, slots: Slots, downloader: Downloader
    ) -> None:
        slot = downloader.make()
        before = time.monotonic()
        slots.count_from_now(page())
        assert seen(slot).last_at >= before - 0.001

    def test_a_request_that_has_waited_in_the_queue_does_not_wait_for_a_timer(
        self, slots: Slots, downloader: Downloader
    ) -> None:
        """The slot set it when it sent the last request, for the longest delay."""
        slot = downloader.make(delay=1.0)
        slots.set_floor(KEY, Ask(ORIGIN, 1.0))
        seen(slot).last_at = time.monotonic() - 1.1
        cancelled: list[str] = []
        slot.latercall = SimpleNamespace(cancel=lambda: cancelled.append("timer"))  # type: ignore[assignment]
        request = page()
        slots.hand_out(request, KEY)
        slots._reached(request)
        assert cancelled == ["timer"]
        assert slot.latercall is None

    def test_a_slot_that_was_chosen_behind_the_queue_counts_for_its_turn(
        self, slots: Slots, downloader: Downloader
    ) -> None:
        told: list[str] = []
        slots.listen(told.append)
        request = Request("http://a.example/", meta={"download_slot": "proxy"})
        slots.hand_out(request, KEY)
        send = slots._crawler.signals.send_catch_log
        send(signals.request_reached_downloader, request=request)
        assert (slots.active_count(KEY), slots.active_count("proxy")) == (1, 0)
        told.clear()
        send(signals.request_left_downloader, request=request)
        assert slots.active_count(KEY) == 0
        assert KEY in told

    def test_what_a_slot_has_sent(self, downloader: Downloader) -> None:
        slot = downloader.make()
        sent, queued = page(), page()
        slot.transferring.add(sent)
        slot.queue.append((queued, None))  # type: ignore[arg-type]
        seen_slot = seen(slot)
        assert (seen_slot.has_sent(sent), seen_slot.has_sent(queued)) == (True, False)
        assert DownloaderSlot(SimpleNamespace(transferring=None)).has_sent(queued), "nobody knows"
        assert seen_slot.sent_count == 1

    def test_a_timer_that_is_dropped_does_not_ring(self) -> None:
        rung: list[str] = []
        slot = SimpleNamespace(latercall=SimpleNamespace(cancel=lambda: rung.append("cancelled")))
        for _ in range(2):
            DownloaderSlot(slot).drop_timer()
        assert (slot.latercall, rung) == (None, ["cancelled"])

    def test_without_slots_nothing_waits(self) -> None:
        crawler = get_crawler()
        crawler.engine = SimpleNamespace(downloader=object())  # type: ignore[assignment]
        slots = Slots(crawler)
        slots.set_floor(KEY, Ask("one", 5.0))
        assert slots.ready_at(KEY) < time.monotonic()
        with slots.place_of_its_own():
            pass


_JITTER = "jitter" if hasattr(Slot(8, 0.0, 0.0), "jitter") else "randomize_delay"  # up to 2.18
_ATTRIBUTES = ["concurrency", "delay", _JITTER, "active", "queue", "transferring", "lastseen"]


class TestWhatIsLacking:
    """A `DOWNLOADER` of somebody else's; Scrapy's next."""

    @pytest.mark.parametrize("lacking", [*_ATTRIBUTES, *map(tuple, [_ATTRIBUTES]), "latercall"])
    @pytest.mark.parametrize("odd", ["absent", None, "text"])
    def test_a_slot_keeps_nobody_from_working(self, lacking: Any, odd: Any) -> None:
        downloader = Downloader()
        lacks = {lacking} if isinstance(lacking, str) else set(lacking)
        whole = Slot(8, 0.0, 0.0)
        values = {name: getattr(whole, name) for name in [*_ATTRIBUTES, "latercall"]}
        kept = {name: value for name, value in values.items() if name not in lacks}
        if odd != "absent" and "latercall" not in lacks:
            kept |= dict.fromkeys(lacks, odd)
        downloader.slots[KEY] = SimpleNamespace(**kept)
        self.use(slots_of(downloader, VisitBook()))
        if odd == "absent":
            assert set(vars(downloader.slots[KEY])) == set(kept), "nothing is made up"

    @pytest.mark.parametrize(
        "downloader",
        [
            None,
            object(),
            SimpleNamespace(slots=None, active=None, per_slot_settings=None, handlers=None),
            SimpleNamespace(slots=[], active=7, total_concurrency=None, domain_concurrency="8"),
            SimpleNamespace(slots={KEY: object()}, per_slot_settings={KEY: None}),
        ],
    )
    def test_a_downloader_keeps_nobody_from_working(self, downloader: Any) -> None:
        self.use(slots_of(downloader, VisitBook()))

    def use(self, slots: Slots) -> None:
        request = page()
        slots.hand_out(request, KEY)
        slots.ask(request, Ask(ORIGIN, 5.0))
        slots.set_floor(KEY, Ask(ORIGIN, 5.0))
        send = slots._crawler.signals.send_catch_log
        send(signals.request_reached_downloader, request=request)
        assert slots.active_count(KEY) == 1
        assert not slots.is_waiting(request)
        slots.count_from_now(request)
        slots.ready_at(KEY)
        send(signals.request_left_downloader, request=request)
        assert slots.active_count(KEY) == 0
        assert slots.ready_at(KEY) < float("inf")
        slots.take_stock()
        with slots.place_of_its_own():
            pass
        slots._delays._forget_at = [(0.0, KEY)]
        slots._delays._forget()
        slots._spider_closed()

    @pytest.mark.parametrize(("delay", "is_kept"), [(0.0, False), (2.0, False), (9.0, True)])
    def test_slots_without_a_number_for_jitter(
        self, slots: Slots, downloader: Downloader, delay: float, is_kept: bool
    ) -> None:
        """Up to Scrapy 2.18, a slot draws half of its delay less or more, or nothing."""
        whole = Slot(8, delay, 0.0)
        names = [name for name in _ATTRIBUTES if name != "jitter"]
        slot = SimpleNamespace(**{name: getattr(whole, name) for name in names})
        slot.randomize_delay = True
        downloader.slots[KEY] = slot
        slots.set_floor(KEY, Ask("one", 1.8))
        assert slot.delay * (0.5 if slot.randomize_delay else 1.0) >= 1.8
        assert slot.randomize_delay == is_kept
        slots.set_floor(KEY, Ask("one", 0.0))
        assert (slot.delay, slot.randomize_delay) == (delay, True), "as it was"
        assert not hasattr(slot, "jitter")

    def test_somebody_sets_the_wall_clock(
        self, slots: Slots, downloader: Downloader, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """By an hour forward: the next request to get there would be sent at once."""
        monkeypatch.setattr("scrapy_rep.engine.downloader._IS_MONOTONIC", False)
        wall = time.time
        slot = downloader.make()
        slots.set_floor(KEY, Ask(ORIGIN, 5.0, last_at=time.monotonic()))
        monkeypatch.setattr(time, "time", lambda: wall() + 3600)
        slots._reached(page())
        assert slot.lastseen + slot.delay - time.time() == pytest.approx(5, abs=0.5)

    @pytest.mark.parametrize(
        ("of_slots", "expected"),
        [
            ({KEY: {"concurrency": 2, "delay": 3.0}}, (2, 3.0)),
            ({KEY: {"delay": 3.0}}, (8, 3.0)),
            ({"b.example": {"delay": 3.0}}, (8, 0.5)),
            ({KEY: {"concurrency": None, "delay": "3"}}, (0, 0.0)),
            ({KEY: 3}, (8, 0.5)),
            ([KEY], (8, 0.5)),
            (None, (8, 0.5)),
        ],
    )
    def test_a_slot_that_does_not_exist_yet_has_settings_of_its_own(
        self, slots: Slots, downloader: Downloader, of_slots: Any, expected: tuple[int, float]
    ) -> None:
        downloader.per_slot_settings, downloader._delay = of_slots, 0.5
        assert slots._downloader.slot_to_be(KEY) == expected

    @pytest.mark.parametrize(
        ("total", "active", "free"), [(16, 0, 16), (16, 5, 11), (1, 1, 0), (2, 3, 0), (0, 3, 64)]
    )
    def test_how_many_requests_more_it_would_take(
        self, slots: Slots, downloader: Downloader, total: int, active: int, free: int
    ) -> None:
        downloader.total_concurrency = total
        downloader.active = {page(str(number)) for number in range(active)}
        assert slots._downloader.free_places == free

    def test_one_that_waits_for_other_workers_holds_no_place(
        self, slots: Slots, downloader: Downloader
    ) -> None:
        """One for each origin: the others are as many as the downloader takes."""
        with slots.place_for_others(ORIGIN):
            assert downloader.total_concurrency == 17
            with slots.place_for_others(ORIGIN):
                assert downloader.total_concurrency == 17
            with slots.place_for_others("another"):
                assert downloader.total_concurrency == 18
        assert downloader.total_concurrency == 16
        with slots.place_for_others(ORIGIN):
            assert downloader.total_concurrency == 17

    @pytest.mark.parametrize("delay", [0.0, 3.0])
    def test_the_delay_of_a_slot_that_does_not_exist_yet(self, delay: float) -> None:
        """Or several requests would be handed out for it at once."""
        crawler = get_crawler(settings_dict={"DOWNLOAD_DELAY": delay})
        crawler.engine = SimpleNamespace(downloader=ScrapysDownloader(crawler))  # type: ignore[assignment]
        slots = Slots(crawler, VisitBook())
        slots.hand_out(page(), KEY)
        assert slots._downloader.slot_to_be(KEY) == (8, delay)
        assert slots.ready_at(KEY) == (float("inf") if delay else float("-inf"))

    def test_slots_that_count_by_the_wall_clock(
        self, slots: Slots, downloader: Downloader, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Scrapy's did up to some release; a delay would never be over, or not begin."""
        monkeypatch.setattr("scrapy_rep.engine.downloader._IS_MONOTONIC", False)
        slot = downloader.make(delay=2.0)
        slot.lastseen = time.time()
        assert slots.ready_at(KEY) == pytest.approx(time.monotonic() + 2, abs=0.1)
        slots.set_floor(KEY, Ask(ORIGIN, 5.0, last_at=time.monotonic()))
        assert slot.lastseen + slot.delay == pytest.approx(time.time() + 5, abs=0.1)


class TestPlaces:
    @pytest.mark.parametrize(("limit", "meanwhile"), [(16, 17), (1, 2), (0, 0)])
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


@pytest.mark.parametrize("slot", [None, "proxy", 7, ""])
def test_the_key_of_a_slot_by_the_origin_is_that_by_the_url(slot: Any) -> None:
    request = Request("http://a.example:8080/b", meta={} if slot is None else {SLOT: slot})
    origin = Origin("http", "a.example", 8080)
    assert slot_key_at(request, origin) == slot_key(request)
    assert slot_key(request) == ("a.example" if slot is None else str(slot))

"""Requests that come to the downloader: listened to where a pace is kept, else looked for."""

from __future__ import annotations

import gc
import random
import weakref
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from scrapy import Request, signals
from scrapy.core.downloader import Downloader, Slot
from scrapy.crawler import Crawler
from scrapy.utils.test import get_crawler

from scrapy_rep.engine.floors import Ask
from scrapy_rep.engine.slots import Slots
from scrapy_rep.engine.visits import VisitBook
from scrapy_rep.protocol.access.origin import Origin

KEY, OTHER = "a.example", "b.example"
ORIGIN = Origin("http", KEY, 80)
FULL, FREE = float("inf"), float("-inf")


class Crawl:
    """Slots over Scrapy's own downloader, which downloads nothing: requests come when we say so."""

    def __init__(
        self,
        settings: dict[str, Any] | None = None,
        *,
        may_rest: bool = True,
        book: VisitBook | None = None,
        usual_count: int = 64,
    ) -> None:
        self.crawler: Crawler = get_crawler(settings_dict=settings)
        self.book: VisitBook = VisitBook() if book is None else book
        self.downloader: Any = Downloader(self.crawler)
        self.crawler.engine = SimpleNamespace(  # type: ignore[assignment]
            downloader=self.downloader, spider=None
        )
        self.slots = Slots(self.crawler, self.book)
        self.told: list[str] = []
        self.slots.listen(self.told.append)
        self.slots.arrivals.usual_count = usual_count
        if may_rest:
            self.slots.ask_before_use()
        self.slots.take_stock()
        self.number = 0

    def is_listening(self) -> bool:
        return self.slots.arrivals.is_listening

    def slot(self, key: str = KEY, concurrency: int = 2) -> Slot:
        slot = Slot(concurrency, 0.0, 0.0)
        self.downloader.slots.setdefault(key, slot)
        found: Slot = self.downloader.slots[key]
        return found

    def slow_down(self) -> None:
        """As an extension may do at any time."""
        self.slot().delay = 1.0
        assert self.slots.ready_at(KEY) == FULL

    def handed_out(self, key: str = KEY) -> Request:
        self.number += 1
        request = Request(f"http://{key}/{self.number}")
        self.downloader.active.add(request)
        self.slots.hand_out(request, key)
        return request

    def reaches(self, request: Request, key: str = KEY) -> None:
        """As `_enqueue_request` does."""
        slot = self.slot(key)
        request.meta["download_slot"] = key
        slot.active.add(request)
        self.crawler.signals.send_catch_log(
            signals.request_reached_downloader, request=request, spider=None
        )
        if len(slot.transferring) < slot.concurrency:
            slot.transferring.add(request)
        else:
            slot.queue.append((request, None))  # type: ignore[arg-type]

    def leaves(self, request: Request) -> Callable[[], None]:
        """As `_download` does; what is returned does what Scrapy does some turns later."""
        slot = self.downloader.slots[request.meta["download_slot"]]
        slot.transferring.discard(request)
        if slot.queue:
            slot.transferring.add(slot.queue.popleft()[0])
        self.crawler.signals.send_catch_log(
            signals.request_left_downloader, request=request, spider=None
        )

        def later() -> None:
            slot.active.discard(request)
            self.downloader.active.discard(request)

        return later


@pytest.fixture
def crawl() -> Crawl:
    found = Crawl()
    assert not found.is_listening()
    return found


@pytest.mark.parametrize(
    ("settings", "may_rest"),
    [
        ({"DOWNLOAD_DELAY": 0.5}, True),
        ({"DOWNLOAD_SLOTS": {KEY: {"delay": 0.5}}}, True),
        ({}, False),
    ],
)
def test_it_listens_where_slots_may_wait_and_where_nobody_looks(
    settings: dict[str, Any], *, may_rest: bool
) -> None:
    crawl = Crawl(settings, may_rest=may_rest)
    crawl.handed_out()
    crawl.slots.take_stock()
    assert crawl.is_listening()


class Another(Downloader):
    pass


@pytest.mark.parametrize(
    "change",
    [
        lambda downloader: setattr(downloader, "__class__", Another),
        lambda downloader: delattr(downloader, "per_slot_settings"),
    ],
    ids=["kind", "attribute"],
)
def test_it_listens_to_a_downloader_that_is_not_known(change: Callable[[Any], None]) -> None:
    crawl = Crawl(may_rest=False)
    change(crawl.downloader)
    crawl.slots.ask_before_use()
    crawl.slots.take_stock()
    assert crawl.is_listening()


def test_what_has_come_is_found_once(crawl: Crawl) -> None:
    crawl.slot()
    one, two = crawl.handed_out(), crawl.handed_out()
    crawl.reaches(one)
    crawl.slots.take_stock()
    assert list(crawl.slots.out) == [two]
    assert (crawl.slots.active_count(KEY), crawl.slots.ready_at(KEY)) == (2, FULL)
    assert crawl.told == [], "it took the place that it held"
    later = crawl.leaves(one)
    assert crawl.told == [KEY]
    assert (crawl.slots.active_count(KEY), crawl.slots.ready_at(KEY)) == (1, FREE)
    later()
    assert crawl.slots.ready_at(KEY) == FREE


def test_places_are_not_counted_twice_between_two_looks(crawl: Crawl) -> None:
    """A lane may be put in its place by `push`, before stock is taken."""
    crawl.slot(concurrency=4)
    for request in [crawl.handed_out() for _ in range(2)]:
        crawl.reaches(request)
    assert len(crawl.slots.out) == 2, "nobody has looked"
    assert crawl.slots.ready_at(KEY) == FREE
    assert not crawl.slots.out


def test_while_it_listens_nobody_looks(crawl: Crawl, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is said of a request counts then: it may have to wait in the slot that it came to."""
    crawl.slot(concurrency=1)
    crawl.slots.listen_to_requests((lambda _: None, lambda _: None))
    monkeypatch.setattr(crawl.slots.arrivals, "look", lambda: pytest.fail("looked"))
    crawl.handed_out()
    assert crawl.slots.ready_at(KEY) == FULL
    crawl.slots.take_stock()
    crawl.slots.listen_to_requests((lambda _: None, lambda _: None))


def test_what_left_before_anybody_looked_is_under_way_no_more(crawl: Crawl) -> None:
    request = crawl.handed_out()
    crawl.reaches(request)
    crawl.leaves(request)
    assert crawl.told == [KEY]
    assert (crawl.slots.active_count(KEY), dict(crawl.slots.out)) == (0, {})
    assert crawl.slots._under_way.out_counts == {}


def test_the_book_keeps_no_crawl() -> None:
    book = VisitBook()
    crawl: Crawl | None = Crawl(book=book)
    assert crawl is not None
    seen = weakref.ref(crawl.slots)
    crawl = None
    gc.collect()
    assert seen() is None


def test_what_ended_in_the_middlewares_is_noticed(crawl: Crawl) -> None:
    request = crawl.handed_out()
    crawl.slots.take_stock()
    assert (crawl.told, crawl.slots.active_count(KEY)) == ([], 1)
    crawl.downloader.active.discard(request)
    crawl.slots.take_stock()
    assert (crawl.told, crawl.slots.active_count(KEY)) == ([KEY], 0)


def test_another_slot_than_it_was_handed_out_for(crawl: Crawl) -> None:
    """Both may be ready for another request now, or not any more: that is to be told at once."""
    crawl.slot(concurrency=1)
    request, other, last = (crawl.handed_out() for _ in range(3))
    request.meta["download_slot"] = OTHER  # a middleware's choice
    crawl.slots.take_stock()
    assert len(crawl.slots.out) == 3
    crawl.reaches(request, OTHER)
    crawl.reaches(other)
    crawl.slots.take_stock()
    assert (crawl.told, list(crawl.slots.out)) == ([KEY, OTHER], [last])
    assert (crawl.slots.active_count(KEY), crawl.slots.active_count(OTHER)) == (3, 0)
    crawl.leaves(request)
    assert crawl.told == [KEY, OTHER, KEY, OTHER]
    assert crawl.slots.active_count(KEY) == 2
    assert crawl.is_listening(), "for others will be sent there as well"
    assert not crawl.slots.arrivals.is_for_a_while
    crawl.told.clear()
    crawl.reaches(last, OTHER)
    assert {KEY, OTHER} <= set(crawl.told)


def test_one_that_left_another_slot_before_anybody_looked(crawl: Crawl) -> None:
    request = crawl.handed_out()
    crawl.reaches(request, OTHER)
    crawl.leaves(request)
    assert sorted(crawl.told) == [KEY, OTHER]
    assert crawl.is_listening()


@pytest.mark.parametrize("place", [0, 63])
def test_it_rests_only_after_some_came_to_the_slots_that_they_held(place: int) -> None:
    crawl = Crawl(usual_count=0)
    crawl.slot(concurrency=100)
    for number in range(64):
        assert crawl.is_listening()
        crawl.reaches(crawl.handed_out(), OTHER if number == place else KEY)
        crawl.slots.take_stock()
    assert crawl.is_listening()
    assert not crawl.slots.arrivals.is_for_a_while
    crawl = Crawl(usual_count=place)
    crawl.slot(concurrency=100)
    for _ in range(place, 64):
        assert crawl.is_listening()
        crawl.reaches(crawl.handed_out())
        crawl.slots.take_stock()
    assert not crawl.is_listening()


def test_a_slot_that_was_chosen_before_is_not_come_to(crawl: Crawl) -> None:
    crawl.slot(concurrency=1)
    request = crawl.handed_out()
    request.meta["download_slot"] = KEY
    crawl.slots.take_stock()
    assert list(crawl.slots.out) == [request]


def test_others_may_have_disconnected_every_handler() -> None:
    crawl = Crawl(usual_count=0)
    crawl.crawler.signals.disconnect_all(signals.request_reached_downloader)
    crawl.slots.arrivals.usual_count = 64
    crawl.slots.take_stock()
    assert not crawl.is_listening()


@pytest.mark.parametrize(
    "begin",
    [
        lambda crawl, request: crawl.slots.set_floor(KEY, Ask(ORIGIN, 1.0)),
        lambda crawl, request: crawl.slots.ask(request, Ask(ORIGIN, 1.0)),
        lambda crawl, request: crawl.book.of("another crawl's", 0.0, 9.0),
        lambda crawl, request: crawl.slow_down(),
    ],
    ids=["floor", "ask", "another crawl", "delay"],
)
def test_from_the_first_pace_on_it_listens(crawl: Crawl, begin: Any) -> None:
    """What came before is known; what is on its way is heard of, before its slot draws a delay."""
    crawl.slot(concurrency=8)
    before, after = crawl.handed_out(), crawl.handed_out()
    crawl.reaches(before)
    begin(crawl, after)
    assert list(crawl.slots.out) == [after]
    assert not crawl.slots.arrivals.is_for_a_while
    crawl.told.clear()
    crawl.reaches(after)
    assert not crawl.slots.out
    assert KEY in crawl.told
    crawl.book._records.clear()
    crawl.slots.take_stock()
    assert crawl.is_listening(), "for good"
    crawl.slots.listen_to_requests(None)
    crawl.slots.take_stock()
    assert crawl.is_listening()


def test_a_slot_that_was_slowed_down_waits_for_its_delay_alone(crawl: Crawl) -> None:
    crawl.slot(concurrency=8).lastseen = 1.0
    crawl.reaches(crawl.handed_out())
    crawl.slot().delay = 1.0
    assert crawl.slots.ready_at(KEY) < FULL, "nothing is on its way there"


def test_all_crawls_of_a_thread_hear_of_the_first_pace() -> None:
    book = VisitBook()
    crawls = [Crawl(book=book) for _ in range(3)]
    assert not any(crawl.is_listening() for crawl in crawls)
    crawls[0].slots.set_floor(KEY, Ask(ORIGIN, 1.0))
    assert all(crawl.is_listening() for crawl in crawls)


def test_a_second_queue_changes_nothing(crawl: Crawl) -> None:
    """A crawl with a JOBDIR has two."""
    crawl.slots.ask_before_use()
    assert not crawl.slots.arrivals.is_for_a_while
    crawl.slots.set_floor(KEY, Ask(ORIGIN, 1.0))
    crawl.slots.ask_before_use()
    crawl.book._records.clear()
    crawl.slots.take_stock()
    assert crawl.is_listening(), "for good"


def test_a_request_for_nothing_is_no_pace(crawl: Crawl) -> None:
    crawl.slots.set_floor(KEY, Ask(ORIGIN, 0.0))
    crawl.slots.ask(crawl.handed_out(), Ask(ORIGIN, 0.0))
    assert not crawl.is_listening()


def test_it_does_not_rest_while_another_crawl_keeps_a_pace() -> None:
    book = VisitBook()
    book.of("another crawl's", 0.0, 9.0)
    crawl = Crawl(book=book)
    assert crawl.is_listening()
    book._records.clear()
    crawl.slots.take_stock()
    assert not crawl.is_listening()
    book.of("another crawl's, again", 0.0, 9.0)
    assert crawl.is_listening()


def test_while_somebody_is_told_of_requests_it_listens(crawl: Crawl) -> None:
    """A robots.txt is on its way."""
    told: list[Request] = []
    before = crawl.handed_out()
    crawl.reaches(before)
    for _ in range(2):
        crawl.slots.listen_to_requests((told.append, lambda _: None))
        assert (dict(crawl.slots.out), crawl.is_listening()) == ({}, True)
    request = crawl.handed_out()
    crawl.slots.take_stock()
    assert crawl.is_listening()
    crawl.reaches(request)
    assert told == [request], "once"
    crawl.slots.listen_to_requests(None)
    assert crawl.is_listening(), "Scrapy may be sending the signal now"
    crawl.slots.take_stock()
    assert not crawl.is_listening()
    crawl.reaches(crawl.handed_out())
    assert told == [request]


def test_a_handler_is_connected_once_at_most(crawl: Crawl) -> None:
    heard: list[Request] = []
    crawl.slots.arrivals._reached = handler = lambda request, **_: heard.append(request)
    for _ in range(3):
        crawl.slots.arrivals.listen()
    crawl.reaches(crawl.handed_out())
    assert len(heard) == 1
    crawl.slots.arrivals.rest()
    crawl.slots.arrivals.rest()
    crawl.reaches(crawl.handed_out())
    assert len(heard) == 1
    del handler


class Steps:
    """Two crawls in step, of which the second one listens."""

    def __init__(self, seed: int) -> None:
        self.draw = random.Random(seed)
        self.stray_part = 0.03 * (seed % 2)
        self.crawls = Crawl(), Crawl(may_rest=False)
        concurrency = self.draw.choice([1, 2, 8])
        for crawl in self.crawls:
            for key in (KEY, OTHER):
                crawl.slot(key, concurrency)
        self.on_their_way: list[tuple[str, list[Request]]] = []
        self.inside: list[list[Request]] = []
        self.leaving: list[Callable[[], None]] = []

    def each(self, requests: list[Request]) -> Iterator[tuple[Crawl, Request]]:
        return zip(self.crawls, requests, strict=True)

    def drawn_from(self, some: list[Any]) -> Any:
        return some.pop(self.draw.randrange(len(some)))

    def hand_out(self) -> None:
        key = self.draw.choice([KEY, OTHER])
        self.on_their_way.append((key, [crawl.handed_out(key) for crawl in self.crawls]))

    def reach(self) -> None:
        if self.on_their_way:
            key, requests = self.drawn_from(self.on_their_way)
            if self.draw.random() < self.stray_part:
                key = OTHER
            for crawl, request in self.each(requests):
                crawl.reaches(request, key)
            self.inside.append(requests)

    def drop(self) -> None:
        """A middleware does."""
        if self.on_their_way:
            _, requests = self.drawn_from(self.on_their_way)
            for crawl, request in self.each(requests):
                crawl.downloader.active.discard(request)

    def leave(self) -> None:
        slots = self.crawls[0].downloader.slots
        sent = [
            requests
            for requests in self.inside
            if requests[0] in slots[requests[0].meta["download_slot"]].transferring
        ]
        if sent:
            requests = self.draw.choice(sent)
            self.inside.remove(requests)
            self.leaving += [crawl.leaves(request) for crawl, request in self.each(requests)]

    def end(self) -> None:
        for later in self.leaving:
            later()
        self.leaving.clear()

    def known(self, crawl: Crawl) -> Any:
        slots = crawl.slots
        slots.take_stock()
        counts = [(slots.active_count(key), slots.ready_at(key)) for key in (KEY, OTHER)]
        return counts, len(slots.out), dict(slots._under_way.out_counts)


@pytest.mark.parametrize("seed", range(60))
def test_looking_finds_what_listening_hears(seed: int) -> None:
    steps = Steps(seed)
    assert [crawl.is_listening() for crawl in steps.crawls] == [False, True]
    kinds = [steps.hand_out] * 7 + [steps.reach] * 5 + [steps.drop] + [steps.leave] * 5
    for number in range(200):
        steps.draw.choice([*kinds, steps.end, steps.end])()
        if number % 3 == 0:
            assert steps.known(steps.crawls[0]) == steps.known(steps.crawls[1])

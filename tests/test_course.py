"""One exchange under way: what its time counts for, and the place that it lends while it waits."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from scrapy_rep.engine.loops import Places
from scrapy_rep.fetching.course import Course, Part, Parts


class TestParts:
    def test_each_exchange_counts_in_one_part(self) -> None:
        parts = Parts(lambda: None)
        parts.move(None, Part.STORE)
        parts.move(None, Part.STORE)
        parts.move(Part.STORE, Part.SLOT)
        assert (parts[Part.STORE], parts[Part.SLOT]) == (1, 1)
        parts.move(Part.SLOT, Part.SLOT)
        assert parts[Part.SLOT] == 1
        parts.move(Part.STORE, None)
        parts.move(Part.SLOT, None)
        assert (parts[Part.STORE], parts[Part.SLOT]) == (0, 0)

    def test_whoever_becomes_idle_makes_room_for_another(self) -> None:
        idled: list[str] = []
        parts = Parts(lambda: idled.append("idle"))
        idle = {Part.LEASE, Part.SLOT, Part.PAUSE}
        for part in Part:
            idled.clear()
            parts.move(None, part)
            assert idled == (["idle"] if part in idle else [])
            parts.move(part, part)
            assert idled == (["idle"] if part in idle else []), "once"
            assert Course().is_idle is False
            course = Course(parts)
            course.enter(part)
            assert course.is_idle is (part in idle)


class TestTime:
    @pytest.mark.parametrize("part", [*Part, None])
    def test_our_own_queues_do_not_count_as_the_site_being_slow(
        self, part: Part | None, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        now = 100.0
        clock = SimpleNamespace(monotonic=lambda: now)
        monkeypatch.setattr("scrapy_rep.engine.loops.time", clock)
        course = Course()
        course.enter(Part.STORE)
        now += 1
        course.enter(part)
        now += 10
        is_ours = part in (Part.PLACE, Part.SLOT)
        assert course.asked.seconds == (1 if is_ours or part is None else 11)
        assert course.queued.seconds == (10 if part is Part.SLOT else 0)
        course.enter(Part.HANDLER)
        now += 1
        assert course.asked.seconds == (2 if is_ours or part is None else 12)
        assert course.queued.seconds == (10 if part is Part.SLOT else 0)
        assert course.closing.seconds == 0

    def test_only_a_request_that_was_sent_is_worth_a_wait(self) -> None:
        course = Course()
        assert not course.is_sent
        for part in Part:
            course.enter(part)
            assert course.is_sent is (part in (Part.HANDLER, Part.ANSWER))

    def test_those_in_line_are_counted_over_the_crawl(self) -> None:
        parts = Parts(lambda: None)
        courses = [Course(parts) for _ in range(3)]
        for course in courses:
            course.enter(Part.SLOT)
        assert courses[0].queued_count == 3
        courses[0].enter(Part.HANDLER)
        courses[1].enter(None)
        assert courses[0].queued_count == 1


class Lent:
    """A place that writes down what becomes of it."""

    def __init__(self) -> None:
        self.told: list[str] = []

    def lend(self) -> None:
        self.told.append("lend")

    def take_back(self) -> None:
        self.told.append("take back")


class TestPlaces:
    def test_a_place_is_lent_while_another_exchange_is_waited_for(self) -> None:
        course = Course()
        place = course.place = Lent()  # type: ignore[assignment]
        for part in (Part.ANSWER, Part.JUDGE, Part.JUDGE, Part.ANSWER):
            course.enter(part)
        assert place.told == ["lend", "take back"]

    def test_a_place_is_lent_while_its_request_is_queued(self) -> None:
        course = Course()
        place = course.place = Lent()  # type: ignore[assignment]
        for part in (Part.MIDDLEWARES, Part.SLOT, Part.SLOT, Part.HANDLER, Part.ANSWER):
            course.enter(part)
        assert place.told == ["lend", "take back"]
        course.enter(Part.SLOT)
        course.enter(None)
        assert place.told == ["lend", "take back"] * 2

    def test_without_a_place_nothing_is_lent(self) -> None:
        places = Places(1)
        course = Course()
        for part in (Part.SLOT, Part.HANDLER):
            course.enter(part)
        assert places._free == 1

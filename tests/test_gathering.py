"""Work that is gathered while the event loop is busy, in a loop and with a clock of the test's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from scrapy_rep.engine.gathering import Gathering

LIMIT_SECONDS = 0.1


class Loop:
    """Timers that ring when the test says so, each turn after so many seconds."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 1000.0
        self.timers: list[Timer] = []
        monkeypatch.setattr("scrapy_rep.engine.gathering.call_later", self._call_later)
        monkeypatch.setattr("scrapy_rep.engine.gathering.time.monotonic", lambda: self.now)

    def _call_later(self, seconds: float, ring: Callable[[], None]) -> Timer:
        assert seconds == 0
        timer = Timer(ring)
        self.timers.append(timer)
        return timer

    def turn(self, seconds: float) -> None:
        self.now += seconds
        timers, self.timers = self.timers, []
        for timer in timers:
            if not timer.is_cancelled:
                timer.ring()


class Timer:
    def __init__(self, ring: Callable[[], None]) -> None:
        self.ring = ring
        self.is_cancelled = False

    def cancel(self) -> None:
        self.is_cancelled = True


class Setup:
    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.loop = Loop(monkeypatch)
        self.gathering = Gathering(LIMIT_SECONDS)
        self.begun: list[Any] = []

    def add(self, *names: str) -> None:
        for name in names:
            self.gathering.add(lambda name=name: self.begun.append(name))  # type: ignore[misc]


@pytest.fixture
def setup(monkeypatch: pytest.MonkeyPatch) -> Setup:
    return Setup(monkeypatch)


def test_an_idle_loop_begins_them_in_the_next_turn(setup: Setup) -> None:
    setup.add("a")
    assert setup.begun == []
    setup.loop.turn(0.0002)
    assert setup.begun == ["a"]
    assert setup.loop.timers == [], "none turns for nothing"
    setup.add("b")
    setup.loop.turn(0.0002)
    assert setup.begun == ["a", "b"]


def test_a_busy_loop_begins_them_together_and_in_order(setup: Setup) -> None:
    setup.add("a")
    for name in "bcde":
        setup.loop.turn(0.02)
        setup.add(name)
        assert setup.begun == []
        assert len(setup.loop.timers) == 1
    setup.loop.turn(0.03)
    assert setup.begun == ["a", "b", "c", "d", "e"]
    assert setup.loop.timers == []


def test_the_limit_counts_from_the_first(setup: Setup) -> None:
    for name in "ab":
        setup.add(name)
        setup.loop.turn(LIMIT_SECONDS - 0.001)
        assert name not in setup.begun
        setup.loop.turn(0.002)
        assert name in setup.begun


def test_a_loop_that_becomes_idle_begins_them(setup: Setup) -> None:
    setup.add("a")
    setup.loop.turn(0.02)
    setup.add("b")
    setup.loop.turn(0.0001)
    assert setup.begun == ["a", "b"]


def test_one_that_raises_costs_no_other(setup: Setup) -> None:
    def fail() -> None:
        raise KeyError("one")

    setup.add("a")
    setup.gathering.add(fail)
    setup.add("b", "c")
    with pytest.raises(KeyError):
        setup.loop.turn(0.0001)
    assert setup.begun == ["a"]
    setup.loop.turn(0.0001)
    assert setup.begun == ["a", "b", "c"]


def test_one_that_adds_another(setup: Setup) -> None:
    setup.gathering.add(lambda: setup.add("b"))
    setup.loop.turn(0.0001)
    setup.loop.turn(0.0001)
    assert setup.begun == ["b"]
    assert setup.loop.timers == []


def test_none_begins_once_they_are_cleared(setup: Setup) -> None:
    setup.add("a", "b")
    setup.gathering.clear()
    setup.loop.turn(0.0001)
    assert setup.begun == []
    setup.add("c")
    setup.loop.turn(0.0001)
    assert setup.begun == ["c"]

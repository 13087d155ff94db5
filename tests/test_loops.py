"""Waiting that can be ended, places that can be lent, watches that can be stopped."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Coroutine
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar

import pytest
from scrapy.utils.defer import maybe_deferred_to_future
from twisted.internet.defer import Deferred

from scrapy_rep.engine.loops import (
    Places,
    Running,
    Ticks,
    as_they_come,
    result_of,
    sleep,
    within,
)
from tests.played import in_a_loop

Value = TypeVar("Value")


def run(work: Coroutine[Any, Any, Value]) -> Value:
    return in_a_loop(lambda: work)


async def _never() -> None:
    await maybe_deferred_to_future(Deferred())


async def _stubbornly(release: asyncio.Event) -> str:
    while not release.is_set():
        with suppress(asyncio.CancelledError):
            await release.wait()
    return "late"


def test_thread_may_end_after_the_loop(caplog: pytest.LogCaptureFixture) -> None:
    future: Future[int] = Future()
    with pytest.raises(TimeoutError):
        run(result_of(future, 0.01))
    future.set_result(1)
    assert caplog.records == []


class TestRunning:
    @pytest.mark.parametrize("error", [None, KeyError("late")])
    def test_result_of_ended_work_is_dropped(self, error: Exception | None) -> None:
        told: list[Any] = []

        async def work(release: asyncio.Event) -> None:
            await _stubbornly(release)
            if error is not None:
                raise error

        async def main() -> None:
            asyncio.get_running_loop().set_exception_handler(
                lambda _, context: told.append(context)
            )
            release = asyncio.Event()
            running = Running(work(release))
            await sleep(0.01)
            running.end(ValueError("enough"))
            release.set()
            await asyncio.sleep(0.01)
            try:
                await running.result()
            finally:
                del running
                gc.collect()

        with pytest.raises(ValueError, match="enough"):
            run(main())
        assert not told

    def test_work_that_ignores_cancelling_is_not_waited_for(self) -> None:
        async def main() -> None:
            release = asyncio.Event()
            with pytest.raises(TimeoutError, match=r"more than 0\.05 s"):
                await within(0.05, _stubbornly(release))
            release.set()
            await asyncio.sleep(0.01)

        run(main())

    def test_work_is_cancelled_with_its_waiter(self) -> None:
        seen: list[str] = []

        async def work() -> None:
            try:
                await _never()
            except asyncio.CancelledError:
                seen.append("cancelled")
                raise

        async def main() -> None:
            task = asyncio.ensure_future(Running(work()).result())
            await asyncio.sleep(0.01)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await asyncio.sleep(0.01)
            assert seen == ["cancelled"], "now, and not with the loop"

        run(main())


def test_place_can_be_lent_and_taken_back() -> None:
    order: list[str] = []

    async def main() -> None:
        places = Places(1)

        async def other(name: str) -> None:
            async with places.one():
                order.append(f"{name} in")
                await asyncio.sleep(0.02)
            order.append(f"{name} out")

        async with places.one() as place:
            waiting = [asyncio.ensure_future(other(name)) for name in "abc"]
            await asyncio.sleep(0.01)
            assert order == []
            place.lend()
            place.lend()
            await asyncio.sleep(0.01)
            assert order == ["a in"]
            place.take_back()
            await waiting[0]
            await asyncio.sleep(0.03)
            assert order == ["a in", "a out"], "there was one more than places"
        await asyncio.gather(*waiting)

    run(main())
    assert order == ["a in", "a out", "b in", "b out", "c in", "c out"]


@pytest.mark.parametrize("has_turn", [True, False])
def test_cancelled_waiter_takes_no_place(has_turn: bool) -> None:
    """Also in the moment between the place being given and the work going on with it."""

    async def main() -> None:
        places = Places(1)
        entered: list[str] = []

        async def one(name: str) -> None:
            async with places.one():
                entered.append(name)

        async with places.one():
            late = asyncio.ensure_future(one("late"))
            await asyncio.sleep(0.01)
            if not has_turn:
                late.cancel()
                await asyncio.sleep(0.01)
        late.cancel()
        await asyncio.sleep(0.01)
        assert (late.cancelled(), entered) == (True, [])
        await asyncio.wait_for(one("next"), 1)
        assert entered == ["next"]

    run(main())


def test_error_of_a_tick_stops_no_other() -> None:
    """They are time limits of different work."""
    seen: list[int] = []

    def look(number: int) -> None:
        seen.append(number)
        if number % 2:
            raise KeyError(number)

    async def main() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda *_: None)
        ticks = Ticks(0.01)
        for number in range(6):
            ticks.add(partial(look, number))
        await asyncio.sleep(0.2)
        ticks.stop()

    run(main())
    assert sorted(seen[:12]) == sorted([*range(6)] * 2)


class TestAsTheyCome:
    @pytest.mark.parametrize("limit", [1, 2, 3, 9])
    def test_number_of_running_coroutines_is_limited(self, limit: int) -> None:
        most = now = 0

        async def work(seconds: float) -> float:
            nonlocal most, now
            now += 1
            most = max(most, now)
            await asyncio.sleep(seconds)
            now -= 1
            return seconds

        async def main() -> list[float]:
            times = [0.15, 0.1, 0.05]
            return [found async for found in as_they_come(map(work, times), limit)]

        found = run(main())
        assert sorted(found) == [0.05, 0.1, 0.15]
        assert most == min(limit, 3)
        if limit != 2:
            assert found == ([0.15, 0.1, 0.05] if limit == 1 else [0.05, 0.1, 0.15])

    def test_error_is_raised(self) -> None:
        async def work() -> None:
            raise KeyError("k")

        async def main() -> None:
            async for _ in as_they_come([work()], 2):
                pass

        with pytest.raises(KeyError):
            run(main())


def test_stopped_ticks_leave_no_timer() -> None:
    seen: list[str] = []

    async def main() -> None:
        ticks = Ticks(0.01)
        ticks.add(lambda: seen.append("a"))
        ticks.stop()
        await asyncio.sleep(0.05)
        assert not seen
        ticks.add(lambda: seen.append("b"))
        await asyncio.sleep(0.05)
        ticks.stop()
        ticks.stop()

    run(main())
    assert set(seen) == {"b"}

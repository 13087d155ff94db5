"""The requests of a lane in memory come in the order of Scrapy's own priority queue."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from scrapy import Request
from scrapy.pqueues import ScrapyPriorityQueue
from scrapy.squeues import FifoMemoryQueue, LifoMemoryQueue
from scrapy.utils.test import get_crawler

from scrapy_rep.queue.memory import MemoryStock, is_plain
from scrapy_rep.queue.stock import Stocks

CRAWLER = get_crawler()

kinds = st.sampled_from([FifoMemoryQueue, LifoMemoryQueue])
# A push, by priority and whether it is a start request; or None, for a request that is taken.
steps = st.lists(st.none() | st.tuples(st.integers(-2, 2), st.booleans()), max_size=40)


def of_scrapy(kind: Any, start_kind: Any) -> ScrapyPriorityQueue:
    return ScrapyPriorityQueue(CRAWLER, kind, "", start_queue_cls=start_kind)


def page(number: int, priority: int, *, is_start: bool) -> Request:
    meta = {"is_start_request": True} if is_start else {}
    return Request(f"http://a.example/{number}", priority=priority, meta=meta)


@given(kind=kinds, start_kind=st.none() | kinds, steps=steps)
def test_the_order_is_that_of_scrapy(kind: Any, start_kind: Any, steps: list[Any]) -> None:
    ours, theirs = MemoryStock(kind, start_kind), of_scrapy(kind, start_kind)
    for number, step in enumerate([*steps, *[None] * (len(steps) + 1)]):
        if step is None:
            sample = ours.sample()
            taken = ours.take()
            assert taken is theirs.pop()
            assert sample is taken, "a sample is the next one"
        else:
            request = page(number, step[0], is_start=step[1])
            ours.push(request)
            theirs.push(request)
        assert len(ours) == len(theirs)
        assert set(ours.close()) == {*theirs.queues, *theirs._start_queues}
    assert ours.take() is None


@given(kind=kinds, steps=steps)
def test_what_is_put_back_comes_next(kind: Any, steps: list[Any]) -> None:
    ours = MemoryStock(kind, FifoMemoryQueue)
    for number, step in enumerate(filter(None, steps)):
        ours.push(page(number, step[0], is_start=step[1]))
    while (request := ours.take()) is not None:
        ours.put_back(request)
        assert ours.take() is request


def test_only_classes_that_cannot_fail_are_done_without() -> None:
    class Other(LifoMemoryQueue):  # type: ignore[misc,valid-type]
        """A class of the user's."""

    assert is_plain(LifoMemoryQueue, None)
    assert is_plain(FifoMemoryQueue, LifoMemoryQueue)
    assert not is_plain(Other, None)
    assert not is_plain(LifoMemoryQueue, Other)


def test_what_was_put_back_counts() -> None:
    """In each of the two kinds."""
    for kind in (LifoMemoryQueue, type("Other", (LifoMemoryQueue,), {})):
        stock = Stocks(CRAWLER, kind, None, "").open("a lane")
        for number in range(3):
            stock.push(page(number, 0, is_start=False))
        request = stock.take()
        assert request is not None
        assert (stock.count, len(stock)) == (2, 2)
        stock.put_back(request)
        assert (stock.count, len(stock)) == (3, 3)

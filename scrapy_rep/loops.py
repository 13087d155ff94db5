"""Waiting, in whichever event loop Scrapy runs: an asyncio one, or another Twisted reactor."""

from __future__ import annotations

from concurrent.futures import Future
from typing import TypeVar

from scrapy.utils.asyncio import call_later, is_asyncio_available
from scrapy.utils.defer import maybe_deferred_to_future
from twisted.internet.defer import Deferred

Value = TypeVar("Value")


async def sleep(seconds: float) -> None:
    """Come back after so many seconds."""
    waiter: Deferred[None] = Deferred()
    alarm = call_later(seconds, waiter.callback, None)
    try:
        await maybe_deferred_to_future(waiter)
    finally:
        alarm.cancel()


async def result_of(future: Future[Value]) -> Value:
    """The result of work in a thread, or what it raised."""
    if not future.done():
        waiter: Deferred[None] = Deferred()
        if is_asyncio_available():
            import asyncio

            call_from_thread = asyncio.get_running_loop().call_soon_threadsafe
        else:
            from twisted.internet import reactor

            call_from_thread = reactor.callFromThread
        future.add_done_callback(lambda _: call_from_thread(_wake, waiter))
        await maybe_deferred_to_future(waiter)
    return future.result()


def _wake(waiter: Deferred[None]) -> None:
    if not waiter.called:
        waiter.callback(None)

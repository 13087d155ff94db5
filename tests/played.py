"""A crawler whose engine a test plays, and an event loop for what is awaited."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any, TypeVar

from scrapy import Spider
from scrapy.crawler import Crawler
from scrapy.statscollectors import MemoryStatsCollector
from scrapy.utils.test import get_crawler

Value = TypeVar("Value")


def in_a_loop(work: Callable[[], Coroutine[Any, Any, Value]]) -> Value:
    """Run a coroutine in an event loop of its own; pytest-twisted has one in this thread."""

    async def timed() -> Value:
        return await asyncio.wait_for(work(), 120.0)

    with ThreadPoolExecutor(1) as thread:
        return thread.submit(lambda: asyncio.run(timed())).result()


def played_crawler(
    settings: dict[str, Any] | None = None, *, is_closing: bool = False, **engine: Any
) -> Crawler:
    """A crawler that runs, with an engine of some attributes."""
    crawler = get_crawler(settings_dict=settings)
    crawler.stats = MemoryStatsCollector(crawler)
    crawler.spider = Spider("test")
    slot = SimpleNamespace(closing=object() if is_closing else None)
    usual = {"spider": crawler.spider, "running": True, "downloader": None, "_slot": slot}
    crawler.engine = SimpleNamespace(**{**usual, **engine})  # type: ignore[assignment]
    return crawler


def begin_to_close(crawler: Crawler) -> None:
    """Let the engine of a played crawler be one that ends its crawl."""
    closing = {**vars(crawler.engine), "_slot": SimpleNamespace(closing=object())}
    crawler.engine = SimpleNamespace(**closing)  # type: ignore[assignment]

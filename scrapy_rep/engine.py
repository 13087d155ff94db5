"""What is asked of Scrapy's engine beyond its documented interface, in one place."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydispatch.dispatcher import getAllReceivers, liveReceivers

if TYPE_CHECKING:
    from scrapy.crawler import Crawler


def is_closing(crawler: Crawler) -> bool:
    """Whether the crawl is ending, so that nothing new should be asked for.

    A download that begins after the engine has let its last one go fails inside the engine.
    """
    engine: Any = crawler.engine
    if engine is None or engine.spider is None:
        return True
    slot = getattr(engine, "_slot", None)
    return slot is not None and getattr(slot, "closing", None) is not None


def wake(crawler: Crawler) -> None:
    """Have the engine look for requests again, soon.

    Without the private attribute that this goes by, it does so all the same, every five seconds.
    """
    slot = getattr(crawler.engine, "_slot", None)
    nextcall = getattr(slot, "nextcall", None)
    if nextcall is not None and not is_closing(crawler):
        nextcall.schedule()


def has_listeners(crawler: Crawler, signal: object) -> bool:
    """Whether anything is connected to a signal of the crawl, or to all signals."""
    return any(True for _ in liveReceivers(getAllReceivers(crawler.signals.sender, signal)))

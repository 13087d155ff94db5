"""Reads the state of Scrapy's engine where the documented interface does not provide it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from pydispatch.dispatcher import getAllReceivers, liveReceivers
from scrapy.commands import ScrapyCommand
from scrapy.core.scheduler import Scheduler
from scrapy.utils.defer import deferred_from_coro
from scrapy.utils.misc import load_object

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.settings import BaseSettings


def is_closing(crawler: Crawler) -> bool:
    """Whether the crawl is ending, so that nothing new should be fetched.

    A download that begins after the engine has closed the downloader fails.
    """
    return _is_closing(crawler.engine)


def _is_closing(engine: Any) -> bool:
    if engine is None or engine.spider is None:
        return True
    slot = getattr(engine, "_slot", None)
    return slot is not None and getattr(slot, "closing", None) is not None


def stop(crawler: Crawler, reason: str) -> None:
    """End the crawl in order, unless it is ending; its queue stays where it is kept."""
    if not is_closing(crawler):
        engine = crawler.engine
        assert engine is not None  # noqa: S101 - otherwise the crawl would be closing
        deferred_from_coro(engine.close_spider_async(reason=reason))


def set_exit_status(status: int) -> None:
    """Let the command that runs the crawl end with this status; a script has no command."""
    ScrapyCommand.exitcode = status  # a command that fails otherwise sets its own


def is_running(crawler: Crawler) -> bool:
    """Whether the engine runs; it stops before `is_closing` becomes true."""
    return bool(getattr(crawler.engine, "running", True))


def would_end_but_for(crawler: Crawler, own: Callable[[Request], bool]) -> bool:
    """Whether only downloads for which `own` is true keep a crawl from ending.

    False if the engine lacks the attributes for this.
    """
    engine: Any = crawler.engine
    try:
        return (
            engine._start is None  # noqa: SLF001
            and engine.scraper.slot.is_idle()
            and not _scheduler_of(engine).has_pending_requests()
            and all(map(own, engine.downloader.active))
        )
    except AttributeError:
        return False


def is_by_hand(crawler: Crawler) -> bool:
    """Whether a user waits for single responses: `scrapy shell`, `fetch`, `view`, `parse`."""
    engine: Any = crawler.engine
    slot = getattr(engine, "_slot", None)
    return _has_start_of_command(crawler) or not getattr(slot, "close_if_idle", True)


def is_command(crawler: Crawler) -> bool:
    """Whether a command of Scrapy that does not crawl opens the spider of a crawler.

    `scrapy shell` never starts its crawler.
    """
    return not crawler.crawling or _has_start_of_command(crawler)


def _has_start_of_command(crawler: Crawler) -> bool:
    """Whether the start of the spider is a command's, as with `fetch`, `parse` and `check`."""
    start = getattr(type(crawler.spider), "start", None)
    return getattr(start, "__module__", "").startswith("scrapy.commands.")


def has_own_queue(settings: BaseSettings) -> bool:
    """Whether the requests of a crawl are in Scrapy's own scheduler.

    Another scheduler may share its queue with other processes. `issubclass` is true for each class
    with the methods of a scheduler.
    """
    return Scheduler in load_object(settings["SCHEDULER"]).__mro__


def queues_of(crawler: Crawler) -> list[Any]:
    """The priority queues of Scrapy's scheduler, in memory and on disk; empty for others."""
    scheduler = _scheduler_of(crawler.engine)
    found = (getattr(scheduler, "mqs", None), getattr(scheduler, "dqs", None))
    return [queue for queue in found if queue is not None]


def direct_requests(crawler: Crawler) -> WeakSet[Request]:
    """The requests that code sends with `download_async`, past the scheduler, from now on.

    Scrapy does not tell them from those of the scheduler.
    """
    engine: Any = crawler.engine
    found: WeakSet[Request] = WeakSet()
    send = engine.download_async

    def note(request: Request) -> Any:
        found.add(request)
        return send(request)

    engine.download_async = note
    return found


def is_queued_for(crawler: Crawler, host: str) -> bool:
    """Whether requests for a host are in the queue; True if the queue does not tell."""
    queues = queues_of(crawler)
    return not queues or any(
        not hasattr(queue, "__contains__") or host in queue for queue in queues
    )


def _scheduler_of(engine: Any) -> Any:
    """The scheduler of an engine; None before the spider is open."""
    if hasattr(engine, "scheduler"):  # new in Scrapy 2.19
        return engine.scheduler
    return getattr(getattr(engine, "_slot", None), "scheduler", None)


def wake(crawler: Crawler) -> None:
    """Make the engine soon request more from the scheduler.

    Without the private attribute for this, the engine's own timer does so every 5 seconds.
    """
    engine: Any = crawler.engine  # a descriptor, so look it up once
    nextcall = getattr(getattr(engine, "_slot", None), "nextcall", None)
    if nextcall is not None and not _is_closing(engine):
        nextcall.schedule()


def has_listeners(crawler: Crawler, signal: object) -> bool:
    """Whether anything is connected to a signal of the crawl, or to all signals."""
    return any(True for _ in liveReceivers(getAllReceivers(crawler.signals.sender, signal)))

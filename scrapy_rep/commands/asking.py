"""Fetches as a crawl of this project would make them: with its engine, settings and middlewares.

A spider of ours runs while the work goes on. Everything that would write, report or end a crawl is
disabled: feeds, pipelines, extensions, limits. Everything that decides what is sent stays.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Coroutine, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from scrapy import Spider
from scrapy.crawler import AsyncCrawlerProcess, CrawlerProcess
from scrapy.settings import Settings
from scrapy.utils.defer import deferred_from_coro, maybe_deferred_to_future
from scrapy.utils.misc import load_object
from twisted.internet.defer import DeferredList

from scrapy_rep.addon import Addon
from scrapy_rep.crawl import policy_for
from scrapy_rep.engine.loops import within
from scrapy_rep.engine.slots import Slots
from scrapy_rep.fetching.fetcher import Fetcher
from scrapy_rep.identity import Identity
from scrapy_rep.middleware import RepMiddleware
from scrapy_rep.protocol.access.events import Failure
from scrapy_rep.protocol.access.knowledge import Answer, Copy
from scrapy_rep.protocol.access.origin import Origin
from scrapy_rep.protocol.errors import RepError
from scrapy_rep.settings import RepSettings

from .running import INTERRUPTED, CommandError
from .terminal import CURRENT, OutputError

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

    from scrapy_rep.policy import Policy

Result = TypeVar("Result")
Work = Callable[["Crawler"], Coroutine[Any, Any, Result]]

_AT_ONCE = 16  # origins; a site that does not answer does not hold up the others
_ASYNCIO_REACTOR = "twisted.internet.asyncioreactor.AsyncioSelectorReactor"

_RAISED = (RepError, CommandError, OutputError, BrokenPipeError)  # as they are, by `in_engine`

_OURS: dict[str, Any] = {
    "ROBOTSTXT_OBEY": True,
    "FEEDS": {},
    "ITEM_PIPELINES": {},
    "EXTENSIONS": {},
    "SPIDER_MIDDLEWARES": {},
    "JOBDIR": None,
    "LOGSTATS_INTERVAL": 0,
    "TELNETCONSOLE_ENABLED": False,
    "SPIDER_LOADER_WARN_ONLY": True,
    "CLOSESPIDER_TIMEOUT": 0,
    "CLOSESPIDER_TIMEOUT_NO_ITEM": 0,
    "CLOSESPIDER_ITEMCOUNT": 0,
    "CLOSESPIDER_PAGECOUNT": 0,
    "CLOSESPIDER_PAGECOUNT_NO_ITEM": 0,
    "CLOSESPIDER_ERRORCOUNT": 0,
}


def policies_of(settings: Settings, origins: Sequence[Origin]) -> dict[Origin, Policy | None]:
    """The policies that a crawl of this project would have for some origins."""
    course = _Course(origins)

    async def work(crawler: Crawler) -> dict[Origin, Policy | None]:
        async def one(origin: Origin) -> Policy | None:
            return await policy_for(crawler, origin.robots_txt_uri)

        return await _of_each(origins, one, course)

    return in_engine(settings, work, course.words)


def ask(
    settings: Settings, origins: Sequence[Origin], copies: dict[Origin, Copy | None] | None = None
) -> dict[Origin, Answer]:
    """The answers of sites now, whatever the store holds.

    `copies` are known already; requests for their files are conditional.
    """
    course = _Course(origins)

    async def work(crawler: Crawler) -> dict[Origin, Answer]:
        identity = Identity(crawler)
        identity.open()
        limits = RepSettings.of(crawler.settings)
        fetcher = Fetcher(crawler, limits, identity, Slots(crawler))
        seconds = limits.unreachable_wait_seconds + limits.fetch_line_seconds

        async def one(origin: Origin) -> Answer:
            began_at = time.monotonic()
            try:
                answer = await within(seconds, fetcher.fetch(origin, (copies or {}).get(origin)))
            except TimeoutError:
                return Answer(Failure.LOCAL, hops=(origin.robots_txt_uri,))
            return replace(answer, took_seconds=time.monotonic() - began_at)

        return await _of_each(origins, one, course)

    return in_engine(settings, work, course.words)


class _Course:
    """How far the fetches for some origins are."""

    def __init__(self, origins: Sequence[Origin]) -> None:
        self._origins = list(dict.fromkeys(origins))
        self.done = 0

    def words(self) -> str:
        """What is waited for."""
        if len(self._origins) == 1:
            return f"fetching {self._origins[0].robots_txt_uri}"
        return f"fetching robots.txt, {self.done:,} of {len(self._origins):,} done"


async def _of_each(
    origins: Iterable[Origin],
    one: Callable[[Origin], Coroutine[Any, Any, Result]],
    course: _Course,
) -> dict[Origin, Result]:
    """The results for each origin, a few being under way at a time."""
    found: dict[Origin, Result] = {}
    left = iter(dict.fromkeys(origins))

    async def worker() -> None:
        for origin in left:
            found[origin] = await one(origin)
            course.done += 1

    workers = [deferred_from_coro(worker()) for _ in range(_AT_ONCE)]
    done: Any = await maybe_deferred_to_future(DeferredList(workers, consumeErrors=True))
    for is_done, failure in done:
        if not is_done:
            failure.raiseException()
    return found


class _WorkSpider(Spider):
    name = "rep"
    work: Work[Any]
    outcome: dict[str, Any]

    async def start(self) -> Any:
        try:
            self.outcome["result"] = await self.work(self.crawler)
        except Exception as error:  # noqa: BLE001 - raised again where the command runs
            self.outcome["error"] = error
        never: tuple[Any, ...] = ()
        for nothing in never:
            yield nothing  # makes this the generator that Scrapy expects


def in_engine(
    settings: Settings,
    work: Work[Result],
    words: Callable[[], str] | None = lambda: "fetching",
    *,
    ends_in_order: bool = False,
) -> Result:
    """The result of work that needs an engine; a process can call this once.

    While it takes its time, a terminal shows `words`, if any. Ctrl-C ends the process at once, or,
    if it `ends_in_order`, the crawl as Scrapy does: what is in flight first, then this raises.

    Raises:
        CommandError: the crawl could not start.
        RepError: a setting is wrong.
    """
    prepared = _prepared(settings)
    outcome: dict[str, Any] = {}
    process = _process(prepared)
    crawl: Any = process.crawl(_WorkSpider, work=work, outcome=outcome)
    if hasattr(crawl, "addErrback"):
        crawl.addErrback(lambda failure: outcome.setdefault("error", failure.value))
    else:
        crawl.add_done_callback(lambda task: _note_error(task, outcome))
    terminal = CURRENT.get()
    shown = nullcontext() if terminal is None or words is None else terminal.waiting(words)
    with shown, nullcontext() if ends_in_order else _ended_at_once():
        process.start(install_signal_handlers=ends_in_order)
    error = outcome.get("error")
    if isinstance(error, _RAISED):
        raise error
    if "result" not in outcome:
        reason = f"{type(error).__name__}: {error}" if error else "it ended before it began"
        raise CommandError(f"the project's crawl could not run ({reason}); -L DEBUG tells more")
    result: Result = outcome["result"]
    return result


@contextmanager
def _ended_at_once() -> Iterator[None]:
    """While this lasts, Ctrl-C ends the process.

    Scrapy's handler waits for what is in flight, Twisted's loops swallow KeyboardInterrupt, and
    threads that look for a name hold up the end of Python. What is in stores is safe: they write
    whole entries.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, _end)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _end(*_: object) -> None:
    with suppress(Exception):  # the interrupted code may be writing to the same stream
        sys.stdout.flush()
    with suppress(OSError):
        if os.isatty(2):
            os.write(2, b"\n")  # below "^C"
    os._exit(INTERRUPTED)


def _note_error(task: Any, outcome: dict[str, Any]) -> None:
    error = None if task.cancelled() else task.exception()
    if error is not None:
        outcome.setdefault("error", error)


def _process(settings: Settings) -> Any:
    """The class of process that ``scrapy crawl`` would choose."""
    is_async = settings["TWISTED_REACTOR"] == _ASYNCIO_REACTOR and not settings.getbool(
        "FORCE_CRAWLER_PROCESS"
    )
    if is_async or not settings.getbool("TWISTED_REACTOR_ENABLED", True):
        return AsyncCrawlerProcess(settings)
    return CrawlerProcess(settings)


def _prepared(settings: Settings) -> Settings:
    """The project's settings, with our middleware added if it is missing."""
    prepared: Settings = settings.copy()
    for name, value in _OURS.items():
        prepared.set(name, value, priority="cmdline")
    addons = {**prepared.getdict("ADDONS")}
    middlewares = prepared.getdict("DOWNLOADER_MIDDLEWARES")
    if Addon not in map(load_object, addons) and not any(
        order is not None and load_object(component) is RepMiddleware
        for component, order in middlewares.items()
    ):
        addons[Addon] = 500
        prepared.set("ADDONS", addons, priority="cmdline")
    return prepared

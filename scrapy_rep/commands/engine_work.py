"""Fetches with the engine, settings and middlewares that a crawl of this project would use.

A spider of this package runs during the work. Components that would write, report or end a crawl
are
disabled: feeds, pipelines, extensions, limits. Components that decide which requests are sent stay.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import replace
from itertools import chain
from typing import Any, TypeVar

from scrapy import Request, Spider
from scrapy.crawler import AsyncCrawlerProcess, Crawler, CrawlerProcess
from scrapy.exceptions import IgnoreRequest
from scrapy.http import Response
from scrapy.settings import Settings
from scrapy.utils.misc import load_object

from scrapy_rep.addon import Addon
from scrapy_rep.engine.loops import as_they_come, within
from scrapy_rep.fetch.file_fetch import FileFetch
from scrapy_rep.middleware import RepMiddleware
from scrapy_rep.policies import policies_of
from scrapy_rep.protocol.access.events import Failure
from scrapy_rep.protocol.access.knowledge import Answer, Copy
from scrapy_rep.protocol.access.origin import Origin
from scrapy_rep.protocol.errors import RepError
from scrapy_rep.signals import RobotsTxtDisallowed, RobotsTxtUnreachable

from .running import FOUND, INTERRUPTED, UNREACHABLE, Call, CommandError
from .terminal import OutputError, safe

Result = TypeVar("Result")
Work = Callable[[Crawler], Coroutine[Any, Any, Result]]

_AT_ONCE = 16  # origins; a silent site does not block the others
_ASYNCIO_REACTOR = "twisted.internet.asyncioreactor.AsyncioSelectorReactor"

_RAISED = (RepError, CommandError, OutputError, BrokenPipeError)  # raised unchanged

_OURS: dict[str, Any] = {
    "ROBOTSTXT_OBEY": True,
    "JOBDIR": None,
    "SPIDER_LOADER_WARN_ONLY": True,
    **{name: {} for name in ("FEEDS", "ITEM_PIPELINES", "EXTENSIONS", "SPIDER_MIDDLEWARES")},
    **dict.fromkeys(("LOGSTATS_INTERVAL", "TELNETCONSOLE_ENABLED", "CLOSESPIDER_TIMEOUT"), 0),
    **dict.fromkeys(("CLOSESPIDER_TIMEOUT_NO_ITEM", "CLOSESPIDER_PAGECOUNT_NO_ITEM"), 0),
    **{f"CLOSESPIDER_{what}COUNT": 0 for what in ("ITEM", "PAGE", "ERROR")},
}


def start_urls_of(spider: type[Spider]) -> list[str]:
    """The URLs at which a spider begins, as far as its class tells."""
    found = (getattr(spider, one, None) or () for one in ("start_urls", "sites", "sitemap_urls"))
    texts = (one.split(",") if isinstance(one, str) else one for one in found)
    return [url.strip() for url in chain.from_iterable(texts)]


def fetch_now(
    call: Call, origins: Sequence[Origin], copies: dict[Origin, Copy | None] | None = None
) -> dict[Origin, Answer]:
    """Fetch the robots.txt of sites now, regardless of the store, a few at a time.

    If a copy is in `copies`, the request is conditional.
    """
    wanted, found = list(dict.fromkeys(origins)), dict[Origin, Answer]()

    def words() -> str:
        if len(wanted) == 1:
            return f"fetching {wanted[0].robots_txt_uri}"
        return f"fetching robots.txt, {len(found):,} of {len(wanted):,} done"

    async def work(crawler: Crawler) -> dict[Origin, Answer]:
        async def one(origin: Origin) -> None:
            found[origin] = await answer_now(crawler, origin, (copies or {}).get(origin))

        async for _ in as_they_come(map(one, wanted), _AT_ONCE):
            pass
        return found

    return in_engine(call, work, words)


async def answer_now(crawler: Crawler, origin: Origin, copy: Copy | None = None) -> Answer:
    """The robots.txt of an origin, fetched now; with a copy, the request is conditional."""
    fetching = policies_of(crawler, "this command").fetching
    limits = fetching.settings
    seconds = limits.unreachable_wait_seconds + limits.line_seconds
    began_at = time.monotonic()
    try:
        fetch = FileFetch(fetching, origin, limits.options, uses_store=False)
        answer = await within(seconds, fetch.attempt(copy))
    except TimeoutError:
        return Answer(Failure.LOCAL, hops=(origin.robots_txt_uri,))
    return replace(answer, took_seconds=time.monotonic() - began_at)


async def answer_to(request: Request, crawler: Crawler) -> Response:
    """The answer to a request for a page or a sitemap.

    Raises:
        CommandError: no answer came, or a crawl of this project may not send the request.
    """
    engine = crawler.engine
    assert engine is not None  # noqa: S101 - this runs in it
    try:
        return await engine.download_async(request)
    except RobotsTxtUnreachable as error:
        raise CommandError(safe(error), UNREACHABLE) from error
    except RobotsTxtDisallowed as error:
        raise CommandError(f"a crawl may not fetch this: {error.verdict}", FOUND) from error
    except IgnoreRequest as error:
        raise CommandError(f"dropped by a middleware: {safe(error)}", UNREACHABLE) from error
    except Exception as error:
        words = f"the fetch failed: {type(error).__name__}: {safe(error)}"
        raise CommandError(words, UNREACHABLE) from error


class _WorkSpider(Spider):
    name = "rep"
    rep_work: Work[Any]
    rep_outcome: dict[str, Any]

    async def start(self) -> Any:
        try:
            self.rep_outcome["result"] = await self.rep_work(self.crawler)
        except Exception as error:  # noqa: BLE001 - raised again in the command
            self.rep_outcome["error"] = error
        for nothing in tuple[Any, ...]():
            yield nothing  # Scrapy expects an async generator


def in_engine(
    call: Call,
    work: Work[Result],
    words: Callable[[], str] | None = lambda: "fetching",
    *,
    ends_in_order: bool = False,
    spider: type[Spider] = Spider,
    arguments: Mapping[str, str] | None = None,
) -> Result:
    """Run work in an engine, and return its result; a process can call this once.

    A spider of this package runs during the work; with `spider`, a subclass of it that gets its
    `arguments`. Its start requests are not sent.

    While the work takes time, a terminal shows `words`, if any. Ctrl-C ends the process at once.
    With `ends_in_order`, it ends the crawl as in Scrapy: requests in flight are finished, then this
    raises.

    Raises:
        CommandError: the crawl could not start.
        RepError: a setting is wrong.
    """
    outcome: dict[str, Any] = {}
    process = _process(_prepared(call.settings))
    named = {"name": getattr(spider, "name", None) or _WorkSpider.name}
    own = {**named, "rep_work": staticmethod(work), "rep_outcome": outcome}
    worker = type(spider.__name__, (_WorkSpider, spider), own)
    crawl: Any = process.crawl(worker, **(arguments or {}))
    if isinstance(process, CrawlerProcess):
        crawl.addErrback(lambda failure: outcome.setdefault("error", failure.value))
    else:
        crawl.add_done_callback(lambda task: outcome.setdefault("error", task.exception()))
    shown = nullcontext() if words is None else call.terminal.waiting(words)
    with shown, nullcontext() if ends_in_order else _ended_at_once():
        process.start(install_signal_handlers=ends_in_order)
    error = outcome.get("error")
    if isinstance(error, _RAISED):
        raise error
    if "result" not in outcome:
        reason = f"{type(error).__name__}: {error}" if error else "it ended before it began"
        raise CommandError(f"the project's crawl could not run ({reason}); -L DEBUG shows more")
    result: Result = outcome["result"]
    return result


@contextmanager
def _ended_at_once() -> Iterator[None]:
    """Let Ctrl-C end the process inside this block.

    Scrapy's handler waits for requests in flight, Twisted's loops swallow KeyboardInterrupt, and
    threads that resolve a name delay the end of Python. Stores stay intact, because they write
    whole entries.
    """
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


def _process(settings: Settings) -> Any:
    """The class of process that ``scrapy crawl`` would choose."""
    is_async = settings["TWISTED_REACTOR"] == _ASYNCIO_REACTOR and not settings.getbool(
        "FORCE_CRAWLER_PROCESS"
    )
    if is_async or not settings.getbool("TWISTED_REACTOR_ENABLED", True):
        return AsyncCrawlerProcess(settings)
    return CrawlerProcess(settings)


def _prepared(settings: Settings) -> Settings:
    """The project's settings, with RepMiddleware added if it is missing."""
    prepared: Settings = settings.copy()
    for name, value in _OURS.items():
        prepared.set(name, value, priority="cmdline")
    addons = {**prepared.getdict("ADDONS")}
    middlewares = prepared.getdict("DOWNLOADER_MIDDLEWARES")
    enabled = (component for component, order in middlewares.items() if order is not None)
    if Addon not in map(load_object, addons) and RepMiddleware not in map(load_object, enabled):
        addons[Addon] = 500
        prepared.set("ADDONS", addons, priority="cmdline")
    return prepared

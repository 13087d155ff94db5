"""Asking sites as a crawl of this project would: its engine, its settings, its middlewares.

A spider of ours runs for as long as the work takes. What would write, report or end a crawl
(feeds, pipelines, extensions, limits) is switched off; what decides what is sent stays.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from scrapy import Spider
from scrapy.crawler import AsyncCrawlerProcess, CrawlerProcess
from scrapy.settings import Settings
from scrapy.utils.defer import deferred_from_coro, maybe_deferred_to_future
from scrapy.utils.misc import load_object
from twisted.internet.defer import DeferredList

from scrapy_rep.addon import Addon
from scrapy_rep.fetcher import Fetcher
from scrapy_rep.identity import Identity
from scrapy_rep.middleware import RepMiddleware
from scrapy_rep.policies import policy_for
from scrapy_rep.protocol.errors import RepError
from scrapy_rep.protocol.knowledge import Answer, Copy
from scrapy_rep.protocol.origin import Origin
from scrapy_rep.settings import RepSettings
from scrapy_rep.slots import Slots

from .running import CommandError

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

    from scrapy_rep.policy import Policy

Result = TypeVar("Result")
Work = Callable[["Crawler"], Coroutine[Any, Any, Result]]

_AT_ONCE = 16  # origins; sites that do not answer should not hold up the others
_ASYNCIO_REACTOR = "twisted.internet.asyncioreactor.AsyncioSelectorReactor"

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

    async def work(crawler: Crawler) -> dict[Origin, Policy | None]:
        async def one(origin: Origin) -> Policy | None:
            return await policy_for(crawler, origin.robots_txt_uri)

        return await _of_each(origins, one)

    return in_engine(settings, work)


def ask(
    settings: Settings, origins: Sequence[Origin], copies: dict[Origin, Copy | None] | None = None
) -> dict[Origin, Answer]:
    """What the sites answer now, whatever the store knows.

    `copies` are known already, and asked whether they still hold.
    """

    async def work(crawler: Crawler) -> dict[Origin, Answer]:
        identity = Identity(crawler)
        identity.open()
        fetcher = Fetcher(crawler, RepSettings.of(crawler.settings), identity, Slots(crawler))

        async def one(origin: Origin) -> Answer:
            return await fetcher.fetch(origin, (copies or {}).get(origin))

        return await _of_each(origins, one)

    return in_engine(settings, work)


async def _of_each(
    origins: Iterable[Origin], one: Callable[[Origin], Coroutine[Any, Any, Result]]
) -> dict[Origin, Result]:
    """What comes of each origin, a few at a time."""
    found: dict[Origin, Result] = {}
    left = iter(dict.fromkeys(origins))

    async def worker() -> None:
        for origin in left:
            found[origin] = await one(origin)

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
            yield nothing  # which makes this the generator that Scrapy asks for


def in_engine(settings: Settings, work: Work[Result]) -> Result:
    """The result of work that needs an engine; to be called once in a process.

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
    process.start()
    error = outcome.get("error")
    if isinstance(error, RepError):
        raise error
    if "result" not in outcome:
        reason = f"{type(error).__name__}: {error}" if error else "it ended before it began"
        raise CommandError(f"the project's crawl could not run ({reason}); -L DEBUG tells more")
    result: Result = outcome["result"]
    return result


def _note_error(task: Any, outcome: dict[str, Any]) -> None:
    error = None if task.cancelled() else task.exception()
    if error is not None:
        outcome.setdefault("error", error)


def _process(settings: Settings) -> Any:
    """As ``scrapy crawl`` chooses it."""
    is_async = settings["TWISTED_REACTOR"] == _ASYNCIO_REACTOR and not settings.getbool(
        "FORCE_CRAWLER_PROCESS"
    )
    if is_async or not settings.getbool("TWISTED_REACTOR_ENABLED", True):
        return AsyncCrawlerProcess(settings)
    return CrawlerProcess(settings)


def _prepared(settings: Settings) -> Settings:
    """The project's settings, with our middleware in them, if it is not there."""
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

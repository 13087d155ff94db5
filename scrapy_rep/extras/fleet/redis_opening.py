"""Opens the store in Redis, with the tier of this machine in front of it."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Thread
from typing import TYPE_CHECKING, Any

from scrapy.utils.asyncio import is_asyncio_available

from scrapy_rep import stats
from scrapy_rep.cache.base import Store, StoreError
from scrapy_rep.cache.memory import MemoryStore
from scrapy_rep.fetch.chosen_store import IN_MEMORY, sqlite_path, sqlite_store
from scrapy_rep.protocol.errors import ConfigurationError
from scrapy_rep.protocol.units import DAY_SECONDS

from .link import Link
from .redis_store import RedisStore

if TYPE_CHECKING:
    from scrapy_rep.crawl import Crawl
    from scrapy_rep.settings import RepSettings

logger = logging.getLogger(__name__)


def crawl_store(crawl: Crawl) -> Store:
    """The store of a crawl, which counts its failures.

    Raises:
        ConfigurationError: Redis cannot be used.
    """

    def count(is_up: bool) -> None:
        crawl.crawler.stats.inc_value(stats.STORE_BACK if is_up else stats.STORE_FAILED)

    link = crawl.part(link_of)
    link.listen(count)
    return _store(
        crawl.settings,
        link,
        _local_tier(crawl.settings),
        unreadable=lambda: crawl.crawler.stats.inc_value(stats.STORE_UNREADABLE),
    )


@contextmanager
def project_store(settings: RepSettings) -> Iterator[Store]:
    """The store outside of a crawl, with this machine's file if there is one.

    So a purge covers both.
    """
    link, local = Link(settings.redis_url, settings.redis_timeout_seconds), None
    with suppress(OSError, StoreError):  # crawls then use memory here
        if settings.store_path != IN_MEMORY and sqlite_path(settings).exists():
            local = sqlite_store(settings)
    loop = asyncio.new_event_loop()
    thread = Thread(target=loop.run_forever, name="rep-redis", daemon=True)
    thread.start()
    try:
        yield _store(settings, link, local, loop=loop)
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


def _store(settings: RepSettings, link: Link, local: Store | None, **options: Any) -> Store:
    """The store, which keeps an expired entry as long as it may be used as a stale copy."""
    stale_seconds = settings.options.limits.stale_seconds
    return RedisStore(link, local, settings.store_octets, stale_seconds + DAY_SECONDS, **options)


def link_of(crawl: Crawl) -> Link:
    """The connection to Redis, as a part of the crawl: its store and its queue open and close it.

    Raises:
        ConfigurationError: Scrapy does not run on asyncio, redis-py is not installed, or the URL
            of `REP_REDIS_URL` is wrong.
    """
    if not is_asyncio_available():
        raise ConfigurationError(
            "REP_REDIS_URL needs asyncio: remove TWISTED_REACTOR from your settings, or set it to "
            "'twisted.internet.asyncioreactor.AsyncioSelectorReactor'"
        )
    spider, settings = crawl.crawler.spider, crawl.settings
    name = f"scrapy-rep:{getattr(spider, 'name', '')}:{socket.gethostname()}:{os.getpid()}"
    extra = {"spider": spider}
    return Link(settings.redis_url, settings.redis_timeout_seconds, name=name, extra=extra)


def _local_tier(settings: RepSettings) -> Store:
    """The store in front of Redis: a file if it can be written, otherwise memory."""
    try:
        if settings.store_path != IN_MEMORY:
            return sqlite_store(settings)
    except StoreError as error:
        logger.warning(
            "The SQLite file in front of Redis cannot be opened (%s), so memory is used instead. "
            "Set REP_STORE_PATH to a file that can be written, or to ':memory:'",
            error,
        )
    return MemoryStore(settings.memory_octets)

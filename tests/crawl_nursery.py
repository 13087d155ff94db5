"""Loads Scrapy, its default components and ours. Crawls and commands are forked from it.

No reactor: each crawl installs its own.
"""

from __future__ import annotations

import gc
import sys
from contextlib import suppress
from importlib import import_module

from scrapy.exceptions import NotConfigured
from scrapy.settings import Settings
from scrapy.utils.misc import load_object

from scrapy_rep.commands.subcommands import SUBCOMMANDS

_COMPONENTS = (
    "DOWNLOADER_MIDDLEWARES_BASE",
    "DOWNLOAD_HANDLERS_BASE",
    "EXTENSIONS_BASE",
    "SPIDER_MIDDLEWARES_BASE",
)
_MODULES = (
    "scrapy.cmdline",
    "scrapy.crawler",
    "scrapy.core.engine",
    "scrapy.core.downloader.handlers._aiohttp",
    "scrapy.pqueues",
    "scrapy_rep.addon",
    "scrapy_rep.extras.fleet.redis_store",
    "scrapy_rep.cache.sqlite",
    "scrapy_rep.extras.fleet.scheduler",
    "scrapy_rep.middleware",
    "scrapy_rep.queue.priority_queue",
    "tests.crawl_runner",
    "tests.faults.spiders",
    "tests.extras.fleet.spiders",
    "tests.servers.site",
    "tests.spiders",
)


def _load() -> None:
    settings = Settings()
    for name in _COMPONENTS:
        for component in settings.getdict(name):
            with suppress(ImportError, NotConfigured):
                load_object(settings.getdict(name)[component] if "HANDLERS" in name else component)
    for module in _MODULES:
        with suppress(ImportError):
            import_module(module)
    for subcommand in SUBCOMMANDS:
        import_module(f"scrapy_rep.commands.{subcommand}")
    if "twisted.internet.reactor" in sys.modules:
        raise AssertionError("a reactor was installed before any crawl chose one")
    gc.collect()
    gc.freeze()  # a collection would copy the memory of this process into each fork


_load()

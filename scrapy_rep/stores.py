"""Which store a crawl uses, by its settings."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy.exceptions import NotConfigured
from scrapy.utils.misc import build_from_crawler, load_object
from scrapy.utils.project import inside_project, project_data_dir

from . import stats
from .cache.base import Store, StoreError
from .cache.memory import MemoryStore
from .protocol.errors import ConfigurationError

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

    from .settings import RepSettings

logger = logging.getLogger(__name__)

_FILE = Path("rep", "robots.sqlite")


def open_store(crawler: Crawler, settings: RepSettings) -> Store:
    """The store that `REP_STORE` names; memory, with one warning, where its file can't be had.

    Raises:
        ConfigurationError: a class that the user names can't be loaded or built.
    """
    if settings.store == "memory":
        return MemoryStore(settings.memory_octets)
    if settings.store not in ("auto", "sqlite"):
        return own_store(crawler, settings.store)
    from .cache.sqlite import SqliteStore

    path = Path(settings.store_path) if settings.store_path else default_path()
    try:
        return SqliteStore(path, settings.store_max_octets)
    except StoreError as error:
        logger.warning(
            "The store of robots.txt answers can't be opened (%s); they are kept in memory. Set "
            "REP_STORE_PATH to a file that can be written, or REP_STORE = 'memory'",
            error,
        )
        crawler.stats.inc_value(stats.STORE_FAILED)
        return MemoryStore(settings.memory_octets)


def default_path() -> Path:
    """The file in the project's data folder, else in the user's cache folder."""
    # Scrapy says NotConfigured where settings come without a scrapy.cfg, as under scrapyd; if
    # that came out of a middleware, Scrapy would go on without it.
    try:
        if inside_project():
            return Path(project_data_dir()) / _FILE
    except NotConfigured:
        logger.debug("No data folder of a project is known", exc_info=True)
    from platformdirs import user_cache_path

    return user_cache_path("scrapy-rep") / _FILE


def own_store(crawler: Crawler, name: Any) -> Store:
    """The store of a class that the user names.

    Raises:
        ConfigurationError: it can't be loaded or built.
    """
    try:
        store: Store = build_from_crawler(load_object(name), crawler)
    except Exception as error:
        raise ConfigurationError(
            f"REP_STORE = {name!r} can't be used: {error!r}; give 'auto', 'memory', 'sqlite' or "
            "the import path of a class with the methods of scrapy_rep.cache.base.Store"
        ) from error
    return store

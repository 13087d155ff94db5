"""The store that a crawl uses, by its settings."""

from __future__ import annotations

import inspect
import logging
import math
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy.exceptions import NotConfigured
from scrapy.utils.misc import build_from_crawler, load_object
from scrapy.utils.project import inside_project, project_data_dir

from scrapy_rep import stats
from scrapy_rep.cache.base import Store, StoreError
from scrapy_rep.cache.memory import MemoryStore
from scrapy_rep.protocol.errors import ConfigurationError
from scrapy_rep.protocol.units import DAY_SECONDS

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

    from scrapy_rep.settings import RepSettings

logger = logging.getLogger(__name__)

_NAME = "scrapy-rep"
_FILE = Path("rep", "robots.sqlite")


def opener_of(crawler: Crawler, settings: RepSettings) -> Callable[[], Store]:
    """A function that opens the store of `REP_STORE`, and raises `StoreError` if it cannot.

    Raises:
        ConfigurationError: the user's class cannot be loaded or built.
    """
    kind = kind_of(settings)
    if kind == "memory":
        return lambda: MemoryStore(settings.memory_octets)
    if kind == "redis":
        return _redis_opener(crawler, settings)
    if kind == "sqlite":
        return lambda: sqlite_store(settings)
    own = own_store(crawler, settings.store)
    return lambda: own


def kind_of(settings: RepSettings) -> str:
    """Which store the settings come to: memory, sqlite, redis, or own for a class of the user's."""
    if settings.store == "auto":
        return "redis" if settings.redis_url else "sqlite"
    return settings.store if settings.store in ("memory", "sqlite", "redis") else "own"


def _redis_opener(crawler: Crawler, settings: RepSettings) -> Callable[[], Store]:
    from scrapy_rep.cache.redis import RedisStore

    from .links import link_of

    link = link_of(crawler, settings.redis_url)

    def count(is_up: bool) -> None:
        crawler.stats.inc_value(stats.STORE_BACK if is_up else stats.STORE_FAILED)

    def unreadable() -> None:
        crawler.stats.inc_value(stats.STORE_UNREADABLE)

    link.listen(count)
    tier, seconds = local_tier(settings), keep_seconds(settings)
    store = RedisStore(link, tier, seconds, unreadable=unreadable)
    return lambda: store


def keep_seconds(settings: RepSettings) -> float:
    """How long Redis keeps an entry that ran out: for as long as it may be used as stale."""
    return settings.rules.limits.stale_seconds + DAY_SECONDS


def local_tier(settings: RepSettings) -> Store:
    """What is in front of Redis, by `REP_STORE_LOCAL`."""
    if settings.store_local == "memory":
        return MemoryStore(settings.memory_octets)
    try:
        return sqlite_store(settings)
    except StoreError as error:
        logger.warning(
            "The file in front of Redis cannot be opened (%s); memory takes its place. Set "
            "REP_STORE_PATH to a file that can be written, or REP_STORE_LOCAL = 'memory'",
            error,
        )
        return MemoryStore(settings.memory_octets)


def sqlite_store(settings: RepSettings) -> Store:
    """The SQLite store.

    Raises:
        StoreError: its file cannot be opened.
    """
    from scrapy_rep.cache.sqlite import SqliteStore

    return SqliteStore(
        sqlite_path(settings),
        settings.store_max_octets,
        versions=settings.store_versions,
    )


def sqlite_path(settings: RepSettings) -> Path:
    """The file that `REP_STORE_PATH` names, or the default one.

    Raises:
        StoreError: there is no folder for the default one.
    """
    return Path(settings.store_path) if settings.store_path else default_path()


def default_path() -> Path:
    """The file in the project's data folder, or in the user's cache folder outside of projects.

    Raises:
        StoreError: the project's data folder cannot be made, or the user has no home folder.
    """
    # Scrapy raises NotConfigured where settings come without a scrapy.cfg, as under scrapyd. If it
    # left the middleware, Scrapy would go on without the middleware.
    try:
        if inside_project():
            return Path(project_data_dir()) / _FILE
    except NotConfigured:
        logger.debug("No data folder of a project is known", exc_info=True)
    except (OSError, RuntimeError) as error:  # it makes the folder, and looks up the user's home
        raise StoreError(f"the project's data folder cannot be made: {error}") from error
    try:
        path = _cache_folder() / _FILE
    except RuntimeError as error:  # as in containers
        raise StoreError(f"the user has no home folder: {error}") from error
    if not path.is_absolute():
        raise StoreError(f"the user has no home folder: {path}")
    return path


def _cache_folder() -> Path:
    """The user's cache folder for this package, where each system has it.

    Not by platformdirs: Scrapy up to 2.18 does not bring it.

    Raises:
        RuntimeError: the user has no home folder.
    """
    if sys.platform == "win32":
        local = os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local"
        return Path(local, _NAME, _NAME, "Cache")
    named = Path(os.environ.get("XDG_CACHE_HOME", ""))
    if named.is_absolute():  # the XDG specification: others have to be ignored
        return named / _NAME
    caches = ("Library", "Caches") if sys.platform == "darwin" else (".cache",)
    return Path.home().joinpath(*caches, _NAME)


def own_store(crawler: Crawler, name: Any) -> Store:
    """The store of a class that the user names.

    Raises:
        ConfigurationError: it cannot be loaded or built.
    """
    try:
        store: Store = build_from_crawler(load_object(name), crawler)
    except Exception as error:
        raise ConfigurationError(
            f"REP_STORE = {name!r} cannot be used: {error!r}; give 'auto', 'memory', 'sqlite', "
            "'redis' or the import path of a class with the methods of scrapy_rep.cache.base.Store"
        ) from error
    _check_methods(store, name)
    return store


_METHODS: dict[str, tuple[tuple[object, ...], dict[str, object]]] = {
    "peek": ((None,), {}),
    "claim": ((None,), {"seconds": 1.0, "fresh_seconds": math.inf}),
    "renew": ((None,), {"seconds": 1.0}),
    "commit": ((None, None), {}),
    "release": ((None,), {}),
    "close": ((), {}),
}
"""What a store is called with: positional arguments, and those by name."""


def _check_methods(store: Store, name: Any) -> None:
    """See whether a store has the methods of today's interface.

    Raises:
        ConfigurationError: it lacks one, or has one of an older interface.
    """
    for method, (arguments, named) in _METHODS.items():
        wanted = _words_of(method)
        found = getattr(store, method, None)
        if not callable(found):
            raise ConfigurationError(
                f"REP_STORE = {name!r} cannot be used: it lacks a method; give it {wanted}, as in "
                "scrapy_rep.cache.base.Store"
            )
        if not _takes(found, arguments, named):
            raise ConfigurationError(
                f"REP_STORE = {name!r} cannot be used: its method {method} takes other arguments "
                f"than stores are called with now; make it {wanted}, as in "
                "scrapy_rep.cache.base.Store"
            )


def _words_of(method: str) -> str:
    """A method of the interface as one would write it, without `self`."""
    signature = inspect.signature(getattr(Store, method))
    parameters = list(signature.parameters.values())[1:]
    return f"{method}{signature.replace(parameters=parameters)}".replace("'", "")


def _takes(
    method: Callable[..., Any], arguments: tuple[object, ...], named: dict[str, Any]
) -> bool:
    try:
        inspect.signature(method).bind(*arguments, **named)
    except TypeError:
        return False
    except ValueError:  # of a method that tells no signature, as some of C do
        return True
    return True

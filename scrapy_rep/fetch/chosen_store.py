"""Builds the store of a crawl from its settings."""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from scrapy.exceptions import NotConfigured
from scrapy.utils.misc import build_from_crawler, load_object
from scrapy.utils.project import inside_project, project_data_dir

from scrapy_rep.cache.base import Store, StoreError
from scrapy_rep.cache.memory import MemoryStore
from scrapy_rep.checks import STORE_WORDS, STORES
from scrapy_rep.extras import part
from scrapy_rep.protocol.errors import ConfigurationError

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

    from scrapy_rep.crawl import Crawl
    from scrapy_rep.settings import RepSettings

IN_MEMORY = ":memory:"
"""The `REP_STORE_PATH` that means memory instead of a file, as in SQLite."""

_NAME = "scrapy-rep"
_FILE = Path("rep", "robots.sqlite")


def opener_of(crawl: Crawl) -> Callable[[], Store]:
    """A function that opens the store of `REP_STORE`, and raises `StoreError` if it cannot.

    Raises:
        ConfigurationError: the user's class cannot be loaded or built, or Redis cannot be used.
    """
    settings = crawl.settings
    kind = kind_of(settings)
    if kind == "memory":
        return lambda: MemoryStore(settings.memory_octets)
    if kind in FILES:
        return lambda: FILES[kind].open(settings)
    if kind == "redis":
        store: Store = part("REP_STORE = 'redis'")(crawl)
    else:
        store = own_store(crawl.crawler, settings.store)
    return lambda: store


def kind_of(settings: RepSettings) -> str:
    """The kind of store that the settings select: one of `STORES`, or own (custom class)."""
    kind = settings.store if isinstance(settings.store, str) else "own"
    if kind == "auto":
        kind = "redis" if settings.redis_url else "sqlite"
    if kind in FILES and settings.store_path == IN_MEMORY:
        return "memory"
    return kind if kind in STORES else "own"


def sqlite_store(settings: RepSettings) -> Store:
    """The SQLite store.

    Raises:
        StoreError: its file cannot be opened.
    """
    from scrapy_rep.cache.sqlite import SqliteStore

    path, versions = sqlite_path(settings), settings.store_versions
    return SqliteStore(path, settings.store_octets, versions=versions)


def sqlite_path(settings: RepSettings) -> Path:
    """The file that `REP_STORE_PATH` names, or the default one.

    Raises:
        StoreError: there is no folder for the default file.
    """
    return Path(settings.store_path) if settings.store_path else default_path()


def paces_place(settings: RepSettings) -> Path | str | None:
    """The Redis of learned paces, or their file next to that of the store; None without both."""
    if settings.redis_url and settings.pace_scope == "fleet":
        return settings.redis_url
    kind = kind_of(settings)
    store = FILES.get("sqlite" if kind == "redis" else kind)
    if store is None or settings.store_path == IN_MEMORY:
        return None
    try:
        path = store.path(settings)
    except StoreError:
        return None
    return path.with_name(f"{path.stem}.paces{path.suffix}")


class FileStore(NamedTuple):
    """How a store in a file of this machine is opened, and where its file is.

    Both functions raise `StoreError`.
    """

    open: Callable[[RepSettings], Store]
    path: Callable[[RepSettings], Path]


FILES = {"sqlite": FileStore(sqlite_store, sqlite_path)}
"""The stores in files, by name."""


def default_path() -> Path:
    """The file in the project's data folder, or in the user's cache folder outside of projects.

    Raises:
        StoreError: the project's data folder cannot be made, or the user has no home folder.
    """
    try:
        path = (_project_folder() or _cache_folder()) / _FILE
    except (OSError, RuntimeError) as error:
        raise StoreError(f"there is no folder for the store: {error}") from error
    if not path.is_absolute():
        raise StoreError(f"the user has no home folder: {path}")
    return path


def is_in_project() -> bool:
    """Whether this process runs in a project, and uses its settings."""
    return "SCRAPY_REP_NO_PROJECT" not in os.environ and inside_project()


def _project_folder() -> Path | None:
    # Scrapy raises NotConfigured if settings come without a scrapy.cfg, as under scrapyd. It must
    # not leave our middleware, because Scrapy would then disable the middleware.
    try:
        return Path(project_data_dir()) if is_in_project() else None
    except NotConfigured:
        return None


def _cache_folder() -> Path:
    """The user's cache folder for this package, on each operating system.

    It does not use platformdirs, which Scrapy up to 2.18 does not install.

    Raises:
        RuntimeError: the user has no home folder, as in some containers.
    """
    named = Path(os.environ.get("XDG_CACHE_HOME", ""))
    if sys.platform == "win32":
        local = os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local"
        return Path(local, _NAME, _NAME, "Cache")
    if named.is_absolute():  # the XDG specification says to ignore relative paths
        return named / _NAME
    return Path.home() / (".cache" if sys.platform != "darwin" else "Library/Caches") / _NAME


def own_store(crawler: Crawler, name: Any) -> Store:
    """A store of the class that the user names.

    Raises:
        ConfigurationError: the class cannot be loaded or built, or lacks a method.
    """
    try:
        store: Store = build_from_crawler(load_object(name), crawler)
    except Exception as error:
        raise ConfigurationError(
            f"REP_STORE = {name!r} cannot be used: {error!r}; give {STORE_WORDS} with the "
            "methods of scrapy_rep.cache.base.Store"
        ) from error
    for method in ("peek", "claim", "renew", "commit", "release", "close"):
        signature = inspect.signature(getattr(Store, method))
        _, *parameters = signature.parameters.values()
        if not _takes(getattr(store, method, None), parameters):
            wanted = f"{method}{signature.replace(parameters=parameters)}".replace("'", "")
            raise ConfigurationError(
                f"REP_STORE = {name!r} cannot be used: it lacks the method {wanted}, as in "
                "scrapy_rep.cache.base.Store"
            )
    return store


def _takes(method: Any, parameters: list[inspect.Parameter]) -> bool:
    """Whether a method accepts these parameters; True if it has no readable signature."""
    named = {one.name: None for one in parameters if one.kind is one.KEYWORD_ONLY}
    try:
        inspect.signature(method).bind(*parameters[: len(parameters) - len(named)], **named)
    except TypeError:
        return False
    except ValueError:
        return callable(method)
    return True

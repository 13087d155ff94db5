"""One crawl: its settings, checked, and the objects that its components share."""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

from scrapy_rep.engine.clock import Clock
from scrapy_rep.settings import RepSettings

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

Part = TypeVar("Part")


class Crawl:
    """One crawl of this process; its components get it, and find each other by it.

    Attributes:
        crawler: Scrapy's crawler.
        run: the name of the run: the UTC second of its beginning, and six random characters.
        clock: tells the times of records.
    """

    def __init__(self, crawler: Crawler) -> None:
        self.crawler = crawler
        began = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
        self.run = f"{began}-{secrets.token_hex(3)}"
        self.clock = Clock()
        self._parts: dict[Any, Any] = {}

    @classmethod
    def of(cls, crawler: Crawler) -> Crawl:
        """The crawl of a crawler, which is made on first use."""
        crawl: Crawl | None = crawler.__dict__.get("rep_crawl")
        if crawl is None:
            crawl = crawler.__dict__["rep_crawl"] = cls(crawler)
        return crawl

    @cached_property
    def settings(self) -> RepSettings:
        """This package's settings.

        Raises:
            ConfigurationError: a setting is wrong.
        """
        return RepSettings.of(self.crawler.settings)

    def part(self, kind: Callable[[Crawl], Part]) -> Part:
        """The one object of a class in this crawl, which is made on first use."""
        part: Part | None = self.find(kind)
        if part is None:
            part = self._parts[kind] = kind(self)
        return part

    def find(self, kind: Callable[[Crawl], Part]) -> Part | None:
        """The one object of a class in this crawl; None if it has not been made."""
        return self._parts.get(kind)


class _Shared(threading.local):
    def __init__(self) -> None:
        self.parts: dict[Any, Any] = {}


_SHARED = _Shared()


def shared(kind: Callable[[], Part]) -> Part:
    """The one object of a class for all crawls of a thread, which is made on first use.

    Crawls of one process visit the same sites, so they keep the pace of a site together.
    """
    parts = _SHARED.parts
    if kind not in parts:
        parts[kind] = kind()
    found: Part = parts[kind]
    return found

"""A spider that tells at its end what of this package lies in the objects of its crawl."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any

from pydispatch.dispatcher import getAllReceivers, liveReceivers
from scrapy import Request, Spider, signals
from scrapy.http import Response

_OURS = "scrapy_rep."


class FootprintSpider(Spider):
    """Yields the attributes, the signals and the meta that this package has to do with."""

    name = "footprint"

    def __init__(self, urls: list[str]) -> None:
        super().__init__()
        self.urls = urls

    async def start(self) -> AsyncIterator[Any]:
        for url in self.urls:
            yield Request(url)

    def parse(self, response: Response) -> Iterator[Any]:
        attributes = {f"{name}.{key}" for name, one in self._objects() for key in _of_ours(one)}
        yield {
            "attributes": sorted(attributes),
            "signals": sorted(self._signals()),
            "meta": sorted(key for key in response.meta if key.startswith("rep_")),
        }

    def _objects(self) -> Iterator[tuple[str, Any]]:
        engine: Any = self.crawler.engine
        downloader = engine.downloader
        found = {"crawler": self.crawler, "engine": engine, "downloader": downloader}
        found |= {"handlers": downloader.handlers, "middleware": downloader.middleware}
        found |= {"signals": self.crawler.signals, "scraper": engine.scraper, "spider": self}
        found |= {"slot": engine._slot}
        yield from found.items()
        for handler in downloader.handlers._handlers.values():
            if pool := getattr(handler, "_pool", None):
                yield "pool", pool
                for kept in pool._connections.values():
                    yield from (("connection", connection) for connection in kept)
            if session := getattr(handler, "_session", None):
                yield "connector", session._connector
                for one in session._connector._conns.values():
                    yield from (("connection", protocol) for protocol, *_ in one)

    def _signals(self) -> Iterator[str]:
        for name, signal in vars(signals).items():
            if type(signal) is not object:
                continue
            for receiver in liveReceivers(getAllReceivers(self.crawler.signals.sender, signal)):
                if _is_ours(receiver):
                    yield name


def _of_ours(one: Any) -> Iterator[str]:
    if _is_ours(type(one)):
        yield "__class__"
    attributes = getattr(one, "__dict__", None) or {
        name: getattr(one, name, None) for name in getattr(type(one), "__slots__", ())
    }
    for name, value in attributes.items():
        if name == "methods":
            yield from (
                f"methods.{key}" for key, all_of in value.items() if any(map(_is_wrapper, all_of))
            )
        elif name not in ("middlewares", "settings", "crawler", "spidercls", "addons"):
            yield from [name] * (_is_ours(value) or _is_ours(type(value)))


def _is_ours(one: Any) -> bool:
    owner = getattr(one, "__self__", None)
    names = (getattr(one, "__module__", ""), type(owner).__module__ if owner is not None else "")
    return any(str(name).startswith(_OURS) for name in names)


def _is_wrapper(method: Any) -> bool:
    """Whether a method in the list of middlewares is a function of ours, not a method."""
    code: Any = getattr(method, "__code__", None)
    return (
        not hasattr(method, "__self__") and code is not None and "/scrapy_rep/" in code.co_filename
    )

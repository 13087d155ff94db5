"""A spider for which every host is one machine, so that URLs can have default ports."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

from scrapy import Request

from scrapy_rep.engine.loops import sleep
from tests.spiders import UrlsSpider


class VerifiedSpider(UrlsSpider):
    """Requests URLs of any host and port, at one address.

    Args:
        urls: the URLs to request.
        ports: where the machine listens, by the port of a URL.
        verbatim: those of the URLs that are sent as they are.
    """

    def __init__(
        self, urls: Sequence[str], ports: dict[str, int], verbatim: Sequence[str] = (), **more: Any
    ) -> None:
        super().__init__(urls, **more)
        self.verbatim = frozenset(verbatim)
        _lead_to(ports)

    async def start(self) -> AsyncIterator[Any]:
        """Wait for the loop to run: Scrapy's resolver is installed then, and looks names up."""
        await sleep(0)
        async for request in super().start():
            yield request

    def _request(self, url: str) -> Request:
        self.meta = {"verbatim_url": True} if url in self.verbatim else {}
        return super()._request(url)


def _lead_to(ports: dict[str, int]) -> None:
    """Let every name be 127.0.0.1, and its ports those of the machine."""
    look_up = socket.getaddrinfo
    listens = {int(port): behind for port, behind in ports.items()}

    def led(connect: Callable[..., Any]) -> Callable[..., Any]:
        return lambda self, to: connect(self, (to[0], listens.get(to[1], to[1]), *to[2:]))

    changes: dict[str, Any] = {
        "getaddrinfo": lambda _, *more, **named: look_up("127.0.0.1", *more, **named),
        "gethostbyname": lambda _: "127.0.0.1",
    }
    for name, function in changes.items():
        setattr(socket, name, function)
    for name in ("connect", "connect_ex"):
        setattr(socket.socket, name, led(getattr(socket.socket, name)))

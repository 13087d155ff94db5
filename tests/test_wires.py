"""The connections of robots.txt files, watched at handlers that a test plays."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from scrapy.utils.test import get_crawler
from twisted.internet.defer import succeed
from twisted.web._newclient import HTTP11ClientProtocol
from twisted.web.client import URI as URI_OF_TWISTED

from scrapy_rep.engine import wires as module
from scrapy_rep.engine.transfer import Transfer
from scrapy_rep.engine.wires import Wires
from scrapy_rep.protocol.access.endings import Ending
from tests.played import in_a_loop

URI = "https://example.com/robots.txt"
TARGETS = [
    *[URI, "http://h", "http://h/", "http://h?a", "http://h?a=/b", "http://h/a/"],
    *["http://h/a;b/c;d", "http://h/a?b=/c", "http://h:8080/.well-known/tdmrep.json"],
    *["http://h/a?b?c/d/", "http://h/a%20b/c.txt"],
]
LIMIT = 1000


class Handlers:
    """Scrapy's handlers, which are one."""

    def __init__(self, handler: Any = None) -> None:
        self._get_handler = lambda _: handler
        self.download_request_async = print


def wires_of(handlers: Any) -> Wires:
    crawler = get_crawler()
    downloader = SimpleNamespace(handlers=handlers)
    crawler.engine = SimpleNamespace(downloader=downloader)  # type: ignore[assignment]
    return Wires(crawler)


def test_handlers_of_another_release_are_left_alone() -> None:
    wires = wires_of(SimpleNamespace())
    assert wires._handler("https") is None
    wires_of(None)
    for lacking in ({"_newConnection": object()}, {"getConnection": object()}):
        handler = SimpleNamespace(_pool=SimpleNamespace(**lacking))
        assert wires_of(Handlers(handler))._handler("https") is handler
        assert vars(handler._pool) == lacking


class Protocol(HTTP11ClientProtocol):
    """A connection of Twisted's, without its parser."""

    def __init__(self) -> None:
        pass


class TestTwisted:
    def watched(self, protocol: Any, *, is_kept: bool = False) -> Any:
        """A connection as a pool opens it for one of our requests, or kept it open."""
        pool = SimpleNamespace(
            _newConnection=lambda *_: succeed(protocol), getConnection=lambda *_: succeed(protocol)
        )
        wires = wires_of(Handlers(SimpleNamespace(_pool=pool)))
        wires._handler("https")
        found: list[Any] = []
        with wires._awaiting("http://waits/robots.txt", Transfer(LIMIT)):
            get = pool.getConnection if is_kept else pool._newConnection
            get("key", "endpoint").addCallback(found.append)
        return found[0]

    @pytest.mark.parametrize("target", TARGETS)
    def test_awaited_requests_are_found_by_their_url(self, target: str) -> None:
        """Also those whose target ends in no name."""
        wires = wires_of(Handlers())
        parsed = URI_OF_TWISTED.fromBytes(target.encode())  # type: ignore[no-untyped-call]
        request = SimpleNamespace(absoluteURI=parsed.toBytes(), uri=parsed.originForm)
        assert not wires.is_awaited(request)
        with wires._awaiting("http://other/x", Transfer(LIMIT)):
            assert not wires.is_awaited(request)
            with wires._awaiting(target, Transfer(LIMIT)):
                assert wires.is_awaited(request)
        assert not wires.awaited

    def test_twisted_connections_of_others_are_left_alone(self) -> None:
        other = object()
        assert self.watched(other) is other

    @pytest.mark.parametrize("is_kept", [True, False])
    @pytest.mark.parametrize("kind", ["slots", "no subclass", "no attribute"])
    def test_connection_that_cannot_be_watched_works(self, kind: str, is_kept: bool) -> None:
        """An exception would end each request, those of pages too."""
        odd = odd_kind(kind)
        made = odd.__new__(odd)
        assert self.watched(made, is_kept=is_kept) is made
        assert type(made) is odd


def odd_kind(kind: str) -> Any:
    """A class of connections that cannot be watched."""
    if kind == "slots":
        return type("Slots", (), {"__slots__": ()})

    def refuse(*_: Any, **__: Any) -> None:
        raise RuntimeError("not of mine")

    name = "__init_subclass__" if kind == "no subclass" else "__setattr__"
    return type("Odd", (Protocol,), {name: classmethod(refuse) if "init" in name else refuse})


class Client:
    """A connection of aiohttp's over uvloop, which looks up methods only when it gets them."""

    def __init__(self) -> None:
        self.received: list[bytes] = []
        self.transport = SimpleNamespace(set_protocol=self._look_up, get_extra_info=lambda _: None)
        self._look_up(self)

    def _look_up(self, protocol: Any) -> None:
        self.deliver, self.end = protocol.data_received, protocol.connection_lost

    def set_response_params(self) -> None:
        pass

    def eof_received(self) -> None:
        pass

    def data_received(self, data: bytes) -> None:
        self.received.append(data)

    def connection_lost(self, error: BaseException | None) -> None:
        pass


class TestAiohttp:
    def watched(self, protocol: Any, transfer: Transfer) -> None:
        """Have a connector find a connection twice, for requests of ours."""

        async def connect() -> Any:
            return SimpleNamespace(protocol=protocol)

        connector = SimpleNamespace(connect=connect)
        wires = wires_of(Handlers(SimpleNamespace(_session=SimpleNamespace(_connector=connector))))
        wires._handler("https")

        async def find() -> Any:
            with wires._awaiting(URI, transfer):
                for _ in range(2):
                    assert (await connector.connect()).protocol is protocol
                protocol.set_response_params()

        in_a_loop(find)

    def test_broken_end_is_seen_with_uvloop(self) -> None:
        client, transfer = Client(), Transfer(LIMIT)
        self.watched(client, transfer)
        client.deliver(b"#")
        client.end(OSError())
        assert client.received == [b"#"]
        assert transfer.connection is not None
        assert transfer.connection.ending is Ending.BROKEN

    def test_aiohttp_connections_of_others_are_left_alone(self) -> None:
        other = SimpleNamespace(set_response_params=print)
        self.watched(other, Transfer(LIMIT))
        assert vars(other) == {"set_response_params": print}


@pytest.mark.parametrize(
    ("transport", "is_orderly"),
    [
        (None, None),
        (SimpleNamespace(tls=None), True),
        (SimpleNamespace(tls=1), None),
        (SimpleNamespace(tls=1, _ssl_protocol=SimpleNamespace()), None),
        # Python 3.11 and newer: the stream below has ended as well, without a close_notify.
        (SimpleNamespace(tls=1, _ssl_protocol=SimpleNamespace(_eof_received=True)), False),
        (SimpleNamespace(tls=1, _ssl_protocol=SimpleNamespace(_eof_received=False)), True),
        # Up to 3.10.
        (SimpleNamespace(tls=1, _ssl_protocol=SimpleNamespace(_in_shutdown=False)), False),
        (SimpleNamespace(tls=1, _ssl_protocol=SimpleNamespace(_in_shutdown=True)), None),
    ],
)
def test_whether_a_stream_ended_in_order(transport: Any, is_orderly: bool | None) -> None:
    if transport is not None:
        transport.get_extra_info = lambda _: transport.tls
    assert module._is_orderly(transport) is is_orderly

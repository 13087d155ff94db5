"""The connections of robots.txt files, watched at handlers that a test plays."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import pytest
from scrapy import Request
from scrapy.http import Response
from scrapy.utils.test import get_crawler
from twisted.internet.defer import succeed
from twisted.internet.error import ConnectionDone, ConnectionLost
from twisted.internet.protocol import Factory
from twisted.python.failure import Failure
from twisted.web._newclient import HTTP11ClientProtocol
from twisted.web.client import URI as URI_OF_TWISTED

from scrapy_rep.fetch import wires as module
from scrapy_rep.fetch.transfer import HEAD_OCTETS, MARK, Connection, Transfer
from scrapy_rep.fetch.wires import OversizedAnswerError, Wires
from scrapy_rep.protocol.access.endings import Ending

URI = "https://example.com/robots.txt"
TARGETS = [
    *[
        URI,
        "http://h",
        "http://h/",
        "http://h?a",
        "http://h?a=/b",
        "http://h/a/",
        "http://h/a;b/c;d",
    ],
    *["http://h/a?b=/c", "http://h:8080/.well-known/tdmrep.json", "http://h/a?b?c/d/"],
]
LIMIT = 1000


def ours(seconds: float = 5.0) -> Request:
    return Request(URI, meta={MARK: Transfer(LIMIT), "download_timeout": seconds})


def run(work: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
    """In a loop of its own: this thread has one already."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, work()).result(timeout=20)


class Handlers:
    """Scrapy's handlers: one, and what becomes of a request."""

    def __init__(self, handler: Any = None, answer: Any = None) -> None:
        self.handler = handler
        self.answer = answer
        self.seen: list[Any] = []

    def _get_handler(self, scheme: str) -> Any:
        self.seen.append(scheme)
        return self.handler

    async def download_request_async(self, request: Request) -> Response:
        self.seen.append(request)
        response: Response = await self.answer(request)
        return response


def wires_of(handlers: Any) -> Wires:
    crawler = get_crawler()
    downloader = SimpleNamespace(handlers=handlers)
    crawler.engine = SimpleNamespace(downloader=downloader)  # type: ignore[assignment]
    wires = Wires.of(crawler)
    if hasattr(handlers, "rep_wires"):
        assert Wires.of(crawler) is wires
    return wires


class TestCarrying:
    def test_ours_is_awaited_and_others_are_not(self) -> None:
        response = Response(URI)

        async def answer(request: Request) -> Response:
            carried.append(module._carrying.get())
            awaited.append(wires.awaited[URI])
            return response

        carried: list[Any] = []
        awaited: list[int] = []
        handlers = Handlers(answer=answer)
        wires = wires_of(handlers)
        request, other = ours(), Request("https://example.com/")
        for one in (request, other):
            assert run(lambda one=one: handlers.download_request_async(one)) is response  # type: ignore[misc]
        assert carried == [request.meta[MARK], None]
        assert awaited == [1, 0]
        assert handlers.seen == ["https", request, other]
        assert URI not in wires.awaited

    def test_two_that_are_awaited_at_once(self) -> None:
        wires = wires_of(Handlers())
        first, second = Transfer(LIMIT), Transfer(LIMIT)
        with wires._awaiting(URI, first):
            with wires._awaiting(URI, second):
                assert wires.awaited[URI] == 2
                assert module._carrying.get() is second
            assert wires.awaited[URI] == 1
            assert module._carrying.get() is first
        assert URI not in wires.awaited
        assert module._carrying.get() is None

    def test_an_answer_is_kept_with_headers_of_its_own(self) -> None:
        response = Response(URI, headers={"Content-Encoding": "gzip"}, flags=["one"])

        async def answer(request: Request) -> Response:
            return response

        handlers = Handlers(answer=answer)
        wires_of(handlers)
        request = ours()
        assert run(lambda: handlers.download_request_async(request)) is response
        del response.headers["Content-Encoding"]
        response.flags.append("two")
        kept = request.meta[MARK].response
        assert kept.headers.getlist("Content-Encoding") == [b"gzip"]
        assert kept.flags == ["one"]

    def test_another_handler_for_ftp_is_asked(self) -> None:
        async def answer(request: Request) -> Response:
            return Response(request.url)

        handlers = Handlers(object(), answer)
        wires_of(handlers)
        request = ours().replace(url="ftp://example.com/robots.txt")
        assert run(lambda: handlers.download_request_async(request)).url == request.url

    def test_handlers_of_another_release_are_left_alone(self) -> None:
        wires = wires_of(SimpleNamespace())
        assert wires._handler("https") is None
        wires_of(None)
        for lacking in ({"_factory": object()}, {"getConnection": object()}):
            handler = SimpleNamespace(_pool=SimpleNamespace(**lacking))
            assert wires_of(Handlers(handler))._handler("https") is handler
            assert vars(handler._pool) == lacking


class Protocol(HTTP11ClientProtocol):
    """A connection of Twisted's, without its parser."""

    def __init__(self) -> None:
        self.told: list[Any] = []
        self.receive: Callable[[], None] = lambda: None
        transport: Any = SimpleNamespace(abortConnection=lambda: self.told.append("abort"))
        self.transport = transport

    def request(self, asked: Any) -> Any:
        self.told.append("request")
        return "asked"

    def dataReceived(self, data: bytes) -> None:  # noqa: N802 - the name is Twisted's
        self.told.append(len(data))
        self.receive()

    def connectionLost(self, reason: Any = None) -> None:  # noqa: N802 - likewise
        self.told.append(reason.type)


def asked(uri: bytes | None) -> Any:
    """A request as Twisted's client makes it, which may not know its whole URI."""
    if uri is None:
        return SimpleNamespace(absoluteURI=None, uri=b"*")
    parsed = URI_OF_TWISTED.fromBytes(uri)  # type: ignore[no-untyped-call]
    return SimpleNamespace(absoluteURI=parsed.toBytes(), uri=parsed.originForm)


class TestTwisted:
    @staticmethod
    def pool(protocol: Any) -> tuple[Wires, Any]:
        """The watched pool of a handler, whose connections are all the same."""

        class PoolsFactory(Factory):
            def buildProtocol(self, addr: Any) -> Any:  # noqa: N802 - the name is Twisted's
                return protocol

        pool = SimpleNamespace(
            _factory=lambda *_, **__: PoolsFactory(), getConnection=lambda *_: succeed(protocol)
        )
        wires = wires_of(Handlers(SimpleNamespace(_pool=pool)))
        for _ in range(3):
            wires._handler("https")
        return wires, pool

    def watched(self, protocol: Any, *, is_kept: bool = False) -> tuple[Wires, Any]:
        """A connection as the pool makes it for one of our requests, or kept it open."""
        wires, pool = self.pool(protocol)
        found: list[Any] = []
        with wires._awaiting("http://waits/robots.txt", Transfer(LIMIT)):
            if is_kept:
                pool.getConnection("key", "endpoint").addCallback(found.append)
            else:
                found.append(pool._factory("quiescent").buildProtocol("address"))
        return wires, found[0]

    @staticmethod
    def fail(error: Any) -> Any:
        return Failure(error)  # type: ignore[no-untyped-call]

    @pytest.mark.parametrize("way", ["made", "kept", "kept behind a tunnel"])
    def test_the_head_has_a_bound_and_the_body_another(self, way: str) -> None:
        protocol: Any = Protocol()
        if way == "kept behind a tunnel":  # as Scrapy leaves it once the tunnel is there
            protocol.dataReceived = protocol.dataReceived
        wires, protocol = self.watched(protocol, is_kept=way != "made")
        transfer = Transfer(LIMIT)
        protocol.receive = lambda: wires.note_head(transfer)
        with wires._awaiting(URI, transfer):
            assert protocol.request(asked(URI.encode())) == "asked"
        protocol.dataReceived(b"#" * HEAD_OCTETS)
        connection = transfer.connection
        assert connection is not None
        assert connection.most_octets is not None
        assert wires.speaking is None
        protocol.receive = lambda: None
        protocol.dataReceived(b"#" * LIMIT)
        endings = [connection.ending]
        protocol.dataReceived(b"#" * connection.most_octets)
        assert [*endings, connection.ending] == [Ending.UNKNOWN, Ending.BROKEN]
        assert protocol.told == ["request", HEAD_OCTETS, LIMIT, OversizedAnswerError, "abort"]
        protocol.dataReceived(b"#")
        protocol.connectionLost(self.fail(ConnectionDone()))
        assert len(protocol.told) == 5, "it is over"

    def test_connections_of_pages_are_not_watched(self) -> None:
        """Until one of them is found for a request of ours, perhaps behind what sends again."""
        wires, pool = self.pool(protocol := Protocol())
        assert pool._factory("quiescent").buildProtocol("address") is protocol
        pool.getConnection("key", "endpoint")
        assert type(protocol) is Protocol
        again = SimpleNamespace(_clientProtocol=protocol)
        with wires._awaiting(URI, Transfer(LIMIT)):
            assert wires._watch_found(again) is again
            connection = protocol.rep_connection  # type: ignore[attr-defined]
            wires._watch_found(again)
        assert type(protocol) is not Protocol
        assert protocol.rep_connection is connection  # type: ignore[attr-defined]

    @pytest.mark.parametrize("target", [*TARGETS, "http://h/a%20b/c.txt"])
    @pytest.mark.parametrize("has_proxy", [False, True])
    def test_which_requests_are_ours(self, target: str, has_proxy: bool) -> None:
        """Also those whose target ends in no name, or has another form for a proxy."""
        wires, _ = self.watched(Protocol())
        request = asked(target.encode())
        if has_proxy:
            request.uri = request.absoluteURI
        assert not wires.is_awaited(request)
        with wires._awaiting("http://other/x", Transfer(LIMIT)):
            assert not wires.is_awaited(request)
            with wires._awaiting(target, Transfer(LIMIT)):
                assert wires.is_awaited(request)
        assert not wires.awaited

    def test_pages_have_none(self) -> None:
        wires, protocol = self.watched(Protocol())
        with wires._awaiting(URI, Transfer(LIMIT)):
            for uri in (b"https://example.com/", b"https://other.example/robots.txt", None):
                protocol.request(asked(uri))
                protocol.dataReceived(b"#" * 2 * HEAD_OCTETS)
        wires.note_head(Transfer(LIMIT))
        assert "abort" not in protocol.told

    @pytest.mark.parametrize(
        ("error", "ending"), [(ConnectionDone, Ending.CLOSED), (ConnectionLost, Ending.BROKEN)]
    )
    def test_how_it_ended(self, error: Any, ending: Ending) -> None:
        wires, protocol = self.watched(Protocol())
        transfer = Transfer(LIMIT)
        protocol.receive = lambda: wires.note_head(transfer)
        with wires._awaiting(URI, transfer):
            protocol.dataReceived(b"#")
        for _ in range(2):
            protocol.connectionLost(self.fail(error()))
        assert transfer.connection is not None
        assert transfer.connection.ending is ending
        assert protocol.told == [1, error]

    def test_connections_of_others_are_left_alone(self) -> None:
        other = object()
        assert self.watched(other)[1] is other

    @pytest.mark.parametrize("is_factory", [True, False])
    @pytest.mark.parametrize("kind", ["slots", "no subclass", "no attribute"])
    def test_what_cannot_be_watched_works_as_ever(self, kind: str, is_factory: bool) -> None:
        """Whatever it raises would be the end of each request, those of pages too."""
        odd = odd_kind(kind, Factory if is_factory else Protocol)
        made = odd.__new__(odd)
        if is_factory:
            pool = SimpleNamespace(_factory=lambda *_: made, getConnection=lambda *_: None)
            wires = wires_of(Handlers(SimpleNamespace(_pool=pool)))
            wires._handler("https")
            with wires._awaiting(URI, Transfer(LIMIT)):
                assert pool._factory("quiescent") is made
                assert pool.getConnection() is None
        else:
            assert self.watched(made)[1] is made
            assert self.watched(made, is_kept=True)[1] is made
        assert type(made) is odd


def odd_kind(kind: str, base: Any) -> Any:
    """A class of factories or of connections that cannot be watched."""
    if kind == "slots":
        return type("Slots", (), {"__slots__": ()})

    def refuse(*_: Any, **__: Any) -> None:
        raise RuntimeError("not of mine")

    name = "__init_subclass__" if kind == "no subclass" else "__setattr__"
    return type("Odd", (base,), {name: classmethod(refuse) if "init" in name else refuse})


class Client:
    """A connection of aiohttp's."""

    def __init__(self, payload: Any = None) -> None:
        self.told: list[Any] = []
        self._payload = payload
        self.transport: Any = SimpleNamespace(
            abort=lambda: self.told.append("abort"),
            get_extra_info=lambda _: None,
            set_protocol=self._looked_up,
        )
        self._looked_up(self)

    def _looked_up(self, protocol: Any) -> None:
        """The transport looks up the method once, as uvloop's does."""
        self.deliver = protocol.data_received

    def set_response_params(self, **parameters: Any) -> None:
        self.told.append(parameters)

    def data_received(self, data: bytes) -> None:
        self.told.append(len(data))

    def eof_received(self) -> str:
        self.told.append("eof")
        return "closed"

    def connection_lost(self, error: BaseException | None) -> None:
        self.told.append(error)

    def set_exception(self, error: BaseException) -> None:
        self.told.append(type(error))


class Payload:
    """A body that aiohttp reads."""

    def __init__(self, *, is_eof: bool) -> None:
        self._is_eof = is_eof
        self.errors: list[Any] = []

    def is_eof(self) -> bool:
        return self._is_eof

    def set_exception(self, error: BaseException) -> None:
        self.errors.append(type(error))


class TestAiohttp:
    @staticmethod
    def watched(protocol: Any, *, is_ours: bool = True) -> tuple[Wires, Any]:
        """A connection, new or kept open, as a connector has it for a request."""

        async def connect(traces: Any) -> Any:
            return SimpleNamespace(protocol=protocol, traces=traces)

        connector = SimpleNamespace(connect=connect)
        handler = SimpleNamespace(_session=SimpleNamespace(_connector=connector))
        wires = wires_of(Handlers(handler))
        for _ in range(3):
            wires._handler("https")

        async def find() -> Any:
            if not is_ours:
                return await connector.connect(traces=1)
            with wires._awaiting(URI, Transfer(LIMIT)):
                return await connector.connect(traces=1)

        found = run(find)
        held = dict(vars(found.protocol)) if hasattr(found.protocol, "__dict__") else {}
        found = run(find)  # a connection that is watched is not watched once more
        assert not held or vars(found.protocol) == held
        assert found.traces == 1
        return wires, found.protocol

    def begun(self, protocol: Client, transfer: Transfer) -> Connection:
        wires, watched = self.watched(protocol)
        with wires._awaiting(URI, transfer):
            watched.set_response_params(timer=1)
        wires.note_head(transfer)
        connection = transfer.connection
        assert connection is not None
        return connection

    def test_a_body_has_a_bound(self) -> None:
        protocol: Any = Client(payload := Payload(is_eof=False))
        connection = self.begun(protocol, Transfer(LIMIT))
        assert connection.most_octets is not None
        protocol.deliver(b"#" * LIMIT)
        protocol.deliver(b"#" * connection.most_octets)
        assert protocol.told == [{"timer": 1}, LIMIT, OversizedAnswerError, "abort"]
        assert payload.errors == [OversizedAnswerError]
        protocol.transport = None
        protocol.deliver(b"#")
        assert len(protocol.told) == 4

    def test_pages_have_none(self) -> None:
        for is_ours in (True, False):
            _, protocol = self.watched(Client(), is_ours=is_ours)
            protocol.set_response_params()
            protocol.data_received(b"#" * 2 * HEAD_OCTETS)
            assert protocol.told == [{}, 2 * HEAD_OCTETS]
            assert hasattr(protocol, "rep_connection") is is_ours

    @pytest.mark.parametrize(
        ("payload", "error", "ending", "has_ended_body"),
        [
            (None, None, Ending.CLOSED, False),
            (Payload(is_eof=False), None, Ending.CLOSED, True),
            (Payload(is_eof=True), None, Ending.CLOSED, False),
            (None, OSError(), Ending.BROKEN, False),
        ],
    )
    def test_how_it_ended(
        self, payload: Any, error: Exception | None, ending: Ending, has_ended_body: bool
    ) -> None:
        protocol: Any = Client()
        connection = self.begun(protocol, Transfer(LIMIT))
        protocol._payload = payload
        assert protocol.eof_received() == "closed"
        protocol.connection_lost(error)
        assert protocol.told[1:] == ["eof", error]
        assert (connection.ending, connection.has_ended_body) == (ending, has_ended_body)

    def test_connections_of_others_are_left_alone(self) -> None:
        other = SimpleNamespace(set_response_params=print)
        assert self.watched(other)[1] is other
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


def test_whether_a_body_lasts_until_the_end() -> None:
    assert module._is_amid_body(object()) is None

"""When octets leave, told by what download handlers do: Twisted's pool, and aiohttp's tracing."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import pytest
from scrapy.utils.defer import maybe_deferred_to_future
from twisted.internet.defer import Deferred, succeed

from scrapy_rep.engine import departures as module
from scrapy_rep.engine.departures import Departures
from scrapy_rep.protocol.access.origin import Origin

URL = "https://example.com/a"
ORIGIN = Origin.of(URL)
KEY = (b"https", b"example.com", 443)


class Book:
    """The visits of one origin, which write down what they hear."""

    def __init__(self) -> None:
        self.heard: list[str] = []
        self.seconds = 5.0

    def get(self, origin: object) -> Any:
        return self if origin == ORIGIN else None

    def is_leaving(self) -> None:
        self.heard.append("leaving")

    def is_sent_again(self) -> None:
        self.heard.append("sent again")


@pytest.fixture
def book(monkeypatch: pytest.MonkeyPatch) -> Book:
    """Visits that also hear of each wait."""
    made = Book()

    async def sleep(seconds: float) -> None:
        made.heard.append(f"{seconds:g} s pass")

    monkeypatch.setattr(module, "sleep", sleep)
    return made


def run(work: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """In a loop of its own: this thread has one already."""
    with ThreadPoolExecutor(1) as thread:
        thread.submit(asyncio.run, work()).result(timeout=20)


class Kept:
    """A connection of Twisted's that was kept open."""

    def __init__(self) -> None:
        self._newConnection = lambda: succeed("a new one")


class Pool:
    """Twisted's pool of connections."""

    def __init__(self, connection: Any) -> None:
        self.connection = connection
        self.asked: list[Any] = []

    def getConnection(self, key: Any, endpoint: Any) -> Any:  # noqa: N802 - the name is Twisted's
        self.asked.append((key, endpoint))
        return self.connection


def pooled(book: Any, connection: Any) -> Pool:
    pool = Pool(connection)
    departures = Departures(book)
    for _ in range(3):  # each look at the handlers finds it again
        departures.listen_to(SimpleNamespace(_pool=pool))
    return pool


class TestTwisted:
    def test_over_a_connection_that_was_kept_a_request_leaves_at_once(self, book: Book) -> None:
        async def work() -> None:
            kept = Kept()
            pool = pooled(book, succeed(kept))
            found = pool.getConnection(KEY, "endpoint")
            assert await maybe_deferred_to_future(found) is kept
            assert pool.asked == [(KEY, "endpoint")]
            assert book.heard == ["leaving"], "it is listened to once"
            # It proves to be gone: the request is sent again, and waits as a new one would.
            again = await maybe_deferred_to_future(kept._newConnection())
            assert again == "a new one"
            assert book.heard == ["leaving", "sent again", "5 s pass", "sent again"]

        run(work)

    def test_of_a_new_connection_nothing_is_known(self, book: Book) -> None:
        async def work() -> None:
            new = object()
            pool = pooled(book, succeed(new))
            assert await maybe_deferred_to_future(pool.getConnection(KEY, None)) is new
            assert book.heard == []

        run(work)

    @pytest.mark.parametrize(
        "key",
        [
            (b"http", b"example.com", 443),
            (b"https", b"another.example", 443),
            (b"https", b"example.com", "443"),
            (b"ftp", b"example.com", 443),
            (b"https", b"bad host", 443),
            (b"https", b"\xff", 443),
            (),
            None,
        ],
    )
    def test_the_connections_of_others_are_left_alone(self, key: Any, book: Book) -> None:
        async def work() -> None:
            kept = Kept()
            before = kept._newConnection
            pool = pooled(book, succeed(kept))
            assert await maybe_deferred_to_future(pool.getConnection(key, None)) is kept
            assert kept._newConnection is before
            assert book.heard == []

        run(work)

    def test_a_pool_of_another_release(self, book: Book) -> None:
        pool = pooled(book, "no Deferred")
        assert pool.getConnection(KEY, None) == "no Deferred"
        Departures(book).listen_to(SimpleNamespace(_pool=Departures(book)))  # type: ignore[arg-type]
        Departures(book).listen_to(object())  # type: ignore[arg-type]
        assert not isinstance(pool.connection, Deferred)


def traced(book: Any, url: str = URL) -> Callable[[str], Coroutine[Any, Any, None]]:
    """A request of aiohttp's, to be told which of its hooks is called."""
    session = SimpleNamespace(trace_configs=[])
    handler = SimpleNamespace(_session=_hashable(session))
    departures = Departures(book)
    for _ in range(3):
        departures.listen_to(handler)
    (trace,) = handler._session.trace_configs
    context = SimpleNamespace()

    async def tell(name: str) -> None:
        told = SimpleNamespace(url=url)
        for hook in getattr(trace, f"on_{name}"):
            await hook(session, context, told)

    return tell


def _hashable(session: Any) -> Any:
    class Session:
        trace_configs = session.trace_configs

    return Session()


class TestAiohttp:
    def setup_method(self) -> None:
        pytest.importorskip("aiohttp")

    def test_over_a_connection_that_was_kept_a_request_leaves_at_once(self, book: Book) -> None:
        async def work() -> None:
            tell = traced(book)
            await tell("request_start")
            await tell("connection_reuseconn")
            assert book.heard == ["leaving"]
            await tell("connection_create_start")
            assert book.heard == ["leaving", "sent again", "5 s pass", "sent again"]
            await tell("connection_reuseconn")
            assert book.heard[4:] == ["sent again", "5 s pass", "sent again"]
            await tell("request_start")
            await tell("connection_reuseconn")
            assert book.heard[7:] == ["leaving"], "another request"

        run(work)

    def test_of_a_new_connection_nothing_is_known(self, book: Book) -> None:
        async def work() -> None:
            tell = traced(book)
            await tell("request_start")
            await tell("connection_create_start")
            assert book.heard == []

        run(work)

    @pytest.mark.parametrize("url", ["https://another.example/", "https://:0/"])
    def test_the_requests_of_others_are_left_alone(self, url: str, book: Book) -> None:
        async def work() -> None:
            tell = traced(book, url)
            await tell("request_start")
            await tell("connection_reuseconn")
            await tell("connection_create_start")
            assert book.heard == []

        run(work)

    def test_a_session_of_another_release(self, book: Any) -> None:
        session = _hashable(SimpleNamespace(trace_configs=()))
        Departures(book).listen_to(SimpleNamespace(_session=session))
        assert session.trace_configs == ()

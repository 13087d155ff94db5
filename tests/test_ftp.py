"""A robots.txt over FTP, without a server: bounds, endings, and what replies mean."""

from __future__ import annotations

from typing import Any

import pytest
from scrapy import Request
from scrapy.core.downloader.handlers.ftp import FTPDownloadHandler
from scrapy.settings import Settings
from twisted.internet.defer import Deferred
from twisted.internet.error import ConnectionDone, ConnectionLost
from twisted.python.failure import Failure

from scrapy_rep.fetch import ftp


class Transport:
    def __init__(self) -> None:
        self.aborted_count = 0

    def abortConnection(self) -> None:  # noqa: N802 - the name is Twisted's
        self.aborted_count += 1


class TestFile:
    @pytest.mark.parametrize(
        ("pieces", "kept", "is_full"),
        [
            ([b"12345"], b"12345", False),
            ([b"1234", b"56"], b"123456", True),
            ([b"12345", b"6", b"7"], b"123456", True),
            ([b"1" * 1000], b"111111", True),
            ([], b"", False),
        ],
    )
    def test_at_most_one_octet_more_than_the_limit(
        self, pieces: list[bytes], kept: bytes, is_full: bool
    ) -> None:
        done: Deferred[None] = Deferred()
        file: Any = ftp._File(5, done)
        file.transport = Transport()
        for piece in pieces:
            file.dataReceived(piece)
        assert bytes(file.octets) == kept
        assert file.is_full is is_full
        assert bool(file.transport.aborted_count) is is_full
        assert done.called is is_full

    @pytest.mark.parametrize(
        ("error", "is_broken"), [(ConnectionDone, False), (ConnectionLost, True)]
    )
    def test_how_it_ended(self, error: Any, is_broken: bool) -> None:
        file = ftp._File(5, Deferred())
        assert not file.is_broken
        file.connectionLost(Failure(error()))  # type: ignore[no-untyped-call]
        assert file.is_broken is is_broken

    def test_nothing_to_abort(self) -> None:
        ftp._File(5, Deferred()).abort()


def test_the_end_of_a_retrieval_leaves_no_connection() -> None:
    retrieval: Any = ftp._Retrieval(5)
    retrieval.abort()
    retrieval._file.transport, retrieval._client = Transport(), Transport()
    retrieval._client.transport = None
    retrieval.abort()
    retrieval._client.transport = Transport()
    retrieval.abort()
    assert retrieval._file.transport.aborted_count == 2
    assert retrieval._client.transport.aborted_count == 1


@pytest.mark.parametrize(
    ("uri", "place"),
    [
        ("ftp://example.com/robots.txt", ("example.com", 21)),
        ("ftp://example.com:2121/robots.txt", ("example.com", 2121)),
    ],
)
def test_where_it_connects_to_and_as_whom(
    uri: str, place: tuple[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Any] = []

    class Creator:
        def __init__(self, _: Any, __: Any, user: str, password: str, *, passive: int) -> None:
            asked.append((user, password, passive))

        def connectTCP(self, host: str, port: int, timeout: float) -> None:  # noqa: N802
            asked.append(((host, port), timeout))
            raise ConnectionLost

    monkeypatch.setattr("twisted.internet.protocol.ClientCreator", Creator)
    request = Request(uri, meta={"download_timeout": 7.0, "ftp_user": "u", "ftp_passive": False})
    with pytest.raises(ConnectionLost):
        ftp._Retrieval(5).run(request, Settings({"FTP_PASSWORD": "p"})).send(None)
    assert asked == [("u", "p", 0), (place, 7.0)]


@pytest.mark.parametrize(
    ("reply", "status"),
    [
        ("['550 No such file']", 404),
        ("['530 Not logged in']", 503),
        ("['450 550 in a moment']", 503),
        ("no number", 503),
    ],
)
def test_only_a_file_that_is_missing_is_none(reply: str, status: int) -> None:
    response = ftp._refusal("ftp://example.com/robots.txt", reply)
    assert (response.status, response.body) == (status, reply.encode())


def test_only_scrapy_s_own_handler_is_replaced() -> None:
    class Another(FTPDownloadHandler):
        pass

    handlers = {kind: kind.__new__(kind) for kind in (FTPDownloadHandler, Another)}
    assert ftp.is_built_in(handlers[FTPDownloadHandler])
    assert not ftp.is_built_in(handlers[Another])
    assert not ftp.is_built_in(None)

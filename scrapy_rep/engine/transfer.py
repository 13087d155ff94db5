"""The octets of one robots.txt answer, up to the parse limit.

The transfer is stopped once enough octets have come. Some servers compress although our request
says not to. Such a body is decompressed up to the limit, however large it is. Memory is bounded by
twice the limit plus one piece of a decompressor's output.

Octets after the parse limit are ignored (RFC 9309, 2.5), so losing them does not matter. Losing
octets before it is an error. It is also an error if twice the limit of a compressed body
decompresses to less than the limit: the body may be padded, with its rules after the padding.

Some servers send gzip without declaring it, so a body that begins like gzip is decompressed too.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import copy
from itertools import count
from secrets import token_hex
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

from scrapy.exceptions import ResponseDataLossError, StopDownload
from scrapy.http import Headers, Response

from scrapy_rep.protocol.access.challenges import MARKING_FIELDS
from scrapy_rep.protocol.access.endings import Ending
from scrapy_rep.protocol.codings import decoded, encodings_of
from scrapy_rep.protocol.compressed import GZIP_MAGIC, RAW_LIMITS, begins_with
from scrapy_rep.protocol.secrecy import is_secret, without_userinfo

if TYPE_CHECKING:
    from scrapy import Request

MARK = "rep_fetch"
"""The meta key of the requests for robots.txt: the number of their transfer, as text."""

MOST_SENT = 10
"""How often a request may come to the downloader, as a middleware may send it again."""

HEAD_OCTETS = 256 * 1024
"""The limit for all heads of an answer together, including those with status 1xx."""

_FRAMING = 8  # a body with its framing, such as chunks, may take 8 times the parse limit

_WITHOUT_BODY = frozenset({204, 304})
_STREAMED = frozenset({"", "HTTP/2", "H2", "HTTP/3", "H3"})  # these mark each end; "": not HTTP
_DIGITS = re.compile(rb"[0-9]{1,1000}")
_CHUNKED = re.compile(rb"(.*,)?[ \t]*chunked[ \t]*", re.IGNORECASE | re.DOTALL)


# The transfers of all crawls of this process, by number. A mark that outlives its transfer, such as
# in a copy of meta, means nothing.
_transfers: WeakValueDictionary[str, Transfer] = WeakValueDictionary()
_numbers = count()
_PROCESS = token_hex(4)  # another process may have left its marks on a disk


def is_own(request: Request) -> bool:
    """Whether a request serves a fetch of ours, whatever a middleware has done to its URL."""
    transfer = Transfer.of(request)
    return transfer is not None and not transfer.is_over


class SentTooOftenError(Exception):
    """A middleware answers each response with the same request again."""


class EnoughCameError(StopDownload):
    """Stops a download because more octets than the parse limit have come."""


class Connection:
    """One connection over which a robots.txt comes.

    Attributes:
        ending: how it ended; `UNKNOWN` while it is open.
        most_octets: how many octets may come; None for any number.
        came_octets: how many octets came since the last request was sent over it.
        has_ended_body: whether a body lasted until the end of the connection, by its parser; None
            if that is not known.
    """

    __slots__ = ("_is_orderly", "came_octets", "ending", "has_ended_body", "most_octets")

    def __init__(self, *, has_ended_body: bool | None = None) -> None:
        self.ending = Ending.UNKNOWN
        self.has_ended_body = has_ended_body
        self.begin(None)

    def begin(self, most_octets: int | None) -> None:
        """Note that a request is sent."""
        self.most_octets = most_octets
        self.came_octets = 0
        self._is_orderly: bool | None = None

    def takes(self, octets: int) -> bool:
        """Count octets that came; return whether they are within the limit."""
        self.came_octets += octets
        return self.most_octets is None or self.came_octets <= self.most_octets

    def head_came(self, limit_octets: int) -> None:
        """Note that the head is complete; allow a body up to the limit, in any framing."""
        if self.most_octets is not None:
            self.most_octets = HEAD_OCTETS + _FRAMING * limit_octets

    def eof_came(self, *, is_orderly: bool | None) -> None:
        """Note the end of the stream; over TLS, `is_orderly` says whether a close_notify came."""
        self._is_orderly = is_orderly

    def end(self, error: BaseException | None) -> None:
        """Note that the connection was lost; `error` is from asyncio."""
        if error is not None:
            self.ending = Ending.BROKEN
        elif self._is_orderly is not None:
            self.ending = Ending.CLOSED if self._is_orderly else Ending.BROKEN


class Transfer:
    """The transfer of one answer; its request carries the mark in meta.

    Attributes:
        limit_octets: the parse limit.
        uri: the URI of its request, before the middlewares of the project.
        mark: its number, for the meta of its request.
        prepare: changes the request when it comes to the downloader.
        error: the exception of the download handler; None if it raised none.
        response: the answer as it came, before Scrapy's middlewares.
        connection: the connection over which it comes, if that is known.
        has_head: whether the head of the answer has come.
        remark: an unusual encoding of the body, in words; empty otherwise.
        is_whole: whether the body itself says that it is whole: gzip with a right trailer.
        is_stopped: whether the transfer was stopped because enough came.
        sent: its request as it last came to the downloader; None before.
        sent_at: when it came there, by `time.monotonic`.
        handled_since: when a download handler got it, by `time.monotonic`; None before.
        is_back: whether its request has left the downloader.
        body: the octets that were parsed, for the archive; None while they are not known.
        is_wished: whether its site wanted another signature first.
        turn_seconds: the delay of its host, while it waits for its turn there.
        holder: its request as it last came to the middlewares, possibly rewritten by one of them.
        sent_count: how often its request came to the downloader.
        is_over: whether the fetch goes on without its request, which has ended or took too long.
    """

    def __init__(self, limit_octets: int) -> None:
        self.limit_octets = limit_octets
        self.uri = ""
        self.mark = f"{_PROCESS}-{next(_numbers)}"
        _transfers[self.mark] = self
        self.prepare: Callable[[Request], None] | None = None
        self.sent: Request | None = None
        self.sent_at: float | None = None
        self.body: bytes | None = None
        self.is_wished = False
        self.turn_seconds: float | None = None
        self.holder: Request | None = None
        self.sent_count = 0
        self.is_over = False
        self._forget()

    def begin(self, request: Request) -> None:
        """Note that its request has come to the downloader, possibly again."""
        self.sent, self.sent_at = request, time.monotonic()
        self.sent_count += 1
        self._forget()

    def _forget(self) -> None:
        """Forget the answer so far."""
        self.response: Response | None = None
        self.error: Exception | None = None
        self.connection: Connection | None = None
        self.handled_since: float | None = None
        self.is_back = False
        self.has_head = False
        self.remark = ""
        self.is_whole = False
        self._handler_tells_end = False
        self._came_octets = 0
        self._is_encoded = False
        self.is_stopped = False
        self._is_full = False

    @staticmethod
    def of(request: Request) -> Transfer | None:
        """The transfer of a robots.txt request of ours; None for other requests."""
        mark = request.meta.get(MARK)
        return _transfers.get(mark) if isinstance(mark, str) else None

    @contextmanager
    def in_line(self, turn_seconds: float) -> Iterator[None]:
        """Note that its request waits for its turn, which does not count as a slow site."""
        self.turn_seconds = turn_seconds
        try:
            yield
        finally:
            self.turn_seconds = None

    def head_came(self, headers: Headers, body_length: Any = None) -> None:
        """The head has come.

        `body_length` is from Scrapy's signal: a number, None, or a constant for "unknown". Only
        Twisted's handler sets it, and only that handler tells whether an answer ended by closing.
        """
        self.has_head = True
        self._handler_tells_end = body_length is not None
        self._is_encoded = bool(encodings_of(_encoding(headers)))

    def came(self, response: Response) -> None:
        """Keep the answer before it passes a middleware.

        The copy has separate headers, because Scrapy's decompression removes the Content-Encoding
        of the original, so that a truncated body would look complete.
        """
        self.response = copy(response)  # `Response.copy` would check each of its parts again
        self.response.headers = Headers()
        dict.update(self.response.headers, response.headers)

    def has_enough_after(self, data: bytes) -> bool:
        """Whether nothing more is needed once these octets have come.

        A compressed body may take twice the limit; its decompressed size is checked later.
        """
        if not self.is_stopped:
            if not self._came_octets and begins_with(data, GZIP_MAGIC):
                self._is_encoded = True
            self._came_octets += len(data)
            most = self.limit_octets * (RAW_LIMITS if self._is_encoded else 1)
            self.is_stopped = self._came_octets > most
        return self.is_stopped

    def is_lossy(self, response: Response) -> bool:
        """Whether the handler says that octets are missing; middlewares may drop its flag."""
        came = self.response if self.response is not None else response
        return "dataloss" in {*came.flags, *response.flags}

    def ending(self, response: Response) -> Ending:
        """How the body of an answer ended; call it after `body_of`."""
        came = self.response if self.response is not None else response
        if self.is_stopped or self._is_full or self.is_whole:
            return Ending.FRAMED  # octets after the limit are ignored
        if _is_short(came):
            return Ending.BROKEN
        if not self._ends_with_connection(came):
            return Ending.FRAMED
        return self.connection.ending if self.connection is not None else Ending.UNKNOWN

    def _ends_with_connection(self, came: Response) -> bool:
        """Whether only the end of the connection marked the end of the body (RFC 9112, 6.3)."""
        if self.connection is not None and self.connection.has_ended_body is not None:
            return self.connection.has_ended_body
        if self._handler_tells_end or "partial" in came.flags:
            return "partial" in came.flags
        coding = b",".join(came.headers.getlist(b"Transfer-Encoding"))
        return (
            (came.protocol or "").upper() not in _STREAMED
            and came.status not in _WITHOUT_BODY
            and b"Content-Length" not in came.headers
            and not _CHUNKED.fullmatch(coding)
        )

    @property
    def is_compressed(self) -> bool:
        """Whether the answer came compressed."""
        return self.response is not None and bool(encodings_of(_encoding(self.response.headers)))

    def body_of(self, response: Response) -> bytes:
        """The octets of the file in an answer, at most one more than the limit.

        Raises:
            UndecodableError: they cannot be decompressed.
            ResponseDataLossError: they end before their compression does.
        """
        came = self.response if self.response is not None else response
        encoding = _encoding(came.headers)
        is_file = response.status // 100 == 2  # noqa: PLR2004 - other bodies are not read
        if not came.body or not is_file:
            return response.body[: self.limit_octets + 1]
        body = came.body if encodings_of(encoding) else response.body
        found = decoded(body, encoding, self.limit_octets)
        if found.is_cut:
            raise ResponseDataLossError("the compressed body is cut short")
        # A trailer outweighs a wrong Content-Length. In other framings, members may be missing.
        is_counted = b"Content-Length" in came.headers and b"Transfer-Encoding" not in came.headers
        self.remark, self.is_whole = found.remark, found.has_trailer and is_counted
        self._is_full = len(found.octets) > self.limit_octets
        return found.octets


def headers_of(response: Response) -> dict[str, str]:
    """The headers of an answer without secrets, as text, with names in lower case.

    A secret field that marks a challenge is there, with an empty value.
    """
    found = {
        name.decode("latin-1").lower(): b", ".join(values).decode("latin-1")
        for name, values in response.headers.items()
    }
    marks = {name: "" for name in MARKING_FIELDS if name in found}
    told = {name: without_userinfo(value) for name, value in found.items() if not is_secret(name)}
    return {**marks, **told}


def _is_short(came: Response) -> bool:
    """Whether fewer octets came than announced; Scrapy's HTTP/2 handler misses an empty body."""
    if not came.protocol or came.status in _WITHOUT_BODY:
        return False  # browsers may report the length before decompression
    announced = (value.strip() for value in came.headers.getlist(b"Content-Length"))
    return any(_DIGITS.fullmatch(value) and int(value) > len(came.body) for value in announced)


def _encoding(headers: Headers) -> str:
    return b",".join(headers.getlist(b"Content-Encoding")).decode("latin-1")

"""One connection that robots.txt files come over: how it ended, and how much it may carry."""

from __future__ import annotations

from scrapy_rep.protocol.access.endings import Ending

HEAD_OCTETS = 256 * 1024
"""The limit for the heads of an answer together, those of status 1xx included."""

_FRAMING = 8  # how many times the parse limit a body may take with its framing, as of chunks


class OversizedAnswerError(Exception):
    """An answer takes more octets than its file could need."""


class Connection:
    """One connection.

    Attributes:
        ending: how it ended; `UNKNOWN` while it is open.
        most_octets: how much may come; None for any amount.
        came_octets: how much came since the last request was sent over it.
        has_ended_body: whether a body lasted until the end of the connection, by its parser; None
            where that is not known.
    """

    __slots__ = ("_is_orderly", "came_octets", "ending", "has_ended_body", "most_octets")

    def __init__(self, *, has_ended_body: bool | None = None) -> None:
        self.ending = Ending.UNKNOWN
        self.has_ended_body = has_ended_body
        self.begin(None)

    def begin(self, most_octets: int | None) -> None:
        """A request is sent."""
        self.most_octets = most_octets
        self.came_octets = 0
        self._is_orderly: bool | None = None

    def takes(self, octets: int) -> bool:
        """Count octets that came; whether they are within the limit."""
        self.came_octets += octets
        return self.most_octets is None or self.came_octets <= self.most_octets

    def head_came(self, limit_octets: int) -> None:
        """The head is complete: a body of so many octets may follow, in any framing."""
        if self.most_octets is not None:
            self.most_octets = HEAD_OCTETS + _FRAMING * limit_octets

    def eof_came(self, *, is_orderly: bool | None) -> None:
        """Nothing follows; over TLS with a close_notify or not; None if that is not known."""
        self._is_orderly = is_orderly

    def end(self, error: BaseException | None) -> None:
        """The connection is lost; `error` is that of asyncio."""
        if error is not None:
            self.ending = Ending.BROKEN
        elif self._is_orderly is not None:
            self.ending = Ending.CLOSED if self._is_orderly else Ending.BROKEN

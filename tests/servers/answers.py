"""The answers of a scripted site: values, and their way through JSON.

Imported by both sides: by tests, which write the script, and by the server's process.
"""

from __future__ import annotations

import base64
import collections.abc
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal, TypeAlias

Fault = Literal[
    "none",
    "close_before_answer",  # reads the request, then closes: an empty reply
    "reset_before_answer",  # reads the request, then RST
    "reset_in_headers",  # half a head, then RST
    "reset_in_body",  # a head and half of the body it promises, then RST
    "truncated_length",  # a Content-Length larger than the body, then closes
    "truncated_chunked",  # chunks without the last one, then closes
    "wrong_chunk",  # one right chunk, then a wrong size, then closes
    "close_open",  # a body of no announced length that closing ends, in order
    "reset_open",  # the same, ended by RST
    "cut_open",  # the same, ended without a word: over TLS, without its close_notify
    "header_flood",  # header fields until the client goes away
    "informational_flood",  # answers of status 100 until the client goes away
    "extension_flood",  # chunks of an octet, with extensions of many, until the client goes away
    "slow_headers",  # a header field now and then, until the client goes away
    "garbage",  # octets that are not HTTP, then closes
    "hang",  # never answers
    "endless",  # the body, then comment lines until the client goes away
]
ContentEncoding = Literal["gzip", "deflate", "br", "zstd"]


@dataclass(frozen=True, kw_only=True)
class Answer:
    """One answer to one request.

    Attributes:
        status: the status code.
        reason: the reason phrase; empty for the usual one.
        headers: added to the framing; a Content-Type here replaces ``text/plain``. Sent as UTF-8.
        body: text is sent as UTF-8.
        delay_seconds: how long to wait before the first octet.
        drip: (octets, seconds): the body goes out in pieces with pauses between them.
        fault: how the exchange goes wrong.
        content_encoding: compresses the body, whatever the client accepts.
        bomb_octets: the body goes on with comment lines up to this length before compression.
        etag: sent, and answered with 304 where If-None-Match names it.
        last_modified: sent, and answered with 304 where If-Modified-Since equals it.
        lasts_seconds: as the first of a sequence, for how long it is given after the first request;
            0 for one request.
        version: of HTTP.
        wall: a cookie, and where a client that does not bring it is sent; where that is empty, to
            the same URL, and the cookie is set.
    """

    status: int = 200
    reason: str = ""
    headers: collections.abc.Sequence[tuple[str, str]] = ()
    body: str | bytes = b""
    delay_seconds: float = 0.0
    drip: tuple[int, float] | None = None
    fault: Fault = "none"
    content_encoding: ContentEncoding | None = None
    bomb_octets: int = 0
    etag: str | None = None
    last_modified: str | None = None
    lasts_seconds: float = 0.0
    version: str = "1.1"
    wall: tuple[str, str] | None = None

    @property
    def octets(self) -> bytes:
        """The body as octets, before compression."""
        return self.body if isinstance(self.body, bytes) else self.body.encode()


@dataclass(frozen=True)
class Sequence:
    """Answers given one per request; after the end the last repeats, or all begin again."""

    answers: collections.abc.Sequence[Answer]
    cycle: bool = False

    def __post_init__(self) -> None:
        if not self.answers:
            raise ValueError("a sequence of answers needs at least one")

    def __getitem__(self, index: int) -> Answer:
        """The answer to the request of this number, from 0."""
        count = len(self.answers)
        return self.answers[index % count if self.cycle else min(index, count - 1)]


Scripted: TypeAlias = Answer | collections.abc.Sequence[Answer] | Sequence


def redirect(to: str, status: int = 301) -> Answer:
    """An answer that sends the client elsewhere."""
    return Answer(status=status, headers=(("Location", to),))


def sequence(scripted: Scripted) -> Sequence:
    """Any form a script allows, as a sequence."""
    if isinstance(scripted, Sequence):
        return scripted
    return Sequence([scripted] if isinstance(scripted, Answer) else scripted)


def to_json(script: Mapping[str, Scripted]) -> dict[str, Any]:
    """A script as values JSON can carry."""
    sequences = {path: sequence(scripted) for path, scripted in script.items()}
    return {
        path: {"cycle": one.cycle, "answers": [_answer_to_json(answer) for answer in one.answers]}
        for path, one in sequences.items()
    }


def from_json(script: Mapping[str, Any]) -> dict[str, Sequence]:
    """The script that ``to_json`` was given."""
    return {
        path: Sequence([_answer_from_json(answer) for answer in one["answers"]], one["cycle"])
        for path, one in script.items()
    }


def _answer_to_json(answer: Answer) -> dict[str, Any]:
    return {**asdict(answer), "body": base64.b64encode(answer.octets).decode("ascii")}


def _answer_from_json(values: Mapping[str, Any]) -> Answer:
    return Answer(**{**values, "body": base64.b64decode(values["body"])})

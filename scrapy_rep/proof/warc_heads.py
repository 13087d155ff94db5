"""The heads of requests and answers, as octets, without secrets.

Scrapy keeps neither the first line of an answer nor the letter case of names, so that heads are
rebuilt. Values are the octets that came.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from http import HTTPStatus
from urllib.parse import urlsplit

from .redaction import bare
from .warc_exchanges import Answered, Asked, Headers

# Authorization, Proxy-Authorization, Cookie, Set-Cookie, and what products name alike:
# X-Api-Key, X-Auth-Token, X-Amz-Security-Token, Ocp-Apim-Subscription-Key, X-Jwt-Assertion, ...
# The keys of caches are none.
_SECRET = re.compile(
    rb"auth(?!enticate\Z|ority\Z|or\Z)|cookie|token|secret|apikey|passw|pwd|session|credential|jwt"
    rb"|bearer|signature|(?<![a-z])(?<!cache-)(?<!surrogate-)key(?![a-z])",
    re.IGNORECASE,
)
_USERINFO = re.compile(rb"//[^/?#\s\"<>]*@")  # up to the last @: a password may hold one
_LINE_ENDS = re.compile(rb"[\r\n]+")
_FRAMING = frozenset({b"transfer-encoding"})  # the chunks are joined
_HTTP1 = frozenset({"HTTP/1.0", "HTTP/1.1"})
_PHRASES = {status.value: status.phrase for status in HTTPStatus}


def request_head(asked: Asked, uri: str) -> tuple[bytes, list[str]]:
    """The head of a request, and the names of what was left out."""
    parts = urlsplit(bare(uri))
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    first = f"{asked.method} {target} HTTP/1.1".encode("utf-8", "replace")
    host = (b"Host", parts.netloc.encode("utf-8", "replace"))
    return _head(first, (host, *(one for one in asked.headers if one[0].lower() != b"host")))


def answer_head(answered: Answered) -> tuple[bytes, list[str]]:
    """The head of an answer, and the names of what was left out."""
    version = protocol_of(answered)
    version = version if version in _HTTP1 else "HTTP/1.1"
    first = f"{version} {answered.status} {_PHRASES.get(answered.status, '')}".encode("ascii")
    return _head(first, answered.headers)


def protocol_of(answered: Answered) -> str:
    """The protocol of an answer, in upper case; empty if it is not known."""
    return answered.protocol.upper() if answered.protocol else ""


def _head(first: bytes, headers: Headers) -> tuple[bytes, list[str]]:
    left_out: dict[str, None] = {}
    lines = [_in_one_line(first), *_lines(headers, left_out)]
    return b"\r\n".join(lines) + b"\r\n\r\n", list(left_out)


def _lines(headers: Headers, left_out: dict[str, None]) -> Iterator[bytes]:
    for name, value in headers:
        shown = _in_one_line(name).replace(b":", b" ").strip()
        text = shown.decode("latin-1").lower()
        if not shown or shown.lower() in _FRAMING or _SECRET.search(shown):
            left_out[text] = None
            continue
        kept = _USERINFO.sub(b"//", value)
        if kept != value:
            left_out[f"userinfo in {text}"] = None
        yield shown + b": " + _in_one_line(kept)


def _in_one_line(octets: bytes) -> bytes:
    return _LINE_ENDS.sub(b" ", octets)

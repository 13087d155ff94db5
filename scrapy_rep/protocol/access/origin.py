"""The scope of a robots.txt: scheme, host and port (RFC 9309, 2.3; RFC 3986, 6.2.2 and 6.2.3)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import urlsplit

from scrapy_rep.protocol.errors import InvalidUri

DEFAULT_PORTS = {"http": 80, "https": 443, "ftp": 21}
"""The schemes that robots.txt governs, with their default ports."""

ROBOTS_TXT_PATH = "/robots.txt"
"""The path of every origin's rules (RFC 9309, 2.3)."""

DIRECTORY_PATH = "/.well-known/http-message-signatures-directory"
"""Where an origin publishes the keys of its crawlers (Web Bot Auth)."""

_ODD = re.compile(r"[\x00-\x1f\x7f]|^ +| +$")
# No host contains these (RFC 3986, 3.2.2; URL standard). Google's matcher ends it at ";".
_NO_HOST = frozenset("\\ %/?#@<>^|;")
# Some clients end the authority at a backslash, and some drop blanks: they find different hosts.
_UNCLEAR = re.compile(r"[\\\s\x00-\x20\x7f-\xa0\u200b\u2060\ufeff]")
_BEHIND_LITERAL = re.compile(r"\](?!:[0-9]*\Z|\Z)")  # Python drops the text after the bracket
# Most requests share the part before the path, and the origin depends on nothing else, unless the
# URL contains control characters or ends with a blank: the whole URL is checked for these.
_BASE_CHARACTERS = 300  # no host is longer than 253; a longer base has userinfo, for example
_BASES = 1 << 12  # about 2 MB of origins
_HOST_AT = len("https://")
_AUTHORITY = re.compile(r"[\x00-\x20]*(?:[^/?#:]*:)?//([^/?#]*)")


@dataclass(frozen=True, slots=True)
class Origin:
    """A scheme, a host and a port: lower case, the host in its ASCII form, the port always set.

    ``http`` and ``https`` are different origins, and so are two ports. A trailing dot is kept,
    since it makes another name. An IP literal is a host of its own.
    """

    scheme: str
    host: str
    port: int

    @classmethod
    def of(cls, uri: str) -> Origin | None:
        """The origin of an absolute URI; None if robots.txt does not govern its scheme.

        Userinfo is ignored.

        Raises:
            InvalidUri: the scheme is governed, but there is no host, or no port in 1..65535.
        """
        is_odd = _ODD.search(uri) is not None
        scheme, colon, _ = (_ODD.sub("", uri) if is_odd else uri).partition(":")
        scheme = scheme.lower()
        if not colon or scheme not in DEFAULT_PORTS:
            return None
        if is_odd:  # clients drop such octets, each in its own way: the target is unclear
            raise InvalidUri(f"{uri!r} names no origin: it contains control characters or blanks")
        try:
            parts = urlsplit(uri)
            host, written_port = parts.hostname, parts.port
        except ValueError as error:
            raise InvalidUri(f"{uri!r} names no origin: {error}") from error
        if _UNCLEAR.search(parts.netloc) or _BEHIND_LITERAL.search(parts.netloc):
            raise InvalidUri(f"{uri!r} names no origin: clients read its authority differently")
        host = _ascii_host(host or "", uri)
        if not host or written_port == 0 or _NO_HOST.intersection(host):
            raise InvalidUri(f"{uri!r} names no origin: it needs a host, and a port of 1 or more")
        return cls(scheme, host, DEFAULT_PORTS[scheme] if written_port is None else written_port)

    @property
    def robots_txt_uri(self) -> str:
        """The URI of this origin's robots.txt (RFC 9309, 2.3)."""
        return f"{self}{ROBOTS_TXT_PATH}"

    @property
    def other_scheme(self) -> Origin | None:
        """The same host with http and https swapped; None for other schemes and ports."""
        other = {"http": "https", "https": "http"}.get(self.scheme)
        if other is None or self.port != DEFAULT_PORTS[self.scheme]:
            return None
        return Origin(other, self.host, DEFAULT_PORTS[other])

    def __str__(self) -> str:
        """``scheme://host``, with the port unless it is the scheme's default."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        if self.port == DEFAULT_PORTS.get(self.scheme):
            return f"{self.scheme}://{host}"
        return f"{self.scheme}://{host}:{self.port}"


def has_clear_authority(reference: str) -> bool:
    """Whether all clients find the same host in a URI reference, if it has one.

    With backslashes, blanks or control characters in the authority, they find different hosts.
    """
    authority = _AUTHORITY.match(reference)
    return authority is None or _UNCLEAR.search(authority[1]) is None


def _ascii_host(host: str, uri: str) -> str:
    """The host in lower case, internationalised labels in their ASCII form (IDNA 2003).

    HTTP clients in Python, including Scrapy, use IDNA 2003.
    """
    if host.isascii():
        return host.lower()
    try:
        return host.encode("idna").decode("ascii").lower()
    except UnicodeError as error:
        raise InvalidUri(f"{uri!r} names no origin: its host has no ASCII form") from error


def known_origin(url: str) -> Origin | None:
    """The origin of a usual URL; None for all others, which need `Origin.of`.

    It costs a tenth of `Origin.of` if the base is cached (`benchmarks/warm.py`).
    """
    base = url[: url.find("/", _HOST_AT) + 1]  # up to the path; empty without a path
    if not base or len(base) > _BASE_CHARACTERS or not url.isprintable() or url[-1] == " ":
        return None
    return origin_from(base)


@lru_cache(maxsize=_BASES)
def origin_from(base: str) -> Origin | None:
    """The origin of URLs with this base; None if that depends on the whole URL."""
    try:
        return Origin.of(base)
    except InvalidUri:
        return None


def origin_of(url: str) -> Origin | None:
    """The origin of a URL, like `Origin.of`.

    Raises:
        InvalidUri: the URL names no clear origin.
    """
    return known_origin(url) or Origin.of(url)


def origin_or_none(url: str) -> Origin | None:
    """The origin of a URL; None if robots.txt does not govern it, or it names no clear origin."""
    try:
        return origin_of(url)
    except InvalidUri:
        return None

"""Product tokens: who a user-agent line speaks of, and who we are (RFC 9309, 2.2.1).

``identifier = 1*(%x2D / %x41-5A / %x5F / %x61-7A)``: letters, ``-`` and ``_``.

A user-agent line names the longest run of these at its start: ``foobot/1.2`` and ``foobot*`` name
``foobot``. ``*``, alone or before white space, is everyone else. Tokens are equal or not, case
aside: a token that begins another does not name it.

Deviation: one real file in ten names crawlers such as ``MJ12bot`` or ``archive.org_bot``, whose
names are no product tokens. Whoever has such a name is also named by a line whose first word, up
to white space or ``/``, is that name as a whole.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from .errors import InvalidProductToken

EVERYONE = "*"
"""What stands on the user-agent line of the group for crawlers that no other group names."""

ProductTokens = str | Sequence[str]
"""One product token, or several in order of preference; none for the ``*`` group alone."""

_TOKEN = re.compile(rb"[A-Za-z_-]*")
_FIRST_WORD = re.compile(rb"[^\s/]*")
_PRODUCT_TOKEN = re.compile(r"[A-Za-z_-]+")
_NAME = re.compile(r"[^\s/(),;:*#\"<>@\x00-\x1f\x7f]+")

# The parts of a browser's User-Agent header, which name no crawler. Lower case.
_FURNITURE = frozenset(
    [
        "mozilla",
        "applewebkit",
        "webkit",
        "khtml",
        "gecko",
        "like",
        "chrome",
        "chromium",
        "crios",
        "headlesschrome",
        "safari",
        "version",
        "mobile",
        "edg",
        "edge",
        "edga",
        "edgios",
        "firefox",
        "fxios",
        "opera",
        "opr",
        "presto",
        "trident",
        "msie",
        "samsungbrowser",
        "ucbrowser",
        "yabrowser",
        "vivaldi",
        "android",
        "linux",
        "windows",
        "macintosh",
        "iphone",
        "ipad",
        "x11",
        "ubuntu",
        "compatible",
    ]
)
_COMMENT = re.compile(r"\(([^()]*(?:\([^()]*\)[^()]*)*)\)")
_COMPATIBLE = re.compile(r"compatible;\s*([^\s/;,()]+)", re.IGNORECASE)
_PRODUCT = re.compile(r"(?<![^\s])([^\s/;,()]+)/([^\s;,()]*)")
_WHITE_SPACE = (b" ", b"\t", b"\v", b"\f")
_HEADER_LIMIT = 4096  # characters of a User-Agent header that are looked at


def is_product_token(name: str) -> bool:
    """Whether a name is a product token as the RFC spells them."""
    return _PRODUCT_TOKEN.fullmatch(name) is not None


def as_product_tokens(product_tokens: ProductTokens) -> tuple[str, ...]:
    """The tokens in lower case, in order, without ``*``, which is everyone's last resort anyway.

    Raises:
        InvalidProductToken: one of them could never stand on a user-agent line as a name.
    """
    tokens = (product_tokens,) if isinstance(product_tokens, str) else tuple(product_tokens)
    for token in tokens:
        if token != EVERYONE and not _NAME.fullmatch(token):
            name = token_from_user_agent(token) or "ExampleBot"
            raise InvalidProductToken(
                f"{token!r} is no product token: give the crawler's name alone, in letters, '-' "
                f"and '_', such as {name!r}"
            )
    return tuple(dict.fromkeys(token.lower() for token in tokens if token != EVERYONE))


def token_from_user_agent(user_agent: str) -> str | None:
    """The crawler's name in a User-Agent header, or a name that stands alone; None if none does.

    A header names the crawler by the first product outside of comments (``Name/version``) that is
    no part of a browser's header, or by the product after ``compatible;`` in a comment, whichever
    comes first: later products are libraries. A URL's parts are never names.
    """
    header = user_agent.strip()[:_HEADER_LIMIT]
    if _NAME.fullmatch(header):
        return None if header.lower() in _FURNITURE else header
    products = _PRODUCT.finditer(_COMMENT.sub(_blank, header))
    found = [(m.start(), m[1]) for m in products if not _is_url(m[1], m[2])]
    for comment in _COMMENT.finditer(header):
        product = _COMPATIBLE.search(comment[1])
        if product:
            found.append((comment.start(), product[1]))
    for _, name in sorted(found):
        if name.lower() not in _FURNITURE and _NAME.fullmatch(name):
            return name
    words = _COMMENT.sub(_blank, header).split()
    if len(words) == 1 and words[0].lower() not in _FURNITURE and _NAME.fullmatch(words[0]):
        return words[0]
    return None


def _is_url(name: str, version: str) -> bool:
    """Whether ``name/version`` is rather a URL without its scheme: ``www.example.com/bot``."""
    return "." in name and not version[:1].isdigit()


def _blank(match: re.Match[str]) -> str:
    return " " * len(match[0])


class Names:
    """Which of a crawler's product tokens the user-agent lines of a group name.

    Attributes:
        tokens: the tokens in lower case, most preferred first.
        rank_of_everyone: what `ranks` gives for ``*``.
        openings: how the value of every line starts that names one of them, in lower case.
    """

    __slots__ = ("_tokens", "_words", "openings", "rank_of_everyone", "tokens")

    def __init__(self, tokens: tuple[str, ...]) -> None:
        """Take tokens in lower case, most preferred first."""
        self.tokens = tokens
        self._tokens: dict[bytes, int] = {}
        self._words: dict[str, int] = {}
        for rank, token in enumerate(tokens):
            if is_product_token(token):
                self._tokens[token.encode()] = rank
            else:
                self._words[token] = rank
        self.rank_of_everyone = len(tokens)
        # Octets know no lower case beyond ASCII: who has such a name, looks at every line.
        names = [token.encode() for token in tokens] if all(map(str.isascii, tokens)) else [b""]
        self.openings = (EVERYONE.encode(), *_WHITE_SPACE, *names)

    def ranks(self, value: bytes) -> Sequence[int]:
        """The places of the tokens that a user-agent line's value names."""
        if value[:1] == b"*":
            return (self.rank_of_everyone,) if value[:2].strip() == b"*" else ()
        found = []
        token = _TOKEN.match(value)
        if token and token[0].lower() in self._tokens:
            found.append(self._tokens[token[0].lower()])
        word = _FIRST_WORD.match(value) if self._words else None
        if word:
            name = word[0].decode("utf-8", "replace").lower()
            if name in self._words:
                found.append(self._words[name])
        return found


@lru_cache(maxsize=64)
def names_of(product_tokens: str | tuple[str, ...]) -> Names:
    """The names of a crawler, which are the same for every file.

    Raises:
        InvalidProductToken: as `as_product_tokens` does.
    """
    return Names(as_product_tokens(product_tokens))

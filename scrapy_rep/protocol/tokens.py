"""Product tokens: the crawlers that user-agent lines name, and our own names (RFC 9309, 2.2.1).

``identifier = 1*(%x2D / %x41-5A / %x5F / %x61-7A)``: letters, ``-`` and ``_``.

A user-agent line names the longest run of these characters at its start: ``foobot/1.2`` and
``foobot*`` name ``foobot``. ``*``, alone or before white space, names all other crawlers. Tokens
are compared as a whole and without regard to case: ``foo`` does not name ``foobot``.

Deviation: one real file in ten names crawlers such as ``MJ12bot`` or ``archive.org_bot``. These
names are not product tokens. A line also names such a crawler if its first word, up to white space
or ``/``, is the whole name.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from .errors import InvalidProductToken

EVERYONE = "*"
"""The user-agent value of the group for crawlers that no other group names."""

ProductTokens = str | Sequence[str]
"""One product token, or several in order of preference; an empty sequence for the ``*`` group."""

IDENTIFIER = "[A-Za-z_-]"
"""A regular expression for one character of a product token, an ``identifier`` in RFC 9309."""

_TOKEN = re.compile(f"{IDENTIFIER}+".encode())
_FIRST_WORD = re.compile(rb"[^\s/]*")
_PRODUCT_TOKEN = re.compile(f"{IDENTIFIER}+")
_NAME = re.compile(r"[^\s/(),;:*#\"<>@\x00-\x1f\x7f]+")
_URLS = ("/", "http://", "https://", "ftp://")
_BEFORE_VERSION = re.compile(r"(?<![\w.-])(?!mozilla)[\w.-]+(?=/)", re.IGNORECASE)


def token_of(name: str) -> str:
    """The product token at the start of a name; empty if there is no such token."""
    token = _PRODUCT_TOKEN.match(name)
    return token[0] if token else ""


def is_product_token(name: str) -> bool:
    """Whether a name is a product token in the RFC's spelling."""
    return _PRODUCT_TOKEN.fullmatch(name) is not None


def is_name(text: str) -> bool:
    """Whether a crawler could have this name, which need not be a product token."""
    return _NAME.fullmatch(text) is not None


def is_everyone(value: bytes) -> bool:
    """Whether the value of a user-agent line is ``*``, the group for all other crawlers."""
    return value[:2].strip() == b"*"


def as_product_tokens(product_tokens: ProductTokens) -> tuple[str, ...]:
    """The tokens in lower case, in order, without ``*``: its group is always the last resort.

    Raises:
        InvalidProductToken: a user-agent line can't name one of them.
    """
    tokens = (product_tokens,) if isinstance(product_tokens, str) else tuple(product_tokens)
    for token in tokens:
        if token != EVERYONE and not is_name(token):
            before_version = _BEFORE_VERSION.search(token)
            name = before_version[0] if before_version else "ExampleBot"
            raise InvalidProductToken(
                f"{token!r} is not a product token: give the crawler's name alone, in letters, '-' "
                f"and '_', such as {name!r}"
            )
    return tuple(dict.fromkeys(token.lower() for token in tokens if token != EVERYONE))


def refuse_url(product_tokens: ProductTokens) -> None:
    """Check that the arguments of a `verdict` are not swapped.

    Raises:
        TypeError: the product token is a URL.
    """
    if isinstance(product_tokens, str) and product_tokens.startswith(_URLS):
        raise TypeError(f"{product_tokens!r} is a URL: it comes first, then the product tokens")


class Names:
    """Finds the product tokens of a crawler in the user-agent lines of a group.

    Attributes:
        tokens: the tokens in lower case, most preferred first.
        rank_of_everyone: the rank of ``*`` in the result of `ranks`.
        openings: the possible starts, in lower case, of a user-agent value that names a token.
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
        # bytes.lower() changes only ASCII letters, so names beyond ASCII can't use this shortcut.
        names = [token.encode() for token in tokens] if all(map(str.isascii, tokens)) else [b""]
        self.openings = (EVERYONE.encode(), b" ", b"\t", b"\v", b"\f", *names)

    def ranks(self, value: bytes) -> Sequence[int]:
        """The ranks of the tokens that a user-agent value names."""
        if value[:1] == b"*":
            return (self.rank_of_everyone,) if is_everyone(value) else ()
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
    """The `Names` of a crawler; they are the same for every file, and cached.

    Raises:
        InvalidProductToken: as `as_product_tokens` does.
    """
    return Names(as_product_tokens(product_tokens))

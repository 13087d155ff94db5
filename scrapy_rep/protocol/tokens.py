"""Product tokens: who a user-agent line speaks of, and who we are (RFC 9309, 2.2.1).

``identifier = 1*(%x2D / %x41-5A / %x5F / %x61-7A)``: letters, ``-`` and ``_``.

A user-agent line names the longest run of these at its start: ``foobot/1.2`` and ``foobot*`` name
``foobot``. ``*``, alone or before white space, is everyone else. Tokens are equal or not, case
aside: a token that begins another does not name it.

Deviation: one real file in ten names crawlers such as ``MJ12bot`` or ``archive.org_bot``, whose
names are no product tokens. A line also names such a crawler if its first word, up to white space
or ``/``, is the whole name.
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

IDENTIFIER = "[A-Za-z_-]"
"""A character of a product token, as a regular expression: RFC 9309 calls tokens identifiers."""

_TOKEN = re.compile(f"{IDENTIFIER}+".encode())
_FIRST_WORD = re.compile(rb"[^\s/]*")
_PRODUCT_TOKEN = re.compile(f"{IDENTIFIER}+")
_NAME = re.compile(r"[^\s/(),;:*#\"<>@\x00-\x1f\x7f]+")
_URLS = ("/", "http://", "https://", "ftp://")
_BEFORE_VERSION = re.compile(r"(?<![\w.-])(?!mozilla)[\w.-]+(?=/)", re.IGNORECASE)


def token_of(name: str) -> str:
    """The product token that a name begins with; empty if none does."""
    token = _PRODUCT_TOKEN.match(name)
    return token[0] if token else ""


def is_product_token(name: str) -> bool:
    """Whether a name is a product token as the RFC spells them."""
    return _PRODUCT_TOKEN.fullmatch(name) is not None


def is_name(text: str) -> bool:
    """Whether a crawler could go by this name, be it a product token or not."""
    return _NAME.fullmatch(text) is not None


def is_everyone(value: bytes) -> bool:
    """Whether the value of a user-agent line is that of the group for everyone else."""
    return value[:2].strip() == b"*"


def names_somebody(value: bytes) -> bool:
    """Whether the value of a user-agent line names a product token, or everyone else."""
    return is_everyone(value) or _TOKEN.match(value) is not None


def as_product_tokens(product_tokens: ProductTokens) -> tuple[str, ...]:
    """The tokens in lower case, in order; without ``*``, whose group is the last resort anyway.

    Raises:
        InvalidProductToken: one of them could never stand on a user-agent line as a name.
    """
    tokens = (product_tokens,) if isinstance(product_tokens, str) else tuple(product_tokens)
    for token in tokens:
        if token != EVERYONE and not is_name(token):
            before_version = _BEFORE_VERSION.search(token)
            name = before_version[0] if before_version else "ExampleBot"
            raise InvalidProductToken(
                f"{token!r} is no product token: give the crawler's name alone, in letters, '-' "
                f"and '_', such as {name!r}"
            )
    return tuple(dict.fromkeys(token.lower() for token in tokens if token != EVERYONE))


def refuse_url(product_tokens: ProductTokens) -> None:
    """See that the arguments of a `verdict` are not swapped.

    Raises:
        TypeError: the tokens are a URL.
    """
    if isinstance(product_tokens, str) and product_tokens.startswith(_URLS):
        raise TypeError(f"{product_tokens!r} is a URL: it comes first, then the product tokens")


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
        # Lower case of octets is that of ASCII; names beyond ASCII cannot use this shortcut.
        names = [token.encode() for token in tokens] if all(map(str.isascii, tokens)) else [b""]
        self.openings = (EVERYONE.encode(), b" ", b"\t", b"\v", b"\f", *names)

    def ranks(self, value: bytes) -> Sequence[int]:
        """The places of the tokens that a user-agent line's value names."""
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
    """The names of a crawler, which are the same for every file.

    Raises:
        InvalidProductToken: as `as_product_tokens` does.
    """
    return Names(as_product_tokens(product_tokens))

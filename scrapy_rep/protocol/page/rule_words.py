"""The words of page rules: one table. A new word is one row.

Letter case does not count, and it is that of ASCII. Words that permit have no effect: nothing on a
page takes a restriction back. How values merge stands beside the words that have one; the most
restrictive wins, in whatever order they stand.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from string import ascii_lowercase, ascii_uppercase

from .dates import date_of

Value = bool | int | str
"""True of a word that stands alone; a number; a size; POSIX seconds of a date."""

UNAVAILABLE_AFTER = "unavailable_after"
NO_LIMIT = -1
"""What a number says that limits nothing."""

_SIZES = ("none", "standard", "large")
_NUMBER = re.compile(r"-1|[0-9]{1,18}")
_ASCII_LOWER = str.maketrans(ascii_uppercase, ascii_lowercase)


@dataclass(frozen=True, slots=True)
class Valued:
    """A rule with a value.

    Attributes:
        read: the value of a text; None if it cannot be read.
        rank: a smaller one is the more restrictive.
        implies: the words that such a value says besides.
    """

    read: Callable[[str], Value | None]
    rank: Callable[[Value], float]
    implies: Callable[[Value], tuple[str, ...]] = lambda _: ()


def lowered(text: str) -> str:
    """In lower case, by the letters of ASCII alone."""
    return text.lower() if text.isascii() else text.translate(_ASCII_LOWER)


def _number(text: str) -> Value | None:
    return int(text) if _NUMBER.fullmatch(text) else None


def _number_rank(value: Value) -> float:
    return float("inf") if value == NO_LIMIT else float(value)


def _size(text: str) -> Value | None:
    word = lowered(text)
    return word if word in _SIZES else None


def _size_rank(value: Value) -> float:
    return _SIZES.index(str(value))


VALUED = {
    "max-snippet": Valued(_number, _number_rank, lambda value: ("nosnippet",) * (value == 0)),
    "max-image-preview": Valued(_size, _size_rank),
    "max-video-preview": Valued(_number, _number_rank),
    UNAVAILABLE_AFTER: Valued(date_of, float),
}
"""The rules that have a value."""

SPELLINGS = {**{name: name for name in VALUED}, "unavailable-after": UNAVAILABLE_AFTER}
"""The rules that have a value, by each spelling of their name."""

FLAGS = (
    *("noindex", "nofollow", "nosnippet", "noarchive", "nocache", "noimageindex", "notranslate"),
    *("indexifembedded", "noai", "noimageai", "noml", "notrain", "disallowaitraining"),
)
"""The words that are rules themselves."""

_WITHOUT_EFFECT = (
    *("all", "index", "follow", "archive", "snippet", "imageindex", "translate", "cache"),
    *("noodp", "noydir", "noyaca", "nositelinkssearchbox", "noimageclick", "nopreview"),
    "nopagereadaloud",
)

WORDS: dict[str, tuple[str, ...]] = {
    **{word: (word,) for word in FLAGS},
    "none": ("noindex", "nofollow"),
    **dict.fromkeys(_WITHOUT_EFFECT, ()),
}
"""Every word that stands alone, and the rules that it says."""

REL_NOFOLLOW = "rel-nofollow"
"""What obeys the relations of single links."""

OBEYED = (*FLAGS, UNAVAILABLE_AFTER, REL_NOFOLLOW)
"""What a crawl can be told to obey."""

RULES = (*FLAGS, *VALUED)
"""The names of all rules that a page can have."""

"""The words of page rules in one table. A new word is one row.

Case is ignored, for ASCII letters only. Words that permit have no effect, since nothing on a page
cancels a restriction. Rules with a value come with the rank that decides how several merge: the
most restrictive one wins, in any order.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from string import ascii_lowercase, ascii_uppercase

from .dates import date_of

Value = bool | int | str
"""True for a word without a value; a number; a size; POSIX seconds of a date."""

UNAVAILABLE_AFTER = "unavailable_after"
NO_LIMIT = -1
"""A number that means no limit."""

_SIZES = ("none", "standard", "large")
_NUMBER = re.compile(r"-1|[0-9]{1,18}")
_ASCII_LOWER = str.maketrans(ascii_uppercase, ascii_lowercase)


@dataclass(frozen=True, slots=True)
class Valued:
    """A rule with a value.

    Attributes:
        read: reads a value from text; returns None if it is unreadable.
        rank: the rank of a value; smaller ones are more restrictive.
        implies: the words that a value also implies.
    """

    read: Callable[[str], Value | None]
    rank: Callable[[Value], float]
    implies: Callable[[Value], tuple[str, ...]] = lambda _: ()


def lowered(text: str) -> str:
    """The text in lower case; letters outside ASCII keep their case."""
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
"""The rules with a value, by each spelling of their name."""

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
"""Every word without a value, and its rules."""

REL_NOFOLLOW = "rel-nofollow"
"""The name for obeying the relations of single links."""

OBEYED = (*FLAGS, UNAVAILABLE_AFTER, REL_NOFOLLOW)
"""The names of everything that a crawl can obey."""

RULES = (*FLAGS, *VALUED)
"""The names of all rules that a page can have."""

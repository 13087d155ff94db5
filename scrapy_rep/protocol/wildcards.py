"""Match patterns with wildcards against paths, both in normal form.

A pattern consists of literal parts with ``*`` between them. The first part, its head, begins the
path; the others follow in order. Greedy search needs no back-tracking: if the parts fit at all,
they fit at their leftmost places. For ``/*ab*b$`` and ``/abab$``, "ab" is found at 1, "b$" at 4.

**Twofold patterns.** In a path ``%2F`` and ``%3F`` differ from the characters, because ``/`` and
``?`` are delimiters there; in a query they are equal. The part of a pattern before its first ``?``
belongs to the path. But a ``*`` may match the rest of the path and the start of the query. So in a
pattern without ``?``, the text after a ``*`` may be in either: an escape there matches the escape
in both, and also the character in the query. ``/*u=%2F`` matches ``/a?u=%2F``, ``/a?u=/`` and
``/a/u=%2F``, but not ``/a/u=/``. Hardly a real file contains such a pattern.

Cost of a match: one left-to-right `str.find` for each part, together O(length of the path). If
parts nearly match at every place, each place costs the length of the part. A caller that tries
many patterns on one path passes a `Work`, which limits the total.
"""

from __future__ import annotations

import re

_ESCAPES = re.compile("%[23]F")
_FIND_STEPS = 150  # the fixed cost of finding a part


class OutOfWork(Exception):  # noqa: N818 - never leaves the core
    """The work limit is exceeded."""


class Work:
    """The work that may still be done for one path, in steps of about one comparison of octets.

    It is counted, not timed, so the same path gives the same verdict on every machine.
    """

    __slots__ = ("left",)

    def __init__(self, steps: int) -> None:
        self.left = steps

    def take(self, steps: int) -> None:
        """Use some steps.

        Raises:
            OutOfWork: fewer steps are left.
        """
        self.left -= steps
        if self.left < 0:
            raise OutOfWork


def matches(pattern: str, path: str, work: Work | None = None) -> bool:
    """Whether a pattern that is not twofold matches a path."""
    head, star, tail = pattern.partition("*")
    if not path.startswith(head):
        return False
    at = len(head)
    for part in tail.split("*") if star else ():
        found = path.find(part, at)
        if work is not None:
            looked_at = (found if found >= 0 else len(path)) - at
            work.take(_FIND_STEPS + looked_at * len(part) // 2)
        if found < 0:
            return False
        at = found + len(part)
    return True


def longest_part(pattern: str) -> str:
    """The longest part after the first ``*``: the least likely to be in a path."""
    tail = pattern.partition("*")[2]
    return max(tail.split("*"), key=len) if "*" in tail else tail


def is_twofold(pattern: str) -> bool:
    """Whether a pattern may match in two ways."""
    if "%" not in pattern or "?" in pattern:
        return False
    return _ESCAPES.search(pattern.partition("*")[2]) is not None


def without_escapes(pattern: str) -> str:
    """A twofold pattern with wildcards for the escapes that paths and queries write differently."""
    return _ESCAPES.sub("*", pattern)


def fits_either(pattern: str, path: str, work: Work | None = None) -> bool:
    """Whether a twofold pattern matches a path.

    The parts are placed in the path at their leftmost places, as many as fit; the rest must be in
    the query. If this fails, no other division of the parts fits either.
    """
    text, _, query = path.partition("?")
    first, *parts = pattern.split("*")
    if not text.startswith(first):
        return False
    at = len(first)
    for index, part in enumerate(parts):
        found = text.find(part, at)
        if work is not None:
            work.take(_FIND_STEPS + ((found if found >= 0 else len(text)) - at) * len(part) // 2)
        if found < 0:
            rest = "*".join(parts[index:])
            return matches(f"*{_in_query(rest)}", query, work)
        at = found + len(part)
    return True


def _in_query(part: str) -> str:
    return part.replace("%2F", "/").replace("%3F", "?")

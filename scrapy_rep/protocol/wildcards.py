"""Patterns with wildcards against paths, both in normal form.

A pattern is literal parts with ``*`` between them: the first, its head, begins the path, and the
others follow in their order. Greedy search needs no back-tracking: if the parts fit at all, they
fit at their leftmost places. For ``/*ab*b$`` and ``/abab$``, "ab" is taken at 1, "b$" found at 4.

**Twofold patterns.** In the path ``%2F`` and ``%3F`` differ from the characters, for ``/`` and
``?`` divide it; in the query they are equal. In a pattern the part before its first ``?`` is the
path. But a ``*`` may stand for all up to the query and beyond, and what follows it in a pattern
without ``?`` may be meant for either: it matches the escape in both, and the character in the
query. ``/*u=%2F`` matches ``/a?u=%2F``, ``/a?u=/`` and ``/a/u=%2F``, and not ``/a/u=/``. Hardly a
real file has one.

Cost of a match: one left-to-right `str.find` for each part, O(length of the path) together, or,
where parts nearly match all along it, that times the length of a part. A caller that tries many
patterns on one path passes a `Work`, which bounds them all.
"""

from __future__ import annotations

import re

_ESCAPES = re.compile("%[23]F")
_FIND_STEPS = 150  # what finding a part takes besides


class OutOfWork(Exception):  # noqa: N818 - never leaves the core
    """To go on would take too long."""


class Work:
    """What may still be done for one path, in steps: pairs of octets compared, roughly.

    Counted, not timed: the same path gives the same verdict on every machine.
    """

    __slots__ = ("left",)

    def __init__(self, steps: int) -> None:
        self.left = steps

    def take(self, steps: int) -> None:
        """Do so many.

        Raises:
            OutOfWork: there are not so many left.
        """
        self.left -= steps
        if self.left < 0:
            raise OutOfWork


def matches(pattern: str, path: str, work: Work | None = None) -> bool:
    """Whether a pattern matches a path, twofold ones apart."""
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
    """The longest part behind the first ``*``: the one that is least likely to be there."""
    tail = pattern.partition("*")[2]
    return max(tail.split("*"), key=len) if "*" in tail else tail


def is_twofold(pattern: str) -> bool:
    """Whether a pattern may match in two ways."""
    if "%" not in pattern or "?" in pattern:
        return False
    return _ESCAPES.search(pattern.partition("*")[2]) is not None


def without_escapes(pattern: str) -> str:
    """A twofold pattern with a wildcard for what the path and the query write differently."""
    return _ESCAPES.sub("*", pattern)


def fits_either(pattern: str, path: str, work: Work | None = None) -> bool:
    """Whether a twofold pattern matches a path.

    As many of its parts as can stand in the path stand there, at their leftmost places; the rest
    has to stand in the query. More in the query would not fit if these do not.
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

"""Which rule decides: the most specific match, in time that hostile rules can't blow up.

A rule matches from the first octet of the path; ``*`` stands for any octets and ``$`` for the end
(RFC 9309, 2.2.3). Of the rules that match, the one with the most octets decides, allow before
disallow where they are equally long (2.2.2), the first line where they are the same.

Every rule starts with a literal prefix, up to its first ``*``, its head. A rule without ``*`` is
nothing else. The literal rules stand sorted: the longest that begins a path is either the last
that sorts before the path, or a stem, one that begins the rule after it.

Cost of a verdict: a binary search; at most one comparison per stem; and per wildcard rule behind
a head of the path, best first until none can win, one left-to-right `str.find` for each of its
parts: O(length of the path) for each rule. Greedy search needs no back-tracking, for if the parts
fit at all, they fit at their leftmost places. Building sorts: O(n log n) in the rules. Large sets
are kept in another form, with the same answers: see `packed`.

Paths and patterns are ASCII, as `str`: searching one is several times as fast as in `bytes`.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from itertools import compress
from typing import Any, Protocol


class Rules(Protocol):
    """The rules of one merged group, ready to decide, in either form."""

    def match(self, path: str) -> Any:
        """What decides for a path in normal form, as some key; None if no rule matches."""

    def decider(self, key: Any) -> tuple[int, bool, int]:
        """The octets of the rule behind a key, whether it allows, and its place.

        The place is how many rules of its kind, allow or disallow, stand before it.
        """


Wild = tuple[int, str, int, str, str]
"""A wildcard rule: its rank (octets, then allow); what follows its first ``*`` up to the next;
the octets before; what follows that next; its pattern."""


class Prefixes:
    """Strings, to find those that begin a path: one look for each of their lengths.

    Attributes:
        all: the strings, to ask whether any of them does.
    """

    __slots__ = ("_lengths", "_strings", "all")

    def __init__(self, strings: Iterable[str]) -> None:
        self._strings = {*strings}
        self._lengths = sorted({*map(len, self._strings)}, reverse=True)
        self.all = tuple(self._strings)

    def of(self, path: str) -> Iterator[str]:
        """Those that begin a path, longest first."""
        for octets in self._lengths:
            if path[:octets] in self._strings:
                yield path[:octets]


_NO_PREFIXES = Prefixes(())


class FewRules:
    """Up to some hundred rules: strings in a list, and what hangs on them in dictionaries."""

    __slots__ = (
        "_allow",
        "_disallow",
        "_empty",
        "_everywhere",
        "_heads",
        "_literals",
        "_stems",
        "_wild",
    )

    def __init__(self, disallow: list[str], allow: dict[str, int], *, has_wild: bool) -> None:
        """Take normal patterns, those of allow rules with their places."""
        self._disallow = disallow
        self._allow = allow
        literals = [*disallow, *allow]
        # Most wildcard rules start with "*" or "/*", and so may match any path.
        self._everywhere: list[Wild] = []
        self._wild: dict[str, list[Wild]] = {}
        if has_wild:
            self._take_wild()
            literals = [pattern for pattern in literals if "*" not in pattern]
        literals.sort()
        empty = bisect_right(literals, "")
        self._empty = "" if empty else None
        del literals[:empty]
        self._literals = literals
        stems = [*compress(literals, map(str.startswith, literals[1:], literals))]
        self._stems = Prefixes(stems) if stems else _NO_PREFIXES
        self._heads = Prefixes(self._wild) if self._wild else _NO_PREFIXES

    def _take_wild(self) -> None:
        """Put the patterns with wildcards by their heads, in the order in which they win."""
        allow = self._allow
        found = [
            (len(pattern) << 1, -place, pattern)
            for place, pattern in enumerate(self._disallow)
            if "*" in pattern and pattern not in allow
        ]
        found += [
            (len(pattern) << 1 | 1, -place, pattern)
            for pattern, place in allow.items()
            if "*" in pattern
        ]
        found.sort(reverse=True)
        for rank, _, pattern in found:
            head, _, tail = pattern.partition("*")
            part, _, more = tail.partition("*")
            wild = rank, part, len(head), more, pattern
            if head in ("", "/"):
                self._everywhere.append(wild)
            else:
                self._wild.setdefault(head, []).append(wild)

    def match(self, path: str) -> str | None:
        """The normal pattern that decides for a path in normal form."""
        literals = self._literals
        at = bisect_right(literals, path) - 1
        if at >= 0 and path.startswith(literals[at]):
            found: str | None = literals[at]
        elif path.startswith(self._stems.all):
            found = next(self._stems.of(path))
        else:
            found = self._empty
        if self._everywhere:
            found = self._match_wild(path, found, self._everywhere)
        if path.startswith(self._heads.all):
            for head in self._heads.of(path):
                found = self._match_wild(path, found, self._wild[head])
        return found

    def _match_wild(self, path: str, found: str | None, wild: list[Wild]) -> str | None:
        best = -1 if found is None else len(found) << 1 | (found in self._allow)
        for rank, part, at, more, pattern in wild:
            if rank < best:
                break
            # Mostly the part is not there, and "in" is faster than "find".
            if part in path and fits(path, part, at, more):
                is_first = rank > best or found is None or self._stands_before(pattern, found)
                return pattern if is_first else found
        return found

    def _stands_before(self, pattern: str, other: str) -> bool:
        return self.decider(pattern)[2] < self.decider(other)[2]

    def decider(self, key: str) -> tuple[int, bool, int]:
        """Octets, whether it allows, and place of the rule behind a pattern."""
        place = self._allow.get(key)
        if place is None:
            return len(key), False, self._disallow.index(key)
        return len(key), True, place


def fits(path: str, part: str, at: int, more: str) -> bool:
    """Whether what follows the first ``*`` of a pattern is found in a path from some octet on.

    That is a part without ``*``, and whatever follows the next one.
    """
    at = path.find(part, at)
    if not more or at < 0:
        return at >= 0
    at += len(part)
    for part in more.split("*"):  # noqa: PLR1704 - one after the other
        at = path.find(part, at)
        if at < 0:
            return False
        at += len(part)
    return True

"""Which rule decides: the most specific match, in time that hostile rules can't blow up.

A rule matches from the first octet of the path; ``*`` stands for any octets and ``$`` for the end
(RFC 9309, 2.2.3). Of the rules that match, the one with the most octets decides, allow before
disallow where they are equally long (2.2.2), the first line where they are the same.

Every rule starts with a literal prefix, up to its first ``*``, its head. A rule without ``*`` is
nothing else. The literal rules stand sorted: the longest that begins a path is either the last
that sorts before the path, or a stem, one that begins the rule after it.

Cost of a verdict: a binary search; at most one comparison per stem; and per wildcard rule behind
a head of the path, best first until none can win, one left-to-right `str.find` for each of its
parts: O(length of the path) for each rule, or, where parts nearly match all along it, that times
the length of a part. Greedy search needs no back-tracking, for if the parts
fit at all, they fit at their leftmost places. Where many wildcard rules may match any path, they
lie by the first octets of their longest part, a gram, and only those are tried whose gram the path
holds: of 40,000 rules ``/*word`` a handful. Building sorts: O(n log n) in the rules. Large sets are
kept in another form, with the same answers: see `packed`.

Patterns are ASCII, and paths are where a rule could match what is not. Both are `str`: searching
one is several times as fast as in `bytes`.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator
from itertools import compress
from typing import Any, Protocol


class Rules(Protocol):
    """The rules of one merged group, ready to decide, in either form."""

    def match(self, path: str) -> Any:
        """What decides for a path, as some key; None if no rule matches.

        The path is in normal form, or as written where no rule could match what differs; `END`
        stands behind it and nowhere else.
        """

    def decider(self, key: Any) -> tuple[int, bool]:
        """The octets of the rule behind a key, and whether it allows."""

    def place(self, key: Any) -> int:
        """How many rules of its kind, allow or disallow, stand before the rule behind a key."""


Wild = tuple[int, str, str]
"""A wildcard rule: its rank (octets, then allow); how the longest part behind its head begins; its
pattern."""

ANYWHERE = ("", "/")
"""The heads of most wildcard rules: these may match any path."""

GRAM_OCTETS = 3

_PART_OCTETS = 32  # of a longest part are kept: seldom are more in a path that the rest is not in

_BY_GRAM_FROM = 32  # rules; to try that many takes as long as to look for their grams
_CUT_UP_FROM = 100  # grams; to look for that many takes as long as to cut up a path of any length


class Prefixes:
    """Strings, to find those that begin a path: one look for each of their lengths.

    Attributes:
        all: the strings, to ask whether any of them does.
    """

    __slots__ = ("_lengths", "_strings", "all")

    def __init__(self, strings: Collection[str]) -> None:
        """Take a set of strings, or a dictionary by them; it is kept as it is."""
        self._strings = strings
        self._lengths = sorted({*map(len, strings)}, reverse=True)
        self.all = tuple(strings)

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
        "_anywhere",
        "_by_gram",
        "_disallow",
        "_empty",
        "_has_wild",
        "_heads",
        "_literals",
        "_stems",
        "_wild",
    )

    def __init__(self, disallow: list[str], allow: dict[str, int], *, has_wild: bool) -> None:
        """Take normal patterns, those of allow rules with their places."""
        self._disallow = disallow
        self._allow = allow
        self._has_wild = has_wild
        literals = [*allow, *disallow]
        self._anywhere: list[Wild] = []
        self._by_gram: dict[str, list[Wild]] = {}
        self._wild: dict[str, list[Wild]] = {}
        if has_wild:
            self._take_wild([pattern for pattern in literals if "*" in pattern])
            literals = [pattern for pattern in literals if "*" not in pattern]
        literals.sort()
        empty = bisect_right(literals, "")
        self._empty = "" if empty else None
        del literals[:empty]
        self._literals = literals
        stems = {*compress(literals, map(str.startswith, literals[1:], literals))}
        self._stems = Prefixes(stems) if stems else _NO_PREFIXES
        self._heads = Prefixes(self._wild) if self._wild else _NO_PREFIXES

    def _take_wild(self, patterns: list[str]) -> None:
        """Put patterns with wildcards by their heads, in the order in which they win.

        They come in the order in which equally long ones win: allow first, then as in the file.
        """
        for pattern in sorted(dict.fromkeys(patterns), key=len, reverse=True):
            head, _, tail = pattern.partition("*")
            rank = len(pattern) << 1 | (pattern in self._allow)
            wild = rank, longest_part(tail)[:_PART_OCTETS], pattern
            if head in ANYWHERE:
                self._anywhere.append(wild)
            else:
                self._wild.setdefault(head, []).append(wild)
        if len(self._anywhere) >= _BY_GRAM_FROM:
            for wild in self._anywhere:
                gram = wild[1][:GRAM_OCTETS]
                if len(gram) == GRAM_OCTETS:
                    self._by_gram.setdefault(gram, []).append(wild)
            self._anywhere = [wild for wild in self._anywhere if len(wild[1]) < GRAM_OCTETS]

    def match(self, path: str) -> str | None:
        """The normal pattern that decides for a path."""
        literals = self._literals
        at = bisect_right(literals, path) - 1
        if at >= 0 and path.startswith(literals[at]):
            found: str | None = literals[at]
        elif path.startswith(self._stems.all):
            found = next(self._stems.of(path))
        else:
            found = self._empty
        if not self._has_wild:
            return found
        if self._anywhere:
            found = self._match_wild(path, found, self._anywhere)
        if self._by_gram:
            for gram in self._grams_in(path):
                found = self._match_wild(path, found, self._by_gram[gram])
        if path.startswith(self._heads.all):
            for head in self._heads.of(path):
                found = self._match_wild(path, found, self._wild[head])
        return found

    def _grams_in(self, path: str) -> Iterable[str]:
        if len(self._by_gram) >= _CUT_UP_FROM:
            return self._by_gram.keys() & grams(path)
        return [gram for gram in self._by_gram if gram in path]

    def _match_wild(self, path: str, found: str | None, wild: list[Wild]) -> str | None:
        best = -1 if found is None else len(found) << 1 | (found in self._allow)
        for rank, part, pattern in wild:
            if rank < best:
                break
            # Mostly the longest part is not there, and "in" is faster than "find".
            if part in path and _fits(path, pattern):
                is_first = rank > best or found is None or self.place(pattern) < self.place(found)
                return pattern if is_first else found
        return found

    def decider(self, key: str) -> tuple[int, bool]:
        """Octets of the rule behind a pattern, and whether it allows."""
        return len(key), key in self._allow

    def place(self, key: str) -> int:
        """How many rules of its kind stand before the rule behind a pattern."""
        place = self._allow.get(key)
        return self._disallow.index(key) if place is None else place


def _fits(path: str, pattern: str) -> bool:
    head, _, tail = pattern.partition("*")
    return fits(path, tail, len(head))


def fits(path: str, tail: str, at: int) -> bool:
    """Whether what follows the first ``*`` of a pattern is found in a path from some octet on."""
    for part in tail.split("*"):
        at = path.find(part, at)
        if at < 0:
            return False
        at += len(part)
    return True


def longest_part(tail: str) -> str:
    """The longest of the parts between wildcards: the one that is least likely to be there."""
    return max(tail.split("*"), key=len) if "*" in tail else tail


def grams(path: str) -> set[str]:
    """All that stands somewhere in a path and has `GRAM_OCTETS`."""
    return {path[at : at + GRAM_OCTETS] for at in range(len(path) - GRAM_OCTETS + 1)}

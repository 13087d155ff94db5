"""Which rule decides: the most specific match, in time that hostile rules can't blow up.

A rule matches from the first octet of the path; ``*`` stands for any octets and ``$`` for the end
(RFC 9309, 2.2.3). Of the rules that match, the one with the most octets decides, allow before
disallow where they are equally long (2.2.2), the first line where they are the same.

Every rule starts with a literal prefix, up to its first ``*``, its head. A rule without ``*`` is
nothing else. The literal rules stand sorted: the longest that begins a path is either the last
that sorts before the path, or a stem, one that begins the rule after it. Five rules::

    Disallow: /a            literal, and a stem: it begins the next one
    Allow: /a/b             literal
    Disallow: /c$           literal: "$" is an octet that every path ends with, and no other holds
    Disallow: /a/*.gif$     head "/a/", behind which ".gif$" has to be found
    Allow: /*?print         head "/", which every path begins with

For the path ``/a/x.gif$`` the binary search in ``/a``, ``/a/b``, ``/c$`` ends behind ``/a/b``,
which does not begin it; the stem ``/a`` does: 2 octets, disallow. Of the wildcard rules for any
path, ``?print`` is not in it. Of those behind heads, ``.gif$`` is found behind ``/a/``: 9 octets,
more than 2. So the fourth rule decides. A literal rule of 10 octets or more that begins the path
would have ended the search before, for no wildcard rule could outrank it.

Cost of a verdict: a binary search; at most one look for each length of stems; and per wildcard
rule behind a head of the path, best first until none can win, what `wildcards` says: together at
most the octets of the path times those of the wildcard rules. Where that is too much, and for large
sets, the rules are kept in another form, with the same answers: see `packed`. Building sorts.

Patterns are ASCII. So is a path, unless no rule could match an octet of it that is not: then it is
matched as written. Both are `str`, in which Python searches faster than in `bytes`.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterator
from itertools import compress
from typing import Any, Protocol

from .packed import PackedRules
from .wildcards import longest_part, matches


class RuleSet(Protocol):
    """The rules of one merged group, ready to decide, in any form."""

    def match(self, path: str, asked: str, /) -> Any:
        """What decides for a path, as some key; None if no rule matches, or `UNDECIDED`.

        The path is in normal form, or as written where no rule could match what differs; `END`
        stands behind it and nowhere else. `asked` is the same as it was requested.
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

_PART_OCTETS = 32  # of a longest part are kept: few paths hold these without the rest

# Octets of a path times those of all wildcard rules: at most so many are compared.
_SAFE_STEPS = 6_000_000


class Prefixes:
    """Strings, to find those that begin a path: one look for each of their lengths.

    Attributes:
        all: the strings, for one `startswith` over all.
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

    def __init__(self, disallow: list[str], allow: dict[str, int], *, has_wild: bool) -> None:
        """Take normal patterns, those of allow rules with their places."""
        self._disallow = disallow
        self._allow = allow
        self._has_wild = has_wild
        self._packed: PackedRules | None = None
        literals = [*allow, *disallow]
        self._anywhere: list[Wild] = []
        self._wild: dict[str, list[Wild]] = {}
        if has_wild:
            self._take_wild([pattern for pattern in literals if "*" in pattern])
            literals = [pattern for pattern in literals if "*" not in pattern]
        literals.sort()
        self._literals = literals
        stems = {*compress(literals, map(str.startswith, literals[1:], literals))}
        self._stems = Prefixes(stems) if stems else _NO_PREFIXES
        self._heads = Prefixes(self._wild) if self._wild else _NO_PREFIXES

    def _take_wild(self, patterns: list[str]) -> None:
        """Put patterns with wildcards by their heads, in the order in which they win.

        They come in the order in which equally long ones win: allow first, then as in the file.
        """
        self._safe_octets = _SAFE_STEPS // (1 + sum(map(len, patterns)))
        for pattern in sorted(dict.fromkeys(patterns), key=len, reverse=True):
            head = pattern.partition("*")[0]
            rank = len(pattern) << 1 | (pattern in self._allow)
            wild = rank, longest_part(pattern)[:_PART_OCTETS], pattern
            if head in ANYWHERE:
                self._anywhere.append(wild)
            else:
                self._wild.setdefault(head, []).append(wild)

    def match(self, path: str, _: str = "", /) -> str | int | None:
        """The normal pattern that decides for a path; what `PackedRules` gives for a long one."""
        literals = self._literals
        at = bisect_right(literals, path) - 1
        found: str | None = None
        if at >= 0 and path.startswith(literals[at]):
            found = literals[at]
        elif path.startswith(self._stems.all):
            found = next(self._stems.of(path))
        if not self._has_wild:
            return found
        if len(path) > self._safe_octets:
            return self._for_long_paths().match(path)
        if self._anywhere:
            found = self._match_wild(path, found, self._anywhere)
        if path.startswith(self._heads.all):
            for head in self._heads.of(path):
                found = self._match_wild(path, found, self._wild[head])
        return found

    def _match_wild(self, path: str, found: str | None, wild: list[Wild]) -> str | None:
        best = -1 if found is None else len(found) << 1 | (found in self._allow)
        for rank, part, pattern in wild:
            if rank < best:
                break
            # Mostly the longest part is not there, and "in" is faster than "find".
            if part in path and matches(pattern, path):
                is_first = rank > best or found is None or self.place(pattern) < self.place(found)
                return pattern if is_first else found
        return found

    def _for_long_paths(self) -> PackedRules:
        """The same rules in the form in which the time that a verdict takes is bounded."""
        if self._packed is None:
            self._packed = PackedRules(self._disallow, self._allow, has_wild=True)
        return self._packed

    def decider(self, key: str | int) -> tuple[int, bool]:
        """Octets of the rule behind a key, and whether it allows."""
        if isinstance(key, int):
            return self._for_long_paths().decider(key)
        return len(key), key in self._allow

    def place(self, key: str | int) -> int:
        """How many rules of its kind stand before the rule behind a key."""
        if isinstance(key, int):
            return self._for_long_paths().place(key)
        place = self._allow.get(key)
        return self._disallow.index(key) if place is None else place

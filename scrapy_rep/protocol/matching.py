"""Find the rule that decides: the most specific match, in bounded time even for hostile rules.

A rule matches from the first octet of the path; ``*`` matches any octets and ``$`` the end
(RFC 9309, 2.2.3). The matching rule with the most octets decides. If rules are equally long, allow
wins (2.2.2). If they are also of the same kind, the first line wins.

Every rule starts with a literal prefix up to its first ``*``, its head. A literal rule has no
``*``. The literal rules are sorted. The longest literal rule that begins a path is either the last
rule that sorts before the path, or a stem: a rule that is a prefix of the rule after it. Example::

    Disallow: /a            literal, and a stem: the next rule begins with it
    Allow: /a/b             literal
    Disallow: /c$           literal: "$" is an octet at the end of every path, and nowhere else
    Disallow: /a/*.gif$     head "/a/", after which ".gif$" must be found
    Allow: /*?print         head "/", which begins every path

For the path ``/a/x.gif$`` the binary search in ``/a``, ``/a/b``, ``/c$`` ends after ``/a/b``. This
rule does not begin the path, but the stem ``/a`` does: 2 octets, disallow. Next come the wildcard
rules for any path: ``?print`` is not in the path. Then come the wildcard rules after heads:
``.gif$`` is found after ``/a/``: 9 octets, more than 2. So the fourth rule decides. A literal rule
of 10 octets or more that begins the path would have ended the search, since no wildcard rule here
could outrank it.

Cost of a verdict: a binary search; at most one look-up for each length of stems; and the cost in
`wildcards` for each wildcard rule with a head that begins the path, best first, until none can win.
Together this is at most the octets of the path times those of the wildcard rules. Where that is too
much, and for large sets, the rules have another form with the same answers: see `packed`. Building
sorts the rules.

Patterns are ASCII. A path is ASCII too, unless no rule could match its other octets: then it is
matched as written. Both are `str`, which Python searches faster than `bytes`.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterator
from itertools import compress
from typing import Any, Protocol

from .packed import PackedRules
from .wildcards import longest_part, matches


class RuleSet(Protocol):
    """The rules of one merged group, ready to decide; `FewRules`, `PackedRules`, `BothReadings`."""

    def match(self, path: str, asked: str, /) -> Any:
        """A key of the rule that decides for a path; None if no rule matches, or `UNDECIDED`.

        The path is in normal form, or as written if no rule could match the difference, and ends
        with `END`. `asked` is the same path as it was requested.
        """

    def decider(self, key: Any) -> tuple[int, bool]:
        """The octets of a key's rule, and whether it allows."""

    def place(self, key: Any) -> int:
        """The number of rules of the same kind, allow or disallow, before a key's rule."""


Wild = tuple[int, str, str]
"""A wildcard rule: its rank (octets, then allow); the start of its longest part after the head;
its pattern."""

ANYWHERE = ("", "/")
"""The heads of most wildcard rules; such a rule may match any path."""

_PART_OCTETS = 32  # kept of a longest part: few paths contain these without the rest

# Limit of the octets of a path times those of all wildcard rules.
_SAFE_STEPS = 6_000_000


class Prefixes:
    """Strings; finds the strings that begin a path, with one look-up for each length.

    Attributes:
        all: the strings, for one `startswith` with all of them.
    """

    __slots__ = ("_lengths", "_strings", "all")

    def __init__(self, strings: Collection[str]) -> None:
        """Take a set of strings, or a dictionary with these keys; it is not copied."""
        self._strings = strings
        self._lengths = sorted({*map(len, strings)}, reverse=True)
        self.all = tuple(strings)

    def of(self, path: str) -> Iterator[str]:
        """The strings that begin a path, longest first."""
        for octets in self._lengths:
            if path[:octets] in self._strings:
                yield path[:octets]


_NO_PREFIXES = Prefixes(())


class FewRules:
    """Up to some hundred rules, in lists and dictionaries of strings."""

    def __init__(self, disallow: list[str], allow: dict[str, int], *, has_wild: bool) -> None:
        """Take normal patterns; those of allow rules with their places."""
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
        """Sort wildcard patterns by head, and for each head in the order in which they win.

        The caller passes equally long ones in that order: allow first, then as in the file.
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
        """The normal pattern that decides for a path; for a long path a key of `PackedRules`."""
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
            # Most paths lack the longest part, and "in" is faster than "find".
            if part in path and matches(pattern, path):
                is_first = rank > best or found is None or self.place(pattern) < self.place(found)
                return pattern if is_first else found
        return found

    def _for_long_paths(self) -> PackedRules:
        """The same rules in the form that limits the time of a verdict."""
        if self._packed is None:
            self._packed = PackedRules(self._disallow, self._allow, has_wild=True)
        return self._packed

    def decider(self, key: str | int) -> tuple[int, bool]:
        """The octets of a key's rule, and whether it allows."""
        if isinstance(key, int):
            return self._for_long_paths().decider(key)
        return len(key), key in self._allow

    def place(self, key: str | int) -> int:
        """The number of rules of the same kind before a key's rule."""
        if isinstance(key, int):
            return self._for_long_paths().place(key)
        place = self._allow.get(key)
        return self._disallow.index(key) if place is None else place

"""Find the most specific rule that matches a path; the time has a limit, even for hostile rules.

A rule matches from the first octet of the path. In a rule, ``*`` matches any octets, and ``$``
matches the end of the path (RFC 9309, 2.2.3). The matching rule with the most octets decides. If
rules are equally long, allow wins (2.2.2). If they are also of the same kind, the first line wins.

The head of a rule is the text before its first ``*``. A literal rule has no ``*``. The literal
rules are sorted. A stem is a literal rule with which the next rule begins. To find the longest
literal rule that begins a path, take the last rule that sorts before the path. If this rule does
not begin the path, then only a stem can. Example::

    Disallow: /a            literal, and a stem: the next rule begins with it
    Allow: /a/b             literal
    Disallow: /c$           literal: "$" is an octet at the end of every path, and nowhere else
    Disallow: /a/*.gif$     head "/a/", after which ".gif$" must be found
    Allow: /*?print         head "/", which begins every path

For the path ``/a/x.gif$`` the binary search in ``/a``, ``/a/b``, ``/c$`` ends after ``/a/b``. The
path does not begin with ``/a/b``, but it begins with the stem ``/a``, a disallow rule of 2 octets.
The next step looks at the wildcard rules for any path: ``?print`` is not in the path. The last step
looks at the wildcard rules whose head begins the path: ``.gif$`` comes after ``/a/``. This rule has
9 octets, more than 2. So the fourth rule decides. If a literal rule of 10 octets or more began the
path, the search would end with it, because no wildcard rule here is longer.

A verdict costs a binary search, and at most one look-up for each length of stems. It also costs a
comparison (see `wildcards`) with each wildcard rule whose head begins the path. The best of these
rules come first, and the search ends when no other rule can win. The total is at most the octets of
the path times the octets of the wildcard rules. If that is too much, or the set is large, the rules
have another form with the same answers: see `packed`. Building sorts the rules.

Patterns are ASCII. A path is also ASCII. Only if no rule could match its other octets, it is
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

        The path ends with `END`. It is in normal form. It may be as written if no rule can match
        the octets that differ. `asked` is the same path as it was requested.
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

_PART_OCTETS = 32  # of a longest part; few paths contain these octets, but not the whole part

# The limit of this product: the octets of a path, times the octets of all wildcard rules.
_SAFE_STEPS = 6_000_000


class Prefixes:
    """A set of strings that finds those that begin a path, with one look-up for each length.

    Attributes:
        all: the strings, for one `startswith` with all of them.
    """

    __slots__ = ("_lengths", "_strings", "all")

    def __init__(self, strings: Collection[str]) -> None:
        """Take a set of strings, or a dictionary with strings as keys; it is not copied."""
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
        """Take the patterns in normal form; patterns of allow rules come with their places."""
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

        The caller passes equally long patterns in this order: allow first, then as in the file.
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

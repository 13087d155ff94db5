"""Which rule decides: the most specific match, in time that hostile rules can't blow up.

A rule matches from the first octet of the path; ``*`` stands for any octets and ``$`` for the end
(RFC 9309, 2.2.3). Of the rules that match, the one with the most octets decides, allow before
disallow where they are equally long (2.2.2), the first line where they are the same.

Every rule starts with a literal prefix, up to its first ``*``. A rule without ``*`` is nothing
else. The prefixes stand sorted, each with the longest other prefix that begins it: its parent. All
prefixes of a path then lie on one way, from the prefix that sorts last before the path up through
its parents. What a match is worth is one integer, its rank, so that deciding is taking a maximum;
and a prefix carries the best rank of its whole way, so that the first one met decides among them.

Cost of a verdict: a binary search; at most one comparison per prefix on the way; and per wildcard
rule behind a prefix of the path, best first until none can win, one left-to-right `str.find` for
each of its parts: O(length of the path) for each rule. Greedy search needs no back-tracking, for
if the parts fit at all, they fit at their leftmost places. Nested prefixes are at most 1,000 deep
in 500 KiB (1 + 2 + ... + 1,000 octets). Building sorts: O(n log n) in the rules.

Memory: small sets are kept ready for use; from `_PACKED_FROM` strings on they lie end to end in
one, since 50,000 small objects would take many times the octets of the file.

Paths and patterns are ASCII, as `str`: searching one is several times as fast as in `bytes`.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from itertools import accumulate

from .paths import END, is_plain, normal_pattern

_OFFSET_BITS = 40
_OFFSET_MASK = (1 << _OFFSET_BITS) - 1
_PACKED_FROM = 1024  # prefixes
_PACKED_FROM_OCTETS = 1 << 13  # of what follows the prefixes in wildcard rules

# An escape itself, or a literal that may begin at one of an escape's digits, as in ``/*9``.
_MEETS_ESCAPES = re.compile(r"%|\*[0-9A-F]")

NO_MATCH = 0
"""The rank of "no rule matches"."""


def rank_of(octets: int, *, allow: bool, offset: int) -> int:
    """What a match is worth: most octets, then allow, then the line that stands first."""
    return (octets << 1 | allow) << _OFFSET_BITS | (_OFFSET_MASK - offset)


def octets_of(rank: int) -> int:
    """The octets of the rule with this rank."""
    return rank >> (_OFFSET_BITS + 1)


def is_allow(rank: int) -> bool:
    """Whether the rule with this rank is an allow rule."""
    return bool(rank >> _OFFSET_BITS & 1)


def offset_of(rank: int) -> int:
    """The offset of the line of the rule with this rank."""
    return _OFFSET_MASK - (rank & _OFFSET_MASK)


class _Packed(Sequence[str]):
    """Many short ASCII strings in the space of their characters and four octets more each."""

    __slots__ = ("_stops", "_text")

    def __init__(self, strings: Sequence[str]) -> None:
        self._text = "".join(strings)
        self._stops = array("I", accumulate(map(len, strings), initial=0))

    def __len__(self) -> int:
        return len(self._stops) - 1

    def __getitem__(self, index: int) -> str:  # type: ignore[override]  # no slices needed
        return self._text[self._stops[index] : self._stops[index + 1]]


Wild = tuple[int, str, tuple[str, ...]]
"""A wildcard rule behind its literal prefix: its rank, its next literal part, those after that."""


class _PackedWild(Sequence[Wild]):
    """Many wildcard rules, likewise."""

    __slots__ = ("_ranks", "_tails")

    def __init__(self, rules: Sequence[tuple[int, str]]) -> None:
        self._ranks = array("Q", (rank for rank, _ in rules))
        self._tails = _Packed([tail for _, tail in rules])

    def __len__(self) -> int:
        return len(self._ranks)

    def __getitem__(self, index: int) -> Wild:  # type: ignore[override]  # no slices needed
        return _wild(self._ranks[index], self._tails[index])


def _wild(rank: int, tail: str) -> Wild:
    part, *more = filter(None, tail.split("*"))
    return rank, part, tuple(more)


class RuleSet:
    """The rules of one merged group, ready to decide.

    Attributes:
        needs_escapes: whether some pattern could match within the escapes of a path, so that
            paths have to be in normal form; else, odd characters match nothing, escaped or not.
    """

    __slots__ = (
        "_parents",
        "_prefixes",
        "_ranks",
        "_wild",
        "_wild_nodes",
        "_wild_starts",
        "needs_escapes",
    )

    def __init__(self, disallow: Mapping[str, int], allow: Mapping[str, int]) -> None:
        """Take path patterns as written, octets as characters, with the offset of their line.

        A pattern that begins with neither ``/`` nor ``*`` matches nothing, since paths begin with
        ``/`` (RFC 9309, 2.2.2): it is no prefix of any. An empty one forbids nothing, and any rule
        that matches outranks it; it has a rank so that a verdict can name the line that leaves
        everything allowed.
        """
        ranks: dict[str, int] = {}
        for is_allow_rule, written in ((False, disallow), (True, allow)):
            patterns = _normal_patterns(written)
            if is_allow_rule:
                _add_folders(patterns)
            for pattern, offset in patterns.items():  # `rank_of`, without the cost of the calls
                octets = len(pattern) << 1 | is_allow_rule
                ranks[pattern] = octets << _OFFSET_BITS | (_OFFSET_MASK - offset)
        text = "".join(ranks)
        self.needs_escapes = _MEETS_ESCAPES.search(text) is not None
        wild = _take_wild(ranks) if "*" in text else {}
        prefixes = sorted(ranks)
        parents = _parents(prefixes)
        best = list(map(ranks.__getitem__, prefixes))
        for node, parent in enumerate(parents):
            if parent >= 0 and best[parent] > best[node]:
                best[node] = best[parent]
        self._ranks = array("Q", best)
        self._parents = array("i", parents)
        is_large = len(prefixes) >= _PACKED_FROM
        self._prefixes: Sequence[str] = _Packed(prefixes) if is_large else prefixes
        self._wild, self._wild_starts, self._wild_nodes = _wild_nodes(prefixes, parents, wild)

    def match(self, path: str) -> int:
        """The rank of the rule that decides for a path in normal form, or `NO_MATCH`."""
        prefixes = self._prefixes
        node = bisect_right(prefixes, path) - 1
        while node >= 0 and not path.startswith(prefixes[node]):
            node = self._parents[node]
        if node < 0:
            return NO_MATCH
        best = self._ranks[node]
        if self._wild_nodes:
            node = self._wild_nodes[node]
            while node >= 0:
                best = self._match_wild(path, node, best)
                parent = self._parents[node]
                node = self._wild_nodes[parent] if parent >= 0 else -1
        return best

    def _match_wild(self, path: str, node: int, best: int) -> int:
        wild, start = self._wild, len(self._prefixes[node])
        for index in range(self._wild_starts[node], self._wild_starts[node + 1]):
            rank, part, more = wild[index]
            if rank < best:
                return best
            if part in path:  # mostly it is not, and "in" is faster than "find"
                at = path.find(part, start)
                if at >= 0 and (not more or _fit(path, more, at + len(part))):
                    return rank
        return best


def _fit(path: str, parts: tuple[str, ...], at: int) -> bool:
    for part in parts:
        at = path.find(part, at)
        if at < 0:
            return False
        at += len(part)
    return True


def _normal_patterns(written: Mapping[str, int]) -> dict[str, int]:
    """The patterns in normal form, each with the first line that has it."""
    if is_plain("".join(written)):  # one look at all of them: nearly always it is enough
        return dict(written)
    normal: dict[str, int] = {}
    for pattern, offset in written.items():
        normal.setdefault(normal_pattern(pattern), offset)
    return normal


def _add_folders(patterns: dict[str, int]) -> None:
    """Add what Google reads ``Allow: /x/index.htm`` as besides: ``Allow: /x/$``."""
    for pattern in [pattern for pattern in patterns if "/index.htm" in pattern]:
        folder, slash, name = pattern.rpartition("/")
        if name.startswith("index.htm"):
            index = folder + slash + END
            patterns[index] = min(patterns[pattern], patterns.get(index, patterns[pattern]))


def _take_wild(ranks: dict[str, int]) -> dict[str, list[tuple[int, str]]]:
    """Take the patterns with wildcards out, as rank and tail by literal prefix.

    A final ``*`` says nothing but its octet: such a pattern stays, as a prefix of its rank.
    """
    wild: dict[str, list[tuple[int, str]]] = {}
    for pattern in [pattern for pattern in ranks if "*" in pattern]:
        rank = ranks.pop(pattern)
        prefix, star, tail = pattern.rstrip("*").partition("*")
        if star:
            ranks.setdefault(prefix, NO_MATCH)
            wild.setdefault(prefix, []).append((rank, tail))
        else:
            ranks[prefix] = max(rank, ranks.get(prefix, NO_MATCH))
    return wild


def _wild_nodes(
    prefixes: Sequence[str], parents: Sequence[int], wild: Mapping[str, list[tuple[int, str]]]
) -> tuple[Sequence[Wild], Sequence[int], Sequence[int]]:
    """The wildcard rules of all nodes, in turn; where each node's start; its nearest with some."""
    rules: list[tuple[int, str]] = []
    starts, nodes = array("I", [0]), array("i")
    if not wild:
        return (), starts, nodes
    for node, prefix in enumerate(prefixes):
        if prefix in wild:
            rules += sorted(wild[prefix], reverse=True)
            nodes.append(node)
        else:
            nodes.append(nodes[parents[node]] if parents[node] >= 0 else -1)
        starts.append(len(rules))
    is_large = sum(len(tail) for _, tail in rules) >= _PACKED_FROM_OCTETS
    return _PackedWild(rules) if is_large else [_wild(*rule) for rule in rules], starts, nodes


def _parents(prefixes: Sequence[str]) -> list[int]:
    """For each of the sorted prefixes the index of the longest other that begins it, or -1."""
    parents: list[int] = []
    parent = -1
    for index, prefix in enumerate(prefixes):
        while parent >= 0 and not prefix.startswith(prefixes[parent]):
            parent = parents[parent]
        parents.append(parent)
        parent = index
    return parents

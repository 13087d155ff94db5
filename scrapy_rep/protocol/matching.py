"""Which rule decides: the most specific match, in time that hostile rules can't blow up.

A rule matches from the first octet of the path; ``*`` stands for any octets and ``$`` for the end
(RFC 9309, 2.2.3). Of the rules that match, the one with the most octets decides, allow before
disallow where they are equally long (2.2.2), the first line where they are the same.

Every rule starts with a literal prefix, up to its first ``*``. A rule without ``*`` is nothing
else. The prefixes stand sorted, each with the longest other prefix that begins it: its parent. All
prefixes of a path then lie on one way, from the prefix that sorts last before the path up through
its parents. What a match is worth is one integer, its rank, so that deciding is taking a maximum.

Cost of a verdict: a binary search, then per prefix of the path one comparison, and per wildcard
rule behind such a prefix, longest first until none can win, one left-to-right `bytes.find` for
each of its parts: O(octets of the path) for each. Greedy search needs no back-tracking, for if the
parts fit at all, they fit at their leftmost places. Nested prefixes are at most 1,000 deep in
500 KiB (1 + 2 + ... + 1,000 octets). Building sorts: O(n log n) in the rules.

Memory: small sets are kept ready for use; from `_PACKED_FROM` rules on, strings lie end to end in
one `bytes`, since 50,000 small objects would take many times the octets of the file.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence

from .paths import END, normal_pattern

_OFFSET_BITS = 40
_OFFSET_MASK = (1 << _OFFSET_BITS) - 1
_PACKED_FROM = 256

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


class _Packed(Sequence[bytes]):
    """Many short octet strings in the space of their octets and four more each."""

    __slots__ = ("_blob", "_stops")

    def __init__(self, strings: Iterable[bytes]) -> None:
        strings = list(strings)
        self._blob = b"".join(strings)
        self._stops = array("I", [0])
        stop = 0
        for string in strings:
            stop += len(string)
            self._stops.append(stop)

    def __len__(self) -> int:
        return len(self._stops) - 1

    def __getitem__(self, index: int) -> bytes:  # type: ignore[override]  # no slices needed
        return self._blob[self._stops[index] : self._stops[index + 1]]


def _parts(tail: bytes) -> tuple[bytes, ...]:
    """The literal parts between the wildcards of a pattern, after its literal prefix."""
    return tuple(part for part in tail.split(b"*") if part)


class RuleSet:
    """The rules of one merged group, ready to decide."""

    __slots__ = ("_parents", "_prefixes", "_ranks", "_wild_ranks", "_wild_starts", "_wild_tails")

    def __init__(self, rules: Iterable[tuple[int, bool, bytes]]) -> None:
        """Take rules as (offset of the line, allow, path pattern as written), in file order.

        A pattern that begins with neither ``/`` nor ``*`` matches nothing (RFC 9309, 2.2.2: paths
        begin with ``/``). An empty one forbids nothing, and any rule that matches outranks it; it
        has a rank so that a verdict can name the line that leaves everything allowed.
        """
        literal: dict[bytes, int] = {}
        wild: dict[bytes, list[tuple[int, bytes]]] = {}
        for offset, allow, written in rules:
            if written and written[0] not in b"/*":
                continue
            for pattern in _readings(normal_pattern(written), allow=allow):
                rank = rank_of(len(pattern), allow=allow, offset=offset)
                stem = pattern.rstrip(b"*")
                prefix, star, tail = stem.partition(b"*")
                if star:
                    literal.setdefault(prefix, NO_MATCH)
                    wild.setdefault(prefix, []).append((rank, tail))
                elif literal.get(prefix, NO_MATCH) < rank:
                    literal[prefix] = rank
        prefixes = sorted(literal)
        self._ranks: Sequence[int] = array("Q", map(literal.__getitem__, prefixes))
        self._parents: Sequence[int] = array("i", _parents(prefixes))
        self._build_wild(prefixes, wild)
        packed = len(prefixes) >= _PACKED_FROM
        self._prefixes: Sequence[bytes] = _Packed(prefixes) if packed else prefixes

    def _build_wild(
        self, prefixes: list[bytes], wild: dict[bytes, list[tuple[int, bytes]]]
    ) -> None:
        starts = array("I", [0])
        ranks = array("Q")
        tails: list[bytes] = []
        for prefix in prefixes:
            for rank, tail in sorted(wild.get(prefix, ()), reverse=True):
                ranks.append(rank)
                tails.append(tail)
            starts.append(len(tails))
        self._wild_starts: Sequence[int] = starts if tails else ()
        self._wild_ranks: Sequence[int] = ranks
        packed = sum(tail.count(b"*") + 1 for tail in tails) >= _PACKED_FROM
        self._wild_tails: Sequence[bytes | tuple[bytes, ...]] = (
            _Packed(tails) if packed else tuple(map(_parts, tails))
        )

    def match(self, path: bytes) -> int:
        """The rank of the rule that decides for a path in normal form, or `NO_MATCH`."""
        prefixes = self._prefixes
        best = NO_MATCH
        node = bisect_right(prefixes, path) - 1
        while node >= 0:
            prefix = prefixes[node]
            if path.startswith(prefix):
                best = max(best, self._ranks[node])
                if self._wild_starts:
                    best = self._match_wild(node, path, len(prefix), best)
            node = self._parents[node]
        return best

    def _match_wild(self, node: int, path: bytes, prefix_octets: int, best: int) -> int:
        ranks, tails = self._wild_ranks, self._wild_tails
        for index in range(self._wild_starts[node], self._wild_starts[node + 1]):
            if ranks[index] < best:
                break
            tail = tails[index]
            at = prefix_octets
            for part in _parts(tail) if isinstance(tail, bytes) else tail:
                at = path.find(part, at)
                if at < 0:
                    break
                at += len(part)
            else:
                return ranks[index]
        return best


def _readings(pattern: bytes, *, allow: bool) -> Iterator[bytes]:
    """The pattern, and what Google reads ``Allow: /x/index.htm`` as besides: ``Allow: /x/$``."""
    yield pattern
    if allow and b"/index.htm" in pattern:
        folder, slash, name = pattern.rpartition(b"/")
        if name.startswith(b"index.htm"):
            yield folder + slash + END


def _parents(prefixes: list[bytes]) -> Iterator[int]:
    """For each of the sorted prefixes the index of the longest other that begins it, or -1."""
    way: list[int] = []
    for index, prefix in enumerate(prefixes):
        while way and not prefix.startswith(prefixes[way[-1]]):
            way.pop()
        yield way[-1] if way else -1
        way.append(index)

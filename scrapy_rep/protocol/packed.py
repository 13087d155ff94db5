"""Large sets of rules in little space: 50,000 small objects would take many times their octets.

Same answers as `matching.FewRules`, in another form: many strings lie end to end in one, sorted.
All of them that begin a path lie on one way: from the one that sorts last before the path up
through its parents, each the longest other that begins the one before.

Cost of a verdict: a binary search; at most one comparison per prefix on the way; and per wildcard
rule what `matching` says. Nested prefixes are at most 1,000 deep in 500 KiB (1 + 2 + ... + 1,000
octets). Memory: the octets of the patterns and some 30 octets per rule.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate

from .matching import fits

_PLACE_BITS = 40
_PLACE_MASK = (1 << _PLACE_BITS) - 1
_MARK_EVERY = 16  # a search among real strings first: 2 times the speed, for 1/16 of their space


def _decisive(octets: int, place: int, *, allow: bool) -> int:
    """A rank that decides between equals too: the first line."""
    return (octets << 1 | allow) << _PLACE_BITS | (_PLACE_MASK - place)


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


class _Prefixes:
    """Sorted strings, to find those that begin a path."""

    __slots__ = ("_marks", "_parents", "_strings")

    def __init__(self, strings: Sequence[str]) -> None:
        self._strings = _Packed(strings)
        self._marks = strings[::_MARK_EVERY]
        self._parents = array("i", _parents(strings))

    def ways(self, path: str) -> Iterator[tuple[int, int]]:
        """Index and length of those that begin a path, longest first."""
        strings = self._strings
        start = max(bisect_right(self._marks, path) - 1, 0) * _MARK_EVERY
        stop = min(start + _MARK_EVERY, len(strings))
        index = bisect_right(strings, path, start, stop) - 1
        while index >= 0:
            string = strings[index]
            if path.startswith(string):
                yield index, len(string)
            index = self._parents[index]


class PackedRules:
    """The rules of one merged group, ready to decide: a key is a decisive rank."""

    __slots__ = ("_empty", "_heads", "_literal_ranks", "_literals", "_starts", "_tails", "_wild")

    def __init__(self, disallow: list[str], allow: dict[str, int], *, has_wild: bool) -> None:
        """Take normal patterns, those of allow rules with their places."""
        ranks: dict[str, int] = {}
        for place, pattern in enumerate(disallow):
            if pattern not in ranks:  # `_decisive`, without the cost of the calls
                ranks[pattern] = len(pattern) << 1 << _PLACE_BITS | (_PLACE_MASK - place)
        for pattern, place in allow.items():
            ranks[pattern] = _decisive(len(pattern), place, allow=True)
        self._empty = ranks.pop("", None)
        wild: list[tuple[str, int, str]] = []
        for pattern in [pattern for pattern in ranks if "*" in pattern] if has_wild else ():
            head, _, tail = pattern.partition("*")
            wild.append((head, -ranks.pop(pattern), tail))
        wild.sort()
        literals = sorted(ranks)
        self._literals = _Prefixes(literals)
        self._literal_ranks = array("Q", map(ranks.__getitem__, literals))
        heads: list[str] = []
        self._starts = array("I")
        for index, (head, *_) in enumerate(wild):
            if not heads or head != heads[-1]:
                heads.append(head)
                self._starts.append(index)
        self._starts.append(len(wild))
        self._heads = _Prefixes(heads)
        self._wild = array("Q", (-rank for _, rank, _ in wild))
        self._tails = _Packed([tail for *_, tail in wild])

    def match(self, path: str) -> int | None:
        """The decisive rank of the rule that decides for a path in normal form."""
        best = self._empty
        for index, _ in self._literals.ways(path):
            best = self._literal_ranks[index]
            break
        if self._wild:
            for head, octets in self._heads.ways(path):
                for index in range(self._starts[head], self._starts[head + 1]):
                    rank = self._wild[index]
                    if best is not None and rank < best:
                        break
                    part, _, more = self._tails[index].partition("*")
                    if part in path and fits(path, part, octets, more):
                        best = rank
                        break
        return best

    def decider(self, key: int) -> tuple[int, bool, int]:
        """Octets, whether it allows, and place of the rule behind a decisive rank."""
        rank = key >> _PLACE_BITS
        return rank >> 1, bool(rank & 1), _PLACE_MASK - (key & _PLACE_MASK)


def _parents(strings: Sequence[str]) -> list[int]:
    """For each of the sorted strings the index of the longest other that begins it, or -1."""
    parents: list[int] = []
    parent = -1
    # That a string begins the one after it is seldom, and to ask all at once is cheap.
    for index, is_nested in enumerate([False, *map(str.startswith, strings[1:], strings)]):
        if is_nested:
            parent = index - 1
        else:
            while parent >= 0 and not strings[index].startswith(strings[parent]):
                parent = parents[parent]
        parents.append(parent)
    return parents[: len(strings)]

"""Large sets of rules in little space: 50,000 small objects would take many times their octets.

Same answers as `matching.FewRules`, in another form: strings stand sorted, some in a block. All of
them that begin a path lie on one way: from the one that sorts last before the path up through its
parents, each the longest other that begins the one before.

Cost of a verdict: a binary search; at most one comparison per prefix on the way; and per wildcard
rule what `matching` says. Nested prefixes are at most 1,000 deep in 500 KiB (1 + 2 + ... + 1,000
octets). Memory: the octets of the patterns and some 13 octets per rule, 8 more per wildcard rule.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from operator import itemgetter

from .matching import ANYWHERE, GRAM_OCTETS, fits, grams, longest_part

_BLOCK_STRINGS = 16  # 32 take 5 % less space, and 1.4 times as long to search
_BY_GRAM_FROM = 256  # rules; to try that many takes as long as to look for 50 grams
_NUMBER_BITS = 32
_NUMBER_MASK = (1 << _NUMBER_BITS) - 1
_BEHIND = "\x7f"  # sorts behind what follows a string in its block, and behind every pattern
_UP_TO_LF = re.compile(r"[\0-\n]")


class _Strings:
    """Many short strings of ASCII without LF, in blocks that are one string each."""

    __slots__ = ("_blocks",)

    def __init__(self, strings: Sequence[str]) -> None:
        self._blocks = [
            "\n".join(strings[start : start + _BLOCK_STRINGS])
            for start in range(0, len(strings), _BLOCK_STRINGS)
        ]

    def block(self, index: int) -> list[str]:
        """The strings of the block in which the one at an index lies."""
        return self._blocks[index // _BLOCK_STRINGS].split("\n")

    def between(self, start: int, stop: int) -> Iterator[str]:
        """Those from one index up to another."""
        for first in range(start - start % _BLOCK_STRINGS, stop, _BLOCK_STRINGS):
            strings = self.block(first)
            yield from strings[max(start - first, 0) : stop - first]

    def last_before(self, path: str) -> tuple[int, list[str]]:
        """Index of the last that does not sort behind a path, and its block; -1 if they all do.

        They have to be sorted, and none of them to go on behind a whole path, which holds nothing
        up to LF: that would sort before the end of a string in a block.
        """
        at = bisect_right(self._blocks, path + _BEHIND) - 1
        if at < 0:
            return -1, []
        strings = self._blocks[at].split("\n")
        return at * _BLOCK_STRINGS + bisect_right(strings, path) - 1, strings


class _Prefixes:
    """Sorted strings, to find those that begin a path."""

    __slots__ = ("_parents", "_strings")

    def __init__(self, strings: Sequence[str]) -> None:
        self._strings = _Strings(strings)
        self._parents = _parents(strings)

    def ways(self, path: str) -> Iterator[tuple[int, int]]:
        """Index and length of those that begin a path, longest first."""
        index, strings = self._strings.last_before(path)
        first = index - index % _BLOCK_STRINGS
        while index >= 0:
            string = strings[index - first]
            if path.startswith(string):
                yield index, len(string)
            index = self._parents[index]
            if 0 <= index < first:  # else in the same block, as parents mostly are
                strings = self._strings.block(index)
                first = index - index % _BLOCK_STRINGS

    def index(self, string: str) -> int:
        """Where a string is; -1 if it is not there."""
        index, strings = self._strings.last_before(string)
        return index if index >= 0 and strings[index % _BLOCK_STRINGS] == string else -1


class PackedRules:
    """The rules of one merged group, ready to decide.

    Every pattern has a number: allow rules come first, and each kind in the order of the file. A
    key is a decisive rank: the octets, and then the lowest number.
    """

    __slots__ = (
        "_allow",
        "_bins",
        "_empty",
        "_has_grams",
        "_literals",
        "_numbers",
        "_starts",
        "_tails",
        "_wild",
    )

    def __init__(self, disallow: list[str], allow: dict[str, int], *, has_wild: bool) -> None:
        """Take normal patterns, those of allow rules with their places.

        Those that begin with neither ``/`` nor ``*`` match nothing, and are not kept.
        """
        self._allow = first = max(allow.values(), default=-1) + 1
        backwards = range(first + len(disallow) - 1, first - 1, -1)
        numbers = dict(zip(reversed(disallow), backwards, strict=True))
        numbers.update(allow)
        empty = numbers.pop("", None)
        self._empty = None if empty is None else _decisive(0, empty)
        literals = sorted([p for p in numbers if p[0] == "/" and "*" not in p])
        self._literals = _Prefixes(literals)
        self._numbers = array("I", map(numbers.__getitem__, literals))
        wild = [p for p in numbers if "*" in p and p[0] in "/*"] if has_wild else []
        self._take_wild(wild, numbers)

    def _take_wild(self, patterns: list[str], numbers: dict[str, int]) -> None:
        """Put the patterns with wildcards into bins."""
        self._has_grams = sum(p.startswith(("*", "/*")) for p in patterns) >= _BY_GRAM_FROM
        patterns.sort(key=numbers.__getitem__)
        patterns.sort(key=len, reverse=True)  # now in the order in which they win, in each bin too
        wild = sorted([(self._bin(pattern), pattern) for pattern in patterns], key=itemgetter(0))
        bins: list[str] = []
        self._starts = array("I")
        for index, (name, _) in enumerate(wild):
            if not bins or name != bins[-1]:
                bins.append(name)
                self._starts.append(index)
        self._starts.append(len(wild))
        self._bins = _Prefixes(bins)
        self._wild = array("Q", [_decisive(len(p), numbers[p]) for _, p in wild])
        self._tails = _Strings([pattern.partition("*")[2] for _, pattern in wild])

    def _bin(self, pattern: str) -> str:
        head, _, tail = pattern.partition("*")
        if self._has_grams and head in ANYWHERE:
            gram = longest_part(tail)[:GRAM_OCTETS]
            if len(gram) == GRAM_OCTETS:
                return _bin_of(head, gram)
        return head

    def match(self, path: str) -> int | None:
        """The decisive rank of the rule that decides for a path."""
        if not path.isprintable():  # a path as written; no rule holds these, or blanks
            path = _UP_TO_LF.sub(" ", path)
        best = self._empty
        for index, octets in self._literals.ways(path):
            best = _decisive(octets, self._numbers[index])
            break
        if self._wild:
            for index, octets in self._bins.ways(path):
                best = self._match_wild(path, best, index, octets)
        if self._has_grams:
            for gram in grams(path):
                for head in ANYWHERE:
                    at = self._bins.index(_bin_of(head, gram))
                    if at >= 0:
                        best = self._match_wild(path, best, at, len(head))
        return best

    def _match_wild(self, path: str, best: int | None, at: int, octets: int) -> int | None:
        start, stop = self._starts[at], self._starts[at + 1]
        for index, tail in enumerate(self._tails.between(start, stop), start):
            rank = self._wild[index]
            if best is not None and rank < best:
                break
            # Mostly the first part is not there, and "in" is faster than "find".
            if tail.partition("*")[0] in path and fits(path, tail, octets):
                return rank
        return best

    def decider(self, key: int) -> tuple[int, bool]:
        """Octets of the rule behind a decisive rank, and whether it allows."""
        return key >> _NUMBER_BITS, _number_of(key) < self._allow

    def place(self, key: int) -> int:
        """How many rules of its kind stand before the rule behind a decisive rank."""
        number = _number_of(key)
        return number if number < self._allow else number - self._allow


def _bin_of(head: str, gram: str) -> str:
    """Where the wildcard rules lie that may match any path that holds a gram.

    Others lie under their heads. These names begin no path in normal form, which holds no "*"; in
    one as written, they find nothing that its grams do not.
    """
    return f"{head}*{gram}"


def _decisive(octets: int, number: int) -> int:
    return octets << _NUMBER_BITS | (_NUMBER_MASK - number)


def _number_of(decisive: int) -> int:
    return _NUMBER_MASK - (decisive & _NUMBER_MASK)


def _parents(strings: Sequence[str]) -> array[int]:
    """For each of the sorted strings the index of the longest other that begins it, or -1."""
    parents = array("i", [-1]) * len(strings)
    # That a string begins the one after it is seldom, and to ask all at once is cheap.
    begins_next = bytes(map(str.startswith, strings[1:], strings))
    parent = begins_next.find(1)
    while parent >= 0:
        index = parent + 1
        while parent >= 0:
            parents[index] = parent
            if index == len(begins_next):
                return parents
            if begins_next[index]:
                parent = index
            else:
                while parent >= 0 and not strings[index + 1].startswith(strings[parent]):
                    parent = parents[parent]
            index += 1
        parent = begins_next.find(1, index)
    return parents

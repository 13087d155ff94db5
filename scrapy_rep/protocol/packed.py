"""Large sets of rules in little memory and bounded time, with the same answers as `FewRules`.

Hardly a real group is large, but a hostile file may be, and 50,000 small objects would take many
times its octets. This form takes at most four times, shown by `benchmarks/hostile.py` as "kept".

Strings are sorted, in blocks of 16 that are one string each. To find the strings that begin a path,
the beginning of the path with each length of a string is searched for, the longest first.

Cost of a verdict: one binary search for each length, and 500 KiB hold at most 1,000 lengths
(1 + 2 + ... + 1,000 octets); with many rules per head, one look-up for each window of the path and
one for each bin; then at most `_STEPS` for wildcard rules. Building sorts: O(n log n).
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import compress, count
from operator import ne

from .wildcards import (
    OutOfWork,
    Work,
    fits_either,
    is_twofold,
    longest_part,
    matches,
    without_escapes,
)

UNDECIDED = -1
"""The key if finding the rule that decides would take too long."""

_BLOCK_STRINGS = 16  # larger blocks take less memory, but longer to search
_NUMBER_BITS = 32
_NUMBER_MASK = (1 << _NUMBER_BITS) - 1
_BEHIND = "\n\x7f"  # sorts after the rest of a block, and before longer strings

_CROWD = 16  # wildcard rules with the same head; more are looked up by their windows
_WINDOW_OCTETS = (1, 2, 3, 4, 6, 8, 12, 24)
_LONGEST_WINDOW = _WINDOW_OCTETS[-1]
_OCTETS_OF_WINDOW = [
    max((octets for octets in _WINDOW_OCTETS if octets <= part_octets), default=0)
    for part_octets in range(_LONGEST_WINDOW + 1)
]

# The limit of a verdict, in the steps of `Work`; `benchmarks/hostile.py` shows their time.
_STEPS = 3_000_000
_BIN_STEPS = 2000
_RULE_STEPS = 800
_MOST_WINDOWS = 66_000  # all of a path of 8 KiB
_FEW_BINS = 500  # are tried instead of the windows
_BINS_PER_WINDOW = 20  # are compared in the time in which one is searched for


class _PackedStrings:
    """Many short ASCII strings without LF, in blocks of one string each."""

    __slots__ = ("_blocks",)

    def __init__(self, strings: Sequence[str]) -> None:
        self._blocks = [
            "\n".join(strings[start : start + _BLOCK_STRINGS])
            for start in range(0, len(strings), _BLOCK_STRINGS)
        ]

    def block(self, index: int) -> list[str]:
        """The strings of the block that contains an index."""
        return self._blocks[index // _BLOCK_STRINGS].split("\n")

    def between(self, indices: range) -> Iterator[str]:
        """The strings with neighbouring indices, one by one."""
        start, stop = indices.start, indices.stop
        for first in range(start - start % _BLOCK_STRINGS, stop, _BLOCK_STRINGS):
            strings = self.block(first)
            yield from strings[max(start - first, 0) : stop - first]

    def all(self, indices: range) -> list[str]:
        """The strings with neighbouring indices, as a list."""
        first = indices.start // _BLOCK_STRINGS
        last = -(-indices.stop // _BLOCK_STRINGS)
        strings = "\n".join(self._blocks[first:last]).split("\n")
        start = indices.start - first * _BLOCK_STRINGS
        return strings[start : start + len(indices)]

    def index(self, string: str) -> int:
        """The index of a string among sorted ones; -1 without it."""
        at = bisect_right(self._blocks, string + _BEHIND) - 1
        strings = self._blocks[at].split("\n") if at >= 0 else []
        place = bisect_left(strings, string)
        is_there = place < len(strings) and strings[place] == string
        return at * _BLOCK_STRINGS + place if is_there else -1


class _PackedPrefixes:
    """Sorted strings; finds the strings that begin a path, with one search for each length.

    Attributes:
        strings: all of them.
    """

    __slots__ = ("_lengths", "strings")

    def __init__(self, strings: Sequence[str]) -> None:
        self.strings = _PackedStrings(strings)
        self._lengths = sorted({*map(len, strings)}, reverse=True)

    def of(self, path: str) -> Iterator[tuple[int, int]]:
        """Index and length of the strings that begin a path, longest first."""
        for octets in self._lengths:
            if octets <= len(path) and (index := self.strings.index(path[:octets])) >= 0:
                yield index, octets


class PackedRules:
    """The rules of one merged group, ready to decide, in little memory and bounded time.

    Every pattern has a number: allow rules come first, each kind in file order. A key is a decisive
    rank: the most octets win, and of equally long rules the lowest number.

    A wildcard rule is in the bin of its head. If many rules have the same head, it is in the bin of
    a window instead: the last octets of its longest part, which must be somewhere in the path.
    ``/*?id=`` is in the bin ``*?id=``, ``/*/print.html`` in ``*int.html``. A path is cut into all
    its windows of these lengths, here 4 and 8: ``/a/print.html$`` contains ``int.html``, so only
    that bin is tried.
    """

    def __init__(self, disallow: list[str], allow: dict[str, int], *, has_wild: bool) -> None:
        """Take normal patterns; those of allow rules with their places.

        Patterns that begin with neither ``/`` nor ``*`` match nothing and are dropped.
        """
        self._allow = first = max(allow.values(), default=-1) + 1
        backwards = range(first + len(disallow) - 1, first - 1, -1)
        numbers = dict(zip(reversed(disallow), backwards, strict=True))
        numbers.update(allow)
        empty = numbers.pop("", None)
        self._empty = None if empty is None else _decisive(0, empty)
        literals = sorted([p for p in numbers if p[0] == "/" and "*" not in p])
        self._literals = _PackedPrefixes(literals)
        self._numbers = array("I", map(numbers.__getitem__, literals))
        wild = [p for p in numbers if "*" in p and p[0] in "/*"] if has_wild else []
        self._take_wild(wild, numbers)

    def _take_wild(self, patterns: list[str], numbers: dict[str, int]) -> None:
        """Sort the wildcard patterns into bins, each in the order in which they win."""
        patterns.sort(key=numbers.__getitem__)
        patterns.sort(key=len, reverse=True)
        heads = [pattern.partition("*")[0] for pattern in patterns]
        crowds = Counter(heads)
        names = [
            window_of(pattern) or head if crowds[head] > _CROWD else head
            for pattern, head in zip(patterns, heads, strict=True)
        ]
        order = sorted(range(len(names)), key=names.__getitem__)
        patterns = [patterns[index] for index in order]
        names = [names[index] for index in order]
        starts = [0, *compress(count(1), map(ne, names[1:], names))]
        self._starts = array("I", [*starts, len(patterns)])
        bins = [names[start] for start in starts] if names else []
        self._bins = _PackedPrefixes(bins)
        self._window_bins = range(bisect_left(bins, "*"), bisect_left(bins, "+"))
        self._cut_up_by = {len(name) - 1 for name in bins if name[:1] == "*"}
        self._wild = array("Q", [_decisive(len(p), numbers[p]) for p in patterns])
        # The name of the bin is the head of these patterns, so only the rest is stored.
        self._wild_patterns = _PackedStrings(
            [
                p if name[:1] == "*" else p.partition("*")[2]
                for p, name in zip(patterns, names, strict=True)
            ]
        )

    def match(self, path: str, _: str = "", /) -> int | None:
        """The decisive rank of the rule that decides for a path; `UNDECIDED` beyond `_STEPS`."""
        best = self._empty
        for index, octets in self._literals.of(path):
            best = _decisive(octets, self._numbers[index])
            break
        if not self._wild:
            return best
        work = Work(_STEPS)
        try:
            for at, before in self._bins_for(path):
                start, stop = self._starts[at], self._starts[at + 1]
                if best is not None and self._wild[start] <= best:
                    break
                work.take(_BIN_STEPS)
                best = self._match_bin(path, best, before, range(start, stop), work)
        except OutOfWork:
            return UNDECIDED
        return best

    def _bins_for(self, path: str) -> list[tuple[int, str]]:
        """The bins with a head that begins the path or a window in it, best rules first.

        Each bin comes with the part of the patterns that its strings lack.
        """
        found = [(at, f"{path[:octets]}*") for at, octets in self._bins.of(path)]
        if self._window_bins:
            found += [(at, "") for at in self._bins_in(path)]
        found.sort(key=lambda bin_: self._wild[self._starts[bin_[0]]], reverse=True)
        return found

    def _bins_in(self, path: str) -> list[int]:
        """The bins with a window that is in the path."""
        bins = self._window_bins
        if len(path) * len(self._cut_up_by) > _MOST_WINDOWS:
            if len(bins) > _FEW_BINS:
                raise OutOfWork
            return [*bins]
        windows = {
            f"*{path[at : at + octets]}" for octets in self._cut_up_by for at in range(len(path))
        }
        strings = self._bins.strings
        if len(bins) > _BINS_PER_WINDOW * len(windows):
            return [at for window in windows if (at := strings.index(window)) >= 0]
        names = strings.all(bins)
        return [at for at, name in zip(bins, names, strict=True) if name in windows]

    def _match_bin(
        self, path: str, best: int | None, before: str, rules: range, work: Work
    ) -> int | None:
        for index, string in enumerate(self._wild_patterns.between(rules), rules.start):
            rank = self._wild[index]
            if best is not None and rank <= best:
                break
            work.take(_RULE_STEPS)
            pattern = before + string
            if (fits_either if is_twofold(pattern) else matches)(pattern, path, work):
                return rank
        return best

    def decider(self, key: int) -> tuple[int, bool]:
        """The octets of the rule with a decisive rank, and whether it allows."""
        return key >> _NUMBER_BITS, _number_of(key) < self._allow

    def place(self, key: int) -> int:
        """The number of rules of the same kind before the rule with a decisive rank."""
        number = _number_of(key)
        return number if number < self._allow else number - self._allow


def window_of(pattern: str) -> str:
    """The name of the bin for rules that share a window; empty for a rule without a part.

    The window of a twofold rule must be the same in paths and queries.
    """
    part = longest_part(without_escapes(pattern) if is_twofold(pattern) else pattern)
    return f"*{part[-_OCTETS_OF_WINDOW[min(len(part), _LONGEST_WINDOW)] :]}" if part else ""


def _decisive(octets: int, number: int) -> int:
    return octets << _NUMBER_BITS | (_NUMBER_MASK - number)


def _number_of(decisive: int) -> int:
    return _NUMBER_MASK - (decisive & _NUMBER_MASK)

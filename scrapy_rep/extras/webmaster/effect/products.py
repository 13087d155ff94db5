"""Read the rules of two files together along one path, to see which decide and which still can.

A pattern that matches any rest of the path removes all patterns that it outranks: they can't decide
any more, and paths that differ only in them have the same state::

    old  Disallow: /a*  Allow: /a       after "/a", only "/a*" is left of the old rules
    new  Disallow: /a                   and "/a" of the new ones: both disallow in any case

Cost of a step: linear in the patterns that may still match.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from scrapy_rep.protocol.ruleset import folder_of

from .readers import MATCHED, PatternReader
from .rule_patterns import is_live

Said = tuple[bool, str]
"""A rule: whether it allows, and its pattern in normal form."""

Says = tuple[dict[str, bool], dict[str, bool]]
"""The answer of each of two files, by pattern."""

NOBODY = -1


class ReadState(NamedTuple):
    """The patterns of both files at one place of a path.

    Attributes:
        winners: for each file, the number of the first in rank that matches any rest of the path.
        live: the numbers and states of patterns that may still match and then decide.
    """

    winners: tuple[int, int]
    live: tuple[tuple[int, int], ...]


@dataclass
class Sides:
    """The patterns of both files, and the answer of each file for each pattern."""

    patterns: list[str]
    says: Says

    @classmethod
    def of(cls, old: Iterable[Said], new: Iterable[Said]) -> Sides:
        """The patterns of the rules of two files."""
        says = _said(old), _said(new)
        return cls(list(dict.fromkeys((*says[0], *says[1]))), says)

    @property
    def changed(self) -> list[str]:
        """The patterns that only one side has, or both with different answers."""
        one, other = self.says
        return [text for text in self.patterns if one.get(text) is not other.get(text)]


def _said(rules: Iterable[Said]) -> dict[str, bool]:
    """The answer of each pattern; allow if a pattern has both."""
    found: dict[str, bool] = {}
    for allow, pattern in rules:
        folder = folder_of(pattern) if allow else None
        for text in (pattern, folder):
            if text is not None and is_live(text):
                found[text] = allow or found.get(text, False)
    return found


class Product:
    """Some patterns of both files, read together."""

    def __init__(self, patterns: Sequence[str], says: Says) -> None:
        self._readers = [PatternReader(text) for text in patterns]
        self.symbols = frozenset[str]().union(*(reader.symbols for reader in self._readers))
        # By number: the answer of each file, None without such a rule, and its rank.
        self._answers = [tuple(side.get(text) for side in says) for text in patterns]
        self._ranks = [_ranks(patterns, side) for side in says]
        starts = enumerate(reader.start for reader in self._readers)
        self.start = self.step(self._state((NOBODY, NOBODY), starts), "/")

    def step(self, state: ReadState, symbol: str, *, in_query: bool = False) -> ReadState:
        """The state after a symbol."""
        readers = self._readers
        found = (
            (number, steps.named.get(symbol, steps.other))
            for number, at in state.live
            for steps in (readers[number].steps(at, in_query=in_query),)
        )
        return self._state(state.winners, found)

    def _state(self, winners: tuple[int, int], found: Iterable[tuple[int, int]]) -> ReadState:
        live = []
        one, other = winners
        ranks, ranks_too = self._ranks
        for number, at in found:
            if at == MATCHED:
                one = number if ranks[number] > ranks[one] else one
                other = number if ranks_too[number] > ranks_too[other] else other
            elif at:
                live.append((number, at))
        best, best_too = ranks[one], ranks_too[other]
        left = ((n, at) for n, at in live if ranks[n] > best or ranks_too[n] > best_too)
        return ReadState((one, other), tuple(left))

    def named(self, state: ReadState, *, in_query: bool = False) -> set[str]:
        """The symbols that move some pattern to another state than other symbols do."""
        readers = self._readers
        return {
            symbol
            for number, at in state.live
            for symbol in readers[number].steps(at, in_query=in_query).named
        }

    def deciders(self, state: ReadState) -> tuple[int, int]:
        """For each file, the number of the pattern that decides for a path that ends here."""
        ended = [number for number, at in state.live if self._readers[number].is_match(at)]
        one, other = (
            max((winner, *ended), key=ranks.__getitem__)
            for winner, ranks in zip(state.winners, self._ranks, strict=True)
        )
        return one, other

    def answers(self, deciders: tuple[int, int]) -> tuple[bool, bool]:
        """The answer of each file, given its deciding pattern."""
        one, other = (
            number == NOBODY or self._answers[number][side] is not False
            for side, number in enumerate(deciders)
        )
        return one, other

    def is_alive(self, state: ReadState, wanted: int) -> bool:
        """Whether a pattern may cause different verdicts on some path that continues from here.

        False is certain; True is not.
        """
        if wanted not in state.winners:
            return any(number == wanted for number, _ in state.live)
        shared, other = self.answers(state.winners)
        return shared is not other or any(
            number == wanted or not self._is_same(state.winners, number, answer=shared)
            for number, _ in state.live
        )

    def _is_same(self, winners: tuple[int, int], number: int, *, answer: bool) -> bool:
        """Whether the answer of a pattern that matches is the same on both sides."""
        said = self._answers[number]
        if said[0] is not said[1]:
            return False
        ranks = zip(winners, self._ranks, strict=True)
        return said[0] is answer or all(side[number] > side[winner] for winner, side in ranks)


def _ranks(patterns: Sequence[str], says: dict[str, bool]) -> list[int]:
    """The rank of each pattern in a file: the longest is first; of equally long ones, allow.

    Patterns that the file lacks have the rank of `NOBODY`, the last item.
    """
    order = sorted(
        (number for number, text in enumerate(patterns) if text in says),
        key=lambda number: (len(patterns[number]), says[patterns[number]], patterns[number]),
    )
    ranks = [0] * (len(patterns) + 1)
    for rank, number in enumerate(order, start=1):
        ranks[number] = rank
    return ranks

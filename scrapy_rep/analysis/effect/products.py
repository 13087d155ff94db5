"""The rules of two files, read together along one path: who decides where it ends, and can yet.

A pattern that matches whatever follows takes all those out that it outranks: they have no say any
more, and what differs in nothing else is one state::

    old  Disallow: /a*  Allow: /a       behind "/a", "/a*" alone is left of the old rules
    new  Disallow: /a                   and "/a" of the new ones: both disallow, and nothing differs

Cost of a step: the patterns that may still match.
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
"""By pattern, what each of two files says."""

NOBODY = -1


class ReadState(NamedTuple):
    """Where a path has led the patterns of both files.

    Attributes:
        winners: for each file, the first in rank of those that match whatever follows, by number.
        live: those that may still match and would have a say, by number, with their states.
    """

    winners: tuple[int, int]
    live: tuple[tuple[int, int], ...]


@dataclass
class Sides:
    """The patterns of both files, and what each file says by each of them."""

    patterns: list[str]
    says: Says

    @classmethod
    def of(cls, old: Iterable[Said], new: Iterable[Said]) -> Sides:
        """Of the rules of two files."""
        says = _said(old), _said(new)
        return cls(list(dict.fromkeys((*says[0], *says[1]))), says)

    @property
    def changed(self) -> set[str]:
        """What only one side has, or both with different answers."""
        one, other = self.says
        return {text for text in self.patterns if one.get(text) is not other.get(text)}


def _said(rules: Iterable[Said]) -> dict[str, bool]:
    """The answer of each pattern: of two for the same one, allow."""
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
        # By number: what each file says, None if it has no such rule, and the rank of that.
        self._answers = [tuple(side.get(text) for side in says) for text in patterns]
        self._ranks = [_ranks(patterns, side) for side in says]
        starts = enumerate(reader.start for reader in self._readers)
        self.start = self.step(self._state((NOBODY, NOBODY), starts), "/")

    def step(self, state: ReadState, symbol: str, *, in_query: bool = False) -> ReadState:
        """The state behind a symbol."""
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
        """The symbols that some pattern asks for here."""
        readers = self._readers
        return {
            symbol
            for number, at in state.live
            for symbol in readers[number].steps(at, in_query=in_query).named
        }

    def deciders(self, state: ReadState) -> tuple[int, int]:
        """For each file, the number of what decides about a path that ends here, or `NOBODY`."""
        ended = [number for number, at in state.live if self._readers[number].is_match(at)]
        one, other = (
            max((winner, *ended), key=ranks.__getitem__)
            for winner, ranks in zip(state.winners, self._ranks, strict=True)
        )
        return one, other

    def answers(self, deciders: tuple[int, int]) -> tuple[bool, bool]:
        """What each file answers by its decider."""
        one, other = (
            number == NOBODY or self._answers[number][side] is not False
            for side, number in enumerate(deciders)
        )
        return one, other

    def is_alive(self, state: ReadState, wanted: int) -> bool:
        """Whether some path that goes on from here may be judged differently because of a pattern.

        True is not certain; False is.
        """
        if wanted not in state.winners:
            return any(number == wanted for number, _ in state.live)
        shared, other = self.answers(state.winners)
        return shared is not other or any(
            number == wanted or not self._is_same(state.winners, number, answer=shared)
            for number, _ in state.live
        )

    def _is_same(self, winners: tuple[int, int], number: int, *, answer: bool) -> bool:
        """Whether what one pattern says, once it matches, is the same on both sides."""
        said = self._answers[number]
        if said[0] is not said[1]:
            return False
        ranks = zip(winners, self._ranks, strict=True)
        return said[0] is answer or all(side[number] > side[winner] for winner, side in ranks)


def _ranks(patterns: Sequence[str], says: dict[str, bool]) -> list[int]:
    """The rank of each pattern in a file: the longest is first, of two so long the one that allows.

    Those that the file has not got rank with `NOBODY`, the last item.
    """
    order = sorted(
        (number for number, text in enumerate(patterns) if text in says),
        key=lambda number: (len(patterns[number]), says[patterns[number]], patterns[number]),
    )
    ranks = [0] * (len(patterns) + 1)
    for rank, number in enumerate(order, start=1):
        ranks[number] = rank
    return ranks

"""Find a path that two sets of rules judge differently, if there is one.

Patterns are regular expressions, so the rules of both sides can be read along one path, symbol by
symbol, and the number of states is finite. A search through the states, shortest paths first, finds
a path with different verdicts, or proves that there is no such path::

    old  Disallow: *=  Allow: /thmb/*
    new  Disallow: *=  Allow: /thmb/*x
    "/", "t", ... "/", any, "="      old: allowed, new: disallowed

All symbols that no pattern contains are equivalent, so one of them represents all. The search only
follows paths that can still match a pattern that one side alone has.

**Dot segments.** A path with dot segments is judged both as written and without them, and both must
be allowed. If the sides agree on all paths as written, they agree. If they differ on paths as
written, there are up to two searches: for any path, and for one without dot segments, which is a
witness. So only a rule about paths with dot segments may make a difference that is not found.

Cost: bounded by the `StepBudget`, where a step is one pattern that reads one symbol. The number of
states may be 2 to the number of wildcards, so the search in hostile files ends with the budget.
"""

from __future__ import annotations

import string
from collections import deque
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from scrapy_rep.protocol.paths import END, without_dots

from .probes import as_reference
from .products import Product, ReadState, Said, Says, Sides
from .readers import IN_QUERY, symbols_of
from .rule_patterns import StepBudget, covers, look_steps, matches, may_meet

__all__ = ["Said", "witnesses"]

_OTHERS = (
    *string.ascii_lowercase[::-1],
    *string.digits,
    *string.ascii_uppercase,
    *(f"%{octet:02X}" for octet in range(0x80, 0x100)),
)
_DOTS = (".", "..")
_TO_THE_TOP = ("/..", "/../..", "/../../..", "/../../../x")
_MOST_GIVEN = 3  # for each pattern, since not every path can be in a URL


def witnesses(old: Iterable[Said], new: Iterable[Said], budget: StepBudget) -> Iterator[str]:
    """Paths that the rules judge differently, at least one for each rule that makes a difference.

    If the budget is spent, there may be more. The caller checks the verdicts of both files, since
    a path of the search may have no equivalent URL.
    """
    sides = Sides.of(old, new)
    octets = sum(map(len, sides.patterns))
    for pattern in sorted(sides.changed):
        if not budget.take(look_steps(octets, len(sides.patterns))):
            return
        for path in _of_pattern(sides, pattern, budget):
            yield as_reference(path)


def _of_pattern(sides: Sides, wanted: str, budget: StepBudget) -> Iterator[str]:
    hunt = _Hunt(sides, wanted)
    found = list(hunt.found(budget))
    yield from found
    if not found or any(without_dots(path) == path for path in found):
        return
    yield from hunt.found(budget, has_dots=False)
    yield from (f"{path}{end}" for path in found for end in _TO_THE_TOP)


class _Hunt:
    """The search for paths that are judged differently, as written, because of one pattern.

    Few patterns can make a difference, and few of the others prevent it. So only the first are
    searched at the start; if others decide on a path that this finds, they are added.
    """

    def __init__(self, sides: Sides, wanted: str) -> None:
        self._says = sides.says
        self._wanted = wanted
        self._meeting = [one for one in sides.patterns if one == wanted or may_meet(one, wanted)]
        self._octets = sum(map(len, self._meeting))
        named = {symbol for text in self._meeting for symbol in symbols_of(text)}
        self._other = next(symbol for symbol in _OTHERS if symbol not in named)
        opponents = _opponents(sides.says, self._meeting, wanted)
        self._searched = None if opponents is None else {wanted, *opponents}

    def found(self, budget: StepBudget, *, has_dots: bool = True) -> Iterator[str]:
        """The paths, those without dot segments first; only these unless `has_dots`."""
        given: set[str] = set()
        while self._searched is not None:
            patterns = [text for text in self._meeting if text in self._searched]
            search = _Search(Product(patterns, self._says), patterns.index(self._wanted))
            beside: set[str] = set()
            for path in search.found(self._other, budget, has_dots=has_dots):
                if not budget.take(look_steps(self._octets, len(self._meeting))):
                    return
                deciders, is_difference = self._judged(path)
                if is_difference and path not in given:
                    given.add(path)
                    yield path
                beside |= deciders - self._searched
                if beside:
                    break
            if given or not beside:
                return
            self._searched |= beside

    def _judged(self, path: str) -> tuple[set[str], bool]:
        """The patterns that decide on a path for each side, and whether the verdicts differ."""
        matched = [text for text in self._meeting if matches(text, path + END)]
        one, other = (_decision(says, matched) for says in self._says)
        return {one[2], other[2]} - {""}, one[1] is not other[1]


def _decision(says: dict[str, bool], matched: list[str]) -> tuple[int, bool, str]:
    """The decision of a side on a path that these patterns match, with the deciding one last."""
    decisions = ((len(text), says[text], text) for text in matched if text in says)
    return max(decisions, default=(0, True, ""))


def _opponents(says: Says, patterns: Iterable[str], wanted: str) -> set[str] | None:
    """The patterns that may give another answer where `wanted` decides; None without any.

    ::

        old  Disallow: /a*  Disallow: /a/b  Allow: /a/b/c
        new  Disallow: /a   Allow: /a/b/c

    Where ``/a/b`` decides, ``/a`` gives the same answer: a new rule that allows and outranks ``/a``
    on such a path also outranks ``/a/b``, and is among the old rules.
    """
    found: set[str] = set()
    is_settled = True
    for own, other in (says, says[::-1]):
        if wanted not in own:
            continue
        answer = own[wanted]
        instead = max(
            (
                (len(text), answer)
                for text in patterns
                if other.get(text) is answer and covers(text, wanted)
            ),
            default=(0, True),
        )
        rank = len(wanted), answer
        is_settled = is_settled and (answer or instead[0] > 0)
        found |= {
            text
            for text in patterns
            if other.get(text, answer) is not answer
            and (len(text), other[text]) > instead
            and not (own.get(text) is other[text] and (len(text), other[text]) > rank)
        }
    return None if is_settled and not found else found


class _PathState(NamedTuple):
    """The other properties of a place in a path that matter.

    Attributes:
        has_dots: whether dot segments are ignored.
        has_query: whether some pattern reads a query differently.
        in_query: whether the query has begun.
        segment: "", ".", "..", or "x" for others.
    """

    has_dots: bool
    has_query: bool
    in_query: bool = False
    segment: str = ""

    def behind(self, symbol: str) -> _PathState | None:
        """The place after a symbol; None if a dot segment ends there and must not."""
        if self.in_query:
            return self
        if self.has_dots:
            return self._replace(in_query=self.has_query and symbol == "?")
        if symbol in "/?":
            there = self._replace(in_query=symbol == "?", segment="")
            return None if self.ends_in_dots else there
        segment = self.segment + symbol
        return self._replace(segment=segment if segment in _DOTS else "x")

    @property
    def ends_in_dots(self) -> bool:
        """Whether a path that ends here has a dot segment that is not permitted."""
        return self.segment in _DOTS


class _Search:
    """The paths that some patterns of both sides judge differently because of one of them."""

    def __init__(self, product: Product, wanted: int) -> None:
        self._product = product
        self._wanted = wanted
        # If no pattern contains these escapes, path and query are read in the same way.
        self._has_query = not IN_QUERY.keys().isdisjoint(product.symbols)

    def found(self, other: str, budget: StepBudget, *, has_dots: bool) -> Iterator[str]:
        """The first such paths, shortest first; without dot segments unless `has_dots`."""
        product = self._product
        first = (product.start, _PathState(has_dots, self._has_query))
        seen = {first}
        queue = deque([(first, "/")])
        given = {True: 0, False: 0}
        while queue and max(given.values()) < _MOST_GIVEN:
            (state, place), path = queue.popleft()
            if not product.is_alive(state, self._wanted):
                continue
            if not place.ends_in_dots and self._is_difference(state):
                given[without_dots(path) == path] += 1
                yield path
            symbols = {*product.named(state, in_query=place.in_query), other, "?"}
            if not budget.take(len(symbols) * len(state.live)):
                return
            # Dots come last: paths without dot segments are better witnesses.
            for symbol in sorted(symbols, key=_dots_last):
                if place.in_query and symbol in IN_QUERY:
                    continue  # a query contains the character instead
                there = place.behind(symbol)
                if there is None:
                    continue
                after = product.step(state, symbol, in_query=place.in_query), there
                if after not in seen:
                    seen.add(after)
                    queue.append((after, path + symbol))

    def _is_difference(self, state: ReadState) -> bool:
        """Whether the sides differ on a path because of the wanted pattern.

        Of two rules that decide differently, at least one is not on both sides.
        """
        deciders = self._product.deciders(state)
        if self._wanted not in deciders:
            return False
        one, other = self._product.answers(deciders)
        return one is not other


def _dots_last(symbol: str) -> tuple[bool, str]:
    return symbol == ".", symbol

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

**Reading patterns.** A symbol is a character or an escape. Bit n of the state of a pattern means
that n of its symbols matched::

    "/a*b"  start {0}   "/" {1}   "a" {2}   "x" {2}   "b" matched

A pattern that matches any rest of the path removes all patterns that it outranks: they can't decide
any more, and paths that differ only in them have the same state::

    old  Disallow: /a*  Allow: /a       after "/a", only "/a*" is left of the old rules
    new  Disallow: /a                   and "/a" of the new ones: both disallow in any case
"""

from __future__ import annotations

import re
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from scrapy_rep.protocol.paths import END, without_dots
from scrapy_rep.protocol.ruleset import folder_of
from scrapy_rep.protocol.wildcards import is_twofold

from .probes import LETTERS, as_reference
from .rule_patterns import StepBudget, covers, is_live, look_steps, matches, may_meet

_OTHERS = (*LETTERS, *(f"%{octet:02X}" for octet in range(0x80, 0x100)))
_DOTS = (".", "..")
_TO_THE_TOP = ("/..", "/../..", "/../../..", "/../../../x")
_MOST_GIVEN = 3  # for each pattern, since not every path can be in a URL


_SYMBOL = re.compile(r"%[0-9A-F]{2}|.", re.DOTALL)

IN_QUERY = {"%2F": "/", "%3F": "?"}
"""Escapes that match only in a path, with the characters that a query contains instead."""

MATCHED = -1
"""The state of a pattern that matches any rest of the path."""

_MOST_STEPS_KEPT = 20_000  # for one pattern; a hostile one has more states than fit into memory


def symbols_of(pattern: str) -> list[str]:
    """The symbols of a pattern or a path in normal form, including ``*``."""
    return _SYMBOL.findall(pattern.removesuffix(END))


@dataclass(frozen=True, slots=True)
class Steps:
    """The states after a state: by symbol if it matters, and for all other symbols."""

    named: dict[str, int]
    other: int


class PatternReader:
    """One pattern in normal form."""

    def __init__(self, pattern: str) -> None:
        self.has_end = pattern.endswith(END)
        self._wants = defaultdict[str, int](int)
        self._wants_in_query = defaultdict[str, int](int)  # for escapes after a wildcard
        self._stays = 0  # the places of wildcards
        self._kept: dict[tuple[int, bool], Steps] = {}
        count = 0
        for symbol in symbols_of(pattern):
            if symbol == "*":
                self._stays |= 1 << count
            else:
                self._wants[symbol] |= 1 << count
                if symbol in IN_QUERY and self._stays and is_twofold(pattern):
                    self._wants_in_query[IN_QUERY[symbol]] |= 1 << count
                count += 1
        self._last = 1 << count
        self.symbols = frozenset(self._wants)
        self.start = self._settled(1)

    def steps(self, state: int, *, in_query: bool = False) -> Steps:
        """The steps from a state that is neither 0 nor `MATCHED`."""
        known = self._kept.get((state, in_query))
        if known is not None:
            return known
        stays = state & self._stays
        found = defaultdict[str, int](int)
        for wants in (self._wants, self._wants_in_query if in_query else {}):
            for symbol, places in wants.items():
                if state & places:
                    found[symbol] |= (state & places) << 1
        named = {symbol: self._settled(places | stays) for symbol, places in found.items()}
        steps = Steps(named, self._settled(stays))
        if len(self._kept) < _MOST_STEPS_KEPT:
            self._kept[state, in_query] = steps
        return steps

    def _settled(self, state: int) -> int:
        return MATCHED if state & self._last and not self.has_end else state

    def is_match(self, state: int) -> bool:
        """Whether the pattern matches a path that ends here."""
        return state == MATCHED or bool(state & self._last)


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
        read = ((number, readers[number].steps(at, in_query=in_query)) for number, at in state.live)
        found = ((number, steps.named.get(symbol, steps.other)) for number, steps in read)
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
        all_steps = (readers[number].steps(at, in_query=in_query) for number, at in state.live)
        return {symbol for steps in all_steps for symbol in steps.named}

    def differs(self, state: ReadState, wanted: int) -> bool:
        """Whether the sides differ on a path that ends here because of the wanted pattern.

        Of two rules that decide differently, at least one is not on both sides.
        """
        ended = [number for number, at in state.live if self._readers[number].is_match(at)]
        sides = zip(state.winners, self._ranks, strict=True)
        deciders = tuple(max((winner, *ended), key=ranks.__getitem__) for winner, ranks in sides)
        return wanted in deciders and len({*self._answers_of(deciders)}) > 1

    def _answers_of(self, deciders: Iterable[int]) -> Iterator[bool]:
        """The answer of each file, given the number of its deciding pattern."""
        for side, number in enumerate(deciders):
            yield number == NOBODY or self._answers[number][side] is not False

    def is_alive(self, state: ReadState, wanted: int) -> bool:
        """Whether a pattern may cause different verdicts on some path that continues from here.

        False is certain; True is not.
        """
        if wanted not in state.winners:
            return any(number == wanted for number, _ in state.live)
        shared, other = self._answers_of(state.winners)
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
    own = ((text, number) for number, text in enumerate(patterns) if text in says)
    order = [number for _, _, _, number in sorted((len(one), says[one], one, n) for one, n in own)]
    ranks = [0] * (len(patterns) + 1)
    for rank, number in enumerate(order, start=1):
        ranks[number] = rank
    return ranks


def witnesses(old: Iterable[Said], new: Iterable[Said], budget: StepBudget) -> Iterator[str]:
    """Paths that the rules judge differently, at least one for each rule that makes a difference.

    If the budget is spent, there may be more. The caller checks the verdicts of both files, since
    a path of the search may have no equivalent URL.
    """
    one, other = says = _said(old), _said(new)
    patterns = list(dict.fromkeys((*one, *other)))
    octets = sum(map(len, patterns))
    for pattern in sorted(text for text in patterns if one.get(text) is not other.get(text)):
        if not budget.take(look_steps(octets, len(patterns))):
            return
        for path in _of_pattern(_Hunt(says, patterns, pattern), budget):
            yield as_reference(path)


def _of_pattern(hunt: _Hunt, budget: StepBudget) -> Iterator[str]:
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

    def __init__(self, says: Says, patterns: Iterable[str], wanted: str) -> None:
        self._says = says
        self._wanted = wanted
        self._meeting = [one for one in patterns if one == wanted or may_meet(one, wanted)]
        self._octets = sum(map(len, self._meeting))
        named = {symbol for text in self._meeting for symbol in symbols_of(text)}
        self._other = next(symbol for symbol in _OTHERS if symbol not in named)
        opponents = _opponents(says, self._meeting, wanted)
        self._searched = None if opponents is None else {wanted, *opponents}

    def found(self, budget: StepBudget, *, has_dots: bool = True) -> Iterator[str]:
        """The paths, those without dot segments first; only these unless `has_dots`."""
        given: set[str] = set()
        while self._searched is not None:
            patterns = [text for text in self._meeting if text in self._searched]
            product, wanted = Product(patterns, self._says), patterns.index(self._wanted)
            beside: set[str] = set()
            for path in _search(product, wanted, self._other, budget, has_dots=has_dots):
                if not budget.take(look_steps(self._octets, len(self._meeting))):
                    return
                one, other = self._decisions(path)
                if one[1] is not other[1] and path not in given:
                    given.add(path)
                    yield path
                beside |= {one[2], other[2]} - {"", *self._searched}
                if beside:
                    break
            if given or not beside:
                return
            self._searched |= beside

    def _decisions(self, path: str) -> Iterator[tuple[int, bool, str]]:
        """The decision of each side on a path, with the deciding pattern last."""
        matched = [text for text in self._meeting if matches(text, path + END)]
        for says in self._says:
            decisions = ((len(text), says[text], text) for text in matched if text in says)
            yield max(decisions, default=(0, True, ""))


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
        same = (text for text in patterns if other.get(text) is answer and covers(text, wanted))
        instead = max(((len(text), answer) for text in same), default=(0, True))
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


def _search(
    product: Product, wanted: int, other: str, budget: StepBudget, *, has_dots: bool
) -> Iterator[str]:
    """The first paths that both sides judge differently because of the wanted pattern.

    They come shortest first, without dot segments unless `has_dots`. `other` is a symbol that no
    pattern has.
    """
    # If no pattern contains these escapes, path and query are read in the same way.
    has_query = not IN_QUERY.keys().isdisjoint(product.symbols)
    first = (product.start, _PathState(has_dots, has_query))
    seen = {first}
    queue = deque([(first, "/")])
    given = {True: 0, False: 0}
    while queue and max(given.values()) < _MOST_GIVEN:
        (state, place), path = queue.popleft()
        if not product.is_alive(state, wanted):
            continue
        if not place.ends_in_dots and product.differs(state, wanted):
            given[without_dots(path) == path] += 1
            yield path
        symbols = {*product.named(state, in_query=place.in_query), other, "?"}
        if not budget.take(len(symbols) * len(state.live)):
            return
        # Dots come last: paths without dot segments are better witnesses.
        for symbol in sorted(symbols, key=lambda symbol: (symbol == ".", symbol)):
            if place.in_query and symbol in IN_QUERY:
                continue  # a query contains the character instead
            there = place.behind(symbol)
            if there is None:
                continue
            after = product.step(state, symbol, in_query=place.in_query), there
            if after not in seen:
                seen.add(after)
                queue.append((after, path + symbol))

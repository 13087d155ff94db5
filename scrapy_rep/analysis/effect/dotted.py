"""Find paths with dot segments that two sets of rules judge differently, if no others are found.

Such a path is judged twice, as written and without its dot segments, and must be allowed both
times. So the sides must differ on the path as written, and the side that allows it must also allow
the path without dot segments::

    old  Disallow: */a/*  Allow: /./a/*.
    new  Disallow: */a/*
    "/./a/."   written: allowed, disallowed   without: "/a/", which both disallow
    "/./a/.."  written: allowed, disallowed   without: "/", which both allow: a witness

Both forms are read along one path. ``..`` removes a segment, so the states at the beginning of each
segment are kept.

Cost: bounded by the `StepBudget`, and by `_MOST_PLACES`: paths may climb and descend forever, so
here, unlike in `witnesses`, an empty result proves nothing.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from .products import Product, ReadState, Sides
from .readers import IN_QUERY, symbols_of
from .rule_patterns import StepBudget

DOTS = (".", "..")

_MOST_PLACES = 20_000
_MOST_DEPTH = 6  # segments
_MOST_GIVEN = 2
_DIVIDING = ("/", "?", ".", "/..", "/../")  # those with several symbols are needed most


class _Bare(NamedTuple):
    """The state of reading a path without its dot segments.

    Attributes:
        begins: the states at the beginning of its segments; the last segment is incomplete.
        state: the current state.
        segment: the last segment: "", ".", "..", or "x" for others.
        in_query: whether the query has begun.
        is_dotted: whether the path differs from the path as written.
    """

    begins: tuple[ReadState, ...]
    state: ReadState
    segment: str = ""
    in_query: bool = False
    is_dotted: bool = False

    def behind(self, symbol: str, product: Product) -> _Bare:
        """The state after a symbol."""
        if self.in_query:
            return self._replace(state=product.step(self.state, symbol, in_query=True))
        if symbol not in "/?":
            segment = self.segment + symbol
            state = product.step(self.state, symbol)
            return self._replace(state=state, segment=segment if segment in DOTS else "x")
        ended = self.ended()
        if symbol == "?":
            return ended._replace(state=product.step(ended.state, "?"), in_query=True)
        if self.segment in DOTS:
            return ended
        state = product.step(ended.state, "/")
        return ended._replace(begins=(*ended.begins, state), state=state)

    def ended(self) -> _Bare:
        """The state after its last segment ends: ``/a/..`` is ``/``."""
        if self.segment not in DOTS:
            return self._replace(segment="")
        begins = self.begins
        if self.segment == ".." and len(begins) > 1:
            begins = begins[:-1]
        return _Bare(begins, begins[-1], is_dotted=True)


def dotted(
    sides: Sides,
    patterns: Sequence[str],
    wanted: str,
    starts: Iterable[str],
    *,
    other: str,
    budget: StepBudget,
) -> Iterator[str]:
    """The first such paths because of one pattern, shortest first.

    Args:
        sides: the rules.
        patterns: the patterns that may match the same path as written.
        wanted: the pattern.
        starts: paths that are judged differently as written; continuing them is often enough.
        other: a symbol for all symbols that `patterns` do not contain.
        budget: the limit of work.
    """
    walk = _Walk(sides, patterns)
    number = patterns.index(wanted)
    queue = deque((walk.along(path), path) for path in dict.fromkeys((*starts, "/")))
    seen = {place for place, _ in queue}
    given = 0
    while queue and given < _MOST_GIVEN:
        place, path = queue.popleft()
        if not walk.written.is_alive(place.written, number):
            continue
        if walk.is_difference(place):
            given += 1
            yield path
        steps = (*sorted(walk.named(place) | {other}), *(() if place.bare.in_query else _DIVIDING))
        if len(seen) > _MOST_PLACES or not budget.take(len(steps) * (1 + place.live_count)):
            return
        for step in steps:
            if place.bare.in_query and step in IN_QUERY:
                continue  # a query contains the character instead
            after = walk.along(step, place)
            if after not in seen and len(after.bare.begins) <= _MOST_DEPTH:
                seen.add(after)
                queue.append((after, path + step))


class _At(NamedTuple):
    """The states after a path: as written, and without its dot segments."""

    written: ReadState
    bare: _Bare

    @property
    def live_count(self) -> int:
        return len(self.written.live) + len(self.bare.state.live)


class _Walk:
    """The patterns of both sides, read along paths in both forms."""

    def __init__(self, sides: Sides, patterns: Sequence[str]) -> None:
        self.written = Product(patterns, sides.says)
        self._without = Product(sides.patterns, sides.says)

    def along(self, path: str, place: _At | None = None) -> _At:
        """The place after a path, or after some more symbols at a place."""
        symbols = symbols_of(path)
        if place is None:  # a path begins with "/", which both have already read
            bare = _Bare((self._without.start,), self._without.start)
            place = _At(self.written.start, bare)
            symbols = symbols[1:]
        state, bare = place
        for symbol in symbols:
            state = self.written.step(state, symbol, in_query=bare.in_query)
            bare = bare.behind(symbol, self._without)
        return _At(state, bare)

    def named(self, place: _At) -> set[str]:
        """The symbols that matter to some pattern, in either form."""
        in_query = place.bare.in_query
        return self.written.named(place.written, in_query=in_query) | self._without.named(
            place.bare.state, in_query=in_query
        )

    def is_difference(self, place: _At) -> bool:
        """Whether a path that ends here is judged differently, and has dot segments."""
        bare = place.bare if place.bare.in_query else place.bare.ended()
        if not bare.is_dotted:
            return False
        written = self.written.answers(self.written.deciders(place.written))
        without = self._without.answers(self._without.deciders(bare.state))
        one, other = (a and b for a, b in zip(written, without, strict=True))
        return one is not other

"""Read a pattern along a path, symbol by symbol: the states that `witnesses` searches.

A symbol is a character or an escape. Bit n of a state means that n symbols of the pattern matched::

    "/a*b"  start {0}   "/" {1}   "a" {2}   "x" {2}   "b" matched

Cost: each state and symbol is computed once, linear in the octets of the pattern, and then looked
up.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from scrapy_rep.protocol.paths import END
from scrapy_rep.protocol.wildcards import is_twofold

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
        self.symbols: set[str] = set()
        self._wants: dict[str, int] = {}
        self._wants_in_query: dict[str, int] = {}  # characters for escapes after a wildcard
        self._stays = 0  # the places of wildcards
        self._kept: dict[tuple[int, bool], Steps] = {}
        count = 0
        for symbol in symbols_of(pattern):
            if symbol == "*":
                self._stays |= 1 << count
            else:
                self._want(symbol, 1 << count, is_either=is_twofold(pattern) and self._stays != 0)
                count += 1
        self._last = 1 << count
        self.start = self._settled(1)

    def _want(self, symbol: str, place: int, *, is_either: bool) -> None:
        self.symbols.add(symbol)
        self._wants[symbol] = self._wants.get(symbol, 0) | place
        meant = IN_QUERY.get(symbol) if is_either else None
        if meant is not None:
            self._wants_in_query[meant] = self._wants_in_query.get(meant, 0) | place

    def steps(self, state: int, *, in_query: bool = False) -> Steps:
        """The steps from a state that is neither 0 nor `MATCHED`."""
        known = self._kept.get((state, in_query))
        if known is not None:
            return known
        stays = state & self._stays
        found = {
            symbol: (state & places) << 1
            for symbol, places in self._wants.items()
            if state & places
        }
        for symbol, places in self._wants_in_query.items() if in_query else ():
            if state & places:
                found[symbol] = found.get(symbol, 0) | (state & places) << 1
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

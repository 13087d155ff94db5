"""Path patterns and their relations: slow and clear code that reads one pattern at a time.

Patterns and paths are in normal form (`protocol.paths`): a bare ``*`` is the wildcard, and a bare
``$``, always last, is the end. Every path ends with it. So a pattern consists of literal parts with
``*`` between them: the first begins the path, and the others follow in order. If they fit at all,
they fit at their leftmost places.

Cost of each function: linear in the lengths of its arguments, except for `str.find`, which may take
their product for hostile octets.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from scrapy_rep.protocol import wildcards
from scrapy_rep.protocol.paths import END, normal_path, normal_pattern, path_of, uri_without_dots
from scrapy_rep.protocol.ruleset import folder_of
from scrapy_rep.protocol.verdict import Rule
from scrapy_rep.protocol.wildcards import fits_either, is_twofold
from scrapy_rep.protocol.written import has_lone_percent, matches_as_written

EVERYTHING = ("/", "/*", "*")
"""Patterns that match every path."""


def pattern_of(value: bytes) -> str:
    """The normal form of a rule's value, octets as written."""
    return normal_pattern(value.decode("latin-1"))


def is_live(pattern: str) -> bool:
    """Whether a pattern can match any path: paths begin with ``/``."""
    return pattern[:1] in ("/", "*")


def literal_of(pattern: str) -> str:
    """The literal part at the beginning of every path that the pattern matches."""
    return pattern.partition("*")[0]


def matches(pattern: str, path: str) -> bool:
    """Whether a pattern matches a path in normal form, with its end."""
    if is_twofold(pattern):
        return fits_either(pattern, path)
    return wildcards.matches(pattern, path)


def covers(wide: str, narrow: str) -> bool:
    """Whether the wide pattern certainly matches every path that the narrow one matches.

    The narrow pattern is read as if it were a path: only a ``*`` of the wide one can match its
    ``*``, since no literal part contains one.
    """
    return matches(wide, narrow)


def may_meet(one: str, other: str) -> bool:
    """Whether some path may match both; False is certain, True is not."""
    if "*" not in one and one.endswith(END):
        return matches(other, one)
    if "*" not in other and other.endswith(END):
        return matches(one, other)
    first, second = literal_of(one), literal_of(other)
    return first.startswith(second) or second.startswith(first)


_OCTETS_PER_STEP = 16


@dataclass
class StepBudget:
    """The number of steps that may still be taken."""

    steps: int
    is_spent: bool = False

    def take(self, steps: int = 1) -> bool:
        """Take some steps; False if the budget is too small for them."""
        if self.is_spent or self.steps < steps:
            self.is_spent = True
            return False
        self.steps -= steps
        return True


def look_steps(octets: int, count: int = 1) -> int:
    """The steps to read `count` patterns or paths with `octets` octets in total.

    A step takes about 0.7 us, the time to compare two short patterns, or to read 16 more octets of
    them, which may all be wildcards.
    """
    return count + octets // _OCTETS_PER_STEP


def in_order_of_decision(rules: Iterable[Rule]) -> list[tuple[str, str, Rule]]:
    """Patterns in normal form and as written, with their rules: the first that matches decides.

    An Allow rule may have two. Longer patterns come first; among equal ones, allow rules (RFC 9309,
    2.2.2), then the first line.
    """
    found = []
    for rule in rules:
        written = rule.path_pattern.decode("latin-1")
        found.append((normal_pattern(written), written, rule))
        folder = folder_of(found[-1][0]) if rule.allow else None
        if folder is not None:
            found.append((folder, folder_of(written) or "", rule))
    return sorted(found, key=lambda one: (-len(one[0]), not one[2].allow, one[2].line))


class Matcher:
    """The rules of a group, for many URLs.

    Cost for a URL: O(length of the path) for each rule.
    """

    def __init__(self, rules: Iterable[Rule]) -> None:
        self._patterns = [one for one in in_order_of_decision(rules) if one[0]]

    def matching(self, url: str) -> tuple[Rule, ...]:
        """The rules that match, most octets first, allow before disallow, then in file order.

        Equal rules are in file order; RFC 9309, 2.2.2 defines no other. For a URL with dot segments
        these are the rules of the form that decides: as written, unless that is allowed and the
        other form is not.
        """
        written = self._on(url)
        bare = uri_without_dots(url)
        if bare == url or _disallows(written):
            return tuple(written)
        without = self._on(bare)
        return tuple(without if _disallows(without) else written)

    def _on(self, url: str) -> list[Rule]:
        url_path = path_of(url)
        path = normal_path(url_path)
        found = (
            rule
            for text, written, rule in self._patterns
            if matches(text, path)
            or (has_lone_percent(written) and matches_as_written(written, url_path))
        )
        return list(dict.fromkeys(found))


def _disallows(matching: list[Rule]) -> bool:
    return bool(matching) and not matching[0].allow

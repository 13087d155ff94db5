"""Path patterns, and how they lie to each other: the slow and clear way, a pattern at a time.

Patterns and paths are in normal form (`protocol.paths`): a bare ``*`` is the wildcard, and a bare
``$``, which stands last only, the end. Every path ends with it. So a pattern is literal parts with
``*`` between them, the first of which begins the path, and the others follow in their order; if
they fit at all, they fit at their leftmost places.

Cost of each function: linear in the lengths of its arguments, but for `str.find`, which may take
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


def pattern_of(value: bytes) -> str:
    """The normal form of a rule's value, octets as written."""
    return normal_pattern(value.decode("latin-1"))


def is_live(pattern: str) -> bool:
    """Whether a pattern can match anything: paths begin with ``/``."""
    return pattern[:1] in ("/", "*")


def literal_of(pattern: str) -> str:
    """The literal part that every path begins with that the pattern matches."""
    return pattern.partition("*")[0]


def matches(pattern: str, path: str) -> bool:
    """Whether a pattern matches a path in normal form, with its end."""
    if is_twofold(pattern):
        return fits_either(pattern, path)
    return wildcards.matches(pattern, path)


def covers(wide: str, narrow: str) -> bool:
    """Whether one pattern surely matches whatever the other does.

    The narrow pattern is taken as if it were a path: what stands for its ``*`` can then only be
    met by a ``*`` of the wide one, since no literal holds one.
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
    """How many steps may still be taken."""

    steps: int
    is_spent: bool = False

    def take(self, steps: int = 1) -> bool:
        """Whether so many more are within the budget; they are taken then."""
        if self.is_spent or self.steps < steps:
            self.is_spent = True
            return False
        self.steps -= steps
        return True


def look_steps(octets: int, count: int = 1) -> int:
    """The steps of some looks at patterns or paths of so many octets in all.

    About 0.7 us each: so long takes a look at two short patterns, or at 16 octets more of them, all
    of which may be wildcards.
    """
    return count + octets // _OCTETS_PER_STEP


class Matcher:
    """The rules of a group, read once and asked often.

    Cost of a question: each rule is tried, O(length of the path) for each.
    """

    def __init__(self, rules: Iterable[Rule]) -> None:
        self._patterns: list[tuple[str, str, Rule]] = []
        for rule in rules:
            written = rule.path_pattern.decode("latin-1")
            pattern = pattern_of(rule.path_pattern)
            if not pattern:
                continue
            self._patterns.append((pattern, written, rule))
            folder = folder_of(pattern) if rule.allow else None
            if folder is not None:
                self._patterns.append((folder, folder_of(written) or "", rule))

    def matching(self, url: str) -> tuple[Rule, ...]:
        """The rules that match, most octets first, allow before disallow, then in file order.

        Of equal rules the first line comes first; RFC 9309, 2.2.2 knows no other order. For a URL
        with dot segments these are the rules of the reading that decides: as it is written, unless
        that is allowed and the other one is not.
        """
        written = self._on(url)
        bare = uri_without_dots(url)
        if bare == url or _disallows(written):
            return tuple(written)
        without = self._on(bare)
        return tuple(without if _disallows(without) else written)

    def _on(self, url: str) -> list[Rule]:
        asked = path_of(url)
        path = normal_path(asked)
        found = [
            (-len(text), rule)
            for text, written, rule in self._patterns
            if matches(text, path)
            or (has_lone_percent(written) and matches_as_written(written, asked))
        ]
        found.sort(key=lambda match: (match[0], not match[1].allow, match[1].line))
        return list(dict.fromkeys(rule for _, rule in found))


def _disallows(matching: list[Rule]) -> bool:
    return bool(matching) and not matching[0].allow

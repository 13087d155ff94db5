"""Prepare the rules of one group, in a form that suits their number."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from operator import itemgetter
from typing import NamedTuple

from .lines import WHITE_SPACE
from .matching import FewRules, RuleSet
from .packed import PackedRules
from .paths import END, normal_pattern, normal_patterns
from .wildcards import is_twofold
from .written import BothReadings, WrittenRule, has_lone_percent

# A literal part that may match the digits of an escape, as in ``/*9``.
_MEETS_DIGITS = re.compile(r"\*[0-9A-F]")

_INDEX = "/index.htm"  # the start of the last segment in the path of a folder's own page

PACKED_FROM = 1024  # rules


# The memory of prepared rules in addition to their octets; shown by `benchmarks/hostile.py`.
_RULE_OCTETS = 100
_WILD_OCTETS = 300  # in addition: its parts, and its place in the list of its head
_PACKED_SHARE = 1.8  # of the octets of a group, at most


class Prepared(NamedTuple):
    """The rules of a group, ready to decide.

    Attributes:
        rules: the rules in the form that suits their number.
        meets_escapes: whether some pattern could match within the escapes of a path, so that paths
            must be normalised first; otherwise no rule matches unusual characters, escaped or not.
        kept_octets: roughly the memory that the rules take.
    """

    rules: RuleSet
    meets_escapes: bool
    kept_octets: int


def prepared(disallow: list[str], allow: list[str], own_octets: int = 0) -> Prepared:
    """Prepare the rules of a group that has `own_octets` octets in its file.

    Takes path patterns as written, one character per octet. A pattern that begins with neither
    ``/`` nor ``*`` matches nothing, since paths begin with ``/`` (RFC 9309, 2.2.2). An empty
    pattern forbids nothing, and any rule that matches outranks it; it has a key so that a verdict
    can name the line that allows everything.

    Cost: O(n log n) in the octets of the patterns, since they are sorted.
    """
    patterns = normal_patterns(disallow + allow)
    written: list[WrittenRule] = []
    if any("%25" in pattern for pattern in patterns):
        written = [*_written(disallow, allow=False), *_written(allow, allow=True)]
    disallow, allow = patterns[: len(disallow)], patterns[len(disallow) :]
    text = "".join(patterns)
    has_wild = "*" in text
    meets_escapes = "%" in text or (has_wild and _MEETS_DIGITS.search(text) is not None)
    places = places_of_allow(allow) if allow else {}
    has_twofold = has_wild and meets_escapes and any(map(is_twofold, [*disallow, *places]))
    is_small = len(patterns) < PACKED_FROM and not has_twofold
    form = FewRules if is_small else PackedRules
    rules: RuleSet = form(disallow, places, has_wild=has_wild)
    if written:
        rules = BothReadings(rules, written)
        own_octets *= 2
    wild = min(text.count("*"), len(patterns)) + len(written)
    kept = own_octets + _RULE_OCTETS * len(patterns) + _WILD_OCTETS * wild
    return Prepared(rules, meets_escapes, kept if is_small else int(own_octets * _PACKED_SHARE))


def _written(rules: list[str], *, allow: bool) -> Iterator[WrittenRule]:
    """The rules of one kind that are also compared as written."""
    for place, rule in enumerate(rules):
        pattern = rule.strip(WHITE_SPACE)
        folder = folder_of(pattern) if allow else None
        for text in (pattern, folder):
            if text is not None and has_lone_percent(text):
                yield WrittenRule(len(normal_pattern(text)), allow, -place, text)


def places_of_allow(allow: Sequence[str]) -> dict[str, int]:
    """Each pattern of the allow rules with the place of its first rule, in their order.

    As Google does, this reads ``Allow: /x/index.htm`` also as ``Allow: /x/$``.
    """
    places: dict[str, int] = {}
    for place, pattern in enumerate(allow):
        places.setdefault(pattern, place)
    of_index = [pattern for pattern in places if _INDEX in pattern]
    for pattern in of_index:
        index = folder_of(pattern)
        if index is not None:
            places[index] = min(places[pattern], places.get(index, places[pattern]))
    return dict(sorted(places.items(), key=itemgetter(1))) if of_index else places


def folder_of(pattern: str) -> str | None:
    """The ``/x/$`` that Google also reads in ``Allow: /x/index.htm``; None for other patterns."""
    folder, slash, name = pattern.rpartition("/")
    return folder + slash + END if f"{slash}{name}".startswith(_INDEX) else None

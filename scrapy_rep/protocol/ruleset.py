"""The rules of one group, made ready to decide in the form that suits their number."""

from __future__ import annotations

import re
from collections.abc import Sequence
from operator import itemgetter

from .matching import FewRules, Rules
from .packed import PackedRules
from .paths import END, normal_patterns

# A literal that may begin at one of an escape's digits, as in ``/*9``.
_MEETS_DIGITS = re.compile(r"\*[0-9A-F]")

_PACKED_FROM = 1024  # rules


def prepared(disallow: list[str], allow: list[str]) -> tuple[Rules, bool]:
    """The rules of a group, from its path patterns as written, octets as characters.

    A pattern that begins with neither ``/`` nor ``*`` matches nothing, since paths begin with
    ``/`` (RFC 9309, 2.2.2): it is no prefix of any. An empty one forbids nothing, and any rule
    that matches outranks it; it has a key so that a verdict can name the line that leaves
    everything allowed.

    Returns:
        The rules; and whether some pattern could match within the escapes of a path, so that
        paths have to be in normal form: else, odd characters match nothing, escaped or not.
    """
    patterns = normal_patterns(disallow + allow)
    disallow, allow = patterns[: len(disallow)], patterns[len(disallow) :]
    text = "".join(patterns)
    has_wild = "*" in text
    meets_escapes = "%" in text or (has_wild and _MEETS_DIGITS.search(text) is not None)
    form = FewRules if len(patterns) < _PACKED_FROM else PackedRules
    places = places_of_allow(allow) if allow else {}
    return form(disallow, places, has_wild=has_wild), meets_escapes


def places_of_allow(allow: Sequence[str]) -> dict[str, int]:
    """Each pattern of the allow rules with the place of the first that has it, in their order.

    Google reads ``Allow: /x/index.htm`` as ``Allow: /x/$`` besides.
    """
    places: dict[str, int] = {}
    for place, pattern in enumerate(allow):
        places.setdefault(pattern, place)
    of_index = [pattern for pattern in places if "/index.htm" in pattern]
    for pattern in of_index:
        folder, slash, name = pattern.rpartition("/")
        if name.startswith("index.htm"):
            index = folder + slash + END
            places[index] = min(places[pattern], places.get(index, places[pattern]))
    return dict(sorted(places.items(), key=itemgetter(1))) if of_index else places

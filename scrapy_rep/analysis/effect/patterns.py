"""Path patterns, and how they lie to each other: the slow and clear way, a pattern at a time.

Patterns and paths are in normal form (`protocol.paths`): a bare ``*`` is the wildcard, and a bare
``$``, which stands last only, the end. Every path ends with it. So a pattern is literal parts with
``*`` between them, the first of which begins the path, and the others follow in their order; if
they fit at all, they fit at their leftmost places.

Cost of each function: linear in the lengths of its arguments, but for `str.find`, which may take
their product for hostile octets.
"""

from __future__ import annotations

from scrapy_rep.protocol import wildcards
from scrapy_rep.protocol.paths import END, normal_pattern
from scrapy_rep.protocol.wildcards import fits_either, is_twofold


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

"""What the entries of nearly all sitemaps look like, to read them as a whole and not tag by tag.

They have children without attributes, links that are nothing else, and images and the like. To read
one as a whole takes about half the time (``benchmarks/sitemaps.py reading``). What is otherwise is
read tag by tag, to the same end. In each pattern, a repetition begins with what ends the one before
it, so that looks in vain take linear time.
"""

from __future__ import annotations

import re

_PLAIN = "<([a-z]{1,30})>([^<]*)</\\%d>"
_EMPTY_LINK = '<(?:[a-z]{1,30}:)?link((?:\\s+[a-z:]{1,30}="[^"<>]*")*)\\s*/>'
_LEAF_WITHIN = "<([a-z]{1,30}:[a-z_]{1,30})>[^<&]*</\\%d>"
_NESTED = f"<([a-z]{{1,30}}:[a-z]{{1,30}})>\\s*(?:{_LEAF_WITHIN}\\s*){{1,9}}</\\%d>"


def _child(first: int) -> str:
    """A child, with the number of its first group: of each name, what is behind it refers to it."""
    nested = _NESTED % (first + 4, first + 3)
    return f"(?:{_PLAIN % first}|{_EMPTY_LINK}|{nested})\\s*"


CHILD = re.compile(_child(1))
"""Name and text of a plain child; or attributes of an empty link; or name of a nested child."""

WHOLE = re.compile(f"<(url|sitemap)>\\s*((?:{_child(3)}){{1,40}})</\\1>\\s*")
"""An entry, with the white space behind it: its name, and its children."""

ATTRIBUTE = re.compile('([a-z:]+)="([^"]*)"')
"""Name and value of an attribute of such a link."""

ODD_IN_ATTRIBUTES = re.compile("[&\\t\\n]")
"""What makes of a value another one than is written."""

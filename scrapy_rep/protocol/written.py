"""Rules that hold a ``%`` which begins no escape: they mean escaped URLs.

``Disallow: /itm/*/%`` and ``Disallow: /%E`` are rules of large sites, for what is escaped there.
In normal form the ``%`` is ``%25``, which matches no escape of a path. So such a rule is compared
twice: in normal form, and as it is written with the path as it was requested. It matches if either
does; its length is that of its normal form::

    Disallow: /%E       /%25E, and what begins with /%E: /%E9, /%E2%82%AC
    Disallow: /100%/    /100%25/, and /100%/, which is the same in normal form

Cost of a verdict besides the one in normal form: such rules are tried best first until none can
win; together at most `_STEPS`. Hardly a real file has more than ten of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

from .packed import UNDECIDED
from .paths import END, octets_of
from .wildcards import OutOfWork, Work, matches

if TYPE_CHECKING:
    from .matching import RuleSet

_LONE_PERCENT = re.compile("%(?![0-9A-Fa-f]{2})")
_END = "\u0100"  # of a path as requested; no octet is that
_STEPS = 3_000_000


def has_lone_percent(pattern: str) -> bool:
    """Whether a path pattern, octets as characters, holds a ``%`` that begins no escape."""
    return "%" in pattern and _LONE_PERCENT.search(pattern) is not None


def matches_as_written(pattern: str, path: str, work: Work | None = None) -> bool:
    """Whether a pattern as written, octets as characters, matches a path as requested.

    Raises:
        OutOfWork: to tell would take too long.
    """
    return matches(_with_end(pattern), requested(path), work)


def _with_end(pattern: str) -> str:
    return pattern.removesuffix(END) + _END if pattern.endswith(END) else pattern


def requested(path: str) -> str:
    """Path and query as they were requested, octets as characters, with their end."""
    return octets_of(path) + _END


class WrittenRule(NamedTuple):
    """A rule that is compared as it is written; one that is greater decides.

    Attributes:
        octets: how specific it is.
        allow: whether it allows.
        before: how many rules of its kind stand before it, as a negative number.
        pattern: its path pattern.
    """

    octets: int
    allow: bool
    before: int
    pattern: str


class BothReadings:
    """The rules of a group, some of which are also compared as they are written."""

    def __init__(self, rules: RuleSet, written: Iterable[WrittenRule]) -> None:
        """Take all rules in normal form, and some as they are written."""
        self._rules = rules
        ended = (rule._replace(pattern=_with_end(rule.pattern)) for rule in written)
        self._written = sorted(ended, reverse=True)

    def match(self, path: str, asked: str) -> Any:
        """What decides for a path, in normal form and as it was requested; see `RuleSet`."""
        found = self._rules.match(path, asked)
        if found == UNDECIDED:
            return found
        best = (-1,) if found is None else (*self._rules.decider(found), -self._rules.place(found))
        text = requested(asked)
        work = Work(_STEPS)
        try:
            for rule in self._written:
                if rule <= best:
                    break
                if matches(rule.pattern, text, work):
                    return rule
        except OutOfWork:
            return UNDECIDED
        return found

    def decider(self, key: Any) -> tuple[int, bool]:
        """The octets of the rule behind a key, and whether it allows."""
        return key[:2] if isinstance(key, WrittenRule) else self._rules.decider(key)

    def place(self, key: Any) -> int:
        """How many rules of its kind stand before the rule behind a key."""
        return -key.before if isinstance(key, WrittenRule) else self._rules.place(key)

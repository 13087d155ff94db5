"""Rules with a ``%`` that begins no escape: their authors mean escaped URLs.

Large sites have rules such as ``Disallow: /itm/*/%`` and ``Disallow: /%E`` for escaped characters.
In normal form this ``%`` is ``%25``, which does not match the escapes of a path. So such a rule is
compared in two ways: in normal form, and as written with the path as requested. It matches if
either form does; its length is that of its normal form::

    Disallow: /%E       /%25E, and paths that begin with /%E: /%E9, /%E2%82%AC
    Disallow: /100%/    /100%25/, and /100%/, which is the same in normal form

Cost of a verdict, in addition to the one in normal form: such rules are tried best first until no
rule can win; together at most `_STEPS`. Hardly a real file has more than ten of them.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from .packed import UNDECIDED
from .paths import END, octets_of
from .wildcards import OutOfWork, Work, matches

if TYPE_CHECKING:
    from .matching import RuleSet

_LONE_PERCENT = re.compile("%(?![0-9A-Fa-f]{2})")
_END = "\u0100"  # the end of a path as requested; it is not an octet
_STEPS = 3_000_000


def has_lone_percent(pattern: str) -> bool:
    """Whether a path pattern, one character per octet, has a ``%`` that begins no escape."""
    return "%" in pattern and _LONE_PERCENT.search(pattern) is not None


def matches_as_written(pattern: str, path: str, work: Work | None = None) -> bool:
    """Whether a pattern as written, one character per octet, matches a path as requested.

    Raises:
        OutOfWork: the answer would take too long.
    """
    return matches(_with_end(pattern), requested(path), work)


def _with_end(pattern: str) -> str:
    return pattern.removesuffix(END) + _END if pattern.endswith(END) else pattern


def requested(path: str) -> str:
    """Path and query as requested, one character per octet, with their end."""
    return octets_of(path) + _END


class WrittenRule(NamedTuple):
    """A rule that is compared as written; of two that match, the greater one decides.

    Attributes:
        octets: how specific it is.
        allow: whether it allows.
        before: the number of rules of its kind before it, as a negative number.
        pattern: its path pattern.
    """

    octets: int
    allow: bool
    before: int
    pattern: str


class BothReadings:
    """The rules of a group, some of them also compared as written."""

    def __init__(self, rules: RuleSet, written: Iterable[WrittenRule]) -> None:
        """Take all rules in normal form, and the rules that are also compared as written."""
        self._rules = rules
        ordered = sorted(written, reverse=True)
        # Four columns take a tenth of the memory of as many tuples.
        self._octets = array("I", [rule.octets for rule in ordered])
        self._allows = bytes(rule.allow for rule in ordered)
        self._befores = array("i", [rule.before for rule in ordered])
        self._patterns = "\n".join(rule.pattern for rule in ordered)

    def _written(self) -> Iterator[WrittenRule]:
        """The rules that are compared as written, the most specific first."""
        start = 0
        for octets, allow, before in zip(self._octets, self._allows, self._befores, strict=True):
            end = self._patterns.find("\n", start)
            pattern = self._patterns[start : end if end >= 0 else None]
            start = end + 1
            yield WrittenRule(octets, bool(allow), before, pattern)

    def match(self, path: str, asked: str) -> Any:
        """The key of the deciding rule, in normal form or as requested; see `RuleSet`."""
        found = self._rules.match(path, asked)
        if found == UNDECIDED:
            return found
        best = (-1,) if found is None else (*self._rules.decider(found), -self._rules.place(found))
        text = requested(asked)
        work = Work(_STEPS)
        try:
            for rule in self._written():
                if rule <= best:
                    break
                if matches(_with_end(rule.pattern), text, work):
                    return rule
        except OutOfWork:
            return UNDECIDED
        return found

    def decider(self, key: Any) -> tuple[int, bool]:
        """The octets of a key's rule, and whether it allows."""
        return key[:2] if isinstance(key, WrittenRule) else self._rules.decider(key)

    def place(self, key: Any) -> int:
        """The number of rules of the same kind before a key's rule."""
        return -key.before if isinstance(key, WrittenRule) else self._rules.place(key)

"""The decision, and why: values that can be shown, compared and kept."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

RuleFacts = tuple[bool, bytes, int, int]
"""Whether it allows, its value, the number of its line, its octets in normal form."""


class Reason(Enum):
    """Why a URI may or may not be fetched; the value is for people."""

    RULE = "a rule matches"
    EMPTY_RULE = "no rule matches, and an empty one forbids nothing"
    NO_RULE_MATCHES = "no rule of the group matches"
    NO_GROUP = "no group of the file is for this crawler"
    IMPLICITLY_ALLOWED = "/robots.txt itself is always allowed"
    OVERRIDDEN = "REP_OVERRIDES or REP_POLICY_OVERRIDES says so"
    UNAVAILABLE = "the file is unavailable"
    UNREACHABLE = "the file is unreachable"
    HTML = "the answer is a page of HTML, and no robots.txt"
    CRAWL_DELAY = "the site asks for a longer delay than REP_CRAWL_DELAY_MAX_SECONDS"
    VISIT_TIME = "the crawl ended before the site's visit time"
    TOO_MUCH_WORK = "too many rules with wildcards may match: to tell would take too long"
    OTHER_PARSER = "the parser of ROBOTSTXT_PARSER says so"
    PARSER_FAILED = "the parser of ROBOTSTXT_PARSER failed"
    NOT_JUDGED = "robots.txt does not govern this scheme"
    INVALID_URI = "the URI names no origin that could be asked"


def shown(octets: bytes) -> str:
    """Octets from a site as text for logs, which no terminal obeys."""
    text = octets.decode("utf-8", "backslashreplace")
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


class Rule:
    """One allow or disallow line.

    A verdict's rule is read lazily: most verdicts are never inspected.

    Attributes:
        allow: whether it is an allow rule.
        path_pattern: its value, octets as written.
        line: the number of its line, from 1.
        octets: its length in normal form, wildcards counted: how specific it is (2.2.2).
    """

    __slots__ = ("_found",)

    def __init__(self, allow: bool, path_pattern: bytes, line: int, octets: int) -> None:
        self._found: RuleFacts | Callable[[], RuleFacts] = (allow, path_pattern, line, octets)

    @classmethod
    def to_be_read(cls, read: Callable[[], RuleFacts]) -> Rule:
        """A rule of which `read` tells everything, in the order of the attributes."""
        rule = cls.__new__(cls)
        rule._found = read  # noqa: SLF001 - its own
        return rule

    def _facts(self) -> RuleFacts:
        if not isinstance(self._found, tuple):
            self._found = self._found()
        return self._found

    @property
    def allow(self) -> bool:
        """Whether it is an allow rule."""
        return self._facts()[0]

    @property
    def path_pattern(self) -> bytes:
        """Its value, octets as written."""
        return self._facts()[1]

    @property
    def line(self) -> int:
        """The number of its line, from 1."""
        return self._facts()[2]

    @property
    def octets(self) -> int:
        """Its length in normal form."""
        return self._facts()[3]

    def __eq__(self, other: object) -> bool:
        """Whether it is the same line."""
        return isinstance(other, Rule) and self._facts() == other._facts()

    def __hash__(self) -> int:
        """The hash of what it says."""
        return hash(self._facts())

    def __reduce__(self) -> tuple[type[Rule], RuleFacts]:
        """Copies and pickles are independent of the file."""
        return Rule, self._facts()

    def __repr__(self) -> str:
        """As it would be made."""
        allow, path_pattern, line, octets = self._facts()
        return f"Rule({allow=}, {path_pattern=}, {line=}, {octets=})"

    def __str__(self) -> str:
        """The rule as a robots.txt would spell it, octets that are no text escaped."""
        key = "Allow" if self.allow else "Disallow"
        return f"{key}: {shown(self.path_pattern)}"


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a URI may be fetched, and what decided it.

    Attributes:
        allowed: the answer.
        reason: why.
        rule: the deciding rule, if one decided.
        product_token: the group that decided, as a token in lower case; ``*``; or empty if none.
        robots_txt: the URI of the robots.txt; empty if it is not known.
        is_stale: whether this rests on an old copy, since the file is unreachable.
    """

    allowed: bool
    reason: Reason
    rule: Rule | None = None
    product_token: str = ""
    robots_txt: str = ""
    is_stale: bool = False

    @property
    def line(self) -> int:
        """The number of the deciding rule's line in the file, from 1; 0 if no line decided."""
        return self.rule.line if self.rule is not None else 0

    def __str__(self) -> str:
        """One line that says everything."""
        answer = "allowed" if self.allowed else "disallowed"
        where = f" of {self.robots_txt}" if self.robots_txt else ""
        where += " (a stale copy)" if self.is_stale else ""
        if self.rule is None:
            return f"{answer}: {self.reason.value}{where and f',{where[3:]}'}"
        return f"{answer} by line {self.line}{where} (group {self.product_token}): {self.rule}"


def implicit_verdict(robots_txt: str) -> Verdict:
    """The verdict on a robots.txt itself (RFC 9309, 2.2.2)."""
    return Verdict(allowed=True, reason=Reason.IMPLICITLY_ALLOWED, robots_txt=robots_txt)

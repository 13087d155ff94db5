"""The decision and its reason: values that can be shown, compared and stored."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

RuleFacts = tuple[bool, bytes, int, int]
"""Whether the rule allows, its value, its line number, its octets in normal form."""


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
    HTML = "the answer is an HTML page, not a robots.txt"
    CRAWL_DELAY = "the site requests a longer delay than REP_CRAWL_DELAY_MAX_SECONDS"
    VISIT_TIME = "the crawl ended before the site's visit time"
    TOO_MUCH_WORK = "too many rules with wildcards may match: a decision would take too long"
    OTHER_PARSER = "the parser of ROBOTSTXT_PARSER says so"
    PARSER_FAILED = "the parser of ROBOTSTXT_PARSER failed"
    NOT_JUDGED = "robots.txt does not govern this scheme"
    INVALID_URI = "the URI has no valid origin"
    DROPPED = "an operator dropped this origin"
    GUARDED = "REP_REDIRECT_GUARD refuses this URL, which a site named"


def shown(octets: bytes) -> str:
    """Octets from a site as text for logs, without characters that control a terminal."""
    text = octets.decode("utf-8", "backslashreplace")
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


class Rule:
    """One allow or disallow line.

    Rules in verdicts are read lazily: most verdicts are never inspected.

    Attributes:
        allow: whether it is an allow rule.
        path_pattern: its value; octets as written.
        line: the number of its line, from 1.
        octets: its length in normal form, including wildcards: how specific it is (2.2.2).
    """

    __slots__ = ("_found",)

    def __init__(self, allow: bool, path_pattern: bytes, line: int, octets: int) -> None:
        self._found: RuleFacts | Callable[[], RuleFacts] = (allow, path_pattern, line, octets)

    @classmethod
    def to_be_read(cls, read: Callable[[], RuleFacts]) -> Rule:
        """A rule that calls `read` for its attributes, in their order, when they are needed."""
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
        """Its value; octets as written."""
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
        """The hash of the attributes."""
        return hash(self._facts())

    def __reduce__(self) -> tuple[type[Rule], RuleFacts]:
        """Make copies and pickles that do not depend on the file."""
        return Rule, self._facts()

    def __repr__(self) -> str:
        """The call that would create the rule."""
        allow, path_pattern, line, octets = self._facts()
        return f"Rule({allow=}, {path_pattern=}, {line=}, {octets=})"

    def __str__(self) -> str:
        """The rule in the spelling of robots.txt; octets that are not UTF-8 are escaped."""
        key = "Allow" if self.allow else "Disallow"
        return f"{key}: {shown(self.path_pattern)}"


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a URI may be fetched, and what decided it.

    Attributes:
        allowed: the answer.
        reason: why.
        rule: the deciding rule, or None.
        product_token: the token of the group that decided, in lower case; ``*``; or empty.
        robots_txt: the URI of the robots.txt; empty if unknown.
        is_stale: whether an old copy decided because the file is unreachable.
        why: the operator's words, if an operator dropped the origin; the reason of the guard; the
            culprit, if a failure of the crawl itself prevented the fetch; otherwise empty.
    """

    allowed: bool
    reason: Reason
    rule: Rule | None = None
    product_token: str = ""
    robots_txt: str = ""
    is_stale: bool = False
    why: str = ""

    @property
    def line(self) -> int:
        """The number of the deciding rule's line in the file, from 1; 0 if no line decided."""
        return self.rule.line if self.rule is not None else 0

    def __str__(self) -> str:
        """The whole verdict in one line."""
        answer = "allowed" if self.allowed else "disallowed"
        where = f" of {self.robots_txt}" if self.robots_txt else ""
        where += " (a stale copy)" if self.is_stale else ""
        if self.rule is None:
            why = f" ({self.why})" if self.why else ""
            return f"{answer}: {self.reason.value}{why}{where and f',{where[3:]}'}"
        return f"{answer} by line {self.line}{where} (group {self.product_token}): {self.rule}"


def implicit_verdict(robots_txt: str) -> Verdict:
    """The verdict on a robots.txt itself (RFC 9309, 2.2.2)."""
    return Verdict(allowed=True, reason=Reason.IMPLICITLY_ALLOWED, robots_txt=robots_txt)

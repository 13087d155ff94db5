"""The decision, and why: values that can be shown, compared and kept."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Reason(Enum):
    """Why a URI may or may not be asked for; the value is said to people."""

    RULE = "a rule matches"
    EMPTY_RULE = "no rule matches, and an empty one forbids nothing"
    NO_RULE_MATCHES = "no rule of the group matches"
    NO_GROUP = "no group of the file is for this crawler"
    IMPLICITLY_ALLOWED = "/robots.txt itself is always allowed"
    OVERRIDDEN = "REP_OVERRIDES or REP_POLICY_OVERRIDES says so"
    UNAVAILABLE = "the file is unavailable"
    UNREACHABLE = "the file is unreachable"
    OTHER_PARSER = "the parser of ROBOTSTXT_PARSER says so"
    PARSER_FAILED = "the parser of ROBOTSTXT_PARSER failed"
    NOT_JUDGED = "robots.txt does not govern this scheme"
    INVALID_URI = "the URI names no origin that could be asked"


@dataclass(frozen=True, slots=True)
class Rule:
    """One allow or disallow line.

    Attributes:
        allow: whether it is an allow rule.
        path_pattern: its value, octets as written.
        line: the number of its line, from 1.
        octets: its length in normal form, wildcards counted: how specific it is (2.2.2).
    """

    allow: bool
    path_pattern: bytes
    line: int
    octets: int

    def __str__(self) -> str:
        """The rule as a robots.txt would spell it, octets that are no text escaped."""
        key = "Allow" if self.allow else "Disallow"
        text = self.path_pattern.decode("utf-8", "backslashreplace")
        # What a terminal would obey is not for logs.
        shown = (c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
        return f"{key}: {''.join(shown)}"


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a URI may be asked for, and what decided it.

    Attributes:
        allowed: the answer.
        reason: why.
        rule: the deciding rule, if one decided.
        line: the number of its line in the file, from 1; 0 if no line decided.
        product_token: the group that decided, as a token in lower case; ``*``; or empty if none.
        robots_txt: the URI of the robots.txt that was asked for; empty if it is not known.
        is_stale: whether this rests on an old copy, since the file is unreachable.
    """

    allowed: bool
    reason: Reason
    rule: Rule | None = None
    line: int = 0
    product_token: str = ""
    robots_txt: str = ""
    is_stale: bool = False

    def __str__(self) -> str:
        """One line that says everything."""
        answer = "allowed" if self.allowed else "disallowed"
        where = f" of {self.robots_txt}" if self.robots_txt else ""
        where += " (a stale copy)" if self.is_stale else ""
        if self.rule is None:
            return f"{answer}: {self.reason.value}{where and f',{where[3:]}'}"
        return f"{answer} by line {self.line}{where} (group {self.product_token}): {self.rule}"

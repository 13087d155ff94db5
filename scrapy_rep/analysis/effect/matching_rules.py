"""Every rule of a group that matches a URL, the deciding one first: for people who ask why."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from scrapy_rep.protocol.paths import normal_path, path_of, uri_without_dots
from scrapy_rep.protocol.ruleset import folder_of
from scrapy_rep.protocol.verdict import Rule
from scrapy_rep.protocol.written import has_lone_percent, matches_as_written

from .patterns import matches, pattern_of


@dataclass(frozen=True, slots=True)
class Match:
    """A rule that matches, and by how many octets (more than the rule's for ``/x/$``: fewer)."""

    rule: Rule
    octets: int


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
            Match(rule, len(pattern))
            for pattern, written, rule in self._patterns
            if matches(pattern, path)
            or (has_lone_percent(written) and matches_as_written(written, asked))
        ]
        found.sort(key=lambda match: (-match.octets, not match.rule.allow, match.rule.line))
        return list(dict.fromkeys(match.rule for match in found))


def _disallows(matching: list[Rule]) -> bool:
    return bool(matching) and not matching[0].allow


def matching_rules(rules: Iterable[Rule], url: str) -> tuple[Rule, ...]:
    """The rules that match a URL, the deciding one first; see `Matcher`."""
    return Matcher(rules).matching(url)

"""The part of a file that speaks to one crawler: its merged group, ready to decide.

Groups of the same product token are merged in file order, wherever they stand; of the crawler's
own tokens the first that has a group decides, else the groups for ``*`` do, else nothing
(RFC 9309, 2.2.1). A group ends where a user-agent line follows a rule, and nowhere else: blank
lines, comments and other records do not end it (2.2.4). Rules before any group are ignored.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator

from .lines import RULES, Kind, Record, line_number, read_line, records, user_agent_lines
from .matching import NO_MATCH, RuleSet, is_allow, octets_of, offset_of
from .tokens import EVERYONE, Names
from .verdict import Reason, Rule, Verdict

_VERDICTS_KEPT = 512  # more rules than this seldom decide in one crawl, and hostile files have more


class Selection:
    """What one crawler obeys in a file.

    Attributes:
        product_token: the token whose group decides; ``*``; or empty if no group does.
    """

    __slots__ = ("_octets", "_rule_set", "_spans", "_uri", "_verdicts", "product_token")

    def __init__(self, octets: bytes, uri: str, tokens: tuple[str, ...]) -> None:
        """Take the cleaned octets of a file, its URI, and tokens in lower case, best first."""
        names = Names(tokens)
        spans: dict[int, array[int]] = {}
        for ranks, start, stop in _groups(octets, names):
            for rank in ranks:
                spans.setdefault(rank, array("Q")).extend((start, stop))
        rank = min(spans, default=names.rank_of_everyone + 1)
        self.product_token = (*tokens, EVERYONE, "")[rank]
        self._octets = octets
        self._uri = uri
        self._spans = spans.get(rank, array("Q"))
        self._rule_set = RuleSet(
            (offset, kind is Kind.ALLOW, value)
            for offset, kind, _, value in self.records()
            if kind in RULES
        )
        self._verdicts: dict[int, Verdict] = {}

    def records(self) -> Iterator[Record]:
        """The records of the merged group, user-agent lines included, in file order."""
        for index in range(0, len(self._spans), 2):
            yield from records(self._octets, self._spans[index], self._spans[index + 1])

    def verdict(self, path: bytes) -> Verdict:
        """The verdict on a path in normal form: equal ones are the same object."""
        rank = self._rule_set.match(path)
        return self._verdicts.get(rank) or self._explain(rank)

    def _explain(self, rank: int) -> Verdict:
        if len(self._verdicts) >= _VERDICTS_KEPT:
            self._verdicts.clear()
        verdict = self._verdicts[rank] = (
            self._by_default() if rank == NO_MATCH else self._by_rule(rank)
        )
        return verdict

    def _by_default(self) -> Verdict:
        return Verdict(
            allowed=True,
            reason=Reason.NO_RULE_MATCHES if self.product_token else Reason.NO_GROUP,
            product_token=self.product_token,
            robots_txt=self._uri,
        )

    def _by_rule(self, rank: int) -> Verdict:
        offset = offset_of(rank)
        stop = self._octets.find(b"\n", offset)
        record = read_line(self._octets[offset:stop] if stop >= 0 else self._octets[offset:])
        line = line_number(self._octets, offset)
        rule = Rule(
            allow=is_allow(rank),
            path_pattern=record[2] if record else b"",
            line=line,
            octets=octets_of(rank),
        )
        return Verdict(
            allowed=rule.allow or rule.octets == 0,
            reason=Reason.RULE if rule.octets else Reason.EMPTY_RULE,
            rule=rule,
            line=line,
            product_token=self.product_token,
            robots_txt=self._uri,
        )


def _groups(octets: bytes, names: Names) -> Iterator[tuple[set[int], int, int]]:
    """Per group of the file: the ranks of the tokens it names, and where it starts and stops."""
    ranks: set[int] = set()
    group_start = previous_stop = -1
    for start, stop, value in user_agent_lines(octets):
        if group_start < 0 or _has_rule(octets, previous_stop, start):
            if ranks:
                yield ranks, group_start, start
            ranks, group_start = set(), start
        ranks.update(names.ranks(value))
        previous_stop = stop
    if ranks:
        yield ranks, group_start, len(octets)


def _has_rule(octets: bytes, start: int, stop: int) -> bool:
    return stop - start > 1 and any(kind in RULES for _, kind, _, _ in records(octets, start, stop))

"""The part of a file that speaks to one crawler: its merged group, ready to decide.

Groups of the same product token are merged in file order, wherever they stand; of the crawler's
own tokens the first that has a group decides, else the groups for ``*`` do, else nothing
(RFC 9309, 2.2.1). A group ends where a user-agent line follows a rule, and nowhere else: blank
lines, comments and other records do not end it (2.2.4). Rules before any group are ignored.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator

from .lines import Record, has_rule, line_number, read_line, records, rules, user_agent_lines
from .matching import NO_MATCH, RuleSet, is_allow, octets_of, offset_of
from .paths import END, before_path_of, normal_path, path_of
from .tokens import EVERYONE, Names
from .verdict import Reason, Rule, Verdict

_NO_URL = "#"  # no URL that is asked for begins like this
_ROBOTS_TXT = "/robots.txt" + END
_ROBOTS_TXT_RANK = -1  # no rule has it
_VERDICTS_KEPT = 512  # more rules than this seldom decide in one crawl, and hostile files have more


class Selection:
    """What one crawler obeys in a file.

    Attributes:
        product_token: the token whose group decides; ``*``; or empty if no group does.
    """

    __slots__ = (
        "_before_path",
        "_octets",
        "_rule_set",
        "_spans",
        "_uri",
        "_verdicts",
        "product_token",
    )

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
        disallow: dict[str, int] = {}
        allow: dict[str, int] = {}
        for start, stop in self._own_spans():
            rules(octets, start, stop, disallow, allow)
        self._rule_set = RuleSet(disallow, allow)
        self._before_path = _NO_URL
        self._verdicts: dict[int, Verdict] = {}

    def records(self) -> Iterator[Record]:
        """The records of the merged group, user-agent lines included, in file order."""
        for start, stop in self._own_spans():
            yield from records(self._octets, start, stop)

    def _own_spans(self) -> Iterator[tuple[int, int]]:
        return zip(self._spans[::2], self._spans[1::2], strict=True)

    def verdict(self, url: str) -> Verdict:
        """The verdict on a URL: equal ones are the same object."""
        # What stands before the path is nearly always what stood before the last one's, and most
        # paths need no normal form: together 2.7 times the speed of going the whole way.
        if url.startswith(self._before_path):
            path = url[len(self._before_path) - 1 :]
        else:
            path = path_of(url)
            self._before_path = before_path_of(url) or _NO_URL
        if "%" in path or "$" in path or "#" in path or self._rule_set.needs_escapes:
            path = normal_path(path)
        else:
            path += END
        rank = _ROBOTS_TXT_RANK if path == _ROBOTS_TXT else self._rule_set.match(path)
        return self._verdicts.get(rank) or self._explain(rank)

    def _explain(self, rank: int) -> Verdict:
        if len(self._verdicts) >= _VERDICTS_KEPT:
            self._verdicts.clear()
        verdict = self._by_rule(rank) if rank > NO_MATCH else self._without_rule(rank)
        self._verdicts[rank] = verdict
        return verdict

    def _without_rule(self, rank: int) -> Verdict:
        if rank == _ROBOTS_TXT_RANK:
            return Verdict(allowed=True, reason=Reason.IMPLICITLY_ALLOWED, robots_txt=self._uri)
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
        if group_start < 0 or has_rule(octets, previous_stop, start):
            if ranks:
                yield ranks, group_start, start
            ranks, group_start = set(), start
        ranks.update(names.ranks(value))
        previous_stop = stop
    if ranks:
        yield ranks, group_start, len(octets)

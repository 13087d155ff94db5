"""The part of a file that applies to one crawler: its merged group, ready to decide.

Groups of the same product token are merged in file order, wherever they are in the file. The first
of the crawler's own tokens that has a group decides, otherwise the groups for ``*`` (RFC 9309,
2.2.1). A group ends where a user-agent line follows a rule. Blank lines, comments and other records
do not end it (2.2.4). Rules before any group are ignored.

For the crawler ``foo``, in this file::

    offset
      0    User-agent: foo       a group that names foo
     16    Crawl-delay: 1
     31    Disallow: /a
     44    User-agent: bar       follows a rule: a second group, which does not name foo
     60    Disallow: /
     72    User-agent: bar       a third group, which names foo
     88    User-agent: foo
    104    Disallow: /b
    117    User-agent: *         a fourth group
    131    Disallow: /c

each line that names it, with the lines after it up to the next group, forms a span: 0 to 44 and 88
to 117. Only the spans are searched for rules: most of a file is for others. The rules are ``/a``
and ``/b``. A verdict keeps a key, such as the pattern ``/b``, and finds the line only when it is
read. Records between user-agent lines belong to the group: for them, the third group starts at 72.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

from .lines import (
    RULES,
    Kind,
    Record,
    UserAgentLines,
    has_rule,
    line_number,
    read_line,
    records,
    rules,
)
from .packed import UNDECIDED
from .paths import END, ROBOTS_TXT, before_path_of, normal_path, octets_of, path_of, without_dots
from .ruleset import prepared
from .tokens import EVERYONE, Names, is_everyone, names_of
from .verdict import Reason, Rule, RuleFacts, Verdict, implicit_verdict

_NOTHING: tuple[str, ...] = ()  # no URL begins with one of these
_VERDICTS_KEPT = 512  # few crawls meet more deciding rules; hostile files have thousands


class Selection:
    """The rules of one crawler in a file.

    Attributes:
        product_token: the token of the group that decides; ``*``; or empty without a group.
        kept_octets: roughly the memory that its rules take.
    """

    def __init__(self, octets: bytes, uri: str, product_token: str, spans: array[int]) -> None:
        """Take the cleaned octets of a file, its URI, the token, and the spans of its groups.

        Cost: linear in the spans, plus the cost of `ruleset.prepared` for the crawler's rules.
        """
        self.product_token = product_token
        self._spans = spans
        self._octets = octets
        self._uri = uri
        disallow: list[str] = []
        allow: list[str] = []
        for start, stop in self._own_spans():
            rules(octets, start, stop, disallow, allow)
        own_octets = sum(stop - start for start, stop in self._own_spans())
        self._rules, self._needs_escapes, self.kept_octets = prepared(disallow, allow, own_octets)
        self._places: tuple[array[int], array[int]] | None = None
        self._before_path: str | tuple[str, ...] = _NOTHING
        self._path_at = 0
        self._verdicts: dict[Any, Verdict] = {}

    @classmethod
    def of(
        cls, octets: bytes, uri: str, names: Names, others: Iterable[Selection] = ()
    ) -> Selection:
        """The selection of a crawler, taken from `others`, of the same file, if it is equal.

        Most crawlers obey the group for ``*``, so that its rules are prepared only once.

        Cost: linear in the octets, plus the cost of the constructor.
        """
        rank, spans = _own_spans(octets, names)
        product_token = (*names.tokens, EVERYONE, "")[rank]
        for other in others:
            if other.product_token == product_token and other._spans == spans:  # noqa: SLF001
                return other
        return cls(octets, uri, product_token, spans)

    def records(self) -> Iterator[Record]:
        """The records of the merged group, in file order; linear in the octets.

        Records between the user-agent lines of a group belong to it, so each span is read from the
        first of these lines.
        """
        octets = self._octets
        starts = _group_starts(octets) if self._spans else array("Q")
        for start, stop in self._own_spans():
            first = starts[bisect_right(starts, start) - 1]
            yield from records(octets, first, stop)

    def own(self, found: Iterable[Record], octets: bytes) -> Iterator[Record]:
        """The records in the merged group, given records in file order that are not rules."""
        starts: array[int] | None = None
        for record in found:
            place = bisect_right(self._spans, record[0])
            if place % 2 == 0:  # between spans: perhaps between the user-agent lines of the next
                if place == len(self._spans):
                    return
                starts = _group_starts(octets) if starts is None else starts
                if record[0] < starts[bisect_right(starts, self._spans[place]) - 1]:
                    continue
            yield record

    def is_named_by(self, value: bytes) -> bool:
        """Whether a user-agent value names the token of the group that decides."""
        token = self.product_token
        if token in (EVERYONE, ""):
            return bool(token) and is_everyone(value)
        return 0 in names_of(token).ranks(value)

    def _own_spans(self) -> Iterator[tuple[int, int]]:
        bounds = iter(self._spans)
        return zip(bounds, bounds, strict=True)

    def verdict(self, url: str) -> Verdict:
        """The verdict on a URL; equal verdicts are the same object.

        A URL with dot segments is judged both as written and without them: servers differ in the
        path that they serve, so both must be allowed.

        Cost: linear in the URL, plus at most twice the cost of `RuleSet.match`.
        """
        # The part before the path is nearly always the same as for the last URL, and most paths
        # need no normal form. `benchmarks/parsers.py` shows the gain as "warm".
        if url.startswith(self._before_path):
            path = url[self._path_at :]
        else:
            before = before_path_of(url)
            self._before_path = before or _NOTHING
            self._path_at = len(before) - 1
            path = url[self._path_at :] if before else path_of(url)
        asked = path
        if "%" in path or "$" in path or "#" in path or self._needs_escapes:
            path = normal_path(path)
        else:
            path += END
        key = ROBOTS_TXT if path == ROBOTS_TXT else self._rules.match(path, asked)
        verdict = self._verdicts.get(key) or self._explain(key)
        if "/." in path and verdict.allowed:
            return self._without_dots(path, asked, verdict)
        return verdict

    def _without_dots(self, path: str, asked: str, written: Verdict) -> Verdict:
        """The verdict on a path that is allowed as written, but may have dot segments."""
        bare = without_dots(path[:-1]) + END
        if bare in (path, ROBOTS_TXT):
            return written
        key = self._rules.match(bare, without_dots(octets_of(asked)))
        verdict = self._verdicts.get(key) or self._explain(key)
        return written if verdict.allowed else verdict

    def _explain(self, key: Any) -> Verdict:
        if len(self._verdicts) >= _VERDICTS_KEPT:
            self._verdicts.clear()
        verdict = (
            self._without_rule(key) if key in (None, ROBOTS_TXT, UNDECIDED) else self._by_rule(key)
        )
        self._verdicts[key] = verdict
        return verdict

    def _without_rule(self, key: Any) -> Verdict:
        if key == ROBOTS_TXT:
            return implicit_verdict(self._uri)
        reason = Reason.NO_RULE_MATCHES if self.product_token else Reason.NO_GROUP
        return Verdict(
            allowed=key is None,
            reason=Reason.TOO_MUCH_WORK if key == UNDECIDED else reason,
            product_token=self.product_token,
            robots_txt=self._uri,
        )

    def _by_rule(self, key: Any) -> Verdict:
        octets, allow = self._rules.decider(key)
        return Verdict(
            allowed=allow or octets == 0,
            reason=Reason.RULE if octets else Reason.EMPTY_RULE,
            rule=Rule.to_be_read(partial(self._rule_behind, key)),
            product_token=self.product_token,
            robots_txt=self._uri,
        )

    def _rule_behind(self, key: Any) -> RuleFacts:
        if self._places is None:
            self._places = array("Q"), array("Q")
            for offset, kind, *_ in self.records():
                if kind in RULES:
                    self._places[kind is Kind.ALLOW].append(offset)
        octets, allow = self._rules.decider(key)
        offset = self._places[allow][self._rules.place(key)]
        text = self._octets
        stop = text.find(b"\n", offset)
        record = read_line(text[offset:stop] if stop >= 0 else text[offset:])
        path_pattern = record[2] if record else b""
        return allow, path_pattern, line_number(text, offset), octets


def _own_spans(octets: bytes, names: Names) -> tuple[int, array[int]]:
    """The best rank of a token that a group names, and the starts and stops of its spans.

    Linear in the octets: one pass for user-agent lines, and one for rules.
    """
    lines = UserAgentLines(octets)
    spans: dict[int, array[int]] = {}
    named: dict[int, int] = {}  # ranks in this group, and the first line that names each
    stop = 0
    line = lines.after(0, names.openings)
    while line is not None:
        start, next_stop, value = line
        if named and has_rule(octets, stop, start):
            _close(spans, named, start)
            named = {}
        for rank in names.ranks(value):
            named.setdefault(rank, start)
        stop = next_stop
        line = lines.after(stop, () if named else names.openings)
    _close(spans, named, len(octets))
    rank = min(spans) if spans else names.rank_of_everyone + 1
    return rank, spans.get(rank, array("Q"))


def _close(spans: dict[int, array[int]], named: dict[int, int], stop: int) -> None:
    for rank, start in named.items():
        own = spans.get(rank)
        if own is None:
            spans[rank] = array("Q", (start, stop))
        elif own[-1] == start:  # the previous group is ours too
            own[-1] = stop
        else:
            own.extend((start, stop))


def _group_starts(octets: bytes) -> array[int]:
    """The offsets at which the groups of a file start; linear in its octets."""
    starts = array("Q")
    previous_stop = 0
    for start, stop, _ in UserAgentLines(octets):
        if not starts or has_rule(octets, previous_stop, start):
            starts.append(start)
        previous_stop = stop
    return starts

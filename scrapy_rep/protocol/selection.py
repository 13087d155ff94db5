"""The part of a file that speaks to one crawler: its merged group, ready to decide.

Groups of the same product token are merged in file order, wherever they stand; of the crawler's
own tokens the first that has a group decides, otherwise the groups for ``*``, if there are any
(RFC 9309, 2.2.1). A group ends where a user-agent line follows a rule, and nowhere else: blank
lines, comments and other records do not end it (2.2.4). Rules before any group are ignored.

For the crawler ``foo``, in this file::

    offset
      0    User-agent: foo       a group, which names foo
     16    Crawl-delay: 1
     31    Disallow: /a
     44    User-agent: bar       a rule came before: the next group, which does not name it
     60    Disallow: /
     72    User-agent: bar       the third one, which does
     88    User-agent: foo
    104    Disallow: /b
    117    User-agent: *         the fourth
    131    Disallow: /c

the lines that name it, and what follows them up to the next group, are the spans 0 to 44 and 88 to
117. Only these are searched for rules: most of a file speaks to others. The rules are ``/a`` and
``/b``. A verdict keeps a key, such as the pattern ``/b``; its line is found when somebody asks for
it. Records among user-agent lines are the group's too: for them, the third group starts at 72.
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
from .text import Text
from .tokens import EVERYONE, Names, is_everyone, names_of
from .verdict import Reason, Rule, RuleFacts, Verdict, implicit_verdict

_NOTHING: tuple[str, ...] = ()  # no URL begins with any of these
_VERDICTS_KEPT = 512  # few crawls meet more deciding rules; hostile files have thousands


class Selection:
    """What one crawler obeys in a file.

    Attributes:
        product_token: the token whose group decides; ``*``; or empty if no group does.
        kept_octets: roughly what is kept of its rules.
    """

    def __init__(self, text: Text, uri: str, product_token: str, spans: array[int]) -> None:
        """Take the cleaned octets of a file, its URI, the token, and the spans of its groups.

        Cost: linear in the spans, and in the rules of the crawler what `ruleset.prepared` costs.
        """
        octets = text.octets
        self.product_token = product_token
        self._spans = spans
        self._text = text
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
    def of(cls, text: Text, uri: str, names: Names, others: Iterable[Selection] = ()) -> Selection:
        """What a crawler of some names obeys; one of `others`, of the same file, if it is that.

        Most crawlers obey the group for everyone, whose rules are made ready once.

        Cost: linear in the octets, besides.
        """
        rank, spans = _own_spans(text.octets, names)
        product_token = (*names.tokens, EVERYONE, "")[rank]
        for other in others:
            if other.product_token == product_token and other._spans == spans:  # noqa: SLF001
                return other
        return cls(text, uri, product_token, spans)

    def records(self) -> Iterator[Record]:
        """The records of the merged group, in file order; linear in the octets.

        Those that stand among the user-agent lines of a group are its own, so each span is read
        from the first of these lines on.
        """
        octets = self._text.octets
        starts = _group_starts(octets) if self._spans else array("Q")
        for start, stop in self._own_spans():
            first = starts[bisect_right(starts, start) - 1]
            yield from records(octets, first, stop)

    def own(self, found: Iterable[Record], octets: bytes) -> Iterator[Record]:
        """Of some records in file order, none of them rules, those that the merged group holds."""
        starts: array[int] | None = None
        for record in found:
            place = bisect_right(self._spans, record[0])
            if place % 2 == 0:  # between spans: perhaps among the user-agent lines before the next
                if place == len(self._spans):
                    return
                starts = _group_starts(octets) if starts is None else starts
                if record[0] < starts[bisect_right(starts, self._spans[place]) - 1]:
                    continue
            yield record

    def is_named_by(self, value: bytes) -> bool:
        """Whether a user-agent line of this value names the token whose group decides."""
        token = self.product_token
        if token in (EVERYONE, ""):
            return bool(token) and is_everyone(value)
        return 0 in names_of(token).ranks(value)

    def _own_spans(self) -> Iterator[tuple[int, int]]:
        bounds = iter(self._spans)
        return zip(bounds, bounds, strict=True)

    def verdict(self, url: str) -> Verdict:
        """The verdict on a URL: equal ones are the same object.

        One with dot segments is judged as it is written, and without them: servers differ in which
        they serve, so both have to be allowed.

        Cost: linear in the URL, and what `RuleSet.match` costs, at most twice.
        """
        # What stands before the path is nearly always what stood before the last one's, and most
        # paths need no normal form. `benchmarks/parsers.py` shows what that is worth, as "warm".
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
        """What decides for a path that is allowed as it is written, and may hold dot segments."""
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
        text = self._text.octets
        stop = text.find(b"\n", offset)
        record = read_line(text[offset:stop] if stop >= 0 else text[offset:])
        path_pattern = record[2] if record else b""
        return allow, path_pattern, line_number(text, offset), octets


def _own_spans(octets: bytes, names: Names) -> tuple[int, array[int]]:
    """The best rank of a token that a group names; start and stop of what follows such lines.

    Linear in the octets: each is looked at once for user-agent lines, and once for rules.
    """
    lines = UserAgentLines(octets)
    spans: dict[int, array[int]] = {}
    named: dict[int, int] = {}  # by the group at hand, each with the start of the line that does
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
        elif own[-1] == start:  # the group before is ours too
            own[-1] = stop
        else:
            own.extend((start, stop))


def _group_starts(octets: bytes) -> array[int]:
    """Where the groups of a file start; linear in its octets."""
    starts = array("Q")
    previous_stop = 0
    for start, stop, _ in UserAgentLines(octets):
        if not starts or has_rule(octets, previous_stop, start):
            starts.append(start)
        previous_stop = stop
    return starts

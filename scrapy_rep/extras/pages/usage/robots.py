"""The usage preferences of a robots.txt for one crawler.

Content-Usage and Content-Signal belong to groups, as Crawl-delay does: only the crawler's own
merged group counts, and these records do not end a run of user-agent lines. The record with the
longest matching path decides. If several paths are equally long, all of their records count, and n
wins over y. For a category that these do not mention, an n of the next shorter record that mentions
it applies, but a y does not::

    Content-Usage: train-ai=n
    Content-Usage: /a search=y        for /a: train-ai=n, search=y

Cost: `of` is linear in the octets of the file; for most files, without such records, it is a few
searches. At most `_RECORDS` of each kind are read. If there are more, each use counts as forbidden,
since one of them may forbid it; more licences are ignored. `preferences` costs what `scoped` says,
plus sorting the records that match.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from hashlib import sha256
from itertools import groupby, islice

from scrapy_rep.protocol.extensions.records import records_with
from scrapy_rep.protocol.fields.remarks import Problem, Remark, Remarks, Source, excerpt
from scrapy_rep.protocol.lines import Record, UserAgentLines
from scrapy_rep.protocol.selection import Selection
from scrapy_rep.protocol.tokens import EVERYONE, names_of

from .categories import CATEGORIES, POLICY_TOKENS, UsageTokens
from .content_fields import content_signal, content_usage
from .licences import of_record
from .preference import (
    Licence,
    Preference,
    Statement,
    UsagePreferences,
    UseLevel,
    combined,
    each_once,
    first_of,
    least_use,
    statements_of,
)
from .scoped import Scoped, divided, matching, paths_of

_CONTENT_USAGE = b"content-usage"
_CONTENT_SIGNAL = b"content-signal"
_SIGNAL_KEYS = (_CONTENT_SIGNAL, b"content-signals")
_LICENCE = b"license"

_RECORDS = 1000
_KEPT_OCTETS = 1500  # the memory of every file, roughly
_RECORD_OCTETS = 1000  # the memory of each record


@dataclass(frozen=True, slots=True)
class _Said:
    """The content of one record."""

    statements: tuple[Statement, ...]
    use: UseLevel | None = None


@dataclass(frozen=True, slots=True)
class FileUsage:
    """The usage preferences of a robots.txt for one crawler.

    Attributes:
        usage: the Content-Usage records of its group.
        signals: the Content-Signal records of its group.
        before_groups: restrictions by Content-Signal before any group, for everyone.
        selection: the crawler's group, which decides which URLs it may fetch.
        others: categories with the groups of tokens that represent them.
        licences: the licences of the whole file.
        unread: the first record that is not read; None if all are.
        remarks: remarks on unusual text.
        robots_txt: the URI of the file.
        digest: SHA-256 of its octets.
    """

    usage: tuple[Scoped[_Said], ...]
    signals: tuple[Scoped[_Said], ...]
    before_groups: tuple[Scoped[_Said], ...]
    selection: Selection
    others: tuple[tuple[str, Selection], ...]
    licences: tuple[Licence, ...]
    unread: Source | None
    remarks: tuple[Remark, ...]
    robots_txt: str
    digest: str

    @property
    def kept_octets(self) -> int:
        """Roughly the memory used, without the file and the crawler's group."""
        kept = len(self.usage) + len(self.signals) + len(self.before_groups)
        others = sum(other.kept_octets for _, other in self.others)
        return _KEPT_OCTETS + _RECORD_OCTETS * (kept + len(self.licences)) + others

    @classmethod
    def of(
        cls, octets: bytes, robots_txt: str, selection: Selection, usage_tokens: UsageTokens
    ) -> FileUsage:
        """Read a file for the crawler of a selection.

        Raises:
            ValueError: a key of `usage_tokens` is not a category.
            InvalidProductToken: no user-agent line could name one of its tokens.
        """
        lowered = octets.lower()
        policies = (one for one in POLICY_TOKENS if one.token.lower().encode() in lowered)
        pairs = [*_pairs(usage_tokens), *((one.category, one.token) for one in policies)]
        remarks = Remarks()
        reader = _UsageReader(octets, robots_txt, remarks)
        first = UserAgentLines(octets).after(0)
        groups_at = first[0] if first is not None else len(octets)
        usage = [*_records(octets, lowered, (_CONTENT_USAGE,))]
        signals = [*_records(octets, lowered, _SIGNAL_KEYS)]
        unread = None
        for name, found in (("Content-Usage", usage), ("Content-Signal", signals)):
            reader.remark_places(name, found, groups_at)
            if len(found) > _RECORDS:
                unread = reader.source(name, found[_RECORDS])
                remarks.add(Problem.TOO_LONG, unread)
                del found[_RECORDS:]
        licences = _records(octets, lowered, (_LICENCE,))
        return cls(
            usage=tuple(reader.usage(selection.own(usage, octets))),
            signals=tuple(reader.signals(selection.own(signals, octets))),
            before_groups=tuple(reader.before_groups(one for one in signals if one[0] < groups_at)),
            selection=selection,
            others=tuple(_others(octets, robots_txt, pairs)),
            licences=each_once(reader.licences(islice(licences, _RECORDS))),
            unread=unread,
            remarks=tuple(remarks.kept),
            robots_txt=robots_txt,
            digest=sha256(octets).hexdigest(),
        )

    def preferences(self, url: str) -> UsagePreferences:
        """The preferences for a URL, which is absolute or begins with ``/``."""
        verdict = self.selection.verdict(url)
        kinds = [self.signals, self.before_groups, *([self.usage] if verdict.allowed else [])]
        statements: list[Statement] = []
        remarks = Remarks([*self.remarks])
        uses = []
        for kind in kinds:
            for said in self._of_paths(kind, url, remarks):
                statements += said.statements
                uses.append(said.use)
        statements += self._of_others(url)
        if self.unread is not None:
            statements += [
                Statement(category, Preference.DISALLOWED, self.unread) for category in CATEGORIES
            ]
        return UsagePreferences(
            statements=first_of(dict.fromkeys(statements)),
            licences=self.licences,
            use_level=least_use(uses),
            remarks=tuple(remarks.kept),
            robots_txt=self.robots_txt,
            digest=self.digest,
        )

    def _of_paths(
        self, records: tuple[Scoped[_Said], ...], url: str, remarks: Remarks
    ) -> Iterator[_Said]:
        """The records for a URL; with dot segments, both of its paths must permit."""
        if not records:
            return
        by_path = []
        for path in paths_of(url):
            found, untried = matching(records, path)
            if not untried:
                by_path.append([*_decisive(found)])
                continue
            # Each untried record may be the longest match, without a y: so no y is certain.
            every = [one.said for one in (*found, *untried)]
            places = (s.source for said in every for s in said.statements)
            whole = Source("robots.txt", uri=self.robots_txt)
            remarks.add(Problem.TOO_MUCH_WORK, next(places, whole))
            by_path.append([_only_n(said) for said in every])
        for index, said in enumerate(by_path):
            others = by_path[:index] + by_path[index + 1 :]
            for one in said:
                yield replace(
                    one, statements=tuple(s for s in one.statements if _stands(s, others))
                )

    def _of_others(self, url: str) -> Iterator[Statement]:
        """Statements for categories: one of their tokens has a group that disallows the URL."""
        for category, other in self.others:
            verdict = other.verdict(url)
            if not verdict.allowed:
                source = Source("Disallow", line=verdict.line, uri=self.robots_txt)
                text = excerpt(f"User-agent: {verdict.product_token}, {verdict.rule}")
                yield Statement(category, Preference.DISALLOWED, source, text)


def _stands(statement: Statement, others: list[list[_Said]]) -> bool:
    """Whether a statement for one path of a URL counts, given the records for its other paths."""
    return statement.preference is Preference.DISALLOWED or all(
        combined((s for one in other for s in one.statements), statement.category)
        is Preference.ALLOWED
        for other in others
    )


def _only_n(said: _Said) -> _Said:
    forbidding = (one for one in said.statements if one.preference is Preference.DISALLOWED)
    return replace(said, statements=tuple(forbidding))


def _decisive(found: Iterable[Scoped[_Said]]) -> Iterator[_Said]:
    """The longest records, and from each shorter length restrictions for undecided categories."""
    decided: set[str] = set()
    uses_decided, is_longest = False, True
    longest_first = sorted(found, key=_length, reverse=True)
    for _, equally_long in groupby(longest_first, _length):
        all_said = [one.said for one in equally_long]
        for said in all_said:
            open_ones = [one for one in said.statements if one.category not in decided]
            counts = _Said(tuple(open_ones), None if uses_decided else said.use)
            yield counts if is_longest else _only_n(counts)
        decided |= {one.category for said in all_said for one in said.statements}
        uses_decided = uses_decided or any(said.use is not None for said in all_said)
        is_longest = False


def _length(one: Scoped[_Said]) -> int:
    return len(one.pattern)


def _records(octets: bytes, lowered: bytes, keys: tuple[bytes, ...]) -> Iterator[Record]:
    """The records with one of these keys, in file order."""
    return (
        record for record in records_with(octets, lowered, keys[0]) if record[2].lower() in keys
    )


def _pairs(usage_tokens: UsageTokens) -> Iterator[tuple[str, str]]:
    """Yield each token with its category."""
    for category, tokens in usage_tokens.items():
        if category not in CATEGORIES:
            raise ValueError(f"{category!r} is not a category: they are {', '.join(CATEGORIES)}")
        for token in (tokens,) if isinstance(tokens, str) else tokens:
            yield category, token


def _others(
    octets: bytes, robots_txt: str, pairs: Iterable[tuple[str, str]]
) -> Iterator[tuple[str, Selection]]:
    """Yield the groups of tokens, with the category that each represents."""
    for category, token in dict.fromkeys(pairs):
        other = Selection.of(octets, robots_txt, names_of(token))
        if other.product_token not in ("", EVERYONE):
            yield category, other


class _UsageReader:
    """Reads the records of one file."""

    def __init__(self, octets: bytes, robots_txt: str, remarks: Remarks) -> None:
        self._octets = octets
        self._uri = robots_txt
        self._remarks = remarks
        self._counted = 0, 1

    def source(self, name: str, record: Record) -> Source:
        """The source of a record; counts lines from the last record if that came before."""
        offset, line = self._counted if self._counted[0] <= record[0] else (0, 1)
        line += self._octets.count(b"\n", offset, record[0])
        self._counted = record[0], line
        return Source(name, line=line, uri=self._uri)

    def remark_places(self, name: str, records: list[Record], groups_at: int) -> None:
        """Add remarks on records before all groups."""
        for record in records:
            if record[0] < groups_at:
                self._remarks.add(Problem.BEFORE_GROUPS, self.source(name, record), record[3])

    def usage(self, records: Iterable[Record]) -> Iterator[Scoped[_Said]]:
        """Read Content-Usage records; a record that fails to parse is skipped."""
        for record in records:
            source = self.source("Content-Usage", record)
            pattern, value = divided(record[3])
            said = content_usage(value, source, self._remarks)
            if said is not None:
                yield Scoped(pattern, _Said(statements_of(said, source, record[3])))

    def signals(self, records: Iterable[Record]) -> Iterator[Scoped[_Said]]:
        """Read Content-Signal records."""
        for record in records:
            source = self.source("Content-Signal", record)
            pattern, value = divided(record[3])
            found = content_signal(value.decode("utf-8", "replace"), source, self._remarks)
            if found.preferences or found.use:
                statements = statements_of(found.preferences, source, record[3])
                use = UseLevel(found.use, source, excerpt(record[3])) if found.use else None
                yield Scoped(pattern, _Said(statements, use))

    def before_groups(self, records: Iterable[Record]) -> Iterator[Scoped[_Said]]:
        """The restrictions in Content-Signal records before any group, for everyone."""
        for one in self.signals(records):
            said = _only_n(one.said)
            if said.statements:
                yield Scoped(one.pattern, replace(said, use=None))

    def licences(self, records: Iterable[Record]) -> Iterator[Licence]:
        """The licences in License records."""
        for record in records:
            source = self.source("License", record)
            licence = of_record(record[3], self._uri, source, self._remarks)
            if licence is not None:
                yield licence

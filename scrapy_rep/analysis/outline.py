"""A file line by line, with its groups as they stand: for checks and rewriting.

Takes octets, gives an `Outline`. It reads with the functions of `lines`, as the core does, but
keeps what the core drops: comments, lines that are no records, groups before they are merged.

Cost: linear in the octets; memory is a `Line` for each line that is not blank, some 400 octets.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property

from scrapy_rep.protocol.extensions.pace import PACE_KEYS
from scrapy_rep.protocol.lines import (
    LINE_LIMIT_OCTETS,
    PARSE_LIMIT_OCTETS,
    RULES,
    Coding,
    Codings,
    Kind,
    clean,
    read_line,
)
from scrapy_rep.protocol.paths import normal_patterns
from scrapy_rep.protocol.tokens import EVERYONE, is_everyone, is_name, token_of
from scrapy_rep.protocol.written import has_lone_percent

KEYS = {
    Kind.USER_AGENT: b"User-agent",
    Kind.ALLOW: b"Allow",
    Kind.DISALLOW: b"Disallow",
    Kind.SITEMAP: b"Sitemap",
}
"""The keys as they are written."""


@dataclass(frozen=True, slots=True)
class Line:
    """A line that is not blank.

    Attributes:
        number: from 1, as an editor counts.
        octets: all of it, without its end.
        kind: what record it holds; None if it holds none.
        key: as written.
        value: without comment and outer white space.
        comment: what follows the first ``#``; None if there is no ``#``.
        pattern: of a rule, its value in normal form (`protocol.paths`); of others nothing.
    """

    number: int
    octets: bytes
    kind: Kind | None
    key: bytes = b""
    value: bytes = b""
    comment: bytes | None = None
    pattern: str = ""

    @property
    def name(self) -> bytes:
        """The key in lower case."""
        return self.key.lower()

    @property
    def is_written(self) -> bool:
        """Whether it is a rule that is also compared as it is written (`protocol.written`)."""
        return self.kind in RULES and has_lone_percent(self.value.decode("latin-1"))

    @property
    def says(self) -> str:
        """Of a rule, what it is compared with: rules of one kind that have the same are equal."""
        return f"{self.pattern}\n{self.value!r}" if self.is_written else self.pattern

    @property
    def is_cut(self) -> bool:
        """Whether it is longer than is read, not only by a comment."""
        return len(self.octets) > LINE_LIMIT_OCTETS < len(self.octets.partition(b"#")[0])

    @property
    def key_column(self) -> int:
        """Where the key begins, in characters from 1."""
        return self.column_of(len(self.octets) - len(self.octets.lstrip()))

    @property
    def value_column(self) -> int:
        """Where the value begins, in characters from 1."""
        return self.column_of(self.value_at)

    @property
    def value_at(self) -> int:
        """The index of the value's first octet."""
        before, colon, _ = self.octets.partition(b"#")[0].partition(b":")
        after_key = len(before) + 1 if colon else self.octets.find(self.key) + len(self.key)
        at = self.octets.find(self.value, after_key) if self.value else after_key
        return max(at, 0)

    def column_of(self, at: int) -> int:
        """The column, in characters from 1, of the octet at an index."""
        return len(self.octets[:at].decode("utf-8", "replace")) + 1


@dataclass(frozen=True)
class Block:
    """One group as it stands in the file: user-agent lines, rules, other records."""

    agents: list[Line] = field(default_factory=list)
    rules: list[Line] = field(default_factory=list)
    others: list[Line] = field(default_factory=list)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Whom it names, as `name_of` gives them, each once."""
        names = (name_of(line.value) for line in self.agents)
        return tuple(dict.fromkeys(name for name in names if name))


@dataclass(frozen=True)
class Outline:
    """A file as it stands.

    Attributes:
        octets: what counts of it, with LF as its only line end.
        uri: where it was fetched; may be empty.
        is_cut: whether octets past the parse limit were ignored.
        codings: what it came in, such as UTF-16; mostly nothing.
        lines: all lines that are not blank.
        blocks: the groups, in file order, not merged.
        before: rules and other records before the first user-agent line.
        runs: user-agent lines that no record stands between, with the records of pace that belong
            to them (`extensions.pace`) as their other records.
    """

    octets: bytes = field(repr=False)
    uri: str
    is_cut: bool
    codings: Codings
    lines: tuple[Line, ...] = field(repr=False)
    blocks: tuple[Block, ...] = field(repr=False)
    before: tuple[Line, ...] = field(repr=False)
    runs: tuple[Block, ...] = field(repr=False)

    @property
    def is_opaque(self) -> bool:
        """Whether its octets are no lines that could be edited."""
        return any(coding is not Coding.UTF16 for coding in self.codings)

    @cached_property
    def by_name(self) -> dict[str, tuple[int, ...]]:
        """For each name the indices of the groups that name it, in the order of first mention."""
        return _indices_by_name(self.blocks)

    @cached_property
    def paces_by_name(self) -> dict[str, tuple[int, ...]]:
        """The same of the runs that ask for a pace."""
        return _indices_by_name(self.runs, lambda run: bool(run.others))

    @cached_property
    def merges(self) -> tuple[tuple[int, ...], ...]:
        """The indices of the groups that together are some crawler's, each way to merge once.

        A crawler with a product token obeys all names that begin with it and go on with another
        character: ``mj`` the groups for ``mj12bot`` and for ``mj13bot``.
        """
        by_token: dict[str, set[int]] = {}
        for name, indices in self.by_name.items():
            by_token.setdefault(token_of(name), set()).update(indices)
        tokens = (tuple(sorted(indices)) for token, indices in by_token.items() if token)
        return tuple(dict.fromkeys((*self.by_name.values(), *tokens)))

    @property
    def sitemaps(self) -> tuple[Line, ...]:
        """The Sitemap lines."""
        return tuple(line for line in self.lines if line.kind is Kind.SITEMAP)


def outline(body: bytes, uri: str = "", *, limit_octets: int = PARSE_LIMIT_OCTETS) -> Outline:
    """Read a file line by line, as far as its parse limit."""
    octets, is_cut, codings = clean(body, limit_octets)
    lines = tuple(_lines(octets))
    blocks: list[Block] = []
    before: list[Line] = []
    runs: list[Block] = []
    is_run = False
    for line in lines:
        if line.kind is Kind.USER_AGENT:
            if not is_run:
                runs.append(Block())
            runs[-1].agents.append(line)
            if not blocks or blocks[-1].rules:
                blocks.append(Block())
            blocks[-1].agents.append(line)
        elif line.kind in RULES:
            (blocks[-1].rules if blocks else before).append(line)
        elif line.kind is Kind.OTHER:
            (blocks[-1].others if blocks else before).append(line)
            if runs and line.name in PACE_KEYS:
                runs[-1].others.append(line)
        is_run = line.kind is Kind.USER_AGENT or (is_run and line.kind is None)
    return Outline(octets, uri, is_cut, codings, lines, tuple(blocks), tuple(before), tuple(runs))


def _indices_by_name(
    blocks: Iterable[Block], counts: Callable[[Block], bool] = lambda _: True
) -> dict[str, tuple[int, ...]]:
    found: dict[str, list[int]] = {}
    for index, block in enumerate(blocks):
        for name in block.names if counts(block) else ():
            found.setdefault(name, []).append(index)
    return {name: tuple(indices) for name, indices in found.items()}


def _lines(octets: bytes) -> Iterator[Line]:
    read = [
        (number, raw, read_line(raw))
        for number, raw in enumerate(octets.split(b"\n"), start=1)
        if raw and not raw.isspace()
    ]
    values = [record[2] for _, _, record in read if record is not None and record[0] in RULES]
    patterns = iter(normal_patterns([value.decode("latin-1") for value in values]))
    for number, raw, record in read:
        _, mark, comment = raw[:LINE_LIMIT_OCTETS].partition(b"#")
        said = comment if mark else None
        if record is None:
            yield Line(number, raw, None, comment=said)
        else:
            yield Line(number, raw, *record, said, next(patterns) if record[0] in RULES else "")


def name_of(value: bytes) -> str:
    """Whom a user-agent line names, in lower case: ``*``, a name, or nobody (empty).

    A name is the line's first word if a crawler could be called that, otherwise the product token
    at its start. A crawler with a product token obeys every name that begins with it and goes on
    with another character (`protocol.tokens.token_of`).
    """
    if value[:1] == b"*":
        return EVERYONE if is_everyone(value) else ""
    word = value.partition(b"/")[0].split(maxsplit=1)
    written = word[0].decode("utf-8", "replace") if word and value[:1] != b"/" else ""
    text = written.lower()
    # A few letters have an ASCII one as their lower case; octets are compared without that.
    is_readable = is_name(text) and text.isprintable()
    if is_readable and text.isascii() == written.isascii():
        return text
    return token_of(written).lower()

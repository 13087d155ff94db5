"""A file line by line, with its groups before they are merged: for checks and rewriting.

Takes octets, gives an `Outline`. It reads lines with the functions of `lines`, like the core, but
keeps what the core drops: comments, lines without a record, unmerged groups.

Cost: linear in the octets; memory is a `Line` for each line that is not blank, about 400 octets.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property

from scrapy_rep.extras.webmaster.effect.other_readers import escaped
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
from scrapy_rep.protocol.tokens import EVERYONE, is_everyone, is_name, is_product_token, token_of
from scrapy_rep.protocol.written import has_lone_percent

KEYS = {
    Kind.USER_AGENT: b"User-agent",
    Kind.ALLOW: b"Allow",
    Kind.DISALLOW: b"Disallow",
    Kind.SITEMAP: b"Sitemap",
}
"""The keys in their usual spelling."""


@dataclass(frozen=True, slots=True)
class Line:
    """A line that is not blank.

    Attributes:
        number: its number from 1, as in an editor.
        octets: the whole line without its end.
        kind: the kind of its record; None without a record.
        key: the key as written.
        value: the value without comment and outer white space.
        comment: the text after the first ``#``; None without ``#``.
        pattern: a rule's value in normal form (`protocol.paths`); empty for other records.
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
        """Whether it is a rule that is also compared as written (`protocol.written`)."""
        return self.kind in RULES and has_lone_percent(self.value.decode("latin-1"))

    @property
    def says(self) -> str:
        """The text that a rule is compared by: rules of one kind with the same text are equal."""
        return f"{self.pattern}\n{self.value!r}" if self.is_written else self.pattern

    @property
    def spelling(self) -> str:
        """Rules of one kind with the same spelling are equal to all readers."""
        return f"{escaped(self.value)}\n{self.value!r}" if self.is_written else escaped(self.value)

    @property
    def is_cut(self) -> bool:
        """Whether its content, without a comment, is longer than the line limit."""
        return len(self.octets) > LINE_LIMIT_OCTETS < len(self.octets.partition(b"#")[0])

    @property
    def key_column(self) -> int:
        """The column where the key begins, in characters from 1."""
        return self.column_of(len(self.octets) - len(self.octets.lstrip()))

    @property
    def value_column(self) -> int:
        """The column where the value begins, in characters from 1."""
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


def with_value(line: Line, value: bytes) -> bytes:
    """A line with another value."""
    at = line.value_at
    return line.octets[:at] + value + line.octets[at + len(line.value) :]


@dataclass(frozen=True)
class Block:
    """One group before merging: user-agent lines, rules, other records."""

    agents: list[Line] = field(default_factory=list)
    rules: list[Line] = field(default_factory=list)
    others: list[Line] = field(default_factory=list)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of its user-agent lines, as from `name_of`, each once."""
        names = (name_of(line.value) for line in self.agents)
        return tuple(dict.fromkeys(name for name in names if name))


@dataclass(frozen=True)
class Outline:
    """A file line by line.

    Attributes:
        octets: the parseable octets, with LF as the only line end.
        uri: where it was fetched; may be empty.
        is_cut: whether octets past the parse limit were ignored.
        codings: encodings of the body, such as gzip or UTF-16; usually empty.
        lines: all lines that are not blank.
        blocks: the groups, in file order, not merged.
        before: rules and other records before the first user-agent line.
        runs: user-agent lines without a record between them; their other records are the records of
            pace that belong to them (`extensions.pace`).
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
        """Whether its octets are not text lines that could be edited."""
        return any(coding is not Coding.UTF16 for coding in self.codings)

    @cached_property
    def is_markup(self) -> bool:
        """Whether it is a page."""
        return is_markup(self.octets)

    @cached_property
    def by_name(self) -> dict[str, tuple[int, ...]]:
        """The indices of the groups that name each name, in the order of first mention."""
        return _indices_by_name(self.blocks)

    @cached_property
    def spellings(self) -> dict[str, str]:
        """Each name of `by_name` as the file spells it first."""
        found: dict[str, str] = {}
        for block in self.blocks:
            for line in block.agents:
                name = name_of(line.value)
                written = line.value.decode("utf-8", "replace")[: len(name)]
                found.setdefault(name, written if written.lower() == name else name)
        return found

    @cached_property
    def paces_by_name(self) -> dict[str, tuple[int, ...]]:
        """The indices of the runs with a pace for each name, in the order of first mention."""
        return _indices_by_name(self.runs, lambda run: bool(run.others))

    @cached_property
    def by_token(self) -> dict[str, tuple[int, ...]]:
        """The indices of the groups that a crawler with each product token obeys.

        It obeys all names that consist of the token and a suffix that begins with another
        character: ``mj`` obeys the groups for ``mj12bot`` and ``mj13bot``.
        """
        found: dict[str, set[int]] = {}
        for name, indices in self.by_name.items():
            found.setdefault(token_of(name), set()).update(indices)
        return {token: tuple(sorted(indices)) for token, indices in found.items() if token}

    @property
    def merges(self) -> tuple[tuple[int, ...], ...]:
        """The indices of the groups that are merged for some crawler, each combination once."""
        return tuple(dict.fromkeys((*self.by_name.values(), *self.by_token.values())))

    def obeyed_by(self, agent: str) -> tuple[int, ...]:
        """The indices of the groups that name an agent: a product token, or another name."""
        groups = self.by_token if is_product_token(agent) else self.by_name
        return groups.get(agent.lower(), ())

    def rules_of(self, groups: Iterable[int]) -> list[Line]:
        """The rules of the groups with some indices."""
        return [line for index in groups for line in self.blocks[index].rules]

    @property
    def sitemaps(self) -> tuple[Line, ...]:
        """The Sitemap lines."""
        return tuple(line for line in self.lines if line.kind is Kind.SITEMAP)


def is_markup(octets: bytes) -> bool:
    """Whether a file is a page; a comment of HTML may also begin a robots.txt."""
    start = octets.lstrip()
    if start.startswith(b"<!--"):
        lowered = start.lower()
        return b"<html" in lowered or b"<!doctype" in lowered
    return start.startswith(b"<")


def outline(body: bytes, uri: str = "", *, limit_octets: int = PARSE_LIMIT_OCTETS) -> Outline:
    """Read a file line by line, up to its parse limit."""
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
    numbered = enumerate(octets.split(b"\n"), start=1)
    read = [(n, raw, read_line(raw)) for n, raw in numbered if raw and not raw.isspace()]
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
    """The name in a user-agent line, in lower case: ``*``, a name, or empty.

    It is the line's first word if a crawler could have that name, otherwise the product token at
    the start. A crawler with a product token obeys every name that consists of it and a suffix that
    begins with another character (`protocol.tokens.token_of`).
    """
    if value[:1] == b"*":
        return EVERYONE if is_everyone(value) else ""
    word = value.partition(b"/")[0].split(maxsplit=1)
    written = word[0].decode("utf-8", "replace") if word and value[:1] != b"/" else ""
    text = written.lower()
    # A few other letters have an ASCII lower case; octets are not compared that way.
    is_readable = is_name(text) and text.isprintable()
    if is_readable and text.isascii() == written.isascii():
        return text
    return token_of(written).lower()


# Behind a name, a version or a star says nothing; anything else may be another name.
_NO_NAME = re.compile(rb"\**(?:/[Vv]?\d[\d.]*\w?)?\**")


def has_other_words(value: bytes) -> bool:
    """Whether the value of a user-agent line has more than a name and its version."""
    return not _NO_NAME.fullmatch(value[len(name_of(value).encode()) :])

"""Write a robots.txt in normalised form, in one of three modes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from enum import Enum
from functools import partial
from itertools import chain

from scrapy_rep.extras.webmaster.effect.rule_patterns import StepBudget
from scrapy_rep.extras.webmaster.outline import Line, Outline, outline
from scrapy_rep.protocol.errors import ConfigurationError
from scrapy_rep.protocol.lines import LINE_LIMIT_OCTETS, PARSE_LIMIT_OCTETS, Kind

from .grouping import (
    BUDGET_STEPS,
    Section,
    SectionRule,
    is_too_much,
    joined,
    merged,
    sections,
    shortened,
)
from .spelling import (
    Notes,
    agent_texts,
    as_written,
    is_known,
    notes_of,
    octets_of,
    record_text,
    rule_text,
    sitemap_texts,
)


class Mode(Enum):
    """How a file is rewritten; the value is for people."""

    NORMAL = "normal"
    """Groups with equal rules become one; rules keep their order, except in groups that are joined
    because they are for the same crawler."""
    COMPACT = "compact"
    """Also without duplicates and rules without effect, the most specific rules first."""
    COMPATIBLE = "compatible"
    """For weak parsers: a group for each crawler, the most specific rules first, no wildcard rules
    where the plain ones say the same, and escapes instead of characters that are not ASCII."""


def normalise(body: bytes, mode: Mode | str = Mode.NORMAL, uri: str = "") -> bytes:
    """A robots.txt with the same meaning in normalised form: LF, UTF-8, one record per line.

    Args:
        body: the file; any octets.
        mode: a `Mode`, or its name.
        uri: the requested URI of the file, to make Sitemap lines absolute; may be empty.

    Returns:
        The new file. Normalising it again changes nothing. If the result would be larger than the
        parse limit, so that crawlers would read less of it, another mode that needs less room is
        used: compatible, then normal, then the parseable octets with LF as the only line end, or
        the file itself if it is UTF-16 and these octets are too many. They are also the result if
        `grouping.is_too_much` of the merged groups. A file in gzip or UTF-32 is not
        changed.

    Raises:
        ConfigurationError: the mode is unknown.

    Nothing in a file raises. Time is O(n log n) in the octets that are read and written, plus the
    comparisons of rules, which `grouping.BUDGET_STEPS` limits: if a file needs more, all its
    rules are kept.
    """
    try:
        mode = Mode(mode)
    except ValueError:
        modes = ", ".join(known.value for known in Mode)
        raise ConfigurationError(f"mode = {mode!r}: must be one of {modes}") from None
    outlined = outline(body, uri)
    # UTF-16 that would be larger as UTF-8 than the parse limit can't be converted.
    as_it_counts = outlined.octets if len(outlined.octets) <= PARSE_LIMIT_OCTETS else body
    if outlined.is_opaque:
        return body
    if is_too_much(outlined):
        return as_it_counts
    for tried in dict.fromkeys((mode, Mode.NORMAL)):
        written = _Writer(outlined, tried).file()
        if written is not None:
            return written
    return as_it_counts


class _Writer:
    """Writes one file, with each comment once."""

    def __init__(self, outlined: Outline, mode: Mode) -> None:
        self._outlined = outlined
        self._mode = mode
        self._found = list(self._sections())
        self._notes: Notes = notes_of(outlined, set(self._numbers()))
        self._told: set[int] = set()

    def file(self) -> bytes | None:
        """The file; None if it would be too large."""
        octets = 0
        paragraphs: list[str] = []
        for paragraph in self._paragraphs():
            lines: list[str] = []
            for line in paragraph:
                octets += len(octets_of(line)) + 1
                if octets > PARSE_LIMIT_OCTETS:
                    return None
                lines.append(line)
            if lines:
                octets += 1
                paragraphs.append("\n".join(lines) + "\n")
        written = octets_of("\n".join(paragraphs))
        return written if len(written) <= PARSE_LIMIT_OCTETS else None

    def _paragraphs(self) -> Iterator[Iterable[str]]:
        yield self._notes.head
        yield self._records(line for line in self._outlined.before if line.kind is Kind.OTHER)
        for section in self._found:
            yield self._section(section)
        yield self._sitemaps()
        yield self._notes.tail

    def _numbers(self) -> Iterator[int]:
        """The lines with records that are written."""
        lines = chain(self._outlined.before, self._outlined.sitemaps)
        for section in self._found:
            rules = (rule.lines for rule in section.rules)
            lines = chain(lines, *section.agents.values(), *rules, section.others)
        return (line.number for line in lines)

    def _sections(self) -> Iterable[Section]:
        found = sections(self._outlined)
        budget = StepBudget(BUDGET_STEPS)
        if self._mode is Mode.NORMAL:
            return merged([joined(section, budget) for section in merged(found)])
        if self._mode is Mode.COMPACT:
            found = merged(found)
        shorter = self._shorter(found, budget)
        return self._shorter(found, budget) if budget.is_spent else shorter

    def _shorter(self, found: list[Section], budget: StepBudget) -> list[Section]:
        """The sections with as few rules as the mode allows; all rules once the budget is spent."""
        if self._mode is Mode.COMPATIBLE:
            plain = partial(shortened, budget=budget, wild_only=True)
            return list(_for_each_rules(plain, found))
        return merged([shortened(section, budget) for section in found])

    def _section(self, section: Section) -> Iterator[str]:
        for lines in section.agents.values():
            for text, same in agent_texts(lines).items():
                yield from self._with_notes(same, _fitting(text, same[0]))
        for rule in section.rules:
            yield from self._with_notes(rule.lines, self._rule(rule))
        if not section.rules:
            yield "Disallow:"
        yield from self._records(section.others)

    def _rule(self, rule: SectionRule) -> str:
        line = rule.lines[0]
        is_readable = self._mode is not Mode.COMPATIBLE and not line.value.isascii()
        return rule_text(line, is_readable=is_readable)

    def _records(self, lines: Iterable[Line]) -> Iterator[str]:
        for line in lines:
            is_of_file = line.name == b"host"  # of the whole file, in whatever group it is
            if is_known(line) and not (is_of_file and line.number in self._told):
                yield from self._with_notes((line,), _fitting(record_text(line), line))

    def _sitemaps(self) -> Iterator[str]:
        found: dict[tuple[str, int], list[Line]] = {}
        for line in self._outlined.sitemaps:
            for written in sitemap_texts(line, self._outlined.uri):
                number = line.number if self._mode is Mode.NORMAL else 0  # then each text once
                found.setdefault((_fitting(written, line), number), []).append(line)
        for (text, _), lines in found.items():
            yield from self._with_notes(lines, text)

    def _with_notes(self, lines: Iterable[Line], text: str) -> Iterator[str]:
        for line in lines:
            if line.number not in self._told:
                self._told.add(line.number)
                yield from self._notes.before.get(line.number, ())
        yield text


def _for_each_rules(
    rewrite: Callable[[Section], Section], found: Iterable[Section]
) -> Iterator[Section]:
    """Rewrite sections; sections that share their rules are rewritten together."""
    known: dict[tuple[int, bool], Section] = {}
    for section in found:
        key = id(section.rules), section.is_alone
        if key not in known:
            known[key] = rewrite(section)
        yield replace(section, rules=known[key].rules)


def _fitting(text: str, line: Line) -> str:
    """A record in its new form, or in its old one if the new one is longer than the line limit."""
    if len(octets_of(text)) <= LINE_LIMIT_OCTETS:
        return text
    return as_written(line)

"""What known crawlers may fetch, as a table for people, as JSON and as CSV."""

from __future__ import annotations

import csv
import io
import json
import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from scrapy_rep.analysis.agents.crawlers import CRAWLERS, Crawler, crawler_of
from scrapy_rep.analysis.agents.table import DATED
from scrapy_rep.analysis.audience.accidents import Accident
from scrapy_rep.analysis.audience.bindings import Access, Binding, name_by_rfc
from scrapy_rep.analysis.outline import Outline, name_of
from scrapy_rep.protocol.tokens import EVERYONE
from scrapy_rep.protocol.verdict import shown

from .terminal import Terminal, count_of, cut

_PURPOSES = (
    *("ai-training", "ai-search", "ai-user-fetch", "search", "preview", "ads", "seo"),
    *("archive", "research", "monitoring", "feed", "other"),
)
_QUESTIONS = {"ai-training": "train on it", "ai-search": "answer from it", "search": "search it"}
_COLOURS = {Access.ALLOWED: "green", Access.DISALLOWED: "red", Access.NOT_BOUND: "yellow"}
_COLUMNS = 78
_WIDTHS = {"operator": 15, "crawler": 24}


def write_text(
    found: Sequence[Binding],
    accidents: Sequence[Accident],
    outlined: Outline,
    terminal: Terminal,
    *,
    is_whole: bool,
) -> None:
    """What is found for each URL; what is alike for several, and the legend, come once."""
    said: dict[frozenset[tuple[str, Access, bool]], str] = {}
    for url in dict.fromkeys(one.url for one in found):
        own = [one for one in found if one.url == url]
        _write_url(own, accidents, said, terminal, is_whole=is_whole)
    _write_names(found, outlined, terminal)
    terminal.line(f"by a list of {DATED}; ? is not certain, and --json says why")
    rows = found if is_whole else _of_note(found, accidents)
    if any(_mark(one) for one in rows if is_whole or not one.crawler.is_obsolete):
        terminal.line("! no parser of RFC 9309 can match this name; the crawler itself may")
    terminal.line()


def _write_url(
    found: Sequence[Binding],
    accidents: Sequence[Accident],
    said: dict[frozenset[tuple[str, Access, bool]], str],
    terminal: Terminal,
    *,
    is_whole: bool,
) -> None:
    """What is found for one URL; crawlers out of use come apart, if the file names them.

    What was found for the URLs before it, and for which of them first, is in `said`; this is added.
    """
    in_use = sorted((one for one in found if not one.crawler.is_obsolete), key=_order)
    retired = sorted((one for one in found if one.crawler.is_obsolete), key=_order)
    own = [one for one in accidents if one.binding in found]
    rows = in_use if is_whole else _of_note(in_use, own)
    terminal.line(terminal.paint(_url_words(found[0].url), "bold"))
    _write_table(rows, terminal)
    if is_whole and retired:
        terminal.line(terminal.paint("names out of use", "bold"))
        _write_table(retired, terminal)
    left = len(in_use) - len(rows)
    if left:
        rest = _most(in_use)
        terminal.line(
            f"and {count_of(left, 'crawler')} that the file does not name (--all): {rest}"
        )
    terminal.line()
    alike = frozenset((one.crawler.name, one.access, bool(one.doubts)) for one in in_use)
    first = said.setdefault(alike, found[0].url)
    if first == found[0].url:
        _write_summary(in_use, terminal)
        for purpose, question in _QUESTIONS.items():
            _write_question(
                question, [one for one in in_use if one.crawler.purpose == purpose], terminal
            )
    else:
        terminal.line(f"each crawler has the same verdict here as for {_url_words(first)}")
    _write_accidents(own, terminal)
    terminal.line()


def _order(binding: Binding) -> tuple[int, str, str]:
    crawler = binding.crawler
    return _PURPOSES.index(crawler.purpose), crawler.operator.lower(), crawler.name


def _of_note(found: Sequence[Binding], accidents: Sequence[Accident]) -> list[Binding]:
    """Those whose group the file names, and those that it seems to ban by accident."""
    banned = [one.binding for one in accidents]
    return [one for one in found if one.is_own_group or one.is_fallback or one in banned]


def _most(found: Sequence[Binding]) -> str:
    """What those get that no group names."""
    counts = Counter(
        one.access.value for one in found if not one.is_own_group and not one.is_fallback
    )
    return ", ".join(f"{count} {word}" for word, count in counts.most_common())


def _write_table(rows: Sequence[Binding], terminal: Terminal) -> None:
    if not rows:
        return
    cells = [
        (
            one.crawler.purpose,
            cut(one.crawler.operator, _WIDTHS["operator"]),
            f"{cut(one.crawler.token, _WIDTHS['crawler'])}{_mark(one)}",
            f"{one.access.value}{'?' if one.doubts else ''}",
            _by(one),
        )
        for one in rows
    ]
    terminal.table([("purpose", "operator", "crawler", "verdict", "by"), *cells])


def _mark(binding: Binding) -> str:
    return "!" if name_by_rfc(binding.crawler) is not None else ""


def _by(binding: Binding) -> str:
    """The line that decides; and whose group it is in, if not in the crawler's own."""
    if binding.access is Access.NOT_BOUND:
        return "-"
    line = str(binding.verdict.line or "-")
    return line if binding.is_own_group or not binding.group else f"{line} {binding.group}"


def _write_summary(found: Sequence[Binding], terminal: Terminal) -> None:
    """How many of each purpose may fetch."""
    if not found:
        return
    rows = [("purpose", *(access.value for access in Access), "not certain")]
    for purpose in _PURPOSES:
        own = [one for one in found if one.crawler.purpose == purpose]
        counts = Counter(one.access for one in own)
        if own:
            numbers = (*(counts[access] for access in Access), sum(bool(one.doubts) for one in own))
            rows.append((purpose, *map(str, numbers)))
    terminal.table(rows)
    terminal.line()


def _write_question(question: str, found: Sequence[Binding], terminal: Terminal) -> None:
    """Who may, and who may not, by their operators; one is certain if one of its crawlers is."""
    if not found:
        return
    terminal.line(terminal.paint(f"who can {question}", "bold"))
    for access in Access:
        own = [one for one in found if one.access is access]
        certain = {_who(one.crawler) for one in own if not one.doubts}
        names = dict.fromkeys(_who(one.crawler) for one in own)
        if names:
            said = ", ".join(name if name in certain else f"{name}?" for name in names)
            first, *more = textwrap.wrap(
                f"{access.value}: {said}", _COLUMNS - 2, subsequent_indent="    "
            )
            terminal.line(f"  {first.replace(access.value, _painted(access, terminal), 1)}")
            for line in more:
                terminal.line(f"  {line}")


def _who(crawler: Crawler) -> str:
    """The operator; the crawler itself, if that could be anyone."""
    is_anyone = crawler.operator == "unknown" or crawler.operator.startswith("anyone")
    return crawler.token if is_anyone else crawler.operator


def _painted(access: Access, terminal: Terminal) -> str:
    return terminal.paint(access.value, _COLOURS[access])


def _write_accidents(accidents: Sequence[Accident], terminal: Terminal) -> None:
    if not accidents:
        return
    terminal.line(terminal.paint("banned by accident, it seems", "bold"))
    for one in accidents:
        text = f"{one.binding.crawler.token}: {one.words}"
        for line in textwrap.wrap(text, _COLUMNS - 2, subsequent_indent="    "):
            terminal.line(f"  {line}")


def _write_names(found: Sequence[Binding], outlined: Outline, terminal: Terminal) -> None:
    """What is to be said of names in the file: out of use; or not found by parsers of the RFC."""
    known = {one.crawler.name for one in found}
    told = list(dict.fromkeys(_name_words(outlined, known)))
    if told:
        terminal.line(terminal.paint("names in the file", "bold"))
    for text in told:
        for line in textwrap.wrap(text, _COLUMNS - 2, subsequent_indent="    "):
            terminal.line(f"  {line}")


def _name_words(outlined: Outline, known: set[str]) -> Iterator[str]:
    for block in outlined.blocks:
        for line in block.agents:
            crawler = crawler_of(name_of(line.value)) or crawler_of(_text(line.value))
            if crawler is None or crawler.name not in known:
                continue
            where = f"line {line.number}: {shown(line.value)}"
            if crawler.is_obsolete:
                yield f"{where} is out of use{_successors(crawler)}"
            read = name_by_rfc(crawler)
            if read is not None:
                yield f"{where}: {_rfc_words(crawler, read)}"


def _text(value: bytes) -> str:
    return value.decode("utf-8", "replace")


def _successors(crawler: Crawler) -> str:
    names = [
        other.token
        for other in CRAWLERS
        if other.operator == crawler.operator and not other.is_obsolete
    ]
    return f"; {crawler.operator} has {', '.join(names)}" if names else f" ({crawler.operator})"


def _rfc_words(crawler: Crawler, read: str) -> str:
    name = f"only {read!r}" if read else "no name at all"
    return f"no parser of RFC 9309 can match {crawler.token!r}, it reads {name}"


def _url_words(url: str) -> str:
    return shown(url.encode("utf-8", "backslashreplace"))


def _row(binding: Binding, accident: Accident | None) -> dict[str, Any]:
    """A crawler and a URL, for programs."""
    crawler, verdict = binding.crawler, binding.verdict
    return {
        "url": binding.url,
        "crawler": crawler.token,
        "operator": crawler.operator,
        "purpose": crawler.purpose,
        "access": binding.access.name.lower(),
        "file_allows": verdict.allowed,
        "group": binding.group or None,
        "group_is": _group_is(binding),
        "line": verdict.line or None,
        "rule": None if verdict.rule is None else str(verdict.rule),
        "obeys": crawler.obeys,
        "is_certain": not binding.doubts,
        "doubts": list(binding.doubts),
        "accident": None if accident is None else accident.sign.value,
        "accident_words": None if accident is None else accident.words,
        "name_by_rfc_9309": crawler.token if (read := name_by_rfc(crawler)) is None else read,
        "is_obsolete": crawler.is_obsolete,
        "is_user_triggered": crawler.is_user_triggered,
        "by": crawler.by,
        "seen": crawler.seen or None,
        "list_of": DATED,
    }


def _group_is(binding: Binding) -> str:
    if binding.group in ("", EVERYONE):
        return "everyone" if binding.group else "none"
    return "own" if binding.is_own_group else "fallback"


def _rows(found: Sequence[Binding], accidents: Sequence[Accident]) -> Iterator[dict[str, Any]]:
    by_binding = {(one.binding.crawler.token, one.binding.url): one for one in accidents}
    for binding in sorted(found, key=_order):
        yield _row(binding, by_binding.get((binding.crawler.token, binding.url)))


def write_json(found: Sequence[Binding], accidents: Sequence[Accident], terminal: Terminal) -> None:
    """An object a line."""
    for row in _rows(found, accidents):
        terminal.line(json.dumps(row))


def write_csv(found: Sequence[Binding], accidents: Sequence[Accident], terminal: Terminal) -> None:
    """A table with a head; lists are joined by semicolons, and unknown values are empty."""
    text = io.StringIO()
    writer: csv.DictWriter[str] | None = None
    for row in _rows(found, accidents):
        if writer is None:
            writer = csv.DictWriter(text, row, lineterminator="\n")
            writer.writeheader()
        writer.writerow({name: _cell(value) for name, value in row.items()})
    for line in text.getvalue().splitlines():
        terminal.line(line)


def _cell(value: object) -> object:
    """A value of a table; a text that a program may take for a formula is quoted."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return "; ".join(value)
    if isinstance(value, str):
        text = shown(value.encode("utf-8", "backslashreplace"))
        return f"'{text}" if text[:1] in ("=", "+", "-", "@") else text
    return value

"""``scrapy rep log``: which crawlers in an access log obeyed robots.txt."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from operator import itemgetter
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

from scrapy_rep.commands.inputs import named_origin, octets_of, refuse_two_stdins
from scrapy_rep.commands.running import FOUND, UNSETTLED, Call, CommandError, text_file, write_rows
from scrapy_rep.commands.terminal import date, safe, shortened
from scrapy_rep.extras.accesslog import complaint, file_versions, obedience
from scrapy_rep.extras.accesslog.log_lines import LogReading
from scrapy_rep.extras.accesslog.obedience import AGAINST, Obedience, Offence
from scrapy_rep.extras.evidence import html_page
from scrapy_rep.extras.identity.keys import KeyPair
from scrapy_rep.extras.webmaster.agents import claims
from scrapy_rep.protocol.units import counted

_HEAD = ["crawler", "requests", "robots.txt", "against", "3xx", "refused", "unjudged"]
_HEAD += ["gap (s)", "purpose", "example"]
_MOST_ROWS = 1000
_OFFENCE = ("at", "target", "address", "status", "answer", "file", "rule_line", "rule", "why")
_COLUMNS = ["crawler", "operator", "purpose", "identity", *obedience.COUNTS]
_COLUMNS += ["smallest_gap_seconds", "crawl_delay_seconds", *_OFFENCE]

Row = dict[str, Any]
Texts = Sequence[str]
Look = tuple[Texts, Callable[[Row], Texts], int]
"""For people: the head, the cells of a row, and how many of them a terminal has in columns."""


def run(call: Call) -> int | None:
    """Report on a log, answer a complaint, or verify an excerpt.

    Raises:
        CommandError: the usage is wrong, or a file cannot be read.
    """
    options = call.options
    if options.verify:
        call.lines(map(safe, complaint.verified(options.verify)))
        return None
    if not options.logs:
        raise CommandError("give an access log, or - for standard input")
    for one, other in (("trail", "site"), ("sign", "trail")):
        if getattr(options, one) and not getattr(options, other):
            raise CommandError(f"--{one} needs --{other}")
    refuse_two_stdins(options.logs)
    html_page.refuse_page_without_jinja(options.output)
    site = complaint.site_of(str(named_origin(options.site))) if options.site else ""
    reading = LogReading(options.logs, options.fields or "", site)
    is_against = (_answer if options.trail else _judge)(reading, call)
    return UNSETTLED if reading.problems else FOUND if is_against else None


def _judge(reading: LogReading, call: Call) -> bool:
    """Report on all crawlers, or with `--lines` on one; whether a request was against the rules."""
    options = call.options
    identities = _identities(options.verify_ips)
    judge = Obedience(_versions(call), identities)
    wanted = (options.lines or "").lower()
    if wanted and (options.csv or options.output):
        raise CommandError("--lines writes text or --json to standard output")
    for line, text in call.terminal.progress(reading.lines(), "lines read"):
        offence = judge.take(line)
        if offence is not None and offence.crawler.lower() == wanted:
            who = identities[wanted](line.address) if wanted in identities else ""
            row = {**_offence(offence), "identity": who or None, "text": text}
            shown = f"{safe(text)}\n  {row['answer']}{who and f' ({who})'}: {safe(row['why'])}"
            call.row(row) if call.is_json else call.line(shown)
    rows = [*_rows(judge)]
    words = [*_sentences(rows, judge.unnamed_count, reading)]
    unseen = {*identities, wanted} - {"", *(row["crawler"].lower() for row in rows)}
    words += [f"{name}: no crawler was counted by this name" for name in sorted(unseen)]
    if wanted:
        call.complain(*map(safe, words[4:]))
    else:
        _write(call, rows, _COLUMNS, (_HEAD, _cells, 9), words)
    return any(row[AGAINST] for row in rows)


def _versions(call: Call) -> Iterator[file_versions.FileVersion]:
    """The versions of the file, by the options."""
    options = call.options
    yield from file_versions.named_versions(options.robots)
    if options.robots_git:
        yield from file_versions.git_versions(Path(options.robots_git))
    elif not options.robots:
        if not options.site:
            raise CommandError("give --robots, --robots-git, or --site for the store's versions")
        from scrapy_rep.commands.project_store import versions_of

        origin = named_origin(options.site)
        copies = versions_of(call.settings, origin)
        yield from file_versions.stored_versions(copies, origin.robots_txt_uri)


def _identities(arguments: Iterable[str]) -> dict[str, claims.Identify]:
    """Tell genuine addresses of crawlers, by their names in lower case."""
    files: dict[str, list[bytes]] = {}
    for argument in arguments:
        name, _, path = argument.partition("=")
        if not path:
            raise CommandError(f"--verify-ips {argument}: give CRAWLER=FILE")
        files.setdefault(name.lower(), []).append(octets_of(path))
    return {name: claims.identities(*found) for name, found in files.items()}


def _rows(judge: Obedience) -> Iterator[Row]:
    """Yield a row for each crawler, the worst first."""
    last = file_versions.parsed(judge.versions[-1])
    for tally in judge.tallies():
        crawler, tokens = tally.claim.crawler, tally.claim.tokens
        values = (
            tally.claim.name,
            *((crawler.operator, crawler.purpose) if crawler else (None, None)),
            tally.identity or None,
            *(tally.counts[name] for name in obedience.COUNTS),
            None if tally.smallest_gap == math.inf else tally.smallest_gap,
            last.crawl_delay(tokens) if tokens else None,
            *(_offence(tally.example).values() if tally.example else [None] * len(_OFFENCE)),
        )
        yield dict(zip(_COLUMNS, values, strict=True))


def _offence(offence: Offence) -> Row:
    """An offence as JSON."""
    _, (at, address, target, status, *_), verdict, answer = offence
    told = date(at), target[:200], address, status, answer
    why = str(verdict).removeprefix("disallowed by ")
    rule = verdict.robots_txt, verdict.line, str(verdict.rule), why
    return dict(zip(_OFFENCE, (*told, *rule), strict=True))


def _cells(row: Row) -> Sequence[str]:
    """A row for people."""
    gap, delay = row["smallest_gap_seconds"], row["crawl_delay_seconds"]
    return (
        row["crawler"][:19] + (f" ({row['identity']})" if row["identity"] else ""),
        *(f"{row[name]:,}" for name in obedience.COUNTS),
        ("-" if gap is None else f"{gap:g}") + (f" ({delay:g})" if delay else ""),
        row["purpose"] or "-",
        f"{row['at']} {row['target']} ({row['status']}): {row['why']}" if row["at"] else "",
    )


def _sentences(rows: Sequence[Row], unnamed_count: int, reading: LogReading) -> Iterator[str]:
    """Yield the result, and its limits."""
    against, all_ = (sum(row[name] for row in rows) for name in (AGAINST, obedience.REQUESTS))
    requests = f"{counted(all_, 'request')} of {counted(len(rows), 'crawler')} in all"
    yield f"{counted(against, 'request')} went against the robots.txt of that time; {requests}."
    yield "Redirected, refused (403, 429) and unjudged requests are not counted as against it."
    yield "User-Agents can be forged: --verify-ips tells genuine requests from claimed ones."
    left = counted(unnamed_count, "request")
    yield f"Left out: {left} without a crawler's name, {reading.foreign_count:,} to other hosts."
    yield from _flaws(reading)


def _flaws(reading: LogReading) -> Iterator[str]:
    """Yield which parts of the logs could not be read."""
    if reading.unreadable_count:
        lines = counted(reading.unreadable_count, "unreadable line")
        yield f"{lines}; the first: {reading.unreadable_example}"
    yield from reading.problems


def _answer(reading: LogReading, call: Call) -> bool:
    """Answer a complaint by the trail of a crawl; whether a request was against the rules."""
    from scrapy_rep.extras.evidence.reports.report_making import trails_at  # loads Scrapy

    runs = trails_at([Path(call.options.trail)])
    with TemporaryFile("w+", encoding="utf-8") as spool:
        answer = complaint.Complaint(runs, reading.site, spool)
        for line, text in call.terminal.progress(reading.lines(), "lines read"):
            answer.take(line, text)
        reading.problems += answer.settle()[:1]
        if call.options.sign:
            key = KeyPair.read(call.ours.sign_key)
            with text_file(call.options.sign) as file:
                file.write(answer.excerpt(key, call.ours.sign_agent))
        words, head = [answer.sentence(), *_flaws(reading)], complaint.HEAD
        _write(call, answer.rows(), (*head, "text"), (head, itemgetter(*head), 3), words)
    return answer.counts[AGAINST] > 0


def _write(call: Call, rows: Iterable[Row], columns: Texts, look: Look, words: Texts) -> None:
    """Write rows as JSON or CSV, on a page, or for people; then sentences."""
    head, cells, width = look
    if call.is_json or call.options.csv:
        call.options.format = "csv" if call.options.csv else "jsonl"
        write_rows(call.options, columns, rows)
        call.complain(*map(safe, words))
        return
    shown = [*map(cells, islice(rows, _MOST_ROWS))]
    if len(shown) == _MOST_ROWS:
        words = [*words, f"At most {_MOST_ROWS:,} rows are shown; --csv has all."]
    if call.options.output:
        form = html_page.environment().get_template("log.html")
        table = html_page.Table("Requests", "", head, shown, wordy=head[7:], long=head[-1:])
        with text_file(call.options.output) as file:
            file.write(form.render(logs=", ".join(call.options.logs), words=words, table=table))
    else:
        call.line(safe(words[0]))
        below = (safe(": ".join(filter(None, row[width:]))) for row in shown)
        top = [[shortened(safe(cell), 25, 12) for cell in row[:width]] for row in (head, *shown)]
        call.table(top, below)
        for sentence in words[1:]:
            call.remark(safe(sentence))

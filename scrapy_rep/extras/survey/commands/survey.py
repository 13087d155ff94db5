"""``scrapy rep survey``: collect statistics on many files."""

from __future__ import annotations

import argparse
import os
import textwrap
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import BrokenExecutor
from contextlib import nullcontext
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from scrapy_rep.commands.inputs import octets_of, put
from scrapy_rep.commands.running import INTERRUPTED, OK, UNSETTLED, Call, CommandError
from scrapy_rep.commands.terminal import cut, safe
from scrapy_rep.extras.evidence.html_page import refuse_page_without_jinja
from scrapy_rep.extras.survey import jobs
from scrapy_rep.extras.survey.aggregate import SurveyPart, SurveyReader
from scrapy_rep.extras.survey.changes import ShareChange, changes_between
from scrapy_rep.extras.survey.inputs.tasks import InputError, tasks_of
from scrapy_rep.extras.survey.parquet import facts_file
from scrapy_rep.extras.survey.saved import Survey
from scrapy_rep.extras.survey.survey_tables import change_cells, page, tables
from scrapy_rep.extras.webmaster.agents.crawlers import CRAWLERS
from scrapy_rep.protocol.tokens import is_name
from scrapy_rep.protocol.units import counted

_MERGE, _DIFF = "merge", "diff"
_SURVEY_OCTETS = 256 * 1024 * 1024
_CHANGES_SHOWN = 40


_CELLS = 40
_WIDTH = 100


def run(call: Call) -> int:
    """Make a survey, or merge or compare surveys."""
    options = call.options
    _check(options)
    agents = _agents(options.agents)
    action, rest = options.inputs[0], options.inputs[1:]
    if action == _DIFF:
        _diff(rest, agents, call)
        return OK
    survey, status = (_merged(rest), OK) if action == _MERGE else _made(call)
    if options.output and options.output.endswith(".html"):
        _put_page(options.output, survey, agents)
    elif options.output:
        put(Path(options.output), survey.to_json(agents).encode() + b"\n")
    if call.is_json:
        call.line(survey.to_json(agents))
    elif options.output:
        call.line(f"{options.output}: written")
    else:
        _write_survey(survey, agents, call)
    return status


def _check(options: argparse.Namespace) -> None:
    """Check the options before anything is read.

    Raises:
        CommandError: they cannot be combined.
    """
    if options.output and Path(options.output).suffix not in (".json", ".html"):
        raise CommandError(f"-o {options.output}: the name must end with .json or .html")
    if options.jobs is not None and options.jobs < 1:
        raise CommandError(f"--jobs {options.jobs}: give 1 or more")
    if options.facts and find_spec("pyarrow") is None:
        raise CommandError("--facts needs pyarrow: pip install 'scrapy-rep[survey]'")
    refuse_page_without_jinja(options.output)
    if options.inputs[0] in (_MERGE, _DIFF):
        for name in ("facts", "lint", "jobs"):
            if getattr(options, name):
                raise CommandError(f"--{name} cannot be combined with {options.inputs[0]}")


def _agents(text: str | None) -> list[str] | None:
    """The names of the crawlers in a list.

    Raises:
        CommandError: a word is neither a name nor a purpose.
    """
    if text is None:
        return None
    found: list[str] = []
    for word in filter(None, map(str.strip, text.lower().split(","))):
        of_purpose = [one.name for one in CRAWLERS if _has_purpose(one.purpose, word)]
        if not of_purpose and not is_name(word) and word not in {one.name for one in CRAWLERS}:
            raise CommandError(f"--agents: {word!r} is neither a crawler's name nor a purpose")
        found += of_purpose or [word]
    return [*dict.fromkeys(found)]


def _has_purpose(purpose: str, word: str) -> bool:
    return purpose == word or (word == "ai" and purpose.startswith("ai-"))


def _made(call: Call) -> tuple[Survey, int]:
    """Survey the inputs; after an interrupt, return the survey so far; and the exit status."""
    options = call.options
    reader = SurveyReader(with_lint=options.lint, with_rows=bool(options.facts))
    whole, status = SurveyPart(), OK
    tasks = (task for name in options.inputs for task in tasks_of(Path(name)))
    parts = jobs.parts_of(tasks, reader, options.jobs or os.cpu_count() or 1)
    with (
        call.terminal.waiting(lambda: _progress_words(whole)),
        facts_file(options.facts) if options.facts else nullcontext(lambda _: None) as add_facts,
    ):
        try:
            for part in parts:
                with jobs.uninterrupted():  # a half-added part would be inconsistent
                    whole.aggregate.update(part.aggregate)
                    whole.damage += part.damage
                    add_facts(part.rows)
        except KeyboardInterrupt:
            status = INTERRUPTED
        except BrokenExecutor:
            call.complain("a process was killed, perhaps because it used too much memory")
            status = INTERRUPTED
        except InputError as error:
            raise CommandError(str(error)) from error
    for one in whole.damage:
        call.complain(
            f"warning: {one.file} is damaged: about {one.read_octets:,} of "
            f"{counted(one.of_octets, 'octet')} read; shares are of what was read"
        )
    if status == INTERRUPTED:
        call.complain("interrupted: the result covers only a part of the inputs")
    elif whole.damage:
        status = UNSETTLED
    return Survey(whole.aggregate, tuple(options.inputs), status != OK), status


def _progress_words(whole: SurveyPart) -> str:
    counts = Counter(whole.aggregate.counts)  # a copy, which this thread has alone
    bad = sum(count for name, count in counts.items() if name.startswith("bad:"))
    return f"{counted(counts['captures'], 'capture')}, {bad:,} bad"


def _read(name: str) -> Survey:
    try:
        return Survey.from_json(octets_of(name, _SURVEY_OCTETS).decode("utf-8"))
    except ValueError as error:
        raise CommandError(f"{name}: {error}; 'survey INPUT -o {name}' writes surveys") from error


def _merged(names: list[str]) -> Survey:
    if not names:
        raise CommandError("merge needs surveys that were written with -o")
    whole = Survey()
    for name in names:
        whole += _read(name)
    return whole


def _diff(names: list[str], agents: list[str] | None, call: Call) -> None:
    """Show the clear changes of shares, the largest first; with --json, all."""
    if len(names) != 2:  # noqa: PLR2004
        raise CommandError("diff needs two surveys, the older one first")
    before, after = map(_read, names)
    output = call.options.output
    if output:
        if not output.endswith(".html"):
            raise CommandError(f"diff -o {output}: write a page (.html), or use --json")
        _put_page(output, after, None, before)
        return
    found = changes_between(before, after, agents)
    if call.is_json:
        call.row({change.name: _change_dict(change) for change in found})
        return
    clear = [change for change in found if change.is_clear]
    call.line(
        f"{counted(len(clear), 'share')} changed by more than chance from {names[0]} to "
        f"{names[1]}; "
        f"{counted(len(found) - len(clear), 'other')} changed a little"
    )
    if clear:
        rows = (map(safe, change_cells(change)) for change in clear[:_CHANGES_SHOWN])
        call.table([("", "before", "after", "points"), *map(tuple, rows)])
    if len(clear) > _CHANGES_SHOWN:
        call.line(f"and {len(clear) - _CHANGES_SHOWN:,} more: --json shows all")


def _change_dict(change: ShareChange) -> dict[str, object]:
    return {
        "before": change.before,
        "after": change.after,
        "points": round(change.points * 100, 4),
        "is_clear": change.is_clear,
    }


def _write_survey(survey: Survey, agents: Sequence[str] | None, call: Call) -> None:
    """Write all tables of a survey."""
    said = survey.report(agents)["statistics"]
    width = min(_WIDTH, max(call.terminal.columns or _WIDTH, 20))
    files, captures = said["files"]["files_with"], said["captures"]["sum"]
    partial = " (a part of the inputs)" if survey.is_partial else ""
    call.line(
        f"{counted(captures, 'capture')} of {_about(said['host'], 'host')}; "
        f"{counted(files, 'robots.txt file')}, {_about(said['sha256'], 'different one')}{partial}"
    )
    if said["date"]["first"]:
        call.line(f"captured from {said['date']['first']} to {said['date']['last']}")
    for table in tables(said):
        call.line()
        call.line(call.paint(table.title, "bold"))
        for line in textwrap.wrap(table.sentence, width):
            call.line(call.paint(line, "dim"))
        call.table([[cut(safe(cell), _CELLS) for cell in row] for row in (table.head, *table.rows)])
        for line in textwrap.wrap(table.note, width):
            call.line(call.paint(line, "dim"))
    error = survey.aggregate.names.error
    if error:
        call.line(f"There were too many names: counts may be too low by up to {error:,}.")


def _about(distinct: Mapping[str, Any], noun: str) -> str:
    about = "" if distinct["is_exact"] else "about "
    return f"{about}{counted(distinct['distinct'], noun)}"


def _put_page(
    name: str, survey: Survey, agents: list[str] | None, before: Survey | None = None
) -> None:
    put(Path(name), page(survey, agents, before).encode())

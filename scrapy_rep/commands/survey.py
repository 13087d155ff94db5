"""``scrapy rep survey``: what many robots.txt files say, added up, merged and compared."""

from __future__ import annotations

import argparse
import csv
import os
import sys
from collections.abc import Iterable, Iterator
from concurrent.futures import BrokenExecutor
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from .running import OK, CommandError
from .ticking import Ticker

if TYPE_CHECKING:
    from scrapy.settings import Settings

    from scrapy_rep.survey.inputs.tasks import Task
    from scrapy_rep.survey.parquet import FactsFile
    from scrapy_rep.survey.saved import Survey

    from .terminal import Terminal

SUMMARY = "say what many files say"
DESCRIPTION = """\
Read many robots.txt files, and tell what they say: facts, shares with their intervals, crawlers and
what they may fetch. An INPUT is a folder of files named by their hosts, a file of JSON lines
("host" and "body", "body_b64" or "body_base64"), a WARC file, the store of crawls (SQLite), or
their audit trail (a folder). 'survey merge' adds surveys up that were written with -o; 'survey
diff' tells what changed between two."""
EXAMPLES = """\
examples:
  scrapy rep survey robots/ -o survey.html
  scrapy rep survey .scrapy/rep/robots.sqlite --facts facts.parquet
  scrapy rep survey CC-MAIN-*/robotstxt/*.warc.gz --agents ai --lint -o survey.json
  scrapy rep survey merge part-1.json part-2.json -o survey.json
  scrapy rep survey diff 2025.json 2026.json

exit status: 0 done; 2 wrong usage, or an input cannot be read; 130 interrupted, what there is was
written and says that it is partial"""

_MERGE, _DIFF = "merge", "diff"
_INTERRUPTED = 130
_MOST_STRATA = 100
_CHANGES_SHOWN = 40


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of this subcommand."""
    parser.add_argument(
        "inputs",
        nargs="+",
        metavar="INPUT",
        help="what to read; or 'merge' or 'diff' and surveys that were written",
    )
    parser.add_argument("-o", "--output", metavar="FILE", help="write to a .json or .html file")
    parser.add_argument("--json", action="store_true", help="write JSON to standard output")
    parser.add_argument(
        "--jobs", type=int, metavar="N", help="processes (default: one for each core)"
    )
    parser.add_argument(
        "--facts", metavar="FILE", help="write the facts of each capture to a Parquet file"
    )
    parser.add_argument("--lint", action="store_true", help="lint every file: several times slower")
    parser.add_argument(
        "--agents",
        metavar="LIST",
        help="of crawlers, tell of these only: names, purposes such as ai-training, or ai",
    )
    parser.add_argument(
        "--strata", metavar="CSV", help="rows of host and stratum, by which shares are told apart"
    )


def run(options: argparse.Namespace, settings: Settings, terminal: Terminal) -> int:  # noqa: ARG001
    """Make a survey, or do something with some."""
    _check(options)
    agents = _agents(options.agents)
    action, rest = options.inputs[0], options.inputs[1:]
    if action == _DIFF:
        return _diff(rest, options, terminal)
    survey = _merged(rest) if action == _MERGE else _made(options, terminal)
    _write(survey, agents, options, terminal)
    return _INTERRUPTED if survey.is_partial and action != _MERGE else OK


def _check(options: argparse.Namespace) -> None:
    """See that the options go together before anything is read.

    Raises:
        CommandError: they do not.
    """
    if options.output and Path(options.output).suffix not in (".json", ".html"):
        raise CommandError(f"-o {options.output}: the name has to end with .json or .html")
    if options.jobs is not None and options.jobs < 1:
        raise CommandError(f"--jobs {options.jobs}: give 1 or more")
    if options.facts and find_spec("pyarrow") is None:
        raise CommandError("--facts needs pyarrow: pip install 'scrapy-rep[survey]'")
    is_page = bool(options.output) and options.output.endswith(".html")
    if is_page and find_spec("jinja2") is None:
        raise CommandError("a page needs Jinja: pip install 'scrapy-rep[report]'")
    if options.inputs[0] in (_MERGE, _DIFF):
        for name in ("facts", "lint", "strata", "jobs"):
            if getattr(options, name):
                raise CommandError(f"--{name} is for inputs, and not for {options.inputs[0]}")


def _agents(text: str | None) -> list[str] | None:
    """The names of crawlers that a list stands for.

    Raises:
        CommandError: a word is neither a name nor a purpose.
    """
    if text is None:
        return None
    from scrapy_rep.analysis.agents.crawlers import CRAWLERS
    from scrapy_rep.protocol.tokens import is_name

    found: list[str] = []
    for word in filter(None, map(str.strip, text.lower().split(","))):
        of_purpose = [one.name for one in CRAWLERS if _has_purpose(one.purpose, word)]
        if not of_purpose and not is_name(word) and word not in {one.name for one in CRAWLERS}:
            raise CommandError(f"--agents: {word!r} is neither a crawler's name nor a purpose")
        found += of_purpose or [word]
    return [*dict.fromkeys(found)]


def _has_purpose(purpose: str, word: str) -> bool:
    return purpose == word or (word == "ai" and purpose.startswith("ai-"))


def _made(options: argparse.Namespace, terminal: Terminal) -> Survey:
    """The survey of the inputs; what there is of it after an interrupt."""
    from scrapy_rep.survey.inputs.tasks import InputError
    from scrapy_rep.survey.jobs import SurveyPart, SurveyWanted, parts_of, uninterrupted
    from scrapy_rep.survey.saved import Survey

    wanted = SurveyWanted(
        lint=options.lint,
        rows=bool(options.facts),
        strata=_strata(options.strata),
    )
    whole, ticker, is_partial = SurveyPart(), Ticker(sys.stderr), False
    jobs = options.jobs or os.cpu_count() or 1
    with ExitStack() as undo:
        undo.callback(ticker.clear)
        facts = undo.enter_context(_facts(options.facts)) if options.facts else None
        try:
            for part in parts_of(_tasks(options.inputs), wanted, jobs):
                with uninterrupted():  # a part that is half added would contradict itself
                    whole.aggregate.update(part.aggregate)
                    if facts is not None:
                        facts.add(part.rows)
                if ticker.is_due:
                    _tick(whole, ticker)
        except KeyboardInterrupt:
            is_partial = True
        except BrokenExecutor:
            terminal.complain("scrapy rep survey: a process was killed, perhaps for its memory")
            is_partial = True
        except InputError as error:
            raise CommandError(str(error)) from error
    if is_partial:
        terminal.complain("scrapy rep survey: interrupted: what follows is of a part of the inputs")
    return Survey(whole.aggregate, tuple(options.inputs), is_partial)


@contextmanager
def _facts(name: str) -> Iterator[FactsFile]:
    """A file of facts, which is in its place once all are written; none is left after an error."""
    from scrapy_rep.survey.parquet import FactsFile

    try:
        facts = FactsFile(Path(name))
    except OSError as error:
        raise CommandError(f"{name}: {error.strerror or error}") from error
    try:
        yield facts
    except BaseException:
        facts.drop()
        raise
    facts.close()


def _tasks(inputs: Iterable[str]) -> Iterator[Task]:
    from scrapy_rep.survey.inputs.tasks import tasks_of

    for name in inputs:
        yield from tasks_of(Path(name))


def _tick(whole: object, ticker: Ticker) -> None:
    counts = whole.aggregate.counts  # type: ignore[attr-defined]
    captures = counts["captures"]
    bad = sum(count for name, count in counts.items() if name.startswith("bad:"))
    ticker.show(f"{captures:,} captures, {captures / ticker.seconds:,.0f} a second, {bad:,} bad")


def _strata(name: str | None) -> dict[str, str]:
    """Strata by host, of a CSV file with two columns; a first row of ``host`` is its head.

    Raises:
        CommandError: it cannot be read, or has too many strata.
    """
    if name is None:
        return {}
    try:
        with Path(name).open(newline="", encoding="utf-8-sig") as file:
            rows = [row for row in csv.reader(file) if row]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise CommandError(f"{name}: {error}") from error
    if rows and rows[0][0].strip().lower() == "host":
        del rows[0]
    if any(len(row) != 2 for row in rows):  # noqa: PLR2004
        raise CommandError(f"{name}: each row has to hold a host and its stratum")
    strata = {host.strip().lower(): stratum.strip().replace(":", " ") for host, stratum in rows}
    if len({*strata.values()}) > _MOST_STRATA:
        raise CommandError(f"{name}: there are more than {_MOST_STRATA} strata; group them")
    return strata


def _read(name: str) -> Survey:
    from scrapy_rep.survey.saved import Survey

    try:
        return Survey.from_json(Path(name).read_text(encoding="utf-8"))
    except OSError as error:
        raise CommandError(f"{name}: {error.strerror or error}") from error
    except ValueError as error:
        raise CommandError(f"{name}: {error}; 'survey INPUT -o {name}' writes surveys") from error


def _merged(names: list[str]) -> Survey:
    from scrapy_rep.survey.saved import Survey

    if not names:
        raise CommandError("merge what? Name surveys that were written with -o")
    whole = Survey()
    for name in names:
        whole += _read(name)
    return whole


def _diff(names: list[str], options: argparse.Namespace, terminal: Terminal) -> int:
    from scrapy_rep.survey.changes import changes_between

    from .survey_words import as_json, write_changes

    if len(names) != 2:  # noqa: PLR2004
        raise CommandError("diff: name two surveys, the older one first")
    before, after = map(_read, names)
    if options.output:
        if not options.output.endswith(".html"):
            raise CommandError(f"diff -o {options.output}: write a page (.html), or use --json")
        _put(options.output, _page(after, None, before=before))
        return OK
    agents = _agents(options.agents)
    found = changes_between(before, after, agents)
    if options.json:
        terminal.line(as_json(found))
    else:
        write_changes(found, names, _CHANGES_SHOWN, terminal)
    return OK


def _write(
    survey: Survey, agents: list[str] | None, options: argparse.Namespace, terminal: Terminal
) -> None:
    from .survey_words import write_survey

    if options.output and options.output.endswith(".html"):
        _put(options.output, _page(survey, agents))
    elif options.output:
        _put(options.output, survey.to_json(agents) + "\n")
    if options.json:
        terminal.line(survey.to_json(agents))
    elif options.output:
        terminal.line(f"{options.output}: written")
    else:
        write_survey(survey, agents, terminal)


def _page(survey: Survey, agents: list[str] | None, before: Survey | None = None) -> str:
    from scrapy_rep.survey.survey_page import page

    return page(survey, agents, before)


def _put(name: str, text: str) -> None:
    """Write a file, atomically.

    Raises:
        CommandError: it cannot be written.
    """
    path = Path(name)
    made = path.with_name(f".{path.name}.part")
    try:
        made.write_text(text, encoding="utf-8")
        made.replace(path)
    except OSError as error:
        raise CommandError(f"{name}: {error.strerror or error}") from error

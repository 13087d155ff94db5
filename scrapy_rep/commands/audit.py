"""``scrapy rep audit``: lists, explains, verifies, replays, redacts and exports audit trails."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from .running import CommandError

if TYPE_CHECKING:
    from scrapy.settings import Settings

    from scrapy_rep.proof.trail_reading import Run
    from scrapy_rep.proof.warc_check import ArchiveRun

    from .terminal import Terminal

SUMMARY = "read audit trails of crawls"
DESCRIPTION = """\
Read the trails that crawls write into REP_AUDIT_DIR: every decision, with the octets that decided.
RUN is the folder of one run; audit/latest is the last one. verify tells whether a trail is whole
and was not changed since; that the crawler told the truth, no trail can show. It takes the folder
of a run in REP_WARC_DIR too. replay reads each robots.txt again from the trail alone, and judges
again; with --policy or --agent, it tells what would have been."""
EXAMPLES = """\
examples:
  scrapy rep audit list audit
  scrapy rep audit explain audit/latest https://example.com/private/x
  scrapy rep audit verify audit/latest
  scrapy rep audit verify warc/latest
  scrapy rep audit replay audit/latest
  scrapy rep audit replay audit/latest --policy strict
  scrapy rep audit redact audit/latest --query drop -o audit/to-give-away
  scrapy rep audit export audit/latest --format csv -o decisions.csv

exit status: 0 all is well; 1 nothing is there, or verify or replay found something wrong, or
another policy or agent would have decided otherwise; 2 wrong usage; 4 not settled: a part of the
trail is missing, or cannot be judged again"""

_ACTIONS = {
    "list": "the runs in a folder",
    "explain": "each decision on a URL, with the lines that decided",
    "verify": "whether a trail, or a WARC archive, is whole and unchanged",
    "replay": "judge again, from the trail alone",
    "redact": "a new trail without the queries of URLs",
    "export": "decisions as JSON lines or CSV",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of this subcommand."""
    actions = "; ".join(f"{name}: {what}" for name, what in _ACTIONS.items())
    parser.add_argument("action", choices=_ACTIONS, metavar="ACTION", help=actions)
    parser.add_argument(
        "run", nargs="?", metavar="RUN", help="the folder of a run; for list, that of all runs"
    )
    parser.add_argument("url", nargs="?", metavar="URL", help="with explain")
    parser.add_argument("--policy", metavar="NAME", help="with replay: another REP_POLICY")
    parser.add_argument("--agent", metavar="TOKEN", help="with replay: another product token")
    parser.add_argument(
        "--query", choices=("hash", "drop"), default="drop", help="with redact (default: drop)"
    )
    parser.add_argument(
        "--format", choices=("jsonl", "csv"), default="jsonl", help="with export (default: jsonl)"
    )
    parser.add_argument("-o", "--output", metavar="PATH", help="with redact and export")
    parser.add_argument("--json", action="store_true", help="write JSON lines")


def run(options: argparse.Namespace, settings: Settings, terminal: Terminal) -> int:
    """Do one of the actions.

    Raises:
        CommandError: the usage is wrong, or there is no trail.
    """
    from scrapy_rep.proof.trail_reading import TrailError

    _check(options)
    try:
        if options.action == "list":
            return _list(options, settings, terminal)
        archive = _archive(options)
        if archive is not None:
            from .archives import verify_archive

            return verify_archive(archive, terminal, as_json=options.json)
        return _of_run(options, _run(options), terminal)
    except TrailError as error:
        raise CommandError(str(error)) from error


def _check(options: argparse.Namespace) -> None:
    if options.url is not None and options.action != "explain":
        raise CommandError(f"{options.action} takes no URL")
    if options.action == "explain" and options.url is None:
        raise CommandError("explain what? Give a run and a URL")
    if (options.policy or options.agent) and options.action != "replay":
        raise CommandError("--policy and --agent go with replay")
    if options.action == "redact" and options.output is None:
        raise CommandError("redact writes a new trail: give its folder with -o")


def _run(options: argparse.Namespace) -> Run:
    from scrapy_rep.proof.trail_reading import run_at

    if options.run is None:
        raise CommandError(f"{options.action} what? Give the folder of a run, such as audit/latest")
    return run_at(Path(options.run))


def _archive(options: argparse.Namespace) -> ArchiveRun | None:
    """The WARC archive that is to be verified; None if it is a trail, or anything else."""
    from scrapy_rep.proof.warc_check import archive_at

    if options.action != "verify" or options.run is None:
        return None
    return archive_at(Path(options.run))


def _list(options: argparse.Namespace, settings: Settings, terminal: Terminal) -> int:
    from .trails import list_runs

    root = options.run or settings.get("REP_AUDIT_DIR")
    if not root:
        raise CommandError("list what? Give the folder of the runs, or set REP_AUDIT_DIR")
    return list_runs(Path(root).expanduser(), terminal, as_json=options.json)


def _of_run(options: argparse.Namespace, found: Run, terminal: Terminal) -> int:
    if options.action == "explain":
        from .trails import explain

        return explain(found, options.url, terminal, as_json=options.json)
    if options.action == "verify":
        from .trails import verify

        return verify(found, terminal, as_json=options.json)
    if options.action == "replay":
        from .replaying import replay

        return replay(
            found, terminal, preset=options.policy, agent=options.agent, as_json=options.json
        )
    from .redacting import export, redact

    if options.action == "redact":
        return redact(found, Path(options.output), options.query, terminal)
    return export(found, options.output, options.format, terminal)

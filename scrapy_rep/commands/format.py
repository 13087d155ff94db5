"""``scrapy rep format``: the file written anew, with the same meaning, which is proved first."""

from __future__ import annotations

import argparse
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from .running import FOUND, INTERNAL, OK, CommandError
from .sources import STDIN, read

if TYPE_CHECKING:
    from scrapy.settings import Settings

    from .sources import Source
    from .terminal import Terminal

SUMMARY = "rewrite a file in normalised form"
DESCRIPTION = """\
Write a robots.txt anew: LF, UTF-8, one record a line in canonical spelling, a group for each set
of crawlers with equal rules, the one for * last, Sitemap lines at the end. 'compact' also drops
duplicates and rules without effect; 'compatible' is for weak parsers: a group for each crawler,
without wildcards where plain rules say the same. That the new file means the same is proved before
anything is written: for every agent named and for unnamed ones, over probe URLs built from all
rules of both files."""
EXAMPLES = """\
examples:
  scrapy rep format robots.txt
  scrapy rep format robots.txt --mode compact --write
  scrapy rep format robots.txt --check

exit status: 0 written, or nothing to do; 1 with --check or --diff: it would change; 2 wrong usage;
70 the new file would not mean the same, and was not written: please report that"""

_MODES = ("normal", "compact", "compatible")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of this subcommand."""
    parser.add_argument("file", metavar="FILE|URL|-", help="a file, or - for standard input")
    parser.add_argument("--mode", choices=_MODES, default="normal", help="default: normal")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--check", action="store_true", help="write nothing; tell if it would change")
    what.add_argument("--diff", action="store_true", help="write the differences only")
    what.add_argument("--write", action="store_true", help="write the new file over the old one")
    parser.add_argument(
        "--uri", default="", metavar="URL", help="where FILE is served, to make sitemaps absolute"
    )


def run(options: argparse.Namespace, settings: Settings, terminal: Terminal) -> int:
    """Rewrite one file."""
    from scrapy_rep.protocol.rewrite.normal import normalise

    source = read(options.file, settings, uri=options.uri)
    if options.write and (options.file == STDIN or source.answer is not None):
        raise CommandError("--write needs a FILE")
    if source.answer is not None:
        from .comparing import refuse_without_file

        refuse_without_file(source)
    new = normalise(source.body, options.mode, source.uri)
    if not _is_proved(source, new, terminal):
        return INTERNAL
    if options.check:
        return _check(source, new, terminal)
    if options.diff:
        return _diff(source, new, terminal)
    if options.write:
        _write(Path(options.file), source, new, terminal)
    else:
        terminal.octets(new)
    return OK


def _is_proved(source: Source, new: bytes, terminal: Terminal) -> bool:
    """Whether both files mean the same; tells the first difference if not."""
    from scrapy_rep.protocol.document import parse
    from scrapy_rep.protocol.effect.differences import differences

    before, after = parse(source.body, source.uri), parse(new, source.uri)
    difference = next(differences(before, after), None)
    if difference is not None:
        terminal.complain(
            f"scrapy rep format: internal error, nothing is written: {difference.path} for "
            f"{difference.agent} was {difference.before}, and would be {difference.after}. Please "
            "report this, with the file"
        )
        return False
    return True


def _check(source: Source, new: bytes, terminal: Terminal) -> int:
    if new == source.body:
        terminal.line(f"{source.name}: already in this form")
        return OK
    terminal.line(f"{source.name}: would be rewritten")
    return FOUND


def _diff(source: Source, new: bytes, terminal: Terminal) -> int:
    from difflib import unified_diff

    from scrapy_rep.protocol.findings import shown

    colours = {"+": "green", "-": "red", "@": "cyan"}
    lines = unified_diff(
        source.body.decode("utf-8", "backslashreplace").split("\n"),
        new.decode("utf-8", "backslashreplace").split("\n"),
        source.name,
        f"{source.name} (new)",
        lineterm="",
    )
    for line in lines:
        text = shown(line.encode())
        colour = colours.get(line[:1])
        terminal.line(terminal.paint(text, colour) if colour else text)
    return OK if new == source.body else FOUND


def _write(path: Path, source: Source, new: bytes, terminal: Terminal) -> None:
    """Put the new file in the place of the old one, all of it or nothing."""
    if new == source.body:
        terminal.line(f"{path}: already in this form")
        return
    target = path.resolve()
    try:
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(new)
            Path(name).chmod(target.stat().st_mode & 0o7777)
            Path(name).replace(target)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise CommandError(f"{path}: {error.strerror or error}") from error
    terminal.line(f"{path}: rewritten, {len(source.body):,} octets before and {len(new):,} now")

"""Rewrite a file in normalised form.

Rewrite a robots.txt: LF, UTF-8, one record per line in canonical spelling, one group for each set
of crawlers with equal rules, the group for * last, Sitemap lines at the end. 'compact' also drops
duplicates and rules without effect. 'compatible' is for weak parsers: one group for each crawler,
and no wildcards where plain rules mean the same. Before writing, the command proves that the new
file means the same: for every named agent and for unnamed ones, over probe URLs built from all
rules of both files.

Examples:
  scrapy rep format robots.txt
  scrapy rep format robots.txt --mode compact --write
  scrapy rep format robots.txt --check
  scrapy rep format */robots.txt --write

exit status: 0 written, or nothing to do; 1 with --check or --diff: the file would change; 2 wrong
usage, or a file cannot be read; 3 there is no file at a URL; 4 not settled: the proof would take
too much work, and nothing is written; 70 the new file would not mean the same and was not written:
please report that
"""

from __future__ import annotations

import os
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from difflib import unified_diff
from pathlib import Path

from scrapy_rep.analysis.effect.differences import TooMuchToCompare, differences
from scrapy_rep.analysis.effect.usage_changes import UsageDifference, usage_differences
from scrapy_rep.analysis.lint.swallowed import swallowed
from scrapy_rep.analysis.outline import outline
from scrapy_rep.analysis.rewrite import normal
from scrapy_rep.protocol.document import parse

from .inputs import Input, put, read_all
from .running import FOUND, INTERNAL, OK, REFRESH, UNSETTLED, Call, CommandError
from .terminal import safe

OPTIONS = f"""
sources FILE|URL|-...  a file, a URL, or - for standard input; several with --write, --check or
 --diff
--mode normal|compact|compatible=normal  the form to write (default: normal)
--check  write nothing; report whether the file would change
| --diff  show the differences only
| --write  write the new file over the old one
--uri URL=  where FILE is served, to make sitemaps absolute
{REFRESH}
"""

_TOLD = 5


def run(call: Call) -> None:
    """Rewrite all files."""
    options = call.options
    if len(options.sources) > 1 and not (options.check or options.diff or options.write):
        raise CommandError("several files: give --write, --check or --diff")
    files = read_all(options.sources, call, uri=options.uri)
    for file in call.terminal.progress(files, "files"):
        with call.going_on():
            call.end_with(_format(file, call))


def _format(file: Input, call: Call) -> int:
    """Rewrite one file."""
    options = call.options
    file.tell_freshness(call)
    if options.write and not file.is_local:
        raise CommandError(f"--write needs a FILE, and {file.name} is not a file")
    file.refuse_absent()
    new = normal.normalise(file.body, options.mode, file.uri)
    status = proof(file, new, call, keeps_usage=True)
    if status != OK:
        return status
    if new != file.body:
        _tell_swallowed(file, call)
    if options.check:
        is_same = new == file.body
        call.line(f"{file.name}: {'already in this form' if is_same else 'would be rewritten'}")
        return OK if is_same else FOUND
    if options.diff:
        return show_diff(file, new, call)
    if options.write:
        call.line(write(file, new))
    else:
        call.terminal.octets(new)
    return OK


def _tell_swallowed(file: Input, call: Call) -> None:
    """Report the crawlers that get the rules of the next group, because the new file shows it."""
    lines = [str(one.agent.number) for one in swallowed(outline(file.body, file.uri))]
    if lines:
        some = ", ".join(lines[:_TOLD]) + ("" if len(lines) <= _TOLD else " and more")
        call.complain(
            f"note: {file.name}: the crawlers of lines {some} get the rules of the next group, and "
            "are written so; see REP320 of lint"
        )


_LOOKED_AT_OCTETS = 65_536
_CONTROLS = bytes(octet for octet in range(32) if octet not in b"\t\n\v\f\r")
_CONTROLS_OF_NO_TEXT = 5  # text may have one by accident, but not 5 and 1 in 20


def proof(file: Input, new: bytes, call: Call, *, keeps_usage: bool = False) -> int:
    """OK if both files mean the same; otherwise show the first difference, or what is unproved.

    With `keeps_usage`, their preferences about the use of content must be the same, too.
    """
    if new == file.body:
        return OK
    before, after = parse(file.body, file.uri), parse(new, file.uri)
    try:
        found = next(differences(before, after), None)
        usage = next(usage_differences(before, after), None) if keeps_usage else None
    except TooMuchToCompare as error:
        call.complain(
            "not settled, nothing is written: could not prove that the new file means the same, "
            f"for {error}"
        )
        return UNSETTLED
    one = found or usage
    if one is None:
        return OK
    what = f" in {one.category}" if isinstance(one, UsageDifference) else ""
    call.complain(
        f"internal error, nothing is written: {one.path} for {one.agent} was {one.before}{what} "
        f"and would be {one.after}. Please report this, with the file"
    )
    return INTERNAL


def show_diff(file: Input, new: bytes, call: Call) -> int:
    """Show the new file as a diff; return FOUND if it differs."""
    colours = {"+": "green", "-": "red", "@": "cyan"}
    before, after = (
        body.decode("utf-8", "backslashreplace").split("\n") for body in (file.body, new)
    )
    for line in unified_diff(before, after, file.name, f"{file.name} (new)", lineterm=""):
        colour = colours.get(line[:1])
        call.line(call.paint(safe(line), colour) if colour else safe(line))
    return OK if new == file.body else FOUND


def write(file: Input, new: bytes) -> str:
    """Replace the old file with the new one, atomically; return a message."""
    path = Path(file.argument)
    if new == file.body:
        return f"{path}: already in this form"
    target = path.resolve()
    _refuse_to_replace(path, target, file.body)
    put(target, new)
    return f"{path}: rewritten, {len(file.body):,} octets before and {len(new):,} now"


def _refuse_to_replace(path: Path, target: Path, body: bytes) -> None:
    """Refuse to replace a file if that would destroy something.

    Raises:
        CommandError: it is read-only, a pipe or a device, or not text.
    """
    if not target.is_file():
        raise CommandError(f"{path}: not a regular file, so it is not replaced")
    if not os.access(target, os.W_OK):
        raise CommandError(f"{path}: read-only, so it is not replaced")
    if _is_no_text(body):
        raise CommandError(
            f"{path}: not text (compressed, or UTF-16 without a mark?), so it is not replaced: the "
            "part that crawlers cannot read would be lost"
        )


def _is_no_text(body: bytes) -> bool:
    """Whether too many octets are control characters, as in gzip data or UTF-16 (NUL)."""
    if body.startswith((BOM_UTF16_LE, BOM_UTF16_BE)):
        return False
    start = body[:_LOOKED_AT_OCTETS]
    controls = len(start) - len(start.translate(None, _CONTROLS))
    return controls >= _CONTROLS_OF_NO_TEXT and controls * 20 > len(start)

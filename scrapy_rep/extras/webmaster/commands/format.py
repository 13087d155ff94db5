"""``scrapy rep format``: rewrite a file in normalised form."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from difflib import unified_diff
from pathlib import Path

from scrapy_rep.commands.inputs import Input, put, read_all
from scrapy_rep.commands.running import FOUND, INTERNAL, OK, UNSETTLED, Call, CommandError
from scrapy_rep.commands.terminal import safe
from scrapy_rep.extras.webmaster.checks.codes import Code, Severity
from scrapy_rep.extras.webmaster.effect.differences import TooMuchToCompare, differences
from scrapy_rep.extras.webmaster.effect.other_readers import escaped
from scrapy_rep.extras.webmaster.effect.usage_changes import UsageDifference, usage_differences
from scrapy_rep.extras.webmaster.findings import Finding
from scrapy_rep.extras.webmaster.linting.damage import damages
from scrapy_rep.extras.webmaster.linting.linter import fixed, lint
from scrapy_rep.extras.webmaster.linting.suppressions import without_suppressed
from scrapy_rep.extras.webmaster.outline import Outline, has_other_words, name_of, outline
from scrapy_rep.extras.webmaster.rewrite import normal
from scrapy_rep.protocol.document import parse
from scrapy_rep.protocol.units import counted

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
    refuse_to_write(file, call)
    file.refuse_absent()
    errors = author_errors(file)
    refuse_unread(file, errors)
    new = normal.normalise(file.body, options.mode, file.uri)
    status = proof(file, new, call, keeps_usage=True)
    if status != OK:
        return status
    if not options.keep_errors:
        _refuse_to_hide(file, errors, new, call)
    if options.check:
        is_same = new == file.body
        call.line(f"{file.name}: {'already in this form' if is_same else 'would be rewritten'}")
        return OK if is_same else FOUND
    if options.diff:
        return show_diff(file, new, call)
    put_out(file, new, call)
    return OK


def refuse_to_write(file: Input, call: Call) -> None:
    """Refuse --write for an input that is not a file.

    Raises:
        CommandError: it is not a file.
    """
    if call.options.write and not file.is_local:
        raise CommandError(f"--write needs a FILE, and {file.name} is not a file")


def put_out(file: Input, new: bytes, call: Call) -> None:
    """Write the new file: with --write over the old one, otherwise to standard output."""
    if call.options.write:
        call.line(write(file, new))
    else:
        call.terminal.octets(new)


def author_errors(file: Input) -> list[Finding]:
    """The findings that only the author of a file can decide about."""
    found = lint(file.body, file.uri)
    found = [one for one in found if one.severity is Severity.ERROR or one.code is Code.TIE]
    return without_suppressed(file.body, found)


_UNREAD = {
    *(Code.PARSE_LIMIT, Code.NOT_TEXT, Code.UTF32, Code.GZIP, Code.GZIP_DAMAGED),
    Code.PAGE_SOURCE,
}


def refuse_unread(file: Input, findings: Iterable[Finding]) -> None:
    """Refuse to write a file that crawlers do not read as a whole: the rest would be lost.

    Raises:
        CommandError: there is a finding about that.
    """
    for finding in findings:
        if finding.code in _UNREAD:
            raise CommandError(f"{file.name} is not written: {finding}", FOUND)


def hidden_errors(file: Input, errors: Iterable[Finding], new: bytes) -> list[Finding]:
    """The errors of a file that the new file would not show, or would show at other rules.

    That is so for damaged lines, and for lines that name several crawlers if the first one has
    another group: `format` makes one group of both.
    """
    before, after = outline(file.body, file.uri), outline(new, file.uri)
    agents = (line for block in before.blocks for line in block.agents)
    several = (line for line in agents if has_other_words(line.value))
    by_name = before.by_name
    moved = {one.number for one in several if len(by_name.get(name_of(one.value), ())) > 1}
    moved.update(damages(before))
    was, now = _values(before), _values(after)
    left = {(finding.code, now.get(finding.line)) for finding in lint(new, file.uri)}
    return [one for one in errors if one.line in moved or (one.code, was.get(one.line)) not in left]


def _values(outlined: Outline) -> dict[int, str]:
    """The values of the lines of a file, by number, with the escapes that `format` writes."""
    lines = outlined.lines
    return {line.number: escaped(line.value or line.octets.strip()) for line in lines}


def is_refused(file: Input) -> bool:
    """Whether `format` does not write a file, because of its errors."""
    errors = author_errors(file)
    new = normal.normalise(file.body, "normal", file.uri) if errors else b""
    is_unread = any(one.code in _UNREAD for one in errors)
    return is_unread or bool(errors and (hidden_errors(file, errors, new) or _lost(file, new)))


def as_meant(body: bytes, uri: str) -> bytes:
    """A file as its author probably meant it: with errors and warnings fixed, safely or not."""
    codes = (code for code in Code if code.severity is not Severity.INFO)
    return fixed(body, uri, codes, is_unsafe=True)[0]


def _lost(file: Input, new: bytes) -> str:
    """A verdict that differs between the two files as they are meant; empty without one."""
    before, after = (parse(as_meant(body, file.uri), file.uri) for body in (file.body, new))
    try:
        found = next(differences(before, after), None)
    except TooMuchToCompare as error:
        return str(error)
    return "" if found is None else f"{found.path} for {found.agent}"


def _refuse_to_hide(file: Input, errors: Sequence[Finding], new: bytes, call: Call) -> None:
    """Refuse to write a file without errors of the old one: its author meant something else.

    Raises:
        CommandError: there are such errors.
    """
    hidden = hidden_errors(file, errors, new)
    for finding in hidden[:_TOLD]:
        call.complain(f"{file.name}: {finding.code.value}: {finding}")
    if hidden:
        more = len(hidden) - _TOLD
        raise CommandError(
            f"{file.name} is not written, since that would hide "
            f"{'these errors' if more <= 0 else f'these errors and {more:,} more'}: "
            "correct them ('scrapy rep lint --fix --unsafe-fixes' can do some of it), or give "
            "--keep-errors",
            FOUND,
        )
    lost = _lost(file, new) if errors and new != file.body else ""
    if lost:
        raise CommandError(
            f"{file.name} is not written, since it has errors, and to correct them afterwards "
            f"would have another effect ({safe(lost)}): correct them first, or give --keep-errors",
            FOUND,
        )


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
    what = (
        f" in {one.category}"
        if isinstance(one, UsageDifference)
        else f" to crawlers that {one.readers[0].words}"
    )
    call.complain(
        f"internal error, nothing is written: {one.path} for {one.agent} was {one.before}{what}, "
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
    _refuse_to_replace(path, target)
    put(target, new)
    return f"{path}: rewritten, {counted(len(file.body), 'octet')} before and {len(new):,} now"


def _refuse_to_replace(path: Path, target: Path) -> None:
    """Refuse to replace a file if that would destroy something.

    Raises:
        CommandError: it is read-only, a pipe or a device.
    """
    if not target.is_file():
        raise CommandError(f"{path}: not a regular file, so it is not replaced")
    if not os.access(target, os.W_OK):
        raise CommandError(f"{path}: read-only, so it is not replaced")

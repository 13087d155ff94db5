"""New files in the place of old ones: proved first, shown as a difference, written atomically."""

from __future__ import annotations

import os
import tempfile
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from .running import FOUND, INTERNAL, OK, UNSETTLED, CommandError

if TYPE_CHECKING:
    from .sources import Source
    from .terminal import Terminal

_LOOKED_AT_OCTETS = 65_536
_CONTROLS = bytes(octet for octet in range(32) if octet not in b"\t\n\v\f\r")
_CONTROLS_OF_NO_TEXT = 5  # text has one by accident, but not so many, and 1 in 20


def proof(
    source: Source, new: bytes, terminal: Terminal, name: str, *, keeps_usage: bool = False
) -> int:
    """OK if both files mean the same; shows the first difference, or what is not proved.

    With `keeps_usage` they have to say the same about the use of content, too.
    """
    from scrapy_rep.analysis.effect.differences import TooMuchToCompare, differences
    from scrapy_rep.analysis.effect.usage import UsageDifference, usage_differences
    from scrapy_rep.protocol.document import parse

    if new == source.body:
        return OK
    before, after = parse(source.body, source.uri), parse(new, source.uri)
    try:
        difference = next(differences(before, after), None)
        usage = next(usage_differences(before, after), None) if keeps_usage else None
    except TooMuchToCompare as error:
        terminal.complain(
            f"scrapy rep {name}: not settled, nothing is written: that the new file means the same "
            f"could not be proved, for {error}"
        )
        return UNSETTLED
    for found in (difference, usage):
        if found is not None:
            what = f" in {found.category}" if isinstance(found, UsageDifference) else ""
            terminal.complain(
                f"scrapy rep {name}: internal error, nothing is written: {found.path} for "
                f"{found.agent} was {found.before}{what} and would be {found.after}. Please "
                "report this, with the file"
            )
            return INTERNAL
    return OK


def show_diff(source: Source, new: bytes, terminal: Terminal) -> int:
    """Show what would be written, as lines that go and come; FOUND if there are any."""
    from difflib import unified_diff

    from scrapy_rep.protocol.verdict import shown

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


def write(path: Path, source: Source, new: bytes) -> str:
    """Replace the old file with the new one, atomically; what was done, in words."""
    if new == source.body:
        return f"{path}: already in this form"
    target = path.resolve()
    _refuse_to_replace(path, target, source.body)
    try:
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(new)
            old = target.stat()
            with suppress(PermissionError):  # of another owner, whom only root can keep
                os.chown(name, old.st_uid, old.st_gid)
            Path(name).chmod(old.st_mode & 0o7777)
            Path(name).replace(target)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise CommandError(f"{path}: {error.strerror or error}") from error
    return f"{path}: rewritten, {len(source.body):,} octets before and {len(new):,} now"


def _refuse_to_replace(path: Path, target: Path, body: bytes) -> None:
    """Refuse what a new file in its place would destroy.

    Raises:
        CommandError: it is read-only, a pipe or a device, or no text.
    """
    if not target.is_file():
        raise CommandError(f"{path}: it is no regular file, and is not replaced")
    if not os.access(target, os.W_OK):
        raise CommandError(f"{path}: it is read-only, and is not replaced")
    if _is_no_text(body):
        raise CommandError(
            f"{path}: it is no text (compressed, or UTF-16 without a mark?) and not replaced: "
            "what no crawler reads in it would be lost"
        )


def _is_no_text(body: bytes) -> bool:
    """Whether too many octets are control characters: those of a gzip, or the NULs of UTF-16."""
    if body.startswith((BOM_UTF16_LE, BOM_UTF16_BE)):
        return False
    start = body[:_LOOKED_AT_OCTETS]
    controls = len(start) - len(start.translate(None, _CONTROLS))
    return controls >= _CONTROLS_OF_NO_TEXT and controls * 20 > len(start)

"""Edits of single lines of a file, which keep all its other octets.

A `Mend` is the fix that a finding proposes: words, the effect on verdicts, and the edits if a
program can make them.

Cost: linear in the octets, and in the edits.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum

from scrapy_rep.extras.webmaster.checks.codes import Effect

from .outline import Line, with_value

_ENDS = re.compile(rb"\r\n|\r|\n")
_UTF8_BOM = b"\xef\xbb\xbf"
_UTF16_BOMS = b"\xff\xfe", b"\xfe\xff"


class EditPlace(Enum):
    """Where the text of an edit goes."""

    AT = "at"
    """Replaces the line."""
    ABOVE = "above"
    BELOW = "below"
    END = "end"
    """After the last line of the file."""
    FILE = "file"
    """The whole file: UTF-8 without a byte order mark, and the same line end everywhere."""


@dataclass(frozen=True, slots=True)
class Edit:
    """One change of one line.

    Attributes:
        place: the place.
        line: the number of the line, from 1; 0 for the end or the whole file.
        octets: the new line without its end; None to delete the line.
    """

    place: EditPlace
    line: int = 0
    octets: bytes | None = None

    @classmethod
    def of_value(cls, line: Line, value: bytes) -> Edit:
        """The edit that writes another value."""
        return cls(EditPlace.AT, line.number, with_value(line, value))


@dataclass(frozen=True, slots=True)
class Mend:
    """The fix for a finding.

    Attributes:
        text: one sentence without its full stop.
        effect: its effect on verdicts.
        edits: the edits that a program must make together; empty if it can't.
    """

    text: str
    effect: Effect = Effect.CHANGES
    edits: tuple[Edit, ...] = field(default=(), repr=False)


def edited(body: bytes, edits: Iterable[Edit]) -> bytes:
    """A file with edits applied. If several edits replace the same line, the last one counts."""
    texts: dict[tuple[EditPlace, int], list[bytes | None]] = {}
    for edit in edits:
        texts.setdefault((edit.place, edit.line), []).append(edit.octets)
    lead, lines = _lines(body, is_whole=(EditPlace.FILE, 0) in texts)
    usual = next((ending for _, ending in lines if ending), b"\n")
    new: list[tuple[bytes | None, bytes]] = []
    for number, (text, ending) in enumerate(lines, start=1):
        new += [(more, usual) for more in texts.get((EditPlace.ABOVE, number), ())]
        new.append((texts.get((EditPlace.AT, number), [text])[-1], ending))
        new += [(more, usual) for more in texts.get((EditPlace.BELOW, number), ())]
    new += [(more, usual) for more in texts.get((EditPlace.END, 0), ())]
    found = [(text, ending) for text, ending in new if text is not None]
    # Only the last line may lack its end.
    closed = [(text, ending or usual) for text, ending in found[:-1]] + found[-1:]
    return lead + b"".join(text + ending for text, ending in closed)


def _lines(body: bytes, *, is_whole: bool) -> tuple[bytes, list[tuple[bytes, bytes]]]:
    """The octets before the first line, and the lines with their ends."""
    lead = b""
    if body.startswith(_UTF16_BOMS):
        if b"\0" in body:
            body = body.decode("utf-16", "replace").encode("utf-8", "replace")
        else:
            lead, body = body[:2], body[2:]
    else:
        count = next(n for n in (3, 2, 1, 0) if body[:n] == _UTF8_BOM[:n])
        lead, body = body[:count], body[count:]
    if is_whole:
        lead = b""
        if re.search(rb"\r(?!\n)", body):
            body = _ENDS.sub(b"\n", body)
    texts = _ENDS.split(body)
    endings = [*_ENDS.findall(body), b""]
    lines = list(zip(texts, endings, strict=True))
    if lines[-1] == (b"", b""):
        lines.pop()  # there is no line after the last line end
    return lead, lines

"""Comments, and where they belong: to the record that follows them.

What is no record, or one that means nothing to anybody, is written as a comment too, so that
nothing is lost.
"""

from __future__ import annotations

from dataclasses import dataclass

from scrapy_rep.analysis.outline import Line, Outline, name_of
from scrapy_rep.protocol.extensions.pace import PACE_KEYS
from scrapy_rep.protocol.lines import KNOWN_KEYS, RULES, Kind

from .spelling import comment_text


@dataclass(frozen=True, slots=True)
class Notes:
    """The comments of a file, as lines to be written.

    Attributes:
        head: those at the very top, if a blank line follows them before the first record.
        before: by the number of the line that they stand before; those on that line too.
        tail: those after the last record.
    """

    head: tuple[str, ...]
    before: dict[int, tuple[str, ...]]
    tail: tuple[str, ...]


def notes_of(outlined: Outline) -> Notes:
    """The comments of a file."""
    written = _written(outlined)
    head_stop = _head_stop(outlined, written)
    head: list[str] = []
    pending: list[str] = []
    before: dict[int, tuple[str, ...]] = {}
    for line in outlined.lines:
        if line.number < head_stop:
            head += _texts(line.octets)
        elif line.number not in written:
            pending += _texts(line.octets)
        else:
            own = _texts(line.comment) if line.comment is not None else []
            if pending or own:
                before[line.number] = (*pending, *own)
            pending = []
    return Notes(tuple(head), before, tuple(pending))


def is_known(line: Line) -> bool:
    """Whether some crawler reads this other record."""
    return line.name in KNOWN_KEYS


def is_of_group(line: Line) -> bool:
    """Whether some crawler reads this other record, and takes it for one of the whole group."""
    return is_known(line) and line.name not in PACE_KEYS


def _texts(octets: bytes) -> list[str]:
    text = comment_text(octets)
    return [text] if text else []


def _written(outlined: Outline) -> set[int]:
    """The numbers of the lines that are written as records."""
    lines = [line for line in outlined.before if line.kind is Kind.OTHER and is_known(line)]
    lines += outlined.sitemaps
    for block in outlined.blocks:
        if block.names:
            lines += [line for line in block.agents if name_of(line.value)]
            lines += [line for line in block.rules if line.kind in RULES]
            lines += [line for line in block.others if is_of_group(line)]
    lines += [line for run in outlined.runs if run.names for line in run.others]
    return {line.number for line in lines}


def _head_stop(outlined: Outline, written: set[int]) -> int:
    """The number of the line at which the comments at the top end: after their last blank line."""
    stop = previous = 0
    for line in outlined.lines:
        if previous and line.number > previous + 1:
            stop = line.number
        if line.number in written:
            return stop
        previous = line.number
    return 0

"""A folder of files that are named by their hosts."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from scrapy_rep.survey.captures import Bad, Capture

from .answer_facts import BODY_OCTETS, text_of


def names_in(folder: Path) -> Iterator[str]:
    """The names of what is in a folder, hidden files apart, in the order of the folder."""
    with os.scandir(folder) as entries:
        yield from (entry.name for entry in entries if not entry.name.startswith("."))


def captures_in(folder: str, names: tuple[str, ...]) -> Iterator[Capture | Bad]:
    """The files of some names: the host is the name, in lower case."""
    for name in names:
        yield _capture(Path(folder) / name)


def _capture(path: Path) -> Capture | Bad:
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            return Bad("no-file")
        with path.open("rb") as file:
            return Capture(text_of(path.name).lower(), body=file.read(BODY_OCTETS))
    except OSError:
        return Bad("unreadable")

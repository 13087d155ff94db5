"""Inputs divided into tasks: pieces of bounded size, each for one process.

The kind of an input is recognised by its content, not by its name.
"""

from __future__ import annotations

import gzip
import os
import stat
import zlib
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import TypeVar

from scrapy_rep.cache.entry import Entry
from scrapy_rep.cache.sqlite import read_entries, spans
from scrapy_rep.commands.inputs import CUT_OFF, unpacked_lines
from scrapy_rep.extras.evidence.trail_reading import Run, TrailError
from scrapy_rep.extras.survey.captures import Bad, Capture
from scrapy_rep.protocol.access.events import name_of

from . import json_lines
from . import trail_input as trails
from . import warc_input as warc
from .answer_facts import BODY_OCTETS, capture_of, outcome_of, text_of

Item = TypeVar("Item")

_AT_ONCE = 500  # files or lines per task
_PIECE_OCTETS = 1 << 23  # of lines per task, roughly
_SQLITE = b"SQLite format 3\0"
_GZIP = b"\x1f\x8b"
_HEAD_OCTETS = 64


class InputError(Exception):
    """An input cannot be read at all; the message is for the user."""


Task = Callable[[], Iterable[Capture | Bad]]
"""A piece of an input: reads its captures, in any process."""


def tasks_of(path: Path) -> Iterator[Task]:
    """Divide an input into tasks.

    Raises:
        InputError: the input does not exist, or its kind is unknown.
        StoreError: the input is a store, and cannot be read.
    """
    try:
        yield from _divided(path)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from error


def _divided(path: Path) -> Iterator[Task]:
    if path.is_dir():
        runs = _runs_at(path)
        return _of_trail(runs) if runs else _of_folder(path)
    if not stat.S_ISREG(path.stat().st_mode):
        raise InputError(
            f"{path}: not a regular file, and a pipe can be read only once: write its output "
            "to a file first"
        )
    with path.open("rb") as file:
        head = file.read(_HEAD_OCTETS)
    if head.startswith(_SQLITE):
        return _of_store(path)
    if head.startswith(_GZIP):
        try:
            with gzip.open(path) as unpacked:
                head = unpacked.read(_HEAD_OCTETS)
        except (EOFError, OSError, zlib.error) as error:
            raise InputError(f"{path}: the file is damaged ({error})") from error
    if warc.is_warc(head):
        return iter([partial(warc.captures_in, str(path))])
    if not head or head.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] == b"{":
        return _of_lines(path)
    raise InputError(
        f"{path}: not a folder, trail, WARC file, store or file of JSON lines; put single files "
        "into a folder, each named by its host"
    )


def _runs_at(path: Path) -> list[Run]:
    try:
        return trails.runs_at(path)
    except TrailError as error:
        raise InputError(str(error)) from error


def _in_pieces(items: Iterable[Item], octets_of: Callable[[Item], int]) -> Iterator[list[Item]]:
    """Yield lists with a limited number of items, or of octets."""
    some: list[Item] = []
    octets = 0
    for item in items:
        some.append(item)
        octets += octets_of(item)
        if len(some) >= _AT_ONCE or octets >= _PIECE_OCTETS:
            yield some
            some, octets = [], 0
    if some:
        yield some


def _of_trail(runs: list[Run]) -> Iterator[Task]:
    """One task: only a process that has read the whole trail knows the captures that count."""

    def octets_of(found: Capture | Bad) -> int:
        return 0 if isinstance(found, Bad) else len(found.body or b"")

    for some in _in_pieces(trails.captures_in(runs), octets_of):
        yield partial(iter, some)


def _of_folder(path: Path) -> Iterator[Task]:
    """List the files of a folder, without hidden ones, in the order of the folder."""
    with os.scandir(path) as entries:
        names = (entry.name for entry in entries if not entry.name.startswith("."))
        for some in _in_pieces(names, len):
            yield partial(_files, path, some)


def _of_lines(path: Path) -> Iterator[Task]:
    """Divide lines into pieces; one process, this one, decompresses the file."""
    damage: list[Bad] = []

    def lines() -> Iterator[bytes]:
        try:
            yield from unpacked_lines(str(path), json_lines.LINE_OCTETS + 1)
        except CUT_OFF:
            damage.append(Bad("damaged"))

    for some in _in_pieces(lines(), len):
        yield partial(json_lines.captures_in, some)
    if damage:
        yield partial(iter, damage)


def _of_store(path: Path) -> Iterator[Task]:
    for rows in spans(path, _AT_ONCE):
        yield partial(_entries, path, rows)


def _entries(path: Path, rows: tuple[int, int]) -> Iterator[Capture | Bad]:
    """Read the entries of some rows: the last answer if there is one, otherwise the outage."""
    for entry in read_entries(path, *rows):
        yield Bad("damaged") if entry is None else _of_entry(entry)


def _of_entry(entry: Entry) -> Capture | Bad:
    origin, copy, outage = entry.origin, entry.known.copy, entry.known.outage
    if copy is not None:
        event = name_of(copy.event)
        body = None if outcome_of(event)[1] else copy.body[:BODY_OCTETS]
        return capture_of(origin, copy.fetched_at, event, copy.hops, dict(copy.headers), body=body)
    if outage is not None:
        return capture_of(origin, outage.failed_at, name_of(outage.event), outage.hops, {})
    return Bad("no-body")


def _files(folder: Path, names: list[str]) -> Iterator[Capture | Bad]:
    """Read the files with these names; the host is the name, in lower case."""
    for name in names:
        path = folder / name
        try:
            if stat.S_ISREG(path.stat().st_mode):
                with path.open("rb") as file:
                    yield Capture(text_of(name).lower(), body=file.read(BODY_OCTETS))
            else:
                yield Bad("no-file")
        except OSError:
            yield Bad("unreadable")

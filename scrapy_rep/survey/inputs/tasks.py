"""Inputs as tasks: pieces of work that a process can do by itself, each of bounded size.

The kind of an input is told by what it is, not by its name.
"""

from __future__ import annotations

import gzip
import os
import stat
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, TypeVar

from scrapy_rep.survey.captures import Bad, Capture

from . import json_lines
from . import warc_input as warc
from .answer_facts import BODY_OCTETS, text_of

if TYPE_CHECKING:
    from scrapy_rep.proof.trail_reading import Run

Item = TypeVar("Item")

_AT_ONCE = 500  # files or lines a task
_PIECE_OCTETS = 1 << 23  # of lines a task, roughly
_SQLITE = b"SQLite format 3\0"
_GZIP = b"\x1f\x8b"
_HEAD_OCTETS = 64


class InputError(Exception):
    """An input cannot be read at all, in words for the user."""


@dataclass(frozen=True, slots=True)
class Task:
    """A piece of an input.

    Attributes:
        kind: of the input, a key of `READERS`.
        path: of the input.
        part: which piece of it: names, lines, rows, captures; None for all of it.
    """

    kind: str
    path: str
    part: Any = field(default=None, repr=False)

    def captures(self) -> Iterator[Capture | Bad]:
        """What it says."""
        return READERS[self.kind](self)


def tasks_of(path: Path) -> Iterator[Task]:
    """The tasks of an input.

    Raises:
        InputError: there is no such input, or it is of no kind that is known.
        StoreError: it is a store, and cannot be read.
    """
    try:
        kind = _kind_of(path)
        yield from _DIVIDERS[kind](path)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from error


def _kind_of(path: Path) -> str:
    if path.is_dir():
        return "trail" if _runs_at(path) else "folder"
    if not stat.S_ISREG(path.stat().st_mode):
        raise InputError(
            f"{path}: it is no regular file, and a pipe can be read only once: write what comes "
            "from it into a file"
        )
    with path.open("rb") as file:
        head = file.read(_HEAD_OCTETS)
    if head.startswith(_SQLITE):
        return "store"
    if head.startswith(_GZIP):
        try:
            with gzip.open(path) as unpacked:
                head = unpacked.read(_HEAD_OCTETS)
        except (EOFError, OSError, zlib.error) as error:
            raise InputError(f"{path}: it is damaged ({error})") from error
    if warc.is_warc(head):
        return "warc"
    if not head or head.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] == b"{":
        return "lines"
    raise InputError(
        f"{path}: it is no folder, trail, WARC file, store, or file of JSON lines; single files "
        "belong into a folder, each named by its host"
    )


def _runs_at(path: Path) -> list[Run]:
    from scrapy_rep.proof.trail_reading import TrailError

    from . import trail_input as trails

    try:
        return trails.runs_at(path)
    except TrailError as error:
        raise InputError(str(error)) from error


def _in_pieces(
    kind: str, path: Path, items: Iterable[Item], octets_of: Callable[[Item], int]
) -> Iterator[Task]:
    """Tasks of so many items, or of so many octets."""
    some: list[Item] = []
    octets = 0
    for item in items:
        some.append(item)
        octets += octets_of(item)
        if len(some) >= _AT_ONCE or octets >= _PIECE_OCTETS:
            yield Task(kind, str(path), tuple(some))
            some, octets = [], 0
    if some:
        yield Task(kind, str(path), tuple(some))


def _of_trail(path: Path) -> Iterator[Task]:
    """What counts of a trail is known once it has been read here, by one process."""
    from . import trail_input as trails

    def octets_of(found: Capture | Bad) -> int:
        return 0 if isinstance(found, Bad) else len(found.body or b"")

    yield from _in_pieces("trail", path, trails.captures_in(_runs_at(path)), octets_of)


def _of_folder(path: Path) -> Iterator[Task]:
    """The names of what is in a folder, hidden files apart, in the order of the folder."""
    with os.scandir(path) as entries:
        names = (entry.name for entry in entries if not entry.name.startswith("."))
        yield from _in_pieces("folder", path, names, len)


def _of_lines(path: Path) -> Iterator[Task]:
    """Lines in pieces; the file is decompressed here, for only one process can do that."""
    damage: list[Task] = []

    def lines(stream: BinaryIO | gzip.GzipFile) -> Iterator[bytes]:
        try:
            yield from _bounded_lines(stream)
        except (EOFError, gzip.BadGzipFile, zlib.error):
            damage.append(Task("damage", str(path)))

    with path.open("rb") as raw:
        is_packed = raw.peek(2)[:2] == _GZIP
        stream = gzip.GzipFile(fileobj=raw) if is_packed else raw
        yield from _in_pieces("lines", path, lines(stream), len)
    yield from damage


def _bounded_lines(stream: BinaryIO | gzip.GzipFile) -> Iterator[bytes]:
    """Lines; of one that is too long, just enough to tell that it is."""
    limit = json_lines.LINE_OCTETS
    while line := stream.readline(limit + 1):
        yield line
        while len(line) > limit and not line.endswith(b"\n"):
            line = stream.readline(limit + 1)
            if len(line) <= limit:
                break


def _of_warc(path: Path) -> Iterator[Task]:
    yield Task("warc", str(path))


def _of_store(path: Path) -> Iterator[Task]:
    from scrapy_rep.cache.rows import spans

    for rows in spans(path, _AT_ONCE):
        yield Task("store", str(path), rows)


def _store_captures(task: Task) -> Iterable[Capture | Bad]:
    from . import store_input as stores  # sqlite3 is not needed for anything else

    return stores.captures_in(task.path, task.part)


def _files(task: Task) -> Iterator[Capture | Bad]:
    """The files of some names: the host is the name, in lower case."""
    for name in task.part:
        path = Path(task.path) / name
        try:
            if stat.S_ISREG(path.stat().st_mode):
                with path.open("rb") as file:
                    yield Capture(text_of(name).lower(), body=file.read(BODY_OCTETS))
            else:
                yield Bad("no-file")
        except OSError:
            yield Bad("unreadable")


_DIVIDERS: dict[str, Callable[[Path], Iterator[Task]]] = {
    "folder": _of_folder,
    "lines": _of_lines,
    "warc": _of_warc,
    "store": _of_store,
    "trail": _of_trail,
}
READERS: dict[str, Callable[[Task], Iterator[Capture | Bad]]] = {
    "folder": _files,
    "lines": lambda task: json_lines.captures_in(task.part),
    "warc": lambda task: warc.captures_in(task.path),
    "store": lambda task: iter(_store_captures(task)),
    "trail": lambda task: iter(task.part),
    "damage": lambda _: iter([Bad("damaged")]),
}

"""Reads access logs, perhaps gzipped, line by line."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator, Sequence
from contextlib import suppress
from heapq import merge
from io import BufferedReader, FileIO
from itertools import islice
from math import inf
from operator import itemgetter
from pathlib import Path
from typing import Any

from scrapy_rep.commands.inputs import STDIN, stdin
from scrapy_rep.commands.running import CommandError, unreadable
from scrapy_rep.protocol.units import counted

from .log_formats import LogLine, line_reader

_LINE_OCTETS = 1 << 16  # longer lines are unreadable
_FIRST_LINES = 100  # one of these tells when a log begins
_BROKEN = (EOFError, gzip.BadGzipFile, zlib.error)


class LogReading:
    """Reads some logs as one, in the order of their times. Memory: a buffer for each open file.

    Attributes:
        site: the host and perhaps the port of the site; empty for that of the first line.
        line_count: the lines so far, without blank ones.
        unreadable_count: the lines in no known format.
        foreign_count: those for other hosts than the site, which are left out.
        unreadable_example: the first of them, with its place; empty without one.
        problems: why files could not be read, or not to their ends.
    """

    def __init__(self, names: Sequence[str], fields: str = "", site: str = "") -> None:
        """Take the names of the logs, the places of values in JSON, and a site; see above."""
        self.line_count = self.unreadable_count = self.foreign_count = 0
        self.unreadable_example = ""
        self.problems: list[str] = []
        self.site, self._host, self._fields, self._names = site, site or None, fields, names

    def progress(self) -> str:
        """The number of lines, in words."""
        return f"{counted(self.line_count, 'line')} read"

    def lines(self) -> Iterator[tuple[LogLine, str]]:
        """Yield the lines of all logs, with their texts.

        Each log is opened when its time comes. Those of several servers may overlap.

        Raises:
            CommandError: a log cannot be read, or without a site, there are several hosts.
        """
        logs = [self._entries(self._begin_of(name), name) for name in self._names]
        for _, line, text in merge(*logs, key=itemgetter(0)):
            if line is not None and not self._is_foreign(line):
                yield line, text

    def _is_foreign(self, line: LogLine) -> bool:
        """Whether a line is for another host; a log without hosts may have requests to a proxy."""
        if self._host is None and line.target:
            self._host = line.host
        if not line.target or line.host == self._host or (self.site and not line.host):
            return False
        if self._host and not self.site:
            hosts = f"{self._host} and {line.host or 'one without a name'}"
            raise CommandError(f"the log is of several hosts, such as {hosts}: give --site")
        self.foreign_count += 1
        return True

    def _begin_of(self, name: str) -> float:
        """The time of the first line; before all others if only reading the log can tell."""
        read = line_reader(self._fields)
        with suppress(OSError, *_BROKEN):
            for octets in islice(_octets_of(name), _FIRST_LINES if Path(name).is_file() else 0):
                with suppress(ValueError, RecursionError):
                    if line := read(octets.decode("utf-8", "surrogateescape")):
                        return line.at
        return -inf

    def _entries(self, begin: float, name: str) -> Iterator[tuple[float, LogLine | None, str]]:
        """Yield the beginning of a log, and then its lines with their times."""
        yield begin, None, ""
        read, has_readable, number = line_reader(self._fields), False, 0
        try:
            for number, octets in enumerate(_octets_of(name), 1):
                text = octets.decode("utf-8", "surrogateescape").rstrip("\r\n")
                if not text:
                    continue
                self.line_count += 1
                try:
                    line = read(text if len(octets) < _LINE_OCTETS else "")
                except (ValueError, RecursionError):
                    self.unreadable_count += 1
                    words = f"{name}, line {number}: {text[:300]}"
                    self.unreadable_example = self.unreadable_example or words
                    continue
                has_readable = True
                if line is not None:
                    yield line.at, line, text
        except _BROKEN as error:
            self.problems.append(f"{name} cannot be read to its end: {error}")
        except OSError as error:
            raise unreadable(name, error) from error
        if number and not has_readable:
            self.problems.append(f"{name}: no line is in a known format")


def _octets_of(name: str) -> Iterator[bytes]:
    """Yield the lines, of long ones the beginning."""
    source: Any = stdin() if name == STDIN else FileIO(name)
    with BufferedReader(source) as raw:
        is_packed = raw.peek(2)[:2] == b"\x1f\x8b"
        file: Any = gzip.GzipFile(fileobj=raw) if is_packed else raw
        is_begin = True
        while octets := file.readline(_LINE_OCTETS):
            if is_begin:
                yield octets
            is_begin = octets.endswith(b"\n")

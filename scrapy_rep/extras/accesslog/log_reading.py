"""Reads access logs of any size, line by line."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator, Sequence
from io import BufferedReader, FileIO
from pathlib import Path
from typing import Any

from scrapy_rep.commands.inputs import STDIN, stdin
from scrapy_rep.commands.running import unreadable

from .log_formats import LogLine, line_reader

_CHUNK_OCTETS = 1 << 20
_LINE_OCTETS = 1 << 16  # more of a line without an end is not kept


class LogReading:
    """Reads some logs, the oldest first. Memory: some chunks of a file.

    Attributes:
        site: the host and perhaps the port of the site; empty for all hosts.
        line_count: the lines so far, without blank ones.
        unreadable_count: the lines in no known format.
        foreign_count: those for other hosts than the site, which are left out.
        unreadable_example: the first of them, with its place; empty without one.
        problems: why files could not be read to their ends.
    """

    def __init__(self, names: Sequence[str], fields: str = "", site: str = "") -> None:
        """Take the names of the logs, the places of values in JSON, and a site; see above."""
        self.line_count = self.unreadable_count = self.foreign_count = self._octets = 0
        self.unreadable_example = ""
        self.problems: list[str] = []
        self.site, self._read = site, line_reader(fields)
        found = {name: Path(name).stat() for name in names if Path(name).is_file()}
        self._names = sorted(names, key=lambda name: found[name].st_mtime if name in found else 0)
        self._whole_octets = sum(one.st_size for one in found.values()) or 1

    def progress(self) -> str:
        """A bar and the number of lines, in words."""
        share = min(self._octets / self._whole_octets, 1.0)
        return f"[{'#' * round(share * 20):20}] {share:.0%}, {self.line_count:,} read"

    def lines(self) -> Iterator[tuple[LogLine, str]]:
        """Yield the lines of all logs, with their texts.

        Raises:
            CommandError: a log cannot be read at all.
        """
        for name in self._names:
            for number, text in enumerate(self._texts(name), 1):
                if not text or text == "\r":
                    continue
                self.line_count += 1
                try:
                    line = self._read(text)
                except (ValueError, RecursionError):
                    self.unreadable_count += 1
                    words = f"{name}, line {number}: {text[:300]}"
                    self.unreadable_example = self.unreadable_example or words
                    continue
                if line is not None and self.site and line.host not in ("", self.site):
                    self.foreign_count += 1
                elif line is not None:
                    yield line, text

    def _texts(self, name: str) -> Iterator[str]:
        """Yield the lines; octets that are not UTF-8 become surrogates."""
        before, held = self._octets, b""
        try:
            source: Any = stdin() if name == STDIN else FileIO(name)
            with BufferedReader(source) as raw:
                is_packed = raw.peek(2)[:2] == b"\x1f\x8b"
                file: Any = gzip.GzipFile(fileobj=raw) if is_packed else raw
                while chunk := file.read1(_CHUNK_OCTETS):
                    self._octets = before + (0 if name == STDIN else raw.tell())
                    block, end, rest = (held + chunk).rpartition(b"\n")
                    held = rest if end else rest[:_LINE_OCTETS]
                    yield from block.decode("utf-8", "surrogateescape").split("\n")
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            self.problems.append(f"{name} cannot be read to its end: {error}")
        except OSError as error:
            raise unreadable(name, error) from error
        yield held.decode("utf-8", "surrogateescape")

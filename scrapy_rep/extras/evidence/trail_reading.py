"""Reads a trail: its runs, their segments, and records with their places in the files.

A trail may be damaged or forged: invalid lines are reported, and do not raise.
"""

from __future__ import annotations

import errno
import gzip
import json
import math
import os
import re
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import IO, Any, cast

from scrapy_rep.protocol.errors import RepError

from .manifests import manifest_in, opened
from .spool import LATEST, MANIFEST
from .trail_records import RUN
from .trail_shapes import is_manifest, problem_of

_SEGMENT = re.compile(r"([0-9]+)-([0-9]+)\.jsonl(\.gz)?")
_LINE_OCTETS = 1 << 26  # the longest record: one with a body
_ERROR_CHARACTERS = 100
_NAMES_LOOKED_AT = 16  # a run's folder contains mostly segments
_KIND_OCTETS = 64  # `t` comes first in a record


class TrailError(RepError):
    """There is no trail, or it cannot be read at all."""


class NoTrailError(TrailError):
    """A folder can be read, and has no trail."""


@dataclass(frozen=True, slots=True)
class LinePlace:
    """The place of a record."""

    segment: str
    line: int

    def __str__(self) -> str:
        """The file and the line."""
        return f"{self.segment}, line {self.line}"


@dataclass(frozen=True, slots=True)
class TrailLine:
    """A line of a segment, as far as it can be read.

    Attributes:
        place: its place.
        record: its content; None if it is not a record.
        before: the digest of all octets of the segment before it, in hex.
        is_torn: whether the file ends in the middle of the line.
        error: why it is not a record, in words.
    """

    place: LinePlace
    record: dict[str, Any] | None
    before: str
    is_torn: bool = False
    error: str = ""


class SegmentFile:
    """One file of a trail.

    Attributes:
        path: its path.
        number: its number among the files of its process.
        facts: those for the manifest, once `lines` has ended.
        error: why it could not be read to its end; empty if it could.
    """

    def __init__(self, path: Path, number: int) -> None:
        self.path = path
        self.number = number
        self.facts: dict[str, Any] = {}
        self.error = ""

    @property
    def is_packed(self) -> bool:
        """Whether it is gzipped; only closed files are."""
        return self.path.suffix == ".gz"

    @property
    def plain_name(self) -> str:
        """Its name before it was compressed."""
        return self.path.name.removesuffix(".gz")

    def lines(self) -> Iterator[TrailLine]:
        """Yield every line, in order; memory is that of the longest line.

        Raises:
            TrailError: too many files are open, which is not the fault of this one.
        """
        digest, octets, count = sha256(), 0, 0
        try:
            with self._opened() as file:
                while raw := file.readline(_LINE_OCTETS):
                    may_be_mark = b'"mark"' in raw[:_KIND_OCTETS]
                    before = digest.hexdigest() if may_be_mark else ""
                    is_torn = not raw.endswith(b"\n")
                    place = LinePlace(self.path.name, count + 1)
                    record, wrong = _record(raw)
                    yield TrailLine(place, record, before, is_torn, wrong)
                    digest.update(raw)
                    octets += len(raw)
                    count += 1
        except (OSError, EOFError, zlib.error) as failure:
            if getattr(failure, "errno", None) in (errno.EMFILE, errno.ENFILE):
                raise TrailError(
                    f"{self.path}: too many files are open (ulimit -n): give fewer runs that were "
                    "written at the same time"
                ) from failure
            self.error = str(failure) or type(failure).__name__
        self.facts = {"octets": octets, "records": count, "sha256": digest.hexdigest()}

    @contextmanager
    def _opened(self) -> Iterator[IO[bytes]]:
        """Open the file, or the gzipped one if the crawl has compressed it since."""
        try:
            file = opened(self.path)
        except FileNotFoundError:
            if self.is_packed:
                raise
            self.path = self.path.with_name(f"{self.path.name}.gz")
            file = opened(self.path)
        with file:
            yield cast("IO[bytes]", gzip.GzipFile(fileobj=file)) if self.is_packed else file


def _record(raw: bytes) -> tuple[dict[str, Any] | None, str]:
    """The record in a line, or the reason why it is not one."""
    try:
        found = _DECODER.decode(raw.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        return None, f"not JSON ({str(error)[:_ERROR_CHARACTERS]})"
    if not isinstance(found, dict) or not isinstance(found.get("t"), str):
        return None, "no kind"
    wrong = problem_of(found)
    return (None, f"invalid record of kind {found['t']}: {wrong}") if wrong else (found, "")


def _finite(text: str) -> float:
    """Parse a finite number: JSON has no infinity, but a float may be too large.

    Raises:
        ValueError: the number is too large.
    """
    found = float(text)
    if not math.isfinite(found):
        raise ValueError(f"{text[:9]}... is too large")
    return found


_DECODER = json.JSONDecoder(parse_float=_finite, parse_constant=_finite)


class Run:
    """The trail of one run, which may still be in progress.

    Attributes:
        path: its folder.
        manifest: the content of the manifest; None if it is missing or invalid.
        manifest_sha256: the digest of the manifest, as in logs and signatures; empty without one.
        segments: its files, in order; `strays`: plain ones next to their packed ones.
        damaged_count: the number of places that `records` skipped, once it has ended.
    """

    def __init__(self, path: Path) -> None:
        """Take the folder.

        Raises:
            TrailError: the folder has no trail.
        """
        self.path = path
        self.damaged_count = 0
        # Read before the folder is listed, so that all files in the manifest exist.
        self.manifest, self.manifest_sha256 = manifest_in(path, is_manifest)
        try:
            names = {one.name for one in path.iterdir()}
        except OSError as error:
            raise TrailError(f"{path}: {error.strerror or error}") from error
        self.segments = [
            SegmentFile(path / name, int(found[2]))
            for name in names
            if (found := _SEGMENT.fullmatch(name)) is not None
        ]
        self.strays = [one for one in self.segments if f"{one.path.name}.gz" in names]
        self.segments = [one for one in self.segments if one not in self.strays]
        # By number: a forked process has another id, but continues the numbers.
        self.segments.sort(key=lambda one: (one.number, one.path.name))
        if not self.segments and MANIFEST not in names:
            raise NoTrailError(f"{path}: no trail here: neither {MANIFEST} nor segments")

    @property
    def name(self) -> str:
        """The name of the run."""
        return str(self.head.get("run") or self.path.resolve().name)

    def records(self) -> Iterator[tuple[LinePlace, dict[str, Any]]]:
        """Yield every record of all segments, in order; invalid ones are skipped and counted."""
        self.damaged_count = 0
        for segment in self.segments:
            for found in segment.lines():
                if found.record is None:
                    self.damaged_count += not found.is_torn
                elif not found.is_torn:
                    yield found.place, found.record
            self.damaged_count += bool(segment.error)

    @cached_property
    def head(self) -> dict[str, Any]:
        """The first record of the first segment that has one; empty without one."""
        for segment in self.segments:
            for found in segment.lines():
                if found.record is not None and found.record["t"] == RUN:
                    return found.record
                break
        return {}


def is_run(folder: Path) -> bool:
    """Whether a folder contains the trail of a run, by the first names in it."""
    with suppress(OSError), os.scandir(folder) as entries:
        names = [one.name for one in islice(entries, _NAMES_LOOKED_AT)]
        return any(name == MANIFEST or _SEGMENT.fullmatch(name) for name in names)
    return False


def run_at(path: Path) -> Run:
    """The run in a folder; in a folder of runs, the last one (`latest`).

    Raises:
        TrailError: there is no run.
    """
    if path.name == LATEST and not path.exists():
        runs = runs_in(path.parent)
        if runs:
            return runs[-1]
    return Run(path.resolve())  # `latest` may soon lead to another run


def runs_in(root: Path, passed_over: Callable[[TrailError], None] | None = None) -> list[Run]:
    """The runs in a folder, by the time at which they began; links to runs count as runs.

    Runs that cannot be read are passed to `passed_over`.

    Raises:
        TrailError: the folder cannot be read, or without `passed_over` one of the runs.
    """
    try:
        folders = sorted(one for one in root.iterdir() if one.is_dir() and one.name != LATEST)
        by_place = {one.resolve(): one for one in folders if not one.name.startswith(".")}
    except (OSError, RuntimeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise TrailError(f"{root}: {reason}") from error
    runs: list[Run] = []
    for folder in by_place.values():
        try:
            with suppress(NoTrailError):  # it contains something else
                runs.append(Run(folder))
        except TrailError as error:  # noqa: PERF203 - a run is a folder
            if passed_over is None:
                raise
            passed_over(error)
    return runs

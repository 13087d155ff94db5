"""A trail read back: its runs, their segments, and records with the places where they stand.

A trail may be damaged, or made up: what is no record is told as a `Damage`, and does not raise.
"""

from __future__ import annotations

import errno
import gzip
import json
import os
import re
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import IO, Any, cast

from .manifests import manifest_at, opened
from .spool import LATEST, MANIFEST
from .trail_records import RUN
from .trail_shapes import is_manifest, problem_of

_SEGMENT = re.compile(r"([0-9]+)-([0-9]+)\.jsonl(\.gz)?")
_MANIFEST_OCTETS = 1 << 26
_LINE_OCTETS = 1 << 26  # no record is longer: the largest holds a body
_ERROR_CHARACTERS = 100
_NAMES_LOOKED_AT = 16  # a run's folder holds little else than segments
_KIND_OCTETS = 64  # `t` comes first in a record
_LARGEST = sys.float_info.max  # a Crawl-delay may have 300 digits
# What may be no such number. Texts hold the like: their records are read with more care.
_ODD_NUMBER = re.compile(rb"[0-9]{99}|[0-9][eE][+-]?[0-9]{2}|NaN|Infinity")


class TrailError(Exception):
    """There is no trail, or it cannot be read at all."""


class UnreadableError(TrailError):
    """A folder cannot be read, so that nobody knows what is in it."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a record stands."""

    segment: str
    line: int

    def __str__(self) -> str:
        """The file and the line."""
        return f"{self.segment}, line {self.line}"


@dataclass(frozen=True, slots=True)
class Found:
    """A line of a segment, as far as it can be read.

    Attributes:
        place: where it stands.
        record: what it says; None if it is no record.
        before: the digest of all octets of the segment before it, in hex.
        is_torn: whether the file ends in the middle of the line.
        error: why it is no record, in words.
    """

    place: Place
    record: dict[str, Any] | None
    before: str
    is_torn: bool = False
    error: str = ""


@dataclass(frozen=True, slots=True)
class Whole:
    """What is known of a segment once it has been read to its end."""

    octets: int
    records: int
    sha256: str
    error: str = ""


class SegmentFile:
    """One file of a trail.

    Attributes:
        path: where it is.
        number: which of the files of its process it is.
        is_packed: whether it is gzipped, which only closed files are.
        whole: set once `lines` has come to its end.
    """

    def __init__(self, path: Path, number: int) -> None:
        self.path = path
        self.number = number
        self.is_packed = path.suffix == ".gz"
        self.whole: Whole | None = None

    @property
    def plain_name(self) -> str:
        """Its name while it is not packed."""
        return self.path.name.removesuffix(".gz")

    def lines(self) -> Iterator[Found]:
        """Every line, in order; memory is that of the longest.

        Raises:
            TrailError: too many files are open, which says nothing of this one.
        """
        digest, octets, count, error = sha256(), 0, 0, ""
        try:
            with self._open() as file:
                while raw := file.readline(_LINE_OCTETS):
                    before = digest.hexdigest() if _may_be_mark(raw) else ""
                    is_torn = not raw.endswith(b"\n")
                    place = Place(self.path.name, count + 1)
                    record, wrong = _record(raw)
                    yield Found(place, record, before, is_torn, wrong)
                    digest.update(raw)
                    octets += len(raw)
                    count += 1
        except (OSError, EOFError, zlib.error) as failure:
            if getattr(failure, "errno", None) in (errno.EMFILE, errno.ENFILE):
                raise TrailError(
                    f"{self.path}: too many files are open (ulimit -n): give fewer runs that were "
                    "written at the same time"
                ) from failure
            error = str(failure) or type(failure).__name__
        self.whole = Whole(octets, count, digest.hexdigest(), error)

    def records_of(self, kind: str) -> Iterator[dict[str, Any] | None]:
        """The records of a kind, in order; None for one that cannot be read, and for damage.

        Of lines of other kinds only the beginning is looked at. A torn last line says nothing.
        """
        sought = b'"%b"' % kind.encode("ascii")
        try:
            with self._open() as file:
                while raw := file.readline(_LINE_OCTETS):
                    if sought not in raw[:_KIND_OCTETS] or not raw.endswith(b"\n"):
                        continue
                    record, _ = _parsed(raw)
                    if record is None or record["t"] == kind:
                        yield None if record is None or problem_of(record) else record
        except (OSError, EOFError, zlib.error):
            yield None

    @contextmanager
    def _open(self) -> Iterator[IO[bytes]]:
        with self._opened() as file:
            if not self.is_packed:
                yield file
                return
            with gzip.GzipFile(fileobj=file) as unpacked:
                yield cast("IO[bytes]", unpacked)

    def _opened(self) -> IO[bytes]:
        """The file, or the packed one if the crawl has packed it since the folder was listed."""
        try:
            return opened(self.path)
        except FileNotFoundError:
            packed = self.path.with_name(self.path.name + ".gz")
            if self.is_packed or not packed.exists():
                raise
        self.path, self.is_packed = packed, True
        return opened(packed)


def _may_be_mark(raw: bytes) -> bool:
    return b'"mark"' in raw[:_KIND_OCTETS]


def _record(raw: bytes) -> tuple[dict[str, Any] | None, str]:
    """What a line says, or why it says nothing."""
    record, wrong = _parsed(raw)
    wrong = problem_of(record) if record is not None else wrong
    if record is None or not wrong:
        return record, wrong
    return None, f"one of kind {record['t']} cannot be so: {wrong}"


def _parsed(raw: bytes) -> tuple[dict[str, Any] | None, str]:
    """The same, whatever the fields of the record are."""
    try:
        found = json.loads(raw) if _ODD_NUMBER.search(raw) is None else _carefully(raw)
    except (ValueError, RecursionError) as error:
        return None, f"it is no JSON ({str(error)[:_ERROR_CHARACTERS]})"
    if not isinstance(found, dict) or not isinstance(found.get("t"), str):
        return None, "it has no kind"
    return found, ""


def _carefully(raw: bytes) -> Any:
    """The value of a line, of which each number can be calculated with.

    Raises:
        ValueError: one of them cannot: it is larger than any float, and JSON has no infinity.
    """
    return json.loads(raw, parse_int=_number(int), parse_float=_number(float), parse_constant=int)


def _number(kind: Callable[[str], float]) -> Callable[[str], float]:
    def read(text: str) -> float:
        found = kind(text)
        if not abs(found) <= _LARGEST:
            raise ValueError(f"{text[:9]}... is too large")
        return found

    return read


class Run:
    """The trail of one run; the crawl may still write it.

    Attributes:
        path: its folder.
        manifest: what the manifest says; None if it is missing or no manifest.
        manifest_sha256: the digest of the manifest, which a log or a signature names; empty without
            one.
        segments: its files, in order.
        damaged_count: how many places `records` passed over, once it has come to its end.
    """

    def __init__(self, path: Path) -> None:
        """Take the folder.

        Raises:
            TrailError: it holds no trail.
        """
        self.path = path
        self.damaged_count = 0
        # Before the folder is listed: what the manifest names is there then.
        self.manifest, self.manifest_sha256 = manifest_at(
            path / MANIFEST, _MANIFEST_OCTETS, is_manifest
        )
        try:
            names = {one.name for one in path.iterdir()}
        except OSError as error:
            raise UnreadableError(f"{path}: {error.strerror or error}") from error
        self.segments = [
            SegmentFile(path / name, int(found[2]))
            for name in names
            if (found := _SEGMENT.fullmatch(name)) is not None and f"{name}.gz" not in names
        ]
        # By number: a process that was forked has another id, but goes on with the numbers.
        self.segments.sort(key=lambda one: (one.number, one.path.name))
        if not self.segments and MANIFEST not in names:
            raise TrailError(f"{path}: no trail is here: it holds no {MANIFEST} and no segments")

    @property
    def name(self) -> str:
        """The name of the run."""
        return str(self.head.get("run") or self.path.resolve().name)

    def lines(self) -> Iterator[Found]:
        """Every line of all segments, in order."""
        for segment in self.segments:
            yield from segment.lines()

    def records(self) -> Iterator[tuple[Place, dict[str, Any]]]:
        """Every record of all segments, in order; what is none is passed over, and counted."""
        self.damaged_count = 0
        for segment in self.segments:
            for found in segment.lines():
                if found.record is None:
                    self.damaged_count += not found.is_torn
                elif not found.is_torn:
                    yield found.place, found.record
            self.damaged_count += bool(segment.whole and segment.whole.error)

    def records_of(self, kind: str) -> Iterator[dict[str, Any] | None]:
        """The records of a kind in all segments, as `SegmentFile.records_of` tells them."""
        for segment in self.segments:
            yield from segment.records_of(kind)

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
    """Whether a folder holds the trail of a run, by the first names in it."""
    with suppress(OSError), os.scandir(folder) as entries:
        names = [one.name for one in islice(entries, _NAMES_LOOKED_AT)]
        return any(name == MANIFEST or _SEGMENT.fullmatch(name) for name in names)
    return False


def run_at(path: Path) -> Run:
    """The run in a folder; of a folder of runs, the last one that began, by the name `latest`.

    Raises:
        TrailError: there is none.
    """
    if path.name == LATEST and not path.exists():
        runs = runs_in(path.parent)
        if runs:
            return runs[-1]
    return Run(path.resolve())  # `latest` may name another run soon


def runs_in(root: Path, passed_over: Callable[[TrailError], None] | None = None) -> list[Run]:
    """The runs in a folder, by the time at which they began; links to runs are runs too.

    `passed_over` is told of those that cannot be read.

    Raises:
        TrailError: the folder cannot be read, or without `passed_over` one of the runs.
    """
    try:
        folders = sorted(one for one in root.iterdir() if one.is_dir() and one.name != LATEST)
        by_place = {one.resolve(): one for one in folders if not one.name.startswith(".")}
    except (OSError, RuntimeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise UnreadableError(f"{root}: {reason}") from error
    runs = (_run_in(folder, passed_over) for folder in by_place.values())
    return [run for run in runs if run is not None]


def _run_in(folder: Path, passed_over: Callable[[TrailError], None] | None) -> Run | None:
    try:
        return Run(folder)
    except UnreadableError as error:
        if passed_over is None:
            raise
        passed_over(error)
    except TrailError:
        pass  # something else is in there
    return None

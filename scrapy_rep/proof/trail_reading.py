"""A trail read back: its runs, their segments, and records with the places where they stand.

A trail may be damaged, or made up: what is no record is told as a `Damage`, and does not raise.
"""

from __future__ import annotations

import errno
import gzip
import json
import math
import os
import re
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import IO, Any, cast

from .manifests import manifest_in, opened
from .spool import LATEST, MANIFEST
from .trail_records import POLICY, RUN
from .trail_shapes import is_manifest, problem_of

_SEGMENT = re.compile(r"([0-9]+)-([0-9]+)\.jsonl(\.gz)?")
_LINE_OCTETS = 1 << 26  # no record is longer: the largest holds a body
_ERROR_CHARACTERS = 100
_NAMES_LOOKED_AT = 16  # a run's folder holds little else than segments
_KIND_OCTETS = 64  # `t` comes first in a record


class TrailError(Exception):
    """There is no trail, or it cannot be read at all."""


class UnreadableError(TrailError):
    """A folder cannot be read, so that nobody knows what is in it."""


@dataclass(frozen=True, slots=True)
class LinePlace:
    """Where a record stands."""

    segment: str
    line: int

    def __str__(self) -> str:
        """The file and the line."""
        return f"{self.segment}, line {self.line}"


@dataclass(frozen=True, slots=True)
class TrailLine:
    """A line of a segment, as far as it can be read.

    Attributes:
        place: where it stands.
        record: what it says; None if it is no record.
        before: the digest of all octets of the segment before it, in hex.
        is_torn: whether the file ends in the middle of the line.
        error: why it is no record, in words.
    """

    place: LinePlace
    record: dict[str, Any] | None
    before: str
    is_torn: bool = False
    error: str = ""


class SegmentFile:
    """One file of a trail.

    Attributes:
        path: where it is.
        number: which of the files of its process it is.
        facts: those that the manifest tells, once `lines` has come to its end.
        error: why it could not be read to its end; empty if it could.
    """

    def __init__(self, path: Path, number: int) -> None:
        self.path = path
        self.number = number
        self.facts: dict[str, Any] = {}
        self.error = ""

    @property
    def is_packed(self) -> bool:
        """Whether it is gzipped, which only closed files are."""
        return self.path.suffix == ".gz"

    @property
    def plain_name(self) -> str:
        """Its name while it is not packed."""
        return self.path.name.removesuffix(".gz")

    def lines(self) -> Iterator[TrailLine]:
        """Every line, in order; memory is that of the longest.

        Raises:
            TrailError: too many files are open, which says nothing of this one.
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
        """The file, or the packed one if the crawl has packed it since the folder was listed."""
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
    """What a line says, or why it says nothing."""
    try:
        found = _DECODER.decode(raw.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        return None, f"it is no JSON ({str(error)[:_ERROR_CHARACTERS]})"
    if not isinstance(found, dict) or not isinstance(found.get("t"), str):
        return None, "it has no kind"
    wrong = problem_of(found)
    return (None, f"one of kind {found['t']} cannot be so: {wrong}") if wrong else (found, "")


def _finite(text: str) -> float:
    """A number that can be calculated with: JSON has no infinity, but some floats are too large.

    Raises:
        ValueError: it is none.
    """
    found = float(text)
    if not math.isfinite(found):
        raise ValueError(f"{text[:9]}... is too large")
    return found


_DECODER = json.JSONDecoder(parse_float=_finite, parse_constant=_finite)


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
        self.manifest, self.manifest_sha256 = manifest_in(path, is_manifest)
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

    def records(self) -> Iterator[tuple[LinePlace, dict[str, Any]]]:
        """Every record of all segments, in order; what is none is passed over, and counted."""
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


class Grounds:
    """The policies of the segment that is read: each segment repeats those that it needs.

    One of another segment never counts, even if the first line of this one is damaged: what a
    number stood for there may be another policy here, and verify tells of it as missing.
    """

    def __init__(self) -> None:
        """Nothing is read yet."""
        self._segment = ""
        self._policies: dict[Any, dict[str, Any]] = {}

    def __len__(self) -> int:
        """How many policies are held."""
        return len(self._policies)

    def take(self, place: LinePlace, record: dict[str, Any]) -> None:
        """Note a record, of whichever kind; call it for each, in order."""
        kind = record["t"]
        if place.segment != self._segment or kind == RUN:
            self._segment = place.segment
            self._policies.clear()
        if kind == POLICY:
            self._policies[record["p"]] = record

    def policy_of(self, record: Mapping[str, Any]) -> dict[str, Any] | None:
        """The record of the policy that a record rests on; None if this segment has none."""
        return self._policies.get(record.get("p"))

"""Checks that a trail is complete and unchanged."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from scrapy_rep.protocol.units import counted

from . import trail_records as records
from .manifests import CheckOutcome, files_in
from .trail_reading import LinePlace, Run, SegmentFile, TrailLine
from .trail_records import OUTCOMES
from .trail_shapes import SHAPES


@dataclass
class TrailCheck(CheckOutcome):
    """The result of checking a trail.

    Attributes:
        lost: the numbered records in gaps, by the kind they count as.
        last_n: the greatest number.
        unmarked: the number of lines that no mark covers.
        record_count: the number of all lines.
    """

    lost: Counter[str] = field(default_factory=Counter)
    last_n: int = 0
    unmarked: int = 0
    record_count: int = 0


def check(run: Run) -> TrailCheck:
    """Check a run. Reads it once; keeps a digest for each body."""
    checking = Checking(run)
    for _ in checking.records():
        pass
    return checking.outcome


class Checking:
    """A run that is checked while its records are read.

    Attributes:
        outcome: the result; complete once `records` has ended.
    """

    def __init__(self, run: Run) -> None:
        """Take the run; nothing is read yet."""
        self._run = run
        self.outcome = self._check = TrailCheck()
        self._bodies: set[str] = set()
        self._wanted: dict[str, LinePlace] = {}
        self._policies: set[int] = set()
        self._end: dict[str, Any] | None = None
        self._marked_line = 0
        self._name = ""

    def records(self) -> Iterator[dict[str, Any]]:
        """Yield every record of all segments, in order, once; invalid lines are skipped."""
        check = self._check
        for segment in self._run.segments:
            yield from self._segment(segment)
        for digest, place in self._wanted.items():
            if digest not in self._bodies:
                # Records lost with a folder are in a gap.
                lines = check.missing if check.lost else check.problems
                lines.append(f"{place}: the octets of {digest} are missing")
        self._ending()
        self._manifest()
        self._strays()

    def _segment(self, segment: SegmentFile) -> Iterator[dict[str, Any]]:
        check = self._check
        self._policies.clear()
        self._marked_line = 0
        is_last = segment is self._run.segments[-1]
        last: TrailLine | None = None
        for last in segment.lines():
            check.record_count += 1
            if last.record is None or last.is_torn:
                if last.is_torn and is_last and not segment.is_packed:
                    check.missing.append(f"{last.place}: the last line is torn")
                else:
                    check.wrong(f"{last.place}: not a record: {last.error}")
                continue
            if last.place.line == 1:
                self._first(last.place, last.record, segment)
            self._record(last)
            yield last.record
        if segment.error:
            check.wrong(f"{segment.path.name}: it cannot be read to its end: {segment.error}")
        if last is not None:
            check.unmarked += last.place.line - self._marked_line

    def _first(self, place: LinePlace, record: dict[str, Any], segment: SegmentFile) -> None:
        name = self._name = self._name or str(record.get("run"))
        if record["t"] != records.RUN:
            self._check.wrong(f"{place}: a segment must begin with a `run` record")
        elif record.get("v") != records.VERSION:
            self._check.wrong(f"{place}: unknown version {record.get('v')} of the format")
        elif record.get("segment") != segment.number:
            self._check.wrong(f"{place}: its first record says segment {record.get('segment')}")
        elif record.get("run") != name:
            self._check.wrong(f"{place}: it belongs to run {record.get('run')}, not to {name}")

    def _record(self, found: TrailLine) -> None:
        record, place = found.record or {}, found.place
        kind = record["t"]
        if self._end is not None and kind not in (records.MARK, records.RUN):
            self._check.wrong(f"{place}: a record after the end of the trail")
        if kind not in SHAPES:
            self._check.wrong(f"{place}: unknown kind of record {kind!r}")
        elif kind in records.NUMBERED:
            self._numbered(found, record)
        elif (read := getattr(self, f"_read_{kind}", None)) is not None:
            try:
                read(found, record)
            except ValueError as error:
                self._check.wrong(f"{place}: invalid record of kind {kind} ({error!r})")

    def _read_mark(self, found: TrailLine, record: dict[str, Any]) -> None:
        first = self._marked_line + 1
        if record["lines"] != found.place.line - 1:
            self._check.wrong(
                f"{found.place}: the mark counts {counted(record['lines'], 'line')} before it"
            )
        if record["sha256"] != found.before:
            self._check.wrong(
                f"{found.place.segment}, lines {first} to {found.place.line}: changed: "
                "their digest is not that of the mark at their end"
            )
        self._marked_line = found.place.line

    def _read_policy(self, found: TrailLine, record: dict[str, Any]) -> None:
        self._policies.add(record["p"])
        if "body" in record:
            digest = str(record["body"]).removeprefix("sha256:")
            if digest not in self._bodies:  # rarely missing: the octets come first
                self._wanted.setdefault(digest, found.place)

    def _read_body(self, found: TrailLine, record: dict[str, Any]) -> None:
        octets = records.octets_of(record)
        digest = sha256(octets).hexdigest()
        if digest != record["sha256"] or len(octets) != record["octets"]:
            self._check.wrong(f"{found.place}: the digest of the octets is not {record['sha256']}")
        self._bodies.add(str(record["sha256"]))

    def _numbered(self, found: TrailLine, record: dict[str, Any]) -> None:
        kind = record["t"]
        if kind == records.DECISION:
            kind = records.ALLOWED if record["allowed"] else records.DISALLOWED
        self._follow(found.place, record["n"], record["n"])
        self._check.counts[kind] += 1
        if "p" in record and record["p"] not in self._policies:
            self._check.wrong(f"{found.place}: policy {record['p']} is missing in this segment")

    def _follow(self, place: LinePlace, first: int, last: int) -> None:
        """Check that these numbers follow the ones before."""
        check = self._check
        if first <= check.last_n:
            check.wrong(f"{place}: the number {first} comes after the number {check.last_n}")
        elif first > check.last_n + 1:
            check.wrong(f"{place}: the numbers {check.last_n + 1} to {first - 1} are missing")
        check.last_n = max(check.last_n, last)

    def _read_gap(self, found: TrailLine, record: dict[str, Any]) -> None:
        first, last = record["from_n"], record["to_n"]
        lost = Counter({kind: record.get(kind, 0) for kind in OUTCOMES})
        if lost.total() != last - first + 1:
            raise ValueError(f"{lost.total()} cannot have the numbers from {first} to {last}")
        self._follow(found.place, first, last)
        self._check.lost += lost
        self._check.missing.append(
            f"{found.place}: {counted(lost.total(), 'decision')} could not be written, from "
            f"{first} to {last} ({record['error']})"
        )

    def _read_end(self, _: TrailLine, record: dict[str, Any]) -> None:
        self._end = record

    def _ending(self) -> None:
        check, end = self._check, self._end
        if end is None and isinstance((self._run.manifest or {}).get("end"), dict):
            check.wrong(
                f"the manifest has an end, but the trail ends at number {check.last_n:,} without "
                "one: its last records were removed"
            )
            return
        if end is None:
            check.missing.append(
                f"the trail has no end: the crawl was killed, or is still running; complete up to "
                f"number {check.last_n:,}"
            )
            return
        if "error" in end:
            check.missing.append(f"not all records could be written ({end['error']})")
        for kind in OUTCOMES:
            if end.get(kind, 0) != check.counts[kind]:
                check.wrong(
                    f"the end counts {end.get(kind, 0)} of kind {kind}, but the trail has "
                    f"{check.counts[kind]}"
                )

    def _manifest(self) -> None:
        check, manifest = self._check, self._run.manifest
        if manifest is None:
            lines = check.missing if self._end is None else check.problems
            lines.append("manifest.json is missing or invalid")
            return
        there = {segment.plain_name: segment for segment in self._run.segments}
        told = {name.removesuffix(".gz"): one for name, one in files_in(manifest).items()}
        for name, one in told.items():
            if name in there:
                check.compare(name, one, there[name].facts)
            else:
                check.wrong(f"{name}: in the manifest, but missing")
        if manifest.get("run") != self._name:
            check.wrong(f"the manifest belongs to run {manifest.get('run')}, not to {self._name}")
        if self._end is not None:
            self._manifest_end(manifest.get("end"), there.keys() - told.keys())

    def _strays(self) -> None:
        """Compare plain files with the packed ones next to them: a kill may leave both."""
        packed = {segment.plain_name: segment.facts for segment in self._run.segments}
        for stray in self._run.strays:
            name = stray.path.name
            for _ in stray.lines():
                pass
            if stray.facts != packed[name]:
                self._check.wrong(f"{name}: next to {name}.gz, with other records")

    def _manifest_end(self, end: Any, unnamed: Iterable[str]) -> None:
        """Compare the end in the manifest, which is written last, with that of the trail."""
        if not isinstance(end, dict):
            self._check.missing.append(
                "the manifest has no end: the crawl was killed while it ended, or is ending"
            )
            return
        for name in unnamed:
            self._check.wrong(f"{name}: not in the manifest")
        if end != self._end:
            self._check.wrong("the end in the manifest is not that of the trail")

"""Whether a trail is whole, and nobody has changed it since: what is wrong, and what it lacks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from . import trail_records as records
from .manifests import CheckOutcome, files_in
from .trail_reading import LinePlace, Run, SegmentFile, TrailLine
from .trail_records import OUTCOMES


@dataclass
class TrailCheck(CheckOutcome):
    """The same of a trail.

    Attributes:
        lost: the numbered records in gaps, by what they are counted as.
        last_n: the greatest number.
        unmarked: how many lines no mark covers.
        record_count: all lines.
    """

    lost: Counter[str] = field(default_factory=Counter)
    last_n: int = 0
    unmarked: int = 0
    record_count: int = 0


def check(run: Run) -> TrailCheck:
    """Check a run. Reads it once; keeps a digest for each body, and numbers where some lack."""
    checking = Checking(run)
    for _ in checking.records():
        pass
    return checking.outcome


class Checking:
    """A run that is checked while somebody reads it.

    Attributes:
        outcome: what was found; whole once `records` has come to its end.
    """

    def __init__(self, run: Run) -> None:
        """Take the run; nothing is read yet."""
        self._run = run
        self.outcome = self._check = TrailCheck()
        self._spans: list[tuple[int, int]] = []  # of numbers: first and last
        self._bodies: set[str] = set()
        self._wanted: dict[str, LinePlace] = {}
        self._policies: set[int] = set()
        self._end: dict[str, Any] | None = None
        self._marked_line = 0
        self._name = ""

    def records(self) -> Iterator[dict[str, Any]]:
        """Every record of all segments, in order, once; what is none is passed over."""
        check = self._check
        for segment in self._run.segments:
            yield from self._segment(segment)
        for digest, place in self._wanted.items():
            if digest not in self._bodies:
                # What was lost with a folder is told by its gap.
                lines = check.missing if check.lost else check.problems
                lines.append(f"{place}: the octets of {digest} are missing")
        self._numbers()
        self._ending()
        self._manifest()

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
                    check.wrong(f"{last.place}: this is no record: {last.error}")
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
            self._check.wrong(f"{place}: a segment begins with a record of its run")
        elif record.get("v") != records.VERSION:
            self._check.wrong(f"{place}: version {record.get('v')} of trails is not known here")
        elif record.get("segment") != segment.number:
            self._check.wrong(f"{place}: it is segment {record.get('segment')} by its own word")
        elif record.get("run") != name:
            self._check.wrong(f"{place}: it is of the run {record.get('run')}, not of {name}")

    def _record(self, found: TrailLine) -> None:
        record, place = found.record or {}, found.place
        kind = record["t"]
        if self._end is not None and kind not in (records.MARK, records.RUN):
            self._check.wrong(f"{place}: it follows the end of the trail")
        read = getattr(self, f"_read_{kind}", None)
        if read is None:
            self._check.wrong(f"{place}: no record is of the kind {kind!r}")
            return
        try:
            read(found, record)
        except ValueError as error:
            self._check.wrong(f"{place}: a record of kind {kind} cannot be so ({error!r})")

    def _read_run(self, found: TrailLine, record: dict[str, Any]) -> None:
        """Nothing here counts, nor in what follows."""

    _read_fetch = _read_sent = _read_run

    def _read_mark(self, found: TrailLine, record: dict[str, Any]) -> None:
        first = self._marked_line + 1
        if record["lines"] != found.place.line - 1:
            self._check.wrong(f"{found.place}: the mark tells of {record['lines']} lines before it")
        if record["sha256"] != found.before:
            self._check.wrong(
                f"{found.place.segment}, lines {first} to {found.place.line}: they were changed: "
                "they do not have the digest of the mark at their end"
            )
        self._marked_line = found.place.line

    def _read_policy(self, found: TrailLine, record: dict[str, Any]) -> None:
        self._policies.add(record["p"])
        if "body" in record:
            digest = str(record["body"]).removeprefix("sha256:")
            if digest not in self._bodies:  # almost all are there: the octets come first
                self._wanted.setdefault(digest, found.place)

    def _read_body(self, found: TrailLine, record: dict[str, Any]) -> None:
        octets = records.octets_of(record)
        digest = sha256(octets).hexdigest()
        if digest != record["sha256"] or len(octets) != record["octets"]:
            self._check.wrong(
                f"{found.place}: the octets do not have the digest {record['sha256']}"
            )
        self._bodies.add(str(record["sha256"]))

    def _read_decision(self, found: TrailLine, record: dict[str, Any]) -> None:
        self._one(found, record, records.ALLOWED if record["allowed"] else records.DISALLOWED)

    def _read_exempt(self, found: TrailLine, record: dict[str, Any]) -> None:
        self._one(found, record, record["t"])

    _read_drop = _read_withheld = _read_exempt

    def _one(self, found: TrailLine, record: dict[str, Any], kind: str) -> None:
        self._span(record["n"], record["n"])
        self._check.counts[kind] += 1
        if "p" in record and record["p"] not in self._policies:
            self._check.wrong(f"{found.place}: policy {record['p']} is missing in this segment")

    def _span(self, first: int, last: int) -> None:
        """Note that these numbers are there; what follows on the last ones joins them."""
        if self._spans and first == self._spans[-1][1] + 1:
            first = self._spans.pop()[0]
        self._spans.append((first, last))

    def _read_gap(self, found: TrailLine, record: dict[str, Any]) -> None:
        first, last = record["from_n"], record["to_n"]
        lost = Counter({kind: record.get(kind, 0) for kind in OUTCOMES})
        if lost.total() != last - first + 1:
            raise ValueError(f"{lost.total()} cannot have the numbers from {first} to {last}")
        self._span(first, last)
        self._check.lost += lost
        self._check.missing.append(
            f"{found.place}: {lost.total():,} decisions could not be written, from "
            f"{first} to {last} ({record['error']})"
        )

    def _read_end(self, _: TrailLine, record: dict[str, Any]) -> None:
        self._end = record

    def _numbers(self) -> None:
        """Every number from 1 on has to be there once."""
        check, expected, held = self._check, 1, 0
        for first, last in sorted(self._spans):
            if first > expected:
                check.wrong(f"the numbers {expected} to {first - 1} are missing")
            elif first < expected:
                check.wrong(f"the number {first} is there twice")
            expected = last + 1
            held += last - first + 1
            check.last_n = max(check.last_n, last)
        if held != check.last_n:
            check.wrong(f"{check.last_n:,} decisions were numbered, and {held:,} are there")

    def _ending(self) -> None:
        check, end = self._check, self._end
        if end is None:
            check.missing.append(
                f"the trail has no end: the crawl was killed, or goes on; it is complete up to "
                f"number {check.last_n:,}"
            )
            return
        for kind in OUTCOMES:
            if end.get(kind, 0) != check.counts[kind]:
                check.wrong(
                    f"the end tells of {end.get(kind, 0)} records of {kind}, and "
                    f"{check.counts[kind]} are there"
                )

    def _manifest(self) -> None:
        check, manifest = self._check, self._run.manifest
        if manifest is None:
            lines = check.missing if self._end is None else check.problems
            lines.append("manifest.json is missing, or is none")
            return
        there = {segment.plain_name: segment for segment in self._run.segments}
        told = {name.removesuffix(".gz"): one for name, one in files_in(manifest).items()}
        for name, one in told.items():
            if name in there:
                check.compare(name, one, there[name].facts)
            else:
                check.wrong(f"{name}: the manifest names it, and it is missing")
        if manifest.get("run") != self._name:
            check.wrong(f"the manifest is of the run {manifest.get('run')}, not of {self._name}")
        if self._end is not None:
            self._manifest_end(manifest.get("end"), there.keys() - told.keys())

    def _manifest_end(self, end: Any, unnamed: Iterable[str]) -> None:
        """Compare the end of the manifest, which is written last, with that of the trail."""
        if not isinstance(end, dict):
            self._check.missing.append(
                "the manifest was not finished: the crawl was killed as it ended, or is ending"
            )
            return
        for name in unnamed:
            self._check.wrong(f"{name}: the manifest does not name it")
        if end != self._end:
            self._check.wrong("the manifest tells of another end than the trail")

"""Writes the trail of one run: segments, marks, gaps and the manifest.

Rules for changes:

1. No disk error raises here, and nothing waits longer than one write.
2. Records that cannot be written are counted, and a `gap` reports them as soon as possible.
3. A record is either whole in the file or not there at all.

The caller gives the numbers `n`, and calls `ready` before it builds a record, because a new segment
repeats the policies that its decisions need.
"""

from __future__ import annotations

import gzip
import os
import shutil
import time
from collections import Counter
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from scrapy_rep.protocol.secrecy import OWNER_ONLY

from . import spool
from . import trail_records as records
from .spool import NO_LIMIT, OctetLimit, Spool, SpoolFile, replacing
from .trail_records import OUTCOMES, line, rounded

_MARK_RECORDS = 1000
_MARK_SECONDS = 60.0


@dataclass
class Gap:
    """Consecutive records that could not be written."""

    error: str
    from_at: float
    from_n: int = 0
    to_n: int = 0
    to_at: float = 0.0
    counts: Counter[str] = field(default_factory=Counter)

    def add(self, first_n: int, last_n: int, at: float, counts: Mapping[str, int]) -> None:
        """Count more records, with the numbers of the first and the last."""
        self.from_n = min(self.from_n or first_n, first_n)
        self.to_n, self.to_at = max(self.to_n, last_n), at
        self.counts.update(counts)

    def line(self) -> str:
        """The record that reports the gap."""
        return line(
            {
                "t": records.GAP,
                "from_n": self.from_n,
                "to_n": self.to_n,
                **{kind: self.counts[kind] for kind in OUTCOMES},
                "from_at": rounded(self.from_at),
                "to_at": rounded(self.to_at),
                "error": self.error,
            }
        )


class TrailWriter(Spool):
    """Writes one run.

    Attributes:
        counts: the written numbered records, by the kind they count as.
        gap_count: the number of gaps so far.
    """

    def __init__(
        self,
        folder: Path,
        head: Callable[[int], Mapping[str, Any]],
        *,
        segment_octets: int,
        limit: OctetLimit = NO_LIMIT,
        failed: Callable[[str], None] = lambda _: None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """Create the folder, if possible now.

        Args:
            folder: the folder of this run only.
            head: gives the first record of a segment, by the segment's number.
            segment_octets: the size limit of a segment.
            limit: the size limit of the folder, except for the end of the trail.
            failed: called with an error whenever a gap begins.
            clock: gives the time.
        """
        super().__init__(folder, segment_octets=segment_octets, limit=limit)
        self._head = head
        self._failed = failed
        self._clock = clock
        self.counts: Counter[str] = Counter()
        self.gap_count = 0
        self._in_gaps: Counter[str] = Counter()
        self._last_n = 0
        self._gap: Gap | None = None
        self._marked: tuple[SpoolFile | None, int, float] = None, 0, 0.0
        self._is_closed = False
        self.ready(clock())

    def ready(self, at: float) -> int | None:
        """The number of the segment for the next record; None if nothing can be written."""
        if self._is_closed or (self._gap is not None and at < self._retry_at):
            return None
        try:
            self._make_ready(at)
        except OSError as error:
            self._begin_gap(str(error), at)
            return None
        return self.segment_count

    def _make_ready(self, at: float) -> None:
        file = self._open_file(at)
        if self._gap is not None:
            if self._gap.counts:
                self._append_lines(self._gap.line())
                self._in_gaps.update(self._gap.counts)
            self._gap = None
        marked_file, marked_records, marked_at = self._marked
        if file is not marked_file:
            self._marked = file, 0, at
        elif file.records - marked_records >= _MARK_RECORDS or at >= marked_at + _MARK_SECONDS:
            self._mark(file, at)

    def put(self, text: str, at: float, n: int = 0, kind: str = "") -> bool:
        """Write records that belong together; False if they could not be written.

        `n` and `kind` belong to the numbered record among them, if there is one.
        """
        try:
            self._append_lines(text)
        except OSError as error:
            self._begin_gap(str(error), at)
            self.lose(n, kind, at)
            return False
        if n:
            self.counts[kind] += 1
            self._last_n = n
        return True

    def lose(self, n: int, kind: str, at: float) -> None:
        """Count a record that cannot be written."""
        gap = self._gap or self._begin_gap("the trail was closed", at)
        if n:
            gap.add(n, n, at, {kind: 1})

    def _append_lines(self, text: str) -> None:
        self._append(text.encode("ascii"), text.count("\n"))

    def _begin_gap(self, error: str, at: float) -> Gap:
        self._retry_at = at + spool.RETRY_SECONDS
        if self._gap is None:
            self._gap = Gap(error, at)
            self.gap_count += 1
            self._failed(error)
        return self._gap

    def _mark(self, file: SpoolFile, at: float) -> None:
        mark = {
            "t": records.MARK,
            "n": self._last_n,
            "at": rounded(at),
            "lines": file.records,
            "sha256": file.sha256,
        }
        self._append_lines(line(mark))
        self._marked = file, file.records, at

    def _first(self, number: int) -> tuple[str, bytes]:
        return f"{os.getpid()}-{number:05}.jsonl", line(self._head(number)).encode("ascii")

    def _lost(self, _: SpoolFile) -> None:
        """Count all records as a gap: the folder has vanished with all that was written."""
        at = self._clock()
        self._finished = []
        gap = self._begin_gap("the folder vanished, or was replaced", at)
        if self._last_n:
            gap.add(1, self._last_n, at, self.counts + self._in_gaps)
        self._in_gaps.clear()
        self.counts.clear()

    def _finish(self) -> None:
        if self._file is not None:
            with suppress(OSError):
                self._mark(self._file, self._clock())
        super()._finish()

    def _settle(self, file: SpoolFile, facts: dict[str, Any]) -> None:
        self._thread.submit(self._pack, file, facts)

    def _pack(self, file: SpoolFile, facts: dict[str, Any]) -> None:
        file.close()
        path = packed(file.path)
        facts["name"] = path.name
        with suppress(OSError):
            self._saved_octets += file.octets - path.stat().st_size
        self._write_manifest()

    def _manifest(self) -> dict[str, Any]:
        return {"v": records.VERSION, "run": self.folder.name, "gaps": self.gap_count}

    def close(self, reason: str) -> Future[str]:
        """End the trail; returns the SHA-256 of its manifest, once all is on the disk.

        It is empty if the manifest, or the end of the trail, could not be written.
        """
        at = self._clock()
        self._free_reserve()
        self._retry_at = self._look_at = at  # the folder may have vanished since the last look
        self.ready(at)
        end = {
            "t": records.END,
            "at": rounded(at),
            "reason": reason,
            "n": self._last_n,
            **{kind: self.counts[kind] for kind in OUTCOMES},
            "gaps": self.gap_count,
            **({"error": self.full} if self.full else {}),
        }
        # An end without a manifest, or in the manifest alone, looks as if something was removed.
        can_end = (self.folder / spool.MANIFEST).is_file() or bool(self._write_manifest())
        try:
            if can_end:
                self._append_lines(line(end))
        except OSError:
            can_end = False
        self._finish()
        self._is_closed = True
        done = self._thread.submit(lambda: self._write_manifest(end) if can_end else "")
        self._thread.shutdown(wait=False)
        return done


def packed(path: Path) -> Path:
    """Replace a closed file by its gzipped form, and return the new path.

    On a full disk, the file stays as it is.
    """
    target = path.with_name(path.name + ".gz")
    try:
        with replacing(target) as part:
            part.touch(OWNER_ONLY)
            with path.open("rb") as plain, gzip.open(part, "wb", 6) as packing:
                shutil.copyfileobj(plain, packing)
            with part.open("rb") as written:
                os.fsync(written.fileno())
        path.unlink()
    except OSError:
        return path if path.exists() else target
    return target

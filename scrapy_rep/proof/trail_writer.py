"""The trail of one run while it is written: segments, marks, gaps and the manifest.

Rules for the next author:

1. Nothing here raises because of the disk, and nothing waits for longer than one write.
2. What cannot be written is counted, and told by a `gap` as soon as something can be written.
3. A record is either whole in the file or not there at all.

`n` numbers are given by the caller, who asks `ready` before it puts a record together: a new
segment repeats the policies that its decisions rest on.
"""

from __future__ import annotations

import json
import os
import shutil
import time
from collections import Counter
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

from . import trail_records as records
from .segment import Segment, packed
from .trail_records import OUTCOMES, line, rounded

MANIFEST = "manifest.json"

_MARK_RECORDS = 1000
_MARK_SECONDS = 60.0
_RETRY_SECONDS = 5.0
_LOOK_SECONDS = 1.0  # how often the folder is looked at, which may vanish
_RESERVE_OCTETS = 1 << 16  # kept to be freed at the end, so that a full disk takes the last lines
_RESERVE_PART = 8  # of what is free, at most


@dataclass
class Gap:
    """Records that could not be written, one after another."""

    error: str
    from_at: float
    from_n: int = 0
    to_n: int = 0
    to_at: float = 0.0
    counts: Counter[str] = field(default_factory=Counter)

    def add(self, n: int, kind: str, at: float, count: int, first_n: int) -> None:
        """Count so many more; `n` is the number of the last, `first_n` that of the first."""
        self.from_n = min(self.from_n or first_n, first_n)
        self.to_n, self.to_at = max(self.to_n, n), at
        self.counts[kind] += count

    def line(self) -> str:
        """The record that tells of them."""
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


class Writer:
    """Writes one run.

    Attributes:
        folder: where.
        counts: the numbered records that were written, by what they are counted as.
        record_count: all lines that were written.
        gap_count: how many gaps there are so far.
        segment_count: how many files there are so far.
    """

    def __init__(
        self,
        folder: Path,
        head: Callable[[int], Mapping[str, Any]],
        *,
        segment_octets: int,
        failed: Callable[[str], None] = lambda _: None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """Make the folder, if that is possible now.

        Args:
            folder: of this run and no other.
            head: the first record of a segment, by the number of that segment.
            segment_octets: how large a segment grows.
            failed: called with an error whenever a gap begins.
            clock: tells the time.
        """
        self.folder = folder
        self._head = head
        self._segment_octets = segment_octets
        self._failed = failed
        self._clock = clock
        self.counts: Counter[str] = Counter()
        self.record_count = 0
        self.gap_count = 0
        self.segment_count = 0
        self._last_n = 0
        self._segment: Segment | None = None
        self._gap: Gap | None = None
        self._retry_at = 0.0
        self._look_at = 0.0
        self._marked_lines = 0
        self._marked_at = 0.0
        self._closed: list[dict[str, Any]] = []
        self._thread: ThreadPoolExecutor | None = None
        self._is_closed = False
        self._reserve = folder / "reserve"
        self.ready(clock())

    def ready(self, at: float) -> int | None:
        """The number of the segment that takes the next record; None if nothing can be written."""
        if self._is_closed or (self._gap is not None and at < self._retry_at):
            return None
        try:
            self._make_ready(at)
        except OSError as error:
            self._begin_gap(str(error), at)
            return None
        return self.segment_count

    def _make_ready(self, at: float) -> None:
        segment = self._segment
        if segment is not None and at >= self._look_at:
            self._look_at = at + _LOOK_SECONDS
            if not segment.is_there:
                self._lose_all(at)
                segment = None
        if segment is not None and (segment.octets >= self._segment_octets or not segment.is_sound):
            self._finish_segment()
            segment = None
        if segment is None:
            self._open_segment(at)
        if self._gap is not None:
            if self._gap.counts:
                self._append(self._gap.line())
            self._gap = None
        segment = self._segment
        if segment is not None and (
            segment.lines - self._marked_lines >= _MARK_RECORDS
            or at >= self._marked_at + _MARK_SECONDS
        ):
            self._mark(at)

    def put(
        self, text: str, at: float, n: int = 0, kind: str = "", *, count: int = 1, first_n: int = 0
    ) -> bool:
        """Write records that belong together; False if they could not be written.

        `n` and `kind` are those of the numbered record among them, if there is one. A record that
        stands for several has the number of the last, `first_n` of the first, and their count.
        """
        try:
            self._append(text)
        except OSError as error:
            self._begin_gap(str(error), at)
            self.lose(n, kind, at, count=count, first_n=first_n)
            return False
        if n:
            self.counts[kind] += count
            self._last_n = max(self._last_n, n)
        return True

    def lose(self, n: int, kind: str, at: float, *, count: int = 1, first_n: int = 0) -> None:
        """Count a record that cannot be written."""
        if self._gap is None:
            self._begin_gap("the trail was closed", at)
        if n and self._gap is not None:
            self._gap.add(n, kind, at, count, first_n or n)

    def _append(self, text: str) -> None:
        if self._segment is None:
            raise OSError("no file is open")
        self.record_count += self._segment.append(text)

    def _begin_gap(self, error: str, at: float) -> None:
        self._retry_at = at + _RETRY_SECONDS
        if self._gap is None:
            self._gap = Gap(error, at)
            self.gap_count += 1
            self._failed(error)

    def _lose_all(self, at: float) -> None:
        """The folder has vanished, and with it everything: what was written counts as a gap."""
        if self._segment is not None:
            self._segment.close()
        self._segment = None
        self._closed = []
        self._begin_gap("the folder vanished, or was replaced", at)
        if self._gap is not None and self._last_n:
            self._gap.from_n = 1
            self._gap.to_n = max(self._gap.to_n, self._last_n)
            self._gap.to_at = at
            self._gap.counts += self.counts
        self.counts.clear()

    def _open_segment(self, at: float) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        number = self.segment_count + 1
        segment = Segment(self.folder / f"{os.getpid()}-{number:05}.jsonl")
        try:
            segment.append(line(self._head(number)))
        except OSError:
            segment.close()
            with suppress(OSError):
                segment.path.unlink()
            raise
        self.segment_count = number
        self.record_count += 1
        self._segment = segment
        self._marked_lines, self._marked_at = 0, at
        if not self._reserve.exists():
            self._make_reserve()
        self._write_manifest()

    def _make_reserve(self) -> None:
        with suppress(OSError):
            octets = min(_RESERVE_OCTETS, shutil.disk_usage(self.folder).free // _RESERVE_PART)
            self._reserve.write_bytes(b"\0" * octets)

    def _mark(self, at: float) -> None:
        segment = self._segment
        if segment is None:
            return
        mark = {
            "t": records.MARK,
            "n": self._last_n,
            "at": rounded(at),
            "lines": segment.lines,
            "sha256": segment.sha256,
        }
        self._append(line(mark))
        self._marked_lines, self._marked_at = segment.lines, at

    def _finish_segment(self) -> None:
        """End a segment with a mark; a thread closes and packs it."""
        segment, self._segment = self._segment, None
        if segment is None:
            return
        self._segment = segment
        with suppress(OSError):
            self._mark(self._clock())
        self._segment = None
        told = {
            "name": segment.path.name,
            "octets": segment.octets,
            "records": segment.lines,
            "sha256": segment.sha256,
        }
        self._closed.append(told)
        if self._thread is None:
            self._thread = ThreadPoolExecutor(1, thread_name_prefix="rep-audit")
        self._thread.submit(self._pack, segment, told)

    def _pack(self, segment: Segment, told: dict[str, Any]) -> None:
        segment.close()
        told["name"] = packed(segment.path).name
        self._write_manifest()

    def _write_manifest(self, end: Mapping[str, Any] | None = None) -> bytes:
        """Replace the manifest; its octets."""
        held = {
            "v": records.VERSION,
            "run": self.folder.name,
            "segments": [dict(one) for one in self._closed],
            "gaps": self.gap_count,
            "end": None if end is None else dict(end),
        }
        octets = json.dumps(held, indent=2).encode("ascii") + b"\n"
        part = self.folder / f"{MANIFEST}.part"
        try:
            part.write_bytes(octets)
            part.replace(self.folder / MANIFEST)
        except OSError:
            with suppress(OSError):
                part.unlink()
        return octets

    def close(self, reason: str) -> Future[str]:
        """End the trail; the SHA-256 of its manifest, once everything is on the disk."""
        at = self._clock()
        with suppress(OSError):
            self._reserve.unlink()
        self._retry_at = self._look_at = at  # the folder may have vanished since the last look
        self.ready(at)
        end = {
            "t": records.END,
            "at": rounded(at),
            "reason": reason,
            "n": self._last_n,
            **{kind: self.counts[kind] for kind in OUTCOMES},
            "gaps": self.gap_count,
        }
        with suppress(OSError):
            self._append(line(end))
        self._finish_segment()
        self._is_closed = True
        if self._thread is None:
            self._thread = ThreadPoolExecutor(1, thread_name_prefix="rep-audit")
        done = self._thread.submit(lambda: sha256(self._write_manifest(end)).hexdigest())
        self._thread.shutdown(wait=False)
        return done

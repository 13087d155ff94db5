"""The archive of one run while it is written, by a thread: files, in order, and their manifest.

Rules for the next author:

1. Nothing that a crawl calls here waits for the disk, or raises because of it.
2. What cannot be written is counted, and the manifest tells how much it was. So what is missing in
   an archive is known from the archive.
3. The records of an exchange are all in the file, or none of them is.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from queue import SimpleQueue
from threading import Lock, Thread
from typing import Any

from .warc_exchanges import Archived, Exchange, Outcome
from .warc_file import WarcFile
from .warc_packing import packed
from .warc_records import date, records_of, warcinfo

MANIFEST = "manifest.json"
LATEST = "latest"
FORMAT = "WARC/1.1"

_QUEUED_OCTETS = (
    1 << 26
)  # of bodies that wait to be written; a disk that hangs takes no more memory
_RECORD_OCTETS = 2000  # what an exchange without a body takes, roughly
_FIELD_OCTETS = 150  # of memory that a field of a head takes besides its octets
_RETRY_SECONDS = 5.0
_LOOK_SECONDS = 1.0  # how often the file is looked at, which may vanish
_RESERVE_OCTETS = 1 << 14  # kept to be freed at the end, so that a full disk takes the manifest


@dataclass(frozen=True, slots=True)
class _Job:
    archived: Archived
    outcome: Outcome | None
    octets: int


@dataclass(frozen=True, slots=True)
class _End:
    done: Future[None] = field(default_factory=Future)


class Writer:
    """Writes one run.

    Attributes:
        folder: where.
        record_count: how many records are in the files.
        failed_count: how many exchanges could not be archived, or were lost again.
    """

    def __init__(
        self,
        folder: Path,
        facts: Mapping[str, str],
        *,
        segment_octets: int,
        failed: Callable[[str], None] = lambda _: None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """Start the thread, which makes the folder and the first file.

        Args:
            folder: of this run and no other.
            facts: what the first record of each file tells of the crawl.
            segment_octets: how large a file grows.
            failed: called once, in the thread, with the first error.
            clock: tells the time.
        """
        self.folder = folder
        self.record_count = 0
        self.failed_count = 0
        self._facts = dict(facts)
        self._segment_octets = segment_octets
        self._failed = failed
        self._clock = clock
        self._file: WarcFile | None = None
        self._file_exchanges = 0
        self._number = 0
        self._finished: list[dict[str, Any]] = []
        self._retry_at = self._look_at = 0.0
        self._has_failed = False
        self._queued_octets = 0
        self._lock = Lock()  # of the counts, which both sides change
        self._jobs: SimpleQueue[_Job | _End] = SimpleQueue()
        # A daemon: a disk that hangs must not hold up the end of Python.
        self._thread = Thread(target=self._work, name="rep-warc", daemon=True)
        self._thread.start()

    def put(self, archived: Archived, outcome: Outcome | None = None) -> None:
        """Have an exchange written; it is counted as failed if too much waits to be written."""
        octets = _RECORD_OCTETS + _octets_of(archived)
        with self._lock:
            is_full = self._queued_octets + octets > _QUEUED_OCTETS
            if not is_full:
                self._queued_octets += octets
        if is_full:
            self.fail("the disk is too slow: too much waits to be written")
        else:
            self._jobs.put(_Job(archived, outcome, octets))

    def close(self) -> Future[None]:
        """End the archive; done once everything is on the disk."""
        end = _End()
        self._jobs.put(end)
        return end.done

    # In the thread

    def _work(self) -> None:
        with suppress(Exception):
            self._write_to_file(b"", 0)  # so that a crawl without exchanges says so
            self._link()
        while isinstance(job := self._jobs.get(), _Job):
            self._do(job)
        try:
            self._end()
        finally:
            job.done.set_result(None)

    def _do(self, job: _Job) -> None:
        try:
            self._write(job)
        except Exception as error:  # noqa: BLE001 - what cannot be a record ends no thread
            self.fail(f"{type(error).__name__}: {error}")
        finally:
            with self._lock:
                self._queued_octets -= job.octets

    def _link(self) -> None:
        """Let `latest` name this run, where there are symbolic links."""
        with suppress(OSError):
            part = self.folder.with_name(f".{LATEST}-{self.folder.name}")
            part.symlink_to(self.folder.name, target_is_directory=True)
            part.replace(self.folder.with_name(LATEST))

    def _write(self, job: _Job) -> None:
        made = [packed(record) for record in records_of(job.archived, job.outcome)]
        if self._clock() < self._retry_at or not self._write_to_file(b"".join(made), len(made)):
            with self._lock:
                self.failed_count += 1
        else:
            self.record_count += len(made)
            self._file_exchanges += 1

    def _write_to_file(self, octets: bytes, records: int) -> bool:
        """Write records into the file that takes them; False if that cannot be done now."""
        try:
            file = self._ready_file()
            if octets:
                file.append(octets, records)
        except OSError as error:
            self._retry_at = self._clock() + _RETRY_SECONDS
            self._tell(str(error))
            return False
        return True

    def _ready_file(self) -> WarcFile:
        now, file = self._clock(), self._file
        if file is not None and now >= self._look_at:
            self._look_at = now + _LOOK_SECONDS
            if not file.is_there:
                self._lose(file)
                file = None
        if file is not None and (file.octets >= self._segment_octets or not file.is_sound):
            self._finish()
            file = None
        return self._opened(now) if file is None else file

    def _opened(self, now: float) -> WarcFile:
        self.folder.mkdir(parents=True, exist_ok=True)
        number = self._number + 1
        name = f"rep-{self.folder.name}-{os.getpid()}-{number:05}.warc.gz"
        file = WarcFile(self.folder / name)
        try:
            file.append(packed(warcinfo(name, now, self._facts)), 1)
        except OSError:
            file.close()
            with suppress(OSError):
                file.path.unlink()
            raise
        self._number, self._file, self._file_exchanges = number, file, 0
        self.record_count += 1
        self._make_reserve()
        self._write_manifest()
        return file

    def _lose(self, file: WarcFile) -> None:
        """The file has vanished: what was written into it counts as failed."""
        file.close()
        self._file = None
        self.record_count -= file.records
        with self._lock:
            self.failed_count += self._file_exchanges
        self._tell(f"{file.path} vanished, or was replaced")

    def _finish(self) -> None:
        file, self._file = self._file, None
        if file is not None:
            self._finished.append(file.finish())
            self._write_manifest()

    def _end(self) -> None:
        with suppress(OSError):
            self._reserve.unlink()
        if self._file is not None and not self._file.is_there:
            self._lose(self._file)
        self._finish()
        self._write_manifest({"at": date(self._clock())})

    @property
    def _reserve(self) -> Path:
        return self.folder / "reserve"

    def _make_reserve(self) -> None:
        with suppress(OSError):
            if not self._reserve.exists():
                self._reserve.write_bytes(b"\0" * _RESERVE_OCTETS)

    def _write_manifest(self, end: Mapping[str, Any] | None = None) -> None:
        """Replace the manifest."""
        held = {
            "v": 1,
            "format": FORMAT,
            "run": self.folder.name,
            "segments": self._finished,
            "records": self.record_count,
            "failed": self.failed_count,
            "end": end,
        }
        part = self.folder / f"{MANIFEST}.part"
        try:
            part.write_text(json.dumps(held, indent=2) + "\n", encoding="ascii")
            part.replace(self.folder / MANIFEST)
        except OSError as error:
            with suppress(OSError):
                part.unlink()
            self._tell(str(error))

    def fail(self, why: str) -> None:
        """Count an exchange that could not be archived."""
        with self._lock:
            self.failed_count += 1
        self._tell(why)

    def _tell(self, why: str) -> None:
        with self._lock:
            is_told, self._has_failed = self._has_failed, True
        if not is_told:
            self._failed(why)


def _octets_of(archived: Archived) -> int:
    """What sites may make as long as they like: bodies and heads."""
    if not isinstance(archived, Exchange):
        return len(archived.body or b"")
    answered = archived.answered
    if answered is None:
        return 0
    heads = sum(len(name) + len(value) + _FIELD_OCTETS for name, value in answered.headers)
    return len(answered.body) + heads

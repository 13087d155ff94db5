"""Writes the archive of one run in a thread: files, in order, and their manifest.

Rules for changes:

1. No call from a crawl waits for the disk, or raises because of it.
2. Exchanges that cannot be written are counted, and the manifest has their number. So an archive
   itself shows how many are missing.
3. The records of an exchange are all in the file, or none of them is.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path
from threading import Lock
from typing import Any

from . import spool
from .spool import NO_LIMIT, OctetLimit, Spool, SpoolFile
from .warc_records import (
    Archived,
    Exchange,
    FileOutcome,
    date,
    packed,
    records_of,
    warcinfo,
)

FORMAT = "WARC/1.1"
OPEN = ".open"
"""The suffix of a file until it is finished."""

_QUEUED_OCTETS = 1 << 26  # waiting to be written: this bounds memory if the disk hangs
_RECORD_OCTETS = 2000  # of an exchange without a body, roughly
_FIELD_OCTETS = 150  # memory of a header field in addition to its octets


class ArchiveWriter(Spool):
    """Writes the archive of one run.

    Attributes:
        failed_count: the number of exchanges that were not archived, or were lost later.
    """

    def __init__(
        self,
        folder: Path,
        facts: Mapping[str, str],
        *,
        segment_octets: int,
        limit: OctetLimit = NO_LIMIT,
        failed: Callable[[str], None] = lambda _: None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """Let the thread create the folder and the first file.

        Args:
            folder: the folder of this run only.
            facts: the facts of the crawl for the first record of each file.
            segment_octets: the size limit of a file.
            limit: the size limit of the folder.
            failed: called once, in the thread, with the first error.
            clock: gives the time of records; pauses do not depend on it.
        """
        super().__init__(folder, segment_octets=segment_octets, limit=limit)
        self.failed_count = 0
        self._facts = dict(facts)
        self._failed = failed
        self._clock = clock
        self._file_exchanges = 0
        self._has_failed = False
        self._queued_octets = 0
        self._lock = Lock()  # for the counts, which both threads change
        self._thread.submit(self._start)

    def put(self, archived: Archived, outcome: FileOutcome | None = None) -> None:
        """Queue an exchange for writing; it counts as failed if the queue is full."""
        octets = _RECORD_OCTETS + _octets_of(archived)
        with self._lock:
            is_full = self._queued_octets + octets > _QUEUED_OCTETS
            self._queued_octets += 0 if is_full else octets
        if is_full:
            self.fail("the disk is too slow: the queue is full")
        else:
            self._thread.submit(self._do, archived, outcome, octets)

    def close(self) -> Future[None]:
        """End the archive; the result is there once all is on the disk."""
        done = self._thread.submit(self._end)
        self._thread.shutdown(wait=False)
        return done

    def fail(self, why: str, count: int = 1) -> None:
        """Count exchanges that could not be archived."""
        with self._lock:
            self.failed_count += count
            is_told, self._has_failed = self._has_failed, True
        if not is_told:
            self._failed(why)

    # Methods of the thread

    def _start(self) -> None:
        """Create the first file, so that a crawl without exchanges has one too."""
        try:
            self._open_file(time.monotonic())
        except OSError as error:
            self._pause(error, 0)
        self.link_latest()

    def _do(self, archived: Archived, outcome: FileOutcome | None, octets: int) -> None:
        try:
            made = [packed(record) for record in records_of(archived, outcome)]
            self._write(b"".join(made), len(made))
        except Exception as error:  # noqa: BLE001 - a bad record must not end the thread
            self.fail(f"{type(error).__name__}: {error}")
        finally:
            with self._lock:
                self._queued_octets -= octets

    def _write(self, octets: bytes, records: int) -> None:
        now = time.monotonic()
        if now < self._retry_at:
            self.fail("")  # the reason was reported
            return
        try:
            self._open_file(now)
            self._append(octets, records)
        except OSError as error:
            self._pause(error, 1)
        else:
            self._file_exchanges += 1

    def _pause(self, error: OSError, failed_count: int) -> None:
        self._retry_at = time.monotonic() + spool.RETRY_SECONDS
        self.fail(str(error), failed_count)

    def _first(self, number: int) -> tuple[str, bytes]:
        self._file_exchanges = 0
        name = f"rep-{self.folder.name}-{os.getpid()}-{number:05}.warc.gz"
        return name + OPEN, packed(warcinfo(name, self._clock(), self._facts))

    def _lost(self, file: SpoolFile) -> None:
        """Count the exchanges in a vanished file as failed."""
        self.record_count -= file.records
        self.fail(f"{file.path} vanished, or was replaced", self._file_exchanges)

    def _settle(self, file: SpoolFile, facts: dict[str, Any]) -> None:
        file.close()
        target = file.path.with_name(file.path.name.removesuffix(OPEN))
        with suppress(OSError):
            file.path.rename(target)
            facts["name"] = target.name
        self._write_manifest()

    def _end(self) -> None:
        self._free_reserve()
        self._look_at = 0.0
        self._check(time.monotonic())
        self._finish()
        self._write_manifest({"at": date(self._clock())})

    def _manifest(self) -> dict[str, Any]:
        return {
            "v": 1,
            "format": FORMAT,
            "run": self.folder.name,
            "records": self.record_count,
            "failed": self.failed_count,
            **({"error": self.full} if self.full else {}),
        }


def _octets_of(archived: Archived) -> int:
    """The octets that sites control: bodies and heads."""
    if not isinstance(archived, Exchange):
        return len(archived.body or b"")
    answered = archived.received
    if answered is None:
        return 0
    heads = sum(len(name) + len(value) + _FIELD_OCTETS for name, value in answered.headers)
    return len(answered.body) + heads

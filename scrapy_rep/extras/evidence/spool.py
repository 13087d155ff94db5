"""Files of records written during a crawl: whole records only, digests, and a manifest.

The base of the audit trail and the WARC archive. A file is finished when it reaches its size limit.
The manifest lists each finished file with its digest. A manifest with an end is complete.
"""

from __future__ import annotations

import errno
import json
import math
import os
import secrets
import shutil
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy_rep.protocol.secrecy import OWNER_ONLY

if TYPE_CHECKING:
    from scrapy_rep.crawl import Crawl

MANIFEST = "manifest.json"
LATEST = "latest"
"""The link to the last run, next to the folders of runs."""

RETRY_SECONDS = 5.0
LOOK_SECONDS = 1.0  # between checks that the file still exists
_RESERVE_OCTETS = 1 << 16  # freed at the end, so that the last lines fit on a full disk
_RESERVE_PART = 8  # at most this part of the free space


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A new path to write to: it replaces `path` at the end, and is deleted after an error.

    Its name is unique, because several crawls may replace the same file at once.

    Raises:
        OSError: the path cannot be replaced.
    """
    part = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    try:
        yield part
        part.replace(path)
    except BaseException:
        with suppress(OSError):
            part.unlink()
        raise


class SpoolFile:
    """An open file of records.

    Attributes:
        path: its path.
        octets: its length.
        records: the number of its records.
        is_sound: whether it ends with a whole record; False once a partial record could not be cut
            off.
    """

    def __init__(self, path: Path) -> None:
        """Create the file.

        Raises:
            OSError: the file cannot be created.
        """
        self.path = path
        self.octets = 0
        self.records = 0
        self.is_sound = True
        self._digest = sha256()
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | getattr(os, "O_BINARY", 0)
        self._descriptor = os.open(path, flags, OWNER_ONLY)
        found = os.fstat(self._descriptor)
        self._identity = found.st_dev, found.st_ino

    @property
    def sha256(self) -> str:
        """The digest of all octets so far, in hex."""
        return self._digest.hexdigest()

    @property
    def is_there(self) -> bool:
        """Whether the path still leads to this file."""
        try:
            found = self.path.stat()
        except OSError:
            return False
        return (found.st_dev, found.st_ino) == self._identity

    @property
    def facts(self) -> dict[str, Any]:
        """The facts of the file for the manifest."""
        return {
            "name": self.path.name,
            "octets": self.octets,
            "records": self.records,
            "sha256": self.sha256,
        }

    def append(self, octets: bytes, records: int) -> None:
        """Write whole records with one call, all of them or none.

        One call per record costs more than a buffer, but less than encoding it. Written records
        survive the end of the process.

        Raises:
            OSError: nothing was written.
        """
        try:
            written = os.write(self._descriptor, octets)
        except OSError:
            self._cut()
            raise
        if written < len(octets):  # the first sign of a full disk; only the next write would raise
            self._cut()
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        self.octets += written
        self.records += records
        self._digest.update(octets)

    def _cut(self) -> None:
        """Cut off a partial record; this works on a full disk too."""
        try:
            os.ftruncate(self._descriptor, self.octets)
        except OSError:
            self.is_sound = False

    def close(self) -> None:
        """Close the file, with all of it on the disk. This takes time."""
        with suppress(OSError):
            os.fsync(self._descriptor)
        with suppress(OSError):
            os.close(self._descriptor)


@dataclass(frozen=True, slots=True)
class OctetLimit:
    """The size limit of the folder of a run.

    Attributes:
        octets: that many are kept, packed files by their packed size.
        reached: called once, when more would be written, by the thread that writes.
    """

    octets: float = math.inf
    reached: Callable[[], None] = lambda: None


NO_LIMIT = OctetLimit()


def limit_of(crawl: Crawl, reason: str) -> OctetLimit:
    """The size limit of a folder of records, at which the crawl may end with this reason."""
    from scrapy_rep.engine.loops import from_threads  # readers load no Scrapy
    from scrapy_rep.engine.state import stop

    settings = crawl.settings
    if not settings.audit_max_octets:
        return NO_LIMIT
    if settings.audit_full == "continue":
        return OctetLimit(settings.audit_max_octets)
    end = from_threads(stop)
    return OctetLimit(settings.audit_max_octets, lambda: end(crawl.crawler, reason))


class Spool(ABC):
    """The files of one run and their manifest.

    Attributes:
        folder: the folder of this run only.
        record_count: the number of records written.
        segment_count: the number of files so far.
        full: why nothing more is written; empty until the limit is reached.
    """

    def __init__(self, folder: Path, *, segment_octets: int, limit: OctetLimit) -> None:
        self.folder = folder
        self.record_count = 0
        self.segment_count = 0
        self.full = ""
        self._segment_octets = segment_octets
        self._max_octets = limit.octets
        self._reached = limit.reached
        self._octets = 0
        self._saved_octets = 0  # by packing, in the thread
        self._reserve = folder / "reserve"
        self._file: SpoolFile | None = None
        self._finished: list[dict[str, Any]] = []
        self._retry_at = self._look_at = 0.0
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="rep-spool")

    @abstractmethod
    def _first(self, number: int) -> tuple[str, bytes]:
        """The name of a file, and its first record."""

    @abstractmethod
    def _lost(self, file: SpoolFile) -> None:
        """Note that a file vanished with all records in it."""

    @abstractmethod
    def _settle(self, file: SpoolFile, facts: dict[str, Any]) -> None:
        """Close a full file, and correct its facts if its name changes."""

    @abstractmethod
    def _manifest(self) -> dict[str, Any]:
        """The content of the manifest except its files and its end."""

    def _open_file(self, at: float) -> SpoolFile:
        """The file for the next record.

        Raises:
            OSError: no file can be opened.
        """
        self._refuse_excess()
        self._check(at)
        file = self._file
        if file is not None and (file.octets >= self._segment_octets or not file.is_sound):
            self._finish()
        return self._file or self._begin()

    def _check(self, at: float) -> None:
        """Check whether the file is still there."""
        file = self._file
        if file is not None and at >= self._look_at:
            self._look_at = at + LOOK_SECONDS
            if not file.is_there:
                file.close()
                self._file = None
                self._lost(file)

    def _refuse_excess(self, octets: int = 0) -> None:
        """Refuse to write more than the limit.

        Raises:
            OSError: the limit is reached, now or before.
        """
        if self._octets - self._saved_octets + octets > self._max_octets:
            if not self.full:
                self.full = f"REP_AUDIT_MAX_OCTETS = {self._max_octets:.0f} is reached"
                self._reached()
            self._max_octets = -math.inf  # smaller records would hide that others are missing
            raise OSError(self.full)

    def _begin(self) -> SpoolFile:
        self.folder.mkdir(parents=True, exist_ok=True)
        name, octets = self._first(self.segment_count + 1)
        self._refuse_excess(len(octets))
        file = SpoolFile(self.folder / name)
        try:
            file.append(octets, 1)
        except OSError:
            file.close()
            with suppress(OSError):
                file.path.unlink()
            raise
        self._file = file
        self._octets += len(octets)
        self.segment_count += 1
        self.record_count += 1
        with suppress(OSError):
            if not self._reserve.exists():
                octets_free = shutil.disk_usage(self.folder).free
                self._reserve.write_bytes(bytes(min(_RESERVE_OCTETS, octets_free // _RESERVE_PART)))
        self._write_manifest()
        return file

    def _append(self, octets: bytes, records: int) -> None:
        if self._file is None:
            raise OSError("no file is open")
        self._refuse_excess(len(octets))
        self._file.append(octets, records)
        self._octets += len(octets)
        self.record_count += records

    def _finish(self) -> None:
        """Finish the open file."""
        file, self._file = self._file, None
        if file is not None:
            facts = file.facts
            self._finished.append(facts)
            self._settle(file, facts)

    def _write_manifest(self, end: Mapping[str, Any] | None = None) -> str:
        """Replace the manifest; return the SHA-256 of the file, in hex, as read back.

        After a failure, the old manifest, which has no end, may stay; then the result is empty.
        """
        held = {**self._manifest(), "segments": [*map(dict, self._finished)], "end": end}
        octets = json.dumps(held, indent=2).encode("ascii") + b"\n"
        path = self.folder / MANIFEST
        try:
            with replacing(path) as part:
                part.touch(OWNER_ONLY)
                part.write_bytes(octets)
            found = path.read_bytes()
        except OSError:
            return ""
        return sha256(found).hexdigest() if found == octets else ""

    def _free_reserve(self) -> None:
        """Let the last records be written: on a full disk, and over the limit."""
        self._max_octets = math.inf
        with suppress(OSError):
            self._reserve.unlink()

    def link_latest(self) -> None:
        """Let the link `latest` point to this run, if symbolic links are supported."""
        with suppress(OSError), replacing(self.folder.with_name(LATEST)) as part:
            part.symlink_to(self.folder.name, target_is_directory=True)

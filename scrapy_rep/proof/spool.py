"""Files of records while a crawl writes them: whole records only, digests, and a manifest.

The audit trail and the WARC archive write so. A file grows to so many octets and is then finished.
The manifest names each finished file with its digest; its end tells that nothing is missing.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
from abc import ABC, abstractmethod
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

MANIFEST = "manifest.json"
LATEST = "latest"
"""The link beside the folders of runs that names the last one."""

RETRY_SECONDS = 5.0
LOOK_SECONDS = 1.0  # how often the file is looked at, which may vanish
_RESERVE_OCTETS = 1 << 16  # kept to be freed at the end, so that a full disk takes the last lines
_RESERVE_PART = 8  # of the free space, at most


class SpoolFile:
    """A file of records that is open.

    Attributes:
        path: where it is.
        octets: how long it is.
        records: how many records it holds.
        is_sound: whether it ends with a whole record; False once a part could not be cut off.
    """

    def __init__(self, path: Path) -> None:
        """Make the file.

        Raises:
            OSError: it cannot be made.
        """
        self.path = path
        self.octets = 0
        self.records = 0
        self.is_sound = True
        self._digest = sha256()
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | getattr(os, "O_BINARY", 0)
        self._descriptor = os.open(path, flags, 0o644)
        found = os.fstat(self._descriptor)
        self._identity = found.st_dev, found.st_ino

    @property
    def sha256(self) -> str:
        """The digest of all octets so far, in hex."""
        return self._digest.hexdigest()

    @property
    def is_there(self) -> bool:
        """Whether the file is still the one at its path."""
        try:
            found = self.path.stat()
        except OSError:
            return False
        return (found.st_dev, found.st_ino) == self._identity

    @property
    def facts(self) -> dict[str, Any]:
        """What the manifest tells of it."""
        return {
            "name": self.path.name,
            "octets": self.octets,
            "records": self.records,
            "sha256": self.sha256,
        }

    def append(self, octets: bytes, records: int) -> None:
        """Write whole records with one call, all of them or none.

        One call for each record costs more than a buffer, and less than to encode it. What is
        written survives the process.

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
        """Cut off the part of a record; that works on a full disk too."""
        try:
            os.ftruncate(self._descriptor, self.octets)
        except OSError:
            self.is_sound = False

    def close(self) -> None:
        """Close the file, with everything in it on the disk. This takes time."""
        with suppress(OSError):
            os.fsync(self._descriptor)
        with suppress(OSError):
            os.close(self._descriptor)


class Spool(ABC):
    """The files of one run and their manifest.

    Attributes:
        folder: of this run and no other.
        record_count: how many records were written.
        segment_count: how many files there are so far.
    """

    def __init__(self, folder: Path, *, segment_octets: int) -> None:
        self.folder = folder
        self.record_count = 0
        self.segment_count = 0
        self._segment_octets = segment_octets
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
        """Note that a file vanished with everything in it."""

    @abstractmethod
    def _settle(self, file: SpoolFile, facts: dict[str, Any]) -> None:
        """Close a file that is full, and correct its facts if its name changes."""

    @abstractmethod
    def _manifest(self) -> dict[str, Any]:
        """What the manifest tells besides its files and its end."""

    def _open_file(self, at: float) -> SpoolFile:
        """The file that takes the next record.

        Raises:
            OSError: there is none.
        """
        self._check(at)
        file = self._file
        if file is not None and (file.octets >= self._segment_octets or not file.is_sound):
            self._finish()
        return self._file or self._begin()

    def _check(self, at: float) -> None:
        """Look whether the file is still there."""
        file = self._file
        if file is not None and at >= self._look_at:
            self._look_at = at + LOOK_SECONDS
            if not file.is_there:
                file.close()
                self._file = None
                self._lost(file)

    def _begin(self) -> SpoolFile:
        self.folder.mkdir(parents=True, exist_ok=True)
        name, octets = self._first(self.segment_count + 1)
        file = SpoolFile(self.folder / name)
        try:
            file.append(octets, 1)
        except OSError:
            file.close()
            with suppress(OSError):
                file.path.unlink()
            raise
        self._file = file
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
        self._file.append(octets, records)
        self.record_count += records

    def _finish(self) -> None:
        """End the file that is open."""
        file, self._file = self._file, None
        if file is not None:
            facts = file.facts
            self._finished.append(facts)
            self._settle(file, facts)

    def _write_manifest(self, end: Mapping[str, Any] | None = None) -> bytes:
        """Replace the manifest; its octets. If it cannot be replaced, the old one has no end."""
        held = {**self._manifest(), "segments": [*map(dict, self._finished)], "end": end}
        octets = json.dumps(held, indent=2).encode("ascii") + b"\n"
        part = self.folder / f"{MANIFEST}.part"
        try:
            part.write_bytes(octets)
            part.replace(self.folder / MANIFEST)
        except OSError:
            with suppress(OSError):
                part.unlink()
        return octets

    def _free_reserve(self) -> None:
        with suppress(OSError):
            self._reserve.unlink()

    def link_latest(self) -> None:
        """Let `latest` name this run, where there are symbolic links."""
        with suppress(OSError):
            part = self.folder.with_name(f".{LATEST}-{self.folder.name}")
            part.symlink_to(self.folder.name, target_is_directory=True)
            part.replace(self.folder.with_name(LATEST))

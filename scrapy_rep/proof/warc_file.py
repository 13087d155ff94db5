"""One WARC file while it is written: whole exchanges, and the digest of all before."""

from __future__ import annotations

import errno
import os
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

OPEN = ".open"
"""What the name of a file ends with until it is finished."""


class WarcFile:
    """A file that is open.

    Attributes:
        path: where it is; without `OPEN` at the end once it is finished.
        octets: how long it is.
        records: how many records it holds.
        is_sound: whether it ends with a whole record; False once a part could not be cut off.
    """

    def __init__(self, path: Path) -> None:
        """Make the file; `path` is where it will be once it is finished.

        Raises:
            OSError: it cannot be made.
        """
        self.path = path.with_name(path.name + OPEN)
        self.octets = 0
        self.records = 0
        self.is_sound = True
        self._name = path.name
        self._digest = sha256()
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | getattr(os, "O_BINARY", 0)
        self._descriptor = os.open(self.path, flags, 0o644)
        found = os.fstat(self._descriptor)
        self._identity = found.st_dev, found.st_ino

    @property
    def is_there(self) -> bool:
        """Whether the file is still the one at its path."""
        try:
            found = self.path.stat()
        except OSError:
            return False
        return (found.st_dev, found.st_ino) == self._identity

    def append(self, octets: bytes, records: int) -> None:
        """Write whole records with one call, all of them or none.

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

    def finish(self) -> dict[str, Any]:
        """Close the file, give it its last name, and return what the manifest tells of it."""
        with suppress(OSError):
            os.fsync(self._descriptor)
        self.close()
        target = self.path.with_name(self._name)
        with suppress(OSError):
            self.path.rename(target)
            self.path = target
        return {
            "name": self.path.name,
            "octets": self.octets,
            "records": self.records,
            "sha256": self._digest.hexdigest(),
        }

    def close(self) -> None:
        """Close the file as it is."""
        with suppress(OSError):
            os.close(self._descriptor)

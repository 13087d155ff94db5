"""One file of a trail while it is written: whole lines, and the digest of all before."""

from __future__ import annotations

import errno
import gzip
import os
import shutil
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

_COPY_OCTETS = 1 << 20


class Segment:
    """A file of records that is open.

    Attributes:
        path: where it is.
        octets: how long it is.
        lines: how many lines it holds.
        is_sound: whether it ends with a whole line; False once a part could not be cut off.
    """

    def __init__(self, path: Path) -> None:
        """Make the file.

        Raises:
            OSError: it cannot be made.
        """
        self.path = path
        self.octets = 0
        self.lines = 0
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

    def append(self, text: str) -> int:
        """Write whole lines with one call, all of them or none; how many they are.

        One call for each record costs more than a buffer, and less than to encode it. What is
        written survives the process.

        Raises:
            OSError: nothing was written.
        """
        octets = text.encode("ascii")
        try:
            written = os.write(self._descriptor, octets)
        except OSError:
            self._cut()
            raise
        if written < len(octets):  # the first sign of a full disk; only the next write would raise
            self._cut()
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        self.octets += written
        lines = octets.count(b"\n")
        self.lines += lines
        self._digest.update(octets)
        return lines

    def _cut(self) -> None:
        """Cut off the part of a line; that works on a full disk too."""
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


def packed(path: Path) -> Path:
    """Replace a closed file by its gzipped form, and return the path of what is there then.

    A disk that is too full keeps it as it is.
    """
    target = path.with_name(path.name + ".gz")
    part = target.with_name(target.name + ".part")
    try:
        with path.open("rb") as plain, gzip.open(part, "wb", 6) as packing:
            shutil.copyfileobj(plain, packing, _COPY_OCTETS)
        with part.open("rb") as written:
            os.fsync(written.fileno())
        part.replace(target)
        path.unlink()
    except OSError:
        with suppress(OSError):
            part.unlink()
        return path if path.exists() else target
    return target

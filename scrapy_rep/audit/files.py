"""Files of trails and archives that others may have made: what may never end is not opened."""

from __future__ import annotations

import errno
import stat
from hashlib import sha256
from pathlib import Path
from typing import IO

_PIECE_OCTETS = 1 << 20


def opened(path: Path) -> IO[bytes]:
    """Open a file to read it.

    Raises:
        OSError: it cannot be opened, or is a pipe or a device, which may never end.
    """
    if not stat.S_ISREG(path.stat().st_mode):
        raise OSError(errno.EINVAL, "it is no regular file")
    return path.open("rb")


def beginning_of(path: Path, octets: int) -> tuple[bytes, str]:
    """So many octets of a file, or all if it is shorter; and the SHA-256 of all, in hex.

    Raises:
        OSError: as `opened`.
    """
    with opened(path) as file:
        beginning = file.read(octets)
        digest = sha256(beginning)
        while more := file.read(_PIECE_OCTETS):  # of something else, which is far too long
            digest.update(more)
    return beginning, digest.hexdigest()

"""Files of trails and archives that others may have made: what may never end is not opened."""

from __future__ import annotations

import errno
import json
import stat
from collections.abc import Callable
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import IO, Any

_PIECE_OCTETS = 1 << 20
_DIGEST_OCTETS = 1 << 30  # a manifest that is longer is none, and has no digest: that takes hours


def opened(path: Path) -> IO[bytes]:
    """Open a file to read it.

    Raises:
        OSError: it cannot be opened, or is a pipe or a device, which may never end.
    """
    if not stat.S_ISREG(path.stat().st_mode):
        raise OSError(errno.EINVAL, "it is no regular file")
    return path.open("rb")


def manifest_at(
    path: Path, most_octets: int, is_manifest: Callable[[object], bool]
) -> tuple[dict[str, Any] | None, str]:
    """A manifest, None if there is none that can be read; and the SHA-256 of its file, in hex.

    No more is kept of a file than the most octets that a manifest may have.
    """
    try:
        with opened(path) as file:
            octets = file.read(most_octets)
            digest = sha256(octets)
            length = len(octets)
            while more := file.read(_PIECE_OCTETS):  # of something else, which is far too long
                digest.update(more)
                length += len(more)
                if length > _DIGEST_OCTETS:
                    return None, ""
    except OSError:
        return None, ""
    if length > most_octets:
        return None, digest.hexdigest()
    with suppress(ValueError, RecursionError):
        found = json.loads(octets)
        if is_manifest(found):
            return found, digest.hexdigest()
    return None, digest.hexdigest()

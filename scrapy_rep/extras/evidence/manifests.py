"""Shared code for reading and checking trails and archives: files, manifests, outcomes.

Other people may have made these files, so a file that may never end is not opened.
"""

from __future__ import annotations

import errno
import json
import stat
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import IO, Any

from .spool import MANIFEST

_MANIFEST_OCTETS = 1 << 24


def opened(path: Path) -> IO[bytes]:
    """Open a file to read it.

    Raises:
        OSError: it cannot be opened, or is a pipe or a device, which may never end.
    """
    if not stat.S_ISREG(path.stat().st_mode):
        raise OSError(errno.EINVAL, "not a regular file")
    return path.open("rb")


def manifest_in(
    folder: Path, is_manifest: Callable[[object], bool]
) -> tuple[dict[str, Any] | None, str]:
    """The manifest in a folder, None without a readable one; and the SHA-256 of its file, in hex.

    A file that is too long counts as missing, and has no digest.
    """
    try:
        with opened(folder / MANIFEST) as file:
            octets = file.read(_MANIFEST_OCTETS + 1)
    except OSError:
        return None, ""
    if len(octets) > _MANIFEST_OCTETS:
        return None, ""
    found = None
    with suppress(ValueError, RecursionError):
        found = json.loads(octets)
    return found if is_manifest(found) else None, sha256(octets).hexdigest()


_PROBLEMS_SHOWN = 1000


@dataclass
class CheckOutcome:
    """The result of checking a trail or an archive.

    Attributes:
        problems: contradictions, so the files were damaged or changed.
        missing: gaps that the files themselves report, and a missing end.
        counts: the records by kind; in trails, the numbered records by the kind they count as.
    """

    problems: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)

    def wrong(self, text: str) -> None:
        """Note a problem; the memory for them is bounded."""
        if len(self.problems) < _PROBLEMS_SHOWN:
            self.problems.append(text)

    def compare(self, name: str, told: Mapping[str, Any], found: Mapping[str, Any]) -> None:
        """Compare the facts of a file with those in the manifest."""
        for fact, value in found.items():
            if told.get(fact) != value:
                self.wrong(f"{name}: {fact} is {value}, but {told.get(fact)} in the manifest")


def files_in(manifest: Mapping[str, Any] | None) -> dict[str, Mapping[str, Any]]:
    """The facts of the files in a manifest, by name; empty without a manifest."""
    segments = (manifest or {}).get("segments")
    listed = segments if isinstance(segments, list) else []
    return {str(one.get("name")): one for one in listed if isinstance(one, dict)}

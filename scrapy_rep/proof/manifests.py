"""What trails and archives share when they are read and checked: files, manifests, outcomes.

Others may have made them: what may never end is not opened.
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
        raise OSError(errno.EINVAL, "it is no regular file")
    return path.open("rb")


def manifest_in(
    folder: Path, is_manifest: Callable[[object], bool]
) -> tuple[dict[str, Any] | None, str]:
    """A manifest, None if there is none that can be read; and the SHA-256 of its file, in hex.

    A file that is far too long is none, and has no digest.
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
    """What the check of a trail or an archive found.

    Attributes:
        problems: what contradicts itself: damage, or somebody's hand.
        missing: what the files themselves tell that they lack, and an end that did not come.
        counts: the records by kind; of trails, the numbered ones by what they are counted as.
    """

    problems: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)

    def wrong(self, text: str) -> None:
        """Note a problem; memory is bounded."""
        if len(self.problems) < _PROBLEMS_SHOWN:
            self.problems.append(text)

    def compare(self, name: str, told: Mapping[str, Any], found: Mapping[str, Any]) -> None:
        """Compare the facts of a file with those that the manifest tells."""
        for fact, value in found.items():
            if told.get(fact) != value:
                self.wrong(f"{name}: {fact} is {value}, and {told.get(fact)} by the manifest")


def files_in(manifest: Mapping[str, Any] | None) -> dict[str, Mapping[str, Any]]:
    """The facts of the files that a manifest names, by name; empty without a manifest."""
    segments = (manifest or {}).get("segments")
    listed = segments if isinstance(segments, list) else []
    return {str(one.get("name")): one for one in listed if isinstance(one, dict)}

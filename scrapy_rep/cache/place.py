"""The place of a SQLite file: which file is there, where its log is, and who may open or move it.

A file has companions, which SQLite makes and finds by its name. So nobody opens it while another
process moves them one by one: it would make new ones for the old file, and those who open the next
file would find these. A lock beside the file keeps the two apart. It is held for moments: nobody
waits for the file meanwhile.
"""

from __future__ import annotations

import itertools
import logging
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

from .base import StoreError

logger = logging.getLogger(__name__)

Identity = tuple[int, int]

_COMPANIONS = "-wal", "-shm"


class Place:
    """Where a file is, or is to be."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def identity(self) -> Identity | None:
        """By which to know that the file is still the same, not one that others put there since."""
        try:
            found = self._path.stat()
        except OSError:
            return None
        return found.st_dev, found.st_ino

    def log(self) -> Path:
        """The write-ahead log of the file that is there now; a link has it beside its target."""
        return self._beside("-wal")

    @contextmanager
    def held(self, seconds: float) -> Iterator[None]:
        """Keep others from opening the file, and from setting it aside.

        Where there can be no lock, a folder of somebody else's say, they are not kept from it.

        Raises:
            StoreError: another process does so for longer than these seconds.
        """
        lock = FileLock(self._beside(".lock"))
        try:
            if Path(lock.lock_file).parent.is_dir():  # or it would be made
                lock.acquire(timeout=seconds, poll_interval=0.005)
        except Timeout as error:
            raise StoreError(f"{self._path}: another process is opening it") from error
        except (OSError, NotImplementedError) as error:
            logger.debug("%s is opened without a lock: %s", self._path, error)
        try:
            yield
        finally:
            with suppress(OSError):
                lock.release()

    def set_aside(self, identity: Identity | None, error: Exception) -> None:
        """Rename a damaged file and its companions, if it is still there; the place is held.

        So it can be looked at, and a new one made.
        """
        if self.identity() != identity:
            return
        try:
            mark = self._mark()
            self._rename("", mark)  # first: if it can't be renamed, nothing is
            self._move_companions(mark)
        except OSError as refusal:
            logger.warning(
                "%s is damaged (%s) and can't be set aside: %s", self._path, error, refusal
            )
        else:
            kept = self._beside(mark).name
            logger.warning("%s is damaged (%s); it is kept as %s", self._path, error, kept)

    def clear(self) -> None:
        """Set aside what is there of a file that is not; the place is held.

        A process that set it aside has died before it was done.
        """
        with suppress(OSError):
            if self.identity() is None:
                self._move_companions(self._mark())

    def _move_companions(self, mark: str) -> None:
        for suffix in _COMPANIONS:
            if self._beside(suffix).exists():
                self._rename(suffix, mark)

    def _rename(self, suffix: str, mark: str) -> None:
        self._beside(suffix).rename(self._beside(mark + suffix))

    def _beside(self, suffix: str) -> Path:
        target = Path(os.path.realpath(self._path))
        return target.with_name(target.name + suffix)

    def _mark(self) -> str:
        """By which no file was set aside yet."""
        mark = f".damaged-{time.strftime('%Y%m%dT%H%M%S')}-{os.getpid()}"
        numbered = (f"{mark}-{number}" for number in itertools.count(2))
        marks = itertools.chain([mark], numbered)
        return next(one for one in marks if not self._beside(one).exists())

"""When each sitemap was last read, in a file of the `JOBDIR`.

Each sitemap has its own time, because a site may be new, or unreachable in one run. Its time is
the beginning of the run that read it, and counts once that run has finished: until then, its pages
are only queued. A process that is killed does not change these times, because its queue may be
lost.
"""

from __future__ import annotations

import json
import logging
import time
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

logger = logging.getLogger(__name__)

LAST_RUN = "last run"

_FILE = "rep-sitemaps.json"
_SEEN = "requests.seen"  # of Scrapy's duplicate filter
_SITEMAPS = 100_000  # the file has at most 7 MB


class LastRuns:
    """The times of one `JOBDIR`, read when the spider is created.

    Attributes:
        is_new: whether a new run begins; otherwise the last one was stopped and now goes on.
    """

    def __init__(self, folder: Path) -> None:
        """Read the file.

        Unless the last run was stopped and now goes on, a new run begins: Scrapy must forget the
        requests of earlier ones, or it would send none of them again.
        """
        self._file = folder / _FILE
        self._began = time.time()
        self._read: dict[str, float] = {}
        self._pending: dict[str, float] = {}  # of the run that goes on
        self.is_new = True
        with suppress(OSError, ValueError, TypeError, KeyError, AttributeError):
            state = json.loads(self._file.read_bytes())
            self._read = _times(state["read"])
            if state["is_stopped"] is True:
                self._pending = _times(state["pending"])
                self.is_new = False
        if self.is_new:
            with suppress(OSError):
                (folder / _SEEN).unlink(missing_ok=True)

    def since(self, url: str) -> float | None:
        """When the run began that last read this sitemap to its end, in POSIX seconds."""
        at = self._read.get(_key(url))
        return at if at is None or at <= self._began else None  # a clock was ahead

    def note(self, url: str) -> None:
        """Note that a sitemap was read to its end."""
        self._pending.setdefault(_key(url), self._began)

    def begin(self) -> None:
        """Write that a run goes on; if it is killed, the next one begins with the old times."""
        self._write(is_stopped=False)

    def end(self, reason: str) -> None:
        """Write the times of a run that ended; it goes on later unless it is finished."""
        is_finished = reason == "finished"
        if is_finished:
            for key, at in self._pending.items():
                self._read.pop(key, None)  # the newest are last, and stay if there are too many
                self._read[key] = at
            self._pending = {}
        self._write(is_stopped=not is_finished)

    def _write(self, *, is_stopped: bool) -> None:
        read = dict([*self._read.items()][-_SITEMAPS:])
        state = {"is_stopped": is_stopped, "read": read, "pending": self._pending}
        new = self._file.with_suffix(".new")
        try:
            new.write_text(json.dumps(state), encoding="ascii")
            new.replace(self._file)
        except OSError as error:
            logger.warning("The times of the last run cannot be written: %s", error)


def _times(found: dict[str, float]) -> dict[str, float]:
    return {key: float(time) for key, time in found.items()}


def _key(url: str) -> str:
    return sha256(url.encode("utf-8", "surrogatepass")).hexdigest()[:32]

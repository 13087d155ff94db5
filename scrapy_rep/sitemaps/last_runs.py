"""When each sitemap was last read, in a file of the `JOBDIR`.

Each sitemap has its own time, because a site may be new, or unreachable in one run. Its time is
the beginning of that run. A process that is killed does not change these times, because its queue
may be lost.
"""

from __future__ import annotations

import json
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

from scrapy_rep.engine.clock import CLOCK

LAST_RUN = "last run"

_FILE = "rep-sitemaps.json"
_SEEN = "requests.seen"  # of Scrapy's duplicate filter
_SITEMAPS = 100_000  # the file has at most 7 MB


class LastRuns:
    """The times of one `JOBDIR`, read when the spider is created."""

    def __init__(self, folder: Path) -> None:
        """Read the file.

        Unless the last run was stopped and now goes on, a new run begins: Scrapy must forget the
        requests of earlier ones, or it would send none of them again.
        """
        self._file = folder / _FILE
        self._began = CLOCK.now()
        self._read: dict[str, float] = {}
        is_stopped = False
        with suppress(OSError, ValueError, TypeError, KeyError, AttributeError):
            state = json.loads(self._file.read_bytes())
            self._read = {key: float(time) for key, time in state["read"].items()}
            is_stopped = state["is_stopped"] is True
        if not is_stopped:
            (folder / _SEEN).unlink(missing_ok=True)

    def since(self, url: str) -> float | None:
        """When the run began that last read this sitemap to its end, in POSIX seconds."""
        return self._read.get(_key(url))

    def note(self, url: str) -> None:
        """Note that a sitemap was read to its end."""
        self._read.pop(_key(url), None)
        self._read[_key(url)] = self._began

    def begin(self) -> None:
        """Write that a run goes on; if it is killed, the next one begins with the old times."""
        self._write(is_stopped=False)

    def end(self, reason: str) -> None:
        """Write the times of a run that ended; it goes on later unless it is finished."""
        self._write(is_stopped=reason != "finished")

    def _write(self, *, is_stopped: bool) -> None:
        read = dict([*self._read.items()][-_SITEMAPS:])
        new = self._file.with_suffix(".new")
        new.write_text(json.dumps({"is_stopped": is_stopped, "read": read}), encoding="ascii")
        new.replace(self._file)


def _key(url: str) -> str:
    return sha256(url.encode("utf-8", "surrogatepass")).hexdigest()[:32]

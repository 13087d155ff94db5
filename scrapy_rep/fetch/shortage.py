"""A shortage of this machine: open files, ports, buffers or memory for connections.

It says nothing about any site. So what fails for it is tried again while the shortage may end: the
crawl slows down instead of losing pages.
"""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from scrapy import signals

from scrapy_rep.engine.open_files import limit
from scrapy_rep.stats import SHORTAGES, Journal

from .failures import shortage_in

if TYPE_CHECKING:
    from scrapy_rep.crawl import Crawl

_PAUSE_SECONDS = (0.5, 8.0)
_FILES = (
    "This process may have {limit} files open, and has no more left ({name}). Requests wait, and "
    "are sent later. Raise the limit before the crawl: ulimit -n 65536"
)
_WORDS = {
    "EMFILE": _FILES,
    "ENFILE": "This machine has no more open files left ({name}). Requests wait, and are sent "
    "later. Raise the limit of the system: sysctl fs.file-max",
    "EADDRNOTAVAIL": "This machine has no free port left for connections ({name}). Requests wait, "
    "and are sent later. Lower CONCURRENT_REQUESTS, or widen sysctl net.ipv4.ip_local_port_range",
}
_OTHER = (
    "This machine has no memory left for connections ({name}). Requests wait, and are sent later. "
    "Lower CONCURRENT_REQUESTS"
)


class Shortage:
    """Tells how long to wait while this machine is short of something.

    The pauses grow with the time since a download succeeded. After `REP_UNREACHABLE_HOLD_SECONDS`
    without a success, nothing waits any more: the failures count like others.
    """

    def __init__(self, crawl: Crawl) -> None:
        self._crawler = crawl.crawler
        self._hold_seconds = crawl.settings.unreachable_hold_seconds
        self._journal = Journal(crawl.crawler, __name__)
        self._succeeded_at: float | None = None  # None before the first shortage
        self._told: set[str] = set()
        self.listeners: list[Callable[[], None]] = []

    def pause_seconds(self, error: BaseException) -> float:
        """How long to wait after an exception; 0 if it is another failure, or lasts too long.

        The first of a kind is logged.
        """
        name = shortage_in(error)
        if not name:
            return 0.0
        now = time.monotonic()
        if self._succeeded_at is None:
            # From now on, each download is noted. Most crawls need no handler for this.
            self._succeeded_at = now
            self._crawler.signals.connect(self._downloaded, signal=signals.response_downloaded)
        self._journal.count(SHORTAGES.format(name))
        for listener in self.listeners:
            listener()
        if name not in self._told:
            self._told.add(name)
            words = _WORDS.get(name, _OTHER)
            text = f"{name}: {os.strerror(getattr(errno, name))}"
            self._journal.warning("%s", words.format(limit=f"{limit():,g}", name=text))
        since = now - self._succeeded_at
        least, most = _PAUSE_SECONDS
        return min(most, max(least, since)) if since <= self._hold_seconds else 0.0

    def _downloaded(self) -> None:
        self._succeeded_at = time.monotonic()

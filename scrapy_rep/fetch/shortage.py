"""A shortage of this machine: open files, ports, buffers or memory for connections.

It says nothing about any site. So what fails for it is tried again while the shortage may end: the
crawl slows down instead of losing pages.
"""

from __future__ import annotations

import errno
import os
import socket
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from scrapy import signals

from scrapy_rep.engine.downloader import NEVER
from scrapy_rep.engine.open_files import limit
from scrapy_rep.protocol.access.events import Failure
from scrapy_rep.stats import SHORTAGES, Journal

from .failures import failure_of, shortage_in

if TYPE_CHECKING:
    from scrapy_rep.crawl import Crawl

_PAUSE_SECONDS = (0.5, 8.0)
_BELIEVED_SECONDS = 10.0
_OF_FILES = ("EMFILE", "ENFILE")
_PORTS = "EADDRNOTAVAIL"
_FILES = (
    "This process may have {limit} files open, and has no more left ({name}). Requests wait, and "
    "are sent later. Raise the limit before the crawl: ulimit -n 65536"
)
_WORDS = {
    "EMFILE": _FILES,
    "ENFILE": "This machine has no more open files left ({name}). Requests wait, and are sent "
    "later. Raise the limit of the system: sysctl fs.file-max",
    _PORTS: "This machine has no free port left for connections ({name}). Requests wait, "
    "and are sent later. Lower CONCURRENT_REQUESTS, or widen sysctl net.ipv4.ip_local_port_range",
}
_OTHER = (
    "This machine has no memory left for connections ({name}). Requests wait, and are sent later. "
    "Lower CONCURRENT_REQUESTS"
)


class Shortage:
    """Tells how long to wait while this machine is short of something.

    The pauses grow with the time since the shortage began. A download that succeeds ends it. After
    `REP_UNREACHABLE_HOLD_SECONDS`, nothing waits any more: the failures count like others.
    """

    def __init__(self, crawl: Crawl) -> None:
        self._crawler = crawl.crawler
        self._hold_seconds = crawl.settings.unreachable_hold_seconds
        self._journal = Journal(crawl.crawler, __name__)
        self._began_at: float | None = None  # None: not short
        self._seen_at: dict[str, float] = {}
        self.files_are_short: Callable[[], None] = lambda: None

    def of(self, error: BaseException) -> tuple[str, float] | None:
        """The name of a shortage, by an exception, and how long to wait; None for other failures.

        The time is 0 if the shortage lasts too long. The first of a kind is logged.
        """
        name, now = self._name_of(error), time.monotonic()
        if not name:
            return None
        if not self._seen_at:
            # From now on, each download is noted. Most crawls need no handler for this.
            self._crawler.signals.connect(self._downloaded, signal=signals.response_downloaded)
        if name not in self._seen_at:
            words = _WORDS.get(name, _OTHER)
            text = f"{name}: {os.strerror(getattr(errno, name))}"
            self._journal.warning("%s", words.format(limit=f"{limit():,g}", name=text))
        self._seen_at[name] = now
        if self._began_at is None:
            self._began_at = now
        self._journal.count(SHORTAGES.format(name))
        if name in _OF_FILES:
            self.files_are_short()
        since = now - self._began_at
        least, most = _PAUSE_SECONDS
        return name, min(most, max(least, since)) if since <= self._hold_seconds else 0.0

    def _name_of(self, error: BaseException) -> str:
        """The name of the error number; empty if nothing is short.

        A resolver that gets no file says only that a name does not resolve. And a system says that
        no address is available if a single one is not, such as all of IPv6. So this tries to open a
        file or a port. A moment later the same error is believed without a try.
        """
        name = shortage_in(error)
        if not name and failure_of(error) is Failure.DNS:
            name = "EMFILE"
        elif name != _PORTS:
            return name
        if time.monotonic() - self._seen_at.get(name, NEVER) < _BELIEVED_SECONDS:
            return name
        try:
            with socket.socket() as tried:
                tried.bind(("0.0.0.0", 0))  # noqa: S104 - nothing listens there
        except OSError as found:
            is_of_files = errno.errorcode.get(found.errno or 0) in _OF_FILES
            return name if is_of_files or name == _PORTS else ""
        return ""

    def _downloaded(self) -> None:
        self._began_at = None

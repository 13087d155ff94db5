"""URLs that come line by line, judged in their order as soon as the policy of each is there.

A thread reads; the engine fetches the robots.txt of the next `_AHEAD` URLs at once, so that one
slow site holds up the answers behind it, and not the fetches.
"""

from __future__ import annotations

import queue
import sys
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator
from threading import Thread
from typing import TYPE_CHECKING

from scrapy.utils.defer import deferred_from_coro

from scrapy_rep.crawl import policy_for
from scrapy_rep.engine.loops import sleep

from .asking import in_engine
from .running import CommandError
from .sources import origin_of

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.settings import Settings

    from scrapy_rep.policy import Policy
    from scrapy_rep.protocol.access.origin import Origin

    from .judging import Judge
    from .terminal import Terminal

_AHEAD = 64  # URLs
_MOST_JUDGES = 2000
_LOOK_SECONDS = 0.02
_AT_ONCE = 200  # URLs that are judged before the engine gets its turn

Tell = Callable[[str, "Judge"], None]
JudgeOf = Callable[["Origin", "Policy"], "Judge"]


def judge_as_they_come(
    urls: Iterator[str],
    settings: Settings,
    terminal: Terminal,
    *,
    judge_of: JudgeOf,
    tell: Tell,
    complain: Callable[[CommandError], None],
) -> None:
    """Judge URLs by the policies that a crawl of this project would have.

    Args:
        urls: the URLs; to get the next may block.
        settings: those of the project.
        terminal: what is written is flushed before anything is waited for.
        judge_of: makes a judge of an origin and its policy.
        tell: gets each URL and its judge, in the order of the URLs.
        complain: gets the error of a URL that robots.txt does not govern.

    Raises:
        CommandError: the crawl could not run, or standard input not be read.
    """
    stream = _Stream(urls, terminal, judge_of, tell, complain)
    # Where users type URLs, a line of ours would be in their way.
    words = None if sys.stdin is not None and sys.stdin.isatty() else stream.words
    in_engine(settings, stream.run, words)


class _Stream:
    """The URLs that were read and not judged yet, and what is known of their origins."""

    def __init__(
        self,
        urls: Iterator[str],
        terminal: Terminal,
        judge_of: JudgeOf,
        tell: Tell,
        complain: Callable[[CommandError], None],
    ) -> None:
        self._judge_of = judge_of
        self._terminal = terminal
        self._tell = tell
        self._complain = complain
        self._read: queue.Queue[str | BaseException | None] = queue.Queue(_AHEAD)
        self._is_over = False
        self._waiting: deque[tuple[str, Origin | CommandError]] = deque()
        self._judges: OrderedDict[Origin, Judge] = OrderedDict()
        self._under_way: dict[Origin, Exception | None] = {}
        self._count = 0
        Thread(target=self._read_all, args=(urls,), name="rep-urls", daemon=True).start()

    def words(self) -> str:
        """What is waited for."""
        if self._under_way:
            return f"{self._count:,} URLs judged, {len(self._under_way):,} robots.txt under way"
        return f"{self._count:,} URLs judged, waiting for more"

    def _read_all(self, urls: Iterator[str]) -> None:
        try:
            for url in urls:
                self._read.put(url)
            self._read.put(None)
        except Exception as error:  # noqa: BLE001 - raised again where the URLs are judged
            self._read.put(error)

    async def run(self, crawler: Crawler) -> None:
        """Judge all."""
        while True:
            self._take(crawler)
            for _ in range(_AT_ONCE):
                if not self._judge_next():
                    break
            else:
                await sleep(0)
                continue
            if self._is_over and not self._waiting:
                return
            if self._read.empty() or len(self._waiting) >= _AHEAD:
                self._terminal.flush()
                await sleep(_LOOK_SECONDS)

    def _take(self, crawler: Crawler) -> None:
        """Take what was read meanwhile, and fetch what it needs."""
        while len(self._waiting) < _AHEAD and not self._read.empty():
            url = self._read.get()
            if url is None:
                self._is_over = True
            elif isinstance(url, BaseException):
                raise url
            else:
                self._waiting.append((url, self._origin(url, crawler)))

    def _origin(self, url: str, crawler: Crawler) -> Origin | CommandError:
        try:
            origin = origin_of(url)
        except CommandError as error:
            return error
        if origin not in self._judges and origin not in self._under_way:
            self._under_way[origin] = None
            deferred_from_coro(self._fetch(origin, crawler))
        return origin

    async def _fetch(self, origin: Origin, crawler: Crawler) -> None:
        try:
            policy = await policy_for(crawler, origin.robots_txt_uri)
            judge = self._judge_of(origin, policy)
        except Exception as error:  # noqa: BLE001 - raised again where the URL is judged
            self._under_way[origin] = error
            return
        self._judges[origin] = judge
        del self._under_way[origin]

    def _judge_next(self) -> bool:
        """Judge the next URL, if what it needs is there."""
        if not self._waiting:
            return False
        url, origin = self._waiting[0]
        if isinstance(origin, CommandError):
            self._complain(origin)
        elif origin in self._judges:
            self._judges.move_to_end(origin)
            self._tell(url, self._judges[origin])
        else:
            error = self._under_way.get(origin)
            if error is not None:
                raise error
            return False
        self._count += 1
        self._waiting.popleft()
        self._forget()
        return True

    def _forget(self) -> None:
        """Drop the judge that was needed longest ago, unless a URL waits for it."""
        if len(self._judges) > _MOST_JUDGES:
            oldest = next(iter(self._judges))
            if all(origin != oldest for _, origin in self._waiting):
                del self._judges[oldest]

"""Fetching the robots.txt of many origins, as a crawl would: its policies do the work.

Each origin's policy is asked for, and so the file is fetched, stored and retried as in any crawl
of the project; no page is asked for. Memory does not grow with the list: a few origins are under
way at a time, and what a crawl keeps for the pages of a site is dropped once its file is stored:
the policy, the connection, and the slot of the downloader.

What is done is written to a file every few seconds, so that the next run goes on there. A stop
finishes what is under way: those origins are done, and nobody is asked twice. After a kill, a few
origins are looked at again; those whose answers are stored are not asked again.
"""

from __future__ import annotations

import json
import socket
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy import signals
from scrapy.utils.asyncio import run_in_thread
from scrapy.utils.defer import maybe_deferred_to_future
from twisted.internet.defer import DeferredSemaphore

from scrapy_rep.crawl import policies_of, policy_for
from scrapy_rep.engine.downloader import Downloader
from scrapy_rep.engine.loops import as_they_come, sleep
from scrapy_rep.engine.state import is_closing, is_running
from scrapy_rep.protocol.access.origin import Origin

from .asking import in_engine
from .running import CommandError
from .stopping import Stop

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.settings import Settings

BAD = "no site"
"""The count of lines that name no site."""

_SAVED_EACH_SECONDS = 2.0
_TIDIED_EACH = 32  # targets: as many idle connections are open at most, beside those in use
_VERSION = 1
_STOPPING = (
    "scrapy rep collect: no more sites are asked; it ends with what is under way, "
    "or at once when Ctrl-C comes twice more"
)


@dataclass(slots=True)
class Progress:
    """How far a list has been worked through.

    Attributes:
        done: so many of its targets from the first on are done.
        beyond: the numbers of those that are done after these.
        counts: how many there were, by access result and by event.
        asked: what was asked for, in words; another list or other options are another progress.
    """

    asked: str
    done: int = 0
    beyond: set[int] = field(default_factory=set)
    counts: Counter[str] = field(default_factory=Counter)
    is_complete: bool = False

    def finish(self, number: int, *keys: str) -> None:
        """Note that a target is done."""
        self.beyond.add(number)
        while self.done in self.beyond:
            self.beyond.remove(self.done)
            self.done += 1
        self.counts.update(keys)

    def is_done(self, number: int) -> bool:
        """Whether a target is."""
        return number < self.done or number in self.beyond

    @property
    def count(self) -> int:
        """How many are."""
        return self.done + len(self.beyond)

    def save(self, path: Path) -> None:
        """Write it to a file, atomically."""
        made = path.with_name(f".{path.name}.part")
        found = {
            "version": _VERSION,
            "asked": self.asked,
            "done": self.done,
            "beyond": sorted(self.beyond),
            "counts": dict(self.counts),
        }
        made.write_text(json.dumps(found), encoding="utf-8")
        made.replace(path)

    @classmethod
    def load(cls, path: Path, asked: str) -> Progress:
        """Read it, or begin.

        Raises:
            CommandError: the file is something else, or of another list or other options.
        """
        try:
            found = json.loads(path.read_text(encoding="utf-8"))
            counts = Counter({str(n): int(c) for n, c in found["counts"].items()})
            loaded = cls(found["asked"], int(found["done"]), {*found["beyond"]}, counts)
        except FileNotFoundError:
            return cls(asked)
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise CommandError(f"{path}: it cannot be resumed from ({error!r})") from error
        if loaded.asked != asked:
            raise CommandError(
                f"{path}: it is of another list or other options ({loaded.asked}): delete it to "
                "begin anew, or name another with --resume"
            )
        return loaded


class Addresses:
    """Bounds how many origins of one address are fetched at a time.

    Names of one hoster lead to the same machine, which should not have to answer all at once.
    Names are resolved in threads: asyncio's, or with Twisted's other loops those of Scrapy's pool.
    """

    def __init__(self, limit: int) -> None:
        """Take how many at a time; 0 for any number, without looking."""
        self._limit = limit
        self._places: dict[str, tuple[DeferredSemaphore, Counter[str]]] = {}

    @asynccontextmanager
    async def place_for(self, host: str) -> AsyncIterator[None]:
        """A place for an origin, once there is one."""
        if not self._limit:
            yield
            return
        address = await _address_of(host)
        places, users = self._places.setdefault(
            address, (DeferredSemaphore(self._limit), Counter())
        )
        users[address] += 1
        await maybe_deferred_to_future(places.acquire())
        try:
            yield
        finally:
            places.release()
            users[address] -= 1
            if not users[address]:
                del self._places[address]


async def _address_of(host: str) -> str:
    """The first address of a host; the host itself if it has none, which the fetch will tell."""
    try:
        return str(ip_address(host.strip("[]")))
    except ValueError:
        pass
    try:
        found = await run_in_thread(socket.getaddrinfo, host, None, 0, socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return host
    return str(found[0][4][0]) if found else host


@dataclass(slots=True)
class Collection:
    """The work on a list.

    Attributes:
        targets: origins, or None for what is none, in the same order in each run.
        progress: where to begin; it is kept up to date.
        path: where to save that; None for nowhere.
        at_once: how many origins are under way at a time.
        per_address: how many of one address.
        tell: called now and then.
    """

    targets: Iterator[Origin | None]
    progress: Progress
    path: Path | None
    at_once: int
    per_address: int
    tell: Callable[[Progress], None]
    _count: int = 0
    _is_read: bool = False
    _saved_at: float = 0.0
    _stop: Stop = field(default_factory=lambda: Stop(_STOPPING))

    def run(self, settings: Settings) -> None:
        """Ask the sites for their robots.txt; returns when all are done, or on a stop.

        A first signal stops the beginning of more; a second one is Scrapy's, which gives up what
        needs another request.
        """
        try:
            in_engine(settings, self._work, None, ends_in_order=True)
        except CommandError:
            if not self.progress.count:  # otherwise it was stopped on the way
                raise
        finally:
            self.progress.is_complete = self._is_read and self.progress.done == self._count
            if self.path is not None:
                self.progress.save(self.path)

    async def _work(self, crawler: Crawler) -> None:
        addresses, downloader = Addresses(self.per_address), Downloader(crawler)
        # Scrapy gives the connections that are idle at its end a second to close. Where the last
        # one closes while that second ends, Twisted fails with AlreadyCalledError.
        crawler.signals.connect(downloader.drop_idle, signals.spider_closed, weak=False)
        done_count = 0
        await sleep(0)  # Twisted's loops come here before Scrapy sets its handlers of signals
        with self._stop.listening():
            async for number, keys in as_they_come(self._works(crawler, addresses), self.at_once):
                if keys:
                    self.progress.finish(number, *keys)
                done_count += 1
                if done_count % _TIDIED_EACH == 0:
                    downloader.drop_idle()
                self.tell(self.progress)
                self._save_now_and_then()

    def _works(
        self, crawler: Crawler, addresses: Addresses
    ) -> Iterator[Coroutine[Any, Any, tuple[int, tuple[str, ...]]]]:
        """The work on each target that is not done, until a stop, or until the crawl is to end."""
        for number, origin in enumerate(self.targets):
            if self._stop.is_asked or not _goes_on(crawler):
                return
            self._count = number + 1
            if self.progress.is_done(number):
                continue
            if origin is None:
                self.progress.finish(number, BAD)
            else:
                yield self._one(number, origin, crawler, addresses)
        self._is_read = True

    async def _one(
        self, number: int, origin: Origin, crawler: Crawler, addresses: Addresses
    ) -> tuple[int, tuple[str, ...]]:
        """What became of a target, as keys of counts; none if that was not to be known."""
        async with addresses.place_for(origin.host):
            if self._stop.is_asked or not _goes_on(crawler):
                return number, ()
            policy = await policy_for(crawler, origin.robots_txt_uri)
            policies_of(crawler, "collect").forget(origin)
        result = policy.access_result
        name = "override" if result is None else result.value
        return number, (name, f"event:{policy.event}") if _goes_on(crawler) else ()

    def _save_now_and_then(self) -> None:
        now = time.monotonic()
        if self.path is not None and now - self._saved_at > _SAVED_EACH_SECONDS:
            self._saved_at = now
            self.progress.save(self.path)


def _goes_on(crawler: Crawler) -> bool:
    return is_running(crawler) and not is_closing(crawler)

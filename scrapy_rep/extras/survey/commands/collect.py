"""``scrapy rep collect``: fetch and store the files of many sites."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import time
from argparse import Namespace
from collections import Counter
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path
from threading import Event
from typing import Any
from weakref import WeakValueDictionary

from scrapy import signals
from scrapy.crawler import Crawler
from scrapy.utils.asyncio import run_in_thread

from scrapy_rep.commands.engine_work import in_engine
from scrapy_rep.commands.inputs import STDIN, lines_of, put
from scrapy_rep.commands.running import INTERRUPTED, OK, Call, CommandError
from scrapy_rep.engine.downloader import Downloader
from scrapy_rep.engine.loops import Places, as_they_come, sleep
from scrapy_rep.engine.state import is_closing, is_running
from scrapy_rep.fetch.chosen_store import kind_of
from scrapy_rep.policies import policies_of, policy_for
from scrapy_rep.protocol.access.origin import Origin
from scrapy_rep.protocol.errors import InvalidUri
from scrapy_rep.protocol.units import age_words, counted

_SCHEMES = {"https": ("https",), "http": ("http",), "both": ("https", "http")}
_SHOWN_EVENTS = 15
_WWW = "www."
_LINE_CHARACTERS = 10_000
_REMEMBERED = 1_000_000  # origins of a list, with up to 100 octets each
_LOCAL = re.compile(r"localhost(:\d+)?/?", re.IGNORECASE)


def run(call: Call) -> int:
    """Fetch the file of each site in the list."""
    options = call.options
    wanted = ListForm(
        _SCHEMES[options.scheme], options.www != "yes", options.www != "no", options.column
    )
    _check(call)
    is_file = options.list != STDIN
    path = options.resume or (f"{options.list}.collect" if is_file else None)
    job = f"{options.list} --scheme {options.scheme} --www {options.www} --column {wanted.column}"
    progress = Progress.load(Path(path) if path else None, job)
    total = sum(1 for _ in origins_of(lines_of(options.list), wanted)) if is_file else 0
    begun, began_at = progress.count, time.monotonic()
    at_once = options.at_once
    call.set(REP_CONCURRENT_FETCHES=at_once, CONCURRENT_REQUESTS=max(at_once, 16))
    if options.warc:
        call.set(REP_WARC_DIR=options.warc)

    def words() -> str:
        return _words(progress, begun, total, max(time.monotonic() - began_at, 1e-9))

    targets = origins_of(lines_of(options.list), wanted)
    collection = Collection(options, targets, progress)
    try:
        # The first signal starts no more sites; the second is Scrapy's, which gives up work that
        # needs another request.
        in_engine(call, collection.run, words, ends_in_order=True)
    except CommandError:
        if not progress.count:  # otherwise it was stopped midway
            raise
    finally:
        progress.save()
    _write(progress, call)
    if collection.is_complete:
        progress.drop()
        return OK
    call.complain(f"stopped after {counted(progress.count, 'site')}; the next call continues")
    return INTERRUPTED


def _check(call: Call) -> None:
    options = call.options
    if options.at_once < 1 or options.per_address < 0 or options.column < 0:
        raise CommandError("--at-once has to be 1 or more, --per-address and --column 0 or more")
    if kind_of(call.ours) == "memory":
        raise CommandError(
            "the answers would be lost at the end: set REP_STORE_PATH, for example with "
            "-s REP_STORE_PATH=robots.sqlite"
        )


def _words(progress: Progress, begun: int, total: int, seconds: float) -> str:
    rate = (progress.count - begun) / seconds
    results = ", ".join(
        f"{progress.counts[name]:,} {name}" for name in ("successful", "unavailable", "unreachable")
    )
    left = f", {age_words((total - progress.count) / rate)} left" if total and rate else ""
    of = f" of {total:,}" if total else ""
    return f"{progress.count:,}{of}, {rate:,.0f} a second{left}: {results}"


def _write(progress: Progress, call: Call) -> None:
    """Write the counts by access result, and by event."""
    counts = progress.counts.most_common()
    results = [(name, n) for name, n in counts if not name.startswith("event:")]
    events = [(f"  {name[6:]}", n) for name, n in counts if name.startswith("event:")]
    rows = [*results, *events[:_SHOWN_EVENTS]]
    call.table([("answers", "origins"), *((name, f"{n:,}") for name, n in rows)])


@dataclass(frozen=True, slots=True)
class ListForm:
    """How a host in the list becomes origins.

    Attributes:
        schemes: in order.
        has_bare: whether to use the host as written.
        has_www: whether to use the host with ``www.`` before it; no second ``www.`` is added.
        column: of CSV, from 1; 0 for the first that is not a number.
    """

    schemes: tuple[str, ...] = ("https",)
    has_bare: bool = True
    has_www: bool = False
    column: int = 0


def origins_of(lines: Iterable[bytes], wanted: ListForm) -> Iterator[Origin | None]:
    """Yield the origins of a list, in order, and each of the first million once.

    None stands for a line without a site, such as a CSV head.
    """
    seen: set[int] = set()
    for line in lines:
        text = line.decode("utf-8", "replace").strip("\ufeff \t\r\n")
        if not text or text[0] == "#":
            continue
        for origin in _origins(_site(text[:_LINE_CHARACTERS], wanted.column), wanted):
            if origin is None or (key := hash(origin)) not in seen:
                yield origin
            if origin is not None and len(seen) < _REMEMBERED:
                seen.add(key)


def _site(text: str, column: int) -> str:
    cells = [cell.strip(" \t\"'") for cell in text.split(",")]
    if column:
        return cells[column - 1] if column <= len(cells) else ""
    return next((cell for cell in cells if cell and not cell.isdigit()), "")


def _origins(site: str, wanted: ListForm) -> Iterator[Origin | None]:
    if "://" in site:
        yield _origin(site)
        return
    if not _may_be_host(site):
        yield None
        return
    hosts = [site] if wanted.has_bare or site.lower().startswith(_WWW) else []
    if wanted.has_www and not site.lower().startswith(_WWW):
        hosts.append(_WWW + site)
    for host in hosts:
        for scheme in wanted.schemes:
            yield _origin(f"{scheme}://{host}")


def _may_be_host(site: str) -> bool:
    """Whether it may be a host: the word ``domain`` of a CSV head has no dot."""
    is_named = "." in site or site.startswith("[") or _LOCAL.fullmatch(site) is not None
    return is_named and "/" not in site.rstrip("/")


def _origin(uri: str) -> Origin | None:
    try:
        return Origin.of(uri)
    except InvalidUri:
        return None


BAD = "no site"
"""The counter of lines without a site."""

_SAVED_EACH_SECONDS = 2.0
_TIDIED_EACH = 32  # targets; the most idle connections that are open
_STOPPING = (
    "scrapy rep collect: no more sites are started; the command ends after those under way, "
    "or at once after two more Ctrl-C"
)


@dataclass(slots=True)
class Progress:
    """The progress in a list.

    Attributes:
        done: the number of targets from the first on that are all done.
        beyond: the numbers of later targets that are done.
        counts: numbers of targets by access result and by event.
        job: the list and the options in words; others have another progress.
        path: of the progress file; None for none.
    """

    job: str
    path: Path | None = None
    done: int = 0
    beyond: set[int] = field(default_factory=set)
    counts: Counter[str] = field(default_factory=Counter)
    _saved_at: float = field(default=0.0, compare=False)

    def finish(self, number: int, *keys: str) -> None:
        """Note that a target is done."""
        self.beyond.add(number)
        while self.done in self.beyond:
            self.beyond.remove(self.done)
            self.done += 1
        self.counts.update(keys)

    def is_done(self, number: int) -> bool:
        """Whether a target is done."""
        return number < self.done or number in self.beyond

    @property
    def count(self) -> int:
        """The number of targets that are done."""
        return self.done + len(self.beyond)

    def save(self, each_seconds: float = 0.0) -> None:
        """Write the progress to its file, atomically, unless that was done a short time ago."""
        if self.path is None or time.monotonic() - self._saved_at < each_seconds:
            return
        self._saved_at = time.monotonic()
        found = {
            "job": self.job,
            "done": self.done,
            "beyond": sorted(self.beyond),
            "counts": dict(self.counts),
        }
        put(self.path, json.dumps(found).encode())

    def drop(self) -> None:
        """Delete the file."""
        if self.path is not None:
            self.path.unlink(missing_ok=True)

    @classmethod
    def load(cls, path: Path | None, job: str) -> Progress:
        """Read the progress, or start with none.

        Raises:
            CommandError: the file is not a progress file, or is for another list or other options.
        """
        if path is None:
            return cls(job)
        try:
            found = json.loads(path.read_text(encoding="utf-8"))
            counts = Counter({str(n): int(c) for n, c in found["counts"].items()})
            loaded = cls(found["job"], path, int(found["done"]), {*found["beyond"]}, counts)
        except FileNotFoundError:
            return cls(job, path)
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise CommandError(f"{path}: cannot resume from this file ({error!r})") from error
        if loaded.job != job:
            raise CommandError(
                f"{path}: this file is for another list or other options ({loaded.job}): delete "
                "it to start again, or name another with --resume"
            )
        return loaded


class Addresses:
    """Limits how many origins of one IP address are fetched at a time.

    A hoster may serve many names from one machine, which should not have to answer all at once.
    Names are resolved in threads: those of asyncio, or with Twisted's other loops, Scrapy's pool.
    """

    def __init__(self, limit: int) -> None:
        """Set the limit; 0 is no limit, and resolves no names."""
        self._limit = limit
        self._places: WeakValueDictionary[str, Places] = (
            WeakValueDictionary()
        )  # while they are used

    @asynccontextmanager
    async def place_for(self, host: str) -> AsyncIterator[None]:
        """Hold a place for an origin; waits until one is free."""
        if not self._limit:
            yield
            return
        places = self._places.setdefault(await _address_of(host), Places(self._limit))
        async with places.one():
            yield


async def _address_of(host: str) -> str:
    """The first address of a host; the host itself without one, so that the fetch fails."""
    try:
        return str(ip_address(host.strip("[]")))
    except ValueError:
        pass
    try:
        found = await run_in_thread(socket.getaddrinfo, host, None, 0, socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return host
    return str(found[0][4][0]) if found else host


@contextmanager
def _stop() -> Iterator[Event]:
    """An event that SIGINT and SIGTERM set; other handlers must be set before this block.

    This is a stop in order: work under way is finished, and nothing new begins. Scrapy's own stop
    ends the engine: an answer that arrives is kept, but no second request follows. Redirects,
    retries and delayed requests would then have to start again with the next run. Here, the first
    signal only stops new work, and the engine ends once all is done. The next signal is Scrapy's
    first, and the one after it ends the process.
    """
    stop = Event()

    def set_stop(*_: object) -> None:
        stop.set()
        restore()
        with suppress(OSError):  # not by a stream: the interrupted code may be writing to it
            os.write(2, f"\n{_STOPPING}\n".encode())

    def restore() -> None:
        for number, handler in before.items():
            if signal.getsignal(number) is set_stop:
                signal.signal(number, handler)

    before = {number: signal.signal(number, set_stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        restore()


@dataclass(slots=True)
class Collection:
    """The work on a list.

    Attributes:
        options: of the command.
        targets: origins, or None for lines without a site, in the same order in each run.
        progress: the targets that are done; kept up to date.
    """

    options: Namespace
    targets: Iterator[Origin | None]
    progress: Progress
    _count: int = 0
    _is_read: bool = False

    @property
    def is_complete(self) -> bool:
        """Whether all targets are done."""
        return self._is_read and self.progress.done == self._count

    async def run(self, crawler: Crawler) -> None:
        """Fetch the robots.txt of the sites; returns when all are done, or on a stop."""
        addresses, downloader = Addresses(self.options.per_address), Downloader(crawler)
        # Scrapy gives the connections that are idle at its end a second to close. Where the last
        # one closes while that second ends, Twisted fails with AlreadyCalledError.
        crawler.signals.connect(downloader.drop_idle, signals.spider_closed, weak=False)
        done_count = 0
        await sleep(0)  # with Twisted's loops, Scrapy sets its signal handlers after this
        with _stop() as stop:

            def goes_on() -> bool:
                return not stop.is_set() and _is_open(crawler)

            works = self._works(crawler, addresses, goes_on)
            async for _ in as_they_come(works, self.options.at_once):
                done_count += 1
                if done_count % _TIDIED_EACH == 0:
                    downloader.drop_idle()
                self.progress.save(_SAVED_EACH_SECONDS)

    def _works(
        self, crawler: Crawler, addresses: Addresses, goes_on: Callable[[], bool]
    ) -> Iterator[Coroutine[Any, Any, None]]:
        """Yield the work on each target that is left, until a stop, or until the crawl ends."""

        async def one(number: int, origin: Origin) -> None:
            async with addresses.place_for(origin.host):
                if not goes_on():
                    return
                policy = await policy_for(crawler, origin.robots_txt_uri)
                policies_of(crawler, "collect").forget(origin)
            result = policy.access_result
            name = "override" if result is None else result.value
            if _is_open(crawler):  # otherwise the result is not that of the site
                self.progress.finish(number, name, f"event:{policy.event}")

        for number, origin in enumerate(self.targets):
            if not goes_on():
                return
            self._count = number + 1
            if self.progress.is_done(number):
                continue
            if origin is None:
                self.progress.finish(number, BAD)
            else:
                yield one(number, origin)
        self._is_read = True


def _is_open(crawler: Crawler) -> bool:
    return is_running(crawler) and not is_closing(crawler)

"""Show crawls that several workers share.

Show the state of this project's crawls under RepRedisScheduler (REP_REDIS_URL,
SCHEDULER_QUEUE_KEY): workers and their leases, requests queued, in flight and done, dead letters,
pages per second, and how many origins are due, closed, held or unreachable. With several crawls in
Redis, each gets one line. With an ORIGIN (a URL, or a host, which stands for https://host), show
the state of that origin. For that, the command only reads, a little at a time, and slows no crawl
down. "requeue" instead of an origin puts the dead letters back into the queue.

Examples:
  scrapy rep fleet
  scrapy rep fleet --watch
  scrapy rep fleet --spider shop --dead 5
  scrapy rep fleet https://example.com
  scrapy rep fleet requeue --spider shop
  scrapy rep fleet --spider shop -s REP_REDIS_URL=redis://10.0.0.5:6379/0 --json

exit status: 0 shown or put back; 1 no such crawl or origin is in Redis; 2 wrong usage; 3 Redis
cannot be reached
"""

from __future__ import annotations

import argparse
import asyncio
import json
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from scrapy import Spider
from scrapy.settings import Settings
from scrapy.spiderloader import get_spider_loader

from scrapy_rep.cache.link import Link, LinkDownError
from scrapy_rep.queue.fleet import looking
from scrapy_rep.queue.fleet.looking import Lane, Letter, Places, Totals, Worker
from scrapy_rep.queue.fleet.request_codec import PRIORITY
from scrapy_rep.queue.fleet.scripts import prefix_of
from scrapy_rep.settings import RepSettings

from .inputs import named_origin
from .running import FOUND, JSON, OK, Call, CommandError
from .terminal import count_of, cut, in_columns, safe, span

OPTIONS = f"""
origins [ORIGIN...]  show the state of these origins; or "requeue"
--spider NAME...  only the crawl of this spider; may be repeated
--watch  repeat until Ctrl-C
--every SECONDS  the time between two readings, which gives pages/s (default: 1; with --watch 2)
--dead N=0  also show the last N dead letters
--only-letters  with requeue: the next run does only the letters, without start requests
{JSON}
"""

_REQUEUE = "requeue"
_EVERY_SECONDS = {False: 1.0, True: 2.0}  # with --watch
_LEAST_SECONDS, _MOST_SECONDS = 0.1, 3600.0
_LETTERS_MOST = 10_000  # the number that is kept
_LANES_WATCHED = 20_000  # read at each repetition of --watch
_PATIENCE_SECONDS = 1.0
_RETRY_SECONDS = 0.1
_NAMES = 5
_USUAL_KEY = "%(spider)s:requests"  # scrapy-redis's
_RATE_SECONDS = 0.05  # the least time to measure pages per second


def run(call: Call) -> int:
    """Show the state, once or repeatedly."""
    _check(call.options)
    return asyncio.run(_run(call, _crawls(call)))


def _check(options: argparse.Namespace) -> None:
    if options.every is None:
        options.every = _EVERY_SECONDS[options.watch]
    least = _LEAST_SECONDS if options.watch else 0.0
    if not least <= options.every <= _MOST_SECONDS:
        raise CommandError(f"--every {options.every:g}: give {least:g} to {_MOST_SECONDS:g}")
    if options.origins[:1] == [_REQUEUE]:
        if len(options.origins) > 1 or options.watch:
            raise CommandError("requeue takes no origins and no --watch: it takes all dead letters")
        return
    if options.only_letters:
        raise CommandError("--only-letters belongs to requeue")
    options.origins = [str(named_origin(text)) for text in options.origins]
    if not 0 <= options.dead <= _LETTERS_MOST:
        raise CommandError(f"--dead {options.dead}: give a number up to {_LETTERS_MOST}")


def _crawls(call: Call) -> list[Crawl]:
    """The crawls of the named spiders; without names, of all spiders of the project.

    An unknown name stands for a spider with the project's settings.

    Raises:
        CommandError: there is no spider, or no Redis is set.
        ConfigurationError: a setting is wrong.
    """
    classes = dict(_spiders(call.settings))
    wanted = list(dict.fromkeys(call.options.spider)) or sorted(classes)
    if not wanted:
        raise CommandError(
            "there are no spiders here: run this in the folder of a project, or use --spider"
        )
    links: dict[str, Link] = {}
    # Spiders may share a queue, if SCHEDULER_QUEUE_KEY does not contain the spider's name.
    found: dict[tuple[str, str], Crawl] = {}
    for name in wanted:
        own = call.settings.copy()
        if name in classes:
            classes[name].update_settings(own)
        prefix, ours = _prefix(own, name), RepSettings.of(own)
        url = ours.redis_url
        if url and url not in links:
            links[url] = Link(url, ours.redis_timeout_seconds)
        if url:
            found.setdefault((prefix, url), Crawl(name, prefix, links[url]))
    if not found:
        raise CommandError(
            "REP_REDIS_URL is not set, so no crawl is in Redis; set it, for example with\n"
            "-s REP_REDIS_URL=redis://localhost:6379/0"
        )
    return list(found.values())


def _spiders(settings: Settings) -> Iterator[tuple[str, type[Spider]]]:
    own = settings.copy()
    own.set("SPIDER_LOADER_WARN_ONLY", True, priority="cmdline")  # a broken one hides no other
    loader = get_spider_loader(own)
    for name in loader.list():
        yield name, loader.load(name)


def _prefix(settings: Settings, name: str) -> str:
    key = settings.get("SCHEDULER_QUEUE_KEY") or _USUAL_KEY
    try:
        return prefix_of(key, name)
    except (KeyError, TypeError, ValueError) as error:
        raise CommandError(
            f"SCHEDULER_QUEUE_KEY = {key!r} cannot be used ({error!r}): only %(spider)s is "
            "replaced in it"
        ) from error


async def _run(call: Call, crawls: Sequence[Crawl]) -> int:
    async with AsyncExitStack() as links:
        for crawl in crawls:
            crawl.link.open()
            links.push_async_callback(crawl.link.close)
        looker = _Looker(call, crawls)
        await looker.reach()
        if call.options.origins == [_REQUEUE]:
            return await looker.requeue()
        if not call.options.watch:
            return await looker.once()
        while True:
            await looker.again()
            await asyncio.sleep(call.options.every)


class _Looker:
    """Reads the state of some crawls, and shows it."""

    def __init__(self, call: Call, crawls: Sequence[Crawl]) -> None:
        self._call = call
        self._options = call.options
        self._crawls = crawls
        self._before: dict[Crawl, Totals] = {}

    async def reach(self) -> None:
        """Read the counts for the first time.

        Raises:
            LinkDownError: Redis cannot be reached.
        """
        patience = time.monotonic() + _PATIENCE_SECONDS
        while len(self._before) < len(self._crawls):
            try:
                for crawl in self._crawls:
                    self._before[crawl] = await looking.totals(crawl.link, crawl.prefix)
            except LinkDownError:  # noqa: PERF203 - at most one second
                if time.monotonic() > patience:
                    raise
                await asyncio.sleep(_RETRY_SECONDS)

    async def once(self) -> int:
        """Show the state."""
        is_there = any(totals.is_there for totals in self._before.values())
        if is_there and not self._options.origins:
            await asyncio.sleep(self._options.every)
        lines, complaints = await self._look()
        self._write(lines, complaints)
        return FOUND if complaints else OK

    async def requeue(self) -> int:
        """Put dead letters back."""
        there = [crawl for crawl in self._crawls if self._before[crawl].is_there]
        for crawl in there:
            count = self._before[crawl].letters
            only = self._options.only_letters
            if only and self._before[crawl].has_work:
                raise CommandError(
                    f"--only-letters: {crawl.name} has workers or waiting requests; leave it out"
                )
            back = await looking.requeue(crawl.link, crawl.prefix, count, only_letters=only)
            stay = f"; {count - back:,} are no whole requests and stay" if count > back else ""
            row = {"crawl": crawl.name, "requeued": back, "kept": count - back}
            words = f"{_cut_safe(crawl.name)}: {count_of(back, 'dead letter')} put back{stay}"
            self._call.line(json.dumps(row) if self._call.is_json else words)
        if not there:
            self._call.terminal.complain(self._nothing())
        return OK if there else FOUND

    async def again(self) -> None:
        """Show the state again, in place of the last one."""
        try:
            lines, complaints = await self._look()
        except LinkDownError as error:
            words = f"{str(error).rstrip('.')}. It does not answer; trying again"
            lines, complaints = [], [words]
        if self._call.is_json:
            self._write(lines, complaints)
            self._call.terminal.flush()
        else:
            self._call.terminal.screen([*lines, *complaints, ""])

    def _write(self, lines: Iterable[str], complaints: Iterable[str]) -> None:
        self._call.lines(lines)
        for words in complaints:
            self._call.terminal.complain(words)

    async def _look(self) -> tuple[list[str], list[str]]:
        """The state as lines of output, and complaints about missing crawls and origins."""
        counted = [await self._counted(crawl) for crawl in self._crawls]
        views = [view for view in counted if view.totals.is_there]
        if not views:
            return [], [self._nothing()]
        origins, is_json = self._options.origins, self._call.is_json
        for view in views:
            if origins:
                await self._look_up(view)
            elif is_json or len(views) == 1:
                await self._look_closer(view)
        lines: Iterable[str]
        if is_json:
            rows = (lane_dicts(view) if origins else [as_dict(view)] for view in views)
            lines = map(json.dumps, chain.from_iterable(rows))
        elif origins:
            lines = chain.from_iterable(lane_words(view, self._call) for view in views)
        elif len(views) == 1:
            lines = words_of(views[0], self._call)
        else:
            lines = table_of(views, self._call)
        return list(lines), [
            f"nothing is queued or known for {one}"
            for one in origins
            if not any(view.lanes.get(one) for view in views)
        ]

    def _nothing(self) -> str:
        addresses = sorted({crawl.link.address for crawl in self._crawls})
        names = ", ".join(safe(crawl.name) for crawl in self._crawls[:_NAMES])
        more = len(self._crawls) - _NAMES
        others = f" and {more:,} more" if more > 0 else ""
        return f"Redis at {safe(', '.join(addresses))} has no crawl of {names}{others}"

    async def _counted(self, crawl: Crawl) -> View:
        now, before = await looking.totals(crawl.link, crawl.prefix), self._before[crawl]
        self._before[crawl] = now
        seconds = now.now - before.now if before.epoch == now.epoch else 0.0
        rate = None
        if self._options.every and seconds >= _RATE_SECONDS:
            rate = max(0.0, (now.done - before.done) / seconds)
        return View(crawl, now, rate, seconds)

    async def _look_up(self, view: View) -> None:
        link, prefix = view.crawl.link, view.crawl.prefix
        for origin in self._options.origins:
            view.lanes[origin] = await looking.lane(link, prefix, origin)

    async def _look_closer(self, view: View) -> None:
        link, prefix = view.crawl.link, view.crawl.prefix
        most = _LANES_WATCHED if self._options.watch else looking.LANES
        view.places = await looking.places(link, prefix, view.totals.lanes, most)
        view.workers = await looking.workers(link, prefix)
        view.letters = await looking.letters(link, prefix, self._options.dead)


_COLUMNS = 80
_WORKERS_SHOWN = 20
_NAME_CELLS = 12  # the least width of a worker's or crawl's name
_TEXT_CELLS = 500  # of a dead letter
_MINUTE_SECONDS = 60
_SMALL_RATE = 100

# The meaning of each place, and how it ends.
_STATES = {
    "idle": "idle: nothing is queued",
    "unasked": "waits: no worker has read its robots.txt yet",
    "asked": "waits: a worker is reading its robots.txt",
    "held": "held: its robots.txt is unreachable",
    "shut": "held: its visit time has not begun",
    "resting": "resting: it answered 429 or 503",
    "due": "due: a request may be sent now",
    "later": "due later: a request may be sent after its delay",
    "closed": "closed: a request is in flight, and a delay follows",
    "full": "full: its limit of requests is in flight",
    "unknown": "unknown: written by other software",
}
_COUNTED = ("closed", "full", "asked", "held", "shut", "resting", "idle", "unknown")
_JSON_PLACES = {"held": "held_unreachable", "shut": "held_visit_time"}  # others keep their names
_ENDS = {
    "asked": "another worker tries in",
    "held": "next try in",
    "shut": "begins in",
    "resting": "one request goes first in",
    "later": "in",
}


@dataclass(frozen=True)
class Crawl:
    """A crawl that may be in Redis.

    Attributes:
        name: the spider's.
        prefix: of its keys.
        link: to its Redis.
    """

    name: str
    prefix: str
    link: Link


@dataclass
class View:
    """The state of a crawl at one moment.

    Attributes:
        crawl: the crawl.
        totals: the counts.
        rate: pages per second; None if unknown.
        over_seconds: the time over which the rate was measured.
        places: the numbers of lanes by place.
        workers: its workers.
        letters: its last dead letters.
        lanes: the state of the named origins; None if unknown.
    """

    crawl: Crawl
    totals: Totals
    rate: float | None
    over_seconds: float
    places: Places = field(default_factory=Places)
    workers: Sequence[Worker] = ()
    letters: Sequence[Letter] = ()
    lanes: dict[str, Lane | None] = field(default_factory=dict)


def words_of(view: View, call: Call) -> Iterator[str]:
    """Describe one crawl, line by line."""
    totals = view.totals
    began = "-" if totals.epoch else "ended"
    if totals.began_at is not None:
        began = f"begun {_ago(totals.now - totals.began_at)}"
    title = f"{_cut_safe(view.crawl.name)} at {_cut_safe(view.crawl.link.address)}, {began}"
    yield call.paint(cut(title, _COLUMNS), "bold")
    for label, value, remark in _facts(view):
        yield f"  {label:<22}{value:>13}  {remark}".rstrip()
    if view.workers:
        yield ""
        yield from _table(_worker_rows(view.workers), call)
        if more := totals.workers + totals.dying - len(view.workers[:_WORKERS_SHOWN]):
            yield f"... and {more:,} more"
    yield from _letter_words(view, call)


def _facts(view: View) -> Iterator[tuple[str, str, str]]:
    totals, counts = view.totals, view.places.counts
    yield "queued", f"{totals.queued:,}", _idle_words(totals)
    yield "in flight", f"{totals.flying:,}", ""
    yield "done", f"{totals.done:,}", ""
    over = f"over the last {_for(view.over_seconds)}" if view.rate is not None else ""
    yield "pages/s", _rate(view.rate), over
    kept = "--dead shows them" if totals.letters and not view.letters else ""
    yield "dead letters", f"{totals.letters:,}", kept
    if totals.aside:
        yield "  set aside", f"{totals.aside:,}", "invalid entries"
    if totals.seeds:
        yield "start URLs", f"{totals.seeds:,}", "returned by workers"
    about = "the counts marked ~ are estimates" if view.places.is_estimate else ""
    yield "origins", f"{totals.lanes:,}", about
    mark = "~" if view.places.is_estimate else ""
    first = "" if totals.next_at is None else f"the first in {_for(totals.next_at - totals.now)}"
    yield "  due", f"{totals.due:,}", ""
    yield "  due later", f"{totals.later:,}", first
    asked = counts.get("asked", 0)
    for name, number, remark in (
        ("closed", counts.get("closed", 0), "in flight, then a delay follows"),
        ("full", counts.get("full", 0), "at their limit of requests in flight"),
        ("robots.txt awaited", totals.unasked + asked, f"{mark}{asked:,} are being read"),
        ("unreachable, held", counts.get("held", 0), "tried again after a while"),
        ("visit time, held", counts.get("shut", 0), "until it begins"),
        ("resting", counts.get("resting", 0), "they answered 429 or 503"),
        ("idle", counts.get("idle", 0), "nothing is queued"),
        ("unknown", counts.get("unknown", 0), "written by other software"),
    ):
        if number or name not in {"resting", "unknown"}:
            yield f"  {name}", f"{mark}{number:,}", remark if number else ""
    yield "workers", f"{totals.alive:,}", _worker_remark(totals)
    if totals.taken_over:
        yield "  taken over", f"{totals.taken_over:,}", "since the crawl began"


def _idle_words(totals: Totals) -> str:
    if totals.is_clearing:
        return "done: a worker will delete the crawl"
    if totals.full_since is not None:
        return "Redis has no memory left: requests wait in workers"
    if totals.idle_since is None:
        return ""
    return f"nothing is left to do since {_for(totals.now - totals.idle_since)}"


def _worker_remark(totals: Totals) -> str:
    late = totals.workers - totals.alive + totals.dying
    if late:
        return f"{count_of(late, 'other')} not heard from: to be taken over"
    if not totals.alive and totals.epoch:
        return "no worker is running; queued requests are kept"
    return ""


def _worker_rows(workers: Sequence[Worker]) -> list[list[str]]:
    rows = [
        [
            _cut_safe(worker.name),
            _lease(worker),
            f"{worker.flying_count:,}",
            f"{worker.done_count:,}",
            _rate(_mean(worker)),
            "-" if worker.age_seconds is None else span(worker.age_seconds),
            "starting" if worker.is_starting else "",
        ]
        for worker in workers[:_WORKERS_SHOWN]
    ]
    return [["worker", "lease", "in flight", "done", "pages/s", "age", ""], *rows]


def _table(rows: list[list[str]], call: Call) -> Iterator[str]:
    """Rows as lines, the first as the head; the first cell of each is cut, so that they fit."""
    others = max(map(len, in_columns(row[1:] for row in rows))) + 2
    cells = max(_NAME_CELLS, _COLUMNS - others)
    head, *lines = in_columns([cut(row[0], cells), *row[1:]] for row in rows)
    yield call.paint(head, "bold")
    yield from lines


def _lease(worker: Worker) -> str:
    if worker.lease_seconds is None:
        return "taken over"
    if worker.lease_seconds < 0:
        return "over"
    return _for(worker.lease_seconds)


def _mean(worker: Worker) -> float | None:
    age = worker.age_seconds
    return worker.done_count / age if age is not None and age >= 1 else None


def _letter_words(view: View, call: Call) -> Iterator[str]:
    if not view.letters:
        return
    yield ""
    yield call.paint("dead letters, the newest first", "bold")
    for letter in view.letters:
        yield f"{_ago(view.totals.now - letter.at)}: {_cut_safe(letter.url or letter.lane) or '-'}"
        yield f"  {_cut_safe(letter.reason)}"


def table_of(views: Sequence[View], call: Call) -> Iterator[str]:
    """Show several crawls, one line each."""
    rows = [
        ["crawl", "workers", "queued", "in flight", "done", "pages/s", "origins", "due", "dead"]
    ]
    for view in views:
        totals = view.totals
        numbers = (totals.alive, totals.queued, totals.flying, totals.done)
        rows.append(
            [
                _cut_safe(view.crawl.name),
                *(f"{number:,}" for number in numbers),
                _rate(view.rate),
                *(f"{number:,}" for number in (totals.lanes, totals.due, totals.letters)),
            ]
        )
    return _table(rows, call)


def lane_words(view: View, call: Call) -> Iterator[str]:
    """Describe the named origins in one crawl."""
    for origin, lane in view.lanes.items():
        if lane is None:
            continue
        yield call.paint(f"{_cut_safe(origin)} in {_cut_safe(view.crawl.name)}", "bold")
        for label, words in _lane_facts(lane):
            yield f"  {label:<12}{words}"


def _lane_facts(lane: Lane) -> Iterator[tuple[str, str]]:
    yield "state", _STATES[lane.place]
    if lane.until is not None and lane.place in _ENDS:
        yield "", f"{_ENDS[lane.place]} {_for(lane.until - lane.now)}"
    if lane.closed_by:
        holder = _cut_safe(lane.holder) or "no worker that is listed"
        yield "", f"request {_cut_safe(lane.closed_by)}, with {holder}"
    yield "queued", f"{lane.queued:,}"
    for priority, count in sorted(lane.by_priority.items(), reverse=True):
        if len(lane.by_priority) > 1 or priority:
            words = f"of priority {priority}" if priority > -PRIORITY else "to be tried last"
            yield "", f"{count:,} {words}"
    most = f", of {lane.at_a_time:,} at most" if lane.at_a_time else ""
    yield "in flight", f" {lane.out:,}{most}"
    yield "delay", f"{lane.delay_seconds:g} s, over all workers" if lane.delay_seconds else "none"
    if lane.known_until is not None:
        yield "known for", f"{_for(lane.known_until - lane.now)} more; then a worker reads it again"


def as_dict(view: View) -> dict[str, Any]:
    """A crawl as JSON; unknown values are null."""
    totals, counts = view.totals, view.places.counts
    found: dict[str, Any] = {
        "crawl": view.crawl.name,
        "prefix": view.crawl.prefix,
        "redis": view.crawl.link.address,
        "at": totals.now,
        "began_at": totals.began_at,
        "idle_since": totals.idle_since,
        "is_clearing": totals.is_clearing,
        "full_since": totals.full_since,
        "requests": {
            "queued": totals.queued,
            "in_flight": totals.flying,
            "done": totals.done,
            "seen": totals.seen,
            "set_aside": totals.aside,
            "dead_letters": totals.letters,
            "start_urls_given_back": totals.seeds,
        },
        "pages_per_second": view.rate,
        "over_seconds": view.over_seconds,
        "origins": {
            "known": totals.lanes,
            "due": totals.due,
            "due_later": totals.later,
            "next_due_at": totals.next_at,
            "unasked": totals.unasked,
            **{_JSON_PLACES.get(one, one): counts.get(one, 0) for one in _COUNTED},
            "is_estimate": view.places.is_estimate,
        },
        "worker_count": totals.alive,
        "workers_taken_over": totals.taken_over,
        "workers": [
            {
                "name": _text(worker.name),
                "host": _text(worker.host),
                "lease_seconds": worker.lease_seconds,
                "in_flight": worker.flying_count,
                "done": worker.done_count,
                "is_starting": worker.is_starting,
                "age_seconds": worker.age_seconds,
                "pages_per_second": _mean(worker),
            }
            for worker in view.workers
        ],
    }
    if view.letters:
        found["dead_letters"] = [
            {
                "origin": _text(letter.lane),
                "url": _text(letter.url),
                "reason": _text(letter.reason),
                "at": letter.at,
            }
            for letter in view.letters
        ]
    return found


def lane_dicts(view: View) -> Iterator[dict[str, Any]]:
    """The named origins of a crawl as JSON."""
    for origin, lane in view.lanes.items():
        if lane is not None:
            yield {
                "crawl": view.crawl.name,
                "origin": origin,
                "at": lane.now,
                "state": lane.place,
                "until": lane.until,
                "queued": lane.queued,
                "queued_by_priority": {str(p): n for p, n in lane.by_priority.items()},
                "in_flight": lane.out,
                "in_flight_at_most": lane.at_a_time or None,
                "delay_seconds": lane.delay_seconds,
                "known_until": lane.known_until,
                "closed_by": _text(lane.closed_by) or None,
                "worker": _text(lane.holder) or None,
            }


def _cut_safe(value: str | bytes) -> str:
    """A value from Redis, cut and safe for a terminal."""
    return cut(safe(value[:_TEXT_CELLS]), _TEXT_CELLS)


def _text(octets: bytes) -> str:
    return octets.decode("utf-8", "backslashreplace")


def _rate(rate: float | None) -> str:
    if rate is None:
        return "-"
    return f"{rate:,.1f}" if rate < _SMALL_RATE else f"{rate:,.0f}"


def _for(seconds: float) -> str:
    """A length of time; below a minute, to a tenth of a second."""
    return f"{max(0.0, seconds):.1f} s" if seconds < _MINUTE_SECONDS else span(seconds)


def _ago(seconds: float) -> str:
    return f"{span(max(0.0, seconds))} ago"

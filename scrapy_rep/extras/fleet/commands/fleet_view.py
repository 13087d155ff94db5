"""Shows the state of crawls that workers share: totals, workers, dead letters, and origins."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from scrapy_rep.commands.running import Call
from scrapy_rep.commands.terminal import cut, in_columns, safe
from scrapy_rep.extras.fleet import looking
from scrapy_rep.extras.fleet.looking import LaneState, Letter, Totals, Worker
from scrapy_rep.extras.fleet.request_codec import PRIORITY
from scrapy_rep.protocol.units import age_words, counted

from .fleet_crawls import FleetCrawl

_COLUMNS = 80
_WORKERS_SHOWN = 20
_NAME_CELLS = 12  # the least width of a worker's or crawl's name
_TEXT_CELLS = 500  # of a text from Redis
_MINUTE_SECONDS = 60
_RATE_SECONDS = 0.05  # the least time to measure pages per second

# The meaning of each state of an origin, and of its end.
_STATES = {
    "idle": ("idle: nothing is queued", ""),
    "unchecked": ("waits: no worker has read its robots.txt yet", ""),
    "checking": ("waits: a worker is reading its robots.txt", "another worker tries in"),
    "held": ("held: its robots.txt is unreachable", "next try in"),
    "shut": ("held: its visit time has not begun", "begins in"),
    "resting": ("resting: it answered 429 or 503", "one request goes first in"),
    "due": ("due: a request may be sent now", ""),
    "later": ("due later: a request may be sent after its delay", "in"),
    "closed": ("closed: a request is in flight, and a delay follows", ""),
    "full": ("full: its limit of requests is in flight", ""),
    "dropped": ("dropped: an operator ended all requests to it", ""),
    "unknown": ("unknown: written by other software", ""),
}
# Counts in order: the label, the name, and whether 0 is shown.
_FACTS = (
    ("queued", "queued", True),
    ("in flight", "in_flight", True),
    ("done", "done", True),
    ("pages/s", "rate", True),
    ("lost", "lost", False),
    ("fingerprints lost", "filter_lost", False),
    ("dead letters", "dead_letters", True),
    ("  set aside", "set_aside", False),
    ("start URLs", "start_urls_given_back", False),
    ("origins", "origins", True),
    ("  due", "due", True),
    ("  due later", "due_later", True),
    ("  robots.txt unread", "unchecked", True),
    ("  waiting", "waiting", True),
    ("  dropped", "origins_dropped", False),
    ("workers", "workers", True),
    ("  taken over", "workers_taken_over", False),
)
_HEAD = ("crawl", "workers", "queued", "in flight", "done", "pages/s", "origins", "due", "dead")
_ORDERS = {
    "pause": "paused by an operator: 'scrapy rep fleet resume' goes on",
    "stop": "stopped by an operator; the next run goes on",
}


@dataclass(frozen=True)
class View:
    """The state of a crawl at one moment.

    Attributes:
        crawl: the crawl.
        totals: the counts.
        rate: pages per second; None if unknown.
        workers: its workers.
        letters: its last dead letters.
        lanes: the state of the named origins; None if unknown.
    """

    crawl: FleetCrawl
    totals: Totals
    rate: float | None
    workers: Sequence[Worker]
    letters: Sequence[Letter]
    lanes: Mapping[str, LaneState | None]

    @classmethod
    async def of(
        cls,
        crawl: FleetCrawl,
        before: Totals,
        *,
        origins: Sequence[str],
        letters: int,
        closer: bool,
    ) -> View:
        """Read the state; `closer` reads workers and dead letters, too.

        Raises:
            StoreError: Redis can't be reached, or refuses.
        """
        link, prefix = crawl.link, crawl.prefix
        now = await looking.totals(link, prefix)
        seconds = now.at - before.at if now.epoch == before.epoch else 0.0
        done = now.counts["done"] - before.counts["done"]
        return cls(
            crawl,
            now,
            max(0.0, done / seconds) if seconds >= _RATE_SECONDS else None,
            await looking.workers(link, prefix) if closer else (),
            await looking.letters(link, prefix, letters) if closer else (),
            {origin: await looking.lane(link, prefix, origin) for origin in origins},
        )

    def dicts(self) -> Iterator[dict[str, Any]]:
        """The crawl as JSON, or the named origins in it; unknown values are null."""
        for origin, lane in self.lanes.items():
            if lane is not None:
                yield {"crawl": self.crawl.name, "origin": origin, **asdict(lane)}
        if not self.lanes:
            yield {
                "crawl": self.crawl.name,
                "prefix": self.crawl.prefix,
                "redis": self.crawl.link.address,
                **asdict(self.totals),
                "pages_per_second": self.rate,
                "workers": list(map(asdict, self.workers)),
                "dead_letters": list(map(asdict, self.letters)),
            }

    def words(self, call: Call) -> Iterator[str]:
        """The crawl, or the named origins in it, line by line."""
        for origin, lane in self.lanes.items():
            if lane is not None:
                yield call.paint(f"{_shown(origin)} in {_shown(self.crawl.name)}", "bold")
                yield from (f"  {label:<12}{words}" for label, words in _lane_facts(lane))
        if self.lanes:
            return
        began_at, at, numbers = self.totals.began_at, self.totals.at, self.totals.counts
        began = "ended" if began_at is None else f"begun {_ago(at - began_at)}"
        title = f"{_shown(self.crawl.name)} at {_shown(self.crawl.link.address)}, {began}"
        yield call.paint(cut(title, _COLUMNS), "bold")
        remarks = self._remarks()
        for label, name, is_always in _FACTS:
            value = _rate(self.rate) if name == "rate" else f"{numbers[name]:,}"
            if is_always or value != "0":
                yield f"  {label:<22}{value:>13}  {remarks.get(name, '')}".rstrip()
        yield from _worker_words(self.workers, numbers["workers"] + numbers["workers_late"], call)
        if self.letters:
            yield ""
            yield call.paint("dead letters, the newest first", "bold")
        for letter in self.letters:
            yield f"{_ago(at - letter.at)}: {_shown(letter.url or letter.origin) or '-'}"
            yield f"  {_shown(letter.reason)}"

    def _remarks(self) -> dict[str, str]:
        """Words about counts, by their names."""
        totals, numbers = self.totals, self.totals.counts
        state = _ORDERS.get(totals.order, "")
        if totals.is_clearing:
            state = "the crawl is being deleted"
        elif totals.is_counting:
            state = f"being counted: {numbers['owed']:,} wait or are in flight"
        elif totals.full_since is not None:
            state = "Redis has no memory left: requests wait in workers"
        elif totals.idle_since is not None:
            state = f"nothing has been left to do for {_for(totals.at - totals.idle_since)}"
        late, next_at = numbers["workers_late"], totals.next_due_at
        running = "" if numbers["workers"] else "no worker is running; queued requests are kept"
        dropped = counted(numbers["dropped"], "request")
        return {
            "queued": state,
            "lost": "in Redis: the crawl is incomplete",
            "filter_lost": "pages may be fetched again",
            "dead_letters": "--dead shows them" if numbers["dead_letters"] else "",
            "set_aside": "invalid entries",
            "start_urls_given_back": "returned by workers",
            "due_later": "" if next_at is None else f"the first in {_for(next_at - totals.at)}",
            "waiting": "read by a worker now, held, or resting" if numbers["waiting"] else "",
            "origins_dropped": f"by an operator, with {dropped}",
            "workers": f"{counted(late, 'other')} not heard from: to be taken over"
            if late
            else running,
        }


def table_of(views: Sequence[View], call: Call) -> Iterator[str]:
    """Show several crawls, one line each."""
    names = ("workers", "queued", "in_flight", "done", "rate", "origins", "due", "dead_letters")
    rows = [
        [
            _shown(view.crawl.name),
            *(_rate(view.rate) if n == "rate" else f"{view.totals.counts[n]:,}" for n in names),
        ]
        for view in views
    ]
    return _table([_HEAD, *rows], call)


def _worker_words(workers: Sequence[Worker], count: int, call: Call) -> Iterator[str]:
    if not workers:
        return
    rows = [
        [
            _shown(worker.name),
            _lease(worker.lease_seconds),
            f"{worker.in_flight:,}",
            f"{worker.done:,}",
            "-" if worker.age_seconds is None else age_words(worker.age_seconds),
            "starting" if worker.is_starting else "",
        ]
        for worker in workers[:_WORKERS_SHOWN]
    ]
    yield ""
    yield from _table([("worker", "lease", "in flight", "done", "age", ""), *rows], call)
    if (more := count - len(rows)) > 0:
        yield f"... and {more:,} more"


def _lease(seconds: float | None) -> str:
    if seconds is None:
        return "taken over"
    return "over" if seconds < 0 else _for(seconds)


def _table(rows: Sequence[Sequence[str]], call: Call) -> Iterator[str]:
    """Rows as lines, the first as the head; the first cell of each is cut, so that they fit."""
    others = max(map(len, in_columns(row[1:] for row in rows))) + 2
    cells = max(_NAME_CELLS, _COLUMNS - others)
    head, *lines = in_columns([cut(row[0], cells), *row[1:]] for row in rows)
    yield call.paint(head, "bold")
    yield from lines


def _lane_facts(lane: LaneState) -> Iterator[tuple[str, str]]:
    state, end = _STATES[lane.state]
    yield "state", state
    if lane.why:
        yield "", f"because: {_shown(lane.why)}"
    if lane.until is not None and end:
        yield "", f"{end} {_for(lane.until - lane.at)}"
    if lane.closed_by:
        holder = _shown(lane.worker) or "no worker that is listed"
        yield "", f"request {_shown(lane.closed_by)}, with {holder}"
    yield "queued", f"{lane.queued:,}"
    for priority, count in sorted(lane.queued_by_priority.items(), reverse=True):
        if len(lane.queued_by_priority) > 1 or priority:
            words = f"of priority {priority}" if priority > -PRIORITY else "to be tried last"
            yield "", f"{count:,} {words}"
    most = f", of {lane.in_flight_at_most:,} at most" if lane.in_flight_at_most else ""
    yield "in flight", f"{lane.in_flight:,}{most}"
    yield "delay", f"{lane.delay_seconds:g} s, over all workers" if lane.delay_seconds else "none"
    if lane.known_until is not None:
        yield "known for", f"{_for(lane.known_until - lane.at)} more; then a worker reads it again"


def _shown(text: str) -> str:
    """A text from Redis, cut and safe for a terminal."""
    return cut(safe(text[:_TEXT_CELLS]), _TEXT_CELLS)


def _rate(rate: float | None) -> str:
    return "-" if rate is None else f"{rate:,.1f}"


def _for(seconds: float) -> str:
    """A length of time; below a minute, to a tenth of a second."""
    is_long = seconds >= _MINUTE_SECONDS
    return age_words(seconds, is_long=True) if is_long else f"{max(0.0, seconds):.1f} s"


def _ago(seconds: float) -> str:
    return f"{age_words(seconds, is_long=True)} ago"

"""How things stand with a fleet: in words for a terminal of 80 columns, and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from scrapy_rep.fleet.looking import Places
from scrapy_rep.protocol.verdict import shown

from .entries import span
from .terminal import count_of, cut, in_columns

if TYPE_CHECKING:
    from scrapy_rep.fleet.looking import Lane, Letter, Totals, Worker

    from .crawls import Crawl
    from .terminal import Terminal

_COLUMNS = 80
_WORKERS_SHOWN = 20
_NAME_CELLS = 12  # at least, of a worker or a crawl
_TEXT_CELLS = 500  # of what dead letters hold
_MINUTE_SECONDS = 60
_SMALL_RATE = 100

# What each place means, and what ends it.
_STATES = {
    "idle": "idle: nothing is queued",
    "unasked": "waits: no worker was asked yet what its robots.txt says",
    "asked": "waits: a worker was asked what its robots.txt says",
    "held": "held: its robots.txt is unreachable",
    "shut": "held: its visit time has not begun",
    "due": "due: a request may be sent now",
    "later": "due later: a request may be sent after its delay",
    "closed": "closed: a request is on its way, and a delay follows it",
    "full": "full: as many requests are on their way as it takes",
    "unknown": "unknown: nobody of ours has written what is there",
}
_ENDS = {
    "asked": "another is asked in",
    "held": "asked again in",
    "shut": "begins in",
    "later": "in",
}


@dataclass(frozen=True, slots=True)
class View:
    """One crawl at one moment.

    Attributes:
        crawl: which.
        address: where its Redis is.
        totals: what is counted.
        rate: pages per second; None if it is not known yet.
        over_seconds: the time over which that was measured.
        places: in which places its lanes are.
        workers: its workers.
        letters: its last dead letters.
        lanes: what is known of the origins that were named; None if nothing is.
    """

    crawl: Crawl
    address: str
    totals: Totals
    rate: float | None = None
    over_seconds: float = 0.0
    places: Places = field(default_factory=Places)
    workers: Sequence[Worker] = ()
    letters: Sequence[Letter] = ()
    lanes: dict[str, Lane | None] = field(default_factory=dict)


def words_of(view: View, terminal: Terminal) -> Iterator[str]:
    """One crawl, line by line."""
    totals = view.totals
    began = "-" if totals.epoch else "ended"
    if totals.began_at is not None:
        began = f"begun {_ago(totals.now - totals.began_at)}"
    title = cut(f"{safe(view.crawl.name)} at {safe(view.address)}, {began}", _COLUMNS)
    yield terminal.paint(title, "bold")
    for label, value, remark in _facts(view):
        yield f"  {label:<22}{value:>13}  {remark}".rstrip()
    if view.workers:
        yield ""
        head, *rows = in_columns(_worker_rows(view.workers))
        yield terminal.paint(head, "bold")
        yield from rows
        if more := totals.workers + totals.dying - len(rows):
            yield f"... and {more:,} more"
    yield from _letter_words(view, terminal)


def _facts(view: View) -> Iterator[tuple[str, str, str]]:
    totals, counts = view.totals, view.places.counts
    yield "queued", f"{totals.queued:,}", _idle_words(totals)
    yield "in flight", f"{totals.flying:,}", ""
    yield "done", f"{totals.done:,}", ""
    over = f"over the last {_for(view.over_seconds)}" if view.rate is not None else ""
    yield "pages/s", _rate(view.rate), over
    kept = "shown by --dead" if totals.letters and not view.letters else ""
    yield "dead letters", f"{totals.letters:,}", kept
    if totals.aside:
        yield "  set aside", f"{totals.aside:,}", "entries that break a rule"
    if totals.seeds:
        yield "start URLs", f"{totals.seeds:,}", "given back by workers"
    about = "the counts marked ~ are estimates" if view.places.is_estimate else ""
    yield "origins", f"{totals.lanes:,}", about
    mark = "~" if view.places.is_estimate else ""
    first = "" if totals.next_at is None else f"the first in {_for(totals.next_at - totals.now)}"
    yield "  due", f"{totals.due:,}", ""
    yield "  due later", f"{totals.later:,}", first
    asked = counts.get("asked", 0)
    for name, number, remark in (
        ("closed", counts.get("closed", 0), "a request is out, and a delay follows"),
        ("full", counts.get("full", 0), "as many requests are out as they take"),
        ("robots.txt awaited", totals.unasked + asked, f"{mark}{asked:,} are being asked"),
        ("unreachable, held", counts.get("held", 0), "asked again after a while"),
        ("visit time, held", counts.get("shut", 0), "until it begins"),
        ("idle", counts.get("idle", 0), "nothing is queued"),
        ("unknown", counts.get("unknown", 0), "nobody of ours has written that"),
    ):
        if number or name != "unknown":
            yield f"  {name}", f"{mark}{number:,}", remark if number else ""
    yield "workers", f"{totals.alive:,}", _worker_remark(totals)
    if totals.taken_over:
        yield "  taken over", f"{totals.taken_over:,}", "since the crawl began"


def _idle_words(totals: Totals) -> str:
    if totals.is_clearing:
        return "a worker deletes all this"
    if totals.idle_since is None:
        return ""
    return f"nothing is left to do since {_for(totals.now - totals.idle_since)}"


def _worker_remark(totals: Totals) -> str:
    late = totals.workers - totals.alive + totals.dying
    if late:
        return f"{count_of(late, 'other')} not heard of: to be taken over"
    if not totals.alive and totals.epoch:
        return "nobody crawls; what is queued is kept"
    return ""


def _worker_rows(workers: Sequence[Worker]) -> list[list[str]]:
    rows = [
        [
            safe(worker.name),
            _lease(worker),
            f"{worker.flying_count:,}",
            f"{worker.done_count:,}",
            _rate(_mean(worker)),
            "-" if worker.age_seconds is None else span(worker.age_seconds),
            "starting" if worker.is_starting else "",
        ]
        for worker in workers[:_WORKERS_SHOWN]
    ]
    rows.insert(0, ["worker", "lease", "in flight", "done", "pages/s", "age", ""])
    return _narrow(rows)


def _narrow(rows: list[list[str]]) -> list[list[str]]:
    """Rows of which the first cell is cut, so that they fit."""
    others = max(len("  ".join(row[1:])) for row in _padded(rows)) + 2
    cells = max(_NAME_CELLS, _COLUMNS - others)
    return [[cut(row[0], cells), *row[1:]] for row in rows]


def _padded(rows: list[list[str]]) -> list[list[str]]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [[c.ljust(w) for c, w in zip(row, widths, strict=True)] for row in rows]


def _lease(worker: Worker) -> str:
    if worker.lease_seconds is None:
        return "taken over"
    if worker.lease_seconds < 0:
        return "over"
    return _for(worker.lease_seconds)


def _mean(worker: Worker) -> float | None:
    age = worker.age_seconds
    return worker.done_count / age if age is not None and age >= 1 else None


def _letter_words(view: View, terminal: Terminal) -> Iterator[str]:
    if not view.letters:
        return
    yield ""
    yield terminal.paint("dead letters, the newest first", "bold")
    for letter in view.letters:
        yield f"{_ago(view.totals.now - letter.at)}: {safe(letter.url or letter.lane) or '-'}"
        yield f"  {safe(letter.reason)}"


def table_of(views: Sequence[View], terminal: Terminal) -> Iterator[str]:
    """Several crawls, a line for each."""
    rows = [
        ["crawl", "workers", "queued", "in flight", "done", "pages/s", "origins", "due", "dead"]
    ]
    for view in views:
        totals = view.totals
        numbers = (totals.alive, totals.queued, totals.flying, totals.done)
        rows.append(
            [
                safe(view.crawl.name),
                *(f"{number:,}" for number in numbers),
                _rate(view.rate),
                *(f"{number:,}" for number in (totals.lanes, totals.due, totals.letters)),
            ]
        )
    head, *lines = in_columns(_narrow(rows))
    yield terminal.paint(head, "bold")
    yield from lines


def lane_words(view: View, terminal: Terminal) -> Iterator[str]:
    """The origins that were named, in one crawl."""
    for origin, lane in view.lanes.items():
        if lane is None:
            continue
        yield terminal.paint(f"{safe(origin)} in {safe(view.crawl.name)}", "bold")
        for label, words in _lane_facts(lane):
            yield f"  {label:<12}{words}"


def _lane_facts(lane: Lane) -> Iterator[tuple[str, str]]:
    yield "state", _STATES[lane.place]
    if lane.until is not None and lane.place in _ENDS:
        yield "", f"{_ENDS[lane.place]} {_for(lane.until - lane.now)}"
    if lane.closed_by:
        holder = safe(lane.holder) or "no worker that is listed"
        yield "", f"request {safe(lane.closed_by)}, with {holder}"
    yield "queued", f"{lane.queued:,}"
    for priority, count in sorted(lane.by_priority.items(), reverse=True):
        if len(lane.by_priority) > 1 or priority:
            yield "", f"{count:,} of priority {priority}"
    most = f", of {lane.at_a_time:,} at most" if lane.at_a_time else ""
    yield "on their way", f" {lane.out:,}{most}"
    yield "delay", f"{lane.delay_seconds:g} s, over all workers" if lane.delay_seconds else "none"
    if lane.known_until is not None:
        yield "known for", f"{_for(lane.known_until - lane.now)} more; then a worker is asked again"


def as_dict(view: View) -> dict[str, Any]:
    """One crawl as JSON; what is not known is null."""
    totals = view.totals
    found: dict[str, Any] = {
        "crawl": view.crawl.name,
        "prefix": view.crawl.prefix,
        "redis": view.address,
        "at": totals.now,
        "began_at": totals.began_at,
        "idle_since": totals.idle_since,
        "is_clearing": totals.is_clearing,
        "requests": _requests_dict(totals),
        "pages_per_second": view.rate,
        "over_seconds": view.over_seconds,
        "origins": _origins_dict(view),
        "worker_count": totals.alive,
        "workers_taken_over": totals.taken_over,
        "workers": [_worker_dict(worker) for worker in view.workers],
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


def _requests_dict(totals: Totals) -> dict[str, int]:
    return {
        "queued": totals.queued,
        "in_flight": totals.flying,
        "done": totals.done,
        "seen": totals.seen,
        "set_aside": totals.aside,
        "dead_letters": totals.letters,
        "start_urls_given_back": totals.seeds,
    }


def _origins_dict(view: View) -> dict[str, Any]:
    totals, counts = view.totals, view.places.counts
    return {
        "known": totals.lanes,
        "due": totals.due,
        "due_later": totals.later,
        "next_due_at": totals.next_at,
        "closed": counts.get("closed", 0),
        "full": counts.get("full", 0),
        "unasked": totals.unasked,
        "asked": counts.get("asked", 0),
        "held_unreachable": counts.get("held", 0),
        "held_visit_time": counts.get("shut", 0),
        "idle": counts.get("idle", 0),
        "unknown": counts.get("unknown", 0),
        "is_estimate": view.places.is_estimate,
    }


def _worker_dict(worker: Worker) -> dict[str, Any]:
    return {
        "name": _text(worker.name),
        "host": _text(worker.host),
        "lease_seconds": worker.lease_seconds,
        "in_flight": worker.flying_count,
        "done": worker.done_count,
        "is_starting": worker.is_starting,
        "age_seconds": worker.age_seconds,
        "pages_per_second": _mean(worker),
    }


def lane_dicts(view: View) -> Iterator[dict[str, Any]]:
    """The origins that were named, in one crawl, as JSON."""
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


def safe(value: str | bytes) -> str:
    """What somebody wrote, fit for a terminal."""
    octets = value.encode("utf-8", "backslashreplace") if isinstance(value, str) else value
    return cut(shown(octets[:_TEXT_CELLS]), _TEXT_CELLS)


def _text(octets: bytes) -> str:
    return octets.decode("utf-8", "backslashreplace")


def _rate(rate: float | None) -> str:
    if rate is None:
        return "-"
    return f"{rate:,.1f}" if rate < _SMALL_RATE else f"{rate:,.0f}"


def _for(seconds: float) -> str:
    """A length of time; below a minute to a tenth of a second."""
    return f"{max(0.0, seconds):.1f} s" if seconds < _MINUTE_SECONDS else span(seconds)


def _ago(seconds: float) -> str:
    return f"{span(max(0.0, seconds))} ago"

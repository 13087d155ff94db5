"""The paces that origins accept, learned from their answers, for all crawls of one thread.

`protocol/extensions/learned_pace` has the rules. A request takes its turn right before it is sent,
so requests that are dropped on their way, or answered from a cache, cost no turn. Processes share
what they have learned, in a file or in Redis (`pace_book`).
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from math import inf
from pathlib import Path

from scrapy import Request

from scrapy_rep.engine.clock import Monotonic
from scrapy_rep.engine.downloader import EVENT, NEVER
from scrapy_rep.protocol.access.origin import Origin
from scrapy_rep.protocol.extensions.learned_pace import LearnedPace, Learning, Quota, learned
from scrapy_rep.protocol.extensions.rest import PageAnswer, Rest

from .pace_book import PaceBook, SharedPace
from .pace_rows import RowsError

logger = logging.getLogger(__name__)

_MOST_ORIGINS = 10_000
_MOST_AHEAD = 50
_COMING_SECONDS = 0.1  # from the queue to the downloader


@dataclass(slots=True)
class _InLine:
    """A place in the line of an origin.

    Attributes:
        is_over: tells whether the request has ended, or has not come to the downloader.
        since_at: when it got the place.
        has_come: whether it was in the downloader.
    """

    is_over: Callable[[Request], bool]
    since_at: float
    has_come: bool = False


class Paces:
    """The learned paces of the origins that the crawls of a thread visit; monotonic times."""

    def __init__(self, *, learns: bool = True) -> None:
        self._nothing = Learning(forgiven_until=NEVER if learns else EVENT)
        self._known: dict[Origin, Learning] = {}
        self._binding: set[Origin] = set()
        # Requests that the queue has handed out, or that wait, and have not taken a turn.
        self._lines: dict[Origin, dict[Request, _InLine]] = {}
        self._place: Path | str | None = None
        self._book: PaceBook | None = None
        self._alone_until = 0.0
        self._has_warned = False
        self._user_count = 0

    # The book

    def enter(self, place: Path | str | None) -> None:
        """Begin for a crawl; the first one decides on the file, or the URL of Redis, for all."""
        self._user_count += 1
        if self._user_count == 1:
            self._place = place

    def leave(self) -> None:
        """End for a crawl."""
        self._user_count -= 1
        if self._user_count == 0 and self._book is not None:
            self._book.close()
            self._book = None

    def news(self) -> Iterator[tuple[Origin, int, float]]:
        """Read what other processes have learned; yield the rests: origin, status and end (POSIX).

        If there is no file yet, no process has learned anything.
        """
        place = self._place
        if self._book is None and (not place or (isinstance(place, Path) and not place.exists())):
            return
        try:
            book = self._opened()
            for origin, shared in () if book is None else book.news():
                known = self._known.get(origin, self._nothing)
                self._put(origin, known.merged(shared.learning))
                if shared.rest_until > time.time():
                    yield origin, shared.rest_status, shared.rest_until
        except RowsError as error:
            self._go_on_alone(error)

    def note_rest(self, origin: Origin, status: int, until: float) -> None:
        """Tell other processes of a rest until then, POSIX seconds."""
        self._change(origin, lambda known: known, (status, until))

    def _opened(self) -> PaceBook | None:
        if time.monotonic() < self._alone_until:
            return None
        if self._book is None and self._place is not None and self._user_count:
            try:
                self._book = PaceBook(self._place)
            except RowsError as error:
                self._go_on_alone(error)
        return self._book

    def _go_on_alone(self, error: RowsError) -> None:
        self._alone_until = time.monotonic() + error.seconds
        if not error.is_usual and not self._has_warned:
            self._has_warned = True
            place = self._place if isinstance(self._place, Path) else "REP_REDIS_URL"
            words = "%s cannot be used (%s), so learned paces are not shared with other processes"
            logger.warning(words, place, error)
        if error.seconds == inf:
            book, self._book, self._place = self._book, None, None
            if book is not None:
                book.close()

    def _change(
        self,
        origin: Origin,
        change: Callable[[Learning], Learning],
        rest: tuple[int, float] | None = None,
    ) -> None:
        """Change the knowledge about an origin, here and in the book."""
        known = self._known.get(origin, self._nothing)

        def changed(row: SharedPace | None) -> SharedPace:
            status, until = rest or ((0, 0.0) if row is None else row[1:])
            before = known if row is None else known.merged(row.learning)
            return SharedPace(change(before), status, until)

        book = self._opened()
        if book is not None:
            try:
                after = book.change(origin, changed).learning
            except RowsError as error:
                self._go_on_alone(error)
                after = change(known)
        else:
            after = change(known)
        self._put(origin, after)

    # What is known

    def __bool__(self) -> bool:
        """Whether requests to any origin may have to wait."""
        return bool(self._binding)

    def __contains__(self, origin: Origin) -> bool:
        """Whether requests to an origin may have to wait."""
        return origin in self._binding

    def of(self, origin: Origin) -> LearnedPace | None:
        """The learned pace of an origin; None without one."""
        return self._known.get(origin, self._nothing).pace

    def is_sure(self, origin: Origin) -> bool:
        """Whether the pace of an origin has held for some requests."""
        return self._known.get(origin, self._nothing).is_sure

    def is_limited(self, origin: Origin) -> bool:
        """Whether an origin has, or had lately, a learned pace."""
        return self._known.get(origin, self._nothing).is_limited(time.monotonic())

    def is_down(self, origin: Origin) -> bool:
        """Whether an origin that was well answers nearly nothing but errors."""
        return self._known.get(origin, self._nothing).is_down

    def well_at(self, origin: Origin) -> float:
        """When the last request was sent that an origin answered well."""
        accepted = self._known.get(origin, self._nothing).accepted
        return NEVER if accepted is None else accepted.sent_at

    def heed(self, origin: Origin, answer: PageAnswer, rest: Rest | None, least: float) -> None:
        """Learn from an answer; `rest` is that of the origin after it."""
        if answer.is_refusal or origin in self._binding:
            self._change(origin, lambda known: learned(known, answer, rest, least))
        else:  # as usual
            self._put(origin, learned(self._known.get(origin, self._nothing), answer, rest, least))

    def heed_quota(self, origin: Origin, quota: Quota | None, sent_count: int) -> None:
        """Note a quota of an origin; `sent_count` requests are on their way to it."""
        if quota is not None or origin in self._binding:
            now = time.monotonic()
            self._change(origin, lambda known: known.with_quota(quota, now, sent_count))

    # Turns

    def ready_at(self, origin: Origin) -> Monotonic:
        """When the queue may hand out a request."""
        if origin not in self._binding:
            return NEVER
        return Monotonic(self._known[origin].ready_at(len(self._line_of(origin))))

    def hand_out(
        self, origin: Origin, request: Request, is_over: Callable[[Request], bool]
    ) -> None:
        """Give a request its place in the line; `is_over` tells whether it has ended."""
        if origin in self._binding:
            line = self._lines.setdefault(origin, {})
            line.setdefault(request, _InLine(is_over, time.monotonic()))

    def turn_at(
        self, origin: Origin, request: Request, is_over: Callable[[Request], bool]
    ) -> Monotonic:
        """Take the turn of a request; return `NEVER`, or when its turn may come if it has not."""
        if origin not in self._binding:
            return NEVER
        self._line_of(origin)
        self.hand_out(origin, request, is_over)
        line = self._lines[origin]
        line[request].has_come = True
        ahead = 0  # at most _MOST_AHEAD: those behind them look again later
        for ahead, one in enumerate(islice(line, _MOST_AHEAD)):  # noqa: B007
            if one is request:
                break
        at, now = self._known[origin].ready_at(ahead), time.monotonic()
        if at > now:
            return Monotonic(at)

        def taken(known: Learning) -> Learning:
            nonlocal at  # another process may have taken turns
            at = known.ready_at()
            return known.taken(now) if at <= now else known

        self._change(origin, taken)
        if at > now:
            return Monotonic(at)
        line.pop(request, None)
        return NEVER

    def _line_of(self, origin: Origin) -> dict[Request, _InLine]:
        """The requests that have no turn yet, from the first on that has not ended."""
        line, now = self._lines.get(origin, {}), time.monotonic()
        while line:
            request, place = next(iter(line.items()))
            is_coming = not place.has_come and now - place.since_at < _COMING_SECONDS
            if is_coming or not place.is_over(request):
                break
            del line[request]
        return line

    def _put(self, origin: Origin, learning: Learning) -> None:
        if origin not in self._known and len(self._known) >= _MOST_ORIGINS:
            for one in list(islice(self._known, _MOST_ORIGINS // 2)):  # the oldest
                del self._known[one]
                self._binding.discard(one)
                self._lines.pop(one, None)
        self._known[origin] = learning
        if learning.binds:
            self._binding.add(origin)
        elif origin in self._binding:
            self._binding.discard(origin)
            self._lines.pop(origin, None)

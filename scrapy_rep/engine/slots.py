"""The downloader's slots: when each may send, and what is under way in it.

A slot is how Scrapy paces one host: how many requests at a time, and how long between two.

Rules for the next author:

1. The delay that a site asks for is a floor under the delay of *the slot that the request takes*.
   Any middleware may choose another slot, so each request carries what its policy asks for (`ask`)
   until it reaches the downloader.
2. Others write delays too. The floor is put back at two signals: before the downloader computes how
   long a request waits, and after AutoThrottle has written (`delays`).
3. A site that is visited through several slots, or by several crawls of the process, has one record
   of its visits (`visits`). All its slots count from that record.
4. The delay is counted from when octets left. Until that is known, nothing else is sent to the
   site.
5. Every change in a slot is told to the listeners, or a queue waits for ever.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from scrapy import Request, signals

from scrapy_rep.protocol.errors import InvalidUri

from .arrivals import Arrivals
from .delays import Delays, above, not_before
from .departures import Departures
from .downloader import NEVER, Downloader
from .floors import EVENT, Ask, Hold
from .gates import Gate
from .lending import Lending
from .origins import origin_of
from .slot_keys import SLOT, slot_taken
from .under_way import UnderWay
from .visits import BOOK, VisitBook, Visits

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

    from scrapy_rep.protocol.access.origin import Origin

_MOMENT_SECONDS = 0.02
_OURS = "ours"  # as whom our own requests ask, beside what pages ask of the same slot

Told = Callable[[Request], None]


class Slots:
    """The slots of one crawl's downloader.

    Attributes:
        gate: where requests wait for their turn among those of other processes, if they do.
        ask_of: gives what is known to be asked of a request to an origin; None if nothing is known.
        place_for_others: lets the downloader take another request while one waits.
        place_of_its_own: lets the downloader take one more, so that one of ours takes no other's.
        arrivals: whether requests that reach the downloader are listened to.
        out: the requests that were handed out and are still in the middlewares, or ended there.
        floors: those of the slots by their keys; empty while no site asks for a delay.
    """

    def __init__(self, crawler: Crawler, book: VisitBook = BOOK) -> None:
        self._crawler = crawler
        self._book = book
        self._downloader = Downloader(crawler)
        self._departures = Departures(book)
        self._delays = Delays(self._downloader, book, self, self._let_go)
        self._under_way = UnderWay()
        lending = Lending(crawler, self._downloader)
        # Of each request, so without another call between.
        self.hand_out = self._under_way.hand_out
        self.active_count = self._under_way.count
        self.out = self._under_way.out
        self.floors: Mapping[str, object] = self._delays.floors
        self._asks: WeakKeyDictionary[Request, Ask] = WeakKeyDictionary()
        self._others: dict[Request, Hold] = {}
        self._sent: dict[Request, Visits] = {}
        self._listeners: list[Callable[[str], None]] = []
        self._is_open = self._is_looking = self._has_asked = False
        self._told_of_departures: list[Callable[[Request, float], None]] = []
        self._leaving: dict[Hashable, Request] = {}
        self._told_of_visits: list[Callable[[Hashable, float, float, float], None]] = []
        self._sent_at: dict[Request, float] = {}
        self._told_of_requests: tuple[Told, Told] | None = None
        self.gate: Gate | None = None
        self.ask_of: Callable[[Origin], Ask | None] = lambda _: None  # of who knows policies
        self.place_for_others = lending.for_others
        self.place_of_its_own = lending.one_more
        self._reached, self._left = self._handlers()  # kept here: Scrapy holds them weakly
        crawler.signals.connect(self._left, signal=signals.request_left_downloader)
        self.arrivals = Arrivals(
            crawler, self._downloader, self._under_way, self._reached, self._tell
        )
        crawler.signals.connect(self._spider_opened, signal=signals.spider_opened)
        crawler.signals.connect(self._spider_closed, signal=signals.spider_closed)

    def _handlers(self) -> tuple[Callable[..., None], Callable[..., None]]:
        """What is called with requests that reach the downloader, and have left it.

        Each time that Scrapy calls a method, it looks up whose it is, and which arguments it takes.
        It need not for functions that take all.
        """
        under_way, floors, free_count = self._under_way, self.floors, self._downloader.free_count
        listeners, others, sent = self._listeners, self._others, self._sent

        def reached(request: Request, **_: object) -> None:
            if self._told_of_requests is not None:  # first: who is told may ask for a pace
                self._told_of_requests[0](request)
            key = request.meta.get(SLOT, "")
            if (
                not (floors or self._has_asked or self._book)
                and under_way.out.get(request) == key
                and free_count(key) is not None
            ):
                # As nearly always: it comes to the slot that it holds a place of, and no pace is
                # kept there. That makes no slot more ready, and none less.
                under_way.arrive(request, key)
                self.arrivals.usual_count += 1
            else:
                self._keep_up(request, key)

        def left(request: Request, **_: object) -> None:
            if others or sent:
                self._arrived(request)
            key = request.meta.get(SLOT, "")
            counted = under_way.end(request)
            if counted is not None and counted != key:
                self.arrivals.listen_for_good()
                self._tell(counted)
            for listener in listeners:
                listener(key)
            if self._told_of_requests is not None:
                self._told_of_requests[1](request)

        return reached, left

    def _spider_opened(self) -> None:
        self._is_open = True
        self._look_at_answers()

    def _look_at_answers(self) -> None:
        """From the first delay on, look at answers; most crawls have none to keep.

        Connected no sooner than the spider is opened, so that it runs after AutoThrottle's handler.
        """
        if self._is_looking or not self._is_open or not (self.floors or self._book):
            return
        self._is_looking = True
        connect = self._crawler.signals.connect
        connect(self._arrived, signal=signals.headers_received)
        connect(self._downloaded, signal=signals.response_downloaded)

    def _spider_closed(self) -> None:
        for request in list(self._sent):
            self._arrived(request)
        self._delays.clear()

    def listen(self, listener: Callable[[str], None]) -> None:
        """Call a function with the key of each slot in which something changes."""
        self._listeners.append(listener)

    def listen_to_departures(self, listener: Callable[[Request, float], None]) -> None:
        """Have a function called when it is known from when the delay after a request is counted.

        Monotonic seconds. It may be called again, once more is known. Only requests to origins that
        ask for a delay are told of.
        """
        self._told_of_departures.append(listener)

    def listen_to_visits(self, listener: Callable[[Hashable, float, float, float], None]) -> None:
        """Have a function called with each ended visit of an origin that asks for a delay.

        Given are the origin, when the request left at the earliest and at the latest (monotonic
        seconds), and the delay that is kept there.
        """
        self._told_of_visits.append(listener)

    def listen_to_requests(self, told: tuple[Told, Told] | None) -> None:
        """Have functions called with each request that reaches the downloader, or has left it.

        None: no more. Each handler of a signal costs something for each request. So there is one of
        ours.
        """
        self._told_of_requests = told
        if told is not None:
            self.arrivals.listen()

    def ask_before_use(self) -> None:
        """From now on, `ready_at` is called before each request is handed out.

        And `take_stock` before that, wherever a slot waits for a place.
        """
        self.arrivals.may_rest()
        self._book.expect(self)

    # How fast

    def set_floor(self, key: str, ask: Ask) -> None:
        """Let a slot leave at least so many seconds between requests."""
        self._delays.set(key, ask)
        self._look_at_answers()

    def ask(self, request: Request, ask: Ask) -> None:
        """Let the slot that a request takes leave so many seconds, once the request is there."""
        if ask.seconds or self._delays.floors:
            self._asks[request] = ask
            self._has_asked = True
            self.arrivals.listen_for_good()

    def ask_as_known(self, request: Request) -> None:
        """Let a request of ours, which no policy has judged, keep its origin's pace in its slot.

        Not in a slot that somebody chose, or that the hosts of one address share: the files of many
        origins may go through that one, and the delay of one would hold up all of them.
        """
        with suppress(InvalidUri):
            origin = origin_of(request.url)
            if origin is None or slot_taken(request) != origin.host or request in self._asks:
                return
            ask = self.ask_of(origin)
            if ask is not None and ask.seconds:
                self.ask(request, ask._replace(as_whom=_OURS))

    def count_from_now(self, request: Request) -> None:
        """Count the delay of a request's slot from now, when the answer has come.

        For requests that are sent before the delay is known.
        """
        slot = self._downloader.slot(slot_taken(request))
        if slot is not None:
            slot.last_at = time.monotonic()

    # Visits

    def has_begun(self) -> None:
        """Some crawl of this thread keeps a pace: visits are noted from now on."""
        self.arrivals.listen_for_good()

    def visited(self, origin: Hashable) -> None:
        """An origin was visited, perhaps by another crawl: its slots count from that visit."""
        for key, floor in self._delays.of(origin):
            if floor.slot is not None and floor.next_at < EVENT:
                floor.count(floor.slot)
            self._tell(key)
        self._tell_of_departure(origin)

    def keep_back(self, request: Request, until: float) -> None:
        """Let the slot of a request send nothing before then; monotonic seconds."""
        slot = self._downloader.slot(slot_taken(request))
        if slot is not None:
            not_before(slot, until)

    def _tell_of_departure(self, origin: Hashable) -> None:
        request, visits = self._leaving.get(origin), self._book.get(origin)
        if request is not None and visits is not None and not visits.is_unsure:
            for listener in self._told_of_departures:
                listener(request, visits.last_at)

    def hold(self, origin: Hashable, until: float) -> None:
        """Keep the requests that are queued in the slots of an origin there until then."""
        for _, floor in self._delays.of(origin):
            if floor.slot is not None and floor.slot.queue:
                not_before(floor.slot, until)

    def _let_go(self, request: Request, key: str) -> None:
        """A slot has sent a request: its octets leave at once, or after a while."""
        visits = self._visits_of(request)
        if visits is not None:
            for handler in self._downloader.handlers:
                self._departures.listen_to(handler)
            self._sent[request] = visits
            if self._told_of_departures:
                self._leaving[visits.origin] = request
            if self._told_of_visits:
                self._sent_at[request] = time.monotonic()
            visits.let_go(request)
        if self._under_way.is_out(request):
            self._tell(self._under_way.come_back(request))
        self._tell(key)

    def _visits_of(self, request: Request) -> Visits | None:
        """The record of the origin that a request visits; None if there is none."""
        if not self._book:
            return None
        with suppress(InvalidUri):
            return self._book.get(origin_of(request.url))
        return None

    def _arrived(self, request: Request) -> None:
        """A request has been answered or has failed: delays are counted from now."""
        hold = self._others.pop(request, None)
        if hold is not None:
            hold.count -= 1
            hold.until = time.time() + hold.seconds
        visits = self._sent.pop(request, None)
        if visits is not None:
            visits.is_there(request)
            sent_at = self._sent_at.pop(request, None)
            if sent_at is not None:
                # The record may count from a later visit: this one left before its answer came.
                left_by = max(sent_at, min(visits.last_at, time.monotonic()))
                for listener in self._told_of_visits:
                    listener(visits.origin, sent_at, left_by, visits.seconds)
            if self._leaving.get(visits.origin) is request:
                del self._leaving[visits.origin]

    def _downloaded(self, request: Request) -> None:
        self._arrived(request)
        self._delays.apply(slot_taken(request))

    # When

    def ready_at(self, key: str) -> float:
        """The earliest time at which a slot could send another request; monotonic seconds.

        Infinite while all its places are taken, and while it is not known from when to count:
        listeners will hear of the change.
        """
        floor = self._delays.floors.get(key)
        out_count = self._under_way.out_counts.get(key, 0)
        if floor is None:  # as for most slots, most of the time
            free_count = self._downloader.free_count(key)
            if free_count is not None:
                if out_count and free_count <= out_count and not self.arrivals.is_listening:
                    self.arrivals.look()
                    out_count = self._under_way.out_counts.get(key, 0)
                return NEVER if free_count > out_count else EVENT
        slot = self._downloader.slot(key)
        if slot is not None and not self.arrivals.is_listening:  # somebody made it an unusual one
            self.arrivals.listen_for_good()
            out_count = self._under_way.out_counts.get(key, 0)
        if floor is None and slot is None and not out_count:
            return NEVER
        least = floor.seconds() if floor is not None else 0.0
        if slot is None:
            concurrency, delay = self._downloader.slot_to_be(key)
            last_at = floor.slot.last_at if floor is not None and floor.slot else NEVER
            taken, queued, jitter = out_count, 0, 0.0
        else:
            concurrency, delay, last_at = slot.concurrency, slot.delay, slot.last_at
            queued, jitter = len(slot.queue), above(least, max(delay, least), slot.jitter)
            taken = slot.sent_count + queued + out_count
        delay = max(delay, least)
        if 0 < concurrency <= taken or (delay and out_count):
            return EVENT
        if not delay:
            return NEVER
        at = last_at + delay * (1 + jitter * _chance(key, last_at))
        if queued:
            at = max(at + queued * delay, time.monotonic() + _MOMENT_SECONDS)
        return at if floor is None else max(at, floor.next_at)

    def own_pace(self, key: str) -> tuple[int, float]:
        """How many requests at a time the user grants a slot, and the delay between two.

        AutoThrottle begins with a delay of its own for all slots, and goes on from that: it is left
        out.
        """
        concurrency, delay = self._downloader.slot_to_be(key)
        settings = self._crawler.settings
        if settings.getbool("AUTOTHROTTLE_ENABLED"):
            delay = min(delay, settings.getfloat("DOWNLOAD_DELAY"))
        return concurrency, delay

    def told_delay(self, origin: Hashable, key: str) -> float:
        """The longest delay that is known between requests to an origin; 0 if none is."""
        visits = self._book.get(origin)
        own_seconds = self.own_pace(key)[1]
        return own_seconds if visits is None else max(own_seconds, visits.seconds)

    def visited_at(self, origin: Hashable) -> float:
        """When an origin was visited last, as far as is known; monotonic seconds."""
        visits = self._book.get(origin)
        return NEVER if visits is None else visits.last_at

    def has(self, request: Request) -> bool:
        """Whether a request is in its slot, queued or sent."""
        slot = self._downloader.slot(slot_taken(request))
        return slot is not None and slot.has(request)

    def is_waiting(self, request: Request) -> bool:
        """Whether a request is queued in its slot, so that nothing was sent yet."""
        slot = self._downloader.slot(slot_taken(request))
        return slot is not None and slot.has(request) and not slot.has_sent(request)

    def delay_seconds(self, request: Request) -> float:
        """The longest delay that a request's slot may draw now."""
        slot = self._downloader.slot(slot_taken(request))
        return 0.0 if slot is None else slot.delay * (1 + slot.jitter)

    def abandon(self, request: Request) -> None:
        """Remove a request that nobody waits for from its slot.

        Otherwise a queued request would still be sent, and one whose handler never ends would keep
        its place for ever. No signal tells that it has left.
        """
        self._downloader.abandon(slot_taken(request), request)
        self._left(request)

    # What is under way

    def take_stock(self) -> None:
        """Find the requests that ended in the middlewares, of which no signal tells."""
        if not self.arrivals.is_listening:
            self.arrivals.look()
        elif self._told_of_requests is None and not self._book:
            self.arrivals.rest()
        if self._under_way.out:
            for request in self._under_way.ended(self._downloader.active):
                self._tell(self._under_way.come_back(request))

    def come_back(self, request: Request) -> None:
        """A request that was handed out is queued again: it has left the middlewares unnoticed.

        They may return the object itself, for another slot perhaps.
        """
        self._tell(self._under_way.come_back(request))

    def _keep_up(self, request: Request, key: str) -> None:
        """A request has reached the downloader: its slot keeps the pace of its origin."""
        self._keep_pace(request, key)
        self._look_at_answers()
        self._delays.apply(key)
        self._under_way.begin(request, key)
        floor = self._delays.floors.get(key)
        is_told = floor is not None and floor.is_told
        # A request that takes another slot than it was handed out for may be queued there.
        is_its_own = self._under_way.key_of(request, key) == key
        if not is_its_own:
            self.arrivals.listen_for_good()
        if self._under_way.is_out(request) and (is_its_own or not is_told):
            self._tell(self._under_way.come_back(request))
            self._send_now(key)
        if not is_told:
            self._let_go(request, key)
        self._tell(key)

    def _keep_pace(self, request: Request, key: str) -> None:
        ask = self._asks.pop(request, None)
        if ask is None:
            return
        if ask.as_whom is None:
            self.set_floor(key, ask)
        elif ask.seconds:
            hold = self._others[request] = self._delays.hold(key, ask)
            hold.seconds = ask.seconds
            hold.count += 1

    def _send_now(self, key: str) -> None:
        """Let a slot send now: the delay was served in our queue, until the time of `ready_at`.

        Otherwise the slot would draw another delay, and hold the request and its place if that is
        longer. It would also wait for a timer that it set when it sent the request before.
        """
        slot = self._downloader.slot(key)
        if slot is None or slot.queue or self.ready_at(key) > time.monotonic():
            return
        slot.drop_timer()
        longest = slot.delay * (1 + slot.jitter)
        slot.last_at = min(slot.last_at, time.monotonic() - longest)

    def _tell(self, key: str) -> None:
        for listener in self._listeners:
            listener(key)


def _chance(key: str, lastseen: float) -> float:
    """A number from -1 to 1 that stays the same until the slot sends another request."""
    return hash((key, lastseen)) % 2001 / 1000 - 1

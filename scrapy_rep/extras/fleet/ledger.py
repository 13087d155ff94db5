"""The books of one worker: the requests that it has and its reports for Redis, without I/O.

A request of the fleet is in one of these states:

========  ==============================================  ===================================
state     where it is                                     what ends it
========  ==============================================  ===================================
unsent    in the memory of the worker that found it;      the next batch; if the worker
          the page with its link is not done before       dies, that page is fetched again
queued    in a list in Redis                              a pop
popped    in a worker, leased with the worker: in its     it is sent to the site; or it
          buffer, or on its way to the site               ends; or it is given back; or the
                                                          worker's lease ends: queued again
departed  in a worker: the site may have seen it          it leaves the engine, after the
                                                          requests it caused were enqueued; or
                                                          the lease ends: queued again
kept      in the memory of a worker, because it could     it leaves the engine; or the lease
          not be written. Redis knows that the worker     ends: its token is forgotten,
          has it                                          and its page is fetched again
done      nowhere: only its token is left                 the end of the crawl
dead      in the list of dead letters                     a user looks at it
========  ==============================================  ===================================

Rules for the next author:

1. A report is kept until a batch has confirmed it. Sending a report twice changes nothing.
2. The pushes of a batch stay the same until the batch is confirmed, because Redis identifies them
   by the number of the batch. Without memory in Redis, batches have no pushes.
3. A request is reported as done after the pushes that it caused, and after all earlier pushes
   without a known cause. Each cause in turn adds a push to a batch, so a page with thousands of
   links delays no other page.
4. A failed batch may have been carried out: the next batch says so, and Redis queues the
   requests with ids above the last known one again, because they were in the lost reply.
5. A worker that was taken over reports nothing more: other workers have its requests now.
6. If Redis has lost the requests that a worker has, the worker pushes them again, with their ids.
   Such a push counts as caused by its own request, so it comes before the report of the end.
7. A request is reported as done after the kept requests that it led to. If the worker stops first,
   it is queued again, and the kept requests are found there.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import islice
from secrets import token_bytes

from .batch import Batch, HeldRequest, Push, PushKind, Rested, Settled, Wish

PUSHES = 50
"""The most requests that one batch brings: a push costs Redis 15 us (`benchmarks/fleet.py`)."""

PUSH_OCTETS = 1 << 18
"""The most octets that one batch brings, or gives; a single entry may have as many."""

WISHES = 50
"""The most turns that one batch requests."""

REPORTS = 32
"""The most reports of each kind that one batch brings: each costs Redis 5 to 14 us."""

START = "start"
"""The cause of start requests."""

_UNKNOWN = "unknown "  # the beginning of the names of unknown causes


@dataclass(slots=True)
class _End:
    """The end of a request here: the causes of pushes that come first, and how it ended.

    `how` is whether the site may have seen it; or why it is set aside; or None if it is given back.
    """

    after: frozenset[str]
    how: bool | str | None
    token: bytes = b""


class Ledger:
    """The books of one worker. Every operation costs O(1), a batch O(its size).

    Attributes:
        name: the name of the worker.
        epoch: the epoch of the Redis that it has joined; empty before.
        held: the requests that it got and that are not done, by id.
        buffer: the held requests that the engine has not taken yet, in order.
        kept: the kept requests that the engine has not taken yet, in order.
        spares: start requests that would be kept here, if other workers did not keep them.
        unsent_count: the number of pushes that Redis has not confirmed.
        is_full: whether Redis has no memory for pushes.
        probes: lanes where this worker has, or wants, the first request after a rest; False when
            that has ended.
        rests_seen: the version of the rests in Redis that this worker knows.
        books: the counts that Redis told last.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.epoch = ""
        self.held: dict[str, HeldRequest] = {}
        self.buffer: deque[HeldRequest] = deque()
        self.kept: deque[HeldRequest] = deque()
        self.spares: list[Push] = []
        self.unsent_count = 0
        self.is_full = False
        self.probes: dict[str, bool] = {}
        self.rests_seen = 0
        self.books: tuple[int, ...] = ()
        self._generation = 0
        self._base = name
        self._unsent: dict[str, deque[Push]] = {}  # by the request that caused them
        self._unknown_count = 0  # of groups of pushes without a known cause
        self._in_batch: list[tuple[str, Push]] = []
        self._batch = 1
        self._attempt = self._heard = 0
        self._is_joined = False
        self._last_id = 0
        self._is_unsure = False
        self._left: dict[str, tuple[str, float]] = {}
        self._ended: dict[str, _End] = {}
        self._settled: dict[str, Settled] = {}
        self._rests: dict[str, Rested] = {}
        self._wishes: dict[int, Wish] = {}
        self._wish_count = 0
        self._claims: dict[str, HeldRequest] = {}  # kept requests that Redis has not confirmed
        self._parents: dict[str, str] = {}  # of kept requests: the page of each
        self._kept_count: Counter[str] = Counter()  # of a page, not done yet
        self._orphans: set[str] = set()  # kept requests of unknown causes that were not handed out
        self._blocked: dict[str, _End] = {}  # the ends of requests with kept ones that are not done

    # What happens in the worker

    def push(self, push: Push, cause: str = "", *, is_start: bool = False) -> None:
        """Add a request that was found; `cause` is the id of the request that led to it."""
        if is_start or push.kind is PushKind.START:
            cause = START
        elif cause not in self.held:
            cause = self._unknown
        is_filtered = push.kind in (PushKind.FILTERED, PushKind.START)
        fingerprint = push.fingerprint if is_filtered else token_bytes(8)
        push = push._replace(fingerprint=fingerprint, is_root=cause not in self.held)
        if push.held is not None:
            push.held.token = push.token
            self._keep(push.held, cause)
        self._unsent.setdefault(cause, deque()).append(push)
        self.unsent_count += 1

    def push_spares(self) -> None:
        """Push the start requests again that other workers kept: they may have been lost."""
        spares, self.spares = self.spares, []
        for push in spares:
            self.push(push)

    def _keep(self, held: HeldRequest, cause: str) -> None:
        self._claims[held.id] = held
        if cause in self.held:
            self._adopt(held.id, cause)
        elif cause != START:
            self._orphans.add(held.id)

    def _adopt(self, kept_id: str, parent: str) -> None:
        self._parents[kept_id] = parent
        self._kept_count[parent] += 1

    @property
    def _unknown(self) -> str:
        return f"{_UNKNOWN}{self._unknown_count}"

    def unsent_of(self, cause: str) -> int:
        """The number of pushes of one cause that are in no batch yet."""
        return len(self._unsent.get(cause, ()))

    def hold(self, held: HeldRequest, now: float = 0.0) -> None:
        """Add a popped request, which waits for the engine."""
        self.held[held.id] = held
        held.due_at = now + held.wait_seconds
        if held.lane:
            self.buffer.append(held)

    def take(self, *, may_be_kept: bool = False) -> HeldRequest | None:
        """The next request for the engine, a kept one first; its slot keeps it until it is due."""
        if not (may_be_kept and self.kept):
            return self.buffer.popleft() if self.buffer else None
        self._orphans.discard(self.kept[0].id)
        return self.kept.popleft()

    def left(self, held: HeldRequest, at: float) -> None:
        """Note when a request has left the downloader; monotonic seconds. The last call counts."""
        held.has_left = True
        if held.id in self.held and not held.is_kept:
            self._left[held.id] = (held.lane, at)

    def done(self, held: HeldRequest) -> None:
        """Note that a request has left the engine, after all requests it caused were pushed."""
        if held.id in self.held:
            causes = (*self._unsent, *(cause for cause, _ in self._in_batch))
            unknown = [cause for cause in causes if cause.startswith(_UNKNOWN)]
            if self._unknown in self._unsent:
                self._unknown_count += 1  # later pushes have other causes
            if not held.is_turn:  # one of unknown cause may be its retry
                for kept_id in self._orphans:
                    self._adopt(kept_id, held.id)
                self._orphans.clear()
            # A Redis that was emptied, or is an older copy, does not know the links of the page.
            is_fetched_again = held.linked_in not in ("", self.epoch)
            how = None if is_fetched_again else held.has_reached and not held.has_left
            self._end(held, how, *unknown)

    def set_aside(self, held: HeldRequest, reason: str) -> None:
        """Note that this worker can't execute a request: another may, or it is set aside."""
        with suppress(ValueError):  # a start URL is not there
            self.buffer.remove(held)
        self._end(held, reason[:500].encode("utf-8", "replace").decode())  # no lone surrogates

    def give_back(self) -> None:
        """Give back the requests in the buffer, and the pages that led to kept requests."""
        for held in (*self.buffer, *self.kept):
            self._end(held, None)
        for id_, end in self._blocked.items():
            self._ended[id_] = replace(end, how=None)
        for books in (self.buffer, self.kept, self._blocked, self._parents, self._kept_count):
            books.clear()

    def _end(self, held: HeldRequest, how: bool | str | None, *causes: str) -> None:
        if self.held.pop(held.id, None) is not None:
            ends = self._blocked if self._kept_count[held.id] else self._ended
            ends[held.id] = _End(frozenset({held.id, *causes}), how, held.token)

    def settle(self, settled: Settled) -> None:
        """Report the state of a lane; the last call counts."""
        self._settled[settled.lane] = settled

    def rested(self, rested: Rested) -> None:
        """Report a rest that an answer changed; the last call counts."""
        self._rests[rested.lane] = rested

    def has_later_news(self, lane: str) -> bool:
        """Whether Redis does not know the last report on the rest of a lane."""
        return lane in self._rests

    def wish(self, wish: Wish) -> int:
        """Start to request a turn; return a key for the wish."""
        self._wish_count += 1
        self._wishes[self._wish_count] = wish
        return self._wish_count

    def grant(self, key: int, held: HeldRequest) -> None:
        """Hold a turn that has come or has a known time, until it is done."""
        if self._wishes.pop(key, None) is not None:
            self.held[held.id] = held

    def withdraw(self, key: int) -> None:
        """Remove a wish that is not needed any more."""
        if self._wishes.pop(key, None) is not None:
            self._ended[self._turn_id(key)] = _End(frozenset(), how=False)

    def _turn_id(self, key: int) -> str:
        """The id that the script gives to the turn."""
        return f"{self.name}#{key}"

    @property
    def has_wishes(self) -> bool:
        """Whether any request waits for a turn, or goes first after a rest."""
        return bool(self._wishes or self.probes)

    @property
    def has_news(self) -> bool:
        """Whether there is anything that Redis should get soon."""
        has_states = self._settled or self._rests
        return bool(self.unsent_count or self.has_reports or has_states or self._is_unsure)

    @property
    def has_reports(self) -> bool:
        """Whether any request has left or ended since the last report."""
        return bool(self._left or self._ended)

    # Batches

    def batch(self) -> Batch:
        """The content of the next batch; call `confirmed` or `failed` after it."""
        self._attempt += 1
        if not self._in_batch and not self.is_full:
            self._in_batch = [*self._next_pushes()]
        left = dict(islice(self._left.items(), REPORTS))
        unsent = self._unsent.keys() | {cause for cause, _ in self._in_batch if self.is_full}
        # A request that has left opens its lane after the delay; a done request opens it at once.
        ended = (
            (id_, (end.how, end.token))
            for id_, end in self._ended.items()
            if end.after.isdisjoint(unsent) and (id_ in left or id_ not in self._left)
        )
        return Batch(
            self.name,
            self._batch,
            self._attempt,
            self._heard,
            self._is_joined,
            self.epoch,
            self._last_id,
            () if self._is_joined else (*self.held, *self._blocked, *self._ended),
            () if self.is_full else tuple(push for _, push in self._in_batch),
            left,
            dict(islice(ended, REPORTS)),
            tuple(islice(self._settled.values(), REPORTS)),
            self._is_unsure,
            tuple(islice(self._wishes.items(), WISHES)),
            tuple(islice(self._rests.values(), REPORTS)),
            self.rests_seen,
            tuple(islice(self.probes.items(), WISHES)),
            self.books,
        )

    def _next_pushes(self) -> Iterator[tuple[str, Push]]:
        """Take some pushes for a batch, one of each cause in turn."""
        octets = 0
        for number in range(PUSHES):
            cause = next(iter(self._unsent), None)
            if cause is None:
                return
            octets += len(self._unsent[cause][0].payload)
            if number and octets > PUSH_OCTETS:
                return
            pushes = self._unsent.pop(cause)
            yield cause, pushes.popleft()
            if pushes:
                self._unsent[cause] = pushes

    def confirmed(
        self, batch: Batch, epoch: str, last_id: int, filtered: tuple[int, ...] = ()
    ) -> None:
        """Note that Redis has carried out a batch; `filtered` are the indexes of duplicates."""
        self.epoch, self._last_id, self._heard = epoch, last_id, batch.attempt
        self._is_joined, self._is_unsure = True, False
        if batch.pushes:
            self._pushes_confirmed(epoch)
        for number, push in enumerate(batch.pushes):
            kept = push.held and self._claims.pop(push.held.id, None)
            if kept is not None and number in filtered:
                self._is_over(kept.id)
                if push.kind is PushKind.START:
                    self.spares.append(push)
            elif kept is not None:
                self.held[kept.id] = kept
                self.kept.append(kept)
        for id_, told in batch.left.items():
            if self._left.get(id_) == told:
                del self._left[id_]
        for id_ in batch.ended:
            self._ended.pop(id_, None)
            self._is_over(id_)
        self._lanes_confirmed(batch)

    def _pushes_confirmed(self, epoch: str) -> None:
        self.unsent_count -= len(self._in_batch)
        for cause, _ in self._in_batch:
            if cause in self.held:
                self.held[cause].linked_in = self.held[cause].linked_in or epoch
        self._in_batch = []
        self._batch += 1

    def _lanes_confirmed(self, batch: Batch) -> None:
        for settled in batch.settled:
            if self._settled.get(settled.lane) is settled:
                del self._settled[settled.lane]
        for rested in batch.rests:
            if self._rests.get(rested.lane) is rested:
                del self._rests[rested.lane]
        for lane, is_wanted in batch.probes:
            if not (is_wanted or self.probes.get(lane)):
                self.probes.pop(lane, None)

    def _is_over(self, kept_id: str) -> None:
        """Note the end of a kept request; the request that led to it may be reported after it."""
        self._orphans.discard(kept_id)
        parent = self._parents.pop(kept_id, None)
        if parent is not None:
            self._kept_count[parent] -= 1
            if not self._kept_count[parent]:
                del self._kept_count[parent]
                if parent in self._blocked:
                    self._ended[parent] = self._blocked.pop(parent)

    def failed(self) -> None:
        """Note that the last batch may or may not have been carried out."""
        self._is_unsure = True

    def succeeded(self) -> None:
        """Begin again under another name, because other workers got this worker's requests.

        They will find the links of those requests again, so unsent pushes are dropped, except start
        requests, which no other worker may have.
        """
        self._generation += 1
        self.name = f"{self._base}~{self._generation}"
        self.epoch, self.books = "", ()
        self._is_joined = self._is_unsure = False
        self._last_id = self._attempt = self._heard = 0
        self._give_up_batch()
        starts = self._unsent.get(START, deque())
        kept = (one for one in self.kept if one.id not in self._parents.keys() | self._orphans)
        starts.extend(_again(one) for one in kept)
        self._unsent = {START: starts} if starts else {}
        self.unsent_count = len(starts)
        for books in (self.held, self.buffer, self._left, self._ended, self.kept, self._blocked):
            books.clear()
        for of_kept in (self._claims, self._parents, self._kept_count, self._orphans):
            of_kept.clear()
        self._claims = {push.held.id: push.held for push in starts if push.held is not None}

    def began_anew(self) -> None:
        """Bring this worker's requests back to a Redis that was emptied or is an older copy."""
        self.epoch = ""
        self.rests_seen = 0
        self._is_joined = False
        self._give_up_batch()
        self.held = {id_: held for id_, held in self.held.items() if not held.is_turn}
        for id_, held in self.held.items():
            self._unsent.setdefault(id_, deque()).appendleft(_again(held))
            self.unsent_count += 1

    def _give_up_batch(self) -> None:
        for cause, push in reversed(self._in_batch):
            self._unsent.setdefault(cause, deque()).appendleft(push)
        self._in_batch = []
        self._batch += 1


def _again(held: HeldRequest) -> Push:
    """The push of a request that the worker has, and that Redis does not know any more."""
    return Push(held.lane, 0, PushKind.AGAIN, b"", held.payload, held)

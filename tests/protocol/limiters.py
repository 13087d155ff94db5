"""Sites that limit the rate, and a crawler that learns their pace, in simulated time."""

from __future__ import annotations

import heapq
import random
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from math import inf

from scrapy_rep.protocol.extensions.learned_pace import Learning, learned
from scrapy_rep.protocol.extensions.rest import PageAnswer, Rest, RestLimits, rest_after

Answer = tuple[int, float | None]  # a status, and the seconds in Retry-After
Site = Callable[[float, str], Answer]

GOOD: Answer = (200, None)
_LIMITS = RestLimits()
_TRIES, _MORE_TRIES, _FEW_DOUBLINGS = 2, {False: 8, True: 5}, 2
_LEAST_PER_SECOND = 1 / 60


def bucket(rate: float, burst: int, status: int = 429, retry: float | None = None) -> Site:
    """A bucket of tokens; nginx's `limit_req` is one."""
    tokens, at = float(burst), 0.0

    def answer(now: float, _path: str) -> Answer:
        nonlocal tokens, at
        tokens, at = min(burst, tokens + (now - at) * rate), now
        if tokens < 1:
            return status, retry
        tokens -= 1
        return GOOD

    return answer


def fixed_window(count: int, seconds: float, *, tells: bool = True) -> Site:
    """So many in each window; `Retry-After` counts down to its end."""
    window, used = -1, 0

    def answer(now: float, _path: str) -> Answer:
        nonlocal window, used
        if int(now / seconds) != window:
            window, used = int(now / seconds), 0
        if used >= count:
            left = (window + 1) * seconds - now
            return 429, float(int(left) + 1) if tells else None
        used += 1
        return GOOD

    return answer


def sliding_window(count: int, seconds: float) -> Site:
    """So many in the last seconds."""
    times: deque[float] = deque()

    def answer(now: float, _path: str) -> Answer:
        while times and times[0] <= now - seconds:
            times.popleft()
        if len(times) >= count:
            return 429, None
        times.append(now)
        return GOOD

    return answer


def at_once(count: int, seconds: float) -> Site:
    """So many at the same time; each takes so long."""
    ends: list[float] = []

    def answer(now: float, _path: str) -> Answer:
        ends[:] = [end for end in ends if end > now]
        if len(ends) >= count:
            return 503, None
        ends.append(now + seconds)
        return GOOD

    return answer


def queue(rate: float, length: int) -> tuple[Site, Callable[[float], float]]:
    """A leaky bucket that answers later, up to a number of requests: the site, and its delay."""
    free_at = 0.0

    def answer(now: float, _path: str) -> Answer:
        nonlocal free_at
        if free_at - now > length / rate:
            return 503, None
        free_at = max(free_at, now) + 1 / rate
        return GOOD

    return answer, lambda now: max(0.0, free_at - now - 1 / rate)


def flaky(share: float, status: int, seed: int = 1) -> Site:
    """A share of the answers are refusals, at any pace."""
    dice = random.Random(seed)
    return lambda _now, _path: (status, None) if dice.random() < share else GOOD


@dataclass
class _Page:
    path: str
    refused_at: float | None = None
    until: float = 0.0
    tries: int = 0


@dataclass
class Crawler:
    """A crawler that treats answers as `Backoff` and `Paces` do.

    Attributes:
        delay: how much longer the site takes to answer a request that comes now.
        learns: whether it learns the pace.
        learning: what it knows of the site.
    """

    site: Site
    concurrency: int = 8
    latency: float = 0.05
    seed: int = 1
    delay: Callable[[float], float] = lambda _now: 0.0
    learns: bool = True
    learning: Learning = field(default_factory=Learning)
    now: float = 0.0
    served: int = 0
    refused: int = 0
    lost: int = 0

    def __post_init__(self) -> None:
        self._dice = random.Random(self.seed)
        self._rest: Rest | None = None
        self._probe: _Page | None = None
        self._well_at = -inf
        self._out: list[tuple[float, int, _Page, float, Answer]] = []
        self._sent_count = 0

    def crawl(self, paths: list[str]) -> Crawler:
        """Fetch all paths; return itself."""
        self._waiting = deque(_Page(path) for path in paths)
        while self._waiting or self._out:
            next_at = self._send()
            if self._out and self._out[0][0] <= next_at:
                self.now, _, page, sent_at, answer = heapq.heappop(self._out)
                self._heed(page, sent_at, *answer)
            else:
                self.now = next_at
        return self

    def _send(self) -> float:
        """Send what may be sent now; return when more may."""
        while self._waiting and len(self._out) < self.concurrency:
            page = next((one for one in self._waiting if one.until <= self.now), None)
            if page is None:
                return min(one.until for one in self._waiting)
            ready_at = max(self._rested_at(), self.learning.ready_at())
            if ready_at > self.now:
                return ready_at
            self._waiting.remove(page)
            if self._is_resting:
                self._probe = page
            self.learning = self.learning.taken(self.now)
            took, self._sent_count = (
                self.latency * self._dice.uniform(0.7, 1.5),
                self._sent_count + 1,
            )
            answer = self.site(self.now + took / 2, page.path)
            took += self.delay(self.now + took / 2)
            heapq.heappush(self._out, (self.now + took, self._sent_count, page, self.now, answer))
        return inf

    @property
    def _is_resting(self) -> bool:
        return self._rest is not None and self._rest.is_resting

    def _rested_at(self) -> float:
        if self._rest is None or not self._is_resting:
            return -inf
        return self._rest.until_at if self._probe is None else inf

    def _heed(self, page: _Page, sent_at: float, status: int, retry: float | None) -> None:
        answer = PageAnswer(status, retry, sent_at, self.now, page.path)
        answer = replace(answer, is_down=self.learning.is_down, seconds=self.now - sent_at)
        if answer.is_refusal and page.refused_at is not None:
            since_at = page.refused_at - (10 if answer.is_plain else 0)
            answer = replace(answer, is_known=self._well_at > since_at)
        before, rest = self._rest, rest_after(self._rest, answer, _LIMITS, self._dice.random())
        self._rest, is_first = rest, self._probe is page
        if is_first or before is None or rest is None or before.began_at != rest.began_at:
            self._probe = None
        if self.learns:
            self.learning = learned(self.learning, answer, rest, _LEAST_PER_SECOND)
        if answer.is_refusal:
            self.refused += 1
            self._again(page, answer, rest, is_first=is_first)
        else:
            self.served += 1
            self._well_at = max(self._well_at, sent_at)

    def _again(self, page: _Page, answer: PageAnswer, rest: Rest | None, *, is_first: bool) -> None:
        is_alone = rest is None or not rest.seconds
        is_limited = self.learning.is_limited(self.now)
        most = _TRIES + (_MORE_TRIES[answer.is_plain] if is_limited else 0)
        is_try = is_alone or (is_first and answer.is_known)
        if (is_try and page.tries >= most) or (rest is not None and rest.given_up_until):
            self.lost += 1
            return
        if is_limited or not (is_alone and answer.is_plain):
            doublings = min(page.tries, _FEW_DOUBLINGS) if is_limited else page.tries
            seconds = answer.own_seconds(_LIMITS, doublings, self._dice.random())
            if rest is not None and not is_alone:
                rested = rest.until_at - self.now + 0.3
                seconds = max(seconds, rested) if is_try or answer.retry_after_seconds else rested
            page.until = self.now + seconds
            page.refused_at = self.now if page.refused_at is None else page.refused_at
        page.tries += is_try
        self._waiting.append(page)

"""The origins that rest because their pages answered 429 or 503, for all crawls of one thread.

No request goes to an origin that rests. After the rest, one request goes first. The others follow
when it is answered, unless that answer begins another rest.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple

from scrapy import Request

from scrapy_rep.engine.clock import Monotonic
from scrapy_rep.engine.downloader import EVENT, NEVER
from scrapy_rep.protocol.access.origin import Origin
from scrapy_rep.protocol.extensions.rest import Rest

_FEW = 256  # origins; with more of them, rests that ended long ago are forgotten


class _Probe(NamedTuple):
    """The request that goes first after a rest; `is_over` tells whether it has ended."""

    request: Request
    is_over: Callable[[Request], bool]


class Rests:
    """The rests of the origins that the crawls of a thread visit; times are monotonic seconds."""

    def __init__(self) -> None:
        self._rests: dict[Origin, Rest] = {}
        self._probes: dict[Origin, _Probe] = {}
        self._sweep_at = _FEW

    def __bool__(self) -> bool:
        """Whether any origin was refused last."""
        return bool(self._rests)

    def __contains__(self, origin: Origin) -> bool:
        """Whether an origin was refused last."""
        return origin in self._rests

    def of(self, origin: Origin) -> Rest | None:
        """The refusals of an origin in a row, with or without a rest; None if it answered well."""
        rest = self._rests.get(origin)
        if rest is not None and 0 < rest.given_up_until <= time.monotonic():
            self.put(origin, None)
            return None
        return rest

    def put(self, origin: Origin, rest: Rest | None) -> None:
        """Note the rest of an origin after an answer."""
        before = self._rests.get(origin)
        if rest is None or before is None or rest.began_at != before.began_at:
            self._probes.pop(origin, None)  # it was answered
        if rest is None:
            self._rests.pop(origin, None)
            return
        if len(self._rests) >= self._sweep_at:
            self._sweep()
        self._rests[origin] = rest

    def _sweep(self) -> None:
        """Forget the origins to which no request was sent for as long as they rested."""
        now = time.monotonic()
        for origin, rest in list(self._rests.items()):
            ended_at = max(rest.until_at, rest.given_up_until)
            if origin not in self._probes and ended_at + rest.seconds < now:
                del self._rests[origin]
        self._sweep_at = max(_FEW, 2 * len(self._rests))

    def ready_at(self, origin: Origin) -> Monotonic:
        """When a request may be sent; `EVENT` until the first request is answered."""
        rest = self.of(origin)
        if rest is None or not rest.is_resting:
            return NEVER
        return Monotonic(rest.until_at) if self._probe_of(origin) is None else EVENT

    def appoint(self, origin: Origin, request: Request, is_over: Callable[[Request], bool]) -> bool:
        """Whether a request may be sent now; after a rest, appoint this request to go first."""
        probe = self._probe_of(origin)
        if probe is not None:
            return probe.request is request
        ready_at = self.ready_at(origin)
        if NEVER < ready_at <= time.monotonic():
            self._probes[origin] = _Probe(request, is_over)
            return True
        return ready_at == NEVER

    def is_probe(self, origin: Origin, request: Request) -> bool:
        """Whether a request goes first after a rest."""
        probe = self._probes.get(origin)
        return probe is not None and probe.request is request

    def _probe_of(self, origin: Origin) -> _Probe | None:
        probe = self._probes.get(origin)
        if probe is not None and probe.is_over(probe.request):
            del self._probes[origin]
            return None
        return probe

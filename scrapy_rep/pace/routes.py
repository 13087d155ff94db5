"""The proxies through which the pages of an origin came lately, and which of them have failed.

A proxy that is down answers 502, 503 or 429 itself, or does not answer. That is not the word of the
site, which other proxies show to be well. A limit of the site for the address of each proxy is
another case: these proxies bring good answers between the refusals, so the site is to be heeded.
If pages come through more proxies than are remembered, the first failure of a new one counts for
the site, which may have one limit for all. So does an answer with Retry-After, because a proxy that
is down names no time.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import inf

from scrapy import Request

from scrapy_rep.cache.memory import Lru
from scrapy_rep.engine.downloader import NEVER
from scrapy_rep.fetch.faults import PROXY
from scrapy_rep.protocol.access.origin import Origin
from scrapy_rep.protocol.extensions.rest import PageAnswer

_LATELY_SECONDS = 60.0  # for failures of one proxy: a limit causes them more often
_USED_SECONDS = 600.0  # a proxy that brought nothing for longer may not be used any more
_MOST = 16  # proxies of an origin, those used last: if as many fail, it is the origin
_OCTETS, _MOST_OCTETS = 4_000, 8_000_000  # for one origin, and for all


@dataclass(slots=True)
class _Route:
    """One way to an origin: through a proxy, or without one.

    Attributes:
        is_good: whether its last answer was good.
        at: when that came.
        since_at: when the first of its last failures came.
        failed_at: when the last of them came.
        alternates: whether it has brought a good answer to a request that was sent after the first.
    """

    is_good: bool = True
    at: float = NEVER
    since_at: float = inf
    failed_at: float = NEVER
    alternates: bool = False

    def heed(self, answer: PageAnswer) -> None:
        """Note an answer."""
        self.is_good, self.at = not (answer.is_refusal or answer.is_error), answer.at
        if self.is_good:
            self.alternates |= answer.sent_at > self.since_at
            return
        if answer.at - self.failed_at > _LATELY_SECONDS:
            self.since_at, self.alternates = answer.at, False
        self.failed_at = answer.at


class Routes:
    """The ways to the origins that a crawl visits through proxies."""

    def __init__(self) -> None:
        self._known: Lru[Origin, dict[str, _Route]] = Lru(_MOST_OCTETS)

    def has_failed(self, origins: Iterable[Origin], request: Request, answer: PageAnswer) -> bool:
        """Note an answer; whether it is a failure of its proxy, and not of the origin.

        So it is if the proxy has brought no good answer since its first failure, and the last
        answer through another proxy, or without one, was good.
        """
        proxy = str(request.meta.get(PROXY) or "")
        if not proxy and not self._known:  # as usual
            return False
        has_failed, is_of_site = False, not proxy or bool(answer.retry_after_seconds)
        for origin in origins:
            routes = self._known.get(origin)
            if routes is None:
                routes = {}
                self._known.put(origin, routes, _OCTETS)
            is_one_of_many = proxy not in routes and len(routes) == _MOST
            route = routes[proxy] = routes.pop(proxy, _Route())  # the last one
            if is_one_of_many:
                del routes[next(iter(routes))]
            route.heed(answer)
            if not (route.is_good or route.alternates or is_of_site or is_one_of_many):
                used = [one for one in routes.values() if answer.at - one.at < _USED_SECONDS]
                has_failed |= any(one.is_good for one in used)
        return has_failed

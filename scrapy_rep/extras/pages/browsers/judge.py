"""Verdicts on the requests that pages make in a crawl's browser.

Images, scripts, frames and requests of scripts do not pass Scrapy's middlewares. The middleware
gives the verdict. This module limits the time for it, counts it, and turns it into an answer to the
browser. A request that cannot be judged in time is refused. A request that robots.txt does not
govern is allowed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

from scrapy import Request

from scrapy_rep import stats
from scrapy_rep.decisions.decisions import Decisions
from scrapy_rep.engine.loops import Places, within
from scrapy_rep.policies import Policies
from scrapy_rep.protocol.access.origin import Origin
from scrapy_rep.protocol.errors import InvalidUri
from scrapy_rep.protocol.verdict import Reason, Verdict
from scrapy_rep.stats import Journal

if TYPE_CHECKING:
    from scrapy_rep.crawl import Crawl


Value = TypeVar("Value")

# A page may name thousands of hosts that never answer. Each takes a place of REP_CONCURRENT_FETCHES
# for longer than the browser waits. So pages get only a part of the places.
_SHARE = 8

_NO_VERDICT = Verdict(allowed=False, reason=Reason.UNREACHABLE)
_INVALID = Verdict(allowed=False, reason=Reason.INVALID_URI)


class BrowserJudge:
    """Judges the requests that pages make in the browser of one crawl.

    Attributes:
        is_hooked: whether the crawl's hook calls this package; the user may have another hook.
    """

    def __init__(
        self,
        crawl: Crawl,
        judge: Callable[[Request], Coroutine[Any, Any, Verdict | None]],
    ) -> None:
        """Take the crawl, and the function that judges its own requests."""
        self._journal = Journal(crawl.crawler, __name__)
        self._decisions = crawl.part(Decisions)
        self._settings = crawl.settings
        self._policies = crawl.part(Policies)
        self._judge = judge
        self._places = Places(max(1, crawl.settings.concurrent_fetches // _SHARE))
        self.is_hooked = False
        self._has_warned = False
        self._loop: asyncio.AbstractEventLoop | None = None

    def stay_here(self) -> None:
        """Remember the event loop of the crawl; the browser may have another one, in a thread."""
        self._loop = asyncio.get_running_loop()

    async def refusal(self, url: str, user_agent: str = "") -> Verdict | None:
        """The verdict that forbids a URL; None if the URL may be fetched.

        Does not raise. May be awaited in the loop of another thread.
        """
        return await self._there(self._refusal(url, user_agent))

    async def _there(self, work: Coroutine[Any, Any, Value]) -> Value:
        """Run a coroutine in the loop of the crawl."""
        loop = self._loop
        if loop is None or loop is asyncio.get_running_loop():
            return await work
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, loop))

    async def _refusal(self, url: str, user_agent: str) -> Verdict | None:
        request, verdict = await self._judged(url, user_agent)
        stat = stats.BROWSER_UNJUDGED if verdict is _NO_VERDICT else stats.BROWSER_ABORTED
        if not self._decisions.judged_in_browser(url, request, verdict, stat):
            return None
        self._journal.debug("A browser may not fetch %s: %s", url, verdict)
        return verdict

    async def _judged(self, url: str, user_agent: str) -> tuple[Request | None, Verdict | None]:
        """Turn a URL into a Scrapy request, if possible, and judge it."""
        request = None
        with suppress(ValueError):
            request = Request(url, headers={"User-Agent": user_agent} if user_agent else None)
        return request, await self._verdict(url, request)

    async def _verdict(self, url: str, request: Request | None) -> Verdict | None:
        """The verdict on a URL; None if robots.txt does not govern it."""
        try:
            origin = Origin.of(url)
            if origin is None:
                return None
            if request is None:
                return _INVALID
            work = self._in_turn(origin, request)
            return await within(self._settings.fetch_timeout_seconds, work)
        except InvalidUri:
            return _INVALID
        except TimeoutError:
            self._journal.debug("No verdict on %s in time", url)
        except Exception:  # noqa: BLE001 - it is logged
            self._journal.exception("Judging %s for a browser failed", url)
        return _NO_VERDICT

    async def _in_turn(self, origin: Origin, request: Request) -> Verdict | None:
        """Judge in turn, so that pages fetch few robots.txt files at a time."""
        policies = self._policies
        if policies.peek(origin, renew=False) is not None or policies.is_fetching(origin):
            return await self._judge(request)
        async with self._places.one():
            return await self._judge(request)

    async def note_slip(self, url: str, user_agent: str = "") -> None:
        """Judge a request that a browser has already sent; log it if it was not allowed."""
        await self._there(self._note_slip(url, user_agent))

    async def _note_slip(self, url: str, user_agent: str) -> None:
        request, verdict = await self._judged(url, user_agent)
        if verdict is None or verdict.allowed or self._settings.dry_run:
            return
        self._decisions.slipped(url, request, verdict)
        if not self._has_warned:
            self._has_warned = True
            self._journal.warning(
                "Browser was redirected to %s, which could not be stopped: %s. Further such "
                "redirects are only counted, as %s",
                url,
                verdict,
                stats.BROWSER_SLIPPED,
            )

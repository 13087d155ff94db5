"""Judges the requests of a page that Chromium pauses, unless a route has seen them.

Playwright's routes do not see redirects, nor requests that it does not know, such as links to
downloads, nor requests that a service worker passes to the network. So the requests of pages bypass
service workers.

A request that started earlier is not paused: its redirect is only counted.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from scrapy_rep.protocol.verdict import Verdict

_BLOCKED = "BlockedByClient"  # Playwright takes "Aborted" for a download
_REQUESTS_KEPT = 10_000  # per page, until they are redirected
_BYPASS_SECONDS = 10.0  # a browser that takes longer to answer is broken
_NO_COPIES = {"maxTotalBufferSize": 0, "maxResourceBufferSize": 0}

Refusal = Callable[[str], Awaitable[Verdict | None]]


async def pause_requests(page: Any, refusal: Refusal, stopped: Callable[[Verdict], None]) -> None:
    """Let Chromium pause the requests of a page from now on.

    Args:
        page: a page of Playwright.
        refusal: gives the verdict that forbids a URL; None if it may be fetched.
        stopped: called if a redirect of the page itself was stopped.

    Raises:
        Exception: from Playwright, if the browser is not Chromium or fails.
    """
    session = await page.context.new_cdp_session(page)
    info = await session.send("Target.getTargetInfo")
    # A page that is loading answers only once it has loaded, so its documents wait for the answer.
    bypassing = asyncio.gather(
        session.send("Network.enable", _NO_COPIES),
        session.send("Network.setBypassServiceWorker", {"bypass": True}),
    )
    paused = _Paused(session, info["targetInfo"]["targetId"], bypassing, refusal, stopped)
    session.on("Fetch.requestPaused", paused.take)
    await session.send("Fetch.enable", {"patterns": [{"urlPattern": "*"}]})


@dataclass(eq=False)
class _Paused:
    """The requests of one page."""

    _session: Any
    _main_frame: str
    _bypassing: asyncio.Future[Any]
    _refusal: Refusal
    _stopped: Callable[[Verdict], None]
    _routed: dict[str, None] = field(default_factory=dict)
    _tasks: set[asyncio.Future[None]] = field(default_factory=set)

    def take(self, event: dict[str, Any]) -> None:
        """Take a paused request."""
        task = asyncio.ensure_future(self._let_on(event))
        self._tasks.add(task)  # keeps the task alive
        task.add_done_callback(self._tasks.discard)

    async def _let_on(self, event: dict[str, Any]) -> None:
        """Continue a request, unless no route has judged it and its URL is forbidden."""
        is_stopped = not (self._is_of_page(event) or await self._bypasses_workers())
        if not self._has_route(event):
            refusal = await self._refusal(event["request"]["url"])
            is_stopped = is_stopped or refusal is not None
            if refusal is not None and event.get("redirectedRequestId") and self._is_of_page(event):
                self._stopped(refusal)
        answer: dict[str, Any] = {"requestId": event["requestId"]}
        with suppress(Exception):  # the page may be gone
            if is_stopped:
                await self._session.send("Fetch.failRequest", {**answer, "errorReason": _BLOCKED})
            else:
                await self._session.send("Fetch.continueRequest", answer)

    async def _bypasses_workers(self) -> bool:
        """Whether the requests of the page bypass service workers; waits for the answer."""
        if not self._bypassing.done():
            await asyncio.wait({self._bypassing}, timeout=_BYPASS_SECONDS)
        done = self._bypassing.done() and not self._bypassing.cancelled()
        return done and self._bypassing.exception() is None

    def _is_of_page(self, event: dict[str, Any]) -> bool:
        """Whether this is a navigation of the page itself."""
        return event.get("resourceType") == "Document" and event.get("frameId") == self._main_frame

    def _has_route(self, event: dict[str, Any]) -> bool:
        """Whether a route sees this request, or has seen it.

        Requests that Playwright does not know have no `networkId`. A worker's script keeps its id
        after a redirect, which is the only sign of one.
        """
        number = event.get("networkId")
        if event.get("redirectedRequestId") or not number or number in self._routed:
            return False
        self._routed[number] = None
        if len(self._routed) > _REQUESTS_KEPT:
            del self._routed[next(iter(self._routed))]
        return True

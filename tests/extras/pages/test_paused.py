"""Verdicts on requests that Chromium pauses, without a browser."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from scrapy_rep.extras.pages.browsers import paused
from scrapy_rep.protocol.verdict import Reason, Verdict

FRAME = "main"
NO = Verdict(allowed=False, reason=Reason.UNREACHABLE)


class Session:
    """One of Chromium's developer tools, which answers at once what it is asked."""

    def __init__(self, fails: str = "") -> None:
        self.fails = fails
        self.sent: list[tuple[str, Any]] = []
        self.listeners: dict[str, Callable[[dict[str, Any]], None]] = {}
        self.context = self  # the page's, and the page

    async def new_cdp_session(self, _: Any) -> Session:
        return self

    def on(self, event: str, listener: Callable[[dict[str, Any]], None]) -> None:
        self.listeners[event] = listener

    async def send(self, method: str, params: Any = None) -> Any:
        self.sent.append((method, params))
        if method == self.fails:
            raise RuntimeError("Target closed")
        return {"targetInfo": {"targetId": FRAME}}


def become(*events: dict[str, Any], fails: str = "") -> tuple[list[str], list[str], int]:
    """The outcome of paused requests, the judged URLs, and the number of redirects of the page."""
    judged: list[str] = []
    led: list[Verdict] = []

    async def refusal(url: str) -> Verdict | None:
        judged.append(url)
        return NO if "private" in url else None

    async def work() -> list[str]:
        session = Session(fails)
        await paused.pause_requests(session, refusal, led.append)
        for number, event in enumerate(events):
            session.listeners["Fetch.requestPaused"]({"requestId": str(number), **event})
            for _ in range(10):
                await asyncio.sleep(0)
        ends = {
            params["requestId"]: method.removeprefix("Fetch.").removesuffix("Request")
            for method, params in session.sent
            if method.endswith("Request")
        }
        return [ends[str(number)] for number in range(len(events))]

    with ThreadPoolExecutor() as elsewhere:  # the tests run in a loop already
        return elsewhere.submit(asyncio.run, work()).result(), judged, len(led)


def request(path: str, number: str = "1", **more: Any) -> dict[str, Any]:
    url = f"https://example.com{path}"
    return {"request": {"url": url}, "networkId": number, "resourceType": "Image", **more}


def test_request_with_a_route_is_not_judged_again() -> None:
    assert become(request("/private"), request("/private", "2")) == (["continue"] * 2, [], 0)


def test_redirects_are_judged() -> None:
    first, again = request("/a"), request("/private", redirectedRequestId="0")
    ends, judged, led = become(first, again, request("/open", redirectedRequestId="0"))
    assert ends == ["continue", "fail", "continue"]
    assert judged == ["https://example.com/private", "https://example.com/open"]
    assert led == 0


def test_repeated_script_of_a_worker_is_judged() -> None:
    assert become(request("/a"), request("/private"))[0] == ["continue", "fail"]


@pytest.mark.parametrize("number", [None, ""])
def test_request_unknown_to_playwright_is_judged(number: Any) -> None:
    ends, _, _ = become(request("/private", number), request("/open", number))
    assert ends == ["fail", "continue"]


@pytest.mark.parametrize(
    ("event", "led"),
    [
        ({"resourceType": "Document", "frameId": FRAME, "redirectedRequestId": "0"}, 1),
        ({"resourceType": "Document", "frameId": "inner", "redirectedRequestId": "0"}, 0),
        ({"resourceType": "Image", "frameId": FRAME, "redirectedRequestId": "0"}, 0),
        # A link to a download, say: the page is where it was.
        ({"resourceType": "Document", "frameId": FRAME, "networkId": ""}, 0),
    ],
)
def test_redirects_of_the_page_are_counted(event: dict[str, Any], led: int) -> None:
    assert become(request("/private", **event))[2] == led


@pytest.mark.parametrize("method", ["Network.enable", "Network.setBypassServiceWorker"])
def test_workers_that_cannot_be_bypassed(method: str) -> None:
    """Only the page itself goes on, which has to arrive before a session answers."""
    page = request("/page", "2", resourceType="Document", frameId=FRAME)
    assert become(page, request("/a"), fails=method)[0] == ["continue", "fail"]

"""The process of a scripted site, started by ``handle.Site``.

HTTP/1.1 over plain sockets or TLS, on a port of the system's choice, by hand: a real HTTP server
would not be talked into most of the faults.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import struct
import time
from collections import Counter
from collections.abc import Mapping
from typing import Any, NamedTuple

from tests.servers.answers import Answer, Sequence, from_json, redirect
from tests.servers.control import answer_questions, questions, say
from tests.servers.sending import send

# Linux' ``struct tcp_info`` up to ``tcpi_last_data_recv``: 8 octets, then 12 numbers, in ms.
_TCP_INFO = struct.Struct("@8x12I")
_CLOCK_MONOTONIC_COARSE = 6


class Request(NamedTuple):
    """A request as the site records it; ``at`` is when it came, monotonic, in seconds."""

    method: str
    path: str
    at: float
    headers: dict[str, str]


class ScriptedSite:
    """Routes, how often each was asked, and everything that was asked."""

    def __init__(self, routes: Mapping[str, Sequence], default: Sequence) -> None:
        self._routes = dict(routes)
        self._default = default
        self._times_asked: Counter[str] = Counter()
        self._first_at: dict[str, float] = {}
        self._requests: list[Request] = []

    def answer(self, path: str) -> Answer:
        """The next answer of the path's route: its own, the longest prefix's, or the default."""
        prefixes = (key for key in self._routes if key[-1:] == "*" and path.startswith(key[:-1]))
        key = path if path in self._routes else max(prefixes, key=len, default="")
        answers = self._routes.get(key, self._default)
        now = time.monotonic()
        if now < self._first_at.setdefault(key, now) + answers[0].lasts_seconds:
            return answers[0]
        number = self._times_asked[key] + (answers[0].lasts_seconds > 0)
        self._times_asked[key] += 1
        return answers[number]

    def reply(self, question: Mapping[str, Any]) -> Any:
        """An order of the owner: the requests from a number on, or a change of routes."""
        if "since" in question:
            return self._requests[question["since"] :]
        routes = from_json(question["routes"])
        self._routes.update(routes)
        for key in routes:
            del self._times_asked[key]
            self._first_at.pop(key, None)
        return True

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection until either side has had enough."""
        with contextlib.suppress(OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            while await self._exchange(reader, writer):
                await writer.drain()
            await writer.drain()
        writer.close()
        with contextlib.suppress(OSError):
            await writer.wait_closed()

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        request = await _read_request(reader, writer.get_extra_info("socket"))
        self._requests.append(request)
        answer = _before_wall(self.answer(request.path), request)
        keep = await send(writer, answer, request.method, request.headers)
        return keep and request.headers.get("connection", "").lower() != "close"


def _before_wall(answer: Answer, request: Request) -> Answer:
    """The answer to a client that may lack the cookie of a wall."""
    cookie, location = answer.wall or ("", "")
    if not cookie or cookie in request.headers.get("cookie", "").split("; "):
        return answer
    if location:
        return redirect(location, 302)
    headers = [("Location", request.path), ("Set-Cookie", f"{cookie}; Path=/")]
    return Answer(status=302, headers=headers)


async def _read_request(reader: asyncio.StreamReader, of: Any) -> Request:
    head = await reader.readuntil(b"\r\n\r\n")
    request_line, *lines = head[:-4].decode("latin-1").split("\r\n")
    method, path, _ = request_line.split(" ", 2)
    pairs = (line.partition(":") for line in lines)
    headers = {name.strip().lower(): value.strip() for name, _, value in pairs}
    await reader.readexactly(int(headers.get("content-length", 0)))
    # The clock is read last: if this process loses its turn between the two, the request seems to
    # come later than it did, and never earlier.
    return Request(method, path, time.monotonic() - age_seconds(of), headers)


def age_seconds(of: Any) -> float:
    """How long ago, at least, the last octets of a connection came; 0.0 if unknown.

    A busy machine lets this process wait. The time when the client wrote counts.
    The kernel counts in ticks (4 ms as most are built) and may tell one too many. It is taken
    off: no request may seem to come before the answer that it was sent after.
    """
    if not hasattr(socket, "TCP_INFO"):
        return 0.0
    told = of.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _TCP_INFO.size)
    if len(told) != _TCP_INFO.size:
        return 0.0
    tick_seconds = time.clock_getres(_CLOCK_MONOTONIC_COARSE)
    age_milliseconds: int = _TCP_INFO.unpack(told)[-1]
    return max(0.0, age_milliseconds / 1000 - tick_seconds)


async def main() -> None:
    """Serve the script on standard input until standard input ends."""
    lines = await questions()
    script = json.loads(await lines.readline())
    site = ScriptedSite(
        from_json(script["routes"]), from_json({"default": script["default"]})["default"]
    )
    server = await asyncio.start_server(
        site.serve, script["address"], 0, ssl=tls(script["certificate"]), backlog=1024
    )
    say({"port": server.sockets[0].getsockname()[1]})
    await answer_questions(lines, site.reply)


def tls(certificate: str | None) -> Any:
    if certificate is None:
        return None
    import ssl

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    return context

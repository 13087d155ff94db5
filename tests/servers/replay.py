"""A proxy that answers for thousands of sites at once, from a file of real robots.txt files.

    with Replay(corpus) as replay:
        ... every request through replay.proxy_url ... replay.requested() ...

The corpus holds a JSON object a line, gzipped: ``host`` and ``body_b64``. The proxy runs in a
process of its own (``python -m tests.servers.replay``) and is made to be no bottleneck.
"""

from __future__ import annotations

import asyncio
import base64
import gzip
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from tests.servers.control import ServerProcess, answer_questions, questions, say


class Replay(ServerProcess):
    """The test's side: a proxy for plain http URLs, named by ``proxy_url``."""

    def __init__(self, corpus: Path) -> None:
        self._requested: list[str] = []
        super().__init__("tests.servers.replay", {"corpus": str(corpus.resolve())})
        self.proxy_url = f"http://127.0.0.1:{self.hello['port']}"

    def requested(self) -> list[str]:
        """Every absolute URL so far, in the order of arrival."""
        self._requested += self.ask({"since": len(self._requested)})
        return list(self._requested)


def _response(status: str, body: bytes, content_type: str = "text/plain") -> bytes:
    head = f"HTTP/1.1 {status}\r\nContent-Type: {content_type}\r\nContent-Length: {len(body)}\r\n"
    return head.encode() + b"\r\n" + body


_PAGE = _response("200 OK", b"<p>page", "text/html")
_NOT_FOUND = _response("404 Not Found", b"")
_NOT_A_PROXY_REQUEST = _response("400 Bad Request", b"only absolute http URLs are answered")


class _Connection(asyncio.Protocol):
    """One client: requests without bodies, kept alive, pipelined or not."""

    _transport: asyncio.Transport

    def __init__(self, robots: Mapping[str, bytes], requested: list[str]) -> None:
        self._robots = robots
        self._requested = requested
        self._unread = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        *heads, self._unread = (self._unread + data).split(b"\r\n\r\n")
        self._transport.write(b"".join(map(self._answer, heads)))

    def _answer(self, head: bytes) -> bytes:
        _, url, *_ = head.decode("latin-1").split(None, 2)
        self._requested.append(url)
        scheme, _, rest = url.partition("://")
        if scheme != "http":
            return _NOT_A_PROXY_REQUEST
        host, _, path = rest.partition("/")
        if path != "robots.txt":
            return _PAGE
        return self._robots.get(host, _NOT_FOUND)


def _load(corpus: str) -> dict[str, bytes]:
    with gzip.open(corpus, "rb") as lines:
        files = map(json.loads, lines)
        return {
            file["host"]: _response("200 OK", base64.b64decode(file["body_b64"])) for file in files
        }


async def main() -> None:
    """Serve the corpus named on standard input until standard input ends."""
    lines = await questions()
    robots = _load(json.loads(await lines.readline())["corpus"])
    requested: list[str] = []
    server = await asyncio.get_running_loop().create_server(
        lambda: _Connection(robots, requested), "127.0.0.1", 0, backlog=1024
    )
    say({"port": server.sockets[0].getsockname()[1]})

    def reply(question: Mapping[str, Any]) -> list[str]:
        return requested[question["since"] :]

    await answer_questions(lines, reply)

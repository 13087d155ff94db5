"""Sites of HTTP/2, each of which does one thing to every request, in one process.

with Http2Sites(["a file", "reset"]) as sites:
    ... sites.url("reset", "/robots.txt") ...
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import ssl
import time
from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from typing import Any

from tests.servers.control import ServerProcess, answer_questions, questions, say
from tests.servers.handle import Seen, certificate
from tests.servers.sending import reset

_FILE = b"User-agent: *\nDisallow: /a\n"
_BUSY = [(":status", "429"), ("retry-after", "1")]
_HEAD = [(":status", "200"), ("content-type", "text/plain")]
_CANCEL = 8  # RFC 9113, 7


class Http2Sites(ServerProcess):
    """The test's side."""

    def __init__(self, kinds: Sequence[str]) -> None:
        script = {"kinds": list(kinds), "certificate": str(certificate())}
        super().__init__("tests.servers.h2site", script)

    def url(self, kind: str, path: str = "/") -> str:
        """The URL of a path of the site of a kind."""
        return f"https://127.0.0.1:{self.hello[kind]}{path}"

    def requests(self) -> list[Seen]:
        """All requests until now. The authority is in `host`."""
        return [Seen(**one) for one in self.ask("requests")]


def _answer(connection: Any, kind: str, stream: int, path: str, number: int) -> None:
    if kind == "busy at first" and number < 4 and path != "/robots.txt":
        connection.send_headers(stream, _BUSY, end_stream=True)
    elif path != "/robots.txt" or kind in ("a file", "busy at first"):
        connection.send_headers(stream, _HEAD)
        connection.send_data(stream, _FILE, end_stream=True)
    elif kind == "a reset stream":
        connection.reset_stream(stream, _CANCEL)
    elif kind == "goaway":
        connection.close_connection(error_code=2)
    elif kind == "endless headers":
        connection.send_headers(stream, [*_HEAD, *[("x-flood", "x" * 1000)] * 100])
    elif kind == "an announced body that is not there":
        connection.send_headers(
            stream, [*_HEAD, ("content-length", str(len(_FILE)))], end_stream=True
        )
    elif kind != "reset":
        connection.send_headers(stream, _HEAD)
        connection.send_data(stream, _FILE[:14])
        if kind == "a reset stream amid the body":
            connection.reset_stream(stream, _CANCEL)


async def _serve(
    kind: str,
    requests: list[dict[str, Any]],
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
) -> None:
    from h2.config import H2Configuration
    from h2.connection import H2Connection
    from h2.events import RequestReceived

    connection = H2Connection(H2Configuration(client_side=False))
    connection.initiate_connection()
    numbers = itertools.count()
    with contextlib.suppress(OSError):
        while not writer.is_closing():
            writer.write(connection.data_to_send())
            await writer.drain()
            data = await reader.read(1 << 16)
            if not data:
                break
            for event in connection.receive_data(data):
                if isinstance(event, RequestReceived):
                    headers = {name.decode(): value.decode() for name, value in event.headers}
                    path = headers[":path"]
                    headers["host"] = headers.get(":authority", "")
                    seen = Seen(headers[":method"], path, time.monotonic(), headers)
                    requests.append(asdict(seen))
                    _answer(connection, kind, event.stream_id, path, next(numbers))
                    writer.write(connection.data_to_send())
                    if path == "/robots.txt" and kind in ("reset", "a reset amid the body"):
                        await asyncio.sleep(0.05)
                        reset(writer)
    writer.close()


async def main() -> None:
    """Serve the kinds on standard input until standard input ends."""
    lines = await questions()
    script = json.loads(await lines.readline())
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(script["certificate"])
    context.set_alpn_protocols(["h2"])
    servers = {}
    requests: list[dict[str, Any]] = []
    for kind in script["kinds"]:
        servers[kind] = await asyncio.start_server(
            partial(_serve, kind, requests), "127.0.0.1", 0, ssl=context
        )
    say({kind: server.sockets[0].getsockname()[1] for kind, server in servers.items()})
    await answer_questions(lines, lambda _: requests)

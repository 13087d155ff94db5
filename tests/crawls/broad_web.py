"""A web of many hosts on loopback: each address in 127/8 is a host."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

_RULES = b"User-agent: *\nDisallow: /no\n"
_PAGE = b"<html>a page</html>"


def host_of(number: int) -> str:
    """The address of a host."""
    return f"127.{1 + number // 62500}.{number // 250 % 250}.{1 + number % 250}"


@contextmanager
def broad_web(delay_seconds: float = 0.0) -> Iterator[int]:
    """Serve all hosts at one port, in a thread of this process."""
    ready: threading.Event = threading.Event()
    found: list[tuple[asyncio.AbstractEventLoop, int]] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, asyncio.IncompleteReadError):
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                is_file = b" /robots.txt " in head
                kind, body = (b"text/plain", _RULES) if is_file else (b"text/html", _PAGE)
                await asyncio.sleep(delay_seconds)
                lines = b"HTTP/1.1 200 OK\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n"
                writer.write(lines % (kind, len(body)) + body)
                await writer.drain()
        writer.close()

    async def main() -> None:
        server = await asyncio.start_server(serve, "0.0.0.0", 0, backlog=1024)
        found.append((asyncio.get_running_loop(), server.sockets[0].getsockname()[1]))
        ready.set()
        with suppress(asyncio.CancelledError):
            await server.serve_forever()

    async def whole() -> None:
        tasks.append(asyncio.ensure_future(main()))
        await tasks[0]

    tasks: list[asyncio.Future[None]] = []
    thread = threading.Thread(target=lambda: asyncio.run(whole()), daemon=True)
    thread.start()
    ready.wait(30)
    loop, port = found[0]
    try:
        yield port
    finally:
        loop.call_soon_threadsafe(tasks[0].cancel)
        thread.join(30)

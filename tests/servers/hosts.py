"""Many hosts at once: the neighbours of 127.0.0.1, behind one port.

    with Hosts(count=100, links=600) as hosts:
        ... hosts.url(0, "/links") ... hosts.requests() ...

`/links` of any host is a page that links to `links` pages, in turn to the hosts; each host has a
robots.txt of its own. Runs in a process of its own (``python -m tests.servers.hosts``).
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from collections.abc import Mapping
from typing import Any, NamedTuple

from tests.servers.control import ServerProcess, answer_questions, questions, say


class Asked(NamedTuple):
    """A request: the number of the host, its path, and when it came, in monotonic seconds."""

    host: int
    path: str
    at: float


def address(number: int) -> str:
    """The address of a host by its number."""
    return f"127.0.{1 + number // 250}.{1 + number % 250}"


class Hosts(ServerProcess):
    """The test's side.

    Args:
        count: how many hosts there are.
        links: how many links `/links` has.
        delays: the Crawl-delay of hosts that set one.
        page_seconds: how long each page takes; `/links` takes no time.
    """

    def __init__(
        self,
        count: int,
        links: int = 0,
        *,
        delays: Mapping[int, float] | None = None,
        page_seconds: float = 0.0,
    ) -> None:
        self._seen: list[Asked] = []
        self.link_count = links
        script = {
            "count": count,
            "links": links,
            "delays": {str(number): delay for number, delay in (delays or {}).items()},
            "page_seconds": page_seconds,
        }
        super().__init__("tests.servers.hosts", script)
        self.port: int = self.hello["port"]

    def url(self, number: int, path: str = "/") -> str:
        """The URL of a path of a host."""
        return f"http://{address(number)}:{self.port}{path}"

    def requests(self) -> list[Asked]:
        """Every request so far, in the order of arrival."""
        self._seen += [Asked(*one) for one in self.ask({"since": len(self._seen)})]
        return list(self._seen)

    def pages(self) -> list[tuple[int, str]]:
        """The host and path of every request for a page that is linked."""
        return [(one.host, one.path) for one in self.requests() if one.path.startswith("/page/")]

    def robots_txts(self) -> list[Asked]:
        """Every request for a robots.txt."""
        return [one for one in self.requests() if one.path == "/robots.txt"]


class _Server:
    def __init__(self, script: Mapping[str, Any]) -> None:
        self._script = script
        self._numbers = {address(number): number for number in range(script["count"])}
        self._asked: list[Asked] = []
        self.port = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
                path = head.split(" ", 2)[1]
                name = head.lower().split("\r\nhost: ", 1)[1].split("\r\n", 1)[0]
                number = self._numbers[name.split(":")[0]]
                self._asked.append(Asked(number, path, time.monotonic()))
                body = await self._body(number, path)
                kind = "text/plain" if path == "/robots.txt" else "text/html"
                lines = f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}"
                writer.write(f"{lines}\r\n\r\n{body}".encode())
                await writer.drain()
        writer.close()

    async def _body(self, number: int, path: str) -> str:
        if path == "/robots.txt":
            delay = self._script["delays"].get(str(number))
            return "User-agent: *\n" + (f"Crawl-delay: {delay:g}\n" if delay else "")
        if path == "/links":
            count = self._script["count"]
            return "\n".join(
                f'<a href="http://{address(link % count)}:{self.port}/page/{link}">a page</a>'
                for link in range(self._script["links"])
            )
        await asyncio.sleep(self._script["page_seconds"])
        return "a page"

    def reply(self, question: Mapping[str, Any]) -> Any:
        return self._asked[question["since"] :]


async def main() -> None:
    """Serve until standard input ends."""
    lines = await questions()
    server = _Server(json.loads(await lines.readline()))
    listener = await asyncio.start_server(server.serve, "0.0.0.0", 0, backlog=2048)
    server.port = listener.sockets[0].getsockname()[1]
    say({"port": server.port})
    await answer_questions(lines, server.reply)

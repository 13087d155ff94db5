"""A small FTP server in a process of its own: as much of RFC 959 as Scrapy asks for.

with Ftp({"robots.txt": "User-agent: *"}) as ftp:
    ... ftp.url("a.txt") ... ftp.asked() ...
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping

from tests.servers.control import ServerProcess, answer_questions, questions, say


class Ftp(ServerProcess):
    """The test's side: an anonymous server of some files."""

    def __init__(self, files: Mapping[str, str]) -> None:
        super().__init__("tests.faults.ftp", dict(files))
        self.port: int = self.hello

    def url(self, name: str) -> str:
        """The URL of a file, whether it is there or not."""
        return f"ftp://127.0.0.1:{self.port}/{name}"

    def asked(self) -> list[str]:
        """The names of the files that were asked for, in order."""
        names: list[str] = self.ask("asked")
        return names


class _Server:
    def __init__(self, files: Mapping[str, str]) -> None:
        self.files = files
        self.asked: list[str] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        data: asyncio.Queue[asyncio.StreamWriter] = asyncio.Queue()
        writer.write(b"220 ready\r\n")
        while line := await reader.readline():
            word, _, argument = line.decode().strip().partition(" ")
            if word == "PASV":
                server = await asyncio.start_server(lambda _, sink: data.put(sink), "127.0.0.1", 0)
                port = server.sockets[0].getsockname()[1]
                writer.write(b"227 (127,0,0,1,%d,%d)\r\n" % divmod(port, 256))
            elif word == "RETR":
                await self._send(argument.lstrip("/"), writer, await data.get())
            else:
                replies = {"USER": b"331 ?", "PASS": b"230 in", "QUIT": b"221 bye"}
                writer.write(replies.get(word, b"200 ok") + b"\r\n")
            await writer.drain()

    async def _send(
        self, name: str, writer: asyncio.StreamWriter, sink: asyncio.StreamWriter
    ) -> None:
        self.asked.append(name)
        if name in self.files:
            writer.write(b"150 here it comes\r\n")
            sink.write(self.files[name].encode())
            await sink.drain()
            writer.write(b"226 done\r\n")
        else:
            writer.write(b"550 no such file\r\n")
        sink.close()


async def main() -> None:
    """Serve the files on standard input until standard input ends."""
    lines = await questions()
    server = _Server(json.loads(await lines.readline()))
    listener = await asyncio.start_server(server.serve, "127.0.0.1", 0)
    say(listener.sockets[0].getsockname()[1])
    await answer_questions(lines, lambda _: server.asked)


if __name__ == "__main__":
    asyncio.run(main())

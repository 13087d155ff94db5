"""A small FTP server in a process of its own: the part of RFC 959 that Scrapy uses.

with Ftp({"robots.txt": "User-agent: *"}) as ftp:
    ... ftp.url("a.txt") ... ftp.asked() ... ftp.sent_octets() ...
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from collections.abc import Mapping
from typing import Literal

from tests.servers.control import ServerProcess, answer_questions, questions, say
from tests.servers.sending import reset

Manner = Literal[
    "none",
    "endless",  # the file, then comment lines until the client goes away
    "silent",  # takes the connection for data, and sends nothing over it
    "slow",  # the file, then a comment line now and then
    "reset",  # the file, then RST, though all is said to be well
    "talkative",  # greets until the client goes away
    "mute",  # does not even greet
]


SLOW_PIECE = b"# and so on\n"


class Ftp(ServerProcess):
    """The test's side: an anonymous server of some files, with manners in sending robots.txt."""

    def __init__(self, files: Mapping[str, str], manner: Manner = "none") -> None:
        super().__init__("tests.faults.ftp", {"files": dict(files), "manner": manner})
        self.port: int = self.hello

    def url(self, name: str) -> str:
        """The URL of a file, whether it is there or not."""
        return f"ftp://127.0.0.1:{self.port}/{name}"

    def asked(self) -> list[str]:
        """The names of the requested files, in order."""
        names: list[str] = self.ask("asked")
        return names

    def login(self) -> list[str]:
        """The user name and the password of the last client."""
        login: list[str] = self.ask("login")
        return login

    def sent_octets(self) -> int:
        """How much the server has sent beyond its files."""
        octets: int = self.ask("octets")
        return octets

    def connections(self) -> int:
        """How many clients stay connected; the server may take a moment to notice that one left."""
        patience_ends_at = time.monotonic() + 2
        while (count := int(self.ask("connections"))) and time.monotonic() < patience_ends_at:
            time.sleep(0.05)
        return count


class _Server:
    def __init__(self, files: Mapping[str, str], manner: Manner) -> None:
        self.files = files
        self.manner = manner
        self.asked: list[str] = []
        self.login: list[str] = []
        self.octets = 0
        self.connections = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            with contextlib.suppress(OSError):
                await self._converse(reader, writer)
        finally:
            self.connections -= 1
            writer.close()

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        data: asyncio.Queue[asyncio.StreamWriter] = asyncio.Queue()
        if self.manner == "talkative":
            await self._pour(writer, b"220-welcome\r\n" * 100, 0.0)
        if self.manner != "mute":
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
                if word in ("USER", "PASS"):
                    self.login = [*self.login[-1:], argument]
                replies = {"USER": b"331 ?", "PASS": b"230 in", "QUIT": b"221 bye"}
                writer.write(replies.get(word, b"200 ok") + b"\r\n")
            await writer.drain()

    async def _send(
        self, name: str, writer: asyncio.StreamWriter, sink: asyncio.StreamWriter
    ) -> None:
        self.asked.append(name)
        if name in self.files:
            writer.write(b"150 here it comes\r\n")
            if self.manner == "silent" and name == "robots.txt":
                return
            sink.write(self.files[name].encode())
            await sink.drain()
            if name == "robots.txt":
                with contextlib.suppress(OSError):
                    await self._misbehave(sink)
            writer.write(b"226 done\r\n")
        else:
            writer.write(b"550 no such file\r\n")
        sink.close()

    async def _misbehave(self, sink: asyncio.StreamWriter) -> None:
        if self.manner == "endless":
            await self._pour(sink, b"# and so on\n" * 1000, 0.0)
        elif self.manner == "slow":
            await self._pour(sink, SLOW_PIECE, 0.2)
        elif self.manner == "reset":
            await asyncio.sleep(0.05)
            reset(sink)

    async def _pour(self, sink: asyncio.StreamWriter, piece: bytes, pause_seconds: float) -> None:
        while not sink.is_closing():
            sink.write(piece)
            self.octets += len(piece)
            await sink.drain()
            await asyncio.sleep(pause_seconds)


async def main() -> None:
    """Serve the files on standard input until standard input ends."""
    lines = await questions()
    server = _Server(**json.loads(await lines.readline()))
    listener = await asyncio.start_server(server.serve, "127.0.0.1", 0)
    say(listener.sockets[0].getsockname()[1])
    await answer_questions(lines, lambda name: getattr(server, name))

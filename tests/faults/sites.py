"""Many scripted sites in one process, each on a port of its own.

with Sites({"one": Plan({"/robots.txt": Answer(status=503)}), "two": Plan({})}) as sites:
    ... sites.url("one", "/a") ... sites.paths("one") ...
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

from tests.servers.answers import Answer, Scripted, Sequence, from_json, to_json
from tests.servers.control import ServerProcess, answer_questions, questions, say
from tests.servers.handle import certificate
from tests.servers.sending import reset
from tests.servers.site import ScriptedSite, tls

_PAGE = Answer(body="page")


@dataclass(frozen=True)
class Plan:
    """What a site answers.

    Attributes:
        routes: path to answer; ``{name}`` in a Location header is the address of another site,
            ``{name with credentials}`` likewise.
        scheme: of its URLs.
        is_open: whether anybody listens.
        host: what its URLs say; another than 127.0.0.1 or localhost is never found.
        greets: octets sent to every client before all else, as a server of no HTTP does.
        hangs_up: how it ends every connection before it says or reads anything, if it does.
        tls: whether it speaks TLS, with a certificate that nobody vouches for.
    """

    routes: Mapping[str, Scripted] = field(default_factory=dict)
    scheme: str = "http"
    is_open: bool = True
    host: str = "127.0.0.1"
    greets: str = ""
    hangs_up: Literal["", "close", "reset"] = ""
    tls: bool = False


class Sites(ServerProcess):
    """The test's side."""

    def __init__(self, plans: Mapping[str, Plan]) -> None:
        self._plans = plans
        script = {
            name: {
                **vars(plan),
                "routes": to_json(plan.routes),
                "certificate": str(certificate()) if plan.tls else None,
            }
            for name, plan in plans.items()
        }
        super().__init__("tests.faults.sites", script)
        self.ports: dict[str, int] = self.hello

    def url(self, name: str, path: str = "/") -> str:
        """The URL of a path of a site."""
        plan = self._plans[name]
        return f"{'https' if plan.tls else plan.scheme}://{plan.host}:{self.ports[name]}{path}"

    def forget(self) -> None:
        """Begin anew: every sequence at its first answer, and with no requests seen."""
        self.ask("forget")

    def paths(self) -> dict[str, list[str]]:
        """The paths of every site's requests, in the order of arrival."""
        paths: dict[str, list[str]] = self.ask("paths")
        return paths


async def _greet(greeting: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        writer.write(greeting.encode())
        await writer.drain()
        await reader.read(1)
    writer.close()


async def main() -> None:
    """Serve the plans on standard input until standard input ends."""
    lines = await questions()
    script = json.loads(await lines.readline())
    sites: dict[str, ScriptedSite] = {}
    ports: dict[str, int] = {}
    servers = []
    refusing: list[socket.socket] = []

    async def serve(name: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        greeting, hangs_up = script[name]["greets"], script[name]["hangs_up"]
        if hangs_up:
            (reset if hangs_up == "reset" else asyncio.StreamWriter.close)(writer)
        elif greeting:
            await _greet(greeting, reader, writer)
        else:
            await sites[name].serve(reader, writer)

    for name, plan in script.items():
        listener = socket.socket()
        listener.bind(("127.0.0.1", 0))
        ports[name] = listener.getsockname()[1]
        if plan["is_open"]:
            servers.append(
                await asyncio.start_server(
                    partial(serve, name), sock=listener, backlog=256, ssl=tls(plan["certificate"])
                )
            )
        else:  # bound, so that nobody else gets the port, and refused since nobody listens
            refusing.append(listener)
    addresses = {name: f"http://127.0.0.1:{port}" for name, port in ports.items()}
    addresses |= {
        f"{name} with credentials": f"http://user:secret@127.0.0.1:{port}"
        for name, port in ports.items()
    }

    def reply(question: str) -> Any:
        if question == "paths":
            return {name: [request.path for request in s._requests] for name, s in sites.items()}
        for name, plan in script.items():
            routes = {
                path: _located(sequence, addresses)
                for path, sequence in from_json(plan["routes"]).items()
            }
            sites[name] = ScriptedSite(routes, Sequence([_PAGE]))
        return True

    reply("forget")
    say(ports)
    await answer_questions(lines, reply)


def _located(sequence: Sequence, addresses: Mapping[str, str]) -> Sequence:
    """The sequence with the addresses of sites in its Location headers."""
    answers = []
    for answer in sequence.answers:
        headers = [(name, _filled(value, addresses)) for name, value in answer.headers]
        answers.append(Answer(**{**vars(answer), "headers": headers}))
    return Sequence(answers, sequence.cycle)


def _filled(value: str, addresses: Mapping[str, str]) -> str:
    for name, address in addresses.items():
        value = value.replace(f"{{{name}}}", address)
    return value

"""Many scripted sites in one process, each on a port of its own.

with Sites({"one": Plan({"/robots.txt": Answer(status=503)}), "two": Plan({})}) as sites:
    ... sites.url("one", "/a") ... sites.paths("one") ...

With `is_everywhere`, each is at every address 127.x.y.z, and is another site at each: with requests
and sequences of its own, and redirects to others at the same address.
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

_HOME = "127.0.0.1"
_PAGE = Answer(body="page")


@dataclass(frozen=True)
class Plan:
    """The answers of a site.

    Attributes:
        routes: path to answer; ``{name}`` in a Location header is the address of another site,
            ``{name with credentials}`` likewise.
        scheme: of its URLs.
        is_open: whether it accepts connections.
        host: what its URLs say; another than 127.0.0.1 or localhost is never found.
        greets: octets sent to every client before all else, as a server of no HTTP does.
        hangs_up: how it ends every connection before it says or reads anything, if it does.
        tls: whether it speaks TLS, with a certificate of its own.
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

    def __init__(self, plans: Mapping[str, Plan], *, is_everywhere: bool = False) -> None:
        self._plans = plans
        scripts = {
            name: {
                **vars(plan),
                "routes": to_json(plan.routes),
                "certificate": str(certificate()) if plan.tls else None,
            }
            for name, plan in plans.items()
        }
        listens_at = "0.0.0.0" if is_everywhere else _HOME
        super().__init__("tests.faults.sites", {"plans": scripts, "listens_at": listens_at})
        self.ports: dict[str, int] = self.hello

    def url(self, name: str, path: str = "/", address: str = _HOME) -> str:
        """The URL of a path of a site, the one at an address."""
        plan = self._plans[name]
        host = plan.host
        if address != _HOME:
            host = address if host == _HOME else f"{address.replace('.', '-')}.{host}"
        return f"{'https' if plan.tls else plan.scheme}://{host}:{self.ports[name]}{path}"

    def forget(self) -> None:
        """Go back to the first answer of every sequence, and forget all requests."""
        self.ask("forget")

    def paths(self) -> dict[str, list[str]]:
        """The paths of every site's requests, in the order of arrival."""
        paths: dict[str, list[str]] = self.ask("paths")
        return paths

    def asked(self) -> dict[str, dict[str, int]]:
        """The number of requests for each robots.txt, by the name and the address of its site."""
        asked: dict[str, dict[str, int]] = self.ask("asked")
        return asked


async def _greet(greeting: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        writer.write(greeting.encode())
        await writer.drain()
        await reader.read(1)
    writer.close()


class _Everywhere:
    """The sites by name and by the address of the request."""

    def __init__(self, script: Mapping[str, Any], ports: Mapping[str, int]) -> None:
        self._routes = {name: from_json(plan["routes"]) for name, plan in script.items()}
        self._ports = ports
        self.forget()

    def forget(self) -> None:
        """Forget all requests and sequences."""
        self.sites: dict[str, dict[str, ScriptedSite]] = {name: {} for name in self._routes}

    def site(self, name: str, address: str) -> ScriptedSite:
        """A site, which is made at its first use."""
        if address not in self.sites[name]:
            addresses = {one: f"http://{address}:{port}" for one, port in self._ports.items()}
            addresses |= {
                f"{one} with credentials": f"http://user:secret@{address}:{port}"
                for one, port in self._ports.items()
            }
            routes = {
                path: _located(sequence, addresses) for path, sequence in self._routes[name].items()
            }
            self.sites[name][address] = ScriptedSite(routes, Sequence([_PAGE]))
        return self.sites[name][address]

    def reply(self, question: str) -> Any:
        """The answer to a question of the owner."""
        if question == "paths":
            return {
                name: [request.path for site in sites.values() for request in site._requests]
                for name, sites in self.sites.items()
            }
        if question == "asked":
            return {
                name: {
                    address: sum(request.path == "/robots.txt" for request in site._requests)
                    for address, site in sites.items()
                }
                for name, sites in self.sites.items()
            }
        self.forget()
        return True


async def main() -> None:
    """Serve the plans on standard input until standard input ends."""
    lines = await questions()
    script = json.loads(await lines.readline())
    plans = script["plans"]
    ports: dict[str, int] = {}
    servers = []
    refusing: list[socket.socket] = []

    async def serve(name: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        greeting, hangs_up = plans[name]["greets"], plans[name]["hangs_up"]
        if hangs_up:
            (reset if hangs_up == "reset" else asyncio.StreamWriter.close)(writer)
        elif greeting:
            await _greet(greeting, reader, writer)
        else:
            address = writer.get_extra_info("sockname")[0]
            await everywhere.site(name, address).serve(reader, writer)

    for name, plan in plans.items():
        listener = socket.socket()
        listener.bind((script["listens_at"], 0))
        ports[name] = listener.getsockname()[1]
        if plan["is_open"]:
            servers.append(
                await asyncio.start_server(
                    partial(serve, name), sock=listener, backlog=256, ssl=tls(plan["certificate"])
                )
            )
        else:  # bound, so that the port stays free of other servers
            refusing.append(listener)
    everywhere = _Everywhere(plans, ports)
    say(ports)
    await answer_questions(lines, everywhere.reply)


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

"""A site that answers 200 only to requests with a signature that it has verified.

It has read RFC 9421 for itself: it shares no code with scrapy_rep. It speaks HTTP/1.1 on one port,
and HTTP/1.1 and HTTP/2 over TLS on another, and takes any host for its own. The first request of a
URL is answered by `Accept-Signature`, which names all components that a target has.

with VerifyingSite(public) as site:
    ... site.ports["https"] ... site.refused() ...
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import ssl
import time
from base64 import b64decode
from collections.abc import Mapping
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from tests.servers.control import ServerProcess, answer_questions, questions, say
from tests.servers.handle import certificate

_WISHED = ("@authority", "@method", "@path", "@query", "@scheme", "@target-uri", "@request-target")
_WISH = " ".join(f'"{name}"' for name in _WISHED)
_ACCEPT = f'sig1=({_WISH} "signature-agent";key="sig1");nonce="abc";tag="web-bot-auth"'
_INPUT = re.compile(r"([a-z0-9]+)=(\(([^)]*)\)(.*))")
_PARAMETER = re.compile(r';([a-z]+)=("[^"]*"|[0-9]+)')
_PORTS = {"http": ":80", "https": ":443"}
_RULES = b"User-agent: *\nAllow: /\n"


class VerifyingSite(ServerProcess):
    """The test's side.

    Args:
        public: the 32 octets of the key that signs.
    """

    def __init__(self, public: bytes) -> None:
        script = {"certificate": str(certificate()), "public": public.hex()}
        super().__init__("tests.servers.verifying", script)
        self.ports: dict[str, int] = self.hello

    def verified(self) -> int:
        """How many requests, with every component that the site wants, were verified."""
        count: int = self.ask("counts")["verified"]
        return count

    def refused(self) -> list[str]:
        """The requests that were refused, each with its reason."""
        found: list[str] = self.ask("counts")["refused"]
        return found


class _Verifier:
    def __init__(self, public: bytes) -> None:
        self._key = Ed25519PublicKey.from_public_bytes(public)
        self.counts: dict[str, Any] = {"verified": 0, "refused": []}

    def status_of(self, scheme: str, method: str, target: str, fields: Mapping[str, str]) -> int:
        """200 if the request is signed as the site wants, 403 if it shall be, 401 if wrongly."""
        values = _components(scheme, method, target, fields["host"])
        try:
            covered = self._verify(values, fields)
        except (KeyError, AttributeError, ValueError, AssertionError, InvalidSignature) as error:
            self.counts["refused"].append(f"{error!r}: {values} {dict(fields)}")
            return 401
        if not covered.issuperset(f'"{name}"' for name in _WISHED):
            return 403
        self.counts["verified"] += 1
        return 200

    def _verify(self, values: Mapping[str, str], fields: Mapping[str, str]) -> set[str]:
        found = _INPUT.fullmatch(fields["signature-input"])
        assert found is not None, "Signature-Input"
        label, parameters, names, rest = found.groups()
        agent = re.fullmatch(label + '=("https://[^"]*")', fields["signature-agent"])
        assert agent is not None, "Signature-Agent"
        values = {**values, f'"signature-agent";key="{label}"': agent[1]}
        covered = names.split(" ")
        assert len(set(covered)) == len(covered), "a component twice"
        assert '"@authority"' in covered
        assert f'"signature-agent";key="{label}"' in covered
        told = dict(_PARAMETER.findall(rest))
        assert "".join(f";{name}={value}" for name, value in told.items()) == rest, rest
        assert told["tag"] == '"web-bot-auth"'
        assert told["alg"] == '"ed25519"'
        assert int(told["created"]) - 60 <= time.time() < int(told["expires"])
        lines = [f"{name}: {values[name]}" for name in covered]
        base = "\n".join([*lines, f'"@signature-params": {parameters}'])
        signature = re.fullmatch(label + "=:([^:]*):", fields["signature"])
        assert signature is not None, "Signature"
        self._key.verify(b64decode(signature[1], validate=True), base.encode("ascii"))
        return set(covered)


def _components(scheme: str, method: str, target: str, host: str) -> dict[str, str]:
    """The derived components of a request as it came (RFC 9421, 2.2)."""
    path, mark, query = target.partition("?")
    authority = host.lower().removesuffix(_PORTS[scheme])
    found = {
        "@authority": authority,
        "@method": method,
        "@path": path,
        "@query": f"?{query}",
        "@scheme": scheme,
        "@target-uri": f"{scheme}://{authority}{path}{mark}{query}",
        "@request-target": target,
    }
    return {f'"{name}"': value for name, value in found.items()}


def _answer(status: int, target: str) -> tuple[list[tuple[str, str]], bytes]:
    body = _RULES if status == 200 and target == "/robots.txt" else b"a page"
    fields = [("content-type", "text/plain"), ("content-length", str(len(body)))]
    wish = [("accept-signature", _ACCEPT)] if status == 403 else []
    return fields + wish, body


class _Server:
    def __init__(self, verifier: _Verifier) -> None:
        self._verifier = verifier

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        tls = writer.get_extra_info("ssl_object")
        is_2 = tls is not None and tls.selected_alpn_protocol() == "h2"
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            if is_2:
                await self._serve_2(reader, writer)
            else:
                await self._serve_1("http" if tls is None else "https", reader, writer)
        writer.close()

    async def _serve_1(
        self, scheme: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        while True:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            first, *lines = head[:-4].split("\r\n")
            method, _, rest = first.partition(" ")
            target = rest.rpartition(" ")[0]  # a target may contain a blank, though it must not
            pairs = (line.partition(":") for line in lines)
            fields = {name.lower(): value.strip() for name, _, value in pairs}
            status = self._verifier.status_of(scheme, method, target, fields)
            more, body = _answer(status, target)
            told = "".join(f"{name}: {value}\r\n" for name, value in more)
            writer.write(f"HTTP/1.1 {status} X\r\n{told}\r\n".encode() + body)
            await writer.drain()

    async def _serve_2(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        from h2.config import H2Configuration
        from h2.connection import H2Connection
        from h2.events import RequestReceived

        connection = H2Connection(H2Configuration(client_side=False))
        connection.initiate_connection()
        writer.write(connection.data_to_send())
        while data := await reader.read(1 << 16):
            for event in connection.receive_data(data):
                if isinstance(event, RequestReceived):
                    fields = {name.decode(): value.decode() for name, value in event.headers}
                    fields["host"] = fields[":authority"]
                    target = fields[":path"]
                    status = self._verifier.status_of("https", fields[":method"], target, fields)
                    more, body = _answer(status, target)
                    connection.send_headers(event.stream_id, [(":status", str(status)), *more])
                    connection.send_data(event.stream_id, body, end_stream=True)
            writer.write(connection.data_to_send())
            await writer.drain()


async def main() -> None:
    """Serve until standard input ends."""
    lines = await questions()
    script = json.loads(await lines.readline())
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(script["certificate"])
    context.set_alpn_protocols(["h2", "http/1.1"])
    verifier = _Verifier(bytes.fromhex(script["public"]))
    server = _Server(verifier)
    ports = {}
    for scheme, tls in (("http", None), ("https", context)):
        listener = await asyncio.start_server(server.serve, "127.0.0.1", 0, ssl=tls, backlog=1024)
        ports[scheme] = listener.sockets[0].getsockname()[1]
    say(ports)
    await answer_questions(lines, lambda _: verifier.counts)

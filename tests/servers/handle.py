"""The test's side of a scripted site.

with Site({"/robots.txt": Answer(body="User-agent: *"), "/a": [Answer(), Answer()]}) as site:
    ... site.url("/a") ... site.requests() ...
"""

from __future__ import annotations

import atexit
import functools
import shutil
import socket
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.servers.answers import Answer, Scripted, Sequence, redirect, to_json
from tests.servers.control import ServerProcess

__all__ = ["Answer", "Seen", "Sequence", "Site", "free_port", "redirect"]

_PAGE = Answer(body="page")


@dataclass(frozen=True)
class Seen:
    """A request that the site was sent.

    Attributes:
        method: as sent.
        path: the request target as sent, its octets read as Latin-1.
        at: when its head was complete, in seconds; only differences mean something.
        headers: names in lower case; the last of a name counts.
    """

    method: str
    path: str
    at: float
    headers: dict[str, str]


class Site(ServerProcess):
    """A scripted site on a loopback port of its own.

    Args:
        routes: path and query, or a prefix that ends in ``*``, to an answer or several.
        default: the answer to every other path.
        tls: whether to speak HTTPS, with a self-signed certificate.
        address: where to listen; ``0.0.0.0`` makes every 127.x.y.z a host of this site.
    """

    def __init__(
        self,
        routes: Mapping[str, Scripted] | None = None,
        *,
        default: Scripted = _PAGE,
        tls: bool = False,
        address: str = "127.0.0.1",
    ) -> None:
        self._scheme = "https" if tls else "http"
        self._seen: list[Seen] = []
        script = {
            "routes": to_json(routes or {}),
            "certificate": str(certificate()) if tls else None,
            "address": address,
            **to_json({"default": default}),
        }
        super().__init__("tests.servers.site", script)
        self.port: int = self.hello["port"]

    def url(self, path: str = "/", host: str = "127.0.0.1") -> str:
        """The URL of a path; ``localhost`` makes another origin of the same site."""
        return f"{self._scheme}://{host}:{self.port}{path}"

    def requests(self) -> list[Seen]:
        """Every request so far, in the order of arrival."""
        self._seen += [Seen(*one) for one in self.ask({"since": len(self._seen)})]
        return list(self._seen)

    def paths(self) -> list[str]:
        """The paths of ``requests``."""
        return [seen.path for seen in self.requests()]

    def change(self, routes: Mapping[str, Scripted]) -> None:
        """Add or replace routes; those begin with their first answer again."""
        self.ask({"routes": to_json(routes)})


def free_port() -> int:
    """A loopback port without a listener."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


@functools.cache
def certificate() -> Path:
    """A self-signed certificate and its key in one file, made once per session."""
    from datetime import datetime, timedelta, timezone
    from ipaddress import IPv4Address

    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import NameOID

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    names = [x509.DNSName("localhost"), x509.IPAddress(IPv4Address("127.0.0.1"))]
    now = datetime.now(timezone.utc)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=7))
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .sign(key, hashes.SHA256())
    )
    folder = Path(tempfile.mkdtemp(prefix="site-certificate-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    file = folder / "certificate.pem"
    file.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        + certificate.public_bytes(serialization.Encoding.PEM)
    )
    return file

"""Real web servers on loopback that write access logs; tests skip without them.

A server leaves its log in a folder of the test when it ends.

The logged time is that of the server, unless the request has an ``X-Time``. An ``X-Status`` chooses
the status of the answer.
"""

from __future__ import annotations

import shutil
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.servers.handle import free_port

if TYPE_CHECKING:
    from typing_extensions import Self

_PATH = "/usr/sbin:/usr/bin:/sbin:/bin"
NGINX = shutil.which("nginx", path=_PATH)
APACHE = shutil.which("apache2", path=_PATH)
needs_nginx = pytest.mark.skipif(NGINX is None, reason="nginx is not installed")
needs_apache = pytest.mark.skipif(APACHE is None, reason="Apache is not installed")

STATUSES = (301, 304, 403, 404, 429, 503)
_PATIENCE_SECONDS = 20.0

_NGINX = """
daemon off;
pid {folder}/pid;
error_log {folder}/errors crit;
events {{ worker_connections 64; }}
http {{
  map $http_x_time $shown {{ "" $time_local; default $http_x_time; }}
  log_format timed '$remote_addr - $remote_user [$shown] "$request" $status $body_bytes_sent '
                   '"$http_referer" "$http_user_agent"';
  access_log {folder}/access.log timed;
  keepalive_requests 10000000;
  default_type text/plain;
  {temporary}
  server {{
    listen 127.0.0.1:{port};
    root {folder}/site;
    {statuses}
    location / {{ try_files $uri /page; }}
    location = /robots.txt {{ }}
  }}
}}
"""
_APACHE = """
ServerName localhost
PidFile {folder}/pid
ErrorLog {folder}/errors
Listen 127.0.0.1:{port}
LoadModule mpm_event_module /usr/lib/apache2/modules/mod_mpm_event.so
LoadModule authz_core_module /usr/lib/apache2/modules/mod_authz_core.so
DocumentRoot {folder}/site
LogFormat "%h %l %u %t \\"%r\\" %>s %O \\"%{{Referer}}i\\" \\"%{{User-Agent}}i\\"" combined
CustomLog {folder}/access.log combined
"""


class WebServer:
    """A server with a robots.txt and a page."""

    def __init__(self, kept: Path, command: list[str], configuration: str) -> None:
        self.port = free_port()
        self.log = kept / "access.log"
        self._folder = folder = Path(tempfile.mkdtemp(prefix="web-"))  # open to its workers
        site = folder / "site"
        site.mkdir(parents=True)
        (site / "page").write_text("page")
        self.robots_txt = site / "robots.txt"
        self.robots_txt.write_text("User-agent: *\nDisallow: /private\n")
        for path in (folder, site):
            path.chmod(0o755)
        temporary = "".join(
            f"{name}_temp_path {folder}/{name};"
            for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        )
        statuses = "".join(f'if ($http_x_status = "{one}") {{ return {one}; }}' for one in STATUSES)
        settings = {"folder": folder, "port": self.port, "temporary": temporary}
        file = folder / "configuration"
        file.write_text(configuration.format(**settings, statuses=statuses))
        self._process = subprocess.Popen([*command, str(file)], stderr=subprocess.DEVNULL)
        until_at = time.monotonic() + _PATIENCE_SECONDS
        while not self._listens():
            assert time.monotonic() < until_at, "the server does not listen"
            time.sleep(0.05)

    @classmethod
    def nginx(cls, kept: Path) -> Self:
        return cls(kept, [NGINX or "", "-c"], _NGINX)

    @classmethod
    def apache(cls, kept: Path) -> Self:
        return cls(kept, [APACHE or "", "-D", "FOREGROUND", "-f"], _APACHE)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.wait()
        shutil.copy(self._folder / "access.log", self.log)
        shutil.rmtree(self._folder)

    def _listens(self) -> bool:
        with suppress(OSError):
            self.connect().close()
            return True
        return False

    def url(self, path: str = "") -> str:
        return f"http://127.0.0.1:{self.port}{path}"

    def connect(self, source: str = "127.0.0.1") -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), 60, (source, 0))

    def send(self, requests: Iterable[bytes], source: str = "127.0.0.1") -> None:
        """Send requests on one connection; all are logged when this returns."""
        with self.connect(source) as connection:
            reading = threading.Thread(target=_drain, args=(connection,))
            reading.start()
            held = b""
            for request in requests:
                held += request
                if len(held) > 1 << 16:
                    connection.sendall(held)
                    held = b""
            connection.sendall(held + b"GET / HTTP/1.0\r\nUser-Agent: Mozilla/5.0\r\n\r\n")
            reading.join()

    def send_alone(self, octets: bytes) -> None:
        """Send octets on a connection of their own, which the server may refuse."""
        with self.connect() as connection:
            connection.sendall(octets)
            connection.shutdown(socket.SHUT_WR)
            _drain(connection)


def request(target: bytes, user_agent: bytes, *headers: bytes) -> bytes:
    """A request on a connection that stays open."""
    fields = (b"Host: localhost", b"User-Agent: " + user_agent, *headers)
    return b"GET " + target + b" HTTP/1.1\r\n" + b"\r\n".join(fields) + b"\r\n\r\n"


def _drain(connection: socket.socket) -> None:
    with suppress(ConnectionError):
        while connection.recv(1 << 20):
            pass

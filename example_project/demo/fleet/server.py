"""A Redis server on loopback that runs while the demo runs.

This project imports nothing from the tests of scrapy-rep, so that you can copy it.
"""

from __future__ import annotations

import shutil
import socket
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing_extensions import Self

PROGRAMS = ("redis-server", "valkey-server")
_TRIES = 3
_START_SECONDS = 10.0


class RedisServer:
    """The server. It is stopped at the end of the ``with`` block.

    Args:
        program: the path of the server.
        folder: the folder for its log; it writes no other files.
        breathe: called while the server starts; may raise.
    """

    def __init__(self, program: str, folder: Path, breathe: Callable[[], None]) -> None:
        self._program = program
        self._log = folder / "redis.log"
        self._breathe = breathe
        self._port = 0
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """The value for REP_REDIS_URL."""
        return f"redis://127.0.0.1:{self._port}/0"

    def __enter__(self) -> Self:
        try:
            for _ in range(_TRIES):  # another process may take the port first
                self._start()
                if self._is_up():
                    return self
                self._stop()
        except BaseException:
            self._stop()
            raise
        raise OSError(f"{self._program} does not start: {self._log.read_text(errors='replace')}")

    def __exit__(self, *_: object) -> None:
        self._stop()

    def _start(self) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self._port = probe.getsockname()[1]
        options = {
            "port": str(self._port),
            "bind": "127.0.0.1",
            "save": "",
            "appendonly": "no",
            "dir": str(self._log.parent),
        }
        words = [word for name, value in options.items() for word in (f"--{name}", value)]
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(  # noqa: S603 - its words are ours
                [self._program, *words],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,  # Ctrl-C must only reach this process
            )

    def _is_up(self) -> bool:
        """Wait until the server answers or ends; return whether it answers."""
        patience = time.monotonic() + _START_SECONDS
        while time.monotonic() < patience and self._process and self._process.poll() is None:
            self._breathe()
            try:
                with socket.create_connection(("127.0.0.1", self._port), 1) as line:
                    line.sendall(b"PING\r\n")
                    if line.recv(7).startswith(b"+PONG"):
                        return self._process.poll() is None
            except OSError:
                time.sleep(0.02)
        return False

    def _stop(self) -> None:
        if self._process is not None:
            self._process.kill()  # it has no data to save
            self._process.wait()


def program() -> str | None:
    """The path of an installed server."""
    return next(filter(None, map(shutil.which, PROGRAMS)), None)

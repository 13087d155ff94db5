"""A relay before a site, which makes every new connection wait: a slow handshake, over TLS."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing_extensions import Self

_PIECE_OCTETS = 1 << 16


class SlowRelay:
    """Relays a loopback port of its own to another; a connection's first octets come late."""

    def __init__(self, port: int, seconds: float) -> None:
        self._port_behind = port
        self._seconds = seconds
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)  # or the thread that accepts would stay in it
        self._listener.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                near, _ = self._listener.accept()
                threading.Thread(target=self._connect, args=[near], daemon=True).start()

    def _connect(self, near: socket.socket) -> None:
        time.sleep(self._seconds)
        with near, socket.create_connection(("127.0.0.1", self._port_behind)) as far:
            back = threading.Thread(target=_pipe, args=[far, near])
            back.start()
            _pipe(near, far)
            back.join()


def _pipe(source: socket.socket, target: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(_PIECE_OCTETS):
            target.sendall(data)
    for end in (source, target):
        with contextlib.suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)

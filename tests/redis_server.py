"""Real Redis servers for tests, and what can go wrong with them.

``redis_server`` is one server for the whole session, empty at the beginning of each test; whoever
stops or kills one starts a `RedisServer` of his own. Without redis-server or valkey-server, the
tests that need one skip.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import redis

from scrapy_rep.cache.base import Store
from tests.extras import skip_refused
from tests.servers.handle import free_port

if TYPE_CHECKING:
    from typing_extensions import Self

    from scrapy_rep.extras.fleet.redis_store import RedisStore

PROGRAM = shutil.which("redis-server") or shutil.which("valkey-server")
needs_redis = pytest.mark.skipif(
    PROGRAM is None, reason="neither redis-server nor valkey-server is installed"
)

_PATIENCE_SECONDS = 20.0


class RedisServer:
    """A server on a loopback port of its own, with a folder of its own.

    Args:
        options: of redis-server, such as ``appendonly="yes"``; by default nothing is kept on disk.
    """

    def __init__(self, **options: str) -> None:
        skip_refused(["REP_REDIS_URL"])
        if PROGRAM is None:
            pytest.skip("neither redis-server nor valkey-server is installed")
        self._folder = Path(tempfile.mkdtemp(prefix="rep-redis-"))
        self._options = {"save": "", "appendonly": "no", **options}
        self._process: subprocess.Popen[bytes] | None = None
        self.port = free_port()

    @property
    def url(self) -> str:
        """The value of REP_REDIS_URL."""
        password = self._options.get("requirepass")
        return f"redis://{f':{password}@' if password else ''}127.0.0.1:{self.port}/0"

    @property
    def pid(self) -> int:
        """The server's process."""
        assert self._process is not None
        return self._process.pid

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def client(self) -> Any:
        """A client of redis-py, for the test's own look; to be used in a ``with``."""
        password = self._options.get("requirepass")
        return redis.Redis(port=self.port, password=password, socket_timeout=_PATIENCE_SECONDS)

    def start(self, **environment: str) -> None:
        """Start the server, on the same port and folder as before; with more variables."""
        assert PROGRAM is not None
        options = {**self._options, "dir": str(self._folder)}
        words = [word for name, value in options.items() for word in (f"--{name}", value)]
        with (self._folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [PROGRAM, "--port", str(self.port), "--bind", "127.0.0.1", *words],
                cwd=self._folder,
                env={**os.environ, **environment},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        self._wait()

    def _wait(self) -> None:
        patience = time.monotonic() + _PATIENCE_SECONDS
        while time.monotonic() < patience:
            with contextlib.suppress(redis.RedisError), self.client() as client:
                client.ping()
                return
            time.sleep(0.02)
        raise AssertionError((self._folder / "log").read_text())

    def freeze(self) -> None:
        """SIGSTOP: connections stay, and nothing is answered."""
        os.kill(self.pid, signal.SIGSTOP)

    def thaw(self) -> None:
        """SIGCONT."""
        os.kill(self.pid, signal.SIGCONT)

    def kill(self) -> None:
        """SIGKILL: connections are refused from now on."""
        assert self._process is not None
        self._process.kill()
        self._process.wait(_PATIENCE_SECONDS)

    def shut_down(self) -> None:
        """SHUTDOWN, as an operator does it; what the options keep on disk is there at the start."""
        assert self._process is not None
        with self.client() as client:
            client.shutdown()
        self._process.wait(_PATIENCE_SECONDS)

    def copy_files(self) -> Path:
        """A copy of all that is on disk now, in a folder of its own."""
        copy = self._folder / "copy"
        self.freeze()
        shutil.copytree(self._folder, copy, ignore=shutil.ignore_patterns("copy"))
        self.thaw()
        return copy

    def go_back_to(self, copy: Path) -> None:
        """SIGKILL, and a start with the files of a copy."""
        self.kill()
        for file in self._folder.glob("appendonly*"):
            shutil.rmtree(file) if file.is_dir() else file.unlink()
        shutil.copytree(copy, self._folder, dirs_exist_ok=True)
        self.start()

    def flush(self) -> None:
        """FLUSHALL; scripts stay known."""
        with self.client() as client:
            client.flushall()

    def forget_scripts(self) -> None:
        """SCRIPT FLUSH: as after a restart."""
        with self.client() as client:
            client.script_flush()

    def end(self) -> None:
        """End the server, whatever state it is in, and delete its folder."""
        if self._process is not None and self._process.poll() is None:
            self.thaw()
            self.kill()
        shutil.rmtree(self._folder, ignore_errors=True)


class SlowLine:
    """A proxy in front of a server, that delays replies, swallows them, or refuses connections.

    Attributes:
        delay_seconds: how long each piece of a reply is kept back.
        swallows: whether replies are thrown away.
        refuses: whether new connections are closed at once, and those that there are.
        connection_count: how many connections have been made in all.
        target: the port of the server; a change holds for new connections.
    """

    def __init__(self, port: int) -> None:
        self.target = port
        self.delay_seconds = 0.0
        self.swallows = self.refuses = False
        self.connection_count = 0
        self._ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), daemon=True)
        self._writers: set[asyncio.StreamWriter] = set()

    @property
    def url(self) -> str:
        """The value of REP_REDIS_URL."""
        return f"redis://127.0.0.1:{self.port}/0"

    def __enter__(self) -> Self:
        self._thread.start()
        assert self._ready.wait(_PATIENCE_SECONDS)
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._ending.set)
        self._thread.join(_PATIENCE_SECONDS)

    def cut(self) -> None:
        """Break the connections that there are."""
        self._loop.call_soon_threadsafe(self._cut)

    def _cut(self) -> None:
        for writer in list(self._writers):
            writer.transport.abort()

    async def _serve(self) -> None:
        self._loop, self._ending = asyncio.get_running_loop(), asyncio.Event()
        server = await asyncio.start_server(self._connected, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        self._ready.set()
        await self._ending.wait()
        server.close()
        self._cut()
        await asyncio.sleep(0.05)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connection_count += 1
        if self.refuses:
            writer.transport.abort()
            return
        try:
            there, back = await asyncio.open_connection("127.0.0.1", self.target)
        except OSError:
            writer.transport.abort()
            return
        self._writers |= {writer, back}
        try:
            await asyncio.gather(
                self._pass_on(reader, back, is_reply=False),
                self._pass_on(there, writer, is_reply=True),
            )
        except OSError:
            pass
        finally:
            self._writers -= {writer, back}
            writer.transport.abort()
            back.transport.abort()

    async def _pass_on(
        self, source: asyncio.StreamReader, target: asyncio.StreamWriter, *, is_reply: bool
    ) -> None:
        while octets := await source.read(1 << 16):
            if is_reply:
                await asyncio.sleep(self.delay_seconds)
                if self.swallows:
                    continue
            target.write(octets)
            await target.drain()
        target.transport.abort()


@contextlib.contextmanager
def a_loop() -> Iterator[asyncio.AbstractEventLoop]:
    """An event loop that runs in a thread of its own."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    try:
        yield loop
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join(_PATIENCE_SECONDS)
        loop.close()


def redis_store(
    url: str,
    local: Store | None,
    loop: asyncio.AbstractEventLoop,
    clock: Callable[[], float] = time.time,
    *,
    reply_seconds: float = 0.25,
    limit_octets: int = 1 << 30,
) -> RedisStore:
    """A store in Redis, with a local tier or without one."""
    from scrapy_rep.extras.fleet.link import Link
    from scrapy_rep.extras.fleet.redis_store import RedisStore

    return RedisStore(
        Link(url, reply_seconds), local, limit_octets, 30 * 86_400.0, loop=loop, clock=clock
    )

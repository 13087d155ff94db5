"""``scrapy rep`` on a pseudo-terminal of 80 columns."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.crawling import REPOSITORY
from tests.extras import skip_refused


def plain_environment() -> dict[str, str]:
    """The environment of the tests, without what changes the output or the way to a site."""
    return {
        name: value
        for name, value in os.environ.items()
        if "_proxy" not in name.lower() and name not in ("NO_COLOR", "FORCE_COLOR", "COLUMNS")
    }


@dataclass
class Screen:
    """A process on a terminal.

    Attributes:
        process: the process.
        text: the output so far.
    """

    process: subprocess.Popen[bytes]
    terminal: int
    text: str = ""
    _octets: bytes = field(default=b"", repr=False)

    def read(self, seconds: float = 120.0, *, until: str = "") -> str:
        """The output until some words, or until the process ends."""
        patience = time.monotonic() + seconds
        while time.monotonic() < patience and not (until and until in self.text):
            ready, _, _ = select.select([self.terminal], [], [], 0.1)
            if not ready:
                if self.process.poll() is not None:
                    break
                continue
            try:
                octets = os.read(self.terminal, 65_536)
            except OSError:  # the other end is closed
                break
            if not octets:
                break
            self._octets += octets
            self.text = self._octets.decode("utf-8", "replace").replace("\r\n", "\n")
        return self.text

    def type(self, text: str) -> None:
        """Type on its keyboard; ``\\x03`` is Ctrl-C."""
        os.write(self.terminal, text.encode())

    def status(self, seconds: float = 120.0) -> int:
        """The exit status of the process, once it has ended."""
        self.read(seconds)
        return self.process.wait(seconds)


@contextmanager
def on_terminal(
    *arguments: object, stdin: int | None = None, stdout: Path | None = None
) -> Iterator[Screen]:
    """``scrapy rep`` on a terminal of its own; its input may be a pipe, its output a file."""
    skip_refused(arguments)
    ours, its = pty.openpty()
    fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    out = its if stdout is None else os.open(stdout, os.O_WRONLY | os.O_CREAT)
    process = subprocess.Popen(
        [sys.executable, "-m", "scrapy", "rep", *map(str, arguments)],
        cwd=REPOSITORY,
        env={**plain_environment(), "TERM": "xterm", "PYTHONPATH": str(REPOSITORY)},
        stdin=its if stdin is None else stdin,
        stdout=out,
        stderr=its,
        start_new_session=True,
        # So that Ctrl-C reaches it; the tests run no thread at this time.
        preexec_fn=lambda: fcntl.ioctl(2, termios.TIOCSCTTY, 0),  # noqa: PLW1509
    )
    os.close(its)
    if stdout is not None:
        os.close(out)
    try:
        yield Screen(process, ours)
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
            process.wait()
        os.close(ours)

"""``scrapy rep`` on a pseudo-terminal of 80 columns."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import struct
import termios
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.extras import skip_refused
from tests.processes import Forked, start_scrapy


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

    process: Forked
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
    *arguments: object, stdin: Path | None = None, stdout: Path | None = None
) -> Iterator[Screen]:
    """``scrapy rep`` on a terminal of its own; its input and its output may be files."""
    skip_refused(arguments)
    ours, its = pty.openpty()
    fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    terminal = Path(os.ttyname(its))
    process = start_scrapy(
        ("rep", *arguments),
        (stdin or terminal, stdout or terminal, terminal),
        {**plain_environment(), "TERM": "xterm"},
    )
    try:
        yield Screen(process, ours)
    finally:
        process.kill()
        process.wait()
        os.close(its)
        os.close(ours)

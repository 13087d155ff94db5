"""A stop in order: what is under way is finished, and nothing new begins.

Scrapy's own stop ends the engine: an answer that comes is kept, but no second request follows, so
that what was redirected, is tried again or waits for its turn has to begin anew with the next run.
Here the first signal ends nothing. Who works asks whether to begin anything more; the engine ends
once all is done. The next signal is Scrapy's first, and the one after it ends the process.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

_NUMBERS = [
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGBREAK") if hasattr(signal, name)
]


class Stop:
    """Whether a stop was asked for.

    Attributes:
        is_asked: whether it was.
    """

    def __init__(self, words: str) -> None:
        """Take what is said when it is asked for, on standard error."""
        self.is_asked = False
        self._words = words
        self._before: dict[int, Any] = {}

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Listen for signals, in the main thread, while this lasts; other handlers have to be set.

        In another thread it does nothing, for Python delivers no signals there.
        """
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        self._before = {number: signal.signal(number, self._ask) for number in _NUMBERS}
        try:
            yield
        finally:
            self._hear_no_more()

    def _ask(self, *_: object) -> None:
        self.is_asked = True
        self._hear_no_more()
        with suppress(OSError):  # below any stream: the interrupted code may be writing to it
            os.write(2, f"\n{self._words}\n".encode())

    def _hear_no_more(self) -> None:
        for number, handler in self._before.items():
            if signal.getsignal(number) == self._ask:
                signal.signal(number, handler)

"""A server in a process of its own, and how its owner speaks with it.

One JSON value a line: the owner writes the script, the server writes what it is reachable by; from
then on every line of the owner is a question, answered by one line. The server ends when its
standard input does, so it cannot outlive its owner.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import Any

from typing_extensions import Self

from tests.crawling import REPOSITORY

_PATIENCE_SECONDS = 20


class ServerProcess:
    """The owner's side: a context manager that starts the module and asks it."""

    def __init__(self, module: str, script: Any) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", module],
            cwd=REPOSITORY,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            encoding="utf-8",
        )
        try:
            self.hello = self.ask(script)
        except BaseException:
            self.close()
            raise

    def ask(self, question: Any) -> Any:
        """The server's answer to one question; RuntimeError where it gives none."""
        questions, answers = self._process.stdin, self._process.stdout
        assert questions is not None
        assert answers is not None
        # A server that hangs would hang the test with it: kill it, and its answer is empty.
        alarm = threading.Timer(_PATIENCE_SECONDS, self._process.kill)
        alarm.start()
        try:
            with contextlib.suppress(BrokenPipeError):
                questions.write(json.dumps(question) + "\n")
                questions.flush()
            answer = answers.readline()
        finally:
            alarm.cancel()
        if not answer:
            raise RuntimeError(f"{self._process.args!r} does not answer; see its stderr")
        return json.loads(answer)

    def close(self) -> None:
        """End the server, whatever it is doing."""
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with contextlib.suppress(BrokenPipeError):
                    pipe.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


async def questions() -> asyncio.StreamReader:
    """The server's side: standard input, of which the first line is the script."""
    lines = asyncio.StreamReader(limit=2**28)
    await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(lines), sys.stdin
    )
    return lines


async def answer_questions(lines: asyncio.StreamReader, answer: Callable[[Any], Any]) -> None:
    """The server's side: answer every question until the owner has gone."""
    while line := await lines.readline():
        say(answer(json.loads(line)))


def say(value: Any) -> None:
    """The server's side: answer the script, or a question."""
    sys.stdout.write(json.dumps(value) + "\n")
    sys.stdout.flush()

"""A server in a process of its own, and how its owner speaks with it.

One JSON value a line: the owner writes the script, the server writes what it is reachable by; from
then on every line of the owner is a question, answered by one line. The server ends when its
standard input does, so it cannot outlive its owner.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import socket
import sys
import threading
from collections.abc import Callable
from importlib import import_module
from typing import Any

from typing_extensions import Self

from tests.processes import REPOSITORY, Forked

_PATIENCE_SECONDS = 120


class ServerProcess:
    """The owner's side: a context manager that starts the module and asks it."""

    def __init__(self, module: str, script: Any) -> None:
        questions, its_input = socket.socketpair()
        answers, its_output = socket.socketpair()
        with questions, its_input, answers, its_output:
            self._process = Forked(_serve, module, its_input, its_output)
            self._questions = questions.makefile("w", encoding="utf-8")
            self._answers = answers.makefile("r", encoding="utf-8")
        self._module = module
        try:
            self.hello = self.ask(script)
        except BaseException:
            self.close()
            raise

    def ask(self, question: Any) -> Any:
        """The server's answer to one question; RuntimeError where it gives none."""
        # A server that hangs would hang the test with it: kill it, and its answer is empty.
        alarm = threading.Timer(_PATIENCE_SECONDS, self._process.kill)
        alarm.start()
        answer = ""
        try:
            with contextlib.suppress(OSError):
                self._questions.write(json.dumps(question) + "\n")
                self._questions.flush()
                answer = self._answers.readline()
        finally:
            alarm.cancel()
        if not answer:
            raise RuntimeError(f"{self._module} does not answer; see its stderr")
        return json.loads(answer)

    def close(self) -> None:
        """End the server, whatever it is doing."""
        self._process.kill()
        self._process.wait()
        for stream in (self._questions, self._answers):
            with contextlib.suppress(OSError):
                stream.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _serve(module: str, questions: socket.socket, answers: socket.socket) -> None:
    """In the server's process: let it speak with its owner on its standard streams.

    One socket for both would not do: asyncio makes the input non-blocking, and so the output.
    """
    os.chdir(REPOSITORY)
    for descriptor, stream in enumerate((questions, answers)):
        with stream:
            os.dup2(stream.fileno(), descriptor)
    sys.stdin, sys.stdout = open(0, closefd=False), open(1, "w", closefd=False)  # noqa: SIM115
    asyncio.run(import_module(module).main())


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

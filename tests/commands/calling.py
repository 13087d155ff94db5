"""``scrapy rep`` as tests call it: within this process, or as a process of its own."""

from __future__ import annotations

import functools
import io
import json
import sys
import time
from argparse import Namespace
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from scrapy.cmdline import ScrapyArgumentParser
from scrapy.settings import Settings

from scrapy_rep.cache.entry import Entry
from scrapy_rep.cache.sqlite import SqliteStore
from scrapy_rep.commands.scrapy_command import RepCommand
from tests.extras import skip_refused
from tests.processes import Scrapy, without_proxies

LOOPS: dict[str, list[str]] = {
    "asyncio": [],
    "select": ["-s", "TWISTED_REACTOR=twisted.internet.selectreactor.SelectReactor"],
    "reactorless": ["-s", "TWISTED_REACTOR_ENABLED=False"],
}
"""The options of each event loop."""


@dataclass(frozen=True)
class Done:
    """The exit status and the output of a call."""

    status: int
    out: str
    err: str

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The lines of JSON in the output."""
        return [json.loads(line) for line in self.out.splitlines()]


class Stream(io.TextIOWrapper):
    """A stream of octets that may say that it is a terminal."""

    def __init__(self, octets: bytes = b"", *, is_terminal: bool = False) -> None:
        super().__init__(io.BytesIO(octets), encoding="utf-8", write_through=True)
        self._is_terminal = is_terminal

    def isatty(self) -> bool:
        return self._is_terminal

    @property
    def written(self) -> str:
        self.flush()
        buffer: Any = self.buffer
        return str(buffer.getvalue().decode("utf-8"))


def rep(
    *arguments: object,
    stdin: bytes = b"",
    settings: Mapping[str, Any] | None = None,
    is_terminal: bool = False,
    environment: Mapping[str, str] | None = None,
    at: float | None = None,
) -> Done:
    """A call that needs no engine; `at` replaces the clock."""
    skip_refused(arguments)
    out, err = Stream(is_terminal=is_terminal), Stream(is_terminal=is_terminal)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stdout", out)
        patch.setattr(sys, "stderr", err)
        patch.setattr(sys, "stdin", Stream(stdin, is_terminal=is_terminal))
        for name in ("NO_COLOR", "FORCE_COLOR", "COLUMNS"):
            patch.delenv(name, raising=False)
        for name, value in {"TERM": "xterm", **(environment or {})}.items():
            patch.setenv(name, value)
        if at is not None:
            patch.setattr(time, "time", lambda: at)
        status = _status([str(argument) for argument in arguments], Settings(settings))
        return Done(status, out.written, err.written)


@functools.cache  # the options of all subcommands take longer than most calls
def _parser() -> ScrapyArgumentParser:
    command = RepCommand()
    command.settings = Settings()
    parser = ScrapyArgumentParser(
        usage=f"scrapy rep {command.syntax()}", conflict_handler="resolve"
    )
    command.add_options(parser)
    return parser


def _status(arguments: list[str], settings: Settings) -> int:
    command = RepCommand()
    command.settings = settings
    try:
        options, rest = _parser().parse_known_args(arguments, Namespace())
        command.process_options(rest, options)
        command.run(rest, options)
    except SystemExit as leaving:
        return int(leaving.code or 0)
    return command.exitcode


def rep_process(*arguments: object, stdin: bytes = b"") -> Done:
    """A call in a process of its own, outside of a project."""
    skip_refused(arguments[1:])
    call = Scrapy(*arguments, stdin=stdin, environment=without_proxies())
    done = call.end()
    return Done(done.returncode, done.stdout.decode(), done.stderr.decode())


def stored(folder: Path, *entries: Entry, versions: int = 0, **settings: Any) -> dict[str, Any]:
    """The settings of a project with these entries in its store."""
    path = folder / "store.sqlite"
    store = SqliteStore(path, 1 << 30, versions=versions)
    for entry in entries:
        store.commit(entry, None).result()
    store.close()
    return {"REP_STORE_PATH": str(path), **settings}

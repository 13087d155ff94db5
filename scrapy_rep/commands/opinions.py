"""The answers of other robots.txt parsers, if their packages are installed, and of other readers.

A hostile file can block a parser that turns patterns into regular expressions, or crash its
process. So each parser runs in its own process, which is killed if it takes too long; this process
imports none of them.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from multiprocessing.connection import Connection
from typing import Any

from scrapy.utils.misc import load_object

from scrapy_rep.protocol.document import parse
from scrapy_rep.protocol.other_readers import GOOGLE, PREFIXES, Judge, Reader

from .running import CommandError

_SECONDS = 10.0  # for one file and URL, including the start of the process
_CONTEXT = multiprocessing.get_context("spawn")

MayFetch = Callable[[str, str], bool]
"""A function that tells whether an agent may fetch a URL."""


@dataclass(frozen=True, slots=True)
class Opinion:
    """The answer of another parser.

    Attributes:
        parser: its name.
        allowed: its answer; None without one.
        failure: the reason for no answer, in words.
    """

    parser: str
    allowed: bool | None
    failure: str = ""

    def __str__(self) -> str:
        """The answer in words."""
        return self.failure or ("allowed" if self.allowed else "disallowed")


# By the name on the command line: the module, and the package that contains it.
_PARSERS = {
    "urllib": ("urllib.robotparser", "Python"),
    "protego": ("protego", "Protego"),
    "rerp": ("robotexclusionrulesparser", "robotexclusionrulesparser"),
    "robotspy": ("robots", "robotspy"),
    "reppy": ("reppy.robots", "reppy"),
}
_READERS = {reader.name: reader for reader in (GOOGLE, PREFIXES)}
NAMES = (*_READERS, *_PARSERS)
"""The readers and parsers that are known by name."""


def _reader_of(name: str, body: bytes) -> MayFetch:
    """Have a parser read a file."""
    text = body.decode("utf-8", "replace")
    if name not in _PARSERS:  # a class with Scrapy's interface
        parser = load_object(name).from_crawler(None, body)
        return lambda agent, url: parser.allowed(url, agent)
    module: Any = import_module(_PARSERS[name][0])
    if name == "urllib":
        parser = module.RobotFileParser()
        parser.parse(text.splitlines())
    elif name == "protego":
        parser = module.Protego.parse(text)
        return lambda agent, url: parser.can_fetch(url, agent)
    elif name == "rerp":
        parser = module.RobotExclusionRulesParser()
        parser.parse(text)
        return parser.is_allowed  # type: ignore[no-any-return]
    elif name == "reppy":
        parser = module.Robots.parse("", text)
        return lambda agent, url: parser.allowed(url, agent)
    else:
        parser = module.RobotsParser.from_string(text)
    may_fetch: MayFetch = parser.can_fetch
    return may_fetch


def _serve(name: str, pipe: Connection) -> None:
    """Answer questions until there are no more; runs in the process of the parser."""
    before, may_fetch = b"", None
    with suppress(EOFError, KeyboardInterrupt):
        while True:
            body, agent, url = pipe.recv()
            try:
                if may_fetch is None or body != before:
                    before, may_fetch = body, None
                    may_fetch = _reader_of(name, body)
                answer: tuple[bool | None, str] = bool(may_fetch(agent, url)), ""
            except Exception as error:  # noqa: BLE001 - any error of the parser
                answer = None, f"it failed: {type(error).__name__}: {error}"[:200]
            pipe.send(answer)


class _OwnReader:
    """A reader of ours, which needs no process of its own."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._read: tuple[bytes, str, Judge] | None = None

    def opinion(self, body: bytes, agent: str, url: str) -> Opinion:
        """The answer."""
        if self._read is None or self._read[:2] != (body, agent):
            file, tokens = parse(body), self._reader.tokens(agent)
            group = file.group(tokens)
            self._read = body, agent, self._reader.judge(() if group is None else group.rules)
        return Opinion(self._reader.name, self._read[2](url).allowed)

    def close(self) -> None:
        """There is nothing to end."""


class _Parser:
    """One parser in a process of its own."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._slow: bytes | None = None  # the file that took too long
        self._pipe: Connection | None = None
        self._process: Any = None

    def opinion(self, body: bytes, agent: str, url: str) -> Opinion:
        """The answer, within `_SECONDS`."""
        too_slow = Opinion(self.name, None, f"no answer in {_SECONDS:g} s")
        if body == self._slow:
            return too_slow
        pipe = self._open()
        try:
            pipe.send((body, agent, url))
            if not pipe.poll(_SECONDS):
                self._slow = body
                self.close()
                return too_slow
            return Opinion(self.name, *pipe.recv())
        except (EOFError, OSError):
            self.close()
            return Opinion(self.name, None, "its process ended")

    def _open(self) -> Connection:
        if self._pipe is None:
            self._pipe, theirs = _CONTEXT.Pipe()
            self._process = _CONTEXT.Process(target=_serve, args=(self.name, theirs), daemon=True)
            self._process.start()
            theirs.close()
        return self._pipe

    def close(self) -> None:
        """End the process; the next question starts a new one."""
        if self._pipe is not None:
            self._pipe.close()
            self._process.kill()
            self._process.join()
        self._pipe = None


class Opinions:
    """Several parsers, one after the other."""

    def __init__(self, names: Iterable[str]) -> None:
        """Check the names of the parsers.

        Raises:
            CommandError: a parser is unknown, or its package is not installed.
        """
        wanted = list(dict.fromkeys(filter(None, map(str.strip, names))))
        for name in wanted:
            _check(name)
        self._parsers = [
            _OwnReader(_READERS[name]) if name in _READERS else _Parser(name) for name in wanted
        ]

    def of(self, body: bytes, agent: str, url: str) -> tuple[Opinion, ...]:
        """The answer of each parser for a URL."""
        return tuple(parser.opinion(body, agent, url) for parser in self._parsers)

    def close(self) -> None:
        """End all processes."""
        for parser in self._parsers:
            parser.close()


def _check(name: str) -> None:
    """Check that a parser is available.

    Raises:
        CommandError: it is not.
    """
    if name in _READERS:
        return
    if name in _PARSERS:
        module, package = _PARSERS[name]
        if not _is_there(module):
            raise CommandError(
                f"--like {name}: {package} is not installed here (pip install {package})"
            )
    elif "." not in name or not _is_there(name.rpartition(".")[0]):
        raise CommandError(
            f"--like {name!r}: give {', '.join(NAMES)}, or the import path of a class with "
            "Scrapy's RobotParser interface"
        )


def _is_there(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except (ImportError, ValueError):
        return False

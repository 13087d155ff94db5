"""The answers of other robots.txt parsers and readers.

A hostile file can block a parser that turns patterns into regular expressions, so each answer has a
limit of `_SECONDS`, where the system has alarms. An alarm cannot stop code in C.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NoReturn

from scrapy.utils.misc import load_object

from scrapy_rep.commands.running import CommandError
from scrapy_rep.extras.webmaster.effect.other_readers import GOOGLE, PREFIXES, Judge, Reader
from scrapy_rep.protocol.document import parse

_SECONDS = 10.0  # for one file and URL


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


_PARSERS = {
    "urllib": "scrapy.robotstxt.PythonRobotParser",
    "protego": "scrapy.robotstxt.ProtegoRobotParser",
}
_READERS = {reader.name: reader for reader in (GOOGLE, PREFIXES)}
NAMES = (*_READERS, *_PARSERS)
"""The readers and parsers that are known by name."""


class _OwnReader:
    """A reader of ours."""

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


class _Parser:
    """A parser with Scrapy's interface."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._class = _class_of(name)
        self._body: bytes | None = None
        self._parser: Any = None
        self._is_slow = False

    def opinion(self, body: bytes, agent: str, url: str) -> Opinion:
        """The answer, within `_SECONDS`; a file that took longer is not read again."""
        if body != self._body:
            self._body, self._parser, self._is_slow = body, None, False
        if not self._is_slow:
            try:
                with _limited():
                    if self._parser is None:
                        if self._name in _PARSERS:  # they take text, and read nothing else
                            body = body.decode(errors="replace").encode()
                        self._parser = self._class.from_crawler(None, body)
                    return Opinion(self._name, bool(self._parser.allowed(url, agent)))
            except TimeoutError:
                self._is_slow = True
            except Exception as error:  # noqa: BLE001 - any error of the parser
                words = f"it failed: {type(error).__name__}: {error}"[:200]
                return Opinion(self._name, None, words)
        return Opinion(self._name, None, f"no answer in {_SECONDS:g} s")


@contextmanager
def _limited() -> Iterator[None]:
    """Raise TimeoutError after `_SECONDS`."""
    if not hasattr(signal, "setitimer"):  # Windows
        yield
        return
    before = signal.signal(signal.SIGALRM, _stop)
    signal.setitimer(signal.ITIMER_REAL, _SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _stop(*_: object) -> NoReturn:
    raise TimeoutError


class Opinions:
    """Several parsers, one after the other."""

    def __init__(self, names: str) -> None:
        """Take the names of --like.

        Raises:
            CommandError: a parser is unknown, or the text names none.
        """
        wanted = dict.fromkeys(filter(None, map(str.strip, names.split(","))))
        if not wanted:
            raise CommandError(f"--like {names!r} does not name a parser")
        self._parsers = [
            _OwnReader(_READERS[name]) if name in _READERS else _Parser(name) for name in wanted
        ]

    def of(self, body: bytes, agent: str, url: str) -> tuple[Opinion, ...]:
        """The answer of each parser for a URL."""
        return tuple(parser.opinion(body, agent, url) for parser in self._parsers)


def _class_of(name: str) -> Any:
    """The class of a parser.

    Raises:
        CommandError: no class has this name.
    """
    try:
        return load_object(_PARSERS.get(name, name))
    except (ImportError, NameError, ValueError) as error:
        raise CommandError(
            f"--like {name!r}: give {', '.join(NAMES)}, or the import path of a class with "
            "Scrapy's RobotParser interface"
        ) from error

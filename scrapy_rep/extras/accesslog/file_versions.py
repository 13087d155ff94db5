"""The versions of a robots.txt, and the time from which each was in force."""

from __future__ import annotations

import math
import re
import subprocess
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import lru_cache, partial
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple

from scrapy_rep.commands.inputs import octets_of
from scrapy_rep.commands.running import CommandError
from scrapy_rep.protocol.access.events import AccessResult, access_result
from scrapy_rep.protocol.access.knowledge import Copy
from scrapy_rep.protocol.document import parse
from scrapy_rep.protocol.lines import UserAgentLines
from scrapy_rep.protocol.selection import Selection
from scrapy_rep.protocol.tokens import EVERYONE, is_everyone, token_of

from .log_formats import instant_of

_DATE = re.compile(r"(\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d)?)?)")
_DATED_ARGUMENT = re.compile(rf"{_DATE.pattern}Z?=(.+)")
_AFTER_WORD = re.compile(rb"[\s/].*", re.DOTALL)


class FileVersion(NamedTuple):
    """A version of a file.

    Attributes:
        since: from when on it was in force, in POSIX seconds.
        name: its name for people.
        read: reads its octets; no octets if there was no file.
    """

    since: float
    name: str
    read: Callable[[], bytes]


class VersionRules:
    """The rules of a version for any number of crawlers.

    Most crawlers have no group of their own, and share that for ``*``. So the memory is bounded by
    the groups of the file, not by the names in a log.
    """

    def __init__(self, body: bytes) -> None:
        self.file = parse(body)
        self._named = set[str]()
        for _, _, value in UserAgentLines(self.file.octets):
            if not is_everyone(value):  # see `tokens.Names`
                name = _AFTER_WORD.sub(b"", value).decode("utf-8", "replace").lower()
                self._named |= {name, token_of(name)}
        self._selections: dict[str, Selection] = {}

    def selection(self, tokens: Iterable[str]) -> Selection:
        """The rules for the crawler with these tokens in lower case, in order."""
        token = next((token for token in tokens if token in self._named), EVERYONE)
        if token not in self._selections:
            self._selections[token] = self.file.selection(token)
        return self._selections[token]


def index_at(versions: Sequence[FileVersion], at: float) -> int:
    """The index of the version in force at a time, of sorted ones; -1 if none is known."""
    return bisect_right(versions, at, key=attrgetter("since")) - 1


@lru_cache(16)
def rules_of(version: FileVersion) -> VersionRules:
    """The rules of a version."""
    return VersionRules(version.read())


def named_versions(arguments: Iterable[str]) -> Iterator[FileVersion]:
    """The versions that arguments name: ``FILE``, ``DATE=FILE``, or a folder of dated copies.

    Raises:
        CommandError: one cannot be read, or a folder has no dated file.
    """
    for argument in arguments:
        if dated := _DATED_ARGUMENT.fullmatch(argument):
            yield _version(dated[2], dated)
        elif Path(argument).is_dir():
            names = {str(one): _DATE.search(one.name) for one in Path(argument).iterdir()}
            if not any(names.values()):
                raise CommandError(f"{argument}: no file has a name with a date (2026-10-01.txt)")
            yield from (_version(name, date) for name, date in names.items() if date)
        else:
            yield _version(argument)


def _version(path: str, date: re.Match[str] | None = None) -> FileVersion:
    body = octets_of(path)
    try:
        since = -math.inf if date is None else instant_of(date[1])
    except ValueError as error:
        raise CommandError(f"{path}: {error}") from error
    return FileVersion(since, path, lambda: body)


def git_versions(path: Path) -> Iterator[FileVersion]:
    """The versions of a file in a git repository, from the times of their commits on.

    Raises:
        CommandError: git does not know the file.
    """
    path = path / "robots.txt" if path.is_dir() else path
    commits = _git(path, "log", "--reverse", "--format=%H %ct", "--", path.name).decode().split()
    if not commits:
        raise CommandError(f"{path}: git knows no version of this file")
    for commit, at in zip(commits[::2], commits[1::2], strict=True):
        read = partial(_git, path, "show", f"{commit}:./{path.name}")  # nothing if deleted
        yield FileVersion(float(at), f"{path.name} of {commit[:12]}", read)


def _git(path: Path, *arguments: str) -> bytes:
    with suppress(OSError):  # there is no git
        command = ["git", "-C", str(path.parent), *arguments]
        return subprocess.run(command, capture_output=True, check=False).stdout  # noqa: S603
    return b""


def stored_versions(copies: Iterable[Copy], name: str) -> Iterator[FileVersion]:
    """The versions that a store has seen; an answer without a file permits everything."""
    for copy in copies:
        has_file = access_result(copy.event) is AccessResult.SUCCESSFUL
        yield FileVersion(copy.fetched_at, name, partial(bytes, copy.body if has_file else b""))

"""The versions of a robots.txt, and the time from which each was in force."""

from __future__ import annotations

import math
import re
import subprocess
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache, partial
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple

from scrapy_rep.commands.inputs import octets_of
from scrapy_rep.commands.running import CommandError, unreadable
from scrapy_rep.protocol.access.events import AccessResult, access_result
from scrapy_rep.protocol.access.knowledge import Copy
from scrapy_rep.protocol.document import parse
from scrapy_rep.protocol.lines import UserAgentLines
from scrapy_rep.protocol.selection import Selection
from scrapy_rep.protocol.tokens import EVERYONE, is_everyone, token_of
from scrapy_rep.protocol.units import DAY_SECONDS

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
        certain_seconds: the time from `since` until it was certainly in force.
    """

    since: float
    name: str
    read: Callable[[], bytes]
    certain_seconds: float = 0.0


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


def certain_index_at(versions: Sequence[FileVersion], at: float) -> int:
    """The index of the last version that was certainly in force at a time or before; or -1."""
    index = index_at(versions, at)
    while index >= 0 and versions[index].since + versions[index].certain_seconds > at:
        index -= 1
    return index


@lru_cache(16)
def rules_of(version: FileVersion) -> VersionRules:
    """The rules of a version."""
    return VersionRules(version.read())


def named_versions(arguments: Iterable[str]) -> list[FileVersion]:
    """The versions that arguments name: ``FILE``, ``DATE=FILE``, or a folder of dated copies.

    Raises:
        CommandError: one cannot be read, two are for the same time, or a folder has no dated file.
    """
    versions = [*_named_versions(arguments)]
    if len({version.since for version in versions}) < len(versions):
        raise CommandError("two of the files are for the same time: give DATE=FILE")
    return versions


def _named_versions(arguments: Iterable[str]) -> Iterator[FileVersion]:
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
    is_day = date is not None and "T" not in date[1]  # some time of it
    return FileVersion(since, path, lambda: body, DAY_SECONDS if is_day else 0.0)


def git_versions(path: Path) -> Iterator[FileVersion]:
    """The versions of a file in a git repository, from the times of their commits on.

    A change on a branch counts from the merge on.

    Raises:
        CommandError: git fails, or does not know the file or all of its past.
    """
    path = path / "robots.txt" if path.is_dir() else path
    if _git(path, "rev-parse", "--is-shallow-repository").strip() == b"true":
        raise CommandError(f"{path}: a shallow clone lacks versions: run git fetch --unshallow")
    log = ("log", "--first-parent", "--reverse", "--format=%H %ct", "--", path.name)
    commits = _git(path, *log).decode().split()
    if not commits:
        raise CommandError(f"{path}: git knows no version of this file")
    for commit, at in zip(commits[::2], commits[1::2], strict=True):
        name = f"{path.name} of {commit[:12]}"
        yield FileVersion(float(at), name, partial(_committed, path, commit))


def _committed(path: Path, commit: str) -> bytes:
    """The octets of a file in a commit; none if the commit does not have it."""
    mode, *facts = _git(path, "ls-tree", commit, "--", path.name).split() or [b""]
    if mode and mode[:2] != b"10":  # a link, a folder or a submodule
        raise CommandError(f"{path}: not a regular file in commit {commit}")
    return _git(path, "cat-file", "blob", facts[1].decode()) if mode else b""


def _git(path: Path, *arguments: str) -> bytes:
    command = ["git", "--literal-pathspecs", "-C", str(path.parent), *arguments]
    try:
        return subprocess.run(command, capture_output=True, check=True).stdout  # noqa: S603
    except OSError as error:
        raise unreadable("git", error) from error
    except subprocess.CalledProcessError as error:
        words = error.stderr.decode("utf-8", "backslashreplace").strip()
        raise CommandError(f"{path}: git {arguments[0]} failed: {words}") from error


def stored_versions(copies: Iterable[Copy], name: str) -> Iterator[FileVersion]:
    """The versions that a store has seen; an answer that there is no file permits everything."""
    for copy in copies:
        result = access_result(copy.event)
        if result is not AccessResult.UNREACHABLE:  # this says nothing about the file
            body = copy.body if result is AccessResult.SUCCESSFUL else b""
            yield FileVersion(copy.fetched_at, name, partial(bytes, body))

"""The versions of a robots.txt, and the time from which each was in force."""

from __future__ import annotations

import math
import re
import subprocess
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache, partial
from itertools import accumulate, pairwise
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple

from scrapy_rep.commands.inputs import octets_of
from scrapy_rep.commands.running import CommandError, unreadable
from scrapy_rep.protocol.access.knowledge import Copy
from scrapy_rep.protocol.document import RobotsTxt, parse
from scrapy_rep.protocol.selection import Selection
from scrapy_rep.protocol.units import DAY_SECONDS

from .log_lines import instant_of

_DATE = re.compile(r"(\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d)?)?)")
_DATED_ARGUMENT = re.compile(rf"{_DATE.pattern}Z?=(.+)")
_CHANGE = re.compile(r"(\w{40,}) (\d+)\s+:\d+ (\d\d)\d+ \w+ (\w+) ")
_FILE, _NOTHING = "10", "00"  # the beginnings of modes in git


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


def index_at(versions: Sequence[FileVersion], at: float, *, is_certain: bool = False) -> int:
    """The index of the last version in force, perhaps certainly, at a time; or -1."""
    return bisect_right(versions, at, key=lambda v: v.since + is_certain * v.certain_seconds) - 1


@lru_cache(16)
def parsed(version: FileVersion) -> RobotsTxt:
    """The file of a version."""
    return parse(version.read(), version.name)


@lru_cache(1024)
def selection_of(version: FileVersion, tokens: tuple[str, ...]) -> Selection:
    """The rules in a version for the tokens of a crawler."""
    return parsed(version).selection(tokens)


def named_versions(arguments: Iterable[str]) -> list[FileVersion]:
    """The versions that arguments name: ``FILE``, ``DATE=FILE``, or a folder of dated copies.

    Raises:
        CommandError: one cannot be read, two are for the same time, or a folder has no dated file.
    """
    versions = [_version(*dated) for argument in arguments for dated in _dated(argument)]
    for one, later in pairwise(sorted(versions, key=attrgetter("since"))):
        if later.since < one.since + one.certain_seconds or later.since == one.since:
            words = f"{one.name} and {later.name} are for the same time"
            raise CommandError(f"{words}: give 2026-10-01T12:00=FILE")
    return versions


def _dated(argument: str) -> list[tuple[str, str]]:
    """The files that an argument names, each with its date, perhaps empty."""
    if dated := _DATED_ARGUMENT.fullmatch(argument):
        return [(dated[1], dated[2])]
    if not Path(argument).is_dir():
        return [("", argument)]
    names = [(_DATE.search(one.name), str(one)) for one in Path(argument).iterdir()]
    if not any(date for date, _ in names):
        raise CommandError(f"{argument}: no file has a name with a date (2026-10-01.txt)")
    return [(date[1], name) for date, name in names if date]


def _version(date: str, path: str) -> FileVersion:
    body = octets_of(path)
    try:
        since = instant_of(date) if date else -math.inf
    except ValueError as error:
        raise CommandError(f"{path}: {error}") from error
    is_day = date and "T" not in date  # some time of it
    return FileVersion(since, path, lambda: body, DAY_SECONDS if is_day else 0.0)


def git_versions(path: Path) -> Iterator[FileVersion]:
    """The versions of a file in a git repository, from the times of their commits on.

    A change on a branch counts from the merge on. If a commit is dated before its parent, one of
    two clocks was wrong: both versions may be in force between these times.

    Raises:
        CommandError: git fails, or does not know the file or all of its past.
    """
    path = path / "robots.txt" if path.is_dir() else path
    if _git(path, "rev-parse", "--is-shallow-repository").strip() == b"true":
        raise CommandError(f"{path}: a shallow clone lacks versions: run git fetch --unshallow")
    log = ["log", "--first-parent", "-m", "--reverse", "--root", "--raw", "--no-abbrev"]
    log += ["--no-follow", "--no-renames", "--format=%H %ct", "--", path.name]
    changes = _CHANGE.findall(str(_git(path, *log), "latin-1"))
    if not changes:
        raise CommandError(f"{path}: git knows no version of this file")
    times = [float(at) for _, at, *_ in changes]
    spans = zip([*accumulate(times[::-1], min)][::-1], accumulate(times, max), strict=True)
    for (commit, _, *blob), (at, certain_at) in zip(changes, spans, strict=True):
        read = partial(_committed, path, *blob)
        yield FileVersion(at, f"{path.name} of {commit[:12]}", read, certain_at - at)


def _committed(path: Path, kind: str, blob: str) -> bytes:
    """The octets of a file in a commit; none if the commit does not have it."""
    if kind not in (_FILE, _NOTHING):  # a link, a folder or a submodule
        raise CommandError(f"{path}: not a regular file in one of the commits")
    return _git(path, "cat-file", "blob", blob) if kind == _FILE else b""


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
    """Yield the versions that a store has seen; an answer that there is no file has no octets.

    A version may be in force from the time when the one before it was confirmed last.
    """
    confirmed_at = math.inf
    for copy in sorted(copies, key=attrgetter("fetched_at")):
        since = min(confirmed_at, copy.fetched_at)
        yield FileVersion(since, name, partial(bytes, copy.body), copy.fetched_at - since)
        confirmed_at = copy.confirmed_at

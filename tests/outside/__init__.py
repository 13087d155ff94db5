"""Suites that others wrote, judged case by case.

A suite is a row of `table.SUITES`: a repository at a commit, an adapter, and what answers. The
adapter takes a `Checkout` and yields a `Case` for each case that it reads in the suite's own files,
which are not in this repository. A case is equal if what this package answers to `given` equals
`expected`. `exceptions.txt` lists the cases that are not, each with its reason.

    python -m tests.outside [SUITE ...] [--checkouts FOLDER]
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

SECONDS = 600.0
"""The limit of each command of git."""


class Case(NamedTuple):
    """A case of a suite.

    Attributes:
        name: unlike that of each other case of the suite, without white space; it should stay
            as it is if the suite gets new cases elsewhere.
        given: what the suite's `answer` takes.
        expected: the suite's own answer.
    """

    name: str
    given: Any
    expected: Any


class Robots(NamedTuple):
    """What a case on robots.txt asks: may a crawler of this name fetch this URL or path?

    Attributes:
        octets: of the file.
        agent: a name or a User-Agent header.
        url: or a path.
        file_url: where the file is, if the suite says so.
    """

    octets: bytes
    agent: str
    url: str
    file_url: str = ""


@dataclass(frozen=True)
class Checkout:
    """The files of a repository at a commit.

    Attributes:
        folder: of a repository (bare, too) with this commit, or of plain files.
        commit: its full hash.
    """

    folder: Path
    commit: str

    @cached_property
    def is_pinned(self) -> bool:
        """Whether the files are those of the commit; plain files can be any."""
        return not self._git("cat-file", "-e", f"{self.commit}^{{commit}}").returncode

    def read(self, path: str) -> bytes:
        """The octets of a file."""
        if not self.is_pinned:
            return (self.folder / path).read_bytes()
        found = self._git("cat-file", "blob", f"{self.commit}:{path}")
        found.check_returncode()
        return found.stdout

    def paths(self, folder: str) -> list[str]:
        """The paths of all files below a folder, in order."""
        if not self.is_pinned:
            found = (self.folder / folder).rglob("*")
            return sorted(str(one.relative_to(self.folder)) for one in found if one.is_file())
        listed = self._git("ls-tree", "-r", "--name-only", "-z", self.commit, f"{folder}/")
        return sorted(filter(None, listed.stdout.decode().split("\0")))

    def _git(self, *arguments: str) -> subprocess.CompletedProcess[bytes]:
        command = ["git", "-C", str(self.folder), *arguments]
        return subprocess.run(command, capture_output=True, check=False, timeout=SECONDS)


@dataclass(frozen=True)
class Suite:
    """A suite.

    Attributes:
        repository: its owner and name at GitHub.
        commit: its full hash.
        date: of the commit.
        licence: of the suite, by its SPDX name.
        cases: the adapter.
        answer: what this package answers to what a case gives.
        part: of the repository, if it has several suites.
    """

    repository: str
    commit: str
    date: str
    licence: str
    cases: Callable[[Checkout], Iterator[Case]]
    answer: Callable[[Any], object]
    part: str = ""

    @property
    def name(self) -> str:
        """The name in the table and in the list of exceptions, without white space."""
        return self.repository + (f":{self.part}" if self.part else "")

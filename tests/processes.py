"""Processes of tests, each a fork of one that has loaded Scrapy and the tests' servers once.

A new interpreter would spend more time on imports than most crawls and calls of ``scrapy`` take.
"""

from __future__ import annotations

import functools
import multiprocessing
import os
import resource
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from multiprocessing.context import ForkServerContext
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parents[1]


class Forked:
    """A process that runs a function: as `subprocess.Popen` has it, as far as tests need it.

    Args:
        target: a function of a module; its process ends when it does.
        arguments: what can be pickled, sockets included.
    """

    def __init__(self, target: Callable[..., Any], *arguments: Any) -> None:
        self._process = _nursery().Process(target=target, args=arguments, daemon=True)
        self._process.start()

    @property
    def pid(self) -> int:
        """Its number."""
        assert self._process.pid is not None
        return self._process.pid

    @property
    def returncode(self) -> int | None:
        """Its exit code, or the negative number of the signal that ended it; None as it runs."""
        return self._process.exitcode

    def poll(self) -> int | None:
        """The same."""
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Its exit code, once it has ended.

        Raises:
            subprocess.TimeoutExpired: it did not, in so many seconds.
        """
        self._process.join(timeout)
        if self._process.exitcode is None:
            raise subprocess.TimeoutExpired(str(self._process), timeout or 0.0)
        return self._process.exitcode

    def send_signal(self, number: signal.Signals) -> None:
        """Send a signal, if it still runs."""
        if self.returncode is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """End it, whatever it is doing."""
        self.send_signal(signal.SIGKILL)


def start_crawl(
    folder: Path, environment: Mapping[str, str] | None = None, module: str = "tests.crawl_runner"
) -> Forked:
    """Run the ``job.json`` in a folder, as the module does.

    Args:
        folder: where the job is, and its streams and its result will be.
        environment: all of its variables; those of this process, without proxies, if None.
        module: its `main` is called with the folder.
    """
    variables = dict(without_proxies() if environment is None else environment)
    return Forked(_crawl, folder, variables, module)


def _crawl(folder: Path, environment: dict[str, str], module: str) -> None:
    _move(REPOSITORY, environment)
    # Streams go to a file: a full pipe without a reader would stop the crawl when it is full.
    with (folder / "streams").open("wb") as streams:
        for descriptor in (1, 2):
            os.dup2(streams.fileno(), descriptor)
    sys.exit(import_module(module).main(folder))


class Scrapy:
    """A call of ``scrapy`` in a process of its own, with files as its streams.

    Args:
        arguments: those of the command line, without ``scrapy``.
        stdin: what it reads.
        environment: all of its variables; those of this process, without proxies, if None.
        folder: where it runs.
        most_files: how many it may have open; as many as this process, if None.
    """

    def __init__(
        self,
        *arguments: object,
        stdin: bytes = b"",
        environment: Mapping[str, str] | None = None,
        folder: Path = REPOSITORY,
        most_files: int | None = None,
    ) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="scrapy-")
        self._streams = Path(self._folder.name)
        (self._streams / "0").write_bytes(stdin)
        streams = [self._streams / name for name in "012"]
        variables = without_proxies() if environment is None else environment
        self.process = start_scrapy(arguments, streams, variables, folder, most_files)

    def end(self, timeout: float = 120) -> subprocess.CompletedProcess[bytes]:
        """Wait for its end; what came of it.

        Raises:
            subprocess.TimeoutExpired: it did not end, in so many seconds, and was killed.
        """
        try:
            status = self.process.wait(timeout)
            out, err = ((self._streams / name).read_bytes() for name in "12")
            return subprocess.CompletedProcess("scrapy", status, out, err)
        finally:
            self.process.kill()
            self.process.wait()
            self._folder.cleanup()


def start_scrapy(
    arguments: Iterable[object],
    streams: Iterable[Path],
    environment: Mapping[str, str],
    folder: Path = REPOSITORY,
    most_files: int | None = None,
) -> Forked:
    """Call ``scrapy`` with what its three streams open; a terminal is its own."""
    words = [str(argument) for argument in arguments]
    return Forked(_call, [*streams], words, folder, dict(environment), most_files)


def _call(
    streams: list[Path],
    arguments: list[str],
    folder: Path,
    environment: dict[str, str],
    most_files: int | None,
) -> None:
    multiprocessing.current_process().daemon = False  # it may start processes of its own
    if any(path.is_char_device() for path in streams):
        os.setsid()  # Ctrl-C reaches those whose session opens the terminal
    _move(folder, environment)
    if most_files is not None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most_files, most_files))
    ways = ("stdin", "r", os.O_RDONLY), ("stdout", "w", os.O_WRONLY), ("stderr", "w", os.O_WRONLY)
    for descriptor, (path, (name, mode, way)) in enumerate(zip(streams, ways, strict=True)):
        opened = os.open(path, way | os.O_CREAT, 0o600)
        os.dup2(opened, descriptor)
        os.close(opened)
        # As an interpreter opens them in a UTF-8 locale.
        lines = 1 if "PYTHONUNBUFFERED" in environment else -1
        stream = open(descriptor, mode, lines, encoding="utf-8", closefd=False)  # noqa: SIM115
        setattr(sys, name, stream)
    sys.argv = ["scrapy", *arguments]
    sys.path.insert(0, str(folder))  # as `python -m` does
    import_module("scrapy.cmdline").execute()


def _move(folder: Path, environment: dict[str, str]) -> None:
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)


@functools.cache
def _nursery() -> ForkServerContext:
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.crawl_nursery"])
    return context


def without_proxies() -> dict[str, str]:
    """The environment, without the variables that name proxies."""
    return {name: value for name, value in os.environ.items() if "_proxy" not in name.lower()}

"""Runs each file of tests in its own pytest process, so that one that hangs spoils no other."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from queue import SimpleQueue
from typing import Any, NamedTuple

from tests.suites.comparing import Outcome, outcomes_of
from tests.suites.places import Place

OWN: dict[str, Any] = {"ROBOTSTXT_OBEY": True}
OURS = {**OWN, "ADDONS": {"scrapy_rep.Addon": 500}, "REP_STORE": "memory"}


class Limits(NamedTuple):
    """How long a test, and a file of tests, may take."""

    test_seconds: float
    file_seconds: float


class Runner:
    """Runs files of tests, as many at a time as the place has trees."""

    def __init__(self, place: Place, limits: Limits) -> None:
        self._place = place
        self._limits = limits
        self._trees: SimpleQueue[Path] = SimpleQueue()
        for tree in place.trees:
            self._trees.put(tree)

    def run(
        self, name: str, files: Iterable[str], settings: dict[str, Any], *tests: str
    ) -> dict[str, Outcome]:
        """Run files with these default settings of Scrapy.

        Args:
            name: of the run, for the names of the files that it writes.
            files: the files.
            settings: the settings that differ.
            tests: only these tests of the files; all if there are none.
        """
        outcomes: dict[str, Outcome] = {}
        with ThreadPoolExecutor(len(self._place.trees)) as pool:
            runs = [
                pool.submit(self._run_file, name, file, settings, _tests_of(file, tests))
                for file in files
            ]
            for run in runs:
                outcomes |= run.result()
        return outcomes

    def _run_file(
        self, name: str, file: str, settings: dict[str, Any], chosen: list[str]
    ) -> dict[str, Outcome]:
        stem = file.replace("/", "-").removesuffix(".py")
        results = self._place.results / f"{stem}.{name}.jsonl"
        log = results.with_suffix(".log")
        variables = {
            **self._place.variables(),
            "REP_SUITES_SETTINGS": json.dumps(settings),
            "REP_SUITES_RESULTS": str(results),
        }
        tree = self._trees.get()
        try:
            outcomes = self._run_until_finished(chosen or [file], tree, variables, log)
        finally:
            self._trees.put(tree)
        bad = sum(outcome.event in {"failed", "started"} for outcome in outcomes.values())
        print(f"  {name}: {file}: {len(outcomes)} tests, {bad} failed", flush=True)
        return outcomes

    def _run_until_finished(
        self, tests: list[str], tree: Path, variables: dict[str, str], log: Path
    ) -> dict[str, Outcome]:
        """Run tests, again after each that had to be killed, without those that were started."""
        results = Path(variables["REP_SUITES_RESULTS"])
        ends_at = time.monotonic() + self._limits.file_seconds
        outcomes: dict[str, Outcome] = {}
        while time.monotonic() < ends_at:
            with log.open("ab") as output:
                self._pytest(tests, tree, variables, output, ends_at - time.monotonic())
            lines = results.read_text(encoding="utf-8").splitlines() if results.exists() else []
            before = len(outcomes)
            outcomes, is_finished = outcomes_of(lines)
            if is_finished or len(outcomes) == before:
                break
        return outcomes

    def _pytest(
        self, tests: list[str], tree: Path, variables: dict[str, str], output: Any, seconds: float
    ) -> None:
        limit = f"--timeout={self._limits.test_seconds}"
        command = [str(self._place.python), "-m", "pytest", "-p", "rep_suites_recorder"]
        command += ["-q", "-p", "no:cacheprovider", limit, "--timeout-method=thread"]
        process = subprocess.Popen(
            [*command, *self._place.suite.arguments, *tests],
            cwd=tree,
            env=variables,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            with suppress(subprocess.TimeoutExpired):
                process.wait(seconds)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)  # servers too that a killed test started
            process.wait()


def _tests_of(file: str, tests: Iterable[str]) -> list[str]:
    return [test for test in tests if test.startswith(f"{file}::")]


@contextmanager
def redis_server() -> Iterator[None]:
    """A Redis server, if one is installed, by the variables that tests of scrapy-redis read."""
    program = shutil.which("redis-server") or shutil.which("valkey-server")
    if program is None:
        print("no Redis server is installed: tests that need one fail with both middlewares")
        yield
        return
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = str(listener.getsockname()[1])
    options = ["--port", port, "--bind", "127.0.0.1", "--save", ""]
    process = subprocess.Popen([program, *options], stdout=subprocess.DEVNULL)
    os.environ.update(REDIS_HOST="127.0.0.1", REDIS_PORT=port)
    try:
        yield
    finally:
        process.terminate()
        process.wait()

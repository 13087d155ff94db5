"""Runs each file of tests in its own pytest process, so that a hang spoils no other file."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from queue import SimpleQueue
from typing import Any, NamedTuple

from tests.suites.comparing import Outcome, only_with_ours, outcomes_of, words_of
from tests.suites.places import Place

OWN, OURS = "own", "ours"
"""The names of the runs with Scrapy's own middleware and with ours."""


class Limits(NamedTuple):
    """How long a test, and a file of tests, may take."""

    test_seconds: float
    file_seconds: float


class Runner:
    """Runs files of tests, as many at a time as the place has trees.

    Args:
        place: where to run them.
        limits: how long they may take.
        settings: the settings of Scrapy for each run, by its name.
    """

    def __init__(self, place: Place, limits: Limits, settings: dict[str, dict[str, Any]]) -> None:
        self._place = place
        self._limits = limits
        self._settings = settings
        self._trees: SimpleQueue[Path] = SimpleQueue()
        for tree in place.trees:
            self._trees.put(tree)

    def run_twice(self, files: list[str]) -> tuple[dict[str, Outcome], dict[str, Outcome]]:
        """The outcomes of all tests in some files, with Scrapy's own middleware and with ours."""
        own: dict[str, Outcome] = {}
        ours: dict[str, Outcome] = {}
        with ThreadPoolExecutor(len(self._place.trees)) as pool:
            for own_of_file, ours_of_file in pool.map(self._run_file_twice, files):
                own |= own_of_file
                ours |= ours_of_file
        return own, ours

    def _run_file_twice(self, file: str) -> tuple[dict[str, Outcome], dict[str, Outcome]]:
        """Run a file; then again what fails only with ours, for the machine may have been busy.

        Tests that did not end in time do not run again.
        """
        tree = self._trees.get()
        try:
            own = self._run(OWN, file, [file], tree)
            ours = self._run(OURS, file, [file], tree)
            failed = only_with_ours(own, ours)
            ended = [test for test in failed if test in ours and ours[test].event != "started"]
            again = self._run(OURS, f"{file}.again", ended, tree) if ended else {}
        finally:
            self._trees.put(tree)
        for test in failed:
            words = words_of(ours.get(test))
            if test in again and again[test].is_pass:
                print(f"    passes the second time: {test}: {words}", flush=True)
            else:
                print(f"    fails only with ours: {test}: {words}", flush=True)
        return own, {**ours, **again}

    def _run(self, name: str, label: str, tests: list[str], tree: Path) -> dict[str, Outcome]:
        """Run files or tests once; `label` is for the names of the files with the results."""
        results = self._place.results / f"{label.replace('/', '-')}.{name}.jsonl"
        variables = {
            **self._place.variables(),
            "REP_SUITES_SETTINGS": json.dumps(self._settings[name]),
            "REP_SUITES_RESULTS": str(results),
        }
        began_at = time.monotonic()
        outcomes = self._run_until_finished(tests, tree, variables, results.with_suffix(".log"))
        seconds = time.monotonic() - began_at
        passed = sum(outcome.is_pass for outcome in outcomes.values())
        numbers = f"{passed} of {len(outcomes)} tests pass in {seconds:.0f} s"
        print(f"  {label}, {name}: {numbers}", flush=True)
        return outcomes

    def _run_until_finished(
        self, tests: list[str], tree: Path, variables: dict[str, str], log: Path
    ) -> dict[str, Outcome]:
        """Run tests, again after each kill, without the tests that were started."""
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

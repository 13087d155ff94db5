"""Several processes on one store: no entry is lost or torn, and no file is fetched twice."""

from __future__ import annotations

import random
import sqlite3
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from multiprocessing import Pipe
from pathlib import Path

import pytest

from scrapy_rep.cache.sqlite import SqliteStore
from tests.cache.workers import LIMIT_OCTETS, ORIGINS, fetch, number_in, origin_of, write
from tests.processes import Forked

_ROUNDS = 4
_WRITERS = 4
_FETCHERS = 8
_FETCHED = 200


def acknowledged(log: Path) -> list[int]:
    """The numbers of the lines that were written whole."""
    return [int(line) for line in log.read_text().split("\n")[:-1]] if log.exists() else []


def check(path: Path, logs: Sequence[Path]) -> int:
    """Every acknowledged entry, or a later one of its origin, is there; how many were."""
    with closing(sqlite3.connect(path)) as plain:
        assert plain.execute("pragma integrity_check").fetchall() == [("ok",)]
    store = SqliteStore(path, LIMIT_OCTETS)
    newest: dict[tuple[int, int], int] = {}
    for writer, log in enumerate(logs):
        for number in acknowledged(log):
            newest[writer, number % ORIGINS] = number
    for (writer, _), number in newest.items():
        entry = store.peek(origin_of(writer, number))
        assert entry is not None, f"{origin_of(writer, number)} {number} is lost"
        assert number_in(entry) >= number
    store.close()
    return len(newest)


def wait_until_each_has_written(logs: Sequence[Path], counts: Sequence[int]) -> None:
    patience = time.monotonic() + 60
    while not all(len(acknowledged(log)) > n for log, n in zip(logs, counts, strict=True)):
        assert time.monotonic() < patience, "the writers do not write"
        time.sleep(0.02)


@pytest.mark.slow
def test_kill_9_loses_no_acknowledged_entry(tmp_path: Path) -> None:
    path, lots = tmp_path / "robots.sqlite", random.Random(9)
    logs = [tmp_path / f"log-{writer}" for writer in range(_WRITERS)]
    until, end = Pipe(duplex=False)
    writers = [Forked(write, path, log, writer, 1, until) for writer, log in enumerate(logs)]
    try:
        for round_number in range(_ROUNDS):
            wait_until_each_has_written(logs, [len(acknowledged(log)) + 5 for log in logs])
            time.sleep(lots.uniform(0, 0.2))
            victim = round_number % _WRITERS
            writers[victim].kill()
            writers[victim].wait(60)
            assert check(path, logs) > 0
            assert all(w.poll() is None for n, w in enumerate(writers) if n != victim)
            first = max(acknowledged(logs[victim])) + 1
            writers[victim] = Forked(write, path, logs[victim], victim, first, until)
        wait_until_each_has_written(logs, [len(acknowledged(log)) for log in logs])
    finally:
        end.close()  # and with it ends each writer
        codes = [writer.wait(60) for writer in writers]
    assert codes == [0] * _WRITERS
    assert check(path, logs) == _WRITERS * ORIGINS
    assert list(tmp_path.glob("*.damaged-*")) == []


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["sqlite", "redis"])
def test_eight_processes_fetch_each_origin_once(
    kind: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    is_redis = kind == "redis"
    place = request.getfixturevalue("redis_server").url if is_redis else tmp_path / "robots.sqlite"
    log = tmp_path / "log"
    processes = [Forked(fetch, str(place), log, seed, _FETCHED) for seed in range(_FETCHERS)]
    assert [process.wait(120) for process in processes] == [0] * _FETCHERS
    fetched = Counter(log.read_text().split())
    assert len(fetched) == _FETCHED
    assert fetched.total() == _FETCHED

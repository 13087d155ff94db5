"""The README's command runs the quick tests. CI runs the slow ones, too.

Tests of crawls run in each event loop. Those in the two loops that are not Scrapy's default are
slow, and CI runs one of the two, chosen by the name of the test; modules that say `every_loop` run
in all three.
"""

from __future__ import annotations

import functools
import gc
import os
import signal
import subprocess
from collections.abc import Iterator
from itertools import chain, groupby, islice
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

from scrapy_rep.extras import EXTRAS
from tests.shared import SHARED

if TYPE_CHECKING:
    from tests.redis_server import RedisServer

# Extras have some of the public names.
collect_ignore = [] if all(extra.is_installed for extra in EXTRAS) else ["test_public_api.py"]

# A test run says the same twice: examples are derived from the test, not drawn. To look for new
# ones, run with HYPOTHESIS_PROFILE=search and, for
# example, HYPOTHESIS_EXAMPLES=10000. No example has a time limit, since machines are noisy.
_EXAMPLES = {"fixed": 40, "search": int(os.environ.get("HYPOTHESIS_EXAMPLES", "3000"))}
for _name, _count in _EXAMPLES.items():
    settings.register_profile(
        _name,
        derandomize=_name != "search",
        deadline=None,
        max_examples=_count,
        suppress_health_check=() if _name == "search" else [HealthCheck.too_slow],
    )
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fixed"))

# A shell lets what it starts in the background ignore SIGINT, and a child inherits that: those that
# tests interrupt would go on.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

_OTHER_LOOPS = ("select", "reactorless")


@pytest.fixture(scope="session", autouse=True)
def own_folders(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """No test reads or writes the store, or the state of Scrapy, of the user who runs it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        yield


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 64 KiB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(folder)]
    mounted = subprocess.run(command, capture_output=True, check=False)
    if mounted.returncode:
        pytest.skip(f"nothing can be mounted here: {mounted.stderr.decode()}")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


@pytest.hookimpl(tryfirst=True)  # before the marks are looked at
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what needs data that are not here, and mark what is slow, or quick."""
    quick = tuple(config.rootpath / path for path in config.getini("testpaths"))
    is_quick = functools.cache(lambda path: any(map(path.is_relative_to, quick)))
    if SHARED is None:
        items[:] = [item for item in items if item.get_closest_marker("needs_shared") is None]
    for item in items:
        callspec = getattr(item, "callspec", None)
        loop = callspec.params.get("loop") if callspec is not None else None
        if loop in _OTHER_LOOPS and item.get_closest_marker("every_loop") is None:
            item.add_marker(pytest.mark.slow)
            if loop != _OTHER_LOOPS[len(item.name.partition("[")[0]) % 2]:  # CI runs one of the two
                item.add_marker(pytest.mark.at_length)
        if item.get_closest_marker("at_length") is not None:
            item.add_marker(pytest.mark.slow)
        is_slow = item.get_closest_marker("slow") is not None
        if not is_slow and is_quick(item.path):
            item.add_marker(pytest.mark.quick)


@pytest.hookimpl(tryfirst=True)  # before workers tell what they have found
def pytest_collection_finish(session: pytest.Session) -> None:
    """Let each worker begin with its share of the long tests: at the end, one would run alone.

    The tests of a file that have a parameter in common share what a fixture makes of it, such as a
    crawl of a minute: they stay together.
    """
    by_length: dict[bool, list[pytest.Item]] = {True: [], False: []}
    for item in session.items:
        by_length[item.get_closest_marker("long") is not None].append(item)
    long = [[*group] for _, group in groupby(by_length[True], _share)]
    others, left = iter(by_length[False]), len(session.items)
    count = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    session.items = []
    for number in range(count):
        share = [*chain.from_iterable(long[number::count])]
        size = left // (count - number)  # of the piece that this worker is given
        session.items += [*share, *islice(others, max(0, size - len(share)))]
        left -= size
    session.items += others
    gc.collect()
    gc.freeze()  # else each full collection takes a quarter of a second, for ten thousand tests


def _share(item: pytest.Item) -> tuple[Path, str]:
    """The file of a test, and its parameters."""
    return item.path, item.nodeid.partition("[")[2]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of its own, in which the call is made."""
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path / "here"


@pytest.fixture
def robots(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """A robots.txt with the octets ``FILE`` of the test module."""
    path = tmp_path / "robots.txt"
    path.write_bytes(request.module.FILE)
    return path


@pytest.fixture(scope="session")
def session_redis() -> Iterator[RedisServer]:
    """The session's server; use `redis_server` instead."""
    from tests.redis_server import RedisServer  # most tests need no package of Redis

    with RedisServer() as server:
        yield server


@pytest.fixture
def redis_server(session_redis: RedisServer) -> RedisServer:
    """The session's server, empty, and without scripts."""
    session_redis.flush()
    session_redis.forget_scripts()
    return session_redis

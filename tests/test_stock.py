"""The files in a `JOBDIR`: no request is lost, and damage to a file costs only its requests."""

from __future__ import annotations

import errno
import gc
import json
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import queuelib.queue
from scrapy import Request, squeues
from scrapy.pqueues import DownloaderAwarePriorityQueue

from scrapy_rep.pace.waits import Wait, Why
from scrapy_rep.protocol.access.origin import Origin
from tests.test_queue import Setup

# Queues that fail while they are opened, or copied while they are open, leave their files open.
pytestmark = pytest.mark.filterwarnings(
    "ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"
)


@pytest.fixture(scope="module", autouse=True)
def nothing_is_left_open_for_others() -> Iterator[None]:
    """Close the files that such queues leave open, so that their warnings do no harm."""
    yield
    gc.collect()


_NAMES = [
    *["PickleFifoDiskQueue", "PickleLifoDiskQueue"],
    *["MarshalFifoDiskQueue", "MarshalLifoDiskQueue"],
    *["PickleFifoSQLiteQueue", "PickleLifoSQLiteQueue"],  # as of some version of Scrapy
]
KINDS = [getattr(squeues, name) for name in _NAMES if hasattr(squeues, name)]
FILES = KINDS[:4]
LIFO, FIFO = squeues.PickleLifoDiskQueue, squeues.PickleFifoDiskQueue
HOSTS = ["a.example", "b.example", "c.example"]


def unasked(setup: Setup) -> None:
    setup.site.waits = {host: Wait(Why.UNFETCHED) for host in HOSTS}


def pages(count: int) -> list[str]:
    return [f"http://{host}/{number}" for number in range(count) for host in HOSTS]


def serve(setup: Setup) -> list[str]:
    """All URLs; each robots.txt arrives as soon as it is fetched."""
    popped: list[str] = []
    for _ in range(20):
        popped += setup.pop()
        for host, _ in setup.site.asked:
            if setup.site.waits[host].why is Why.FETCHING:
                setup.site.settle(host)
    assert len(setup.queue) == 0
    return popped


def resumed(folder: Path, state: Any, kind: Any) -> Setup:
    return Setup(str(folder), json.loads(json.dumps(state)), kind=kind)


def left(folder: Path, kind: Any, urls: list[str]) -> Any:
    """The state of a crawl that was stopped with these requests in its queue."""
    setup = Setup(str(folder), kind=kind)
    setup.push(*urls)
    return setup.queue.close()


def files_in(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def stats(setup: Setup) -> dict[str, int]:
    found = setup.crawler.stats.get_stats()
    return {name: found.get(f"rep/queue/{name}", 0) for name in ("damaged", "lost")}


@pytest.mark.parametrize("kind", KINDS)
class TestNothingIsLost:
    def test_resumed_lane_fetches_robots_txt_for_one_of_its_requests(
        self, kind: Any, tmp_path: Path
    ) -> None:
        """It says what the fetch needs, of FTP the credentials; and stays what it is."""
        setup = Setup(str(tmp_path), kind=kind)
        credentials = {"ftp_user": "me", "ftp_password": "secret"}
        setup.push("ftp://a.example/a", "ftp://a.example/b", meta=credentials)
        setup.push("ftp://a.example/first", priority=3, meta=credentials)
        setup = resumed(tmp_path, setup.queue.close(), kind)
        unasked(setup)
        asked: list[Request | None] = []
        fetch = setup.site.fetch

        def note(origin: Origin, request: Request | None) -> None:
            asked.append(request)
            fetch(origin, request)

        setup.site.fetch = note  # type: ignore[method-assign]
        assert setup.pop() == []
        assert [request and request.url for request in asked] == ["ftp://a.example/first"]
        assert all(request and request.meta["ftp_user"] == "me" for request in asked)
        assert len(setup.queue) == 3
        assert serve(setup)[0] == "ftp://a.example/first"
        assert list(tmp_path.iterdir()) == []

    def test_sampled_requests_survive_a_kill(self, kind: Any, tmp_path: Path) -> None:
        """Scrapy's queue would lose nothing of what it has not yet touched."""
        state = left(tmp_path / "job", kind, pages(3))
        setup = resumed(tmp_path / "job", state, kind)
        unasked(setup)
        assert setup.pop() == []
        assert len(setup.site.asked) == 3
        shutil.copytree(tmp_path / "job", tmp_path / "killed")  # nothing is flushed before
        setup = resumed(tmp_path / "killed", state, kind)
        assert sorted(setup.pop()) == sorted(pages(3))

    @pytest.mark.parametrize("error", [NotImplementedError, None])
    def test_queue_without_peek(self, kind: Any, error: Any, tmp_path: Path) -> None:
        """Their robots.txt is fetched without a request."""

        def peek(_: object) -> None:
            if error:
                raise error

        blind = type("Blind", (kind,), {"peek": peek})
        setup = resumed(tmp_path, left(tmp_path, kind, pages(3)), blind)
        unasked(setup)
        assert setup.pop() == []
        assert not any(url for _, url in setup.site.asked)
        assert sorted(serve(setup)) == sorted(pages(3))
        assert stats(setup) == {"damaged": 0, "lost": 0}

    def test_folder_works_with_scrapy_s_queue_and_back(self, kind: Any, tmp_path: Path) -> None:
        """It takes our lanes for slots, and finds their folders by name."""
        long_host = ".".join(["long" * 6] * 3)
        urls = [*pages(3), *(f"http://{long_host}/{number}" for number in range(3))]
        state = left(tmp_path, kind, urls)
        theirs = DownloaderAwarePriorityQueue(Setup().crawler, kind, str(tmp_path), {**state})
        assert len(theirs) == 12
        popped = [request.url for _ in range(5) if (request := theirs.pop()) is not None]
        theirs.push(Request("http://a.example/new"))
        setup = resumed(tmp_path, theirs.close(), kind)
        popped += setup.pop()
        assert sorted(popped) == sorted([*urls, "http://a.example/new"])
        assert list(tmp_path.iterdir()) == []

    def test_files_of_a_killed_crawl_harm_no_new_requests(self, kind: Any, tmp_path: Path) -> None:
        """There is no active.json, and the records in the files were not counted."""
        setup = Setup(str(tmp_path / "job"), kind=kind)
        setup.push(*(f"{url}?old" for url in pages(3)))
        setup.push("http://a.example/?old", priority=7)
        shutil.copytree(tmp_path / "job", tmp_path / "killed")
        setup = Setup(str(tmp_path / "killed"), kind=kind)
        setup.push(*pages(3))
        popped = setup.pop()
        assert set(pages(3)) <= set(popped)
        assert len(popped) == len(set(popped))
        assert stats(setup) == {"damaged": 0, "lost": 0}
        assert list((tmp_path / "killed").iterdir()) == []


def broken(kind: Any, method: str, error: Exception) -> Any:
    """A kind of queue that fails for a.example."""

    def fail(self: Any, *arguments: Any) -> Any:
        if "a.example" in str(getattr(self, "path", getattr(self, "_path", ""))):
            raise error
        return getattr(kind, method)(self, *arguments)

    return type("Broken", (kind,), {method: fail})


ERRORS = [ValueError("nonsense"), EOFError(), OSError(errno.EIO, "input/output"), KeyError("x")]


@pytest.mark.parametrize("kind", KINDS)
class TestOneThatFails:
    """It costs its own requests, counted, and told once; all others go on."""

    def assert_told_once(self, setup: Setup, log: str, lost_count: int) -> None:
        assert stats(setup) == {"damaged": 1, "lost": lost_count}
        assert log.count("failed: ") == 1
        assert log.count("ERROR") == 1
        assert "a.example" in log

    @pytest.mark.parametrize("error", ERRORS)
    def test_queue_that_fails_in_pop_keeps_the_others(
        self, kind: Any, error: Exception, tmp_path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        setup = Setup(str(tmp_path), kind=broken(kind, "pop", error))
        setup.push(*pages(4))
        others = [url for url in pages(4) if "a.example" not in url]
        assert sorted(setup.pop()) == sorted(others)
        assert len(setup.queue) == 0, "or the crawl would not end"
        self.assert_told_once(setup, caplog.text, 4)
        setup.push("http://b.example/later")
        assert setup.pop() == ["http://b.example/later"]

    def test_queue_that_fails_in_push_loses_nothing(
        self, kind: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        """The scheduler keeps refused requests in memory: none is lost."""
        full = OSError(errno.ENOSPC, "no space left on device")
        setup = Setup(str(tmp_path), kind=broken(kind, "push", full))
        for url in pages(3):
            if "a.example" in url:
                with pytest.raises(ValueError, match="no space left"):
                    setup.push(url)
            else:
                setup.push(url)
        assert len(setup.queue) == 6
        assert len(setup.pop()) == 6
        self.assert_told_once(setup, caplog.text, 0)

    def test_queue_that_fails_in_close_keeps_the_others(
        self, kind: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        setup = Setup(str(tmp_path), kind=broken(kind, "close", OSError(errno.EIO, "no")))
        setup.push(*pages(3))
        state = setup.queue.close()
        assert set(state) == {f"http://{host} {host}" for host in HOSTS}
        self.assert_told_once(setup, caplog.text, 0)
        popped = resumed(tmp_path, state, kind).pop()
        assert {url for url in pages(3) if "a.example" not in url} <= set(popped)

    def test_files_of_a_killed_crawl_without_file_handles(self, kind: Any, tmp_path: Path) -> None:
        """The scheduler keeps refused requests in memory."""
        setup = Setup(str(tmp_path / "job"), kind=kind)
        setup.push(*pages(2))
        shutil.copytree(tmp_path / "job", tmp_path / "killed")
        many = OSError(errno.EMFILE, "too many open files")
        setup = Setup(str(tmp_path / "killed"), kind=opening_fails(kind, many))
        with pytest.raises(ValueError, match="too many open files"):
            setup.push("http://a.example/new")
        setup.push("http://b.example/new")
        assert "http://b.example/new" in setup.pop()

    @pytest.mark.parametrize("error", [PermissionError(13, "no"), ValueError("nonsense")])
    def test_queue_that_fails_at_opening_keeps_the_others(
        self, kind: Any, error: Exception, tmp_path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        """A file that may be read later is kept; a damaged one is set aside."""
        state = left(tmp_path, kind, pages(3))
        setup = resumed(tmp_path, state, opening_fails(kind, error))
        assert len(setup.queue) == 6
        assert len(setup.pop()) == 6
        self.assert_told_once(setup, caplog.text, 0)
        state = setup.queue.close()
        is_there = isinstance(error, PermissionError)
        assert len(resumed(tmp_path, state, kind).pop()) == (3 if is_there else 0)
        assert any("damaged-" in str(path) for path in tmp_path.rglob("*")) != is_there


def opening_fails(kind: Any, error: Exception) -> Any:
    def opened(self: Any, crawler: Any, key: str) -> None:
        if "a.example" in key:
            raise error
        kind.__init__(self, crawler, key)

    return type("Unopened", (kind,), {"__init__": opened})


@pytest.mark.parametrize("kind", KINDS)
def test_requests_wait_for_a_full_disk(
    kind: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """But not for ever."""
    clock = [time.monotonic()]
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    full = broken(kind, "pop", OSError(errno.ENOSPC, "no space left on device"))
    setup = Setup(str(tmp_path), kind=full)
    setup.push(*pages(2))
    assert len(setup.pop()) == 4
    assert len(setup.queue) == 2
    works = full.pop
    full.pop = kind.pop
    clock[0] += 5.1
    assert len(setup.pop()) == 2
    assert stats(setup) == {"damaged": 1, "lost": 0}
    full.pop = works
    setup.push(*pages(2))
    for _ in range(15):
        setup.pop()
        clock[0] += 5.1
    assert len(setup.queue) == 0
    assert stats(setup) == {"damaged": 1, "lost": 2}


@pytest.mark.parametrize("kind", FILES)
def test_unreadable_record_loses_one_request(kind: Any, tmp_path: Path) -> None:
    """The spider has lost a callback, say."""
    setup = Setup(str(tmp_path), kind=kind)
    setup.push(*pages(3))
    lane = next(
        lane
        for lane in setup.queue._lanes.by_name.values()
        if lane.name == "http://a.example a.example"
    )
    requests: Any = lane.requests
    queue = requests.queues[0]._queue
    kind.__mro__[1].push(queue, {"url": "http://a.example/", "callback": "gone"})
    state = setup.queue.close()
    setup = resumed(tmp_path, state, kind)
    assert len(setup.queue) == 10
    assert sorted(setup.pop()) == sorted(pages(3))
    assert len(setup.queue) == 0
    assert stats(setup) == {"damaged": 1, "lost": 1}
    assert list(tmp_path.iterdir()) == []


def test_many_unreadable_requests_do_not_block_the_loop(tmp_path: Path) -> None:
    state = left(tmp_path, LIFO, [f"http://a.example/{number}" for number in range(1000)])

    class Unreadable(LIFO):  # type: ignore[misc,valid-type]
        def pop(self) -> Any:
            super().pop()
            raise ValueError

    setup = resumed(tmp_path, state, Unreadable)
    assert setup.queue.pop() is None
    assert len(setup.queue) == 900
    for _ in range(10):
        setup.queue.pop()
    assert len(setup.queue) == 0
    assert stats(setup) == {"damaged": 1, "lost": 1000}


def test_other_priorities_of_the_same_origin_go_on(tmp_path: Path) -> None:
    setup = Setup(str(tmp_path), kind=LIFO)
    setup.push("http://a.example/0", "http://a.example/1")
    setup.push("http://a.example/high", priority=1)
    setup.push("http://a.example/low", priority=-1)
    state = setup.queue.close()
    (file,) = [path for path in files_in(tmp_path) if path.name == "0"]
    file.write_bytes(b"garbage, and more of it" * 10)
    setup = resumed(tmp_path, state, LIFO)
    assert setup.pop() == ["http://a.example/high", "http://a.example/low"]
    assert len(setup.queue) == 0
    assert stats(setup)["damaged"] == 1
    setup.push("http://a.example/new")
    assert setup.pop() == ["http://a.example/new"], "its file has been set aside"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("damage", range(7))
def test_damaged_queue_files_keep_the_others(kind: Any, damage: int, tmp_path: Path) -> None:
    """Cut at many places, or overwritten; all else is served, and it ends."""
    state = left(tmp_path / "0", kind, pages(4))
    for file in files_in(tmp_path / "0"):
        if "a.example" not in str(file):
            continue
        octets = file.read_bytes()
        size = len(octets)
        for number, content in enumerate(
            [
                *(octets[: size * part // 9] for part in range(9)),
                *(
                    b"\xff" * 4 + octets[:size],
                    octets + b"\xff" * 9,
                    b"\0" * size,
                    b"{}",
                    b"9" * 99,
                ),
                octets[: size // 2] + b"\x80\x04" * 5 + octets[size // 2 + 10 :],
            ]
        ):
            if number % 7 != damage:
                continue
            folder = tmp_path / f"{file.name}-{number}"
            shutil.copytree(tmp_path / "0", folder)
            (folder / file.relative_to(tmp_path / "0")).write_bytes(content)
            setup = resumed(folder, state, kind)
            popped: list[str] = []
            for _ in range(50):
                popped += setup.pop()
            assert len(setup.queue) == 0
            others = [url for url in pages(4) if "a.example" not in url]
            assert sorted(url for url in popped if "a.example" not in url) == sorted(others)
            assert set(popped) <= set(pages(4))
            setup.push("http://a.example/new")
            assert setup.pop() == ["http://a.example/new"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_folder_in_the_way(kind: Any, tmp_path: Path) -> None:
    """A file that can't be opened loses no other request, and new requests stay in memory."""
    state = left(tmp_path, kind, pages(2))
    (folder,) = tmp_path.glob("*a.example*")
    shutil.rmtree(folder)
    folder.write_text("a file")
    setup = resumed(tmp_path, state, kind)
    assert len(setup.pop()) == 4
    with pytest.raises(ValueError, match=r"a\.example"):
        setup.push("http://a.example/new")
    assert stats(setup)["damaged"] == 1


def test_resume_without_file_handles_raises(tmp_path: Path) -> None:
    """Nothing is wrong with the files then: they must not be set aside."""
    state = left(tmp_path, LIFO, pages(2))
    too_many = OSError(errno.EMFILE, "too many open files")
    with pytest.raises(OSError, match="too many"):
        resumed(tmp_path, state, opening_fails(LIFO, too_many))
    assert len(resumed(tmp_path, state, LIFO).pop()) == 6


@pytest.mark.parametrize("kind", FILES)
def test_new_inner_queue_is_made_as_by_scrapy(kind: Any, tmp_path: Path) -> None:
    """The order within an origin stays that of the queue that the user chose."""
    urls = [f"http://a.example/{number}" for number in range(5)]
    setup = Setup(str(tmp_path), kind=kind)
    unasked(setup)
    setup.push(*urls)
    setup.site.settle("a.example")
    is_fifo = issubclass(kind, queuelib.queue.FifoDiskQueue)
    assert setup.pop() == (urls if is_fifo else urls[::-1])

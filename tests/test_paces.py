"""Processes share the paces of origins, and do not believe all rows."""

from __future__ import annotations

import json
import sqlite3
import time
from pathlib import Path
from typing import Any

import pytest
from scrapy import Request

from scrapy_rep.pace.paces import Paces
from scrapy_rep.protocol.access.origin import Origin
from scrapy_rep.protocol.extensions.learned_pace import Quota
from scrapy_rep.protocol.extensions.rest import PageAnswer
from tests.redis_server import RedisServer, SlowLine

_ORIGIN = Origin.of("http://example.com/")
assert _ORIGIN is not None
ORIGIN: Origin = _ORIGIN
_REQUEST = Request("http://example.com/1")


def opened(place: Path | str) -> Paces:
    """The paces of one process."""
    paces = Paces()
    paces.enter(place)
    return paces


@pytest.fixture(params=["file", "redis"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Path | str:
    """A file, or the URL of a Redis."""
    if request.param == "file":
        return tmp_path / "paces.sqlite"
    server: RedisServer = request.getfixturevalue("redis_server")
    return server.url


def refused(paces: Paces) -> None:
    """Have the origin accept ten requests, and refuse two."""
    now = time.monotonic()
    for number in range(12):
        status = 200 if number < 10 else 429
        answer = PageAnswer(status, None, now - 5 + number / 10, now, f"/{number}")
        paces.heed(ORIGIN, answer, None, 1 / 60)


def row(file: Path) -> dict[str, Any]:
    """What the file holds of the origin."""
    with sqlite3.connect(file) as connection:
        ((text,),) = connection.execute("select text from paces_2")
    found: dict[str, Any] = json.loads(text)["learning"]
    return found


def write(file: Path, learning: object) -> None:
    """Change that, as another process."""
    text = learning
    if not isinstance(learning, str):
        values = {"learning": learning, "rest_status": 0, "rest_until": 0.0, "writer": ""}
        text = json.dumps(values)
    with sqlite3.connect(file) as connection:
        connection.execute("update paces_2 set text = ?, changed_at = ?", (text, time.time()))


def turn(paces: Paces) -> bool:
    """Whether a request has got its turn."""
    return paces.turn_at(ORIGIN, Request(_REQUEST.url), lambda _: True) < time.monotonic() - 60


def wait_seconds(paces: Paces) -> float:
    """How long a request must wait now."""
    list(paces.news())
    return paces.turn_at(ORIGIN, _REQUEST, lambda _: False) - time.monotonic()


def test_a_process_takes_over_what_another_has_learned(place: Path | str) -> None:
    first, second = opened(place), opened(place)
    refused(first)
    first.note_rest(ORIGIN, 429, time.time() + 60)
    assert [(origin, status) for origin, status, _ in second.news()] == [(ORIGIN, 429)]
    pace = second.of(ORIGIN)
    assert pace is not None
    assert pace.per_second == pytest.approx(2, rel=0.1)
    first.leave()
    second.leave()
    third = opened(place)
    list(third.news())
    assert third.of(ORIGIN) is not None
    third.leave()


def test_processes_share_each_token(place: Path | str) -> None:
    crawls = [opened(place) for _ in range(3)]
    refused(crawls[0])
    for one in crawls:
        list(one.news())
    began_at, turns = time.monotonic(), 0
    while time.monotonic() < began_at + 3:
        turns += sum(turn(one) for one in crawls)
        time.sleep(0.01)
    assert 5 <= turns <= 7
    for one in crawls:
        one.leave()


def test_slow_pages_among_quick_ones_slow_no_process(place: Path | str) -> None:
    """A later request was answered quickly, which the processes must not forget."""
    paces, now = opened(place), time.monotonic()
    for number in range(20):
        paces.heed(ORIGIN, PageAnswer(200, None, now - 9, now, f"/{number}", seconds=0.05), None, 1)
    refused(paces)
    before = paces.of(ORIGIN)
    assert before is not None
    paces.heed(ORIGIN, PageAnswer(200, None, now, now, "/quick", seconds=0.05), None, 1)
    for number in range(10):
        slow = PageAnswer(200, None, now - 3, now, f"/slow/{number}", seconds=3.0)
        paces.heed(ORIGIN, slow, None, 1 / 60)
    after = paces.of(ORIGIN)
    assert after is not None
    assert after.per_second >= before.per_second
    paces.leave()


def test_clocks_of_machines_may_differ(
    redis_server: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By an hour; without a common clock, this would double the pace."""
    time_here, crawls = time.time, []
    clocks = [time_here, lambda: time_here() + 3600, lambda: time_here() - 3600]
    for clock in clocks:
        monkeypatch.setattr(time, "time", clock)
        crawls.append(opened(redis_server.url))
        list(crawls[-1].news())
        if len(crawls) == 1:
            refused(crawls[0])
            crawls[0].note_rest(ORIGIN, 429, time_here() + 60)
    began_at, turns = time.monotonic(), 0
    while time.monotonic() < began_at + 3:
        for clock, one in zip(clocks, crawls, strict=True):
            monkeypatch.setattr(time, "time", clock)
            turns += turn(one)
        time.sleep(0.01)
    assert 5 <= turns <= 7
    for one in crawls:
        one.leave()


def test_an_outage_of_redis_delays_a_process_only_once() -> None:
    with RedisServer() as server:
        paces = opened(server.url)
        refused(paces)
        server.kill()
        began_at = time.monotonic()
        for _ in range(100):
            refused(paces)
        assert time.monotonic() - began_at < 2
    assert paces.of(ORIGIN) is not None
    paces.leave()


@pytest.mark.timed
def test_slow_replies_of_redis_block_a_process_for_a_second_at_most(
    redis_server: RedisServer, caplog: pytest.LogCaptureFixture
) -> None:
    """As from a Redis on another continent."""
    with SlowLine(redis_server.port) as line:
        line.delay_seconds = 0.05
        paces = opened(line.url)
        began_at = time.monotonic()
        for _ in range(20):
            refused(paces)
        assert time.monotonic() - began_at < 2
        paces.leave()
    assert paces.of(ORIGIN) is not None
    assert "a reply takes " in caplog.text


@pytest.mark.parametrize("name", ["per_second", "burst", "tokens", "refusals"])
@pytest.mark.parametrize("value", [-1, 1e308, float("nan"), float("inf"), "x", None, [], True])
def test_numbers_that_no_process_writes_are_ignored(
    name: str, value: object, tmp_path: Path
) -> None:
    file = tmp_path / "paces.sqlite"
    writer, reader = opened(file), opened(file)
    refused(writer)
    learning = row(file)
    learning["pace"][name] = value
    write(file, learning)
    assert wait_seconds(reader) < 0
    refused(reader)
    assert reader.of(ORIGIN) is not None
    writer.leave()
    reader.leave()


@pytest.mark.parametrize("text", ["[]", "7", "{}", "no JSON", "", '{"pace": []}', "[" * 100_000])
def test_texts_that_no_process_writes_are_ignored(text: str, tmp_path: Path) -> None:
    file = tmp_path / "paces.sqlite"
    writer, reader = opened(file), opened(file)
    refused(writer)
    write(file, text)
    assert wait_seconds(reader) < 0
    writer.leave()
    reader.leave()


def test_times_in_the_future_hold_no_origin_for_long(tmp_path: Path) -> None:
    """As after the clock was set back."""
    file = tmp_path / "paces.sqlite"
    writer, reader = opened(file), opened(file)
    refused(writer)
    learning = row(file)
    for name in ("at", "refused_at", "gained_at"):
        learning["pace"][name] += 3600
    write(file, learning)
    assert wait_seconds(reader) < 2
    writer.leave()
    reader.leave()


def test_a_locked_file_delays_a_process_only_once(tmp_path: Path) -> None:
    file = tmp_path / "paces.sqlite"
    paces = opened(file)
    refused(paces)
    other = sqlite3.connect(file, isolation_level=None)
    other.execute("begin exclusive")
    began_at = time.monotonic()
    for _ in range(100):
        refused(paces)
    assert time.monotonic() - began_at < 1
    other.close()
    paces.leave()


def test_many_origins_with_a_pace_take_no_more_time_each(tmp_path: Path) -> None:
    paces, quota = Paces(), Quota(1, time.monotonic() + 600)
    origins = [Origin.of(f"http://host{number}.example/") for number in range(30_000)]
    began_at = time.monotonic()
    for origin in origins:
        assert origin is not None
        paces.heed_quota(origin, quota, 0)
    assert time.monotonic() - began_at < 10
    assert sum(origin in paces for origin in origins if origin is not None) <= 10_000


def test_requests_take_turns_in_the_order_in_which_they_came(tmp_path: Path) -> None:
    paces = Paces()
    refused(paces)
    requests = [Request(f"http://example.com/{number}") for number in range(3)]
    times = [paces.turn_at(ORIGIN, request, lambda _: False) for request in requests]
    assert times == sorted(times)
    assert times[2] - times[0] == pytest.approx(1, rel=0.2)


def test_requests_that_have_ended_hold_no_place(tmp_path: Path) -> None:
    paces = Paces()
    refused(paces)
    gone = [Request(f"http://example.com/gone/{number}") for number in range(40)]
    for request in gone:
        paces.hand_out(ORIGIN, request, lambda _: True)
    time.sleep(0.2)  # they never came to the downloader
    assert paces.turn_at(ORIGIN, _REQUEST, lambda _: False) - time.monotonic() < 1


def test_a_downloader_that_hides_its_requests_loses_none() -> None:
    """Each request seems to have ended then."""
    paces = Paces()
    refused(paces)
    patience = time.monotonic() + 5
    while paces.turn_at(ORIGIN, _REQUEST, lambda _: True) > time.monotonic() - 60:
        assert time.monotonic() < patience
        time.sleep(0.05)

"""``scrapy rep fleet`` at a real Redis, over what simulated workers wrote there."""

from __future__ import annotations

import asyncio
import json
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import msgpack
import pytest

from scrapy_rep.commands.terminal import Terminal, cut, width_of
from scrapy_rep.extras.fleet import scripts
from scrapy_rep.extras.fleet.batch import Push, PushKind
from tests.commands.calling import Done, Stream, rep, rep_process
from tests.crawling import REPOSITORY
from tests.extras.fleet.crews import Crew
from tests.extras.fleet.workers import PREFIX, Fleet, drained
from tests.redis_server import RedisServer, SlowLine, needs_redis
from tests.servers.handle import Answer, Site, free_port

A, B, C, D, E, F = (f"http://{name}.example" for name in "abcdef")
_QUICK = ("--every", "0")
_NO_RATE = {"-", "0.0"}  # without a wait, or with one that a slow machine makes
Look = Callable[..., Done]


@pytest.fixture
def fleet(redis_server: RedisServer) -> Iterator[Fleet]:
    """Six origins in different states, and two workers."""
    fleet = Fleet(redis_server, lease_ms=600_000)
    fleet.now = time.time()
    one, two = fleet.worker("box1:17:abcd"), fleet.worker("box2:18:cdef")
    one.push("1", lane=A)
    for line in (B, C, D, E, F):
        one.push(*(f"{line}/{number}" for number in range(3)), lane=line)
    one.talk(host="box1", is_busy=True)
    two.talk(host="box2")
    one.settle(B)
    one.settle(C, delay_seconds=30.0)
    one.settle(D, wait_until=fleet.now + 600, reason="held")
    one.settle(E, wait_until=fleet.now + 7200, reason="shut")
    one.settle(F, concurrency=1)
    one.talk(host="box1", is_busy=True)
    popped = one.talk(3, host="box1", is_busy=True)
    assert {held.lane for held in popped} == {B, C, F}
    (held,) = (held for held in popped if held.lane == B)
    one.finish(held)
    one.talk(host="box1", is_busy=True)
    yield fleet
    fleet.client.close()


@pytest.fixture
def settings(redis_server: RedisServer) -> dict[str, Any]:
    return {"REP_REDIS_URL": redis_server.url, "SCHEDULER_QUEUE_KEY": "test"}


def shown(*arguments: object, **fields: Any) -> Done:
    """A call, in a thread: pytest-twisted has an event loop in this one."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(lambda: rep("fleet", *arguments, **fields)).result()


@pytest.fixture
def look(settings: dict[str, Any]) -> Look:
    """A call of ``scrapy rep fleet --spider x``, without a wait."""
    return lambda *arguments: shown(*arguments, "--spider", "x", *_QUICK, settings=settings)


def facts(out: str) -> dict[str, str]:
    """The counts in an output, by label."""
    found = re.findall(r"^ +(.*?) {2,}(~?[\d,.]+|-)(?:  .*)?$", out, re.MULTILINE)
    return dict(found)


@needs_redis
class TestOneCrawl:
    def test_text_has_all_counts(self, fleet: Fleet, look: Look) -> None:
        done = look()
        assert (done.status, done.err) == (0, "")
        found = facts(done.out)
        page = (REPOSITORY / "docs" / "command.md").read_text(encoding="utf-8")
        screen = page.partition("$ scrapy rep fleet\n")[2].partition("```")[0]
        assert facts(screen).keys() == found.keys(), "as the page shows"
        assert found.pop("pages/s") in _NO_RATE
        assert found == {
            "queued": "13",
            "in flight": "2",
            "done": "1",
            "dead letters": "0",
            "origins": "6",
            "due": "1",
            "due later": "0",
            "robots.txt unread": "1",
            "waiting": "2",
            "workers": "2",
        }
        assert done.out.startswith("x at 127.0.0.1:")
        assert re.search(r", begun [0-9]+ (second|minute)s? ago", done.out.splitlines()[0])
        rows = [line.split() for line in done.out.splitlines()[-2:]]
        assert [(row[0], row[3], row[4]) for row in rows] == [
            ("box1:17:abcd", "2", "1"),
            ("box2:18:cdef", "0", "0"),
        ] or [row[0] for row in rows] == ["box2:18:cdef", "box1:17:abcd"]
        assert sum(line.endswith("starting") for line in done.out.splitlines()) == 1

    def test_json_has_all_counts(self, fleet: Fleet, look: Look) -> None:
        done = look("--json")
        (row,) = done.rows
        assert row["crawl"] == "x"
        assert row["prefix"] == PREFIX
        assert row["counts"] == {
            "queued": 13,
            "in_flight": 2,
            "done": 1,
            "seen": 16,
            "set_aside": 0,
            "dead_letters": 0,
            "start_urls_given_back": 0,
            "dropped": 0,
            "lost": 0,
            "filter_lost": 0,
            "owed": 15,
            "origins": 6,
            "due": 1,
            "due_later": 0,
            "unchecked": 1,
            "waiting": 2,
            "origins_dropped": 0,
            "workers": 2,
            "workers_late": 0,
            "workers_taken_over": 0,
        }
        assert (row["next_due_at"], row["order"]) == (None, "")
        first, second = sorted(row["workers"], key=lambda worker: str(worker["name"]))
        assert (first["name"], first["host"]) == ("box1:17:abcd", "box1")
        assert (first["in_flight"], first["done"], first["is_starting"]) == (2, 1, True)
        assert (second["in_flight"], second["is_starting"]) == (0, False)
        assert 0 < first["lease_seconds"] <= 600
        assert fleet.now - 1 < row["at"] < time.time() + 1

    def test_origin_waits_while_a_worker_reads_its_file(self, fleet: Fleet, look: Look) -> None:
        fleet.worker("box2:18:cdef").talk(lanes=1)  # a worker that joins again under its name
        asker = fleet.worker("box3:1:0")
        asker.talk(lanes=1)
        done = look("--json")
        counts = json.loads(done.out)["counts"]
        assert (counts["unchecked"], counts["waiting"]) == (0, 3)
        assert "a worker is reading its robots.txt" in look(A).out

    def test_due_later_shows_the_first_time(self, fleet: Fleet, look: Look) -> None:
        worker = fleet.worker("box3:1:0")
        worker.settle(A, delay_seconds=7000.0, visited_at=fleet.now)
        worker.talk()
        done = look()
        assert facts(done.out)["due later"] == "1"
        assert re.search(r"due later +1  the first in 1 hour$", done.out, re.MULTILINE)

    def test_pages_per_second_are_measured(
        self, fleet: Fleet, settings: dict[str, Any], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """They are measured between two readings, by the clock of Redis."""
        sleep = asyncio.sleep

        async def between(seconds: float) -> None:
            if seconds == 0.5:
                fleet.client.hincrby(fleet.key("t"), "done", 1000)
            await sleep(seconds)

        monkeypatch.setattr(asyncio, "sleep", between)
        began_at = time.monotonic()
        done = shown("--spider", "x", "--json", "--every", "0.5", settings=settings)
        most_seconds = time.monotonic() - began_at
        assert 1000 / most_seconds < done.rows[0]["pages_per_second"] < 1000 / 0.4

    def test_late_workers_are_shown(self, fleet: Fleet, look: Look) -> None:
        fleet.client.zadd(fleet.key("w"), {"box2:18:cdef": 1000 * (time.time() - 5)})
        done = look()
        assert re.search(r"workers +1  1 other not heard from: to be taken over", done.out)
        assert re.search(r"^box2:18:cdef +over ", done.out, re.MULTILINE)
        fleet.client.zadd(fleet.key("w"), {"box1:17:abcd": 1000 * (time.time() - 9)})
        fleet.now = time.time()
        fleet.worker("box3:1:0").sent()
        fleet.client.sadd(fleet.key("dying"), "box1:17:abcd")
        fleet.client.zrem(fleet.key("w"), "box1:17:abcd")
        done = look()
        assert re.search(r"^box1:17:abcd +taken over +2 ", done.out, re.MULTILINE)

    def test_missing_workers_are_noted(self, fleet: Fleet, look: Look) -> None:
        fleet.client.delete(fleet.key("w"))
        done = look()
        assert re.search(r"workers +0  no worker is running; queued requests are kept", done.out)


@needs_redis
class TestDeadLetters:
    @pytest.fixture
    def dead(self, fleet: Fleet) -> None:
        entries: list[bytes] = [
            msgpack.packb(
                {"url": "http://me:secret@a.example/\x1b[2Jx", "meta": {"x": "y" * 20_000}}
            ),
            b"\xc1",
            b"",
            msgpack.packb({"meta": 1}),
        ]
        now = round(1000 * time.time())
        for number, entry in enumerate(entries):
            reason = b"delivered %d times\x1b" % number
            row = (A.encode(), reason, entry, now - 120_000, False)
            fleet.client.rpush(fleet.key("dead"), msgpack.packb(row, use_bin_type=False))
        fleet.client.rpush(fleet.key("dead"), b"\x00", b"no msgpack", msgpack.packb([1, 2, 3, 4]))

    def test_dead_shows_letters(self, dead: None, fleet: Fleet, look: Look) -> None:
        done = look()
        assert re.search(r"dead letters +7  --dead shows them$", done.out, re.MULTILINE)
        done = look("--dead", "100")
        assert done.status == 0
        assert "\x1b" not in done.out
        told = done.out.partition("dead letters, the newest first\n")[2].splitlines()
        assert len(told) == 14
        assert told[-2:] == [
            "2 minutes ago: http://a.example/\\x1b[2Jx",
            "  delivered 0 times\\x1b",
        ]
        assert told[-4:-2] == ["2 minutes ago: http://a.example", "  delivered 1 times\\x1b"]

    def test_requeue_puts_letters_behind_all_requests(
        self, dead: None, fleet: Fleet, look: Look
    ) -> None:
        """Letters that are not whole requests stay."""
        worker = fleet.worker("box3:1:0")
        worker.ledger.push(Push(B, 0, PushKind.FILTERED, b"bad", b"bad"))
        worker.talk(), worker.talk()
        got = worker.talk(9)
        fleet.client.zrem(fleet.key("w"), "box1:17:abcd", "box2:18:cdef")  # they would try, too
        for held in got:
            worker.ledger.set_aside(held, "no method of that name")
        worker.talk()
        done = look("requeue")
        assert (done.status, done.err) == (0, "")
        assert done.out == (
            f"x: {len(got)} dead letters put back; 7 are left: not whole requests, or new\n"
        )
        assert "to be tried last" in look(B).out
        again = drained(worker)
        assert {held.payload for held in again} >= {held.payload for held in got} >= {b"bad"}
        assert fleet.client.llen(fleet.key("dead")) == 7

    def test_two_operators_put_letters_back(
        self, fleet: Fleet, look: Look, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Each says what it did, and what is left."""
        letter = msgpack.packb((A.encode(), b"why", b"entry", 0, True), use_bin_type=False)
        fleet.client.rpush(fleet.key("dead"), *[letter] * 3)
        requeue = scripts.requeue

        async def second(*arguments: Any, **fields: Any) -> int:
            fleet.client.lpop(fleet.key("dead"), 2)  # the first one's
            return await requeue(*arguments, **fields)

        monkeypatch.setattr(scripts, "requeue", second)
        done = look("requeue")
        assert (done.status, done.out) == (0, "x: 1 dead letter put back\n")

    def test_dead_start_url_is_shown(self, fleet: Fleet, look: Look) -> None:
        entries = [
            b"http://me:secret@a.example/\xff",
            b'{"url": "http://a.example/b"}',
            b"\x1b" * 900,
        ]
        for entry in entries:
            row = (b"", b"no request was made from it", entry, 0, True)
            fleet.client.rpush(fleet.key("dead"), msgpack.packb(row, use_bin_type=False))
        told = look("--dead", "9").out.partition("the newest first\n")[2].splitlines()
        shown = [line.partition(" ago: ")[2] for line in told[::2]]
        assert shown[1:] == [entries[1].decode(), "http://a.example/\\xff"]
        assert 100 < len(shown[0]) <= 500
        assert "\x1b" not in shown[0]

    def test_requeue_works_after_the_crawl(self, fleet: Fleet, look: Look) -> None:
        one = fleet.worker("box3:1:0")
        (held,) = one.talk(1)
        fleet.client.zrem(fleet.key("w"), "box1:17:abcd", "box2:18:cdef")  # they would try, too
        one.ledger.set_aside(held, "why")
        one.talk()
        others = fleet.all_keys() - {"dead"}
        fleet.client.delete(*map(fleet.key, others))  # only the letters are left
        done = look("requeue", "--json")
        assert done.rows == [{"crawl": "x", "requeued": 1, "kept": 0}]
        assert facts(look().out)["queued"] == "1"
        two = fleet.worker("two")
        fleet.now = time.time()
        two.talk(lanes=9)
        for lane, *_ in two.reply.to_check:
            two.settle(lane)
        assert [one.payload for one in drained(two)] == [held.payload]

    def test_only_letters_needs_an_idle_crawl(self, dead: None, fleet: Fleet, look: Look) -> None:
        done = look("requeue", "--only-letters")
        assert (done.status, done.out) == (2, "")
        assert "x has workers or waiting requests" in done.err
        assert fleet.client.llen(fleet.key("dead")) == 7
        done = look("--only-letters")
        assert (done.status, "belongs to requeue" in done.err) == (2, True)

    def test_orders_refuse_another_release(self, dead: None, fleet: Fleet, look: Look) -> None:
        fleet.client.hset(fleet.key("t"), "version", "0")
        done = look("requeue")
        assert (done.status, done.out) == (2, "")
        assert "belongs to another release of scrapy-rep" in done.err
        assert look("requeue", B).status == 2

    def test_full_redis_is_noted(self, fleet: Fleet, look: Look) -> None:
        fleet.client.hset(fleet.key("t"), "full", round(1000 * time.time()))
        assert "Redis has no memory left" in look().out


@needs_redis
class TestOrigins:
    @pytest.mark.parametrize(
        ("origin", "place", "words"),
        [
            (A, "unchecked", "no worker has read"),
            (B, "due", "a request may be sent now"),
            (C, "closed", "with box1:17:abcd"),
            (D, "held", "next try in 9 minutes"),
            (E, "shut", "begins in 1 hour"),
            (F, "full", "1, of 1 at most"),
        ],
    )
    def test_origin_shows_its_state(
        self, fleet: Fleet, look: Look, origin: str, place: str, words: str
    ) -> None:
        done = look(f"{origin}/some/page")
        assert (done.status, done.err) == (0, "")
        assert done.out.startswith(f"{origin} in x\n")
        assert words in done.out
        row = json.loads(look(origin, "--json").out)
        assert (row["crawl"], row["origin"], row["state"]) == ("x", origin, place)
        assert row["queued"] == {A: 1, B: 2, C: 2, D: 3, E: 3, F: 2}[origin]

    def test_resting_origin_shows_its_next_try(self, fleet: Fleet, look: Look) -> None:
        one = fleet.worker("box3:19:abcd")
        one.settle(D, wait_until=fleet.now + 270, reason="resting")
        one.talk()
        words = look(D).out
        assert "it answered 429 or 503" in words
        assert "one request goes first in 4 minutes" in words

    def test_closed_origin_names_delay_and_worker(self, fleet: Fleet, look: Look) -> None:
        row = json.loads(look(C, "--json").out)
        assert (row["delay_seconds"], row["worker"]) == (30.0, "box1:17:abcd")
        assert row["closed_by"] in map(str, range(1, 4))
        assert row["known_until"] > time.time() + 60

    def test_origin_shows_priorities(self, fleet: Fleet, look: Look) -> None:
        worker = fleet.worker("box3:1:0")
        worker.push("p", "q", lane=B, priority=7)
        worker.push("r", lane=B, priority=-2)
        worker.talk()
        done = look(B)
        queued = re.search(r"queued +(.*\n(?: {14}.*\n)*)", done.out)
        assert queued
        assert [line.strip() for line in queued[1].splitlines()] == [
            "5",
            "2 of priority 7",
            "2 of priority 0",
            "1 of priority -2",
        ]

    def test_unknown_origin_is_named(self, fleet: Fleet, look: Look) -> None:
        done = look(B, "other.example")
        assert done.status == 1
        assert done.out.startswith(f"{B} in x\n")
        assert done.err == "nothing is queued or known for https://other.example\n"


@needs_redis
class TestHostile:
    """Values from other software that writes to Redis."""

    def test_invalid_values_are_survived(self, fleet: Fleet, look: Look) -> None:
        client, key = fleet.client, fleet.key
        client.hset(key("lines"), "x", b"\xc1")
        client.hset(key("lines"), "y", b"")
        client.hset(key("lines"), "z", msgpack.packb([["d"], "x"]))
        client.hset(key("lines"), A, msgpack.packb({"a": 1}))
        client.hset(key("t"), mapping={"n": "many", "done": "nan", "idle": "inf", "fly": b"\xff"})
        client.set(key("epoch"), b"\x1b[31m")
        client.zadd(key("w"), {b"\x1b]0;title\x07" + b"\xff" * 300: 1e300, b"": -1e300})
        client.hset(key("m:box1:17:abcd"), mapping={"since": "nan", "done": "x", "host": "\x1b"})
        done = look()
        assert (done.status, done.err) == (0, "")
        assert "\x1b" not in done.out
        assert (facts(done.out)["queued"], facts(done.out)["done"]) == ("0", "0")
        assert max(map(width_of, done.out.splitlines())) <= 80
        assert json.loads(look("--json").out)
        done = look(A)
        assert (done.status, "written by other software" in done.out) == (0, True)

    def test_key_of_another_type_is_an_error(self, fleet: Fleet, look: Look) -> None:
        fleet.client.delete(fleet.key("lines"))
        fleet.client.set(fleet.key("lines"), "x")
        done = look()
        assert (done.status, done.out) == (2, "")
        assert "WRONGTYPE" in done.err
        assert done.err.count("\n") == 1


@needs_redis
class TestCost:
    """The display changes nothing, and reads little at a time."""

    _READERS = "+@read +evalsha +script +time +ping +select +client +hello"

    def test_display_needs_no_right_to_write(self, fleet: Fleet, settings: dict[str, Any]) -> None:
        rights = f"on >secret ~rep:{{test}}:* {self._READERS}".split()
        fleet.client.execute_command("ACL", "SETUSER", "reader", *rights)
        fleet.client.execute_command("ACL", "SETUSER", "reader", "-keys", "-scan")
        url = settings["REP_REDIS_URL"].replace("//", "//reader:secret@")
        before = self._content(fleet)
        try:
            for arguments in (["--dead", "5"], ["--json"], [A, C], [D, "--json"]):
                done = shown(
                    *arguments,
                    *("--spider", "x"),
                    *_QUICK,
                    settings={**settings, "REP_REDIS_URL": url},
                )
                assert (done.status, done.err) == (0, "")
                assert "secret" not in done.out
        finally:
            fleet.client.execute_command("ACL", "DELUSER", "reader")
        assert self._content(fleet) == before

    def _content(self, fleet: Fleet) -> dict[bytes, Any]:
        keys = sorted(fleet.client.keys("*"))
        return {key: (fleet.client.dump(key), fleet.client.ttl(key)) for key in keys}

    def test_many_workers_are_cut(self, fleet: Fleet, look: Look) -> None:
        soon = 1000 * (time.time() + 60)
        fleet.client.zadd(fleet.key("w"), {f"w{number}": soon for number in range(1500)})
        done = look()
        assert done.out.splitlines()[-1] == "... and 1,482 more"
        row = json.loads(look("--json").out)
        assert (row["counts"]["workers"], len(row["workers"])) == (1502, 1000)


class TestMissingRedis:
    @pytest.mark.slow
    def test_fleet_without_a_reachable_redis_ends_with_3(self) -> None:
        url = f"redis://:secret@127.0.0.1:{free_port()}/0"
        done = rep_process("rep", "fleet", "--spider", "x", "-s", f"REP_REDIS_URL={url}")
        assert (done.status, done.out) == (3, "")
        assert done.err.startswith("scrapy rep fleet: Redis at 127.0.0.1:")
        assert "start it, or correct the address in REP_REDIS_URL" in done.err
        assert done.err.count("\n") == 1
        assert "secret" not in done.err

    @needs_redis
    def test_silent_redis_ends_with_3(self, fleet: Fleet, settings: dict[str, Any]) -> None:
        port = int(settings["REP_REDIS_URL"].rpartition(":")[2].partition("/")[0])
        with SlowLine(port) as line:
            line.swallows = True
            own = {**settings, "REP_REDIS_URL": line.url}
            done = shown("--spider", "x", settings=own)
            assert (done.status, done.out) == (3, "")
            assert "no reply in" in done.err

    @needs_redis
    def test_missing_crawl_is_named(self, redis_server: RedisServer) -> None:
        done = shown("--spider", "x\x1b", settings={"REP_REDIS_URL": redis_server.url})
        assert (done.status, done.out) == (1, "")
        assert re.fullmatch(r"Redis at 127\.0\.0\.1:\d+/0 has no crawl of x\\x1b\n", done.err), (
            done.err
        )


_PROJECT = """
from scrapy import Spider
class One(Spider):
    name = "one"
class Two(Spider):
    name = "two"
    custom_settings = {"SCHEDULER_QUEUE_KEY": "own:%(spider)s"}
class Three(Spider):
    name = "three"
"""


@needs_redis
class TestProject:
    """Several crawls: the command finds them by the project's spiders and their settings."""

    @pytest.fixture
    def project(
        self, tmp_path: Path, redis_server: RedisServer, monkeypatch: pytest.MonkeyPatch
    ) -> dict[str, Any]:
        name = f"fleet_spiders_{tmp_path.name.replace('-', '_')}"
        (tmp_path / f"{name}.py").write_text(_PROJECT)
        monkeypatch.syspath_prepend(str(tmp_path))
        return {"REP_REDIS_URL": redis_server.url, "SPIDER_MODULES": [name]}

    @pytest.fixture
    def both(self, fleet: Fleet) -> None:
        """The crawl, copied for two spiders."""
        for key in fleet.client.keys(f"{PREFIX}*"):
            for prefix in (b"rep:{one:requests}:", b"rep:{own:two}:"):
                fleet.client.copy(key, key.replace(PREFIX.encode(), prefix))

    def test_each_crawl_gets_a_line(self, both: None, project: dict[str, Any]) -> None:
        done = shown(*_QUICK, settings=project)
        assert (done.status, done.err) == (0, "")
        head, *rows = (line.split() for line in done.out.splitlines())
        assert head[:2] == ["crawl", "workers"]
        assert {row.pop(5) for row in rows} <= _NO_RATE
        assert rows == [[name, "2", "13", "2", "1", "6", "1", "0"] for name in ("one", "two")]
        done = shown("--spider", "two", *_QUICK, settings=project)
        assert facts(done.out)["queued"] == "13"
        assert shown("--spider", "three", *_QUICK, settings=project).status == 1


@needs_redis
class TestWatch:
    @pytest.mark.slow
    def test_watch_repeats_until_ctrl_c(self, fleet: Fleet, settings: dict[str, Any]) -> None:
        with self._watching(settings, "--json") as process:
            assert process.stdout
            rows = [json.loads(process.stdout.readline()) for _ in range(2)]
            assert [row["counts"]["done"] for row in rows] == [1, 1]
            fleet.client.hincrby(fleet.key("t"), "done", 41)
            patience = time.monotonic() + 20
            while rows[-1]["counts"]["done"] == 1 and time.monotonic() < patience:
                rows.append(json.loads(process.stdout.readline()))
            assert rows[-1]["counts"]["done"] == 42
            assert 41 / 2 < rows[-1]["pages_per_second"] < 41 / 0.1
            process.send_signal(signal.SIGINT)
            assert process.wait(20) == 130
            assert process.stderr
            assert process.stderr.read() == ""

    @pytest.mark.slow
    def test_watch_survives_a_restart_of_redis(self, settings: dict[str, Any]) -> None:
        with RedisServer() as server:
            own = {**settings, "REP_REDIS_URL": server.url}
            with self._watching(own) as process:
                assert process.stdout
                assert "has no crawl of x" in process.stdout.readline()
                server.kill()
                self._until(process, "does not answer")
                server.start()
                self._until(process, "has no crawl of x")
                Fleet(server).worker("box:1:2").talk()
                self._until(process, "x at 127.0.0.1:")
                process.send_signal(signal.SIGINT)
                assert process.wait(20) == 130

    def _until(self, process: subprocess.Popen[str], words: str) -> None:
        assert process.stdout
        patience = time.monotonic() + 20
        while words not in process.stdout.readline():
            assert time.monotonic() < patience

    def _watching(self, settings: dict[str, Any], *options: str) -> subprocess.Popen[str]:
        own = [part for name, value in settings.items() for part in ("-s", f"{name}={value}")]
        words = ["rep", "fleet", "--spider", "x", "--watch", "--every", "0.2", *options, *own]
        return subprocess.Popen(
            [sys.executable, "-m", "scrapy", *words],
            cwd=REPOSITORY,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )


@pytest.mark.parametrize(
    ("variables", "is_terminal", "lines", "written"),
    [
        ({"TERM": "xterm", "LINES": "24"}, True, "ab", "\x1b[Ha\x1b[K\nb\x1b[K\n\x1b[J"),
        # No longer than the terminal, so that its first line does not scroll away.
        ({"TERM": "xterm", "LINES": "3"}, True, "abc", "\x1b[Ha\x1b[K\n...\x1b[K\n\x1b[J"),
        ({"TERM": "xterm"}, False, "ab", "a\nb\n"),
        ({"TERM": "dumb"}, True, "ab", "a\nb\n"),
    ],
)
def test_screen_replaces_the_last_one(
    variables: dict[str, str], is_terminal: bool, lines: str, written: str
) -> None:
    """--watch writes at the top of the terminal."""
    stream = Stream(is_terminal=is_terminal)
    with pytest.MonkeyPatch.context() as patch:
        for name, value in variables.items():
            patch.setenv(name, value)
        Terminal(stream, stream).screen(lines)
    assert stream.written == written


@pytest.mark.parametrize(
    ("text", "cells", "expected"),
    [
        ("abcdef", 6, "abcdef"),
        ("abcdefg", 6, "abc..."),
        ("宿宿宿宿", 6, "宿..."),
        ("宿宿宿", 6, "宿宿宿"),
        ("", 0, ""),
        ("e\u0301" * 7, 6, "e\u0301" * 3 + "..."),
    ],
)
def test_text_is_cut_to_cells(text: str, cells: int, expected: str) -> None:
    assert cut(text, cells) == expected


@needs_redis
@pytest.mark.slow
def test_crawl_of_workers_is_shown(redis_server: RedisServer) -> None:
    """The scheduler and the command agree on the keys and their values."""
    robots = Answer(body="User-agent: *\nCrawl-delay: 1\n")
    with Site({"/robots.txt": robots}) as site:
        roots = [site.url("/")]
        with Crew(
            redis_server.url, "tests.extras.fleet.spiders:FlatSpider", 2, roots=roots, pages=5
        ) as crew:
            settings = {"REP_REDIS_URL": redis_server.url}
            patience = time.monotonic() + 30
            states: set[str] = set()
            row: dict[str, Any] = {}
            while time.monotonic() < patience and not states >= {"closed", "later"}:
                done = shown(site.url(), "--spider", "flat", "--json", settings=settings)
                if done.status == 0:
                    row = json.loads(done.out)
                    states.add(row["state"])
            assert states >= {"closed", "later"}
            assert row["delay_seconds"] == 1.0
            done = shown("--spider", "flat", "--json", *_QUICK, settings=settings)
            row = json.loads(done.out)
            assert row["counts"]["workers"] == 2
            assert row["counts"]["queued"] > 0
            crew.wait()
        done = shown("--spider", "flat", settings=settings)
        assert done.status == 1, "the crawl is over"

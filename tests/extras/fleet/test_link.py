"""The connection to Redis, with a real server: waiting, outages and their end."""

from __future__ import annotations

import asyncio
import logging
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from scrapy_rep.cache.base import StoreError
from scrapy_rep.extras.fleet.link import Link, LinkDownError, Script, advice_on
from scrapy_rep.protocol.errors import ConfigurationError
from tests.played import in_a_loop
from tests.redis_server import RedisServer, SlowLine
from tests.servers.handle import free_port

_ECHO = Script("return ARGV[1]")
_WARNING = logging.WARNING
_WITHOUT_PACKAGE = """
import sys
sys.modules["scrapy_redis"] = None
from scrapy.settings import Settings
from scrapy_rep.settings import RepSettings
RepSettings.of(Settings({"REP_REDIS_URL": "redis://:secret@localhost"}))
"""


@asynccontextmanager
async def opened(url: str, reply_seconds: float = 5.0) -> AsyncIterator[Link]:
    link = Link(url, reply_seconds)
    link.open()
    try:
        yield link
    finally:
        await link.close()


async def up(link: Link, *, is_up: bool = True, seconds: float = 10.0) -> None:
    patience = time.monotonic() + seconds
    while link.is_up is not is_up:
        assert time.monotonic() < patience, f"is_up is {link.is_up}"
        await asyncio.sleep(0.01)


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [
        record.getMessage()
        for record in caplog.records
        if record.levelno == _WARNING and record.name.startswith("scrapy_rep")
    ]


class TestScripts:
    """By their digest, with what they need."""

    def test_forgotten_script_is_loaded_again(self, redis_server: RedisServer) -> None:
        async def work() -> None:
            async with opened(redis_server.url) as link:
                assert await link.run(_ECHO, [], ["a"]) == b"a"
                redis_server.forget_scripts()
                replies = await asyncio.gather(*(link.run(_ECHO, [], [n]) for n in range(40)))
                assert replies == [b"%d" % number for number in range(40)]

        in_a_loop(work)

    def test_error_of_a_script_stays_with_its_caller(
        self, redis_server: RedisServer, caplog: pytest.LogCaptureFixture
    ) -> None:
        async def work() -> None:
            async with opened(redis_server.url) as link:
                wrong = Script("return redis.call('NO-SUCH-COMMAND')")
                outcomes = await asyncio.gather(
                    *(link.run(script, [], ["a"]) for script in (_ECHO, wrong, _ECHO, wrong)),
                    return_exceptions=True,
                )
                assert outcomes[0] == outcomes[2] == b"a"
                for outcome in (outcomes[1], outcomes[3]):
                    assert type(outcome) is StoreError
                assert link.is_up

        in_a_loop(work)
        assert len(warnings(caplog)) == 1

    def test_read_only_replica_is_left_for_the_master(
        self, caplog: pytest.LogCaptureFixture
    ) -> None:
        """After a failover, the same name leads to another server, so the link connects again."""

        async def work(server: RedisServer) -> None:
            write = Script("return redis.call('SET', KEYS[1], 'x', 'PX', 9)")
            async with opened(server.url) as link:
                await link.run(write, ["k"])
                with server.client() as client:
                    client.replicaof("127.0.0.1", 1)
                    before = client.info("stats")["total_connections_received"]
                    for _ in range(3):
                        with pytest.raises(StoreError, match="ReadOnly"):
                            await link.run(write, ["k"])
                    after = client.info("stats")["total_connections_received"]
                    client.replicaof("NO", "ONE")
                assert after - before >= 2
                assert link.is_up
                await link.run(write, ["k"])

        with RedisServer() as server:
            in_a_loop(lambda: work(server))
        (words,) = warnings(caplog)
        assert "ReadOnly" in words

    def test_calls_wait_for_a_free_connection(self, redis_server: RedisServer) -> None:
        """Calls beyond the number of connections wait, and none fails."""

        async def work() -> None:
            with SlowLine(redis_server.port) as line:
                line.delay_seconds = 0.02
                async with opened(line.url + "?max_connections=1") as link:
                    replies = await asyncio.gather(*(link.run(_ECHO, [], [n]) for n in range(999)))
                    assert replies == [b"%d" % number for number in range(999)]
                    assert link.is_up
                assert line.connection_count <= 8

        in_a_loop(work)


class TestCancelling:
    """Nobody is given the reply of another."""

    def test_cancelled_call_leaves_others(self, redis_server: RedisServer) -> None:
        async def work() -> None:
            with SlowLine(redis_server.port) as line:
                line.delay_seconds = 0.03
                async with opened(line.url) as link:
                    calls = [asyncio.create_task(link.run(_ECHO, [], [n])) for n in range(300)]
                    for number in range(0, 300, 3):
                        await asyncio.sleep(0.001)
                        calls[number].cancel()
                    replies = await asyncio.gather(*calls, return_exceptions=True)
                    right = [reply == b"%d" % number for number, reply in enumerate(replies)]
                    gone = [isinstance(reply, asyncio.CancelledError) for reply in replies]
                    assert all(a or b for a, b in zip(right, gone, strict=True))
                    assert sum(right) >= 200
                    assert link.is_up

        in_a_loop(work)

    def test_late_reply_is_dropped(self, redis_server: RedisServer) -> None:
        async def work() -> None:
            with SlowLine(redis_server.port) as line:
                async with opened(line.url, 0.25) as link:
                    assert await link.run(_ECHO, [], ["first"]) == b"first"
                    line.delay_seconds = 0.5
                    with pytest.raises(LinkDownError):
                        await link.run(_ECHO, [], ["late"])
                    line.delay_seconds = 0.0
                    await up(link)
                    await asyncio.sleep(0.6)
                    for word in (b"a", b"b", b"c"):
                        assert await link.run(_ECHO, [], [word]) == word

        in_a_loop(work)


class TestOutages:
    """Every call fails at once; one warning each way; it comes back by itself."""

    def test_outage_sends_one_probe_at_a_time(self) -> None:
        async def work(server: RedisServer) -> None:
            with SlowLine(server.port) as line:
                async with opened(line.url) as link:
                    line.refuses = True
                    for _ in range(50):
                        with pytest.raises(LinkDownError):
                            await link.run(_ECHO, [], ["a"])
                    await asyncio.sleep(1.0)
                    assert 2 <= line.connection_count <= 8, "0.1 s, 0.2 s, 0.4 s, ..."
                    assert not link.is_up
                    line.refuses = False
                    await up(link)
                    assert await link.run(_ECHO, [], ["b"]) == b"b"

        with RedisServer() as server:
            in_a_loop(lambda: work(server))

    def test_short_outage_is_waited_for_without_a_warning(
        self, redis_server: RedisServer, caplog: pytest.LogCaptureFixture
    ) -> None:
        async def work() -> None:
            with SlowLine(redis_server.port) as line:
                async with opened(line.url, 0.25) as link:
                    line.delay_seconds = 0.4
                    with pytest.raises(LinkDownError):
                        await link.run(_ECHO, [], ["a"])
                    line.delay_seconds = 0.0
                    assert await link.comes_back()
                    assert await link.run(_ECHO, [], ["b"]) == b"b"
                    assert await link.comes_back(), "at once"

        in_a_loop(work)
        assert warnings(caplog) == []

    def test_longer_outage_is_not_waited_for(self) -> None:
        async def work() -> None:
            async with opened(f"redis://127.0.0.1:{free_port()}/0") as link:
                with pytest.raises(LinkDownError):
                    await link.run(_ECHO, [], ["a"])
                waits = await asyncio.gather(*(link.comes_back() for _ in range(9)))
                assert not any(waits)
                began = time.monotonic()
                assert not await link.comes_back()
                assert time.monotonic() - began < 0.2

        in_a_loop(work)

    def test_blocked_event_loop_is_no_outage(self, redis_server: RedisServer) -> None:
        """A spider's callback may take longer than Redis has time."""

        async def work() -> None:
            async with opened(redis_server.url, 0.25) as link:
                await link.run(_ECHO, [], ["a"])
                for _ in range(3):
                    call = asyncio.create_task(link.run(_ECHO, [], ["b"]))
                    await asyncio.sleep(0)
                    await asyncio.sleep(0)
                    time.sleep(0.4)  # noqa: ASYNC251 - the point
                    assert await call == b"b"
                assert link.is_up

        in_a_loop(work)

    def test_silent_server_is_an_outage_in_a_blocked_loop(
        self,
    ) -> None:
        async def work(server: RedisServer) -> None:
            async with opened(server.url, 0.25) as link:
                await link.run(_ECHO, [], ["a"])
                server.freeze()
                call = asyncio.create_task(link.run(_ECHO, [], ["b"]))
                while not call.done():
                    await asyncio.sleep(0)
                    time.sleep(0.1)  # noqa: ASYNC251 - the point
                with pytest.raises(LinkDownError):
                    await call

        with RedisServer() as server:
            in_a_loop(lambda: work(server))

    def test_closed_idle_connection_is_replaced(
        self, redis_server: RedisServer, caplog: pytest.LogCaptureFixture
    ) -> None:
        async def work() -> None:
            async with opened(redis_server.url) as link:
                await link.run(_ECHO, [], ["a"])
                with redis_server.client() as client:
                    client.client_kill_filter(skipme=True, _type="normal")
                await asyncio.sleep(0.05)
                assert await link.run(_ECHO, [], ["b"]) == b"b"

        in_a_loop(work)
        assert warnings(caplog) == []


class TestReasons:
    """Errors name the cause and the fix."""

    @pytest.mark.parametrize(
        ("change", "reason", "advice"),
        [
            (("secret", "guessed"), "invalid username-password pair", "correct the user name and"),
            ((":secret@", ""), "Authentication required", "correct the user name and the password"),
            (("/0", "/99"), "DB index is out of range", "the number of a database that the server"),
            (("redis:", "rediss:"), "no TLS connection in 0.6 s (REP_", "use redis:// for a"),
        ],
    )
    def test_refusal_of_the_server_has_advice(
        self, change: tuple[str, str], reason: str, advice: str
    ) -> None:
        async def work(url: str) -> None:
            link = Link(url, 0.2)
            link.open()
            with pytest.raises(StoreError) as caught:
                await link.run(_ECHO, [], ["a"])
            assert reason in str(caught.value)
            assert advice in advice_on(caught.value)
            assert "guessed" not in str(caught.value)
            await link.close()

        with RedisServer(requirepass="secret") as server:
            in_a_loop(lambda: work(server.url.replace(*change)))


class TestClosing:
    """With its last user."""

    def test_last_user_closes_the_link(self, redis_server: RedisServer) -> None:
        async def work() -> None:
            link = Link(redis_server.url)
            link.open()
            link.open()
            await link.close()
            assert await link.run(_ECHO, [], ["a"]) == b"a"
            late = asyncio.create_task(link.run(_ECHO, [], ["late"]))
            await asyncio.sleep(0)
            await link.close()
            assert await late == b"late", "what was queued before still runs"
            with pytest.raises(LinkDownError, match="closed"):
                await link.run(_ECHO, [], ["a"])
            with redis_server.client() as client:
                assert len(client.client_list(_type="normal")) == 1

        in_a_loop(work)

    def test_link_closes_during_an_outage(self) -> None:
        """Waiting calls get an error at once."""

        async def work(server: RedisServer) -> None:
            link = Link(server.url)
            link.open()
            await link.run(_ECHO, [], ["a"])
            server.freeze()
            calls = [asyncio.ensure_future(link.run(_ECHO, [], [n])) for n in range(200)]
            await asyncio.sleep(0)
            began = time.monotonic()
            await link.close()
            outcomes = await asyncio.gather(*calls, return_exceptions=True)
            assert time.monotonic() - began < 4
            assert all(isinstance(outcome, LinkDownError) for outcome in outcomes)

        with RedisServer() as server:
            in_a_loop(lambda: work(server))


@pytest.mark.parametrize(
    "url", ["http://localhost", "localhost:6379", "redis://h/0?db=x", "redis://h/0?foo=1"]
)
def test_wrong_url_stops_the_start(url: str) -> None:
    with pytest.raises(ConfigurationError, match="REP_REDIS_URL"):
        Link(url)


def test_missing_package_is_named_with_the_setting_that_needs_it() -> None:
    command = [sys.executable, "-c", _WITHOUT_PACKAGE]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    *_, told = done.stderr.splitlines()
    assert "REP_REDIS_URL need a package that is not installed" in told
    assert 'pip install "scrapy-rep[redis]"' in told
    assert "secret" not in told

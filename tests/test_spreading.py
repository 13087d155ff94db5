"""Requests that set out one after the other, in a loop and with a clock of the test's."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from scrapy import Request, signals
from scrapy.exceptions import IgnoreRequest

from scrapy_rep.engine import spreading
from scrapy_rep.engine.spreading import Spreading
from tests.audit.making import Judged
from tests.crawling import LOOPS, Loop, crawl
from tests.crawls.settings import ADDON, URLS_SPIDER
from tests.redis_server import in_a_loop
from tests.servers.handle import Answer, Site


class Turns:
    """An event loop that turns when the test says so, each time after so many seconds."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 1000.0
        self.due: list[tuple[Callable[..., None], tuple[Any, ...]]] = []
        monkeypatch.setattr(spreading, "call_later", self._call_later)
        clock = SimpleNamespace(monotonic=lambda: self.now)
        monkeypatch.setattr(spreading, "time", clock)

    def _call_later(self, seconds: float, work: Callable[..., None], *arguments: Any) -> None:
        assert seconds == 0
        self.due.append((work, arguments))

    async def pass_by(self, count: int = 1, seconds: float = 0.0) -> None:
        for _ in range(count):
            self.now += seconds
            due, self.due = self.due, []
            for work, arguments in due:
                work(*arguments)
            await asyncio.sleep(0)  # who was waiting goes on


class Requests:
    """Requests that ask for their turn, and go."""

    def __init__(self, turns: Turns) -> None:
        self.turns = turns
        self.spreading = Spreading()
        self.spreading.open()
        self.gone: list[str] = []
        self.tasks: dict[str, asyncio.Task[None]] = {}

    async def ask(self, *names: str) -> None:
        for name in names:
            self.tasks[name] = asyncio.create_task(self._go(name))
        await asyncio.sleep(0)

    async def _go(self, name: str) -> None:
        turn = self.spreading.turn()
        if turn is not None:
            await turn
        self.gone.append(name)


@pytest.fixture
def turns(monkeypatch: pytest.MonkeyPatch) -> Turns:
    return Turns(monkeypatch)


def test_one_after_the_other(turns: Turns) -> None:
    async def work() -> None:
        requests = Requests(turns)
        await requests.ask("a", "b", "c")
        assert requests.gone == ["a"]
        await turns.pass_by()
        assert requests.gone == ["a"]
        await turns.pass_by()
        assert requests.gone == ["a", "b"]
        await requests.ask("d")
        await turns.pass_by(2)
        assert requests.gone == ["a", "b", "c"]
        await turns.pass_by(2)
        assert requests.gone == ["a", "b", "c", "d"]

    in_a_loop(work)


def test_one_by_itself_goes_at_once(turns: Turns) -> None:
    async def work() -> None:
        requests = Requests(turns)
        await requests.ask("a")
        await turns.pass_by(2)
        assert turns.due == [], "nothing is done where nobody asks"
        await requests.ask("b")
        assert requests.gone == ["a", "b"]

    in_a_loop(work)


def test_nobody_waits_before_the_crawl_begins(turns: Turns) -> None:
    spreading = Spreading()
    assert [spreading.turn() for _ in range(3)] == [None] * 3
    assert turns.due == []


def test_where_turns_are_long_nobody_waits_for_long(turns: Turns) -> None:
    async def work() -> None:
        requests = Requests(turns)
        await requests.ask(*"abcdefgh")
        await turns.pass_by(2, seconds=0.04)
        assert requests.gone == ["a", "b", "c"]
        await turns.pass_by(seconds=0.04)
        assert requests.gone == list("abcdefgh")
        await requests.ask("i")
        assert requests.gone == list("abcdefgh"), "as before"
        await turns.pass_by(2)
        assert requests.gone == list("abcdefghi")

    in_a_loop(work)


def test_who_has_just_come_keeps_nobody_waiting(turns: Turns) -> None:
    async def work() -> None:
        requests = Requests(turns)
        await requests.ask("a", "b", "c", "d")
        turns.now += 0.12
        await requests.ask("e")
        await turns.pass_by()
        assert requests.gone == ["a", "b", "c", "d"]

    in_a_loop(work)


def test_what_goes_at_once_and_takes_long_is_a_long_turn(
    turns: Turns, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where there is no asyncio: who waits goes on as the promise is kept."""
    gone: list[float] = []

    class AtOnce:
        def keep(self, _: None) -> None:
            gone.append(turns.now)
            turns.now += 0.02

    monkeypatch.setattr(spreading, "Promise", AtOnce)

    async def work() -> None:
        going = Spreading()
        going.open()
        assert [going.turn() is None for _ in range(3)] == [True, False, False]
        await turns.pass_by(2)
        assert len(gone) == 1
        await turns.pass_by()
        assert len(gone) == 2

    in_a_loop(work)


def test_one_long_turn_is_enough(turns: Turns) -> None:
    async def work() -> None:
        requests = Requests(turns)
        await requests.ask("a", "b", "c")
        await turns.pass_by(seconds=0.009)
        assert requests.gone == ["a"]
        await turns.pass_by(seconds=0.009)
        assert requests.gone == ["a", "b"]
        await turns.pass_by(seconds=0.011)
        assert requests.gone == ["a", "b", "c"]

    in_a_loop(work)


def test_what_the_middleware_lets_pass_waits_for_its_turn(turns: Turns, tmp_path: Path) -> None:
    async def work() -> None:
        judged = Judged(tmp_path, REP_AUDIT_DIR="")
        judged.know("a.example")
        middleware = judged.middleware
        passed: list[str] = []

        async def ask(name: str) -> None:
            with suppress(IgnoreRequest):
                await middleware.process_request(Request(f"https://a.example/{name}"))
                passed.append(name)

        middleware.crawler.signals.send_catch_log(signals.engine_started)
        asked = [asyncio.create_task(ask(name)) for name in ("1", "private/x", "2", "3")]
        await asyncio.sleep(0)
        assert passed == ["1"]
        assert asked[1].done(), "what is disallowed waits for nothing"
        await turns.pass_by(2)
        assert passed == ["1", "2"]
        await turns.pass_by(2)
        assert passed == ["1", "2", "3"]

    in_a_loop(work)


def test_one_that_is_cancelled_holds_nobody_up(turns: Turns) -> None:
    async def work() -> None:
        requests = Requests(turns)
        await requests.ask("a", "b", "c")
        requests.tasks["b"].cancel()
        await turns.pass_by(4)
        assert requests.gone == ["a", "c"]
        await turns.pass_by(2)
        assert turns.due == []

    in_a_loop(work)


@pytest.mark.every_loop
@pytest.mark.parametrize("loop", LOOPS)
def test_a_crawl(loop: Loop) -> None:
    settings = {
        **ADDON,
        "CONCURRENT_REQUESTS_PER_DOMAIN": 16,
        "DOWNLOADER_MIDDLEWARES": {"tests.crawls.turns.InTurns": 900},
    }
    with Site({"/robots.txt": Answer(body="User-agent: *\nDisallow: /private/\n")}) as site:
        urls = [site.url(f"/{number}") for number in range(60)]
        urls += [site.url(f"/private/{number}") for number in range(60)]
        result = crawl(URLS_SPIDER, loop=loop, settings=settings, urls=urls)
        paths = site.paths()
    assert sorted(paths) == sorted(["/robots.txt", *(f"/{number}" for number in range(60))])
    assert result.finish_reason == "finished"
    assert (result.stats["turns"], result.stats.get("full_turns", 0)) == (60, 0)

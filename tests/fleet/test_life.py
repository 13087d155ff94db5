"""A crawl at ordinary work: stopped, restarted, deployed to, and its letters put back."""

from __future__ import annotations

import signal
import time

import pytest

from tests.commands.test_fleet import shown
from tests.fleet.crews import Crew
from tests.fleet.test_crawls import assert_nothing_left, requests_by_path
from tests.fleet.test_failures import HOSTS, assert_whole, crew_of, site, until
from tests.redis_server import RedisServer, needs_redis
from tests.servers.handle import Site

__all__ = ["site"]

pytestmark = [needs_redis, pytest.mark.slow]
NEW = "tests.fleet.spiders:NewTreeSpider"
STAYS = "The crawl stays in Redis: "
DEAD = "rep:{tree:requests}:dead"


def reason_of(crew: Crew, number: int) -> str:
    return str(crew.result(number)["finish_reason"])


class TestStopped:
    """A stop keeps the queue, and the next run fetches exactly the rest."""

    def test_all_workers_stop(self, site: Site, redis_server: RedisServer) -> None:
        with crew_of(redis_server.url, 2, site) as crew:
            until(site, 60)
            for number in range(2):
                crew.signal(number, signal.SIGTERM)
            crew.wait()
            assert [reason_of(crew, number) for number in range(2)] == ["shutdown"] * 2
            (log,) = [log for log in map(crew.log, range(2)) if STAYS in log]
            assert "run the spider again" in log.splitlines()[-1]
            crew.add()
            crew.wait()
            assert (crew.errors, reason_of(crew, 2)) == ("", "finished")
        assert_whole(site, 0)
        assert_nothing_left(redis_server)

    def test_two_workers_restart_one_after_the_other(
        self, site: Site, redis_server: RedisServer
    ) -> None:
        with crew_of(redis_server.url, 2, site) as crew:
            until(site, 60)
            crew.signal(0, signal.SIGTERM)
            crew.wait(without=(1,))
            crew.signal(1, signal.SIGTERM)
            crew.wait()
            crew.add(), crew.add()
            crew.wait()
            assert crew.errors == ""
        assert_whole(site, 0)

    def test_settings_stop_the_crawl(self, site: Site, redis_server: RedisServer) -> None:
        with crew_of(redis_server.url, 1, site, settings={"CLOSESPIDER_PAGECOUNT": 50}) as crew:
            crew.wait()
            assert reason_of(crew, 0) == "closespider_pagecount"
            assert STAYS in crew.log(0)
        with crew_of(redis_server.url, 1, site) as crew:
            crew.wait()
        assert_whole(site, 0)

    def test_next_run_begins_again(self, site: Site, redis_server: RedisServer) -> None:
        """`SCHEDULER_FLUSH_ON_START`: the rest of an earlier crawl is deleted once."""
        with crew_of(redis_server.url, 1, site, settings={"CLOSESPIDER_PAGECOUNT": 50}) as crew:
            crew.wait()
        with crew_of(redis_server.url, 1, site, settings={"SCHEDULER_FLUSH_ON_START": True}) as new:
            new.wait()
            assert (new.errors, reason_of(new, 0)) == ("", "finished")
        assert {count for (_, path), count in requests_by_path(site).items() if path == "/0"} == {2}
        assert_nothing_left(redis_server)

    def test_one_is_frozen_and_the_other_stopped(
        self, site: Site, redis_server: RedisServer
    ) -> None:
        with crew_of(redis_server.url, 2, site) as crew:
            until(site, 60)
            crew.signal(0, signal.SIGSTOP)
            time.sleep(0.5)
            crew.signal(1, signal.SIGTERM)
            crew.wait(without=(0,))
            crew.signal(0, signal.SIGCONT)
            crew.wait()
            assert reason_of(crew, 0) == "finished"
        assert_whole(site, 0)
        assert_nothing_left(redis_server)


class TestDeployed:
    """Some workers have a new callback."""

    def test_some_workers_are_deployed(self, site: Site, redis_server: RedisServer) -> None:
        with (
            crew_of(redis_server.url, 1, site) as old,
            crew_of(redis_server.url, 1, site, NEW) as new,
            redis_server.client() as client,
        ):
            old.wait()
            new.wait()
            assert [reason_of(old, 0), reason_of(new, 0)] == ["finished"] * 2
            assert client.llen(DEAD) == 0
            assert old.stat("rep/fleet/passed_on") > 0
            words = "differs: spider is 'tests.fleet.spiders."
            assert sum(words in crew.log(0) for crew in (old, new)) == 1
        assert_whole(site, 0)
        assert_nothing_left(redis_server)

    @pytest.mark.parametrize("options", [[], ["--only-letters"]])
    def test_only_old_workers_and_letters_are_put_back(
        self, site: Site, redis_server: RedisServer, options: list[str]
    ) -> None:
        with crew_of(redis_server.url, 1, site, NEW, settings={"CLOSESPIDER_PAGECOUNT": 20}) as new:
            new.wait()
        with (
            crew_of(redis_server.url, 2, site) as old,
            redis_server.client() as client,
        ):
            old.wait()
            assert {reason_of(old, number) for number in range(2)} == {"dead_letters"}
            count = client.llen(DEAD)
            assert count == old.stat("rep/fleet/aside") > 0
            (last,) = [
                line
                for number in range(2)
                for line in old.log(number).splitlines()
                if f"and {count} dead letters" in line
            ]
            assert "'scrapy rep fleet requeue --spider tree' puts them back" in last
            assert "run the spider again" not in last, "a run does not fetch dead letters"
        settings = {"REP_REDIS_URL": redis_server.url}
        spider = ("--spider", "tree")
        assert "nothing has been left to do for " in shown(*spider, settings=settings).out
        done = shown("requeue", *spider, *options, settings=settings)
        assert done.out == f"tree: {count} dead letters put back\n"
        with crew_of(redis_server.url, 2, site, NEW) as new:
            new.wait()
            assert (new.errors, reason_of(new, 0)) == ("", "finished")
        assert_whole(site, 0 if options else HOSTS)
        assert_nothing_left(redis_server)

"""A crawl at ordinary work: stopped, restarted, deployed to, and its letters put back."""

from __future__ import annotations

import random
import re
import signal
import time

import pytest

from tests.at_length import at_length
from tests.crawling import crawl
from tests.extras.fleet.commands.test_fleet import shown
from tests.extras.fleet.crews import (
    SETTINGS,
    TREE,
    Begin,
    Crew,
    SiteOf,
    assert_nothing_left,
    assert_paced,
    pages_of_tree,
    requests_by_path,
    roots,
    until,
)
from tests.extras.fleet.test_failures import HOSTS, PAGES, assert_whole, site
from tests.extras.fleet.test_failures import SETTINGS as FAILING
from tests.redis_server import RedisServer, needs_redis
from tests.servers.handle import Answer, Site

__all__ = ["site"]

pytestmark = [needs_redis, pytest.mark.slow]
NEW = "tests.extras.fleet.spiders:NewTreeSpider"
STAYS = "The crawl stays in Redis: "


def begun(begin: Begin, site: Site, spider: str = TREE, count: int = 2, **settings: object) -> Crew:
    settings = {**FAILING, **settings}
    return begin(site, spider, count, settings=settings, hosts=HOSTS, pages=PAGES)


def test_all_workers_stop_and_the_next_run_fetches_the_rest(
    site: Site, begin: Begin, redis_server: RedisServer
) -> None:
    crew = begun(begin, site)
    until(site, 60)
    for number in range(2):
        crew.signal(number, signal.SIGTERM)
    crew.wait()
    assert [crew.reason(number) for number in range(2)] == ["shutdown"] * 2
    (log,) = [log for log in map(crew.log, range(2)) if STAYS in log]
    assert "run the spider again" in log.splitlines()[-1]
    crew.add()
    crew.wait()
    assert crew.reason(2) == "finished"
    assert_whole(site)
    assert_nothing_left(redis_server)


def test_next_run_begins_again(site: Site, begin: Begin, redis_server: RedisServer) -> None:
    """`SCHEDULER_FLUSH_ON_START`: the rest of an earlier crawl is deleted once."""
    crew = begun(begin, site, count=1, CLOSESPIDER_PAGECOUNT=50)
    crew.wait()
    assert crew.reason() == "closespider_pagecount"
    assert STAYS in crew.logs
    new = begun(begin, site, count=1, SCHEDULER_FLUSH_ON_START=True)
    new.wait()
    assert new.reason() == "finished"
    assert {count for (_, path), count in requests_by_path(site).items() if path == "/0"} == {2}
    assert_nothing_left(redis_server)


def test_some_workers_are_deployed(site: Site, begin: Begin, redis_server: RedisServer) -> None:
    """Some workers have a new callback."""
    old = begun(begin, site, count=1)
    new = begun(begin, site, NEW, 1, USER_AGENT="new")
    old.wait()
    new.wait()
    assert [old.reason(), new.reason()] == ["finished"] * 2
    assert old.stat("rep/fleet/passed_on") > 0
    words = "differs: USER_AGENT is "
    assert sum(words in crew.logs for crew in (old, new)) == 1
    assert_whole(site)
    assert_nothing_left(redis_server)


@pytest.mark.parametrize("change", ["spider", *at_length(["project"])])
def test_a_stranger_is_refused(
    site: Site, begin: Begin, redis_server: RedisServer, change: str
) -> None:
    """Another spider class, or another project, takes nothing, and nothing of it is filtered."""
    ours = begun(begin, site, count=1, CLOSESPIDER_PAGECOUNT=20)
    until(site, 5)
    other = "tests.extras.fleet.spiders:OtherTreeSpider" if change == "spider" else TREE
    bot_name = "scrapybot" if change == "spider" else "other"
    names = [
        "tests.extras.fleet.spiders.TreeSpider with BOT_NAME 'scrapybot'",
        f"{other.replace(':', '.')} with BOT_NAME '{bot_name}'",
    ]
    ways = [
        "another SCHEDULER_QUEUE_KEY",
        "'scrapy rep fleet clear --spider tree'",
        "SCHEDULER_FLUSH_ON_START",
    ]
    for is_running in (True, False):
        stranger = begin(site, other, 1, hosts=HOSTS, pages=PAGES, settings={"BOT_NAME": bot_name})
        _wait_for(stranger, 0)
        said = stranger.errors
        assert [words for words in (*names, *ways) if words not in said] == [], said
        assert stranger.stat("downloader/request_count") == 0
        if is_running:
            ours.wait()
    begun(begin, site, count=1).wait()
    assert_whole(site)
    begun(begin, site, other, count=1, BOT_NAME=bot_name).wait()
    assert_nothing_left(redis_server)


@pytest.mark.parametrize("options", [[], ["--only-letters"]])
def test_only_old_workers_and_letters_are_put_back(
    site: Site, begin: Begin, redis_server: RedisServer, options: list[str]
) -> None:
    begun(begin, site, NEW, 1, CLOSESPIDER_PAGECOUNT=20).wait()
    old = begun(begin, site)
    old.wait()
    assert {old.reason(number) for number in range(2)} == {"dead_letters"}
    with redis_server.client() as client:
        count = client.llen("rep:{tree:requests}:dead")
    assert count == old.stat("rep/fleet/aside") > 0
    (last,) = [line for line in old.logs.splitlines() if f"and {count} dead letters" in line]
    assert "'scrapy rep fleet requeue --spider tree' puts them back" in last
    assert "run the spider again" not in last, "a run does not fetch dead letters"
    call = ("requeue", "--spider", "tree", *options)
    done = shown(*call, settings={"REP_REDIS_URL": redis_server.url})
    assert done.out == f"tree: {count} dead letters put back\n"
    new = begun(begin, site, NEW)
    new.wait()
    assert new.reason() == "finished"
    assert_whole(site, 0 if options else HOSTS)
    assert_nothing_left(redis_server)


def test_standstill_is_logged_again_and_again(redis_server: RedisServer) -> None:
    """Here each request waits for a robots.txt that can't be had."""
    settings = {
        "EXTENSIONS": {"tests.extras.fleet.spiders.Impatient": 1},
        "REP_REDIS_URL": redis_server.url,
        "REP_UNREACHABLE_HOLD_SECONDS": 60,
        "CLOSESPIDER_TIMEOUT": 6,
    }
    with Site({"/robots.txt": Answer(status=503)}) as site:
        result = crawl(TREE, settings={**SETTINGS, **settings}, roots=[site.url("/")])
    words = (
        r"No request began or ended in \d+ min \(queued: 1, in workers: 0\)\. 'scrapy rep fleet'"
    )
    assert 2 <= len(re.findall(words, result.log)) <= 6


WORKERS, ROLLING_HOSTS, DELAY_SECONDS = 3, 2, 0.5


@pytest.mark.timed
@pytest.mark.parametrize("turns", [4, *at_length([100])])
def test_rolling_restarts_lose_nothing(site_of: SiteOf, begin: Begin, turns: int) -> None:
    """Restarts at random times, one deployment and one restart of Redis lose nothing."""
    chance = random.Random(turns)
    slow_pages = 6 * turns + 30  # more than there is time for during the restarts
    site = site_of("Disallow: /7$", Answer(body="page", delay_seconds=1.0))
    slow_site = site_of(f"Crawl-delay: {DELAY_SECONDS}")
    settings = {**FAILING, "REP_FLEET_LEASE_SECONDS": 20, "SCHEDULER_IDLE_BEFORE_CLOSE": 4}
    with RedisServer(appendonly="yes", appendfsync="always") as redis:
        crew = begin(
            site,
            TREE,
            WORKERS,
            url=redis.url,
            settings=settings,
            hosts=ROLLING_HOSTS,
            pages=40 * turns,
            slow_roots=[slow_site.url("/", host="127.0.3.1")],
            slow_pages=slow_pages,
        )
        restarted = _restart(crew, redis, turns, chance)
        crew.wait(30 + 2 * DELAY_SECONDS * slow_pages, without=tuple(restarted))
        assert_nothing_left(redis)
    running = [number for number in range(WORKERS + turns) if number not in restarted]
    assert {crew.reason(number) for number in running} == {"finished"}
    assert [crew.stat(f"rep/fleet/{name}") for name in ("dead_letters", "aside")] == [0, 0]
    paths = {"/robots.txt", *pages_of_tree(40 * turns)}
    pages = {(root[7:-1], path) for root in roots(site, ROLLING_HOSTS) for path in paths}
    assert set(requests_by_path(site)) == pages
    slow = [one for one in slow_site.requests() if one.path != "/robots.txt"]
    assert {one.path for one in slow} == {f"/{number}" for number in range(slow_pages)}
    assert_paced([one.at for one in slow], DELAY_SECONDS)


def _restart(crew: Crew, redis: RedisServer, turns: int, chance: random.Random) -> list[int]:
    """Restart workers; return the numbers of the stopped ones."""
    running, stopped = list(range(WORKERS)), []
    for turn in range(turns):
        time.sleep(chance.uniform(0.5, 3))
        number = running.pop(chance.randrange(WORKERS))
        assert not crew.has_ended(number), crew.log(number)[-3000:]
        crew.signal(number, signal.SIGTERM)
        stopped.append(number)
        if turn == turns // 2:
            redis.shut_down()
            time.sleep(1)
            redis.start()
        if chance.random() < 0.5:  # otherwise the next one begins while it still ends
            _wait_for(crew, number)
        running.append(crew.add(NEW if turn >= turns // 3 else ""))
    for number in stopped:
        _wait_for(crew, number)
    return stopped


def _wait_for(crew: Crew, number: int) -> None:
    patience = time.monotonic() + 60
    while not crew.has_ended(number):
        assert time.monotonic() < patience, crew.log(number)[-6000:]
        time.sleep(0.02)

"""Scrapy's own commands in a project of a fleet: most change nothing in Redis."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.commands.calling import LOOPS
from tests.extras.fleet.workers import Fleet
from tests.processes import Scrapy
from tests.redis_server import RedisServer, needs_redis
from tests.servers.handle import Site

pytestmark = needs_redis

_SPIDERS = """
from scrapy import Spider
from scrapy_redis.spiders import RedisSpider

class Shop(Spider):
    name = "shop"

    def parse(self, response):
        yield {"url": response.url}
        for number in range(9):
            yield response.follow(f"/next/{number}")

class Seeded(RedisSpider):
    name = "seeded"
    redis_key = "seeded:urls"
    max_idle_time = 1

    def parse(self, response):
        yield {"url": response.url}
"""
_PREFIX = "rep:{%s:requests}:"
_SAYS = "A command that does not crawl uses Scrapy's own scheduler and duplicate filter"


@pytest.fixture
def project(tmp_path: Path, redis_server: RedisServer) -> Path:
    """A project with two crawls in Redis."""
    (tmp_path / "scrapy.cfg").write_text("[settings]\ndefault = of_fleet.settings\n")
    package = tmp_path / "of_fleet"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "spiders.py").write_text(_SPIDERS)
    (package / "settings.py").write_text(
        "SPIDER_MODULES = ['of_fleet.spiders']\n"
        "ADDONS = {'scrapy_rep.Addon': 500}\n"
        "ROBOTSTXT_OBEY = True\n"
        f"REP_REDIS_URL = REDIS_URL = {redis_server.url!r}\n"
        "SCHEDULER = 'scrapy_rep.RepRedisScheduler'\n"
    )
    return tmp_path


@pytest.fixture
def crawls(redis_server: RedisServer) -> Fleet:
    """The queued requests of both spiders, and the start URLs of one."""
    fleet = Fleet(redis_server)
    worker = fleet.worker("box:1:a")
    worker.push("http://a.example/1", "http://a.example/2", lane="http://a.example")
    worker.talk(spider="of_fleet.spiders.Shop with BOT_NAME 'scrapybot'")
    for key in fleet.client.keys("rep:{test}:*"):
        for name in ("shop", "seeded"):
            fleet.client.copy(key, key.replace(b"rep:{test}:", (_PREFIX % name).encode()))
    fleet.client.rpush("seeded:urls", "http://a.example/3")
    return fleet


def content(fleet: Fleet) -> dict[bytes, Any]:
    """All that is in Redis, without the store of robots.txt files."""
    names = [*fleet.client.keys("rep:{*"), b"seeded:urls"]
    keys = [key for key in names if b":requests}" in key or b"urls" in key]
    return {key: fleet.client.dump(key) for key in keys}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "spider", "loop"),
    [
        ("fetch {url}", "seeded", "asyncio"),
        ("parse {url} --depth 1", "shop", "reactorless"),
        ("shell {url} -c response.status", "shop", "asyncio"),
    ],
)
def test_one_page_is_fetched(
    project: Path, crawls: Fleet, words: str, spider: str, loop: str
) -> None:
    before = content(crawls)
    with Site() as site:
        call = [*words.format(url=site.url("/a")).split(), "--spider", spider]
        done = Scrapy(*call, *LOOPS[loop], folder=project).end(60)
        log = done.stderr.decode()
        assert (done.returncode, site.paths()) == (0, ["/robots.txt", "/a"]), log
    assert log.count(_SAYS) == 1
    assert "ERROR" not in log
    assert before == content(crawls)
    assert before


@pytest.mark.slow
def test_crawl_command_joins_the_fleet(project: Path, crawls: Fleet) -> None:
    """The crawl that the commands above do not change."""
    before = content(crawls)
    done = Scrapy("crawl", "shop", "-s", "CLOSESPIDER_TIMEOUT=1", folder=project).end(60)
    assert _SAYS not in done.stderr.decode()
    assert before != content(crawls)

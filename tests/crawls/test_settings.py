"""A middleware that is set up wrongly stops the crawl: no request leaves."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.crawling import LOOPS, Loop, crawl, without_proxies
from tests.crawls.settings import ADDON, URLS_SPIDER
from tests.extras import needs
from tests.servers.handle import Answer, Site

BAD: dict[str, tuple[dict[str, Any], str]] = {
    "a wrong value": ({"REP_FETCH_TIMEOUT_SECONDS": 0}, "REP_FETCH_TIMEOUT_SECONDS = 0: must be"),
    "an invalid product token": (
        {"ROBOTSTXT_USER_AGENT": "Foo Bot"},
        "'Foo Bot' is not a product token",
    ),
    "no product token": ({"ROBOTSTXT_USER_AGENT": []}, "give one product token"),
    "a parser that is not there": (
        {"ROBOTSTXT_PARSER": "no.such.Parser"},
        "ROBOTSTXT_PARSER = 'no.such.Parser' cannot be used",
    ),
    "two judges": (
        {
            "ADDONS": {},
            "DOWNLOADER_MIDDLEWARES": {"scrapy_rep.RepMiddleware": 99},
        },
        "RobotsTxtMiddleware is enabled next to RepMiddleware",
    ),
    "a name nearly right": ({"REP_POLICIES": "strict"}, "did you mean REP_POLICY?"),
}


@pytest.mark.parametrize(("settings", "words"), BAD.values(), ids=BAD)
def test_bad_settings_stop_the_crawl(settings: dict[str, Any], words: str) -> None:
    with Site() as site:
        result = crawl(
            URLS_SPIDER, loop="asyncio", settings={**ADDON, **settings}, urls=[site.url("/a")]
        )
        assert site.paths() == []
    assert words in f"{result.error} {result.log}"
    assert result.exit_code != 0


def test_switched_off_by_the_user() -> None:
    with Site() as site:
        settings = {**ADDON, "ROBOTSTXT_OBEY": False, "REP_POLICY": "strict"}
        result = crawl(URLS_SPIDER, loop="asyncio", settings=settings, urls=[site.url("/a")])
        assert site.paths() == ["/a"]
    assert result.exit_code == 0


_OPTIONS: dict[Loop, dict[str, Any]] = {
    "asyncio": {},
    "select": {"TWISTED_REACTOR": "twisted.internet.selectreactor.SelectReactor"},
    "reactorless": {"TWISTED_REACTOR_ENABLED": False},
}
_SPIDER = """
import scrapy

class One(scrapy.Spider):
    name = "one"
    custom_settings = {"ADDONS": {"scrapy_rep.Addon": 500}, "ROBOTSTXT_OBEY": True}
    start_urls = ["http://127.0.0.1:9/"]
"""


_SITEMAP_SPIDER = """
from scrapy_rep import RobotsSitemapSpider

class One(RobotsSitemapSpider):
    name = "one"
    custom_settings = {"ADDONS": {"scrapy_rep.Addon": 500}, "ROBOTSTXT_OBEY": True}
"""


def _run(
    folder: Path, *arguments: str, spider: str = _SPIDER, **settings: Any
) -> tuple[str, bytes]:
    """The log of a crawl that ends at once, and what it writes to its error stream.

    In a new interpreter: Twisted tells of some errors only when one ends.
    """
    (folder / "one.py").write_text(spider, encoding="utf-8")
    settings |= {"LOG_FILE": "log", "LOG_LEVEL": "ERROR"}
    options = [text for name, one in settings.items() for text in ("-s", f"{name}={one}")]
    done = subprocess.run(
        [sys.executable, "-m", "scrapy", "runspider", "one.py", *options, *arguments],
        cwd=folder,
        env=without_proxies(),
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 1
    return (folder / "log").read_text(encoding="utf-8"), done.stderr


@pytest.mark.every_loop
@pytest.mark.parametrize("loop", LOOPS)
def test_wrong_setting_is_one_line_of_the_log(loop: Loop, tmp_path: Path) -> None:
    log, errors = _run(tmp_path, REP_POLICY="nice", **_OPTIONS[loop])
    (line,) = log.splitlines()
    assert "[scrapy_rep.engine.refusals] ERROR: REP_POLICY = 'nice': must be one of" in line
    assert errors == b""


@pytest.mark.every_loop
@pytest.mark.parametrize(
    ("loop", "argument", "words"),
    [
        ("asyncio", "sites=example.com", "sites: 'example.com' is not a site"),
        ("select", "since=tomorrow", "since: 'tomorrow' is not a date"),
        ("reactorless", "since=last run", "since = 'last run' needs a JOBDIR"),
    ],
)
def test_wrong_argument_is_one_line_of_the_log(
    loop: Loop, argument: str, words: str, tmp_path: Path
) -> None:
    log, errors = _run(tmp_path, "-a", argument, spider=_SITEMAP_SPIDER, **_OPTIONS[loop])
    (line,) = log.splitlines()
    assert f"[scrapy_rep.engine.refusals] ERROR: {words}" in line
    assert errors == b""


@pytest.mark.every_loop
@pytest.mark.parametrize("loop", LOOPS)
def test_sitemap_spider_without_the_middleware_is_one_line_of_the_log(loop: Loop) -> None:
    """It begins to crawl, and then there is no policy to read."""
    settings = {**ADDON, "ROBOTSTXT_OBEY": False, "LOG_LEVEL": "ERROR"}
    spider = "tests.crawls.sitemap_spider:SitesSpider"
    result = crawl(spider, loop=loop, settings=settings, sites="http://127.0.0.1:9/")
    (line,) = result.log.splitlines()
    assert "[scrapy_rep.engine.refusals] ERROR: SitesSpider needs RepMiddleware" in line


def test_other_errors_keep_their_tracebacks(tmp_path: Path) -> None:
    spider = f"{_SPIDER}\n    def __init__(self, *_, **__):\n        raise ValueError('theirs')\n"
    spider = spider.replace("import scrapy", "import scrapy, scrapy_rep.addon")
    log, errors = _run(tmp_path, spider=spider, **_OPTIONS["select"])
    assert "Unhandled error in Deferred" in log
    assert log.count("ValueError: theirs") == 1
    assert b"ValueError: theirs" in errors


def test_error_of_a_users_class_is_shown(tmp_path: Path) -> None:
    log, _ = _run(tmp_path, REP_STORE="no.such.Store")
    assert "REP_STORE = 'no.such.Store' cannot be used" in log.splitlines()[0]
    assert log.splitlines()[-1].startswith("ModuleNotFoundError")
    assert log.count("Traceback") == 1
    assert "crawl_async" not in log


@pytest.mark.every_loop
def test_as_the_command_line_passes_them() -> None:
    """A dict as JSON, and a whole header as the crawler's name."""
    file = "User-agent: FooBot\nDisallow: /a\n\nUser-agent: *\nDisallow: /\n"
    with Site({"/robots.txt": Answer(body=file)}) as site:
        settings = {
            **ADDON,
            "ROBOTSTXT_USER_AGENT": "Mozilla/5.0 (compatible; FooBot/2.1; +http://foo.example)",
            "REP_OVERRIDES": '{"localhost": "ignore"}',
        }
        urls = [site.url("/a"), site.url("/b"), site.url("/c", host="localhost")]
        result = crawl(URLS_SPIDER, settings=settings, urls=urls)
        assert sorted(site.paths()) == ["/b", "/c", "/robots.txt"], result.log


_TWO_CRAWLS = """
import json, sys
import scrapy
from scrapy.crawler import AsyncCrawlerProcess, CrawlerProcess

class Wrong(scrapy.Spider):
    name = "wrong"
    custom_settings = {"REP_POLICY": "nice"}

class Right(scrapy.Spider):
    name = "right"
    start_urls = ["data:,page"]

    def parse(self, response):
        print(response.text)

loop, settings = json.loads(sys.argv[1])
kind = AsyncCrawlerProcess if loop == "reactorless" else CrawlerProcess
process = kind({**settings, "ROBOTSTXT_OBEY": True, "LOG_LEVEL": "ERROR"})
process.crawl(Wrong)
process.crawl(Right)
process.start()
"""


@pytest.mark.every_loop
@pytest.mark.parametrize("loop", LOOPS)
def test_wrong_setting_of_one_crawl_does_not_stop_the_next(loop: Loop) -> None:
    """A process installs its reactor with the settings of its first crawl."""
    done = subprocess.run(
        [sys.executable, "-c", _TWO_CRAWLS, json.dumps([loop, {**ADDON, **_OPTIONS[loop]}])],
        env=without_proxies(),
        capture_output=True,
        timeout=60,
        check=False,
        encoding="utf-8",
    )
    assert done.stdout == "page\n", done.stderr
    assert done.stderr.count("REP_POLICY = 'nice': must be one of") == 1
    assert "Traceback" not in done.stderr


_LOST_ERROR = """
import asyncio, gc, logging
import scrapy
from scrapy.crawler import AsyncCrawlerProcess
from scrapy_rep import ConfigurationError

class Wrong(scrapy.Spider):
    name = "wrong"
    custom_settings = {"REP_POLICY": "nice"}

async def main():
    try:
        await process.crawl(Wrong)
    except ConfigurationError as error:
        raise KeyError("of the project")

process = AsyncCrawlerProcess(
    {"ADDONS": {"scrapy_rep.Addon": 500}, "ROBOTSTXT_OBEY": True, "LOG_LEVEL": "ERROR"}
)
from twisted.internet import reactor
reactor.callWhenRunning(lambda: asyncio.ensure_future(main()))
reactor.callLater(0.5, reactor.stop)
reactor.callLater(0.4, gc.collect)
process.start(stop_after_crawl=False)
"""


def test_error_of_the_project_is_logged_after_ours() -> None:
    done = subprocess.run(
        [sys.executable, "-c", _LOST_ERROR],
        env=without_proxies(),
        capture_output=True,
        timeout=60,
        check=False,
        encoding="utf-8",
    )
    assert "KeyError: 'of the project'" in done.stderr


@needs("fleet")
def test_scheduler_of_a_fleet_is_refused_in_one_line(tmp_path: Path) -> None:
    """Scrapy fails again when it cleans up."""
    for options in _OPTIONS.values():
        log, _ = _run(tmp_path, SCHEDULER="scrapy_rep.RepRedisScheduler", **options)
        assert log.count("RepRedisScheduler needs REP_REDIS_URL") == 1
        assert "Traceback" not in log
        (tmp_path / "log").unlink()

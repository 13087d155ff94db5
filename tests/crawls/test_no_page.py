"""A crawl without a page ends with one warning: why, and which setting decides."""

from __future__ import annotations

import re
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from scrapy import version_info

from tests.crawling import LOOPS, ONE_LOOP_IN_CI, Crawl, Loop, crawl
from tests.crawls.settings import ADDON, DISALLOW_ALL, URLS_SPIDER
from tests.crawls.test_challenges import challenge
from tests.servers.handle import Answer, Site, free_port

_HERE = "tests.crawls.no_page"
_NO_FILE = Answer(status=404)
_LINE = re.compile(r"\[(scrapy_rep\S*)\] WARNING: \[\w+\] (No page was crawled, .*)")


def warnings_in(result: Crawl) -> list[tuple[str, str]]:
    """The logger and the words of each warning about a crawl without a page."""
    return _LINE.findall(result.log)


@dataclass(frozen=True)
class Case:
    """A crawl that gets no page.

    Attributes:
        words: what the warning says is the cause.
        setting: what it says decides.
        file: the robots.txt.
        page: every page.
        settings: of the crawl.
        arguments: of the spider.
        url: of the page; empty for one of the site.
    """

    words: str
    setting: str
    file: Answer = _NO_FILE
    page: Answer = field(default_factory=Answer)
    settings: dict[str, Any] = field(default_factory=dict)
    arguments: dict[str, Any] = field(default_factory=dict)
    url: str = ""


def middleware(name: str) -> dict[str, Any]:
    return {"DOWNLOADER_MIDDLEWARES": {f"{_HERE}.{name}": 800}}


_HTTP_ERROR = "scrapy.spidermiddlewares.httperror.HttpErrorMiddleware"
_LETS_ALL_PASS = {_HTTP_ERROR: None, f"{_HERE}.LetsAllPass": 50}
_CLOSED = f"http://127.0.0.2:{free_port()}/"
_DEAD = {"proxy": f"http://127.0.0.2:{free_port()}"}
_NO_RETRIES = {"RETRY_ENABLED": False}
CASES = {
    "a rule": Case(
        "robots.txt disallows the requests.", "set REP_OVERRIDES", Answer(body=DISALLOW_ALL)
    ),
    "an outage": Case("robots.txt is unreachable.", "REP_POLICY, ", Answer(status=503)),
    "a challenge": Case("request for robots.txt with a challenge.", "REP_POLICY, ", challenge()),
    "HTML": Case(
        "an HTML page in place of a robots.txt.",
        "REP_POLICY, ",
        Answer(headers=[("Content-Type", "text/html")], body="<html>"),
        settings={"REP_POLICY": "strict"},
    ),
    "a long delay": Case(
        "too long a delay between requests.",
        "REP_CRAWL_DELAY_EXCESS",
        Answer(body="User-agent: *\nCrawl-delay: 900\n"),
    ),
    "a setting": Case(
        "robots.txt is unavailable.",
        "REP_POLICY_OVERRIDES",
        settings={"REP_POLICY_OVERRIDES": {"404": "disallow"}},
    ),
    "a late file": Case(
        "the fetch of robots.txt took too long.",
        "REP_UNREACHABLE_WAIT_SECONDS",
        Answer(fault="hang"),
        settings={"REP_UNREACHABLE_WAIT_SECONDS": 1},
    ),
    "a guard": Case(
        "redirects to a host that is not allowed.",
        "REP_REDIRECT_GUARD",
        Answer(status=301, headers=[("Location", "http://localhost:9/robots.txt")]),
        settings={"REP_REDIRECT_GUARD": "public"},
    ),
    "a broken file": Case(
        "a middleware of the project broke the request.",
        "REP_FETCH_MIDDLEWARES",
        settings=middleware("BreaksFiles"),
    ),
    "a broken page": Case(
        "a middleware of the project broke the request.",
        "DOWNLOADER_MIDDLEWARES",
        settings=middleware("BreaksPages"),
    ),
    "a dropped page": Case(
        "a middleware of the project dropped the request.",
        "DOWNLOADER_MIDDLEWARES",
        settings=middleware("DropsPages"),
    ),
    "an answer that is lost": Case(
        "a component dropped the requests or their answers.",
        "DOWNLOADER_MIDDLEWARES",
        settings=middleware("LosesAnswers"),
    ),
    "a proxy": Case(
        "the proxy, or the site behind it, cannot be reached.",
        "replace this proxy",
        settings=_NO_RETRIES,
        arguments={"meta": _DEAD},
    ),
    "a proxy of pages": Case(
        "the proxy, or the site behind it, cannot be reached.",
        "replace this proxy",
        settings={**_NO_RETRIES, "REP_FETCH_META_KEYS": []},
        arguments={"meta": _DEAD},
    ),
    "no handler": Case(
        "Scrapy has no download handler",
        "DOWNLOAD_HANDLERS",
        settings={"DOWNLOAD_HANDLERS": {"http": None}},
    ),
    "no handler for pages": Case(
        "Scrapy has no download handler",
        "DOWNLOAD_HANDLERS",
        settings={
            "REP_OVERRIDES": {"127.0.0.2": "ignore"},
            "DOWNLOAD_HANDLERS": {"https": None},
        },
        url="https://127.0.0.2/",
    ),
    "one 429": Case(
        "the site answers that too many requests come.",
        "REP_BACKOFF",
        page=Answer(status=429),
        settings={"RETRY_ENABLED": False, "REP_BACKOFF": False},
    ),
    "a 429 that stays": Case(
        "the site answers",
        "REP_BACKOFF",
        page=Answer(status=429, headers=[("Retry-After", "1")]),
        settings={"RETRY_ENABLED": False, "REP_BACKOFF_GIVE_UP_SECONDS": 2},
    ),
    "challenged pages": Case(
        "an edge answers the pages with challenges.",
        "REP_CHALLENGES",
        page=challenge(),
    ),
    "errors": Case(
        "the site answers with errors.", "HTTPERROR_ALLOWED_CODES", page=Answer(status=404)
    ),
    "a page that is gone": Case(
        "the pages cannot be downloaded.",
        "RETRY_TIMES",
        settings={"REP_OVERRIDES": {"127.0.0.2": "ignore"}},
        url=_CLOSED,
    ),
    "other hosts": Case(
        "the spider may not crawl the hosts of its requests.",
        "allowed_domains",
        arguments={"allowed_domains": ["example.com"], "dont_filter": False},
    ),
    "an early end": Case(
        "the crawl was ended first.",
        "CLOSESPIDER",
        settings={"CLOSESPIDER_TIMEOUT": 1, "EXTENSIONS": {f"{_HERE}.Pauses": 0}},
    ),
    "an early end in an outage": Case(
        "robots.txt is unreachable.",
        "(closespider_timeout)",
        Answer(status=503),
        settings={"CLOSESPIDER_TIMEOUT": 1, "REP_UNREACHABLE_HOLD_SECONDS": 60},
    ),
}


@pytest.mark.parametrize("loop", ONE_LOOP_IN_CI)
@pytest.mark.parametrize("name", CASES)
def test_crawl_without_a_page_ends_with_a_warning(name: str, loop: Loop) -> None:
    if "proxy" in name and loop == "reactorless" and version_info < (2, 19):
        pytest.skip("the download handler ignores the proxy")
    case = CASES[name]
    with Site({"/robots.txt": case.file}, default=case.page) as site:
        url = case.url or site.url("/a")
        settings = {**ADDON, **case.settings}
        result = crawl(
            "tests.crawls.no_page:PlainSpider",
            loop=loop,
            settings=settings,
            urls=[url],
            **case.arguments,
        )
    assert result.exit_code == 0, result.error
    ((logger, line),) = warnings_in(result)
    assert logger == "scrapy_rep.decisions.crawl_log"
    assert case.words in line, line
    assert case.setting in line, line
    assert "deprecat" not in "".join(result.deprecations)


@pytest.mark.parametrize("name", ["a rule", "errors", "a broken page"])
def test_errbacks_change_nothing(name: str) -> None:
    case = CASES[name]
    with Site({"/robots.txt": case.file}, default=case.page) as site:
        settings = {**ADDON, **case.settings}
        result = crawl(URLS_SPIDER, settings=settings, urls=[site.url("/a")])
    assert len(result.items) == 1
    ((_, line),) = warnings_in(result)
    assert case.setting in line


@pytest.mark.parametrize(("path", "words"), [("/gone", "with errors."), ("/private", "disallows")])
def test_duplicates_are_no_cause_beside_their_first_request(path: str, words: str) -> None:
    file = Answer(body="User-agent: *\nDisallow: /private\n")
    with Site({"/robots.txt": file, "/gone": _NO_FILE}) as site:
        urls = [site.url(path)] * 3
        result = crawl(f"{_HERE}:PlainSpider", settings=ADDON, urls=urls, dont_filter=False)
    ((_, line),) = warnings_in(result)
    assert words in line, line


def test_requests_of_an_earlier_run(tmp_path: Path) -> None:
    settings = {**ADDON, "JOBDIR": str(tmp_path)}
    with Site() as site:
        for expected in (0, 1):
            result = crawl(
                f"{_HERE}:PlainSpider", settings=settings, urls=[site.url()], dont_filter=False
            )
            found = warnings_in(result)
            assert len(found) == expected
    assert "the requests were made before. DUPEFILTER_CLASS" in found[0][1]


@pytest.mark.parametrize(
    ("urls", "arguments", "settings"),
    [
        ([], {}, {}),
        (["/a"], {}, {}),
        (["/a", "/private"], {}, {}),
        (["/gone"], {"meta": {"handle_httpstatus_list": [404]}}, {}),
        (["/gone"], {}, {"HTTPERROR_ALLOW_ALL": True}),
        (["/private"], {"meta": {"dont_obey_robotstxt": True}}, {}),
        (["/private"], {}, {"REP_DRY_RUN": True}),
        (["/gone"], {}, {"SPIDER_MIDDLEWARES": _LETS_ALL_PASS}),
        (["/a"], {}, middleware("BreaksPagesOnce")),
    ],
    ids=[
        *("no request", "a page", "one of two", "wanted", "all wanted", "exempt", "dry run"),
        *("wanted by a middleware", "retried after an error without words"),
    ],
)
def test_crawl_with_a_page_gets_no_warning(
    urls: list[str], arguments: dict[str, Any], settings: dict[str, Any]
) -> None:
    file = Answer(body="User-agent: *\nDisallow: /private\n")
    with Site({"/robots.txt": file, "/gone": _NO_FILE}) as site:
        settings = {**ADDON, **settings}
        wanted = [site.url(path) for path in urls]
        result = crawl(
            "tests.crawls.no_page:PlainSpider", settings=settings, urls=wanted, **arguments
        )
    assert warnings_in(result) == []
    assert bool(result.items) == bool(urls)
    assert "Error caught on signal handler" not in result.log


@pytest.mark.parametrize(
    ("pages", "words"),
    [
        ("/private/1", "robots.txt disallows the requests."),
        ("/gone", "the site answers with errors."),
        ("", ""),
    ],
)
def test_sitemap_is_no_page(pages: str, words: str) -> None:
    with ExitStack() as stack:
        site = stack.enter_context(Site({"/gone": _NO_FILE}))
        listed = f"<url><loc>{site.url(pages)}</loc></url>" if pages else ""
        site.change(
            {
                "/robots.txt": Answer(
                    body=f"Sitemap: {site.url('/s.xml')}\nUser-agent: *\nDisallow: /private\n"
                ),
                "/s.xml": Answer(
                    body=f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{listed}'
                    "</urlset>"
                ),
            }
        )
        spider = "tests.crawls.sitemap_spider:SitesSpider"
        result = crawl(spider, settings=ADDON, sites=site.url())
        assert "/s.xml" in site.paths()
    found = warnings_in(result)
    assert [words in line for _, line in found] == ([True] if words else [])


def test_no_sitemap_is_known() -> None:
    """The spider requests nothing at all, because the file that lists its sitemaps is missing."""
    with Site({"/robots.txt": Answer(status=503)}) as site:
        spider = "tests.crawls.sitemap_spider:SitesSpider"
        settings = {**ADDON, "REP_QUICK_RETRY_SECONDS": []}
        result = crawl(spider, settings=settings, sites=site.url())
    ((_, line),) = warnings_in(result)
    assert "robots.txt is unreachable. For example: " in line


@pytest.mark.every_loop
@pytest.mark.parametrize("loop", LOOPS)
def test_all_loggers_are_ours(loop: Loop) -> None:
    """Each record of a crawl that our code writes has a logger below `scrapy_rep`."""
    with Site({"/robots.txt": Answer(status=503)}) as site:
        settings = {
            **ADDON,
            "EXTENSIONS": {f"{_HERE}.SeesRecords": 0},
            "DOWNLOADER_MIDDLEWARES": {f"{_HERE}.BreaksFiles": 800},
        }
        urls = [site.url("/a"), _CLOSED]
        result = crawl(URLS_SPIDER, loop=loop, settings=settings, urls=urls)
    assert result.stats["test/records"] > 2
    assert result.stats.get("test/foreign", "") == ""

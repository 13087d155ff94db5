"""Pages of HTML that come with a 2xx where a robots.txt is wanted: the event `html`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from scrapy_rep.cache.entry import Entry
from scrapy_rep.cache.sqlite import SqliteStore
from scrapy_rep.protocol.access.knowledge import Knowledge
from scrapy_rep.protocol.access.origin import Origin
from tests.cache.samples import usual_key
from tests.crawling import crawl
from tests.crawls.settings import ADDON, URLS_SPIDER, WITH_SCRAPYS_QUEUE
from tests.extras import needs
from tests.servers.handle import Answer, Site, redirect

_WALL = Answer(body="<!DOCTYPE html>\n<title>Are you a robot?</title>\n")
_TEXT = Answer(body="Not found", headers=[("Content-Type", "text/html; charset=utf-8")])
_CHALLENGE = Answer(status=202, body=_WALL.body)
_WITH_RULES = Answer(body="<html>\nUser-agent: *\nDisallow: /a\n")
PAGES = ["/a", "/b"]

DISALLOW: dict[str, Any] = {"REP_POLICY_OVERRIDES": {"html": "disallow"}}
STATUS: dict[str, Any] = {"REP_POLICY_OVERRIDES": {"200": "disallow"}}
STRICT: dict[str, Any] = {"REP_POLICY": "strict"}


@pytest.mark.parametrize(
    ("answer", "settings", "fetched"),
    [
        (_WITH_RULES, STRICT, []),
        (_TEXT, DISALLOW, []),
        (_WALL, {"REP_POLICY_OVERRIDES": {"2xx": "disallow"}}, []),
        (_WALL, {**STRICT, "REP_POLICY_OVERRIDES": {"html": "rules"}}, PAGES),
        (_CHALLENGE, {"REP_POLICY_OVERRIDES": {"202": "disallow"}}, []),
        (_WALL, {"REP_POLICY_OVERRIDES": {"202": "disallow"}}, PAGES),
    ],
)
def test_html_page_has_its_meaning(
    answer: Answer, settings: dict[str, Any], fetched: list[str]
) -> None:
    with Site({"/robots.txt": answer}) as site:
        urls = [site.url(path) for path in PAGES]
        result = crawl(URLS_SPIDER, settings={**ADDON, **settings}, urls=urls)
        assert site.paths() == ["/robots.txt", *fetched], result.log
    assert result.stats["rep/event/html"] == 1
    assert result.stats["rep/access/successful"] == 1
    if not fetched:
        verdicts = [item["verdict"]["reason"] for item in result.items if "error" in item]
        assert verdicts == ["HTML"] * 2
        assert {item["error"] for item in result.items} == {"RobotsTxtDisallowed"}


def aged(entry: Entry) -> Entry:
    """An entry that came more than a day earlier."""
    copy = entry.known.copy
    assert copy is not None
    times = {name: getattr(copy, name) - 90_000 for name in ("fetched_at", "confirmed_at")}
    copy = replace(copy, **times, fresh_until=copy.fresh_until - 90_000)
    return Entry(entry.origin, Knowledge(copy))


@pytest.mark.parametrize("settings", [STRICT, STATUS])
def test_store_keeps_that_the_file_was_html(settings: dict[str, Any], tmp_path: Path) -> None:
    """And after a confirmation, which comes without the body."""
    path = tmp_path / "store.sqlite"
    given = {**ADDON, **settings, "REP_STORE": "sqlite", "REP_STORE_PATH": str(path)}
    with Site({"/robots.txt": Answer(body=_WALL.body, etag='"1"')}) as site:
        key = usual_key(Origin.of(site.url()))
        for count in (1, 1, 2):
            if count == 2:
                store = SqliteStore(path, 1 << 30)
                entry = store.peek(key)
                assert entry is not None
                store.commit(aged(entry), None).result()
                store.close()
            result = crawl(URLS_SPIDER, settings=given, urls=[site.url("/a")])
            assert result.items[0]["verdict"]["reason"] == "HTML", result.log
            assert site.paths() == ["/robots.txt"] * count
        assert site.requests()[-1].headers["if-none-match"] == '"1"'


def test_target_of_a_redirect_gets_the_html_page_too() -> None:
    with Site({"/robots.txt": _WALL}) as target:
        with Site({"/robots.txt": redirect(target.url("/robots.txt"))}) as site:
            settings = {**WITH_SCRAPYS_QUEUE, **STRICT, "CONCURRENT_REQUESTS": 1}
            urls = [site.url("/a"), target.url("/a")]
            result = crawl(URLS_SPIDER, settings=settings, urls=urls)
            assert site.paths() == ["/robots.txt"], result.log
        assert target.paths() == ["/robots.txt"]


@needs("webmaster")
def test_log_says_that_the_file_is_html(tmp_path: Path) -> None:
    spider = "tests.crawls.policy_spider:PolicySpider"
    with Site({"/robots.txt": _WALL}) as site:
        settings = {**ADDON, "REP_AUDIT_DIR": str(tmp_path)}
        result = crawl(spider, settings=settings, urls=[site.url("/a")])
    (told,) = (text for text in result.items[0]["findings"] if "HTML page" in text)
    assert told.startswith("the answer is an HTML page")
    from scrapy_rep.extras.evidence.trail_reading import run_at
    from tests.extras.evidence.audit.crawled import of_kind

    (run,) = (run_at(path) for path in tmp_path.iterdir() if not path.is_symlink())
    (policy,) = of_kind(run, "policy")
    assert (policy["event"], policy["access_result"]) == ("html", "successful")
    assert policy["hops"][0]["status"] == 200

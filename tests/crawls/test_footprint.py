"""What lies in the objects of a crawl is what the page about the footprint lists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from scrapy_rep.stats import MEANINGS
from tests.crawling import LOOPS, REPOSITORY, Loop, crawl
from tests.crawls.settings import URLS_SPIDER
from tests.extras import needs
from tests.servers.handle import Answer, Site

_PAGE = (REPOSITORY / "docs" / "footprint.md").read_text(encoding="utf-8")
_RULES = Answer(body="User-agent: *\nDisallow: /private\n")

_NO_META = {
    *("rep_crawl", "rep_connection"),  # attributes
    *("rep_work", "rep_outcome"),  # of a command
    *("rep_queue", "rep_coverage"),  # a key that is only read, and one of the spider's state
}


def listed(heading: str) -> set[str]:
    """The code in the first column of the table under a heading."""
    section = _PAGE.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    cells = [line.split("|")[1] for line in section.splitlines() if line.startswith("| `")]
    return {name for cell in cells for name in re.findall(r"`([^`]+)`", cell)}


def test_every_meta_key_is_listed() -> None:
    files = (REPOSITORY / "scrapy_rep").rglob("*.py")
    written = {
        name
        for file in files
        for name in re.findall(r'"(rep_[a-z_]+)"', file.read_text(encoding="utf-8"))
    }
    assert listed("Meta keys") == written - _NO_META


@pytest.mark.parametrize("loop", LOOPS)
def test_crawl_has_nothing_that_is_not_listed(loop: Loop, tmp_path: Path) -> None:
    with Site({"/robots.txt": _RULES}) as site:
        settings = {
            "ADDONS": {"scrapy_rep.Addon": 500},
            "ROBOTSTXT_OBEY": True,
            "REP_STORE_PATH": str(tmp_path / "robots.sqlite"),
        }
        spider = "tests.crawls.footprint_spider:FootprintSpider"
        with_us = crawl(spider, loop=loop, settings=settings, urls=[site.url("/a"), site.url("/b")])
        without = crawl(spider, loop=loop, urls=[site.url("/a")])
        seen = site.requests()
    assert with_us.items, with_us.error
    found = with_us.items[-1]
    assert {*found["attributes"]} <= listed("Attributes of others")
    assert len(found["attributes"]) >= 7, "the spider finds them"
    assert {*found["signals"]} <= listed("Signals")
    assert found["meta"] == ["rep_verdict"]
    assert without.items[-1] == {"attributes": [], "signals": [], "meta": []}
    (robots_txt,) = [one for one in seen if one.path == "/robots.txt"]
    first, *_, last = [one for one in seen if one.path != "/robots.txt"]
    assert {*first.headers} == {*last.headers}, "as without us"
    more = {*robots_txt.headers} - {*first.headers}
    assert more <= {name.lower() for name in listed("Headers")}
    ours = {name for name in with_us.stats if name.startswith(("rep/", "robotstxt/"))}
    patterns = [re.escape(name).replace(r"\{\}", ".+") for name in MEANINGS]
    assert {one for one in ours if not any(re.fullmatch(p, one) for p in patterns)} == set()
    assert {path.name for path in tmp_path.iterdir()} == {"robots.sqlite", "robots.sqlite.lock"}


@needs("pages")
def test_callbacks_see_no_marks_without_the_page_middleware() -> None:
    with Site({}) as site:
        rules = Answer(body=f"Sitemap: {site.url('/list.txt')}\n")
        site.change({"/robots.txt": rules, "/list.txt": Answer(body=site.url("/a"))})
        settings = {
            "ADDONS": {"scrapy_rep.Addon": 500},
            "ROBOTSTXT_OBEY": True,
            "REP_STORE": "memory",
            "SPIDER_MIDDLEWARES": {"scrapy_rep.RepPageMiddleware": None},
        }
        spider = "tests.crawls.sitemap_spider:MarksSpider"
        found = crawl(spider, settings=settings, sites=[site.url("/")])
    assert [item["marks"] for item in found.items] == [["rep_sitemap", "rep_verdict"]], found.log


def test_middlewares_of_the_project_see_the_mark() -> None:
    with Site({"/robots.txt": _RULES}) as site:
        settings = {
            "ADDONS": {"scrapy_rep.Addon": 500},
            "ROBOTSTXT_OBEY": True,
            "REP_STORE": "memory",
            "DOWNLOADER_MIDDLEWARES": {"tests.crawls.guests.Guarded": 543},
        }
        crawl(URLS_SPIDER, settings=settings, urls=[site.url("/a")])
        assert site.paths() == ["/robots.txt", "/a?guarded"]

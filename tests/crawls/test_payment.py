"""Pages that answer 402 (Payment Required) are told with their terms, and not sent again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.commands.calling import rep
from tests.crawling import crawl
from tests.crawls.settings import ADDON
from tests.extras import needs
from tests.servers.handle import Answer, Site

SPIDER = "tests.crawls.payment_spider:PaymentSpider"
ROBOTS = Answer(body="User-agent: *\nDisallow: /private\n")
LINKS = '</a>; rel="next", </rsl.xml?q=1>; rel="license"; type="application/rsl+xml"'
PRICED = Answer(status=402, headers=[("crawler-price", "USD 0.01"), ("Link", LINKS)])
SETTINGS: dict[str, Any] = {"RETRY_HTTP_CODES": [402, 500], "HTTPERROR_ALLOWED_CODES": [402]}


def test_terms_of_priced_pages_are_told_and_recorded(tmp_path: Path) -> None:
    pytest.importorskip("scrapy_rep.extras.evidence")
    from tests.extras.evidence.audit.crawled import audited, of_kind

    pages = {"/robots.txt": ROBOTS, "/a?q=1": PRICED, "/b": Answer(status=402), "/*": Answer()}
    with Site(pages) as site:
        urls = [site.url(path) for path in ("/a?q=1", "/b", "/c")]
        settings = {**SETTINGS, "REP_AUDIT_QUERY": "drop"}
        result, run = audited(urls, tmp_path, spider=SPIDER, settings=settings)
        assert sorted(site.paths()) == ["/a?q=1", "/b", "/c", "/robots.txt"]
        licence, home = site.url("/rsl.xml?q=1"), site.url("")
    terms = {item["url"]: item["terms"] for item in result.items}
    assert terms == dict(zip(urls, ([["USD 0.01", licence]], [[""]], []), strict=True))
    assert result.stats["rep/payment_required"] == 2
    written = {one["url"]: one for one in of_kind(run, "payment")}
    assert {*written} == {f"{home}/a?", f"{home}/b"}
    first, second = written[f"{home}/a?"], written[f"{home}/b"]
    assert (first["price"], first["licence"]) == ("USD 0.01", f"{home}/rsl.xml?")
    assert {*second} == {"t", "at", "url"}
    assert rep("audit", "verify", run.path).status == 0


def test_a_file_that_requires_a_payment() -> None:
    """It is unavailable, as with other 4xx, so the page is fetched."""
    with Site({"/robots.txt": PRICED, "/*": Answer()}) as site:
        result = crawl(SPIDER, settings={**ADDON, **SETTINGS}, urls=[site.url("/a")])
        assert site.paths() == ["/robots.txt", "/a"]
    assert [item["status"] for item in result.items] == [200]
    assert result.stats["rep/event/402"] == 1
    assert "rep/payment_required" not in result.stats


@needs("pages")
def test_answers_of_a_cache(tmp_path: Path) -> None:
    """The site requested a payment once."""
    settings = {**ADDON, **SETTINGS, "HTTPCACHE_ENABLED": True, "HTTPCACHE_DIR": str(tmp_path)}
    with Site({"/robots.txt": ROBOTS, "/*": PRICED}) as site:
        found = [crawl(SPIDER, settings=settings, urls=[site.url("/a")]).stats for _ in range(2)]
        assert site.paths().count("/a") == 1
    assert [one.get("rep/payment_required") for one in found] == [1, None]

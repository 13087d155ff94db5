"""Services that fetch pages: docs/others.md says which rules apply, and how to set a pace."""

from __future__ import annotations

from typing import Any

import pytest

from tests.crawling import Crawl, crawl
from tests.crawls.settings import ADDON, URLS_SPIDER, WITH_SCRAPYS_QUEUE
from tests.servers.handle import Answer, Site

FILE = "User-agent: *\nDisallow: /private\n"
HOST = "127.0.3.1"
QUEUES = {"ours": ADDON, "scrapy's": WITH_SCRAPYS_QUEUE}


def run(service: Site, site: Site, queue: str, **more: Any) -> Crawl:
    settings = {
        **QUEUES[queue],
        "DOWNLOADER_MIDDLEWARES": {"tests.crawls.services.Service": 800},
        "SERVICE_URL": service.url("/api/", host=HOST),
        "REP_OVERRIDES": {HOST: "ignore"},
        **more,
    }
    urls = [site.url(path) for path in ("/1", "/2", "/3", "/private")]
    result = crawl(URLS_SPIDER, settings=settings, urls=urls)
    assert result.exit_code == 0, result.error
    return result


@pytest.mark.parametrize("queue", QUEUES)
@pytest.mark.parametrize("has_body", [False, True])
def test_the_rules_of_the_site(has_body: bool, queue: str) -> None:
    """The robots.txt of the service is down, and plays no part; a retry passes as well."""
    routes: dict[str, Any] = {"/robots.txt": Answer(status=503)}
    routes["/api/*"] = [Answer(status=502), Answer()]
    with (
        Site({"/robots.txt": Answer(body=FILE)}) as site,
        Site(routes, address="0.0.0.0") as service,
    ):
        result = run(service, site, queue, SERVICE_BODY=has_body)
        assert site.paths() == ["/robots.txt"]
        paths = [path.partition("?")[0] for path in service.paths()]
    assert paths == ["/api/"] * 4, result.log
    assert result.stats["robotstxt/forbidden"] == 1
    assert len([item for item in result.items if item.get("status") == 200]) == 3


@pytest.mark.parametrize("queue", QUEUES)
def test_the_service_rests(queue: str) -> None:
    """A 429 of the service is about the service, and all pages come afterwards."""
    busy = Answer(status=429, headers=[("Retry-After", "2")], lasts_seconds=1.0)
    routes = {"/api/*": [busy, Answer()]}
    with (
        Site({"/robots.txt": Answer(body=FILE)}) as site,
        Site(routes, address="0.0.0.0") as service,
    ):
        result = run(service, site, queue)
        first, *others = service.requests()
    assert len([item for item in result.items if item.get("status") == 200]) == 3, result.log
    assert others[-3].at - first.at >= 2
    assert result.stats["rep/backoff/put_back"] < 10


def test_without_an_override_the_rules_of_the_service_decide() -> None:
    down = {"/robots.txt": Answer(body="User-agent: *\nDisallow: /\n")}
    with (
        Site({"/robots.txt": Answer(body=FILE)}) as site,
        Site(down, address="0.0.0.0") as service,
    ):
        result = run(service, site, "ours", REP_OVERRIDES={})
        assert service.paths() == ["/robots.txt"]
    assert result.stats["robotstxt/forbidden"] == 4

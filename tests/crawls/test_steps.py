"""The facts of each step to a robots.txt, compared with what the servers saw."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from tests.crawling import crawl
from tests.crawls.settings import WITH_SCRAPYS_QUEUE
from tests.servers.handle import Answer, Site, redirect

SPIDER = "tests.crawls.policy_spider:PolicySpider"
FILE = "User-agent: *\nDisallow: /a\n"
OTHER_PATH = {"/robots.txt": redirect("/moved.txt"), "/moved.txt": Answer(body=FILE)}
ONE_BY_ONE = {**WITH_SCRAPYS_QUEUE, "CONCURRENT_REQUESTS": 1}


def fetched(item: dict[str, Any]) -> list[str]:
    """The paths of the steps for which a request was sent."""
    steps = [step for step in item["steps"] if not step["is_copied"]]
    assert all(step["sent_at"] for step in steps)
    return ["/" + step["uri"].split("/", 3)[3] for step in steps]


def robots_txts(site: Site) -> list[str]:
    return [path for path in site.paths() if path != "/"]


def test_each_hop_has_its_facts() -> None:
    with Site(OTHER_PATH) as site:
        result = crawl(SPIDER, settings=ONE_BY_ONE, urls=[site.url()])
        assert result.exit_code == 0, result.error
        (item,) = result.items
        first, last = item["steps"]
        assert fetched(item) == robots_txts(site) == ["/robots.txt", "/moved.txt"]
        assert (first["event"], first["location"], last["event"]) == (301, "/moved.txt", 200)
        assert last["octets"] == len(FILE)
        assert {first["address"], last["address"]} <= {"127.0.0.1", ""}
        assert last["address"] == "127.0.0.1"
        assert first["sent_at"] <= last["sent_at"]
        assert 0 <= last["seconds"] < 60
        assert (item["source"], item["sha256"]) == (
            "network",
            hashlib.sha256(FILE.encode()).hexdigest(),
        )


def test_copy_of_another_origin_is_not_reported_as_fetched() -> None:
    with Site(OTHER_PATH) as target, Site() as site:
        site.change({"/robots.txt": redirect(target.url("/robots.txt"))})
        urls = [target.url(), site.url()]
        result = crawl(SPIDER, settings=ONE_BY_ONE, urls=urls)
        assert result.exit_code == 0, result.error
        theirs, ours = result.items
        assert ours["hops"] == [
            site.url("/robots.txt"),
            target.url("/robots.txt"),
            target.url("/moved.txt"),
        ]
        assert [step["is_copied"] for step in ours["steps"]] == [False, True, True]
        assert ours["steps"][1:] == [{**step, "is_copied": True} for step in theirs["steps"]]
        assert fetched(ours) == robots_txts(site) == ["/robots.txt"]
        assert fetched(theirs) == robots_txts(target) == ["/robots.txt", "/moved.txt"]


def test_failed_attempts_count_as_steps() -> None:
    # Not a reset before the answer: over a kept connection, Twisted sends that request once more.
    part = Answer(body=FILE * 9, fault="truncated_length")
    routes: dict[str, Any] = {"/robots.txt": [Answer(status=503), part, Answer(body=FILE)]}
    settings = {**ONE_BY_ONE, "REP_QUICK_RETRY_SECONDS": [0.01, 0.01]}
    with Site(routes) as site:
        result = crawl(SPIDER, settings=settings, urls=[site.url()])
        assert result.exit_code == 0, result.error
        (item,) = result.items
        assert fetched(item) == robots_txts(site) == ["/robots.txt"] * 3
        events = [str(step["event"]) for step in item["steps"]]
        assert events[::2] == ["503", "200"]
        assert "TRUNCATED" in events[1]


def test_later_crawl_gets_the_same_steps_from_the_store(tmp_path: Path) -> None:
    store = {"REP_STORE": "sqlite", "REP_STORE_PATH": str(tmp_path / "robots.sqlite")}
    with Site(OTHER_PATH) as site:
        first, second = (
            crawl(SPIDER, settings={**ONE_BY_ONE, **store}, urls=[site.url()]).items[0]
            for _ in range(2)
        )
        assert robots_txts(site) == ["/robots.txt", "/moved.txt"]
    assert second["steps"] == first["steps"]
    assert (first["source"], second["source"]) == ("network", "store")
    assert second["sha256"] == first["sha256"]

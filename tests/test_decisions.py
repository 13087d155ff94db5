"""What a crawl says of its policies, and how often."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from scrapy.statscollectors import MemoryStatsCollector
from scrapy.utils.test import get_crawler

from scrapy_rep.decisions import Decisions
from scrapy_rep.fetch.reading import Reading
from scrapy_rep.policy import Policy
from scrapy_rep.protocol.access.events import Meaning
from scrapy_rep.protocol.access.origin import Origin
from scrapy_rep.protocol.document import parse

ORIGIN = Origin("http", "a.example", 80)


def policy_of(*sitemaps: str) -> Policy:
    body = "".join(f"Sitemap: {sitemap}\n" for sitemap in sitemaps)
    robots_txt = parse(body.encode(), ORIGIN.robots_txt_uri)
    return Policy(ORIGIN, 200, Meaning.RULES, Reading(robots_txt, robots_txt), ("*",))


def test_sitemaps_are_announced_when_they_have_changed() -> None:
    crawler = get_crawler()
    crawler.stats = MemoryStatsCollector(crawler)
    told: list[tuple[str, ...]] = []

    def send(signal: object, *, sitemaps: tuple[str, ...], **_: object) -> None:
        told.append(sitemaps)

    notices: Any = SimpleNamespace(has_listeners=lambda _: True, send=send)
    decisions = Decisions(crawler)
    decisions.notices = notices
    for sitemaps in ((), ("/a",), ("/a",), ("/a", "/b"), ("/a", "/b"), (), ("/a",)):
        decisions.discovered(policy_of(*sitemaps))
    first, second = f"{ORIGIN}/a", f"{ORIGIN}/b"
    assert told == [(first,), (first, second), (first,)]

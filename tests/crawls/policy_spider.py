"""A spider that gets policies, and the simplest parser that Scrapy's interface permits."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import asdict
from importlib.util import find_spec
from typing import Any

from scrapy import Request, Spider, signals
from scrapy.crawler import Crawler
from scrapy.http import Response
from typing_extensions import Self

import scrapy_rep

_FINDS = find_spec("scrapy_rep.extras.webmaster") is not None


class MinimalParser:
    """Forbids what the file mentions, and knows no delays."""

    def __init__(self, body: bytes) -> None:
        self.body = body

    @classmethod
    def from_crawler(cls, crawler: Crawler, robotstxt_body: bytes) -> Self:
        return cls(robotstxt_body)

    def allowed(self, url: str, user_agent: str) -> bool:
        return not any(url.encode().endswith(word) for word in self.body.split())


class PolicySpider(Spider):
    """Yields what the policy of each page's origin says."""

    name = "policies"

    def __init__(self, urls: list[str]) -> None:
        super().__init__()
        self.urls = urls

    @classmethod
    def from_crawler(cls, crawler: Crawler, *args: Any, **kwargs: Any) -> Self:
        spider = super().from_crawler(crawler, *args, **kwargs)
        robots_parsed = getattr(signals, "robots_parsed", None)  # a name of Scrapy 2.18
        if robots_parsed is not None:
            crawler.signals.connect(spider.robots_parsed, signal=robots_parsed)
        return spider

    def robots_parsed(self, robotparser: Any, request: Request) -> None:
        self.crawler.stats.inc_value(f"test/robots_parsed/{type(robotparser).__name__}")

    async def start(self) -> AsyncIterator[Request]:
        for url in self.urls:
            yield Request(url)

    async def parse(self, response: Response) -> dict[str, Any]:
        policy = await scrapy_rep.policy_for(self.crawler, response.url)
        return {
            "sitemaps": list(policy.sitemaps),
            "crawl_delay": policy.crawl_delay,
            "disallows_a": not policy.verdict(response.urljoin("/a")).allowed,
            "status": policy.status,
            "findings": [str(finding) for finding in policy.findings] if _FINDS else [],
            "final_url": policy.final_url,
            "hops": list(policy.hops),
            "steps": [asdict(step) for step in policy.steps],
            "source": policy.source,
            "sha256": policy.sha256,
            "verdict": str(scrapy_rep.verdict_of(response)),
        }

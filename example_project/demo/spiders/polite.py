"""A spider that follows every link, and counts what robots.txt allowed."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import cast
from urllib.parse import urlsplit

from scrapy import Request, Spider
from scrapy.http import Response
from twisted.python.failure import Failure

from demo.summary import Account, Drop, summary
from demo.web import DemoWeb
from scrapy_rep import RobotsTxtDisallowed, policy_for


class PoliteSpider(Spider):
    """Visits the demo web. The middleware checks robots.txt, not this spider."""

    name = "polite"
    web: DemoWeb

    async def start(self) -> AsyncIterator[Request]:
        """Request the home page of every site."""
        self.web = cast("DemoWeb", self.crawler.get_extension(DemoWeb))
        self.accounts: dict[str, Account] = {}
        for url in self.web.urls.values():
            yield Request(f"{url}/", errback=self.dropped)

    async def parse(self, response: Response) -> AsyncIterator[Request]:
        """Count a page, and follow its links."""
        account = await self.account(response.url)
        account.allowed.append(_path(response.url))
        for href in response.css("a::attr(href)").getall():
            yield response.follow(href, errback=self.dropped)

    async def dropped(self, failure: Failure) -> None:
        """Count a disallowed page. The exception has the verdict, with the line that decided."""
        if not isinstance(failure.value, RobotsTxtDisallowed):
            failure.raiseException()
        url: str = failure.request.url  # type: ignore[attr-defined]
        verdict = failure.value.verdict
        account = await self.account(url)
        why = str(verdict.rule) if verdict.rule else verdict.reason.value
        account.dropped.append(Drop(_path(url), verdict.line, why))

    async def account(self, url: str) -> Account:
        """The account of the URL's origin, created from its policy."""
        policy = await policy_for(self.crawler, url)
        origin = str(policy.origin)
        if origin not in self.accounts:
            self.accounts[origin] = Account(
                name=next(name for name, url in self.web.urls.items() if url == origin),
                origin=origin,
                access=policy.access_result.name if policy.access_result else "OVERRIDDEN",
                event=policy.event,
                redirected_to=policy.final_url if len(policy.hops) > 1 else "",
                sitemaps=policy.sitemaps,
            )
        return self.accounts[origin]

    def closed(self, reason: str) -> None:  # noqa: ARG002
        """Print the summary when all is done."""
        order = list(self.web.urls.values())
        print(
            summary(
                sorted(self.accounts.values(), key=lambda account: order.index(account.origin)),
                served=len(self.web.pages_served),
                trespasses=len(self.web.trespasses),
            ),
            flush=True,
        )


def _path(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.path}?{parts.query}" if parts.query else parts.path

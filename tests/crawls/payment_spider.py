"""A spider that keeps the terms of pages that require a payment."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from scrapy.http import Response

from scrapy_rep import signals
from tests.spiders import UrlsSpider


class PaymentSpider(UrlsSpider):
    """Its items have the terms that the signal gave for their URLs."""

    async def start(self) -> AsyncIterator[Any]:
        """All requests."""
        self.terms: dict[str, list[Any]] = {}
        self.crawler.signals.connect(self.priced, signals.payment_required)
        async for request in super().start():
            yield request

    def priced(self, response: Response, terms: Any) -> None:
        """Keep the terms."""
        self.terms.setdefault(response.url, []).append(terms)

    def parse(self, response: Response, asked: str) -> dict[str, Any]:
        """The answers, with their terms."""
        found = self.terms.get(response.url, [])
        terms = [[one.price, *(licence.uri for licence in one.licences)] for one in found]
        return {**super().parse(response, asked), "terms": terms}

"""A spider that sends its requests by different proxies."""

from __future__ import annotations

from collections.abc import Sequence

from scrapy import Request

from tests.spiders import UrlsSpider


class ProxiesSpider(UrlsSpider):
    """Gives each of its URLs the proxy in the same place of a list."""

    def __init__(self, urls: Sequence[str], proxies: Sequence[str]) -> None:
        super().__init__(urls)
        self.proxies = dict(zip(urls, proxies, strict=True))

    def _request(self, url: str) -> Request:
        request = super()._request(url)
        request.meta["proxy"] = self.proxies[url]
        return request

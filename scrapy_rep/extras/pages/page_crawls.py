"""The crawl of a response, and the names by which pages can address that crawl."""

from __future__ import annotations

from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary, WeakSet

from scrapy.http import Response

from scrapy_rep.decisions.request_records import RequestRecords
from scrapy_rep.identity import Identity
from scrapy_rep.policies import Policies

if TYPE_CHECKING:
    from scrapy import Request

    from scrapy_rep.crawl import Crawl
    from scrapy_rep.policy import Policy


class PageCrawl:
    """A crawl, with the data needed to read pages.

    Attributes:
        crawler: its crawler.
        settings: this package's settings about pages, checked.
    """

    def __init__(self, crawl: Crawl) -> None:
        self._crawl = crawl
        self.crawler = crawl.crawler
        self.settings = crawl.settings
        self._records = crawl.part(RequestRecords)
        self._identity = crawl.part(Identity)

    def open(self) -> None:
        """Start, once the spider exists."""
        self._identity.settle()
        _running.add(self)
        _crawls.add(self)

    def close(self) -> None:
        """Stop."""
        _running.discard(self)

    @property
    def obeys_robots_txt(self) -> bool:
        """Whether `RepMiddleware` is at work."""
        return self._crawl.find(Policies) is not None

    def policy_then(self, request: Request) -> Policy | None:
        """The policy by which a request was judged; None if it was not judged."""
        record = self._records.find(request)
        return None if record is None else record.policy

    def has_decided_on(self, response: Response) -> bool:
        """Whether the request of a response belongs to this crawl."""
        return response.request is not None and self._records.find(response.request) is not None

    def adopt(self, response: Response) -> None:
        """Remember that a response belongs to this crawl."""
        _of_responses[response] = self

    def tokens_for(self, response: Response) -> tuple[str, ...]:
        """All names by which a page can address this crawl."""
        request = response.request
        return self._identity.tokens if request is None else self._identity.tokens_for(request)


_running: set[PageCrawl] = set()
_crawls: WeakSet[PageCrawl] = WeakSet()  # including crawls that have ended
_of_responses: WeakKeyDictionary[Response, PageCrawl] = WeakKeyDictionary()


def crawls_of(response: Response) -> tuple[PageCrawl, ...]:
    """The crawl of a response; all running crawls, if the response passed no spider.

    Responses of media pipelines pass no spider. Usually, one crawl runs in a process.
    """
    crawl = _of_responses.get(response)
    if crawl is None and response.request is not None:
        crawl = next((one for one in _crawls if one.has_decided_on(response)), None)
    return (crawl,) if crawl is not None else tuple(_running)


def tokens_of(response: Response) -> tuple[str, ...]:
    """The names of the crawl of a response; if it may belong to several crawls, all their names."""
    tokens = (token for crawl in crawls_of(response) for token in crawl.tokens_for(response))
    return tuple(dict.fromkeys(tokens))

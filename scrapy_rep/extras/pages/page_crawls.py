"""The crawl of a response, and the names by which pages can address that crawl."""

from __future__ import annotations

from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary, WeakSet

from scrapy.http import Response

from scrapy_rep.decisions.request_records import RequestRecords
from scrapy_rep.identity import Identity

if TYPE_CHECKING:
    from scrapy_rep.crawl import Crawl

_running: set[Crawl] = set()
_crawls: WeakSet[Crawl] = WeakSet()  # including crawls that have ended
_of_responses: WeakKeyDictionary[Response, Crawl] = WeakKeyDictionary()


def open_pages(crawl: Crawl) -> None:
    """Read responses for a crawl from now on, because its spider exists."""
    crawl.part(Identity).settle()
    _running.add(crawl)
    _crawls.add(crawl)


def close_pages(crawl: Crawl) -> None:
    """Note the end of a crawl."""
    _running.discard(crawl)


def adopt(response: Response, crawl: Crawl) -> None:
    """Remember that a response belongs to a crawl."""
    _of_responses[response] = crawl


def crawls_of(response: Response) -> tuple[Crawl, ...]:
    """The crawl of a response; all running crawls, if the response passed no spider.

    Responses of media pipelines pass no spider. Usually, one crawl runs in a process.
    """
    crawl, request = _of_responses.get(response), response.request
    if crawl is None and request is not None:
        crawl = next((one for one in _crawls if one.part(RequestRecords).find(request)), None)
    return (crawl,) if crawl is not None else tuple(_running)


def tokens_of(response: Response) -> tuple[str, ...]:
    """The names of the crawl of a response; if it may belong to several crawls, all their names."""
    tokens: dict[str, None] = {}
    for crawl in crawls_of(response):
        identity, request = crawl.part(Identity), response.request
        tokens |= dict.fromkeys(
            identity.tokens if request is None else identity.tokens_for(request)
        )
    return tuple(tokens)

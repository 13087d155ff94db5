"""The size limit of the records of a crawl."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy_rep.engine.loops import from_threads
from scrapy_rep.engine.state import stop

from .spool import NO_LIMIT, OctetLimit

if TYPE_CHECKING:
    from scrapy_rep.crawl import Crawl


def limit_of(crawl: Crawl, reason: str) -> OctetLimit:
    """The size limit of a folder of records, at which the crawl may end with this reason."""
    settings = crawl.settings
    if not settings.audit_max_octets:
        return NO_LIMIT
    if settings.audit_full == "continue":
        return OctetLimit(settings.audit_max_octets)
    end = from_threads(stop)
    return OctetLimit(settings.audit_max_octets, lambda: end(crawl.crawler, reason))

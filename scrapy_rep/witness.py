"""Whom the decisions of a crawl are told: its audit trail, if a setting asks for one."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

    from scrapy_rep.proof.trail import Trail
    from scrapy_rep.settings import RepSettings


def witness_of(crawler: Crawler, settings: RepSettings) -> Callable[[], Trail] | None:
    """What makes the witness of a crawl; None for none."""
    if not settings.audit_dir:
        return None
    from scrapy_rep.proof.trail import Trail  # most crawls keep none, and need not load it

    return lambda: Trail(crawler, settings)

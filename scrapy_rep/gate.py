"""Whether a crawl shares its pace with others, and by what: the gate that its requests pass."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.utils.misc import load_object

from scrapy_rep.fetching.chosen_store import link_of

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

    from scrapy_rep.engine.slots import Slots
    from scrapy_rep.redis_gate import RedisGate
    from scrapy_rep.settings import RepSettings


def gate_of(crawler: Crawler, settings: RepSettings, slots: Slots) -> RedisGate | None:
    """The gate of a crawl; None if it shares no pace, or its scheduler keeps it."""
    scheduler = load_object(crawler.settings["SCHEDULER"])
    is_kept = getattr(scheduler, "keeps_pace_over_fleet", False)
    if not settings.redis_url or settings.pace_scope != "fleet" or is_kept:
        return None
    from scrapy_rep.redis_gate import RedisGate  # few crawls share one, and load what does it

    return RedisGate(crawler, link_of(crawler, settings.redis_url), slots)

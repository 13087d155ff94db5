"""The stats of rules and preferences of pages."""

from __future__ import annotations

from scrapy_rep.stats import (
    ACCESS,
    EVENT,
    EXCEPTIONS,
    MEANINGS,
    REQUESTS,
    RESPONSE_STATUS,
    RESPONSES,
    STORE_HIT,
    stat,
)

PAGE_READ = stat("rep/page/read", "responses whose page rules were read")
PAGE_REMARKS = stat("rep/page/finding", "unusual things found in page rules")
PAGE_RULE = stat("rep/page/rule/{}", "responses by rule: noindex, nofollow, max-snippet, ...")
PAGE_REQUESTS = stat("rep/page/dropped_requests", "requests that REP_PAGE_OBEY dropped")
PAGE_ITEMS = stat("rep/page/dropped_items", "items that REP_PAGE_OBEY dropped")
USAGE = stat("rep/usage/{}/{}", "responses by category and preference: y, n, unknown")
USAGE_ITEMS = stat("rep/usage/dropped_items", "items that REP_USES or REP_USE_LEVEL dropped")
UNANNOTATED = stat("rep/page/unannotated_items", "items without the field REP_ITEM_FIELD")
TDMREP_DISALLOWED = stat("rep/tdmrep/disallowed", "tdmrep.json files that a robots.txt disallows")
TDMREP_FAILED = stat("rep/tdmrep/failed", "times that a tdmrep.json could not be read")


def of_tdmrep(name: str) -> str:
    """The stat of tdmrep.json that is counted like one of robots.txt."""
    return f"rep/tdmrep/{name.partition('/')[2]}"


for _name in (REQUESTS, RESPONSES, RESPONSE_STATUS, EXCEPTIONS, ACCESS, EVENT, STORE_HIT):
    stat(of_tdmrep(_name), MEANINGS[_name].replace("robots.txt", "tdmrep.json"))

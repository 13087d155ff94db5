"""Our keys in the meta of requests, and Scrapy's key that exempts a request."""

from __future__ import annotations

from scrapy import Request

VERDICT = "rep_verdict"
"""Written: the `Verdict` that let the request through."""

QUEUE = "rep_queue"
"""Read: `REP_FILTER_LINKS` leaves this request alone, so that its errback gets the verdict."""


PAGE = "rep_page"
"""Written: the `PageRules` of the response, if `REP_PAGE_OBEY` or `REP_ITEM_FIELD` needs them."""

USAGE = "rep_usage"
"""Written: its `UsagePreferences`, if `REP_USES` or `REP_ITEM_FIELD` needs them."""

PUT_BACK = "rep_put_back"
"""Written: the `dont_filter` of a request that was put back into the `JOBDIR`."""

STARTED = "rep_started"
"""Written: a fleet's queue has handed out this start request; what is made of it is none."""

DONT_OBEY_PAGE_RULES = "dont_obey_page_rules"
"""Read: a request that carries it is not dropped because of the page that links to it."""


EXEMPT = "dont_obey_robotstxt"
"""Read: Scrapy's key that exempts a request."""


def is_exempt(request: Request) -> bool:
    """Whether a request carries `dont_obey_robotstxt` of its own.

    Scrapy copies meta to the request for the target of a redirect. That target may be any page of
    any host, and the user exempted only the page that redirects.
    """
    meta = request.meta
    return bool(meta.get(EXEMPT)) and not meta.get("redirect_urls")

"""The signals, exceptions and request meta keys for spiders.

Connect to the signals as to Scrapy's own. Handlers may be coroutines. Verdicts do not wait for
handlers; only the end of the crawl does.
"""

from __future__ import annotations

from typing import Any

from scrapy import Request
from scrapy.exceptions import IgnoreRequest

from scrapy_rep.protocol.access.origin import Origin
from scrapy_rep.protocol.verdict import Verdict

sitemaps_discovered = object()
"""`sitemaps_discovered(origin, sitemaps, policy)`: the robots.txt of an origin names sitemaps.

Sent once per origin, whether its file came from the site, the store or REP_OVERRIDES, and again
when the sitemaps change. `sitemaps` is a tuple of absolute URLs; `policy` is a `Policy`.
"""

withheld = object()
"""`withheld(response, what, because)`: page rules or preferences dropped what a callback yielded.

`what` is the request or the item. `because` is the `PageRule`, the `Statement` or the `UseLevel`
that decided; `str(because)` describes it. Not sent in a dry run.
"""

request_disallowed = object()
"""`request_disallowed(request, verdict)`: a request was dropped; `verdict` says why."""

origin_rests = object()
"""`origin_rests(origin, seconds, response)`: an origin rests, for example after 429 or 503.

Sent once for each rest. `response` is the answer that began it; None if no answer came in time.
"""

challenged = object()
"""`challenged(response, service)`: an edge answered a page with a challenge instead of the site.

`service` names it, such as "Cloudflare". No callback gets the response.
"""

payment_required = object()
"""`payment_required(response, terms)`: a page answered 402 (Payment Required).

`terms` is a `PaymentRequired`, with the price and the licences that the answer names. The request
is not sent again, and nothing is paid.
"""

VERDICT = "rep_verdict"
"""Written: the verdict that let the request pass, in words; `verdict_of` has the `Verdict`."""

QUEUE = "rep_queue"
"""Read: `REP_FILTER_LINKS` leaves this request alone, so that its errback gets the verdict."""

PUT_BACK = "rep_put_back"
"""Written: the `dont_filter` of a request that was put back into the queue."""

JUDGED_IN = "rep_judged_in"
"""Written, with an audit trail: the run that let the request go on, to count it once if it is put
back."""

REFUSALS = "rep_refusals"
"""Written: how often a page answered 429 or 503, until it answers well."""

REFUSED_AT = "rep_refused_at"
"""Written: when a page answered 429 or 503 first, POSIX seconds."""

REFUSED_UNTIL = "rep_refused_until"
"""Written: when a page that answered 429 or 503 may be requested again, POSIX seconds."""

STARTED = "rep_started"
"""Written: a fleet's queue has handed out this start request; its retry is not a start request."""

SITEMAP_ORIGIN = "rep_sitemap_origin"
"""Written: the origin that a sitemap belongs to, on the request for the sitemap."""

NAMED_BY = "rep_named_by"
"""Written: the site that named the URL of this request, so that `REP_REDIRECT_GUARD` applies."""

MARKS = frozenset({PUT_BACK, JUDGED_IN, REFUSALS, REFUSED_AT, REFUSED_UNTIL, NAMED_BY})
"""The keys about this request alone, which are removed before callbacks see meta."""

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


class RobotsTxtDisallowed(IgnoreRequest):
    """The request was dropped because the robots.txt of its origin does not allow it.

    Attributes:
        verdict: the verdict, with the rule, its line and file, or the access result.
    """

    def __init__(self, verdict: Verdict) -> None:
        super().__init__(f"Forbidden by robots.txt: {verdict}")
        self.verdict = verdict

    def __reduce__(self) -> tuple[type[RobotsTxtDisallowed], tuple[Verdict], dict[str, Any]]:
        """Copy and pickle the exception by its verdict, not by its message."""
        return type(self), (self.verdict,), self.__dict__


class RobotsTxtUnreachable(RobotsTxtDisallowed):
    """The request was dropped because the robots.txt of its origin is unreachable.

    RFC 9309, 2.3.1.4 tells crawlers to assume complete disallow then. A later retry may succeed.
    """


class RateLimited(IgnoreRequest):
    """The request was dropped because its origin answers only 429 or 503.

    Attributes:
        origin: the origin that was given up, or that rests when the crawl ends.
    """

    def __init__(self, origin: Origin) -> None:
        super().__init__(f"{origin} answers only 429 or 503")
        self.origin = origin

    def __reduce__(self) -> tuple[type[RateLimited], tuple[Origin], dict[str, Any]]:
        """Copy and pickle the exception by its origin, not by its message."""
        return type(self), (self.origin,), self.__dict__


class Challenged(IgnoreRequest):
    """The request was dropped because an edge answers with a challenge instead of its site.

    Attributes:
        origin: the origin.
        service: the service that asks, such as "Cloudflare".
    """

    def __init__(self, origin: Origin, service: str) -> None:
        super().__init__(f"{origin} answers automated clients with a challenge ({service})")
        self.origin = origin
        self.service = service

    def __reduce__(self) -> tuple[type[Challenged], tuple[Origin, str], dict[str, Any]]:
        """Copy and pickle the exception by its origin and service, not by its message."""
        return type(self), (self.origin, self.service), self.__dict__

"""What may be done with a response, by all that its origin and its page say."""

from __future__ import annotations

from scrapy.http import Response

from scrapy_rep.engine.origins import origin_of
from scrapy_rep.meta import is_exempt
from scrapy_rep.middleware import RepMiddleware
from scrapy_rep.policy import Policy
from scrapy_rep.protocol.access.origin import Origin
from scrapy_rep.protocol.errors import InvalidUri
from scrapy_rep.protocol.usage.preference import UsagePreferences

from .crawls import crawls_of
from .readings import usage_of


async def usage(response: Response) -> UsagePreferences:
    """What a response of a crawl and its origin say about the use of its content.

    It rests on the robots.txt as it was when the page was asked for. If that was not judged, since
    the request carries `dont_obey_robotstxt`, or the crawl does not obey robots.txt, the file is
    not asked now either, and the preferences are not complete.
    """
    policy = _policy_then(response)
    if policy is None:
        policy = await _policy_now(response)
    return usage_of(response, policy)


def usage_as_known(response: Response) -> UsagePreferences:
    """The same by what is in memory: nothing is fetched."""
    return usage_of(response, _policy_then(response))


def _policy_then(response: Response) -> Policy | None:
    """The policy by which the request of a response was judged."""
    if response.request is None:
        return None
    found = (judge.policy_of(response.request) for judge in _judges_of(response))
    return next((policy for policy in found if policy is not None), None)


async def _policy_now(response: Response) -> Policy | None:
    """The policy of a response whose request another component replaced after it was judged."""
    origin = _origin_of(response)
    if origin is None or response.request is None or is_exempt(response.request):
        return None
    for judge in _judges_of(response):
        return await judge.policies.get(origin)
    return None


def _judges_of(response: Response) -> list[RepMiddleware]:
    found = (
        crawl.crawler.get_downloader_middleware(RepMiddleware) for crawl in crawls_of(response)
    )
    return [judge for judge in found if judge is not None]


def _origin_of(response: Response) -> Origin | None:
    try:
        return origin_of(response.url)
    except InvalidUri:
        return None

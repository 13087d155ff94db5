"""`Policy` as a dependency of callbacks and page objects (scrapy-poet).

Set ``SCRAPY_POET_PROVIDERS = {"scrapy_rep.extras.pages.poet.PolicyProvider": 500}``. Only
scrapy-poet imports this module.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

# scrapy-poet reads the annotations below at run time.
from scrapy import Request
from scrapy.crawler import Crawler
from scrapy_poet.page_input_providers import PageObjectInputProvider

from scrapy_rep.policies import policy_for
from scrapy_rep.policy import Policy


class PolicyProvider(PageObjectInputProvider):
    """Provides the `Policy` for the origin of a request.

    It has no name, so that scrapy-poet does not cache it: a policy in that cache would never
    expire.
    """

    provided_classes: set[Callable[..., Any]] = {Policy}  # noqa: RUF012 - as in scrapy-poet

    async def __call__(
        self,
        to_provide: set[Callable[..., Any]],  # noqa: ARG002 - the signature is scrapy-poet's
        request: Request,
        crawler: Crawler,
    ) -> Sequence[Policy]:
        """The policy, from memory or from one fetch.

        Raises:
            ConfigurationError: this crawl does not obey robots.txt through `RepMiddleware`.
            InvalidUri: robots.txt does not govern the scheme of the request.
        """
        return [await policy_for(crawler, request.url)]

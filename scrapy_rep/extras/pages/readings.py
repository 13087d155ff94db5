"""The rules and preferences of a response: read on demand, and kept as long as the response.

No crawler is needed. Cost: some look-ups for the fields; for elements, one walk through the tree
per response, and parsing it if no callback has used the selector yet. `read_ahead` does this in a
thread, if the page is large.
"""

from __future__ import annotations

import time
from dataclasses import replace
from functools import partial
from typing import Any
from urllib.parse import urljoin
from weakref import WeakKeyDictionary

from scrapy.http import Response
from scrapy.utils.asyncio import run_in_thread

from scrapy_rep.decisions.request_records import RequestRecords
from scrapy_rep.extras.pages.file_usage import file_usage
from scrapy_rep.extras.pages.page.page_elements import Meta, refused_urls
from scrapy_rep.extras.pages.page.rules import PageRules, page_rules_of
from scrapy_rep.extras.pages.usage.categories import NO_TOKENS, TDMREP_PATH, UsageTokens
from scrapy_rep.extras.pages.usage.preference import UsagePreferences
from scrapy_rep.extras.pages.usage.tdmrep import TdmFile
from scrapy_rep.extras.pages.usage.usage_answers import usage_of_answer
from scrapy_rep.policies import Policies, policy_for
from scrapy_rep.policy import Policy
from scrapy_rep.protocol.document import RobotsTxt, parse
from scrapy_rep.protocol.tokens import ProductTokens
from scrapy_rep.signals import is_exempt

from . import page_html
from .page_crawls import crawls_of, tokens_of

_RULES_KEPT = 8
_LARGE_OCTETS = 1 << 16  # a parser takes 40 ms for a megabyte that is hostile, and we as much


class _PageFacts:
    """The data read from one response; it does not keep the response alive."""

    __slots__ = ("metas", "refused", "rules")

    def __init__(self) -> None:
        self.metas: list[Meta] | None = None
        self.rules: dict[Any, PageRules] = {}
        self.refused: frozenset[str] | None = None


_facts: WeakKeyDictionary[Response, _PageFacts] = WeakKeyDictionary()


def page_rules(
    response: Response,
    product_tokens: ProductTokens | None = None,
    now: float | None = None,
    *,
    meta: str = "document",
) -> PageRules:
    """The rules for a crawler in a response: in its fields and its meta elements.

    Args:
        response: any response.
        product_tokens: all names of the crawler; None for those of the response's crawl. Outside of
            a crawl, only rules for all crawlers count.
        now: POSIX seconds, to compare with `unavailable_after`; None for the current time.
        meta: the elements that count: those of the whole ``document``, or of its ``head`` only.

    Raises:
        InvalidProductToken: a token has characters that a user-agent line cannot contain.
    """
    given = tokens_of(response) if product_tokens is None else product_tokens
    tokens = given if isinstance(given, str) else tuple(given)
    only_head = meta == "head"
    facts = _facts_of(response)
    key = tokens, only_head
    read_at = time.time() if now is None else now
    rules = facts.rules.get(key)
    if rules is None:
        rules = page_rules_of(
            page_html.fields_of(response),
            _metas(response, facts),
            tokens,
            only_head=only_head,
            is_cut=page_html.is_cut(response) and page_html.is_html(response),
            now=read_at,
        )
        if rules.is_cut:
            page_html.set_unreadable(response, "its rules are too long")
        if len(facts.rules) >= _RULES_KEPT:
            facts.rules.clear()
        facts.rules[key] = rules
        return rules
    return replace(rules, now=read_at)


def usage_of(
    response: Response,
    robots_txt: RobotsTxt | Policy | bytes | None = None,
    *,
    tdmrep: bytes | None = None,
    product_tokens: ProductTokens | None = None,
    usage_tokens: UsageTokens | None = None,
    now: float | None = None,
) -> UsagePreferences:
    """The preferences of a response and its origin about the use of its content.

    Args:
        response: any response.
        robots_txt: the file of its origin: a `RobotsTxt`, its octets, or a `Policy`. None if it was
            not fetched or is unreachable: then the preferences are incomplete.
        tdmrep: the octets of ``/.well-known/tdmrep.json`` of its origin; None for the file that a
            `Policy` has by `REP_TDMREP`.
        product_tokens: as in `page_rules`.
        usage_tokens: as in `file_usage`; None for those of `REP_USAGE_TOKENS`.
        now: as in `page_rules`.

    Raises:
        InvalidProductToken: a token has characters that a user-agent line cannot contain.
        ValueError: a key of `usage_tokens` is not a category.
    """
    tokens = tokens_of(response) if product_tokens is None else product_tokens
    if usage_tokens is None:
        usage_tokens = _usage_tokens_of(response)
    if isinstance(robots_txt, bytes):
        robots_txt = parse(robots_txt, urljoin(response.url, "/robots.txt"))
    if robots_txt is None:
        said = UsagePreferences(is_complete=False)
    else:
        said = file_usage(robots_txt, response.url, tokens, usage_tokens)
    kept = robots_txt.tdmrep if isinstance(robots_txt, Policy) else None
    file: TdmFile | None = None if kept is None else kept.file
    if tdmrep is not None:
        file = TdmFile.of(tdmrep, urljoin(response.url, TDMREP_PATH))
    found = usage_of_answer(
        response.url,
        page_html.fields_of(response),
        page_rules(response, tokens, now),
        said,
        metas=_metas(response, _facts_of(response)),
        links=page_html.link_elements_of(response),
        base_url=page_html.base_url_of(response),
        is_image=page_html.is_image(response),
        tdmrep_file=file,
    )
    if (file is not None and file.is_cut) or page_html.is_unreadable(response):
        found = replace(found, is_complete=False)
    return found if kept is None else kept.marked(found)


async def usage(response: Response) -> UsagePreferences:
    """The preferences of a crawl's response and its origin about the use of its content.

    They rest on the robots.txt by which the request for the page was judged. If the request was not
    judged, because it has `dont_obey_robotstxt` or the crawl does not obey robots.txt, the file is
    not fetched now either, and the preferences are incomplete.
    """
    await read_ahead(response)
    policy = _policy_then(response)
    if policy is None:
        policy = await _policy_now(response)
    return usage_of(response, policy)


def usage_as_known(response: Response) -> UsagePreferences:
    """The same from memory: nothing is fetched."""
    return usage_of(response, _policy_then(response))


def _policy_then(response: Response) -> Policy | None:
    """The policy by which the request of a response was judged."""
    if response.request is None:
        return None
    found = (crawl.part(RequestRecords).find(response.request) for crawl in crawls_of(response))
    return next((one.policy for one in found if one and one.policy), None)


async def _policy_now(response: Response) -> Policy | None:
    """The policy of a response if another component replaced its request after the judgement."""
    origin = page_html.origin_of_page(response)
    if origin is None or response.request is None or is_exempt(response.request):
        return None
    for crawl in crawls_of(response):
        if crawl.find(Policies) is not None:
            return await policy_for(crawl.crawler, str(origin))
    return None


def refused_links(response: Response) -> frozenset[str]:
    """The URLs that the page links to with ``nofollow`` links only."""
    facts = _facts_of(response)
    if facts.refused is None:
        facts.refused = _refused_in(response)
    return facts.refused


def _refused_in(response: Response) -> frozenset[str]:
    return refused_urls(page_html.anchors_of(response), partial(page_html.resolved, response))


async def read_ahead(response: Response, *, with_links: bool = False) -> None:
    """Read the elements of a large page in a thread, so that nothing else has to wait for them."""
    if len(response.body) < _LARGE_OCTETS:
        return
    facts = _facts_of(response)
    if facts.metas is None:
        facts.metas = await run_in_thread(page_html.metas_of, response)
    if with_links and facts.refused is None:
        facts.refused = await run_in_thread(_refused_in, response)


def _facts_of(response: Response) -> _PageFacts:
    facts = _facts.get(response)
    if facts is None:
        facts = _facts[response] = _PageFacts()
    return facts


def _metas(response: Response, facts: _PageFacts) -> list[Meta]:
    if facts.metas is None:
        facts.metas = page_html.metas_of(response)
    return facts.metas


def _usage_tokens_of(response: Response) -> UsageTokens:
    crawls = crawls_of(response)
    return crawls[0].settings.usage_tokens if crawls else NO_TOKENS

"""The preferences of a robots.txt about the use of content: of a file, or of a policy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from scrapy_rep.extras.pages.usage.categories import NO_TOKENS
from scrapy_rep.extras.pages.usage.preference import UsagePreferences
from scrapy_rep.extras.pages.usage.robots import FileUsage
from scrapy_rep.protocol.access.events import Meaning
from scrapy_rep.protocol.document import RobotsTxt
from scrapy_rep.protocol.tokens import ProductTokens, as_product_tokens, refuse_url

if TYPE_CHECKING:  # files are read without Scrapy
    from scrapy_rep.policy import Policy


def file_usage(
    file: RobotsTxt | Policy,
    url: str,
    product_tokens: ProductTokens | None = None,
    usage_tokens: Mapping[str, Sequence[str]] = NO_TOKENS,
) -> UsagePreferences:
    """The preferences of a file for the use of the content at a URL of its origin.

    Those of a policy without rules in force are empty; they are complete only if the file is
    unavailable, and neither unreachable nor overridden.

    Cost: linear in the octets of a `RobotsTxt` for each call, plus the cost of
    `FileUsage.preferences`; a policy reads its file once for each crawler.

    Args:
        file: a parsed file, or a policy.
        url: see `RobotsTxt.verdict`.
        product_tokens: see `RobotsTxt.verdict`; None for the tokens of the crawl of a policy, and
            for the ``*`` group of a file.
        usage_tokens: product tokens by the category that they represent, such as
            ``{"train-ai": ["GPTBot"]}``: if the group of such a token disallows the URL, the
            preference for that category is n. The groups for `POLICY_TOKENS` always count.

    Raises:
        InvalidProductToken: no user-agent line could name one of the tokens.
        TypeError: the tokens are a URL.
        ValueError: a key of `usage_tokens` is not a category.
    """
    if isinstance(file, RobotsTxt):
        return _read(file, product_tokens or (), usage_tokens).preferences(url)
    if product_tokens is not None:
        refuse_url(product_tokens)
    tokens = as_product_tokens(file.tokens if product_tokens is None else product_tokens)
    is_read = file.meaning is Meaning.RULES
    if is_read:
        others = tuple((category, tuple(names)) for category, names in usage_tokens.items())
        kept = file.keep((tokens, others), lambda: _read(file.robots_txt, tokens, usage_tokens))
        said = kept.preferences(url)
    else:
        said = UsagePreferences(robots_txt=file.origin.robots_txt_uri)
    was_asked = file.access_result is not None and (is_read or not file.is_unreachable)
    return replace(said, fetched_at=file.fetched_at, is_stale=file.is_stale, is_complete=was_asked)


def _read(
    file: RobotsTxt, tokens: ProductTokens, usage_tokens: Mapping[str, Sequence[str]]
) -> FileUsage:
    return FileUsage.of(file.octets, file.uri, file.selection(tokens), usage_tokens)

"""The crawler that a request claims to be from, and whether its address proves that.

A User-Agent proves nothing, because any client can send that of a known crawler. Some operators
publish the addresses of theirs.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from ipaddress import ip_address, ip_network
from json import loads
from typing import NamedTuple

from scrapy_rep.protocol.errors import ConfigurationError
from scrapy_rep.protocol.extensions.headers import tokens_from_user_agent
from scrapy_rep.protocol.tokens import is_name

from .crawlers import Crawler, crawler_of

_ADDRESSES_KEPT = 1 << 12
_PRODUCT = re.compile(r"(?<![\w.-])[\w.-]+(?=/)")
_CRAWLER = re.compile("bot|crawl|spider", re.IGNORECASE)

Names = tuple[str, ...]
Identify = Callable[[str], str]
"""Whether a request from an address is genuine or claimed; unknown for that of a proxy."""


class CrawlerClaim(NamedTuple):
    """The crawler that a User-Agent names.

    Attributes:
        name: its name: that of the list, or as the header spells it.
        tokens: the names by which it finds its group, in lower case, the preferred one first.
        crawler: the known crawler, or None.
        others: further names in the header, in lower case; it may obey the group of any.
    """

    name: str
    tokens: Names
    crawler: Crawler | None = None
    others: Names = ()


def claim_of(user_agent: str) -> CrawlerClaim | None:
    """The crawler that a User-Agent names; None for browsers, and without a name.

    A known crawler takes the group of its fallback before ``*``, as its operator says.
    """
    names = tokens_from_user_agent(user_agent)
    if user_agent.startswith("Mozilla/") and "compatible;" not in user_agent:  # or an app, as GSA/1
        names = tuple(filter(_CRAWLER.search, names))
    if not names:  # as of ChatGPT-User, or in a comment without "compatible;", as of Applebot
        found = ((name, crawler_of(name)) for name in _PRODUCT.findall(user_agent))
        # By another spelling, it may be an app of the same company, as Pinterest/Android.
        names = tuple(name for name, one in found if one and one.name == name.lower())[:1]
    if not names:
        return None
    first, *others = names
    crawler = crawler_of(first)
    chain = (crawler.token, crawler.fallback) if crawler else (first,)
    tokens = tuple(dict.fromkeys(name.lower() for name in (first, *chain) if is_name(name)))
    return CrawlerClaim(chain[0], tokens, crawler, tuple(map(str.lower, others)))


def identities(*files: bytes) -> Identify:
    """Tells whether an address belongs to the operator of a crawler, by files of the operator.

    A file is JSON: ``{"prefixes": [{"ipv4Prefix": ...}, {"ipv6Prefix": ...}]}``.

    Raises:
        ConfigurationError: one is another file, or has no address.
    """
    try:
        lists = [loads(octets)["prefixes"] for octets in files]
        networks = {ip_network(text) for found in lists for one in found for text in one.values()}
        _ = [found[0] for found in lists]  # an empty list says nothing
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise ConfigurationError(f"--verify-ips: no list of prefixes ({error!r})") from error

    @lru_cache(_ADDRESSES_KEPT)
    def identity_of(address: str) -> str:
        try:
            found = ip_address(address.strip("[],"))
        except ValueError:
            return "unknown"
        found = getattr(found, "ipv4_mapped", None) or found
        if any(found in network for network in networks):
            return "genuine"
        return "claimed" if found.is_global else "unknown"

    return identity_of

"""Tells whether addresses belong to the operator of a crawler, by the lists of operators."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import lru_cache
from ipaddress import ip_address, ip_network

from scrapy_rep.protocol.errors import ConfigurationError

Identify = Callable[[str], str]
"""Whether a request from an address is genuine or claimed; unknown for that of a proxy."""

_KEPT = 1 << 14  # addresses


def identities(*files: bytes) -> Identify:
    """Tells whether an address belongs to the operator of a crawler, by files of the operator.

    A file is JSON: ``{"prefixes": [{"ipv4Prefix": ...}, {"ipv6Prefix": ...}]}``.

    Raises:
        ConfigurationError: one is another file, or has no address.
    """
    try:
        lists = [json.loads(octets)["prefixes"] for octets in files]
        networks = {ip_network(text) for found in lists for one in found for text in one.values()}
        _ = [found[0] for found in lists]  # an empty list says nothing
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise ConfigurationError(f"--verify-ips: no list of prefixes ({error!r})") from error
    sizes = {(network.version, network.prefixlen) for network in networks}

    @lru_cache(_KEPT)
    def identity_of(address: str) -> str:
        try:
            found = ip_address(address.strip("[],"))
        except ValueError:
            return "unknown"
        found = getattr(found, "ipv4_mapped", None) or found
        for version, size in sizes:
            if version == found.version and ip_network((found, size), strict=False) in networks:
                return "genuine"
        return "claimed" if found.is_global else "unknown"

    return identity_of

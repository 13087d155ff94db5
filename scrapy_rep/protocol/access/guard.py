"""Refuse redirects of robots.txt that lead to machines that only we can reach.

A redirect may lead anywhere (RFC 9309, 2.3.1.2), also to machines of our own network. A refused
redirect counts as unreachable: a refusal must not read as "there is no file".
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address

# RFC 6052, 2.1 (NAT64) and RFC 4291, 2.5.5.1: the last four octets are an IPv4 address.
_EMBEDDING = (IPv6Network("64:ff9b::/96"), IPv6Network("64:ff9b:1::/48"), IPv6Network("::/96"))


class Guard(Enum):
    """The targets that are followed: any; those of the same site; those at public addresses."""

    ANY = "any"
    SAME_SITE = "same-site"
    PUBLIC = "public"


def is_public_address(address: str) -> bool:
    """Whether an IP address is public: not private, loopback or link-local.

    Text that is not an address is not public.
    """
    try:
        parsed = ip_address(address.partition("%")[0])
    except ValueError:
        return False
    return all(one.is_global and not one.is_multicast for one in _addresses_in(parsed))


def _addresses_in(address: IPv4Address | IPv6Address) -> Iterator[IPv4Address | IPv6Address]:
    """The address, and the IPv4 addresses that translators and tunnels may extract from it."""
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    yield mapped or address
    if isinstance(address, IPv6Address):
        if address.sixtofour is not None:
            yield address.sixtofour
        if address.teredo is not None:
            yield from address.teredo
        if mapped is None and any(address in network for network in _EMBEDDING):
            yield IPv4Address(int(address) & 0xFFFFFFFF)

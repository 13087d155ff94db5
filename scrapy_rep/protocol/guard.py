"""Which redirects of robots.txt are refused, so that a site can't make us ask where it can't.

A redirect may lead anywhere (RFC 9309, 2.3.1.2), also to machines that only we can reach. What a
guard refuses counts as unreachable: a refusal must not read as "there is no file".
"""

from __future__ import annotations

from enum import Enum
from ipaddress import IPv6Address, ip_address


class Guard(Enum):
    """Which targets are followed: any; those of the same site; those at public addresses."""

    ANY = "any"
    SAME_SITE = "same-site"
    PUBLIC = "public"


def is_public_address(address: str) -> bool:
    """Whether an IP address is one of the Internet's: not private, loopback or link-local.

    What is no address is not public.
    """
    try:
        parsed = ip_address(address.partition("%")[0])
    except ValueError:
        return False
    mapped = parsed.ipv4_mapped if isinstance(parsed, IPv6Address) else None
    inner = mapped or parsed
    return inner.is_global and not inner.is_multicast

"""The addresses to which the word of a site may lead: those of the Internet.

A site may name any URL: in a redirect (RFC 9309, 2.3.1.2), in a Sitemap line, in a sitemap. It may
lead to a machine of our own network, or to the metadata of our cloud.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import Any

# By IANA's registries of special-purpose addresses; multicast has a registry of its own. The tables
# of the standard library differ from release to release.
_SPECIAL = tuple(
    map(
        ip_network,
        [
            *["0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16"],
            *["172.16.0.0/12", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16"],
            *["198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4"],
            *["2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20"],
            "168.63.129.16/32",  # the services of Azure for its machines, at a public address
        ],
    )
)
_UNICAST = ip_network("2000::/3")  # IANA has allocated no other addresses of IPv6 to the Internet

# How IPv6 addresses hold an IPv4 address that a translator or a tunnel extracts: the bits that tell
# so, under a mask; how far the address is from the end, in bits; whether its bits are inverted.
_ALL = (1 << 32) - 1
_FIRST_96 = (1 << 128) - (1 << 32)
_FORMS = (
    (0xFFFF << 32, _FIRST_96, 0, 0),  # mapped (RFC 4291, 2.5.5.2)
    (0xFFFF << 48, _FIRST_96, 0, 0),  # SIIT (RFC 2765)
    (0x64FF9B << 96, _FIRST_96, 0, 0),  # NAT64 (RFC 6052)
    (0x2002 << 112, 0xFFFF << 112, 80, 0),  # 6to4 (RFC 3056)
    (0x20010000 << 96, _ALL << 96, 64, 0),  # Teredo (RFC 4380): the server
    (0x20010000 << 96, _ALL << 96, 0, _ALL),  # Teredo: the client
)
_ISATAP = (0x5EFE << 32, 0xFCFFFFFF << 32)  # RFC 5214: within a network of any prefix


class Guard(Enum):
    """The targets that are followed: any; those of the same site; those at public addresses."""

    ANY = "any"
    SAME_SITE = "same-site"
    PUBLIC = "public"


def is_public_address(address: str, also: Sequence[Any] = ()) -> bool:
    """Whether an IP address is of the Internet: not private, loopback, link-local or reserved.

    An IPv6 address that holds an IPv4 address is as public as the IPv4 address. Text that is not
    an address is not public. `also` has networks of `ipaddress` that count as public.
    """
    try:
        parsed = ip_address(address.partition("%")[0])
    except ValueError:
        return False
    return _is_public(parsed, also)


def _is_public(address: IPv4Address | IPv6Address, also: Sequence[Any]) -> bool:
    if any(address in network for network in also):
        return True
    is_special = any(address in network for network in _SPECIAL)
    if isinstance(address, IPv4Address):
        return not is_special
    bits = int(address)
    held = [
        IPv4Address(bits >> shift & _ALL ^ inverted)
        for form, mask, shift, inverted in _FORMS
        if bits & mask == form
    ]
    if held:
        return all(_is_public(one, also) for one in held)
    form, mask = _ISATAP
    is_hiding = bits & mask == form and not _is_public(IPv4Address(bits & _ALL), also)
    return address in _UNICAST and not is_special and not is_hiding

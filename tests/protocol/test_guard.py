"""Public addresses, by the IANA registries of special-purpose addresses."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address, ip_network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_rep.protocol.access.guard import Guard, is_public_address

PUBLIC = [
    *["1.1.1.1", "8.8.8.8", "93.184.216.34", "172.15.255.255", "172.32.0.0", "192.167.255.255"],
    *["11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255", "128.0.0.1"],
    *["2606:4700:4700::1111", "2a00:1450:4001:830::200e", "::ffff:8.8.8.8"],
    *["64:ff9b::8.8.8.8", "::ffff:0:8.8.8.8", "2002:808:808::1", "2606:4700::5efe:8.8.8.8"],
    "2001:0:808:808::fefe:fefe",  # Teredo: the client is 1.1.1.1
]
PRIVATE = [
    *["10.0.0.1", "10.255.255.255", "172.16.0.1", "172.31.255.255", "192.168.0.1"],
    *["fc00::1", "fdff::1", "100.64.0.1", "198.18.0.1"],
]
LOOPBACK = ["127.0.0.1", "127.255.255.254", "::1", "0.0.0.0", "::", "0.1.2.3"]
LINK_LOCAL = ["169.254.0.1", "169.254.169.254", "fe80::1", "fe80::1%eth0", "fe80::1%25eth0"]
CLOUDS = ["168.63.129.16", "192.0.0.192", "100.100.100.200", "fd00:ec2::254"]
NO_UNICAST = [
    *["fec0::1", "feff::1", "5f00::1", "3fff::1", "4000::1", "8000::1", "1fff::1", "::8.8.8.8"],
    *["64:ff9b:1::8.8.8.8", "100::1", "2001:2::1", "2001:10::1", "2001:20::1"],
]
NO_HOSTS = [
    *["224.0.0.1", "239.255.255.255", "255.255.255.255", "240.0.0.1", "ff02::1", "ff0e::1"],
    *["192.0.2.1", "198.51.100.1", "203.0.113.1", "2001:db8::1"],
]
MAPPED = ["::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254", "::ffff:7f00:1"]
NO_ADDRESSES = [
    *["", "example.com", "127.1", "2130706433", "0x7f.1", "017.0.0.1", "1.1.1", "1.1.1.1.1"],
    *["::g", "[::1]", " 8.8.8.8", "8.8.8.8/32", "１.1.1.1", "%eth0"],
]


def test_the_guards_of_the_setting() -> None:
    assert [guard.value for guard in Guard] == ["any", "same-site", "public"]


@pytest.mark.parametrize("address", PUBLIC)
def test_public_address_is_public(address: str) -> None:
    assert is_public_address(address)


@pytest.mark.parametrize(
    "address",
    [*PRIVATE, *LOOPBACK, *LINK_LOCAL, *CLOUDS, *NO_UNICAST, *NO_HOSTS, *MAPPED, *NO_ADDRESSES],
)
def test_special_address_is_not_public(address: str) -> None:
    assert not is_public_address(address)


@pytest.mark.parametrize(
    "prefix",
    [
        "2002:{}::",  # 6to4, RFC 3056
        "64:ff9b::{}",  # NAT64, RFC 6052
        "::{}",  # IPv4-compatible, RFC 4291, 2.5.5.1
        "::ffff:0:{}",  # SIIT, RFC 2765
        "2606:4700::5efe:{}",  # ISATAP, RFC 5214
        "2606:4700::200:5efe:{}",
        "2001:0:{}:0:0:f7f7:f7f7",  # Teredo, RFC 4380: the server
    ],
)
@pytest.mark.parametrize("inner", ["7f00:1", "a00:1", "a9fe:a9fe", "c0a8:1"])
def test_an_inner_address_hides_nothing(prefix: str, inner: str) -> None:
    assert not is_public_address(prefix.format(inner))


def test_an_inverted_address_hides_nothing() -> None:
    """Teredo inverts the address of the client, here 10.0.0.1."""
    assert not is_public_address("2001:0:808:808::f5ff:fffe")


def test_a_network_of_the_user_counts_as_public() -> None:
    own = [ip_network("10.0.0.0/8"), ip_network("fd00::/16")]
    reached = ["10.1.2.3", "::ffff:10.1.2.3", "64:ff9b::10.1.2.3", "fd00::1", "8.8.8.8"]
    assert all(is_public_address(one, own) for one in reached)
    assert not any(is_public_address(one, own) for one in ["192.168.0.1", "fd01::1", "::1", ""])


# IANA's registries of 2025: the networks, and the column Globally Reachable ("-" for N/A).
# https://www.iana.org/assignments/iana-ipv4-special-registry
REGISTRY_4 = """
0.0.0.0/8 False
0.0.0.0/32 False
10.0.0.0/8 False
100.64.0.0/10 False
127.0.0.0/8 False
169.254.0.0/16 False
172.16.0.0/12 False
192.0.0.0/24 False
192.0.0.0/29 False
192.0.0.8/32 False
192.0.0.9/32 True
192.0.0.10/32 True
192.0.0.170/32 False
192.0.0.171/32 False
192.0.2.0/24 False
192.31.196.0/24 True
192.52.193.0/24 True
192.88.99.0/24 -
192.88.99.2/32 False
192.168.0.0/16 False
192.175.48.0/24 True
198.18.0.0/15 False
198.51.100.0/24 False
203.0.113.0/24 False
240.0.0.0/4 False
255.255.255.255/32 False
"""
# https://www.iana.org/assignments/iana-ipv6-special-registry
REGISTRY_6 = """
::1/128 False
::/128 False
::ffff:0:0/96 False
64:ff9b::/96 True
64:ff9b:1::/48 False
100::/64 False
100:0:0:1::/64 False
2001::/23 False
2001::/32 -
2001:1::1/128 True
2001:1::2/128 True
2001:1::3/128 True
2001:2::/48 False
2001:3::/32 True
2001:4:112::/48 True
2001:10::/28 -
2001:20::/28 True
2001:30::/28 True
2001:db8::/32 False
2002::/16 -
2620:4f:8000::/48 True
3fff::/20 False
5f00::/16 False
fc00::/7 False
fe80::/10 False
"""
ROWS = [tuple(row.split()) for row in (REGISTRY_4 + REGISTRY_6).split("\n") if row]
# An address of these is judged by the IPv4 address in it, so that rows of a translator differ.
EMBEDDING = {"::ffff:0:0/96", "64:ff9b::/96", "2001::/32", "2002::/16", "2001::/23"}
# Protocols use the addresses of these for themselves: no web site is there.
OF_PROTOCOLS = [ip_network("192.0.0.0/24"), ip_network("2001::/23")]
NETWORKS = [ip_network(network) for network, _ in ROWS] + [ip_network("224.0.0.0/4")]


class TestRegistries:
    @pytest.mark.parametrize(("network", "is_reachable"), ROWS)
    def test_every_row_of_the_registries_is_obeyed(self, network: str, is_reachable: str) -> None:
        if network in EMBEDDING:
            return
        found = ip_network(network)
        is_of_protocol = any(found[0] in other for other in OF_PROTOCOLS)
        expected = is_reachable == "True" and not is_of_protocol
        for one in {found[0], found[found.num_addresses // 2], found[-1]}:
            assert is_public_address(str(one)) == expected, one

    def test_no_other_network_is_refused(self) -> None:
        """The neighbours of a row are public, unless they are in another row."""
        near = [(row, number) for row in NETWORKS for number in (int(row[0]) - 1, int(row[-1]) + 1)]
        ones = [type(row[0])(n) for row, n in near if 0 <= n < 1 << row.max_prefixlen]
        outside = [one for one in ones if not any(one in other for other in NETWORKS)]
        unicast = [ip_network("0.0.0.0/0"), ip_network("2000::/3")]
        public = [one for one in outside if any(one in other for other in unicast)]
        assert len(public) > 20
        assert [one for one in public if not is_public_address(str(one))] == []


@given(st.integers(0, 2**32 - 1).map(IPv4Address))
def test_a_mapped_address_is_as_its_inner_one(address: IPv4Address) -> None:
    mapped = IPv6Address(f"::ffff:{address}")
    assert is_public_address(str(mapped)) == is_public_address(str(address))


@given(st.text(max_size=50))
def test_any_text_is_judged_as_an_address(text: str) -> None:
    assert is_public_address(text) in (True, False)

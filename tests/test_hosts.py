"""Hosts of one site, by the installed public suffix list."""

from __future__ import annotations

import pytest

from scrapy_rep.checks import HostScope
from scrapy_rep.protocol.access.origin import Origin
from scrapy_rep.sitemaps.seeding import LeftOut, Seeding


@pytest.mark.parametrize(
    ("host", "other", "same_site"),
    [
        ("example.com", "example.com", True),
        ("www.example.com", "cdn.example.com", True),
        ("example.com", "example.org", False),
        ("a.co.uk", "b.co.uk", False),
        ("www.a.co.uk", "a.co.uk", True),
        ("a.github.io", "b.github.io", False),
        ("a.github.io", "github.io", False),
        ("127.0.0.1", "127.0.0.2", False),
        ("localhost", "127.0.0.1", False),
    ],
)
def test_scope_holds_hosts(host: str, other: str, same_site: bool) -> None:
    assert HostScope.ANY.holds(host, other)
    assert HostScope.SAME_SITE.holds(host, other) == same_site
    assert HostScope.SAME_HOST.holds(host, other) == (host == other)


def test_seeding_limits_each_origin() -> None:
    seeding = Seeding(2, HostScope.SAME_HOST)
    one, other = Origin("https", "a.example", 443), Origin("https", "b.example", 443)
    for url, answer in (
        ("https://a.example/1", None),
        ("https://a.example/1", LeftOut.REPEATED),
        ("https://b.example/1", LeftOut.ANOTHER_HOST),
        ("data:,", LeftOut.INVALID),
        ("http://a.example:8080/2", None),
        ("https://a.example/3", LeftOut.TOO_MANY),
        ("https://a.example/1", LeftOut.REPEATED),
    ):
        assert seeding.admit(one, url) is answer
    assert seeding.admit(other, "https://b.example/1") is None, "each origin has its own limit"

"""Which hosts belong together, by the public suffix list that is installed."""

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
        ("127.0.0.1", "127.0.0.2", False),
        ("localhost", "127.0.0.1", False),
    ],
)
def test_scopes(host: str, other: str, same_site: bool) -> None:
    assert HostScope.ANY.holds(host, other)
    assert HostScope.SAME_SITE.holds(host, other) == same_site
    assert HostScope.SAME_HOST.holds(host, other) == (host == other)


def test_seeding() -> None:
    seeding = Seeding(2, HostScope.SAME_HOST)
    one, other = Origin("https", "a.example", 443), Origin("https", "b.example", 443)
    answers = [
        seeding.admit(origin, url)
        for origin, url in (
            (one, "https://a.example/1"),
            (one, "https://a.example/1"),
            (one, "https://b.example/1"),
            (one, "data:,"),
            (one, "http://a.example:8080/2"),
            (one, "https://a.example/3"),
            (one, "https://a.example/1"),
            (other, "https://b.example/1"),
        )
    ]
    assert answers == [
        None,
        LeftOut.REPEATED,
        LeftOut.ANOTHER_HOST,
        LeftOut.INVALID,
        None,
        LeftOut.TOO_MANY,
        LeftOut.REPEATED,
        None,
    ]

"""The pace and the sitemaps of a file are those that a reader of every line finds."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from scrapy_rep.protocol.extensions import records as readers
from scrapy_rep.protocol.extensions.pace import SitePace
from scrapy_rep.protocol.extensions.sitemaps import absolute_uri, sitemap_uris
from scrapy_rep.protocol.lines import Kind, clean, records

from .reading import read

_LINES = [
    *[
        *["User-agent: a", "user-agent: b", "User-agent: *", "Disallow: /x", "Allow:", ""],
        "# crawl-delay",
    ],
    *["Crawl-delay: 1", "crawl-delay 2", "CRAWL-DELAY:x", "Crawl-delay: 1 # 5", "x crawl-delay: 3"],
    *[
        "Request-rate: 1/5",
        "Request-rate: 0/1",
        "request-rate:2/3m 0100-0200",
        "Visit-time: 0100-0200",
    ],
    *["visit-time: x", "Sitemap: /s", "sitemaps: /t", "site-map: /u", "Site-Map /v", "sitemap"],
    *[
        "a: crawl-delay: 4",
        "crawl-delays: 9",
        "Crawl-delay: 7 sitemap: /w",
        "Sitemap: /sitemap site-map",
    ],
]
_bodies = st.lists(st.sampled_from(_LINES), max_size=20).map("\n".join)


_READERS: dict[bytes, Callable[[bytes], Any]] = {
    b"crawl-delay": readers.crawl_delay,
    b"request-rate": readers.request_rate,
    b"visit-time": readers.visit_time,
}


def _read_in_full(body: str, token: str) -> SitePace:
    """By the runs of user-agent lines, each a list of names, with what follows it."""
    runs: list[tuple[list[bytes], list[tuple[bytes, bytes]]]] = []
    was_agent = False
    for _, kind, key, value in records(body.encode()):
        if kind is Kind.USER_AGENT:
            if not was_agent:
                runs.append(([], []))
            runs[-1][0].append(value)
        elif runs:
            runs[-1][1].append((key.lower(), value))
        was_agent = kind is Kind.USER_AGENT
    is_named = any(token.encode() in names for names, _ in runs)
    name = token.encode() if is_named else b"*"
    own = [said for names, found in runs if name in names for said in found]
    found = {
        key: [said for its, text in own if its == key and (said := read_value(text)) is not None]
        for key, read_value in _READERS.items()
    }
    delays, rates, times = found.values()
    return SitePace(*(max(delays, default=None), next(iter(rates), None), next(iter(times), None)))


class TestSitePace:
    """Crawl-delay, Request-rate and Visit-time."""

    @given(body=_bodies, token=st.sampled_from(["a", "b", "c"]))
    def test_site_pace_reads_as_the_full_parser(self, body: str, token: str) -> None:
        robots_txt = read(body)
        found = robots_txt.site_pace(token)
        assert found == _read_in_full(body, token)
        assert found.crawl_delay == robots_txt.crawl_delay(token)
        assert found.request_rate == robots_txt.request_rate(token)
        assert found.visit_time == robots_txt.visit_time(token)


class TestSitemaps:
    """Sitemap lines, of any group or none."""

    @given(body=_bodies)
    def test_sitemaps_read_as_in_the_full_parser(self, body: str) -> None:
        robots_txt = read(body)
        octets, *_ = clean(body.encode())
        values = [value for _, kind, _, value in records(octets) if kind is Kind.SITEMAP]
        assert robots_txt.sitemaps == sitemap_uris(values, robots_txt.uri)

    @given(
        value=st.from_regex(
            re.compile(
                rb"https?://[a-z0-9.-]{1,9}/[A-Za-z0-9/._~%+,=&-]{0,9}(?:\?[a-z0-9/=&]{0,5})?"
            ),
            fullmatch=True,
        ),
        base=st.sampled_from(["", "http://h/robots.txt", "https://h.example/robots.txt"]),
    )
    @example(value=b"http://h/?", base="")
    @example(value=b"http://h/a;b", base="")
    @example(value=b"HTTP://h/a", base="")
    @example(value=b"http://h/#", base="")
    def test_plain_ones_stay_as_they_are(self, value: bytes, base: str) -> None:
        """A blank in front of a value has it go the long way."""
        assert absolute_uri(value, base) == absolute_uri(b"\xc2\xa0" + value, base)

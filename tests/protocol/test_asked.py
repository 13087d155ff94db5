"""What is searched for in a file is what reading every line of it finds."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_rep.protocol.document import RobotsTxt
from scrapy_rep.protocol.extensions import records as readers
from scrapy_rep.protocol.extensions.pace import Asked
from scrapy_rep.protocol.extensions.sitemaps import sitemap_uri, sitemap_uris
from scrapy_rep.protocol.lines import Kind, clean, records

from .reading import read

_LINES = [
    *[
        "User-agent: a",
        "user-agent: b",
        "User-agent: *",
        "Disallow: /x",
        "Allow:",
        "",
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


def _read_in_full(robots_txt: RobotsTxt, token: str) -> Asked:
    """By every other record of the group."""
    group = robots_txt.group(token)
    found: dict[bytes, object] = {}
    for record in group.other_records if group else ():
        read_value = {
            b"crawl-delay": readers.crawl_delay,
            b"request-rate": readers.request_rate,
            b"visit-time": readers.visit_time,
        }.get(record.key.lower())
        value = read_value(record.value) if read_value else None
        if value is not None:
            found.setdefault(record.key.lower(), value)
    names = (b"crawl-delay", b"request-rate", b"visit-time")
    return Asked(*(found.get(name) for name in names))  # type: ignore[arg-type]


class TestAsked:
    """Crawl-delay, Request-rate and Visit-time of a group."""

    @given(body=_bodies, token=st.sampled_from(["a", "b", "c"]))
    def test_as_read_in_full(self, body: str, token: str) -> None:
        robots_txt = read(body)
        asked = robots_txt.asked(token)
        assert asked == _read_in_full(robots_txt, token)
        assert asked.crawl_delay == robots_txt.crawl_delay(token)
        assert asked.request_rate == robots_txt.request_rate(token)
        assert asked.visit_time == robots_txt.visit_time(token)

    def test_among_user_agent_lines(self) -> None:
        """Also above the line that names us, but not in the group before."""
        body = "User-agent: x\nCrawl-delay: 9\nDisallow: /\n"
        body += "User-agent: y\nCrawl-delay: 2\nUser-agent: a\n"
        assert read(body).asked("a").crawl_delay == 2
        assert read(body).asked("x").crawl_delay == 9
        assert read(body + "Disallow:\nUser-agent: z\nCrawl-delay: 3\n").asked("a").crawl_delay == 2
        assert read("Crawl-delay: 4\n" + body).asked("z") == Asked()


class TestSitemaps:
    """Sitemap lines, of any group or none."""

    @given(body=_bodies)
    def test_as_read_in_full(self, body: str) -> None:
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
    def test_plain_ones_stay_as_they_are(self, value: bytes, base: str) -> None:
        """A blank in front of a value has it go the long way."""
        assert sitemap_uri(value, base) == sitemap_uri(b"\xc2\xa0" + value, base)

    @pytest.mark.parametrize(
        "value", [b"http://h/?", b"http://h/a;b", b"HTTP://h/a", b"http://h/#"]
    )
    def test_others_are_joined(self, value: bytes) -> None:
        assert sitemap_uri(value, "") == sitemap_uri(b"\xc2\xa0" + value, "")

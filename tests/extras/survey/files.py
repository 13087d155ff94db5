"""Files for the tests of surveys."""

from __future__ import annotations

import base64
import gzip
import json

from hypothesis import strategies as st

from scrapy_rep.extras.survey.captures import Capture
from tests.shared import SHARED

SMALL: dict[str, bytes] = {
    "open.example": b"User-agent: *\nDisallow:\n",
    "closed.example": b"User-agent: *\nDisallow: /\n",
    "half.example": b"User-agent: *\nDisallow: /a\nSitemap: https://cdn.example/s.xml\n",
    "ai.example": (
        b"User-agent: GPTBot\nUser-agent: CCBot\nDisallow: /\n\nUser-agent: *\n"
        b"Content-Signal: search=yes, ai-train=no\nCrawl-delay: 10\nAllow: /\n"
    ),
    "usage.example": (
        b"User-Agent: *\nContent-Usage: train-ai=n\nDisallow: /x*y$\n"
        b"License: https://usage.example/license.xml\n"
    ),
    "page.example": b"<!doctype html><html><body>404: not found</body></html>",
    "empty.example": b"",
    "twin.example": b"User-agent: *\nDisallow: /\n",
    "octets.example": b"\xff\xfe\x00User-agent: *\r\nDis\xe4llow: /\r",
}


def captures() -> list[Capture]:
    return [Capture(host, body=body) for host, body in SMALL.items()]


def corpus() -> list[tuple[str, bytes]]:
    assert SHARED is not None
    with gzip.open(SHARED / "corpus" / "robots.jsonl.gz") as lines:
        rows = map(json.loads, lines)
        return [(row["host"], base64.b64decode(row["body_b64"])) for row in rows]


_LINES = st.sampled_from(
    [
        *[b"User-agent: *", b"User-agent: GPTBot", b"user-agent: mj12bot", b"User-agent: foo/2"],
        *[b"Disallow: /", b"Disallow:", b"Disallow: /a*b$", b"Allow: /a", b"Disallow: x"],
        *[b"Crawl-delay: 1.5", b"Crawl-delay: 1e9", b"Sitemap: /s.xml", b"# note", b"", b"nothing"],
        *[b"Content-Signal: ai-train=no", b"<html>", b"Allow: /%41", b"Noindex: /b", b"\xff\xff"],
    ]
)
BODIES = st.lists(_LINES, max_size=8).map(b"\n".join)
HOSTS = st.sampled_from([f"{letter}.example" for letter in "abcdefghijklmnop"])
CAPTURES = st.builds(
    Capture,
    host=HOSTS,
    scheme=st.sampled_from(["", "http", "https"]),
    port=st.sampled_from([None, 80, 443, 8080]),
    date=st.sampled_from(["", "2026-01-01T00:00:00Z", "2025-01-01T00:00:00Z"]),
    status=st.sampled_from([None, 200, 204, 301, 404, 500, 1234]),
    failure=st.sampled_from(["", "", "dns", "invented"]),
    hops=st.sampled_from([None, 0, 3]),
    cross_host=st.sampled_from([None, True, False]),
    media_type=st.sampled_from(["", "text/plain", "x/y"]),
    max_age=st.sampled_from([None, -1, 86400, 10**40]),
    body=st.none() | BODIES,
)

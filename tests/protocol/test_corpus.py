"""Real files: 2,811 of them, with the answers of two independent readings to compare ours with."""

from __future__ import annotations

import base64
import gzip
import json
from functools import cache
from typing import Any
from urllib.parse import urljoin

from scrapy_rep.protocol.access.events import Failure, seen_whole
from scrapy_rep.protocol.document import RobotsTxt, parse
from scrapy_rep.protocol.lines import Coding
from tests.shared import SHARED, needs_shared

_VERDICTS = 207_411
_HOSTS_WITH_SITEMAPS = 1_451


def _rows(name: str) -> list[dict[str, Any]]:
    assert SHARED is not None
    with gzip.open(SHARED / "corpus" / f"{name}.jsonl.gz", "rb") as file:
        return [json.loads(line) for line in file]


@cache
def _bodies() -> dict[str, bytes]:
    return {row["host"]: base64.b64decode(row["body_b64"]) for row in _rows("robots")}


@needs_shared
class TestVerdicts:
    """Verdict and deciding line are those of Google's matcher over the normal form of part 3."""

    def test_every_verdict_is_as_written_down(self) -> None:
        asked = 0
        wrong: list[tuple[str, str, str]] = []
        for row in _rows("verdicts"):
            robots_txt = parse(_bodies()[row["host"]])
            for agent, allowed in row["allowed"].items():
                lines = row["line"][agent]
                for url, answer, line in zip(row["urls"], allowed, lines, strict=True):
                    verdict = robots_txt.verdict(url, agent)
                    asked += 1
                    if (verdict.allowed, verdict.line) != (answer == "1", line):
                        wrong.append((row["host"], agent, url))
        assert wrong == []
        assert asked == _VERDICTS


@needs_shared
def test_pages_of_html() -> None:
    """One file in 31 is one by its octets alone; one in 22 if it was sent as HTML."""
    counts = [
        sum(
            seen_whole(200, {"content-type": kind}, body) is Failure.HTML
            for body in _bodies().values()
        )
        for kind in ("text/plain", "text/html")
    ]
    assert counts == [91, 128]


@needs_shared
class TestSitemaps:
    """Sitemap lines are Protego's, absolute, http(s) and each once; three files differ, argued."""

    def test_sitemaps_of_every_file_are_found(self) -> None:
        rows = _rows("sitemaps")
        wrong = {
            row["host"]
            for row in rows
            if list(_read(row["host"]).sitemaps) != _from_raw(row["protego"], row["host"])
        }
        assert wrong == {"www.au.dk", "www.garuda-indonesia.com"}
        doubled = _read("www.garuda-indonesia.com").sitemaps  # written https://https://
        assert doubled == ("https://www.garuda-indonesia.com/sitemap.xml",)
        assert len(rows) == _HOSTS_WITH_SITEMAPS

    def test_colon_missing_after_the_key(self) -> None:
        """``sitemap http://...``: the first colon divides (1), and the rest is resolved (4)."""
        assert _read("www.au.dk").sitemaps == (
            "https://www.au.dk/sitemap.xml",
            "https://www.au.dk/sitemap_en.xml",
        )

    def test_files_in_utf16(self) -> None:
        """Protego finds nothing in two files that are UTF-16; we decode them (1)."""
        listed = {row["host"] for row in _rows("sitemaps")}
        found = {host: _read(host) for host in _bodies() if host not in listed}
        more = {host: robots_txt for host, robots_txt in found.items() if robots_txt.sitemaps}
        assert sorted(more) == ["store.usps.com", "www.myvue.com"]
        assert all(robots_txt.codings == (Coding.UTF16,) for robots_txt in more.values())


def _read(host: str) -> RobotsTxt:
    return parse(_bodies()[host], f"https://{host}/robots.txt")


def _from_raw(values: list[str], host: str) -> list[str]:
    """The URIs of raw values: resolved, each once, without values that name no host (4).

    ``https:///sitemap.xml`` is relative under an https URL, in the lenient reading of RFC 3986,
    5.2.2 that `urljoin` has; ``http:///sitemap.xml`` there stays what it is, and names no host.
    """
    absolute = (urljoin(f"https://{host}/robots.txt", value) for value in values)
    return list(dict.fromkeys(uri for uri in absolute if not uri.startswith("http:///")))

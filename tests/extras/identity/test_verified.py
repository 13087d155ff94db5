"""Signed requests for many forms of URLs, at a site that reads RFC 9421 for itself."""

from __future__ import annotations

import random
import re
from base64 import urlsafe_b64decode
from pathlib import Path
from typing import Any

import pytest

from scrapy_rep.extras.identity.keys import KeyPair
from tests.crawling import LOOPS, Loop, crawl
from tests.crawls.settings import ADDON
from tests.servers.verifying import VerifyingSite

SPIDER = "tests.crawls.verified_spider:VerifiedSpider"
HANDLERS = {
    "http11": "http11.HTTP11DownloadHandler",
    "http2": "http2.H2DownloadHandler",
    "httpx": "_httpx.HttpxDownloadHandler",
    "aiohttp": "_aiohttp.AiohttpDownloadHandler",
}
NEEDS = {"httpx": "httpx2", "aiohttp": "aiohttp"}
PORTS = {"http": (80, 8080), "https": (443, 8443)}
"""The default port, and another one."""

HOSTS = ("127.0.0.1", "a.test", "a.test.", "B.Test", "xn--bcher-kva.test", "straße.test")
ESCAPES = ("%7e", "%41", "%2f", "%c3%A4", "%", "ä", "€", ";p=1")
PIECES = (*"aZ09~-._!$&'()*+,:;@=|^[]{}`\\\"<> ", *ESCAPES)
SEGMENTS = ("", ".", "..", "index.html", "a;b;c", "a;p=1;")
# Verbatim URLs that the handlers refuse, or for which they send no valid target:
_BY_TWISTED = re.compile(r"[ <>\"]|//[^/]*\?")
_BY_OTHERS = re.compile(r" (#|\Z)")


def random_url(of: random.Random, kind: str) -> str:
    """A URL as `start_urls` and links have it."""
    scheme = "https" if kind == "http2" else of.choice(("http", "https"))
    # A connection of Scrapy's HTTP/2 is for one form of the authority, here that of robots.txt.
    default, other = (f":{port}" for port in PORTS[scheme])
    ports = ("", "", "" if kind == "http2" else default, other)
    user = of.choice(("", "", "", "u:p@")) if kind in NEEDS else ""
    authority = user + of.choice(HOSTS) + of.choice(ports)
    path = "".join(f"/{_segment(of)}" for _ in range(of.choice((0, 0, 1, 2, 3))))
    if path:
        path += of.choice(("", "", ";", "/"))
    query = of.choice(("", "", "?", "?" + "".join(of.choices((*PIECES, "?", "/"), k=8))))
    return f"{scheme}://{authority}{path}{query}{of.choice(('', '', '', '#', '#top'))}"


def _segment(of: random.Random) -> str:
    known, made = of.choice(SEGMENTS), "".join(of.choices(PIECES, k=of.randrange(6)))
    return known if of.random() < 1 / 5 else made


def verbatim_of(urls: list[str], kind: str) -> list[str]:
    """Those that are sent as they are: every third, as far as the handler can send it."""
    unsent = _BY_OTHERS if kind in NEEDS else _BY_TWISTED
    return [url for url in urls[::3] if url.isascii() and not unsent.search(url)]


def assert_verified(kind: str, loop: Loop, seed: int, count: int, folder: Path) -> None:
    """Every request is verified, those of robots.txt too; each page as the site wants it."""
    handler = f"scrapy.core.downloader.handlers.{HANDLERS[kind]}"
    for needed in (handler.rpartition(".")[0], NEEDS.get(kind, "scrapy")):
        pytest.importorskip(needed)
    of, found = random.Random(seed), dict[str, None]()
    while len(found) < count:
        found[random_url(of, kind)] = None
    urls = list(found)
    schemes = ("https",) if kind == "http2" else ("http", "https")
    pair = KeyPair.create(folder / "bot.pem")
    settings: dict[str, Any] = {
        **ADDON,
        "REP_SIGN_KEY": str(folder / "bot.pem"),
        "REP_SIGN_AGENT": "https://bot.example",
        "REP_SIGN_HTTP": True,
        "DOWNLOAD_HANDLERS": dict.fromkeys(schemes, handler),
        "RETRY_ENABLED": False,
    }
    with VerifyingSite(urlsafe_b64decode(pair.jwk["x"] + "=")) as site:
        result = crawl(
            SPIDER,
            loop=loop,
            settings=settings,
            urls=urls,
            verbatim=verbatim_of(urls, kind),
            ports={port: site.ports[scheme] for scheme, ports in PORTS.items() for port in ports},
        )
        refused, verified = site.refused(), site.verified()
    assert refused == []
    assert result.error == ""
    assert [item for item in result.items if item.get("status") != 200] == []
    assert len(result.items) == count
    assert verified == result.stats["rep/signed_again"] > count
    assert verified == result.stats["rep/signed"], "each was wanted otherwise, once"


@pytest.mark.parametrize("kind", HANDLERS)
def test_a_site_verifies_every_form_of_a_url(kind: str, tmp_path: Path) -> None:
    assert_verified(kind, "asyncio", 9421, 60, tmp_path)


@pytest.mark.parametrize("loop", LOOPS[1:])
def test_a_site_verifies_every_form_of_a_url_in_each_loop(loop: Loop, tmp_path: Path) -> None:
    kind = "aiohttp" if loop == "reactorless" else "http11"
    assert_verified(kind, loop, 9421, 60, tmp_path)


@pytest.mark.at_length
@pytest.mark.parametrize("kind", HANDLERS)
def test_a_site_verifies_a_thousand_urls(kind: str, tmp_path: Path) -> None:
    assert_verified(kind, "asyncio", 74, 1000, tmp_path)

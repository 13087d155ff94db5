"""Secrets in the files of a crawl with every option: each is only where the docs say."""

from __future__ import annotations

import gzip
import re
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.commands.calling import rep
from tests.crawling import Crawl, crawl
from tests.crawls.settings import ADDON, URLS_SPIDER
from tests.redis_server import RedisServer, needs_redis
from tests.servers.handle import Answer, Site

pytest.importorskip("jinja2", reason="needs Jinja")
pytest.importorskip("warcio", reason="needs warcio")

FILE = "User-agent: *\nDisallow: /private\n"
# By what the docs say of it: the parts of what a crawl writes that may hold it.
NOWHERE = ("Cookie", "ApiKey", "SentKey", "Userinfo", "Password", "Linked")
PAGE = "/page"
QUERY, REDIRECT, FRAGMENT = "PlantedPageQuery", "PlantedRedirectQuery", "PlantedFragment"


def planted(name: str) -> str:
    return f"Planted{name}"


def site_of() -> Site:
    """Its robots.txt is behind a redirect; both answers hold secrets."""
    told = [
        ("Set-Cookie", f"a={planted('Cookie')}"),
        ("X-Api-Key", planted("ApiKey")),
        ("Link", f"<http://a:{planted('Linked')}@127.0.0.1/>; rel=next"),
    ]
    site = Site()
    userinfo = f"{planted('Userinfo')}:{planted('Password')}@"
    target = f"http://{userinfo}127.0.0.1:{site.port}/r?t={REDIRECT}#{FRAGMENT}"
    moved = Answer(status=301, headers=[*told, ("Location", target)])
    site.change(
        {
            "/robots.txt": moved,
            f"/r?t={REDIRECT}": Answer(body=FILE, headers=told),
            f"{PAGE}?token={QUERY}": Answer(body="page", headers=told),
        }
    )
    return site


def crawled(root: Path, site: Site, **settings: Any) -> Crawl:
    userinfo = f"{planted('Userinfo')}:{planted('Password')}@"
    urls = [
        f"http://{userinfo}127.0.0.1:{site.port}{path}?token={QUERY}" for path in ("/a", "/private")
    ]
    urls.append(site.url(f"{PAGE}?token={QUERY}"))  # in two loops Scrapy refuses URLs with userinfo
    every = {
        **ADDON,
        "REP_STORE": "sqlite",
        "REP_STORE_PATH": str(root / "store.sqlite"),
        "REP_STORE_VERSIONS": 3,
        "REP_AUDIT_DIR": str(root / "audit"),
        "REP_WARC_DIR": str(root / "warc"),
        "REP_REPORT": str(root / "report.html"),
        "DEFAULT_REQUEST_HEADERS": {"X-Api-Key": planted("SentKey")},
        "LOG_LEVEL": "DEBUG",
    }
    result = crawl(URLS_SPIDER, settings={**every, **settings}, urls=urls)
    assert result.exit_code == 0, result.error
    assert urls[-1] in [item["url"] for item in result.items if item.get("status") == 200]
    return result


def texts(root: Path) -> Iterator[tuple[str, bytes]]:
    """Each file, by the part of what a crawl writes that it belongs to."""
    for path in root.rglob("*"):
        if path.is_file() and not path.is_symlink():
            octets = path.read_bytes()
            with suppress(gzip.BadGzipFile):
                octets = gzip.decompress(octets)
            yield path.relative_to(root).parts[0].partition(".")[0], octets


def places(of: str, found: list[tuple[str, bytes]]) -> set[str]:
    return {part for part, octets in found if of.encode() in octets}


def everything(root: Path, result: Crawl) -> list[tuple[str, bytes]]:
    """All that was written, what commands show of it, and our own lines in the log."""
    own = [line for line in result.log.splitlines() if re.search(r"\[(scrapy_rep|rep)[.\]]", line)]
    assert any("/private" in line for line in own), "a request was dropped"
    store = ["-s", "REP_STORE=sqlite", "-s", f"REP_STORE_PATH={root / 'store.sqlite'}"]
    shown = [rep("cache", *action, *store).out for action in (["export"], ["show", "--all"])]
    assert all("127.0.0.1" in text for text in shown)
    texts_of = [*texts(root), ("log", "\n".join(own).encode())]
    return texts_of + [("cache", text.encode()) for text in shown]


def test_secrets_of_a_crawl(tmp_path: Path) -> None:
    with site_of() as site:
        found = everything(tmp_path, crawled(tmp_path, site))
    assert {name: of for name in NOWHERE if (of := places(planted(name), found))} == {}
    assert places(QUERY, found) == {"audit", "log"}
    assert places(REDIRECT, found) == {"audit", "warc", "store", "cache"}
    assert places(FRAGMENT, found) == {"warc"}
    assert places("x-api-key", found) == {"warc"}, "the name of a field that was left out"


def test_dropped_queries_are_in_no_record(tmp_path: Path) -> None:
    with site_of() as site:
        crawled(tmp_path, site, REP_AUDIT_QUERY="drop")
    found = [*texts(tmp_path)]
    assert places(QUERY, found) == set()
    assert places(REDIRECT, found) == {"warc", "store"}


def test_only_the_owner_may_read(tmp_path: Path) -> None:
    with site_of() as site:
        crawled(tmp_path, site)
    files = [path for part in ("audit", "warc") for path in (tmp_path / part).rglob("*.*")]
    files += tmp_path.glob("store.sqlite*")
    modes = {path.name: oct(stat.S_IMODE(path.stat().st_mode)) for path in files if path.is_file()}
    assert len(modes) >= 4
    assert set(modes.values()) == {"0o600"}, modes


@needs_redis
def test_secrets_in_redis(tmp_path: Path, redis_server: RedisServer) -> None:
    with site_of() as site:
        settings = {"REP_STORE": "redis", "REP_REDIS_URL": redis_server.url}
        crawled(tmp_path, site, **settings)
    with redis_server.client() as client:
        found = [("redis", client.get(key) or b"") for key in client.keys("rep:*:p2:*")]
    assert places(REDIRECT, found) == {"redis"}
    assert {name: of for name in NOWHERE if (of := places(planted(name), found))} == {}

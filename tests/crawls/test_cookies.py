"""Cookie walls: sites that show their robots.txt only to clients that return a cookie."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pytest

from scrapy_rep.cache.sqlite import read_entries
from tests.commands.calling import rep_process
from tests.crawling import LOOPS, Crawl, Loop, crawl
from tests.crawls.settings import ADDON, URLS_SPIDER, WITH_SCRAPYS_QUEUE
from tests.servers.handle import Answer, Site, redirect

_SECRET = "s3cr3t"
_RULES = "User-agent: *\nDisallow: /x\n"
_TO_ITSELF = {
    "/robots.txt": Answer(body=_RULES, wall=(f"seen={_SECRET}", "")),
    "/*": Answer(body="page", wall=("page=1", "")),
}
_BY_ANOTHER_PATH = {
    "/robots.txt": Answer(body=_RULES, wall=(f"seen={_SECRET}", "/setcookie?to=/robots.txt")),
    "/setcookie*": Answer(
        status=302, headers=[("Location", "/robots.txt"), ("Set-Cookie", f"seen={_SECRET}")]
    ),
}
WALLS = {"to itself": _TO_ITSELF, "by another path": _BY_ANOTHER_PATH}


def asked(site: Site) -> list[tuple[str, str | None]]:
    """The requests for robots.txt and on the way there, with their cookies."""
    pages = ("/a", "/x")
    seen = [one for one in site.requests() if one.path not in pages]
    return [(one.path, one.headers.get("cookie")) for one in seen]


def run(site: Site, *, loop: Loop = "asyncio", **settings: Any) -> Crawl:
    urls = [site.url("/x"), site.url("/a")]
    return crawl(URLS_SPIDER, loop=loop, settings={**ADDON, **settings}, urls=urls)


@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize("wall", WALLS)
def test_the_file_behind_a_wall_is_obeyed(loop: Loop, wall: str) -> None:
    with Site(WALLS[wall]) as site:
        result = run(site, loop=loop)
        assert "/x" not in site.paths(), result.log
        assert "/a" in site.paths()
        first, *_, last = asked(site)
    assert first == ("/robots.txt", None)
    assert last == ("/robots.txt", f"seen={_SECRET}")
    assert result.stats["rep/event/200"] == 1
    assert "rep/event/redirect-loop" not in result.stats


@pytest.mark.parametrize("loop", LOOPS)
def test_loop_without_a_cookie_ends_at_once(loop: Loop) -> None:
    """It does too where the cookie was set before: it has been brought, and changes nothing."""
    circle = Answer(body=_RULES, wall=("seen=1", ""))
    with Site({"/robots.txt": circle, "/*": circle}) as site:
        site.change({"/robots.txt": [circle, redirect("/robots.txt")]})
        result = run(site, loop=loop)
        assert asked(site) == [("/robots.txt", None), ("/robots.txt", "seen=1")], result.log
    assert result.stats["rep/event/redirect-loop"] == 1


@pytest.mark.parametrize("loop", LOOPS)
def test_site_that_always_sets_a_cookie_is_given_up(loop: Loop) -> None:
    fields = [("Location", "/robots.txt"), ("Set-Cookie", "seen=1")]
    with Site({"/robots.txt": Answer(status=302, headers=fields)}) as site:
        result = run(site, loop=loop, REP_POLICY="strict")
        assert site.paths() == ["/robots.txt"] * 6
    assert result.stats["rep/event/redirect-limit"] == 1


# Set by 127.0.0.1 on the way to localhost. None of these is for the path or the host asked next.
_NOT_SENT = ["a=1; Domain=localhost", "a=1; Domain=127.0.0.2", "a=1; Path=/other", "a=1; Secure"]
_NOT_SENT += ["a=1; Max-Age=0", "a=1; Expires=Thu, 01 Jan 1970 00:00:00 GMT"]


@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize("cookie", ["a=1", *_NOT_SENT])
def test_cookie_goes_only_to_its_site(loop: Loop, cookie: str) -> None:
    """Back to the host that set it, if it is for that path, and never to another one."""
    with Site({"/robots.txt": Answer(body=_RULES)}) as other:
        fields = [("Location", "/away"), ("Set-Cookie", cookie)]
        away = redirect(other.url("/robots.txt", "localhost"))
        routes = {"/robots.txt": Answer(status=302, headers=fields), "/away": away}
        with Site(routes) as site:
            result = run(site, loop=loop)
            assert [one for one in asked(site) if one[0] == "/away"] == [
                ("/away", "a=1" if cookie == "a=1" else None)
            ]
            assert "/x" not in site.paths(), result.log
        assert asked(other) == [("/robots.txt", None)]


@pytest.mark.parametrize("loop", LOOPS)
def test_cookies_end_with_their_exchange(loop: Loop) -> None:
    """Neither another origin, nor the next fetch, nor any page, nor the store gets them."""
    with Site(_TO_ITSELF) as site:
        urls = [site.url("/a"), site.url("/a", "localhost")]
        settings = {**ADDON, "COOKIES_ENABLED": True}
        result = crawl(URLS_SPIDER, loop=loop, settings=settings, urls=urls)
        seen = site.requests()
    assert result.stats["rep/event/200"] == 2
    robots = [one.headers.get("cookie") for one in seen if one.path == "/robots.txt"]
    assert sorted(map(str, robots)) == ["None", "None", *[f"seen={_SECRET}"] * 2]
    pages = {one.headers.get("cookie") for one in seen if one.path != "/robots.txt"}
    assert pages == {None, "page=1"}


@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize("mine", ["mine=1", f"unseen={_SECRET}"])
def test_a_cookie_that_the_user_sends_goes_along(loop: Loop, mine: str) -> None:
    with Site(_TO_ITSELF) as site:
        result = run(site, loop=loop, DEFAULT_REQUEST_HEADERS={"Cookie": mine})
        robots = [cookie for path, cookie in asked(site) if path == "/robots.txt"]
        assert "/x" not in site.paths()
    assert robots == [mine, f"{mine}; seen={_SECRET}"], result.log


@pytest.mark.parametrize("loop", LOOPS)
def test_scrapys_own_cookies_can_be_used(loop: Loop) -> None:
    with Site(_TO_ITSELF) as site:
        run(site, loop=loop, REP_FETCH_META={"dont_merge_cookies": False})
        robots = [cookie for path, cookie in asked(site) if path == "/robots.txt"]
    assert robots == [None, f"seen={_SECRET}"]


@pytest.mark.parametrize("loop", LOOPS)
def test_target_of_a_redirect_has_the_file_behind_its_wall(loop: Loop) -> None:
    """The answer of the last hop counts for the target, which is not fetched again."""
    with Site(_TO_ITSELF) as target:
        with Site({"/robots.txt": redirect(target.url("/robots.txt"))}) as site:
            settings = {**WITH_SCRAPYS_QUEUE, "CONCURRENT_REQUESTS": 1, "DOWNLOAD_DELAY": 0.1}
            urls = [site.url("/a"), target.url("/x"), target.url("/a")]
            result = crawl(URLS_SPIDER, loop=loop, settings=settings, urls=urls)
            assert site.paths() == ["/robots.txt", "/a"], result.log
        assert target.paths().count("/robots.txt") == 2
        assert "/x" not in target.paths()
    assert result.stats["rep/store/hit"] == 1


@pytest.mark.parametrize("loop", LOOPS)
def test_the_cookie_is_written_nowhere(loop: Loop, tmp_path: Path) -> None:
    pytest.importorskip("warcio")
    setting = Answer(body=_RULES, wall=(f"seen={_SECRET}", ""), headers=[("Set-Cookie", _SECRET)])
    with Site({"/robots.txt": setting}) as site:
        result = run(
            site,
            loop=loop,
            REP_WARC_DIR=str(tmp_path / "warc"),
            REP_AUDIT_DIR=str(tmp_path / "audit"),
            REP_STORE="sqlite",
            REP_STORE_PATH=str(tmp_path / "store"),
            LOG_LEVEL="DEBUG",
        )
        assert result.stats["rep/warc/records"]
    assert _SECRET not in result.log
    for file in tmp_path.rglob("*.gz"):
        assert _SECRET.encode() not in gzip.decompress(file.read_bytes()), file
    entries = [entry for entry in read_entries(tmp_path / "store", 0, 1 << 40) if entry]
    assert len(entries) == 1
    assert _SECRET not in repr(entries)


@pytest.mark.slow
@pytest.mark.parametrize("wall", WALLS)
def test_commands_pass_the_wall_as_crawls_do(wall: str, tmp_path: Path) -> None:
    with Site(WALLS[wall]) as site:
        store = ("-s", f"REP_STORE_PATH={tmp_path / 'store.sqlite'}")
        check = rep_process("rep", "check", site.url("/x"), site.url("/a"), *store)
        lint = rep_process("rep", "lint", site.url("/"))
    assert (check.status, check.out.count("line 2, Disallow: /x")) == (1, 1), check.err
    assert "unavailable" not in check.out
    assert lint.status == 0, lint.out

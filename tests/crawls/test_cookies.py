"""Cookie walls: sites that show their robots.txt only to clients that return a cookie."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.commands.calling import rep_process
from tests.crawling import Crawl, Loop, crawl
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


@pytest.mark.parametrize("wall", WALLS)
def test_the_file_behind_a_wall_is_obeyed(wall: str) -> None:
    with Site(WALLS[wall]) as site:
        result = run(site)
        assert "/x" not in site.paths(), result.log
        assert "/a" in site.paths()
        first, *_, last = asked(site)
    assert first == ("/robots.txt", None)
    assert last == ("/robots.txt", f"seen={_SECRET}")
    assert result.stats["rep/event/200"] == 1
    assert "rep/event/redirect-loop" not in result.stats


def test_loop_without_a_cookie_ends_at_once() -> None:
    """It does too where the cookie was set before: it has been brought, and changes nothing."""
    circle = Answer(body=_RULES, wall=("seen=1", ""))
    with Site({"/robots.txt": circle, "/*": circle}) as site:
        site.change({"/robots.txt": [circle, redirect("/robots.txt")]})
        result = run(site)
        assert asked(site) == [("/robots.txt", None), ("/robots.txt", "seen=1")], result.log
    assert result.stats["rep/event/redirect-loop"] == 1


def test_site_that_always_sets_a_cookie_is_given_up() -> None:
    fields = [("Location", "/robots.txt"), ("Set-Cookie", "seen=1")]
    with Site({"/robots.txt": Answer(status=302, headers=fields)}) as site:
        result = run(site, REP_POLICY="strict")
        assert site.paths() == ["/robots.txt"] * 6
    assert result.stats["rep/event/redirect-limit"] == 1


@pytest.mark.parametrize("cookie", ["a=1", "a=1; Path=/other"])
def test_cookie_goes_only_to_its_site(cookie: str) -> None:
    """Back to the host that set it, if it is for that path, and never to another one."""
    with Site({"/robots.txt": Answer(body=_RULES)}) as other:
        fields = [("Location", "/away"), ("Set-Cookie", cookie)]
        away = redirect(other.url("/robots.txt", "localhost"))
        routes = {"/robots.txt": Answer(status=302, headers=fields), "/away": away}
        with Site(routes) as site:
            result = run(site)
            assert [one for one in asked(site) if one[0] == "/away"] == [
                ("/away", "a=1" if cookie == "a=1" else None)
            ]
            assert "/x" not in site.paths(), result.log
        assert asked(other) == [("/robots.txt", None)]


def test_cookies_end_with_their_exchange() -> None:
    """Neither another origin, nor the next fetch, nor any page, nor the store gets them."""
    with Site(_TO_ITSELF) as site:
        urls = [site.url("/a"), site.url("/a", "localhost")]
        settings = {**ADDON, "COOKIES_ENABLED": True}
        result = crawl(URLS_SPIDER, settings=settings, urls=urls)
        seen = site.requests()
    assert result.stats["rep/event/200"] == 2
    robots = [one.headers.get("cookie") for one in seen if one.path == "/robots.txt"]
    assert sorted(map(str, robots)) == ["None", "None", *[f"seen={_SECRET}"] * 2]
    pages = {one.headers.get("cookie") for one in seen if one.path != "/robots.txt"}
    assert pages == {None, "page=1"}


@pytest.mark.parametrize("mine", ["mine=1", f"unseen={_SECRET}"])
def test_a_cookie_that_the_user_sends_goes_along(mine: str) -> None:
    with Site(_TO_ITSELF) as site:
        result = run(site, DEFAULT_REQUEST_HEADERS={"Cookie": mine})
        robots = [cookie for path, cookie in asked(site) if path == "/robots.txt"]
        assert "/x" not in site.paths()
    assert robots == [mine, f"{mine}; seen={_SECRET}"], result.log


def test_target_of_a_redirect_has_the_file_behind_its_wall() -> None:
    """The answer of the last hop counts for the target, which is not fetched again."""
    with Site(_TO_ITSELF) as target:
        with Site({"/robots.txt": redirect(target.url("/robots.txt"))}) as site:
            settings = {**WITH_SCRAPYS_QUEUE, "CONCURRENT_REQUESTS": 1, "DOWNLOAD_DELAY": 0.1}
            urls = [site.url("/a"), target.url("/x"), target.url("/a")]
            result = crawl(URLS_SPIDER, settings=settings, urls=urls)
            assert site.paths() == ["/robots.txt", "/a"], result.log
        assert target.paths().count("/robots.txt") == 2
        assert "/x" not in target.paths()
    assert result.stats["rep/store/hit"] == 1


@pytest.mark.slow
def test_commands_pass_the_wall_as_crawls_do(tmp_path: Path) -> None:
    with Site(_TO_ITSELF) as site:
        store = ("-s", f"REP_STORE_PATH={tmp_path / 'store.sqlite'}")
        check = rep_process("rep", "check", site.url("/x"), site.url("/a"), *store)
        lint = rep_process("rep", "lint", site.url("/"))
    assert (check.status, check.out.count("line 2, Disallow: /x")) == (1, 1), check.err
    assert "unavailable" not in check.out
    assert lint.status == 0, lint.out

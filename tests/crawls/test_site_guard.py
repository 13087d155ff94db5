"""The URLs that a site names: none of them leads a guarded crawl to a private address."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.commands.calling import rep_process
from tests.crawling import LOOPS, Crawl, Loop, crawl
from tests.crawls.settings import ADDON, WITH_SCRAPYS_QUEUE
from tests.crawls.test_sitemaps import SITES, index, robots, urlset, xml
from tests.servers.handle import Answer, Site, redirect

_REBIND = {"tests.faults.middlewares.Rebind": 900}
_QUEUES = pytest.mark.parametrize("ground", [ADDON, WITH_SCRAPYS_QUEUE], ids=["ours", "Scrapy's"])


@pytest.fixture
def inside() -> Iterator[Site]:
    """A machine that only we can reach, at 127.0.0.1."""
    with Site({"/robots.txt": Answer(status=404)}) as inside:
        sitemaps = {f"/{name}.xml": xml(urlset(inside.url("/page"))) for name in "abc"}
        inside.change({**sitemaps, "/*": Answer(body="secret")})
        yield inside


@pytest.fixture
def hostile(inside: Site) -> Iterator[Site]:
    """A site at `localhost` that names this machine in each way."""
    with Site() as site:
        own = {name: site.url(f"/{name}", "localhost") for name in ("i.xml", "moved.xml", "p.xml")}
        site.change(
            {
                "/robots.txt": robots(inside.url("/a.xml"), *own.values()),
                "/i.xml": xml(index(inside.url("/b.xml"))),
                "/moved.xml": redirect(inside.url("/c.xml")),
                "/p.xml": xml(
                    urlset(
                        inside.url("/page"),
                        site.url("/there", "localhost"),
                        site.url("/here", "localhost"),
                    )
                ),
                "/there": redirect(inside.url("/other")),
                "/here": Answer(body="a page"),
            }
        )
        yield site


def run(site: Site, loop: Loop = "asyncio", ground: Any = ADDON, **settings: Any) -> Crawl:
    settings = {**ground, "REP_REDIRECT_GUARD": "public", **settings}
    result = crawl(SITES, loop=loop, settings=settings, sites=site.url("", "localhost"))
    assert result.exit_code == 0, result.log
    return result


@_QUEUES
@pytest.mark.parametrize("loop", LOOPS)
def test_no_request_goes_to_a_private_address(
    loop: Loop, ground: Any, hostile: Site, inside: Site
) -> None:
    """No robots.txt, no sitemap and no page; a dry run drops these requests too."""
    result = run(hostile, loop, ground, REP_DRY_RUN=True)
    assert inside.paths() == []
    assert [item["url"] for item in result.items] == [hostile.url("/here", "localhost")]
    assert result.stats["rep/sitemap/left_out/guard"] == 3
    assert result.stats["rep/guarded"] == 5, "three sitemaps, a page, and where a page redirects"
    told = [line for line in result.log.splitlines() if "REP_REDIRECT_GUARD = 'public'" in line]
    (line,) = told
    assert "127.0.0.1 is no public address" in line
    assert "REP_GUARD_NETWORKS" in line


@_QUEUES
@pytest.mark.parametrize(
    "settings",
    [{"REP_REDIRECT_GUARD": "any"}, {"REP_GUARD_NETWORKS": "127.0.0.0/8"}],
    ids=["any", "own network"],
)
def test_permitted_addresses_are_visited(
    settings: dict[str, Any], ground: Any, hostile: Site, inside: Site
) -> None:
    result = run(hostile, ground=ground, **settings)
    paths = ["/a.xml", "/b.xml", "/c.xml", "/other", "/page", "/robots.txt"]
    assert sorted(set(inside.paths())) == paths, result.log
    assert "rep/guarded" not in result.stats


def test_another_site_is_refused_by_its_name(hostile: Site, inside: Site) -> None:
    result = run(hostile, REP_REDIRECT_GUARD="same-site")
    assert inside.paths() == []
    assert "127.0.0.1 is of another site" in result.log
    assert result.stats["rep/guarded"] == 5


def test_pages_that_a_spider_requests_itself_are_its_own_choice(inside: Site) -> None:
    """Its start URLs, also if another request to the same host is refused meanwhile."""
    with Site({"/robots.txt": robots(inside.url("/a.xml"))}) as site:
        result = crawl(
            SITES,
            settings={**ADDON, "REP_REDIRECT_GUARD": "public"},
            sites=site.url("", "localhost"),
            start_urls=[inside.url("/own")],
        )
    assert set(inside.paths()) <= {"/robots.txt", "/own"}
    assert result.stats["rep/guarded"] == 1, result.log


@pytest.mark.parametrize("loop", LOOPS)
def test_answer_from_an_address_that_the_check_did_not_see_is_not_read(loop: Loop) -> None:
    with Site() as site:
        rebound = site.url("/x.xml", "rebound.test")
        site.change(
            {
                "/robots.txt": robots(rebound),
                "/x.xml": xml(urlset(site.url("/page", "localhost"))),
                "/page": Answer(body="a page"),
            }
        )
        result = run(site, loop, DOWNLOADER_MIDDLEWARES=_REBIND)
        assert "/x.xml" not in site.paths(), "its robots.txt was not read"
        assert result.stats["rep/event/guard"] == 1, result.log
        overrides = {"guard": "allow"}
        result = run(site, loop, DOWNLOADER_MIDDLEWARES=_REBIND, REP_POLICY_OVERRIDES=overrides)
        assert "/page" not in site.paths(), result.log
        assert result.stats["rep/sitemap/left_out/guard"] == 1
        result = run(site, loop, DOWNLOADER_MIDDLEWARES=_REBIND, REP_REDIRECT_GUARD="any")
        assert "/page" in site.paths(), result.log


def test_host_without_an_address_is_tried_again_as_usual() -> None:
    with Site() as site:
        site.change({"/robots.txt": robots("http://absent.invalid/s.xml")})
        result = run(site)
    assert "rep/guarded" not in result.stats
    assert result.stats["rep/event/dns"] == 1, result.log


def test_commands_are_guarded(hostile: Site, inside: Site) -> None:
    given = ["-s", "REP_STORE=memory", "-s", "REP_REDIRECT_GUARD=public"]
    url = hostile.url("", "localhost")
    planned = rep_process("rep", "plan", url, "--json", *given)
    (facts,) = planned.rows
    problems = " ".join(facts["sitemaps"]["problems"])
    assert problems.count("127.0.0.1 is no public address") == 3, planned.err
    checked = rep_process("rep", "check", "--sitemap", url, *given)
    assert f"{inside.url('/page')}: not judged: 127.0.0.1 is no public address" in checked.out
    assert inside.paths() == []


def test_trail_has_the_refused_requests(hostile: Site, inside: Site, tmp_path: Path) -> None:
    pytest.importorskip("scrapy_rep.extras.evidence")
    from tests.extras.evidence.audit.crawled import audited, of_kind
    from tests.extras.evidence.audit.test_crawls import assert_sound

    settings = {"REP_REDIRECT_GUARD": "public"}
    sites = hostile.url("", "localhost")
    result, trail = audited([], tmp_path, spider=SITES, settings=settings, sites=sites)
    assert_sound(trail)
    refused = [one for one in of_kind(trail, "decision") if one["reason"] == "GUARDED"]
    assert {one["why"] for one in refused} == {"127.0.0.1 is no public address"}
    assert len(refused) == result.stats["rep/guarded"] == 5
    assert {one["url"] for one in refused} >= {inside.url("/page"), inside.url("/a.xml")}

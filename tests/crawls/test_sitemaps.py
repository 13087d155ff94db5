"""Spiders that begin with sitemaps: one robots.txt fetch per origin, and what it allows."""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

import pytest
from scrapy import Spider
from scrapy.utils.test import get_crawler

from scrapy_rep import ConfigurationError
from tests.crawling import LOOPS, Crawl, Loop, crawl
from tests.crawls.settings import ADDON
from tests.crawls.sitemap_spider import SitesSpider
from tests.servers.handle import Answer, Site, redirect

SITES = "tests.crawls.sitemap_spider:SitesSpider"
DATES = "tests.crawls.sitemap_spider:DatesSpider"
LAST = "last run"
XML = (("Content-Type", "application/xml"),)


def urlset(*urls: str, root: str = "urlset", entry: str = "url") -> str:
    locs = "".join(f"<{entry}><loc>{escape(url)}</loc></{entry}>" for url in urls)
    namespace = "http://www.sitemaps.org/schemas/sitemap/0.9"
    return f'<?xml version="1.0"?><{root} xmlns="{namespace}">{locs}</{root}>'


def index(*urls: str) -> str:
    return urlset(*urls, root="sitemapindex", entry="sitemap")


def xml(body: str | bytes) -> Answer:
    return Answer(body=body, headers=XML)


def robots(*sitemaps: str, disallow: Iterable[str] = (), holds_seconds: int = 60) -> Answer:
    lines = [f"Sitemap: {url}\n" for url in sitemaps]
    lines += ["User-agent: *\n", *(f"Disallow: {path}\n" for path in disallow)]
    return Answer(body="".join(lines), headers=(("Cache-Control", f"max-age={holds_seconds}"),))


def run(
    *sites: Site,
    loop: Loop = "asyncio",
    spider: str = SITES,
    probes: bool = False,
    **settings: Any,
) -> Crawl:
    named = ",".join(site.url("") for site in sites)
    result = crawl(
        spider, loop=loop, settings={**ADDON, **settings}, sites=named, sitemap_probe=probes
    )
    assert result.exit_code == 0, result.log
    assert result.finish_reason == "finished"
    return result


def crawled(spider: str, loop: Loop = "asyncio", **arguments: Any) -> Crawl:
    """The result of a spider of `sitemap_spider` with the settings of the add-on."""
    name = f"tests.crawls.sitemap_spider:{spider}Spider"
    result = crawl(name, loop=loop, settings=ADDON, **arguments)
    assert result.exit_code == 0, result.log
    return result


@pytest.mark.parametrize("loop", LOOPS)
def test_sitemap_values_are_read_as_meant(loop: Loop) -> None:
    """Lines with quotes, several URLs, or a host first; unclear lines are counted, not fetched."""
    with Site() as site:
        bare = site.url("").partition("//")[2].rstrip("/")
        values = (
            *['"/a.xml"', f"{site.url('/b.xml')}, {site.url('/c.xml')}", f"{bare}/d.xml"],
            f"http//{bare}/e.xml",
        )
        unclear = ["www.example.com/f.xml", "https:/a/f.xml", "/f.xml /g.xml", "<loc>/f.xml</loc>"]
        unclear.append("/robots.txt")
        maps = {f"/{name}.xml": xml(urlset(site.url(f"/{name}"))) for name in "abcdefg"}
        site.change({"/robots.txt": robots(*values, *unclear, ""), **maps})
        result = run(site, loop=loop)
        pages = [path for name in "abcde" for path in (f"/{name}", f"/{name}.xml")]
        assert sorted(site.paths()) == [*pages, "/robots.txt"]
    assert result.stats["rep/sitemap/left_out/invalid"] == len(unclear)
    assert "www.example.com/f.xml of" in result.log


@pytest.mark.parametrize("loop", LOOPS)
def test_one_fetch_per_origin_and_only_what_is_allowed(loop: Loop) -> None:
    """Nested, gzipped, in text, on other origins, disallowed, redirected: all in one crawl."""
    with Site() as site, Site() as other, Site() as moved:
        elsewhere = other.url("", host="localhost")
        site.change(
            {
                "/robots.txt": robots(
                    site.url("/index.xml"),
                    "/news.xml",
                    f"{elsewhere}/list.txt",
                    f"{elsewhere}/private/list.txt",
                    disallow=["/cart", "/secret.xml"],
                ),
                "/index.xml": xml(
                    index(
                        site.url("/deep/index.xml"), site.url("/secret.xml"), site.url("/index.xml")
                    )
                ),
                "/deep/index.xml": xml(index(site.url("/deep/pages.xml.gz"))),
                "/deep/pages.xml.gz": Answer(
                    body=gzip.compress(urlset(*map(site.url, ("/1", "/2", "/cart/3"))).encode()),
                    headers=(("Content-Type", "application/gzip"),),
                ),
                "/news.xml": xml(urlset(site.url("/2"), site.url("/4?a=1&b=2"))),
            }
        )
        other.change(
            {
                "/robots.txt": robots(disallow=["/private/", "/closed"]),
                "/list.txt": Answer(
                    body=f"{site.url('/5')}\n{elsewhere}/6\n{elsewhere}/closed\nnothing\n"
                ),
            }
        )
        moved.change(
            {
                "/robots.txt": redirect("/rules"),
                "/rules": robots(moved.url("/moved.xml"), disallow=["/x"]),
                "/moved.xml": redirect("/really/moved.xml"),
                "/really/moved.xml": xml(urlset(moved.url("/7"), moved.url("/x"))),
            }
        )
        result = run(site, moved, loop=loop)
        paths = {one: sorted(one.paths()) for one in (site, other, moved)}
    assert paths[site] == sorted(
        [
            *["/robots.txt", "/index.xml", "/deep/index.xml", "/deep/pages.xml.gz", "/news.xml"],
            *["/1", "/2", "/4?a=1&b=2", "/5"],
        ]
    ), result.log
    assert paths[other] == sorted(["/robots.txt", "/list.txt", "/6"])
    assert paths[moved] == sorted(
        ["/robots.txt", "/rules", "/moved.xml", "/really/moved.xml", "/7"]
    )
    assert len(result.items) == 6
    stats = result.stats
    assert stats["robotstxt/request_count"] == 3
    disallowed = {name for name in stats if name.startswith("test/disallowed/")}
    assert disallowed == {
        f"test/disallowed/{url}"
        for url in (
            *map(site.url, ("/secret.xml", "/cart/3")),
            *(f"{elsewhere}{path}" for path in ("/private/list.txt", "/closed")),
            moved.url("/x"),
        )
    }
    assert stats["robotstxt/forbidden"] == 5
    told = {name: count for name, count in stats.items() if name.startswith("test/discovered/")}
    assert told == {f"test/discovered/{one.url('')}": n for one, n in ((site, 4), (moved, 1))}
    assert stats["rep/sitemap/request_count"] == 9
    assert stats["rep/sitemap/read/index"] == 2
    assert stats["rep/sitemap/read/urlset"] == 3
    assert stats["rep/sitemap/read/text"] == 1
    assert result.deprecations == []


def test_hooks_of_sitemap_spider() -> None:
    """Rules, follow, filter and alternate links; relative, foreign and repeated addresses."""
    old, new = "<lastmod>2019</lastmod>", "<lastmod>2024-01-01</lastmod>"
    with Site() as site:
        pages = "".join(
            f"<url><loc>{loc}</loc>{date}{more}</url>"
            for loc, date, more in (
                (site.url("/shop/1"), new, ""),
                (site.url("/shop/1"), new, ""),
                (site.url("/shop/2"), old, ""),
                (site.url("/other"), new, ""),
                (" /news/3 ", new, f'<x:link href="{site.url("/news/4")}"/>'),
                ("file:///etc/passwd#/news/", new, ""),
                ("javascript:alert(1)//news/", new, ""),
                ("http://[/news/", new, ""),
                (f"http://127.0.0.1:{site.port}0000/news/", new, ""),
            )
        )
        maps = "".join(
            f"<sitemap><loc>{site.url(path)}</loc>{date}</sitemap>"
            for path, date in (("/wanted", new), ("/wanted-old", old), ("/unwanted", new))
        )
        site.change(
            {
                "/robots.txt": robots("/index"),
                "/index": xml(f"<sitemapindex>{maps}</sitemapindex>"),
                "/wanted": xml(f"<urlset xmlns:x='x'>{pages}</urlset>"),
            }
        )
        result = run(site, spider="tests.crawls.sitemap_spider:HooksSpider")
        expected = ["/robots.txt", "/index", "/wanted", "/shop/1", "/news/3", "/news/4"]
        assert sorted(site.paths()) == sorted(expected), result.log
        assert {"shop": site.url("/shop/1")} in result.items
    assert len(result.items) == 3


def test_the_mixin_goes_with_other_spiders() -> None:
    """Start URLs, rules and sitemaps of one spider; what both name goes to each one's callback."""
    html = Answer(body="<a href='/linked'>", headers=(("Content-Type", "text/html"),))
    with Site({"/": html}) as site, Site() as named:
        site.change({"/robots.txt": robots("/a.xml"), "/a.xml": xml(urlset("/", "/page"))})
        named.change({"/b.xml": xml(urlset(named.url("/more")))})
        result = crawled(
            "Mixed",
            start_urls=[site.url(""), "data:,"],
            sitemap_urls=[named.url("/b.xml"), site.url("/robots.txt")],
            allowed_domains=["127.0.0.1"],
        )
        expected = ["/robots.txt", "/", "/", "/linked", "/a.xml", "/page"]
        assert sorted(site.paths()) == sorted(expected), result.log
        assert sorted(named.paths()) == ["/b.xml", "/more", "/robots.txt"]


@pytest.mark.parametrize(("scope", "asked"), [("any", ["/a", "/b"]), ("same-host", [])])
def test_scope_decides_on_sitemaps_of_other_hosts(scope: str, asked: list[str]) -> None:
    """Where a sitemap lies, what an index names and what a redirect leads to; ports play no part.

    `allowed_domains` is for pages.
    """
    with Site() as site, Site() as other:
        elsewhere = other.url("", host="localhost")
        site.change(
            {
                "/robots.txt": robots(f"{elsewhere}/a", "/index", "/redirect"),
                "/index": xml(index(f"{elsewhere}/b", other.url("/c"))),
                "/redirect": redirect(f"{elsewhere}/b"),
            }
        )
        other.change({path: Answer(body=site.url(f"/of{path}")) for path in ("/a", "/b", "/c")})
        result = crawl(
            SITES,
            settings={**ADDON, "REP_SITEMAP_CROSS_HOST": scope},
            sites=[site.url("")],
            allowed_domains=["127.0.0.1"],
        )
        assert result.exit_code == 0, result.log
        seen = sorted(other.paths())
        assert [path for path in seen if path != "/robots.txt"] == sorted([*asked, "/c"])
        # Each of the two origins of the other site is fetched once.
        assert seen.count("/robots.txt") == (2 if asked else 1)
        pages = [path for path in site.paths() if path.startswith("/of")]
        assert sorted(pages) == sorted(f"/of{path}" for path in (*asked, "/c")), result.log
    assert result.stats.get("rep/sitemap/left_out/another-host", 0) == (0 if asked else 3)


def test_bounds_and_invalid_answers(tmp_path: Path) -> None:
    """No more than REP_SITEMAP_MAX, a loop of redirects and of indices; errors; no sitemaps."""
    with Site() as site:
        site.change(
            {
                "/robots.txt": robots("/loop", "/html", "/gone", "/self.xml", "/b", "/c"),
                "/loop": redirect("/loop2"),
                "/loop2": redirect("/loop"),
                "/html": Answer(body="<!doctype html><p>http://a/"),
                "/gone": Answer(status=404, body=urlset(site.url("/no"))),
                "/self.xml": xml(index(site.url("/self.xml"), *map(site.url, ("/d", "/e")))),
                "/b": Answer(body=site.url("/page")),
            }
        )
        result = run(site, REP_SITEMAP_MAX=7, JOBDIR=str(tmp_path))
        asked = [path for path in site.paths() if path != "/robots.txt"]
    assert asked.count("/self.xml") == 1
    assert {"/loop", "/html", "/gone", "/self.xml", "/b", "/c"} < set(asked)
    assert len(set(asked) & {"/loop2", "/d", "/e"}) == 1, "the seventh"
    assert "/no" not in asked
    assert result.stats["rep/sitemap/request_count"] == 7
    assert result.stats["rep/sitemap/left_out/too-many"] == 2
    assert result.log.count("is not fetched (too-many)") == 1
    assert result.stats["scheduler/enqueued/disk"] == 8, "requests can be kept on disk"
    assert result.stats["rep/sitemap/invalid"] >= 1
    assert result.stats["rep/sitemap/pages"] == 1


def test_usual_places_are_probed_where_none_is_named() -> None:
    """One place after the other, until there is one; not where the file names sitemaps."""
    with Site() as none, Site() as named, Site(default=Answer(status=503)) as broken:
        none.change(
            {
                "/robots.txt": robots(disallow=["/sitemap-index.xml"]),
                "/sitemap.xml": Answer(status=404),
                "/sitemap_index.xml": Answer(body="<html>no such page"),
                "/sitemap.xml.gz": Answer(body=gzip.compress(none.url("/page").encode())),
            }
        )
        named.change({"/robots.txt": robots("/a"), "/a": Answer(status=404)})
        run(none, named, broken, probes=True, RETRY_ENABLED=False)
        found = ["/sitemap.xml", "/sitemap_index.xml", "/sitemap.xml.gz", "/page"]
        assert none.paths() == ["/robots.txt", *found]
        assert named.paths() == ["/robots.txt", "/a"]
        assert broken.paths() == ["/robots.txt"]


def test_wrong_place_does_not_end_the_search() -> None:
    """Sitemaps that are disallowed, or redirect to other things: one site for each, one crawl."""
    with Site() as other, ExitStack() as stack:
        wrong = ("/", "/x", "/robots.txt", other.url("/", host="localhost"))
        sites = [stack.enter_context(Site(default=Answer(status=404))) for _ in wrong]
        for site, target in zip(sites, wrong, strict=True):
            site.change(
                {
                    "/robots.txt": robots(disallow=["/x", "/sitemap-index.xml"]),
                    "/": Answer(body="<html>the home page"),
                    "/sitemap.xml": redirect(target),
                    "/sitemap_index.xml": redirect(target),
                    "/sitemap.xml.gz": Answer(body=site.url("/page")),
                }
            )
        result = run(
            *sites,
            probes=True,
            REP_FILTER_LINKS=True,
            REP_SITEMAP_CROSS_HOST="same-host",
        )
        for site, target in zip(sites, wrong, strict=True):
            home = ["/"] if target == "/" else []
            found = ["/sitemap.xml", *home, "/sitemap_index.xml", "/sitemap.xml.gz", "/page"]
            assert site.paths() == ["/robots.txt", *found], result.log
        assert other.paths() == []


def test_the_mixin_goes_with_a_sitemap_spider() -> None:
    """Its `start`, rules and `sitemap_urls` count; its robots.txt is not fetched twice."""
    with Site() as site:
        site.change({"/robots.txt": robots("/a.xml")})
        site.change({"/a.xml": xml(urlset(site.url("/shop/1"), site.url("/other")))})
        site.change({"/b.xml": xml(urlset(site.url("/shop/2")))})
        result = crawled(
            "Shops",
            sites=[site.url("")],
            sitemap_urls=[site.url("/robots.txt"), site.url("/b.xml")],
        )
        expected = ["/robots.txt", "/a.xml", "/b.xml", "/shop/1", "/shop/2", "/shop/started"]
        assert sorted(site.paths()) == sorted(expected), result.log
    assert len(result.items) == 3
    assert all("shop" in item for item in result.items)


def page(*links: str) -> Answer:
    body = "".join(f"<a href='{link}'>x</a>" for link in links) or "a page"
    return Answer(body=body, headers=(("Content-Type", "text/html"),))


@pytest.mark.parametrize("first", ["/", "/a.xml"])
@pytest.mark.parametrize("loop", LOOPS)
def test_pages_that_are_linked_and_listed_lose_no_item(loop: Loop, first: str) -> None:
    """Whichever comes first: a rule makes the same of a URL in a page and in a sitemap."""
    products = [f"/product/{number}" for number in range(20)]
    with Site(default=page()) as site:
        site.change(
            {
                "/robots.txt": robots("/a.xml"),
                "/a.xml": replace(
                    xml(urlset(*map(site.url, products))), delay_seconds=0.5 * (first == "/")
                ),
                "/": replace(page(*products), delay_seconds=0.5 * (first != "/")),
            }
        )
        result = crawled("LinkedAndListed", loop=loop, start_urls=[site.url("/")])
        found = sorted(item["product"] for item in result.items)
        assert found == sorted(map(site.url, products))
        assert sorted(site.paths()) == sorted(["/robots.txt", "/a.xml", "/", *products])


def test_rules_decide_on_what_is_listed() -> None:
    """Callback, following, `process_links`, `process_request`, extensions; else it is not asked."""
    listed = (
        *["/product/1", "/product/2.pdf", "/list/1", "/list/unwanted", "/quiet", "/nobody"],
        *["/bare/1", "/private/x", "/bare?session=1", "/bare?session=2", "/gone/bare"],
        *["/sorted?b=1&a=2", "/sorted?a=2&b=1"],
    )
    with Site(default=page()) as site:
        site.change(
            {
                "/robots.txt": robots("/a.xml"),
                "/a.xml": xml(urlset(*map(site.url, listed), "ftp://a/product/", "http://[/list/")),
                "/list/1": page("/product/3", "/list/2"),
                "/quiet": page("/product/4"),
            }
        )
        result = crawled("LinkedAndListed", sites=[site.url("")])
        asked = [path for path in site.paths() if path not in ("/robots.txt", "/a.xml")]
        expected = ["/product/1", "/list/1", "/product/3", "/list/2", "/quiet", "/bare", "/bare/1"]
        expected += ["/sorted?a=2&b=1"]
        assert sorted(asked) == sorted(expected), result.log
        assert sorted(result.items, key=str) == [
            {"bare": site.url("/bare")},
            {"bare": site.url("/bare/1")},
            {"bare": site.url("/sorted?a=2&b=1")},
            {"product": site.url("/product/1"), "kind": 1},
            {"product": site.url("/product/3"), "kind": 1},
        ]
    assert result.stats["rep/sitemap/pages"] == 6, "two are linked, and were scheduled before"


@pytest.mark.parametrize(("spider", "asked"), [("LinkedAndListed", 2), ("Elsewhere", 1)])
def test_a_start_page_that_is_listed_loses_no_item(spider: str, asked: int) -> None:
    """It is requested again if a rule replaces it, or at the end if `start` did not request it."""
    with Site(default=page()) as site:
        listed = map(site.url, ["/product/1", "/list/1"])
        site.change({"/robots.txt": robots("/a.xml"), "/a.xml": xml(urlset(*listed))})
        starts = [site.url("/product/1"), site.url("/list/1")]
        if spider == "Elsewhere":
            starts.insert(0, site.url(""))
        result = crawled(spider, start_urls=starts)
        assert result.items == [{"product": site.url("/product/1"), "kind": 1}]
        assert site.paths().count("/product/1") == asked
        assert site.paths().count("/list/1") == 1


@pytest.mark.parametrize(
    ("spider", "started"),
    [
        ("LinkedBeyond", ["/", "/beyond"]),
        ("LinkedOld", ["/old" if hasattr(Spider, "start_requests") else "/"]),
    ],
)
def test_start_of_another_spider_counts(spider: str, started: list[str]) -> None:
    """It may call that of Scrapy; up to Scrapy 2.15, this calls a method of `SitemapSpider`."""
    with Site(default=page()) as site:
        site.change({"/robots.txt": robots("/a.xml"), "/a.xml": xml(urlset(site.url("/listed")))})
        result = crawled(spider, start_urls=[site.url("")])
        assert not any("sitemaps" in told or "engine" in told for told in result.deprecations)
        assert sorted(site.paths()) == sorted([*started, "/a.xml", "/listed", "/robots.txt"])


@pytest.mark.parametrize("loop", LOOPS)
def test_a_robots_txt_that_the_spider_asks_for_as_a_sitemap(loop: Loop) -> None:
    """In `start` and in callbacks, as Scrapy's `SitemapSpider` reads it; and late sitemaps."""
    with Site() as site, Site() as first, Site() as second:
        site.change({"/robots.txt": robots(), "/late.xml": xml(urlset(site.url("/shop/late")))})
        for one in (first, second):
            one.change(
                {
                    "/robots.txt": robots("/a.xml"),
                    "/a.xml": xml(urlset(one.url("/shop/1"), one.url("/other"))),
                }
            )
        result = crawled(
            "OwnSitemaps", loop=loop, sites=[site.url("")], others=[first.url(""), second.url("")]
        )
        asked = ["/robots.txt", "/shop/started", "/late.xml", "/shop/late"]
        assert sorted(site.paths()) == sorted(asked), result.log
        for one in (first, second):
            # Once for the rules, and once because the spider requests it.
            wanted = ["/robots.txt", "/robots.txt", "/a.xml", "/shop/1"]
            assert sorted(one.paths()) == sorted(wanted), result.log
    assert len(result.items) == 4


@pytest.mark.parametrize("loop", LOOPS)
def test_the_other_spiders_own_sitemap_requests_are_sent(loop: Loop) -> None:
    """As they are, once, with what they carry; what it makes of a body counts."""
    with Site() as site:
        site.change(
            {
                "/robots.txt": robots("/own.xml"),
                "/own.xml": redirect("/moved.xml"),
                "/moved.xml": xml(urlset(site.url("/old/1"))),
            }
        )
        result = crawled(
            "Started", loop=loop, sites=[site.url("")], sitemap_urls=[site.url("/own.xml")]
        )
        asked = ["/robots.txt", "/own.xml", "/moved.xml", "/new/1"]
        assert sorted(site.paths()) == sorted(asked), result.log
        keyed = [seen.path for seen in site.requests() if seen.headers.get("x-key") == "1"]
        assert keyed == ["/own.xml", "/moved.xml"]
    assert result.items == [{"page": site.url("/new/1")}]


@pytest.mark.parametrize("loop", LOOPS)
def test_disallowed_sitemap_is_logged(loop: Loop) -> None:
    """Once per site at INFO, counted each time; also for a site with an unreachable robots.txt."""
    with Site() as site, Site() as broken:
        broken.change({"/robots.txt": Answer(status=503)})
        away = broken.url("/a.xml")
        site.change({"/robots.txt": robots("/x/1", "/x/2", "/b", away, disallow=["/x"])})
        site.change({"/b": xml(index(site.url("/x/3")))})
        for filters in (False, True):
            result = run(site, loop=loop, REP_FILTER_LINKS=filters, LOG_LEVEL="INFO")
            assert result.stats["rep/sitemap/left_out/disallowed"] == 3, result.log
            assert result.stats["rep/sitemap/left_out/unreachable"] == 1
            assert result.log.count("is not fetched (disallowed)") == 1
            assert "[scrapy_rep.sitemaps.spiders] INFO: Sitemap" in result.log
            assert result.log.count("is not fetched (unreachable)") == 1
            assert "ERROR" not in result.log


@pytest.mark.parametrize("loop", LOOPS)
def test_damaged_sitemaps_give_their_good_entries(loop: Loop) -> None:
    """A wrong entry is logged and counted, and does not change the query of another."""
    with Site() as site:
        good = [site.url(f"/{number}?a=1&b=2") for number in range(4)]
        bad = urlset(*good).replace("/1?a=1&amp;b", "/1?a=1&b&nbsp;", 1)
        site.change(
            {
                "/robots.txt": robots("/bad.xml", "/short.xml", "/latin.txt", "/odd.xml"),
                "/bad.xml": xml(bad),
                "/short.xml": xml(urlset(site.url("/5?a=1&b=2"), site.url("/6"))[:-30]),
                "/latin.txt": Answer(body=site.url("/caf").encode() + b"\xe9\n"),
                "/odd.xml": xml(urlset(site.url("/7")[7:], f"https://{site.url('/8')}", "", "")),
            }
        )
        result = run(site, loop=loop)
        pages = [path for path in site.paths() if "." not in path]
    whole = [f"/{number}?a=1&b=2" for number in (0, 2, 3, 5)]
    assert sorted(pages) == sorted([*whole, "/1?a=1&b%C2%A0=2", "/caf%E9", "/7", "/8"]), result.log
    assert result.stats["rep/sitemap/damaged"] == 3
    assert result.stats["rep/sitemap/cut"] == 1
    assert "bad.xml> is damaged ('&' is not XML)" in result.log
    assert re.search("WARNING: .*/odd.xml> is damaged .2 entries without an address", result.log)
    assert "Read only the beginning of <200" in result.log


def test_slow_site_delays_no_other_and_a_lost_site_is_logged() -> None:
    """Its sitemaps are requested when its own policy is known."""
    with Site() as slow, Site() as broken, Site() as quick:
        slow.change({"/robots.txt": replace(robots("/s"), delay_seconds=2)})
        broken.change({"/robots.txt": Answer(status=503)})
        quick.change({"/robots.txt": robots("/q"), "/q": Answer(body=quick.url("/page"))})
        result = run(slow, broken, quick, REP_QUICK_RETRY_SECONDS=[])
        asked = [(seen.at, seen.path) for seen in (*slow.requests(), *quick.requests())]
        assert sorted(slow.paths()) == ["/robots.txt", "/s"], result.log
    assert max(asked)[1] == "/s"
    assert sorted(asked)[-2][1] == "/page"
    assert f"The sitemaps of {broken.url('')} are unknown" in result.log
    assert result.log.count("are unknown") == 1


def test_links_that_are_known_to_be_disallowed_are_not_queued() -> None:
    with Site() as site:
        pages = [site.url(f"/{number}") for number in range(5)]
        hidden = [site.url(f"/x/{number}") for number in range(20)]
        site.change({"/robots.txt": robots("/a", disallow=["/x"])})
        site.change({"/a": Answer(body="\n".join(pages + hidden))})
        for dry, filtered, queued in ((False, 20, 6), (True, None, 26)):
            before = len(site.paths())
            result = run(site, REP_FILTER_LINKS=True, REP_DRY_RUN=dry)
            fetched = site.paths()[before:]
            stats = result.stats
            assert len(fetched) == (27 if dry else 7), result.log
            assert stats.get("rep/filtered_links") == filtered
            assert stats["scheduler/enqueued"] == queued
            assert stats["rep/verdict/disallowed"] == 20
            assert stats.get("robotstxt/forbidden", 0) == (0 if dry else 20)
            told = [name for name in stats if name.startswith("test/disallowed/")]
            assert len(told) == (0 if dry else 20)
            assert "ERROR" not in result.log


@pytest.mark.slow
def test_sitemaps_are_signalled_once_and_after_a_change() -> None:
    """From the site and from REP_OVERRIDES; and a new file with the same sitemaps is no news."""
    files = (("/a",), ("/a",), ("/a", "/b"), ())
    answers = [robots(*named, holds_seconds=0) for named in files]
    with Site({"/robots.txt": answers}) as site, Site() as other:
        text = {"robots_txt": "Sitemap: /o"}
        result = crawl(
            "tests.crawls.sitemap_spider:AgainSpider",
            settings={
                **ADDON,
                "REP_CACHE_MIN_SECONDS": 0,
                "REP_OVERRIDES": {other.url(""): text},
            },
            urls=[*[site.url("/")] * 4, *[other.url("/")] * 2],
        )
        assert result.exit_code == 0, result.log
        assert site.paths() == ["/robots.txt"] * 4
        assert other.paths() == []
        base, there = site.url(""), other.url("")
    assert result.items == [
        {"sitemaps": [f"{base}/a"]},
        {"sitemaps": [f"{base}/a", f"{base}/b"]},
        {"sitemaps": [f"{there}/o"]},
    ]


def test_crawl_without_the_middleware_says_so_and_fetches_nothing() -> None:
    with Site() as site:
        named = site.url("")
        result = crawl(SITES, settings={"ROBOTSTXT_OBEY": True}, sites=named)
        assert "SitesSpider needs RepMiddleware: set ROBOTSTXT_OBEY = True" in result.log
        assert site.paths() == []


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        *[({"sites": "https://example.com,example.com"}, "is not a site; give URLs with a scheme")],
        *[({"sites": [wrong]}, "is not a site") for wrong in ("ftp://a", "https://", "http://a:0")],
        *[
            ({"sitemap_urls": ["https://a/a.xml", wrong]}, "is not an http or https URL")
            for wrong in ("example.com/a.xml", "file:///a.xml", "/robots.txt")
        ],
    ],
)
def test_wrong_argument_stops_the_crawl(wrong: dict[str, Any], says: str) -> None:
    with pytest.raises(ConfigurationError, match=says):
        SitesSpider.from_crawler(get_crawler(), **wrong)


def dated(site: Site, **lastmods: str) -> Answer:
    """A sitemap of these pages; an empty date is left out."""
    entries = "".join(
        f"<url><loc>{site.url(f'/{name}')}</loc>{f'<lastmod>{date}</lastmod>' * bool(date)}</url>"
        for name, date in lastmods.items()
    )
    return xml(f"<urlset>{entries}</urlset>")


@pytest.mark.parametrize("loop", LOOPS)
def test_callbacks_get_the_entry(loop: Loop, tmp_path: Path) -> None:
    """After a redirect and from a queue on disk, too; each alternate with the whole entry."""
    with Site() as site:
        more = "<changefreq>daily</changefreq><priority>0.8</priority>"
        link = f"<x:link rel='alternate' hreflang='de' href='{site.url('/de')}'/>"
        entry = f"<url><loc>/1</loc><lastmod>2024-05-01T12:00:00Z</lastmod>{more}{link}</url>"
        site.change(
            {
                "/robots.txt": robots("/a.xml", "/b.txt"),
                "/a.xml": xml(f"<urlset xmlns:x='x'>{entry}</urlset>"),
                "/b.txt": Answer(body=site.url("/2")),
                "/1": redirect("/moved"),
            }
        )
        settings = {**ADDON, "JOBDIR": str(tmp_path), "CONCURRENT_REQUESTS": 1}
        result = crawl(DATES, loop=loop, settings=settings, sites=site.url(""))
        assert result.exit_code == 0, result.log
        assert "Unable to serialize" not in result.log
        found = {item["url"]: item["entry"] for item in result.items}
        told = {
            "lastmod": "2024-05-01T12:00:00Z",
            "lastmod_time": 1714564800.0,
            "changefreq": "daily",
            "priority": 0.8,
            "alternates": [site.url("/de")],
        }
        bare: dict[str, Any] = {**dict.fromkeys(told), "alternates": []}
        assert found == {
            site.url("/moved"): told,
            site.url("/de"): told,
            site.url("/2"): bare,
        }


@pytest.mark.parametrize("loop", LOOPS)
def test_entries_that_have_not_changed_since_a_date(loop: Loop) -> None:
    """An index is followed whatever its dates say, since entries in it may have none."""
    with Site() as site:
        old = f"<sitemap><loc>{site.url('/a.xml')}</loc><lastmod>2001</lastmod></sitemap>"
        site.change(
            {
                "/robots.txt": robots("/index.xml", "/feed", "/two.xml"),
                "/index.xml": xml(f"<sitemapindex>{old}</sitemapindex>"),
                "/a.xml": dated(
                    site, new="2024-05-02", same="2024-05-01", old="2024-04-29", none="", odd="x"
                ),
                "/feed": xml(
                    "<rss><item><link>/fed</link><pubDate>Mon, 29 Apr 2024 10:00:00 GMT</pubDate>"
                    "</item></rss>"
                ),
                "/two.xml": xml(
                    "<urlset><url><loc>/changed</loc><lastmod>2024-05-02</lastmod>"
                    "<loc>/unchanged</loc><lastmod>2001-01-01</lastmod></url></urlset>"
                ),
            }
        )
        result = crawl(
            DATES, loop=loop, settings=ADDON, sites=site.url(""), since="2024-05-01T12:00Z"
        )
        assert result.exit_code == 0, result.log
        pages = {path for path in site.paths() if "." not in path}
    assert pages == {"/feed", "/new", "/same", "/none", "/odd", "/changed"}
    assert result.stats["rep/sitemap/unchanged"] == 3
    assert result.stats["rep/sitemap/pages"] == 5


def test_pages_are_counted_if_they_are_scheduled() -> None:
    """Pages below an index are one step deeper; a page that is listed twice is scheduled once."""
    with Site() as site:
        site.change(
            {
                "/robots.txt": robots("/index.xml", "/a.xml"),
                "/index.xml": xml(index(site.url("/b.xml"))),
                "/a.xml": xml(urlset(site.url("/1"), site.url("/1"))),
                "/b.xml": xml(urlset(site.url("/2"), site.url("/3"))),
            }
        )
        result = run(site, DEPTH_LIMIT=1)
        pages = [path for path in site.paths() if "." not in path]
    assert pages == ["/1"]
    assert result.stats["rep/sitemap/pages"] == 1


@pytest.mark.parametrize("loop", LOOPS)
def test_entries_that_have_not_changed_since_the_last_run(loop: Loop, tmp_path: Path) -> None:
    """A sitemap that is new or that failed the last time is read as the first time."""
    settings = {**ADDON, "JOBDIR": str(tmp_path / "job"), "RETRY_ENABLED": False}
    with Site() as site:

        def run_with(**maps: Answer) -> tuple[list[str], int]:
            site.change({"/robots.txt": robots(*(f"/{name}.xml" for name in maps))})
            site.change({f"/{name}.xml": answer for name, answer in maps.items()})
            before = len(site.paths())
            result = crawl(DATES, loop=loop, settings=settings, sites=[site.url("")], since=LAST)
            assert result.exit_code == 0, result.log
            assert result.finish_reason == "finished"
            pages = sorted(path for path in site.paths()[before:] if "." not in path)
            return pages, result.stats.get("rep/sitemap/unchanged", 0)

        old, later = "2024-05-01", "2099-05-01"
        first = dated(site, one=old, two=old, none="")
        down = Answer(status=500)
        assert run_with(a=first, b=down) == (["/none", "/one", "/two"], 0)
        changed = dated(site, one=old, two=later, none="")
        read_b = dated(site, five=old)
        assert run_with(a=changed, b=read_b) == (["/five", "/none", "/two"], 1)
        new = dated(site, six=old)
        assert run_with(a=first, b=read_b, c=new) == (["/none", "/six"], 3)


@pytest.mark.parametrize("loop", LOOPS)
def test_a_stopped_run_goes_on_before_the_next_begins(loop: Loop, tmp_path: Path) -> None:
    with Site() as site:
        pages = {f"p{number}": "2024-05-01" for number in range(150)}
        site.change({"/robots.txt": robots("/a.xml"), "/a.xml": dated(site, **pages)})
        settings = {**ADDON, "JOBDIR": str(tmp_path), "CONCURRENT_REQUESTS": 2}
        reasons, unchanged = [], []
        for limits in ({"CLOSESPIDER_PAGECOUNT": 1}, {}, {}):
            job = {**settings, **limits}
            result = crawl(DATES, loop=loop, settings=job, sites=site.url(""), since=LAST)
            assert result.exit_code == 0, result.log
            reasons.append(result.finish_reason)
            unchanged.append(result.stats.get("rep/sitemap/unchanged", 0))
        asked = [path for path in site.paths() if path != "/robots.txt"]
    assert reasons == ["closespider_pagecount", "finished", "finished"]
    assert unchanged == [0, 0, 150]
    assert sorted(asked) == sorted(["/a.xml", "/a.xml", *(f"/{name}" for name in pages)])

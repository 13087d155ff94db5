"""The requests of a real browser, through scrapy-playwright."""

from __future__ import annotations

from tests.others.browsers import (
    PAGE,
    RULES,
    asked,
    html,
    needs_chromium,
    run,
    script,
)
from tests.servers.handle import Answer, Site, redirect

pytestmark = needs_chromium


def test_every_request_of_a_page_is_judged() -> None:
    routes = {
        "/robots.txt": RULES,
        "/page": PAGE,
        "/frame": html('<img src="/private/in-frame.png">'),
        "/worker.js": script("fetch('/private/of-a-worker'); fetch('/of-a-worker')"),
    }
    with Site(routes) as site:
        result = run(site.url("/page"))
        assert asked(site) == sorted(
            [
                *["/robots.txt", "/page", "/open.png", "/frame", "/fetched", "/worker.js"],
                "/of-a-worker",
            ]
        )
    assert result.items[0]["status"] == 200
    assert result.stats["rep/browser/aborted"] == 7
    assert result.stats["rep/browser/allowed"] >= 5
    assert result.stats["rep/verdict/allowed"] == 1
    assert "rep/browser/slipped" not in result.stats


def test_redirects_are_stopped() -> None:
    page = html(
        '<img src="/away/img"><iframe src="/away/frame"></iframe>',
        "<script>fetch('/away/fetched'); fetch('/near/fetched')</script>",
    )
    routes = {
        "/robots.txt": RULES,
        "/page": page,
        **{
            f"/away/{name}": redirect(f"/private/{name}", 302)
            for name in ("img", "frame", "fetched")
        },
        "/near/fetched": redirect("/open", 302),
        "/top": redirect("/hop", 302),
        "/hop": redirect("/private/top", 302),
    }
    with Site(routes) as site:
        result = run(site.url("/page"), site.url("/top"))
        paths = asked(site)
    assert [path for path in paths if "private" in path] == []
    assert {"/away/img", "/away/frame", "/away/fetched", "/open", "/hop"} <= set(paths)
    page_item, failed = sorted(result.items, key=lambda item: item["url"])
    assert page_item["status"] == 200
    assert failed["error"] == "RobotsTxtDisallowed"
    assert failed["verdict"]["line"] == 2
    assert result.stats["robotstxt/forbidden"] == 1
    assert "rep/browser/slipped" not in result.stats


def test_request_without_a_verdict_in_time_is_aborted() -> None:
    with Site({"/robots.txt": Answer(fault="hang")}) as slow, Site() as site:
        page = html(f'<img src="{slow.url("/a.png", "localhost")}"><img src="/b.png">')
        site.change({"/robots.txt": RULES, "/page": page})
        result = run(site.url("/page"), REP_FETCH_TIMEOUT_SECONDS=0.5)
        assert asked(site) == ["/b.png", "/page", "/robots.txt"]
        assert asked(slow) == ["/robots.txt"]
    assert result.items[0]["status"] == 200
    assert result.stats["rep/browser/unjudged"] == 1


def test_browser_does_not_open_a_dropped_request() -> None:
    with Site({"/robots.txt": RULES}) as site:
        result = run(site.url("/private/page"))
        assert asked(site) == ["/robots.txt"]
    assert result.items[0]["error"] == "RobotsTxtDisallowed"
    assert "playwright/page_count" not in result.stats

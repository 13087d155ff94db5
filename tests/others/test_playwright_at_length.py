"""Rarer requests of a browser, and hooks of users."""

from __future__ import annotations

from typing import Any

import pytest

from tests.crawling import crawl
from tests.others.browsers import (
    PAGE,
    PLAYWRIGHT,
    RULES,
    SPIDER,
    asked,
    html,
    needs_chromium,
    run,
    script,
    with_flags,
)
from tests.servers.handle import Answer, Site, redirect
from tests.together import Job, crawl_together

pytestmark = [needs_chromium, pytest.mark.slow, pytest.mark.at_length]


@pytest.mark.parametrize("is_isolated", [True, False])
def test_redirects_in_frames_of_other_sites(is_isolated: bool) -> None:
    """Such a frame is a process of its own, unless Chromium is told otherwise."""
    frame = html('<img src="/away"><img src="/private/direct">')
    routes = {
        "/robots.txt": RULES,
        "/frame": frame,
        "/away": redirect("/private/away", 302),
    }
    with Site(routes) as other, Site({"/robots.txt": RULES}) as site:
        there = other.url("/frame", "localhost")
        site.change({"/page": html(f'<iframe src="{there}"></iframe>')})
        options = with_flags(*([] if is_isolated else ["disable-site-isolation-trials"]))
        result = run(site.url("/page"), PLAYWRIGHT_LAUNCH_OPTIONS=options)
        paths = asked(other)
    assert paths[:3] == [
        "/away",
        "/frame",
        *(["/private/away"] if is_isolated else ["/robots.txt"]),
    ]
    assert "/private/direct" not in paths
    assert result.stats.get("rep/browser/slipped", 0) == (1 if is_isolated else 0)
    assert ("which could not be stopped" in result.log) == is_isolated


def test_windows_and_service_workers_are_judged() -> None:
    worker = (
        "self.addEventListener('install', e => { self.skipWaiting(); fetch('/private/of-sw'); "
        "fetch('/of-sw') })"
    )
    opened = html('<img src="/private/in-window.png"><img src="/in-window.png">')
    page = html(
        "<script>navigator.serviceWorker.register('/sw.js'); window.open('/private/window');"
        "window.open('/window')</script>"
    )
    routes = {
        "/robots.txt": RULES,
        "/page": page,
        "/window": opened,
        "/sw.js": script(worker),
    }
    with Site(routes) as site:
        run(site.url("/page"), PLAYWRIGHT_LAUNCH_OPTIONS=with_flags("disable-popup-blocking"))
        paths = set(asked(site))
    assert {path for path in paths if "private" in path} == set()
    assert {"/window", "/in-window.png", "/of-sw"} <= paths


def test_redirects_of_an_open_window_are_stopped() -> None:
    """Those of requests that it made before are counted."""
    early = "<img src='/away/early'><iframe src='/away/early-frame'></iframe>"
    late = "<script>setTimeout(() => {fetch('/away/late'); fetch('/near')}, 500)</script>"
    routes = {
        "/robots.txt": RULES,
        "/page": html("<script>window.open('/window')</script>"),
        "/window": html(early, late),
        "/near": redirect("/open", 302),
        **{
            f"/away/{name}": redirect(f"/private/{name}", 302)
            for name in ("early", "early-frame", "late")
        },
    }
    with Site(routes) as site:
        result = crawl(
            SPIDER, settings=PLAYWRIGHT, urls=[site.url("/page")], meta={}, stay_seconds=2
        )
        paths = asked(site)
    assert {"/away/early", "/away/late", "/open"} <= set(paths)
    private = [path for path in paths if "private" in path]
    assert "/private/late" not in private
    assert result.stats.get("rep/browser/slipped", 0) == len(private)


def test_request_without_a_route_is_judged() -> None:
    """Links to downloads, deferred fetches, and redirects of the scripts of workers."""
    page = html(
        "<script>fetchLater('/private/late', {activateAfter: 0});",
        "fetchLater('/late', {activateAfter: 0});",
        "new Worker('/away'); new Worker('/away', {type: 'module'}); new Worker('/near')</script>",
        "<a download href='/private/file'>x</a><a download href='/file'>x</a>",
        "<script>setTimeout(() => document.querySelectorAll('a').forEach(a => a.click()), 300)",
        "</script>",
    )
    routes = {
        "/robots.txt": RULES,
        "/page": page,
        "/away": redirect("/private/script", 302),
        "/near": redirect("/script", 302),
        "/script": script("fetch('/of-worker')"),
    }
    with Site(routes) as site:
        run(site.url("/page"))
        paths = asked(site)
    assert [path for path in paths if "private" in path] == []
    assert {"/away", "/late", "/file", "/script", "/of-worker"} <= set(paths)


def test_network_requests_of_a_service_worker_are_judged() -> None:
    """No route of Playwright's sees that: pages bypass the worker."""
    worker = (
        "self.addEventListener('activate', e => e.waitUntil("
        "self.registration.navigationPreload.enable().then(() => clients.claim())));"
        "self.addEventListener('fetch', e => {const path = new URL(e.request.url).pathname;"
        "if (path == '/made') e.respondWith(Response.redirect('/private/made'));"
        "if (path == '/fetched') e.respondWith(fetch('/private/fetched'));"
        "if (path == '/passed') e.respondWith(fetch(e.request))})"
    )
    urls = "'/private/frame', '/made', '/fetched', '/passed', '/away', '/open'"
    page = html(
        "<script>navigator.serviceWorker.register('/worker.js');"
        "navigator.serviceWorker.ready.then(() => setTimeout(() => {"
        f"for (const url of [{urls}]) {{const frame = document.createElement('iframe');"
        "frame.src = url; document.body.append(frame); fetch(url + '?fetch')}}, 300))</script>"
    )
    routes = {
        "/robots.txt": RULES,
        "/page": page,
        "/worker.js": script(worker),
        "/passed*": redirect("/private/passed", 302),
        "/away*": redirect("/private/away", 302),
    }
    with Site(routes) as site:
        result = crawl(
            SPIDER, settings=PLAYWRIGHT, urls=[site.url("/page")], meta={}, stay_seconds=2
        )
        paths = asked(site)
    assert [path for path in paths if "private" in path] == []
    assert {"/open", "/open?fetch", "/away", "/passed?fetch", "/worker.js"} <= set(paths)
    assert "rep/browser/slipped" not in result.stats


def test_robots_txt_of_each_origin_is_fetched_by_the_crawl() -> None:
    with Site({"/robots.txt": Answer(body="User-agent: *\nDisallow: /b\n")}) as other:
        there = other.url("", "localhost")
        page = html(f'<img src="{there}/a.png"><img src="{there}/b.png"><img src="/b.png">')
        with Site({"/robots.txt": RULES, "/page": page}) as site:
            run(site.url("/page"), USER_AGENT="ExampleBot/1.0")
            assert asked(site) == ["/b.png", "/page", "/robots.txt"]
        assert asked(other) == ["/a.png", "/robots.txt"]
        for seen in [*site_robots(other)]:
            assert seen["user-agent"] == "ExampleBot/1.0"
            assert seen["accept"].startswith("text/plain")
            assert "sec-fetch-mode" not in seen


def site_robots(site: Site) -> list[dict[str, str]]:
    return [seen.headers for seen in site.requests() if seen.path == "/robots.txt"]


def test_page_may_have_a_group_of_its_own() -> None:
    """Requests of a page are judged by the User-Agent of the page's own request."""
    rules = "User-agent: *\nDisallow: /star\n\nUser-agent: mine\nDisallow: /mine\n"
    page = html('<img src="/star.png"><img src="/mine.png">')
    with Site({"/robots.txt": Answer(body=rules), "/page": page}) as site:
        run(site.url("/page"), USER_AGENT="mine/1.0")
        assert asked(site) == ["/page", "/robots.txt", "/star.png"]


def test_exempt_request_exempts_no_other() -> None:
    page = html('<img src="/private/img.png"><img src="/open.png">')
    with Site({"/robots.txt": RULES, "/private/page": page}) as site:
        result = run(site.url("/private/page"), meta={"dont_obey_robotstxt": True})
        assert asked(site) == ["/open.png", "/private/page", "/robots.txt"]
    assert result.items[0]["status"] == 200
    assert result.stats["rep/exempt"] == 1


@pytest.mark.parametrize("setting", ["dry run", "not obeyed", "no hook"])
def test_settings_apply_to_browsers(setting: str) -> None:
    switches: dict[str, dict[str, Any]] = {
        "dry run": {"REP_DRY_RUN": True},
        "not obeyed": {"ROBOTSTXT_OBEY": False},
        "no hook": {"PLAYWRIGHT_ABORT_REQUEST": None},
    }
    routes = {"/robots.txt": RULES, "/page": PAGE, "/go": redirect("/private/end", 302)}
    with Site(routes) as site:
        result = run(site.url("/page"), site.url("/go"), **switches[setting])
        assert {"/private.png", "/private.js", "/private/end"} <= set(asked(site))
        assert ("/robots.txt" in site.paths()) == (setting != "not obeyed")
    assert [item["status"] for item in result.items] == [200, 200]
    assert ("rep/dry_run/would_drop" in result.stats) == (setting == "dry run")


def test_browser_never_fetches_a_robots_txt() -> None:
    """Even if every request is marked as the browser's."""
    with Site({"/robots.txt": RULES, "/page": PAGE}) as site:
        result = run(
            site.url("/page"),
            site.url("/private"),
            DOWNLOADER_MIDDLEWARES={"tests.others.spiders.AllInTheBrowser": 900},
        )
        assert "sec-fetch-mode" not in site_robots(site)[0]
        assert "/private" not in site.paths()
    assert result.stats["rep/browser/aborted"] >= 5


def test_hook_of_a_user_may_call_ours() -> None:
    page = html('<img src="/private.png"><img src="/open.png"><script src="/open.js"></script>')
    away = redirect("/private/away", 302)
    frames = html('<script>setTimeout(() => fetch("/away"), 100)</script>')
    with Site({"/robots.txt": RULES, "/page": page, "/f": frames, "/away": away}) as site:
        result = run(
            site.url("/page"),
            site.url("/f"),
            PLAYWRIGHT_ABORT_REQUEST="tests.others.spiders.no_scripts",
        )
        assert asked(site) == ["/away", "/f", "/open.png", "/page", "/robots.txt"]
    assert result.stats["rep/browser/aborted"] == 2


def test_page_callback_of_a_user_stays() -> None:
    own = "tests.others.spiders.give_a_name"
    page = html("<script>document.body.append(window.given)</script>", '<img src="/private.png">')
    with Site({"/robots.txt": RULES, "/page": page}) as site:
        result = run(site.url("/page"), meta={"playwright_page_init_callback": own})
        assert asked(site) == ["/page", "/robots.txt"]
    assert "a name" in result.items[0]["text"]
    assert result.items[0]["init"] == repr(own)


def test_no_callback_is_left_behind() -> None:
    with Site({"/robots.txt": RULES}) as site:
        assert run(site.url("/page")).items[0]["init"] == "None"


def test_loop_may_run_in_another_thread() -> None:
    """As in scrapy-playwright on Windows; files are fetched in the loop of the crawl."""
    with Site({"/robots.txt": RULES}) as other, Site({"/robots.txt": RULES}) as site:
        there = other.url("", "localhost")
        images = f'<img src="{there}/private.png"><img src="{there}/open.png">'
        site.change({"/page": html(images), "/top": redirect("/private", 302)})
        result = crawl(
            "tests.others.spiders:QuickBrowserSpider",
            settings={
                **PLAYWRIGHT,
                "_PLAYWRIGHT_THREADED_LOOP": True,
                "EXTENSIONS": {"tests.others.spiders.Threads": 0},
            },
            urls=[site.url("/page"), site.url("/top")],
            meta={},
        )
        assert asked(site) == ["/page", "/robots.txt", "/top"], result.log
        assert asked(other) == ["/open.png", "/robots.txt"], result.log
    assert sorted(item.get("error", "") for item in result.items) == ["", "RobotsTxtDisallowed"]
    assert result.stats["threads"] == 1


@pytest.mark.parametrize(
    ("why", "is_led", "level", "what"),
    [
        ("Target crashed", False, "WARNING", "judge"),
        # Another browser: there, it is counted, as the documentation says.
        ("CDP session is only available in Chromium", True, "DEBUG", "stop"),
    ],
)
def test_page_fetches_nothing_if_redirects_cannot_be_watched(
    why: str, is_led: bool, level: str, what: str
) -> None:
    with Site({"/robots.txt": RULES, "/top": redirect("/private", 302)}) as site:
        result = crawl(
            "tests.others.spiders:UnwatchedSpider",
            settings=PLAYWRIGHT,
            urls=[site.url("/top")],
            meta={},
            why=why,
        )
        assert ("/private" in asked(site)) is is_led
        assert ("/top" in asked(site)) is is_led
    [told] = [line for line in result.log.splitlines() if why in line]
    assert f"{level}: Cannot {what} redirects of a browser's page" in told
    assert result.stats.get("rep/browser/slipped", 0) == int(is_led)


def test_session_that_never_opens_stops_its_page_only() -> None:
    """The sessions of other pages did open."""
    with Site({"/robots.txt": RULES, "/top": redirect("/private", 302)}) as site:
        result = crawl(
            "tests.others.spiders:UnwatchedSpider",
            settings={**PLAYWRIGHT, "CONCURRENT_REQUESTS": 1},
            urls=[site.url("/page"), site.url("/top")],
            meta={},
            after=1,
        )
        assert asked(site) == ["/page", "/robots.txt"]
    assert "WARNING: Cannot judge redirects of a browser's page" in result.log
    assert "TimeoutError" in result.log


@pytest.mark.parametrize("first", ["/private/login", "/login"])
@pytest.mark.parametrize("is_exempt", [False, True])
def test_callback_of_a_user_may_run_first(first: str, is_exempt: bool) -> None:
    """It is judged; what the middleware has let through, or the user has exempted, comes after."""
    page = "/private/page" if is_exempt else "/page"
    with Site({"/robots.txt": RULES}) as site:
        result = run(
            site.url(page),
            meta={
                "playwright_page_init_callback": "tests.others.spiders.log_in",
                "dont_obey_robotstxt": is_exempt,
                "first": first,
            },
        )
        expected = {"/robots.txt", page, first} - {"/private/login"}
        assert {*asked(site)} == expected
    assert result.items[0]["status"] == 200


def test_one_page_may_serve_several_requests() -> None:
    routes = {"/robots.txt": RULES, "/page": PAGE, "/second": html('<img src="/private/2.png">')}
    with Site(routes) as site:
        result = crawl(
            "tests.others.spiders:SamePageSpider",
            settings=PLAYWRIGHT,
            urls=[site.url("/page"), site.url("/second")],
            meta={},
        )
        paths = asked(site)
    assert result.exit_code == 0, result.error
    assert {"/page", "/second"} <= set(paths)
    assert [path for path in paths if "private" in path] == []
    assert [item["status"] for item in result.items] == [200, 200]


def test_crawls_of_one_process_do_not_mix() -> None:
    """Two that are called differently, and a third that obeys nothing."""
    rules = "User-agent: one\nDisallow: /1\n\nUser-agent: two\nDisallow: /2\n"
    routes = {
        "/robots.txt": Answer(body=rules),
        "/page*": html('<img src="/1.png"><img src="/2.png">'),
    }
    settings: dict[str, dict[str, Any]] = {
        "one": {},
        "two": {},
        "free": {"ROBOTSTXT_OBEY": False},
    }
    with Site(routes) as site:
        crawl_together(
            [
                Job(
                    SPIDER,
                    {**PLAYWRIGHT, "USER_AGENT": f"{name}/1.0", **more},
                    {"urls": [site.url(f"/page-of-{name}")], "meta": {}},
                )
                for name, more in settings.items()
            ]
        )
        asked_by = {
            name: sorted(
                seen.path
                for seen in site.requests()
                if seen.headers.get("user-agent", "").startswith(name)
            )
            for name in settings
        }
    assert asked_by == {
        "one": ["/2.png", "/page-of-one", "/robots.txt"],
        "two": ["/1.png", "/page-of-two", "/robots.txt"],
        "free": ["/1.png", "/2.png", "/page-of-free"],
    }

"""The example project: crawled as its README says, and its parts alone."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import textwrap
import urllib.request
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PROJECT = ROOT / "example_project"


@pytest.fixture(autouse=True)
def project_on_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(PROJECT))


def crawl(spider: str, *options: str) -> str:
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    done = subprocess.run(
        [sys.executable, "-m", "scrapy", "crawl", spider, *options],
        cwd=PROJECT,
        env=os.environ | {"PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "ERROR" not in done.stderr
    assert "Traceback" not in done.stderr
    return done.stdout


# What the summary says of each site: access result, pages allowed and dropped; then the details.
EXPECTED = {
    "rules": """\
        SUCCESSFUL (200) 3 3
        line 5 (Disallow: /private/) dropped /private/, /private/report
        line 7 (Disallow: /search) dropped /search?q=robots""",
    "port": """\
        SUCCESSFUL (200) 4 2
        line 2 (Disallow: /about) dropped /about
        line 3 (Disallow: /private/press/) dropped /private/press/kit""",
    "wildcards": """\
        SUCCESSFUL (200) 3 3
        line 2 (Disallow: /*.pdf$) dropped /manual.pdf, /press/2024.pdf
        line 3 (Disallow: /*?sort=) dropped /shop?sort=name""",
    "missing": "UNAVAILABLE (404) 3 0",
    "forbidden": "UNAVAILABLE (403) 2 0",
    "broken": """\
        UNREACHABLE (503) 0 2
        no line (REASON) dropped /, /status""",
    "moved": """\
        SUCCESSFUL (200) 2 2
        redirected to {missing}/policy
        line 2 (Disallow: /drafts/) dropped /drafts/one, /drafts/two
        sitemap {moved}/sitemap.xml""",
    "slow": """\
        SUCCESSFUL (200) 2 12
        line 2 (Disallow: /archive/) dropped /archive/2001, /archive/2002, /archive/2003 and 9 more
    """,
    "sitemaps": """\
        SUCCESSFUL (200) 5 1
        line 3 (Disallow: /cart) dropped /cart
        sitemap {sitemaps}/sitemap.xml
        sitemap {sitemaps}/news/sitemap.xml
        sitemap {cdn}/shop/sitemap.txt
        sitemap {cdn}/private/sitemap.xml""",
    "cdn": """\
        SUCCESSFUL (200) 1 1
        line 2 (Disallow: /private/) dropped /private/sitemap.xml""",
}


@pytest.fixture(
    scope="module",
    params=[(), ("-s", "TWISTED_REACTOR_ENABLED=False")],
    ids=["asyncio", "reactorless"],
)
def printed(request: pytest.FixtureRequest) -> str:
    return crawl("polite", *request.param)


class TestCrawl:
    @pytest.mark.parametrize("site", EXPECTED)
    def test_site(self, printed: str, site: str) -> None:
        urls = dict(re.findall(r"^(\w+) +(http://\S+:\d+) ", printed, re.MULTILINE))
        found = re.search(rf"^{site} +http\S+ (.*\n(?: +.*\n)*)", printed, re.MULTILINE)
        assert found, printed
        said = [" ".join(line.split()) for line in found[1].splitlines()]
        said = [re.sub(r"^no line \(.+\)", "no line (REASON)", line) for line in said]
        expected = textwrap.dedent(EXPECTED[site].format_map(urls)).splitlines()
        assert said == expected

    def test_the_servers_saw_no_disallowed_request(self, printed: str) -> None:
        assert printed.endswith(
            "The crawler fetched 25 pages and dropped 26.\n"
            "The servers saw 25 page requests, 0 of them disallowed.\n"
        )


class TestSitemaps:
    """The second spider: nested, gzipped, a feed, another host, a redirected robots.txt."""

    def test_what_came_of_each(self) -> None:
        table, _, counts = crawl("sitemaps").partition("\n\n")
        said = [line.split(maxsplit=3) for line in table.splitlines()[1:]]
        assert said == [
            ["sitemap", "cdn", "/private/sitemap.xml", "dropped by line 2 (Disallow: /private/)"],
            ["sitemap", "cdn", "/shop/sitemap.txt", "read"],
            ["sitemap", "moved", "/sitemap.xml", "read"],
            ["sitemap", "sitemaps", "/maps/all.xml", "read"],
            ["sitemap", "sitemaps", "/maps/shop.xml.gz", "read"],
            ["sitemap", "sitemaps", "/news/sitemap.xml", "read"],
            ["sitemap", "sitemaps", "/sitemap.xml", "read"],
            ["page", "moved", "/contact", "fetched"],
            ["page", "moved", "/drafts/one", "dropped by line 2 (Disallow: /drafts/)"],
            ["page", "sitemaps", "/cart", "dropped by line 3 (Disallow: /cart)"],
            ["page", "sitemaps", "/news/", "fetched"],
            *(["page", "sitemaps", f"/shop/{number}", "fetched"] for number in (1, 2, 3)),
        ]
        assert counts == (
            "robots.txt was asked for 3 times on 3 sites.\n"
            "The servers saw 5 page requests, 0 of them disallowed.\n"
        )


class TestSummary:
    def test_an_origin_without_drops_is_one_line(self) -> None:
        from demo.summary import Account, summary

        account = Account(
            name="plain",
            origin="http://127.0.0.1:8000",
            access="UNAVAILABLE",
            event="404",
            allowed=["/", "/a"],
        )
        lines = summary([account], served=2, trespasses=0).splitlines()
        assert " ".join(lines[1].split()) == "plain http://127.0.0.1:8000 UNAVAILABLE (404) 2 0"
        assert lines[2:] == [
            "",
            "The crawler fetched 2 pages and dropped 0.",
            "The servers saw 2 page requests, 0 of them disallowed.",
        ]

    def test_drops_are_grouped_by_line_and_long_lists_cut(self) -> None:
        from demo.summary import Account, Drop, summary

        account = Account(
            name="strict",
            origin="http://127.0.0.1:8000",
            access="SUCCESSFUL",
            event="200",
            redirected_to="http://127.0.0.1:8001/policy",
            sitemaps=("http://127.0.0.1:8000/sitemap.xml",),
            dropped=[
                Drop("/z", 9, "Disallow: /z"),
                *(Drop(f"/a/{n}", 2, "Disallow: /a") for n in (4, 3, 2, 1)),
                Drop("/b", 0, "unreachable"),
            ],
        )
        lines = summary([account], served=0, trespasses=0).splitlines()
        assert [line.strip() for line in lines[2:7]] == [
            "redirected to http://127.0.0.1:8001/policy",
            "no line (unreachable) dropped /b",
            "line 2 (Disallow: /a) dropped /a/1, /a/2, /a/3 and 1 more",
            "line 9 (Disallow: /z) dropped /z",
            "sitemap http://127.0.0.1:8000/sitemap.xml",
        ]


class TestDemoWeb:
    def test_it_counts_trespasses(self) -> None:
        from demo.web import DemoWeb

        web = DemoWeb()
        try:
            for path in ("/about", "/private/report", "/robots.txt"):
                with urllib.request.urlopen(web.urls["rules"] + path) as response:
                    response.read()
        finally:
            web.stop()
        rules = web.urls["rules"]
        assert web.pages_served == [f"{rules}/about", f"{rules}/private/report"]
        assert web.trespasses == [f"{rules}/private/report"]

    def test_each_site_is_another_origin(self) -> None:
        from demo.web import SITES, DemoWeb

        web = DemoWeb()
        web.stop()
        assert len(set(web.urls.values())) == len(SITES)

"""``scrapy rep check --sitemap`` and ``--page``, of real sites on loopback."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.commands.calling import Done, rep_process
from tests.crawls.test_sitemaps import index, urlset, xml
from tests.servers.handle import Answer, Site, free_port, redirect

_QUICK = ["-s", "REP_STORE=memory", "-s", "REP_QUICK_RETRY_SECONDS="]
_HTML = (("Content-Type", "text/html; charset=utf-8"),)
_RULES = (
    "User-agent: *\nDisallow: /a\nDisallow: /css\nDisallow: /secret\n"
    "User-agent: foo\nDisallow: /*.png\n"
)


@pytest.fixture
def site() -> Iterator[Site]:
    with Site() as site:
        url = site.url
        site.change(
            {
                "/robots.txt": Answer(
                    body=f"Sitemap: {url('/i.xml')}\nSitemap: {url('/gone.xml')}\n{_RULES}"
                ),
                "/i.xml": xml(index(url("/1.xml"), url("/moved.xml"), url("/secret.xml"))),
                "/1.xml": xml(
                    urlset(*(url(f"/a/{n}") for n in range(3)), url("/b"), "ftp://x/", "js:1")
                ),
                "/moved.xml": redirect("/2.txt"),
                "/2.txt": Answer(body=f"{url('/x.png')}\n{url('/a')}\n"),
                "/gone.xml": Answer(status=404),
                "/secret.xml": xml(urlset(url("/a/secret"))),
                "/page": Answer(
                    headers=_HTML,
                    body='<link rel=stylesheet href=/css/a.css><script src="/js/b.js"></script>'
                    '<img src="/x.png" srcset="/y.jpg 2x">',
                ),
                "/to-page": redirect("/page"),
                "/text": Answer(body="<img src=/x.png>", headers=(("Content-Type", "text/plain"),)),
            }
        )
        yield site


def check(*arguments: object, **more: Any) -> Done:
    return rep_process("rep", "check", *arguments, *_QUICK, **more)


def rows(done: Done) -> list[dict[str, Any]]:
    """The rows of URLs and resources, without the last one about the age of files."""
    found = done.rows
    return [row for row in found if "files" not in row and row.get("section") != "rules"]


@pytest.mark.slow
class TestSitemap:
    def test_all_sitemaps_of_a_site_are_judged(self, site: Site) -> None:
        """Index files, redirects and text are read; missing and disallowed ones are reported."""
        agents = ["--agent", "bar", "--agent", "foo"]
        done = check("--sitemap", site.url(), "--json", *agents)
        assert done.status == 1, done.err
        *found, summary = rows(done)
        told = [(row["agent"], row["line"], row["url"].removeprefix(site.url(""))) for row in found]
        assert told == [
            ("bar", 4, "/a/0"),
            ("bar", 4, "/a/1"),
            ("bar", 4, "/a/2"),
            ("foo", 8, "/x.png"),
            ("bar", 4, "/a"),
        ]
        assert found[0]["sitemap"] == site.url("/1.xml")
        assert found[-1]["sitemap"] == site.url("/2.txt")
        assert summary["sitemaps"] == {"index": 1, "urlset": 1, "feed": 0, "text": 1}
        assert (summary["urls"], summary["not_judged"]) == (8, 2)
        (by,) = summary["disallowed"]["bar"]["by"]
        assert (by["why"], by["urls"]) == ("line 4, Disallow: /a", 4)
        problems = {row["sitemap"]: row["problem"] for row in summary["problems"]}
        assert problems[site.url("/gone.xml")] == "the answer is 404"
        assert (
            "a crawl may not fetch this: disallowed by line 6" in problems[site.url("/secret.xml")]
        )
        assert sorted(site.paths()) == sorted(
            ["/robots.txt", "/i.xml", "/1.xml", "/moved.xml", "/2.txt", "/gone.xml"]
        ), "pages and disallowed sitemaps are not fetched"

    def test_text_has_a_summary_and_the_age_of_the_file(self, site: Site, tmp_path: Path) -> None:
        store = ["--agent", "bar", "-s", f"REP_STORE_PATH={tmp_path / 's.sqlite'}"]
        first = rep_process("rep", "check", "--sitemap", site.url("/i.xml"), *store)
        assert first.err == f"scrapy rep check: {site.url('/robots.txt')}: fetched now\n"
        lines = first.out.replace(site.url(""), "").splitlines()
        assert lines[0] == "disallowed\tbar\t4\tline 4, Disallow: /a\t/a/0"
        assert "  disallowed for bar: 4 URLs" in lines
        assert "            4  line 4, Disallow: /a" in lines
        assert "  not judged: 2 entries without an http or https URL" in lines
        assert "/i.xml: 3 sitemaps (1 of them index files), 8 URLs" in lines
        again = rep_process("rep", "check", "--page", site.url("/page"), *store)
        assert f"{site.url('/robots.txt')}: from the store, " in again.err
        assert again.out.replace(site.url(""), "") == (
            "/page\n"
            "  fields: none\n"
            "  elements: none\n"
            "  for bar: no rules\n"
            "  links not to be followed (rel: nofollow): none\n"
            "  css   /css/a.css\n"
            "        disallowed for bar: line 5, Disallow: /css\n"
            "  resources: 4 (2 image, 1 css, 1 js)\n"
            "  blocked for bar: 1\n"
        )
        page = ["--page", site.url("/page"), "--refresh", "--json"]
        later = rep_process("rep", "check", *page, *store)
        (file,) = json.loads(later.out.splitlines()[-1])["files"]
        assert (file["robots_txt"], file["source"]) == (site.url("/robots.txt"), "site")
        assert site.paths().count("/robots.txt") == 2

    def test_page_that_is_listed_twice_counts_once(self, tmp_path: Path) -> None:
        sitemap, robots = tmp_path / "s.xml", tmp_path / "r.txt"
        urls = ["http://h.example/a", "http://h.example/b", "http://h.example/a#x", "js:1", "js:1"]
        sitemap.write_text(urlset(*urls))
        robots.write_text("User-agent: *\nDisallow: /a\n")
        call = ("--sitemap", sitemap, "--robots", robots, "--agent", "x")
        done = check(*call)
        assert done.out.count("disallowed\tx\t") == 1
        assert ": 1 sitemap, 3 URLs\n  disallowed for x: 1 URL\n" in done.out
        assert "  listed before: 2 entries, not counted\n" in done.out
        *_, summary = rows(check(*call, "--json"))
        assert (summary["urls"], summary["repeated"], summary["not_judged"]) == (3, 2, 1)

    def test_local_files_judge_and_are_judged(self, tmp_path: Path) -> None:
        """Control characters in them are escaped."""
        sitemap, robots = tmp_path / "\x1b[31m.txt", tmp_path / "r.txt"
        sitemap.write_bytes(b"http://h.example/\x1b[31m\nhttp://h.example/a\x07\n")
        robots.write_bytes(b"User-agent: *\nDisallow: /\x1b\nDisallow: /*\x1b[1m\nDisallow: /\n")
        done = check("--sitemap", sitemap, "--robots", robots, "--agent", "x")
        assert (done.status, done.out.count("disallowed\tx\t")) == (1, 2)
        assert not re.search(r"[\x00-\x08\x0b-\x1f]", done.out.replace("\n", ""))

    def test_file_of_another_site_judges(self, site: Site) -> None:
        with Site({"/robots.txt": Answer(body="User-agent: *\nDisallow: /b\n")}) as other:
            done = check("--sitemap", site.url("/1.xml"), "--robots", other.url(), "--json")
        (row, _) = rows(done)
        assert (row["url"], row["line"]) == (site.url("/b"), 2)

    def test_unreadable_sitemaps_end_with_3(self, site: Site) -> None:
        """A site without sitemaps, one that is down, a missing file, and a text of another kind."""
        names = (f"http://127.0.0.1:{free_port()}/", site.url("/nothing.xml"), site.url("/text"))
        with Site({"/robots.txt": Answer(body="User-agent: *\nDisallow: /a\n")}) as bare:
            words = [word for url in (bare.url(), *names) for word in ("--sitemap", url)]
            done = check(*words, "--agent", "x")
            assert bare.paths() == ["/robots.txt"]
        assert (done.status, done.out.count("  note: ")) == (3, 4)
        assert "its robots.txt names no sitemap" in done.out
        assert "Traceback" not in done.err

    def test_hostile_sitemap_is_bounded(self) -> None:
        """It cannot cause requests to thousands of hosts, nor for thousands of sitemaps."""
        ports = {free_port() for _ in range(12)}
        with Site() as site:
            urls = [f"http://127.0.0.1:{port}/" for port in ports]
            lists = index(site.url("/s.xml"), site.url("/t.xml"))
            routes = {"/i.xml": xml(lists), "/s.xml": xml(urlset(*urls))}
            site.change({"/robots.txt": Answer(body=""), **routes})
            limit = ["-s", "REP_SITEMAP_MAX=2"]
            done = check("--sitemap", site.url("/i.xml"), "--json", "--agent", "x", *limit)
            assert "/t.xml" not in site.paths()
        summary = rows(done)[-1]
        assert (done.status, summary["problem_count"]) == (3, 1)
        assert summary["problems"][0]["problem"] == "not fetched (too-many)"
        assert summary["of_too_many_origins"] == len(ports) - 8


@pytest.mark.slow
class TestPage:
    def test_blocked_resources_are_shown(self, site: Site) -> None:
        """Each by the file of its own origin."""
        with Site({"/robots.txt": Answer(body="User-agent: *\nDisallow: /x\n")}) as other:
            body = f'<img src="{other.url("/x.png")}"><img src="{other.url("/y")}">'
            site.change({"/other": Answer(headers=_HTML, body=body)})
            pages = ["--page", site.url("/to-page"), "--page", site.url("/other")]
            done = check(*pages, "--json", "--agent", "bar", "--agent", "foo")
        assert done.status == 1, done.err
        *first, summary, bar, foo, _ = rows(done)
        told = [
            (row["kind"], row["agent"], row["line"], row["url"].removeprefix(site.url("")))
            for row in first
        ]
        assert told == [("css", "bar", 5, "/css/a.css"), ("image", "foo", 8, "/x.png")]
        assert {row["page"] for row in first} == {site.url("/page")}
        assert summary["count"] == {"css": 1, "js": 1, "image": 2}
        assert summary["blocked"] == {"bar": 1, "foo": 1}
        assert [(row["url"], row["line"]) for row in (bar, foo)] == [(other.url("/x.png"), 2)] * 2
        assert site.paths() == ["/robots.txt", "/to-page", "/page", "/other"]

    def test_pages_that_cannot_be_read_are_noted(self, site: Site) -> None:
        """A disallowed page, a file of another type, and two sites that do not answer."""
        urls = [*map(site.url, ("/a", "/text", "/gone.xml")), f"http://127.0.0.1:{free_port()}/"]
        words = [word for url in (*urls, site.url("/page")) for word in ("--page", url)]
        done = check(*words, "--agent", "foo")
        assert done.status == 3
        assert "/a: a crawl may not fetch this: disallowed by line 4" in done.err
        assert "/gone.xml answers 404" in done.err
        assert "note: not an HTML page" in done.out
        assert "blocked for foo: 1" in done.out
        assert "/a" not in site.paths()
        assert "Traceback" not in done.err

    def test_hostile_page_is_bounded(self, site: Site) -> None:
        """It has many resources of many sites, and control characters in URLs."""
        images = "".join(f'<img src="//127.0.0.1:{n}/\x1b[31m{n}">' for n in range(1, 60))
        images += "".join(f'<img src="/a/{n}">' for n in range(11_000))
        site.change({"/hostile": Answer(headers=_HTML, body=images)})
        done = check("--page", site.url("/hostile"), "--json", "--agent", "x")
        summary = rows(done)[-1]
        assert (done.status, sum(summary["count"].values())) == (3, 10_000)
        assert "only the first 10,000 resources are judged" in summary["notes"]
        assert summary["not_judged"] > 20
        assert "\x1b" not in done.out

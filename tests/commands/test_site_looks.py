"""``scrapy rep check --sitemap`` and ``--page``, of real sites on loopback."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.commands.calling import LOOPS, Done, rep_process
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
    @pytest.mark.parametrize("loop", LOOPS)
    def test_all_sitemaps_of_a_site_are_judged(self, loop: str, site: Site) -> None:
        """Index files, redirects and text are read; missing and disallowed ones are reported."""
        agents = ["--agent", "bar", "--agent", "foo"]
        done = check("--sitemap", site.url(), "--json", *agents, *LOOPS[loop])
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

    def test_text_has_a_summary(self, site: Site) -> None:
        done = check("--sitemap", site.url("/i.xml"), "--agent", "bar")
        lines = done.out.replace(site.url(""), "").splitlines()
        assert lines[0] == "disallowed\tbar\t4\tline 4, Disallow: /a\t/a/0"
        assert "  disallowed for bar: 4 URLs" in lines
        assert "            4  line 4, Disallow: /a" in lines
        assert "  not judged: 2 entries without an http or https URL" in lines
        assert "/i.xml: 3 sitemaps (1 of them index files), 8 URLs" in lines

    def test_age_of_the_judging_file_is_shown(self, site: Site, tmp_path: Path) -> None:
        store = ["-s", f"REP_STORE_PATH={tmp_path / 's.sqlite'}", "--agent", "x"]
        first = rep_process("rep", "check", "--sitemap", site.url("/1.xml"), *store)
        assert first.err == f"scrapy rep check: {site.url('/robots.txt')}: fetched now\n"
        again = rep_process("rep", "check", "--page", site.url("/page"), *store)
        assert f"{site.url('/robots.txt')}: from the store, " in again.err
        assert "--refresh fetches it now" in again.err
        later = rep_process(
            "rep",
            "check",
            "--page",
            site.url("/page"),
            "--agent",
            "x",
            "--refresh",
            "--json",
            *store,
        )
        (file,) = json.loads(later.out.splitlines()[-1])["files"]
        assert (file["robots_txt"], file["source"]) == (site.url("/robots.txt"), "site")
        assert site.paths().count("/robots.txt") == 2

    def test_local_files_judge_and_are_judged(self, site: Site, tmp_path: Path) -> None:
        new = tmp_path / "new.txt"
        new.write_text("User-agent: *\nDisallow: /b\n")
        done = check("--sitemap", site.url("/1.xml"), "--robots", new, "--json", "--agent", "x")
        assert [row["url"] for row in rows(done)[:-1]] == [site.url("/b")]
        local = tmp_path / "sitemap.xml"
        local.write_text(urlset("https://shop.example/b", "https://shop.example/c"))
        done = check("--sitemap", local, "--robots", new, "--json", "--agent", "x")
        assert (done.status, len(rows(done))) == (1, 2)
        done = check("--sitemap", "-", "--robots", new, "--agent", "x", stdin=local.read_bytes())
        assert done.status == 1
        assert "https://shop.example/b" in done.out

    def test_file_of_another_site_judges(self, site: Site) -> None:
        with Site({"/robots.txt": Answer(body="User-agent: *\nDisallow: /b\n")}) as other:
            done = check("--sitemap", site.url("/1.xml"), "--robots", other.url(), "--json")
        (row, _) = rows(done)
        assert (row["url"], row["line"]) == (site.url("/b"), 2)

    def test_site_without_sitemaps_ends_with_3(self) -> None:
        with Site() as site:
            site.change({"/robots.txt": Answer(body="User-agent: *\nDisallow: /a\n")})
            done = check("--sitemap", site.url("/robots.txt"), "--agent", "x")
            assert done.status == 3
            assert "its robots.txt names no sitemap" in done.out
            assert site.paths() == ["/robots.txt"]

    def test_limits_are_those_of_crawls(self, site: Site) -> None:
        done = check("--sitemap", site.url("/i.xml"), "--json", "-s", "REP_SITEMAP_MAX=2")
        summary = rows(done)[-1]
        assert summary["problem_count"] == 2
        assert summary["problems"][0]["problem"] == "not fetched (too-many)"

    def test_too_many_sites_are_not_fetched(self) -> None:
        """A hostile sitemap cannot cause requests to thousands of hosts."""
        ports = [free_port() for _ in range(12)]
        with Site() as site:
            urls = [f"http://127.0.0.1:{port}/" for port in ports]
            site.change({"/robots.txt": Answer(body=""), "/s.xml": xml(urlset(*urls))})
            done = check("--sitemap", site.url("/s.xml"), "--json", "--agent", "x")
        assert done.status == 3
        assert rows(done)[-1]["of_too_many_origins"] == len(set(ports)) - 8

    def test_unreachable_sitemap_ends_with_3(self, site: Site) -> None:
        for url in (
            f"http://127.0.0.1:{free_port()}/",
            site.url("/nothing.xml"),
            site.url("/text"),
        ):
            done = check("--sitemap", url, "--agent", "x")
            assert done.status == 3
            assert "  note: " in done.out
            assert "Traceback" not in done.err

    def test_control_characters_are_escaped(self, tmp_path: Path) -> None:
        sitemap, robots = tmp_path / "\x1b[31m.txt", tmp_path / "r.txt"
        sitemap.write_bytes(b"http://h.example/\x1b[31m\nhttp://h.example/a\x07\n")
        robots.write_bytes(b"User-agent: *\nDisallow: /\x1b\nDisallow: /*\x1b[1m\nDisallow: /\n")
        done = check("--sitemap", sitemap, "--robots", robots, "--agent", "x")
        assert done.status == 1
        assert not re.search(r"[\x00-\x08\x0b-\x1f]", done.out.replace("\n", ""))


@pytest.mark.slow
class TestPage:
    @pytest.mark.parametrize("loop", LOOPS)
    def test_blocked_resources_are_shown(self, loop: str, site: Site) -> None:
        agents = ["--agent", "bar", "--agent", "foo"]
        done = check("--page", site.url("/to-page"), "--json", *agents, *LOOPS[loop])
        assert done.status == 1, done.err
        *found, summary = rows(done)
        told = [
            (row["kind"], row["agent"], row["line"], row["url"].removeprefix(site.url("")))
            for row in found
        ]
        assert told == [("css", "bar", 5, "/css/a.css"), ("image", "foo", 8, "/x.png")]
        assert {row["page"] for row in found} == {site.url("/page")}
        assert summary["count"] == {"css": 1, "js": 1, "image": 2}
        assert summary["blocked"] == {"bar": 1, "foo": 1}
        assert site.paths() == ["/robots.txt", "/to-page", "/page"]

    def test_text_has_a_summary(self, site: Site) -> None:
        done = check("--page", site.url("/page"), "--agent", "bar")
        assert done.out.replace(site.url(""), "") == (
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

    def test_other_origins_have_their_own_files(self, site: Site) -> None:
        with Site({"/robots.txt": Answer(body="User-agent: *\nDisallow: /x\n")}) as other:
            body = f'<img src="{other.url("/x.png")}"><img src="{other.url("/y")}">'
            site.change({"/other": Answer(headers=_HTML, body=body)})
            (row, _) = rows(check("--page", site.url("/other"), "--json", "--agent", "bar"))
        assert (row["url"], row["line"]) == (other.url("/x.png"), 2)

    def test_disallowed_page_is_not_fetched(self, site: Site) -> None:
        done = check("--page", site.url("/a"), "--page", site.url("/page"), "--agent", "foo")
        assert done.status == 1
        assert "/a: a crawl may not fetch this: disallowed by line 4" in done.err
        assert "blocked for foo: 1" in done.out
        assert "/a" not in site.paths()

    def test_unreadable_page_is_noted(self, site: Site) -> None:
        done = check("--page", site.url("/text"), "--agent", "foo")
        assert done.status == 0
        assert "note: not an" in done.out
        for url in (f"http://127.0.0.1:{free_port()}/", site.url("/gone.xml")):
            done = check("--page", url, "--agent", "x")
            assert (done.status, done.out) == (3, "")
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


@pytest.mark.slow
def test_missing_files_are_errors(tmp_path: Path) -> None:
    for arguments in (
        ["--sitemap", tmp_path / "no.xml"],
        ["--sitemap", "pyproject.toml", "--robots", tmp_path / "no.txt"],
    ):
        done = check(*arguments)
        assert done.status == 2
        assert "No such file" in done.err
        assert "Traceback" not in done.err

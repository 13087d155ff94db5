"""``scrapy rep plan``, of real sites on loopback, and its estimates beside real crawls."""

from __future__ import annotations

import gzip
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from scrapy_rep.protocol.access.origin import Origin
from tests.at_length import at_length
from tests.cache.samples import file_entry, usual_key
from tests.commands.calling import Done, rep_process, stored
from tests.commands.terminals import on_terminal
from tests.crawling import crawl
from tests.crawls.test_sitemaps import SITES, index, urlset, xml
from tests.extras import needs
from tests.processes import REPOSITORY, without_proxies
from tests.servers.handle import Answer, Site, free_port, redirect

_MEMORY = ["-s", "REP_STORE=memory", "-s", "REP_QUICK_RETRY_SECONDS="]
_DATED = {"/new": 1, "/week": 20, "/month": 200, "/old": 500}
_RULES = (
    "User-agent: *\nDisallow: /\n"
    "User-agent: foo\nCrawl-delay: 0.1\nVisit-time: 0100-0500\nContent-Signal: ai-train=no\n"
    + "".join(f"Disallow: /a{number}\n" for number in range(7))
)


def plan(*arguments: object, token: str = "foo", **settings: Any) -> Done:
    given = [one for name, value in settings.items() for one in ("-s", f"{name}={value}")]
    as_token = ["-s", f"ROBOTSTXT_USER_AGENT={token}"]
    return rep_process("rep", "plan", *arguments, *_MEMORY, *as_token, *given)


def facts(*arguments: object, **settings: Any) -> dict[str, Any]:
    """The facts of one site."""
    done = plan(*arguments, "--json", **settings)
    assert not done.err, done.err
    (found,) = done.rows
    return found


def dated(*entries: tuple[str, float | None]) -> str:
    """A sitemap with the age of each page in days."""
    now = datetime.now(timezone.utc)
    rows = (
        f"<url><loc>{url}</loc>"
        + (
            ""
            if days is None
            else f"<lastmod>{now - timedelta(days=days):%Y-%m-%dT%H:%MZ}</lastmod>"
        )
        + "</url>"
        for url, days in entries
    )
    return f"<urlset>{''.join(rows)}</urlset>"


@pytest.fixture
def site() -> Iterator[Site]:
    """A site with two sitemaps: 11 URLs allowed, 28 disallowed by seven rules, 3 elsewhere."""
    with Site() as site:
        url = site.url
        refused = [f"/a{rule}/{page}" for rule in range(7) for page in range(rule + 1)]
        other = ["http://other.example/1", "http://other.example/2", "mailto:x@other.example"]
        site.change(
            {
                "/robots.txt": Answer(body=f"Sitemap: {url('/i.xml')}\n{_RULES}"),
                "/i.xml": xml(index(url("/1.xml"), url("/2.xml"), url("/gone.xml"))),
                "/1.xml": xml(dated(*((url(page), days) for page, days in _DATED.items()))),
                "/2.xml": xml(
                    urlset(*map(url, refused), *(url(f"/b/{n}") for n in range(7)), *other)
                ),
                "/gone.xml": Answer(status=404),
            }
        )
        yield site


class TestSite:
    @needs("pages")
    def test_every_number_of_a_plan_is_right(self, site: Site) -> None:
        """Every number of the plan of a site, and no request for a page."""
        found = facts(site.url("/start"))
        assert (found["agent"], found["group"], found["rules"]) == ("foo", "foo", 7)
        assert [one["allowed"] for one in found["starts"]] == [True]
        listed = found["sitemaps"]
        counts = ("files", "urls", "allowed", "disallowed", "elsewhere", "undated", "files_left")
        assert [listed[name] for name in counts] == [3, 42, 11, 28, 3, 7, 0]
        by = [(one["why"], one["urls"]) for one in listed["disallowed_by"]]
        assert by == [(f"line {n + 8}, Disallow: /a{n}", n + 1) for n in (6, 5, 4, 3, 2)]
        assert listed["changed_within_days"] == {"7": 1, "30": 2, "365": 3}
        assert listed["hosts"] == {"http://other.example": 2, "no web site": 1}
        assert listed["problems"] == [f"{site.url('/gone.xml')}: the answer is 404"]
        pace = found["pace"]
        assert (pace["pages"], pace["by"]) == (11, "Crawl-delay 0.1")
        assert pace["seconds"] == pytest.approx(11 * (0.1 + pace["page_seconds"]))
        assert found["uses"]["preferences"]["train-ai"] == "n"
        assert found["uses"]["dropped_by"] == ["train-ai"]
        assert [one["set"] for one in found["settings"]] == ["REP_VISIT_TIME_OBEY = True"]
        paths = {one.path for one in site.requests()}
        assert paths == {"/robots.txt", "/i.xml", "/1.xml", "/2.xml", "/gone.xml"}

    def test_screen_shows_the_same_facts_in_24_lines(self, site: Site) -> None:
        """The screen shows the same facts in at most 24 lines, without a trace of the progress."""
        done = plan(site.url(), REP_USES="train-ai")
        assert (done.status, done.err) == (0, "")
        assert len(done.out.splitlines()) <= 24
        words = (
            "obeyed as foo: group foo with 7 rules",
            "404, 403: allow; 429, 5xx, no answer, a challenge: disallow",
            "3 files, 42 URLs: 11 allowed, 28 disallowed",
            "1 in 7 days, 2 in 30 days, 3 in 365 days; 7 without a date",
            " s for 11 pages, if a page takes as long as these files",
            "REP_USES has train-ai: items are dropped (train-ai=n by Content-Signal, line 7",
            "REP_VISIT_TIME_OBEY = True  # Visit-time 0100-0500 is not kept",
        )
        assert [one for one in words if one not in done.out] == []

    def test_each_page_counts_once(self) -> None:
        """As in a crawl, with Scrapy's duplicate filter: no fragment, and a sorted query."""
        with Site() as site:
            pages = [site.url(f"/{number}?a=1&b=2") for number in range(15)]
            again = [site.url(f"/{number}?b=2&a=1") for number in range(3)]
            listed = [*pages, f"{pages[0]}#top", *again]
            rules = f"Sitemap: {site.url('/1.xml')}\nUser-agent: *\nDisallow: /x"
            site.change({"/robots.txt": Answer(body=rules), "/1.xml": xml(urlset(*listed))})
            found = facts(site.url())
            done = plan(site.url())
            stats = crawl(SITES, settings=_CRAWL, sites=site.url("")).stats
        counts = [found["sitemaps"][name] for name in ("urls", "repeated", "allowed")]
        assert (counts, found["pace"]["pages"]) == ([15, 4, 15], 15)
        assert [stats[f"rep/coverage/{name}"] for name in ("listed", "fetched")] == [15, 15]
        assert "1 file, 15 URLs: 15 allowed, 0 disallowed; 4 listed again" in done.out

    def test_short_times_are_bounds_in_plain_words(self, site: Site) -> None:
        """The total of a bound and an estimate is a bound."""
        with Site() as fast:
            done = plan(site.url(), fast.url("/a"))
            alone = plan(fast.url("/a"), CONCURRENT_REQUESTS_PER_DOMAIN=500)
        times = [line for line in done.out.splitlines() if line.startswith("  time ")]
        assert [line.split()[1] for line in times] == ["about", "at"]
        assert "all 2 sites side by side, in one process: at least " in done.out
        assert "less than" not in done.out + alone.out

    def test_sample_estimates_the_rest(self, site: Site) -> None:
        """No sitemap is fetched after the sample, and the rest counts as being alike."""
        listed = facts(site.url(), "--sample", "2")["sitemaps"]
        assert (listed["urls"], listed["files_left"], listed["about_urls"]) == (4, 2, 12)
        assert "/2.xml" not in {one.path for one in site.requests()}

    def test_at_most_fifty_sitemaps(self) -> None:
        with Site() as site:
            pages = [site.url(f"/{number}.txt") for number in range(60)]
            site.change(
                {
                    "/robots.txt": Answer(body=f"Sitemap: {site.url('/i.xml')}"),
                    "/i.xml": xml(index(*pages)),
                    **{f"/{n}.txt": Answer(body=site.url(f"/p/{n}")) for n in range(60)},
                }
            )
            listed = facts(site.url())["sitemaps"]
            assert (listed["files"], listed["files_left"], listed["about_urls"]) == (50, 11, 60)

    def test_visit_time_that_is_obeyed(self, site: Site) -> None:
        """Sitemaps are not fetched while a site is closed."""
        hour = (time.gmtime().tm_hour + 2) % 24
        rules = f"Sitemap: {site.url('/i.xml')}\nUser-agent: *\nVisit-time: {hour:02}00-{hour:02}30"
        site.change({"/robots.txt": Answer(body=rules)})
        found = facts(site.url(), REP_VISIT_TIME_OBEY=1)
        assert 0 < found["sitemaps"]["opens_in_seconds"] <= 7200
        assert [one.path for one in site.requests()] == ["/robots.txt"]
        assert found["pace"]["seconds"] >= found["sitemaps"]["opens_in_seconds"] - 10


class TestClosed:
    @pytest.mark.parametrize(
        ("answer", "word"),
        [
            (Answer(body="User-agent: *\nDisallow: /"), "Disallow: /"),
            (Answer(status=503), "the file is unreachable"),
            (Answer(status=403, headers=(("cf-mitigated", "challenge"),)), "with a challenge"),
            (Answer(body="User-agent: *\nCrawl-delay: 600"), "Crawl-delay 600 is too long"),
        ],
    )
    def test_closed_site_ends_with_1_and_the_reason(self, answer: Answer, word: str) -> None:
        """Status 1 if nothing may be crawled, and the reason is on the screen."""
        with Site({"/robots.txt": answer}) as site:
            done = plan(site.url())
            assert done.status == 1, done.err
            assert word in done.out

    def test_long_delay_names_the_setting(self) -> None:
        rules = "User-agent: *\nRequest-rate: 1/20m"
        with Site({"/robots.txt": Answer(body=rules)}) as site:
            found = facts(site.url())
            assert found["is_closed"]
            told = found["settings"][0]
            assert told["set"] == "REP_CRAWL_DELAY_MAX_SECONDS = 1200"
            assert told["why"].startswith("Request-rate 1/1200s is above 300")

    def test_one_site_of_two(self, site: Site) -> None:
        """One closed site is enough for status 1, and the other is planned."""
        done = plan(site.url(), f"http://127.0.0.1:{free_port()}/", "--json")
        assert done.status == 1
        assert [row["is_closed"] for row in done.rows] == [False, True]


class TestOtherHosts:
    def test_redirect_to_another_host_is_told(self) -> None:
        with Site() as other, Site({"/robots.txt": redirect(other.url("/robots.txt"))}) as site:
            assert facts(site.url())["redirects_to"] == other.url("/robots.txt")
            assert f"that of another host: {other.url('/robots.txt')}" in plan(site.url()).out

    @pytest.mark.parametrize("body", [b"User-agent: *\nDisallow: /x", b"User-agent: *"])
    def test_http_beside_https(self, body: bytes, tmp_path: Path) -> None:
        """A file that differs by http is reported, and nothing is fetched if both are stored."""
        now, texts = time.time(), {443: b"User-agent: *", 80: body}
        entries = (
            file_entry(usual_key(Origin(scheme, "shop.example", port)), at=now, body=texts[port])
            for scheme, port in (("https", 443), ("http", 80))
        )
        path = stored(tmp_path, *entries)["REP_STORE_PATH"]
        done = rep_process("rep", "plan", "https://shop.example", "-s", f"REP_STORE_PATH={path}")
        assert "200, from the store, " in done.out
        words = "http://shop.example/robots.txt says something else: 200"
        assert (words in done.out) is (body != texts[443])


class TestProject:
    @pytest.fixture
    def project(self, tmp_path: Path) -> Path:
        package = tmp_path / "shop"
        package.mkdir()
        (tmp_path / "scrapy.cfg").write_text("[settings]\ndefault = shop.settings\n")
        (package / "__init__.py").write_text("")
        (package / "settings.py").write_text('SPIDER_MODULES = ["shop.spiders"]\n')
        return tmp_path

    def spider(
        self, project: Path, site: Site, attributes: str
    ) -> subprocess.CompletedProcess[str]:
        text = (
            f"from scrapy import Spider\nclass Shop(Spider):\n    name = 'shop'\n    {attributes}"
        )
        (project / "shop" / "spiders.py").write_text(text.format(url=site.url("/start")))
        return subprocess.run(
            [sys.executable, "-m", "scrapy", "rep", "plan", "--spider", "shop", *_MEMORY],
            cwd=project,
            env={**without_proxies(), "PYTHONPATH": str(REPOSITORY)},
            capture_output=True,
            text=True,
            check=False,
        )

    def test_plan_takes_urls_and_settings_of_a_spider(self, project: Path, site: Site) -> None:
        """Its start URLs and its settings count, and what is off is told."""
        own = "start_urls = ['{url}']; custom_settings = dict(USER_AGENT='foo/1 (+http://x/)', "
        own += "DOWNLOAD_DELAY=0.5, CLOSESPIDER_PAGECOUNT=5)"
        done = self.spider(project, site, own)
        assert done.returncode == 0, done.stderr
        assert "obeyed as foo" in done.stdout
        assert "0.5 s; limited by DOWNLOAD_DELAY = 0.5" in done.stdout
        assert "ROBOTSTXT_OBEY = True  # it is off" in done.stdout
        assert "CLOSESPIDER_PAGECOUNT = 0  # 5 ends the crawl before 11 pages" in done.stdout

    def test_plan_wants_a_url_for_a_spider_without_one(self, project: Path, site: Site) -> None:
        done = self.spider(project, site, "custom_settings = {{}}")
        assert done.returncode == 2
        assert "give a URL, or --spider NAME with start_urls or sites" in done.stderr


class TestUsage:
    @pytest.mark.parametrize(
        ("arguments", "words"),
        [
            ([], "give a URL"),
            (["http://x.example", "--sample", "0"], "give a number from 1 to 500,000"),
            (["x.example"], "give https://x.example"),
            (["--spider", "none"], "no such spider"),
        ],
    )
    def test_wrong_usage_of_plan_is_explained(self, arguments: list[str], words: str) -> None:
        done = plan(*arguments)
        assert done.status == 2
        assert words in done.err


_PAGE_SECONDS = 0.25


def _slow_site(host: str, delay: float, page_count: int) -> tuple[Site, list[str]]:
    """A site whose files and pages take equally long, and its pages."""
    site = Site(default=Answer(body="page", delay_seconds=_PAGE_SECONDS), address="0.0.0.0")
    pages = [site.url(f"/{number}", host) for number in range(page_count)]
    lines = [f"Sitemap: {site.url('/s.txt', host)}", "User-agent: *", "Disallow: /no"]
    texts = {
        "/robots.txt": "\n".join([*lines, f"Crawl-delay: {delay}"]),
        "/s.txt": "\n".join([*pages, site.url("/no", host)]),
    }
    site.change(
        {path: Answer(body=text, delay_seconds=_PAGE_SECONDS) for path, text in texts.items()}
    )
    return site, pages


def _seconds_of_pages(sites: Iterable[Site], urls: list[str]) -> float:
    """How long a crawl takes, from the first robots.txt to the last page."""
    before = [len(site.requests()) for site in sites]
    done = crawl("tests.spiders:UrlsSpider", urls=urls, settings=_CRAWL)
    assert done.exit_code == 0, done.error
    seen = [
        one for site, count in zip(sites, before, strict=True) for one in site.requests()[count:]
    ]
    at = [one.at for one in seen]
    assert len(at) == len(urls) + len(before)  # with each robots.txt
    return max(at) - min(at)  # both answers take equally long


_CRAWL = {
    "ADDONS": {"scrapy_rep.Addon": 500},
    "ROBOTSTXT_OBEY": True,
    "REP_STORE": "memory",
    "CONCURRENT_REQUESTS": 16,
    "CONCURRENT_REQUESTS_PER_DOMAIN": 4,
}


@pytest.mark.slow
class TestEstimate:
    """The time of a plan is within 20 % of that of a crawl; a busy machine adds to the crawl."""

    @pytest.mark.parametrize("counts", [{0: 200, 0.2: 30, 1: 12}, *at_length([{0: 160}])], ids=str)
    def test_estimate_is_near_the_time_of_the_crawl(self, counts: dict[float, int]) -> None:
        """Sites by their delays: one alone, and three side by side."""
        with ExitStack() as stack:
            sites, pages = [], []
            for number, (delay, count) in enumerate(counts.items(), 1):
                site, own = _slow_site(f"127.0.0.{number}", delay, count)
                sites.append(stack.enter_context(site))
                pages.append(own)
            done = plan(*(own[0] for own in pages), "--json", token="UrlsBot", **self.settings())
            seconds = _seconds_of_pages(sites, [url for own in pages for url in own])
            assert done.rows[0]["all_sites_seconds"] == pytest.approx(seconds, rel=0.2)

    @staticmethod
    def settings() -> dict[str, Any]:
        return {name: value for name, value in _CRAWL.items() if name.startswith("CONC")}


# In a small process between: a process inherits the memory of whoever starts it, here of pytest.
_MEASURED = """
import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(used.ru_utime + used.ru_stime, used.ru_maxrss, file=sys.stderr)
"""


@pytest.mark.at_length
def test_large_site_takes_bounded_time_and_memory() -> None:
    """200,000 URLs in 40 gzip sitemaps take under 60 s of CPU and 300 MB."""
    with Site() as site:
        names = [f"/{number}.xml.gz" for number in range(40)]
        rules = "".join(f"Disallow: /{number}/*/private\n" for number in range(100))
        site.change(
            {
                "/robots.txt": Answer(
                    body=f"Sitemap: {site.url('/i.xml')}\nUser-agent: *\n{rules}"
                ),
                "/i.xml": xml(index(*map(site.url, names))),
            }
        )
        for name in names:
            entries = (
                (site.url(f"/{n % 100}{name}/{n}/{'private' if n % 5 == 0 else 'open'}"), n % 900)
                for n in range(5000)
            )
            site.change({name: Answer(body=gzip.compress(dated(*entries).encode()))})
        command = [sys.executable, "-m", "scrapy", "rep", "plan", site.url(), *_MEMORY]
        done = subprocess.run(
            [sys.executable, "-c", _MEASURED, *command],
            cwd=REPOSITORY,
            env=without_proxies(),
            capture_output=True,
            text=True,
            check=True,
        )
    assert "200,000 URLs: 160,000 allowed, 40,000 disallowed" in done.stdout
    processor_seconds, kilobytes = map(float, done.stderr.split())
    assert processor_seconds < 60
    assert kilobytes < 300_000


@pytest.mark.slow
def test_progress_is_removed_from_a_terminal() -> None:
    slow = Answer(body="User-agent: *", delay_seconds=2)
    with Site({"/robots.txt": slow}) as site, on_terminal("plan", site.url(), *_MEMORY) as screen:
        text = screen.read(until="uses")
        assert "0 of 1 site, 0 URLs of sitemaps: " in text
        shown = [line.rpartition("\r")[2] for line in text.split("\n")]
        assert not any("URLs of sitemaps: " in line for line in shown)

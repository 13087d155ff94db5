"""Coverage in audit trails and reports: what crawls got of the URLs that sitemaps list."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from scrapy_rep.decisions.url_ends import FETCHED, LISTED
from scrapy_rep.extras.evidence.reports.report_making import report_of
from scrapy_rep.extras.evidence.reports.report_page import page
from scrapy_rep.extras.evidence.trail_reading import run_at
from scrapy_rep.extras.evidence.trail_records import packed_keys
from tests.commands.calling import rep
from tests.crawling import LOOPS, Loop, crawl
from tests.crawls.settings import ADDON, URLS_SPIDER
from tests.crawls.test_coverage import told
from tests.crawls.test_sitemaps import SITES, index, robots, urlset, xml
from tests.extras.evidence.audit.crawled import of_kind
from tests.extras.evidence.report.making import Made
from tests.servers.handle import Answer, Site, redirect

MIXED = "tests.crawls.sitemap_spider:MixedSpider"
R20 = range(20)


def reported(*folders: Path) -> dict[str, tuple[int, str]]:
    """The rows of a report that are not 0: the counts, and an example each."""
    rows = json.loads(rep("report", *folders, "--json").out)["coverage"]["rows"]
    return {row["what"]: (row["count"], row["url"]) for row in rows if row["count"]}


def counts_in(*folders: Path) -> dict[str, int]:
    """The counts in a report that are not 0."""
    return {what: count for what, (count, _) in reported(*folders).items()}


@pytest.mark.parametrize("loop", LOOPS)
def test_order_of_sitemaps_and_links_does_not_matter(loop: Loop, tmp_path: Path) -> None:
    """All pages are links of the first page, and the sitemap comes late."""
    paths = [f"/{number}" for number in range(28)]
    with Site() as site:
        links = "".join(f"<a href='{path}'></a>" for path in (*paths, "/private", "/gone"))
        page = Answer(body=links, headers=[("Content-Type", "text/html")])
        listed = [site.url(path) for path in (*paths, "/private", "/gone")]
        site.change(
            {
                "/robots.txt": robots(site.url("/map.xml"), disallow=["/private"]),
                "/map.xml": replace(xml(urlset(*listed)), delay_seconds=1.0),
                "/": page,
                "/gone": Answer(status=404),
            }
        )
        settings = {**ADDON, "REP_AUDIT_DIR": str(tmp_path)}
        result = crawl(MIXED, loop=loop, settings=settings, start_urls=[site.url("/")])
    assert result.exit_code == 0, result.error
    ends = {"listed": 30, "requested": 29, "fetched": 28, "failed": 1, "disallowed": 1}
    assert told(result) == counts_in(tmp_path / "latest") == ends


def test_urls_count_as_one_if_they_are_one_request(tmp_path: Path) -> None:
    """As for Scrapy's duplicate filter; and a page may be fetched as the target of a redirect."""
    paths = ("/b#frag", "/c?a=2&b=1", "/c?b=1&a=2", "/old", "/new", "/%7Ea", "/b")
    with Site() as site:
        site.change(
            {
                "/robots.txt": robots(site.url("/map.xml")),
                "/map.xml": xml(urlset(*(site.url(path) for path in paths))),
                "/old": redirect("/new"),
            }
        )
        settings = {**ADDON, "REP_AUDIT_DIR": str(tmp_path), "CONCURRENT_REQUESTS": 1}
        result = crawl(SITES, settings=settings, sites=site.url(""))
    assert told(result) == counts_in(tmp_path / "latest")
    # The target of the redirect is fetched once, for either of the two.
    found = told(result)
    assert found.pop("fetched") + found.pop("redirected", 0) == 5
    assert found == {"listed": 5, "requested": 5}


def test_dry_run_tells_what_would_be_disallowed(tmp_path: Path) -> None:
    with Site() as site:
        urls = [site.url(path) for path in ("/a", "/private/1", "/private/2", "/moved")]
        site.change(
            {
                "/robots.txt": robots(site.url("/map.xml"), disallow=["/private"]),
                "/map.xml": xml(urlset(*urls)),
                "/moved": redirect("/private/3"),
            }
        )
        settings = {**ADDON, "REP_AUDIT_DIR": str(tmp_path), "REP_DRY_RUN": True}
        result = crawl(SITES, settings={**settings, "LOG_LEVEL": "INFO"}, sites=site.url(""))
    ends = {"listed": 4, "requested": 4, "fetched": 1, "would_be_disallowed": 3}
    assert told(result) == counts_in(tmp_path / "latest") == ends
    assert "  3 would be disallowed without REP_DRY_RUN. For example" in result.log
    assert "Sitemaps list 4 URLs; 4 of these were requested" in result.log


@pytest.mark.parametrize("query", ["keep", "hash", "drop"])
def test_resumed_crawl_counts_the_urls_of_its_earlier_runs(query: str, tmp_path: Path) -> None:
    """Also if it does not read the sitemap again; so does each report, and that on both runs."""
    audit = tmp_path / "audit"
    with Site() as site:
        urls = [site.url(f"/{number}?q={number}" if number % 2 else f"/{number}") for number in R20]
        site.change({"/robots.txt": robots("/map.xml"), "/map.xml": xml(urlset(*urls))})
        settings = {**ADDON, "JOBDIR": str(tmp_path / "job"), "CONCURRENT_REQUESTS": 1}
        settings |= {"REP_AUDIT_DIR": str(audit), "REP_AUDIT_QUERY": query}
        ends = []
        for limits in ({"CLOSESPIDER_PAGECOUNT": 6}, {}):
            result = crawl(SITES, settings={**settings, **limits}, sites=site.url(""))
            ends.append(told(result))
            assert counts_in(audit / "latest") == ends[-1]
        assert site.paths().count("/map.xml") == 1
    assert ends[0]["listed"] == 20
    assert ends[0]["never_reached"] > 0
    assert ends[1] == {"listed": 20, "requested": 20, "fetched": 20}
    assert counts_in(audit) == ends[1]


def test_crawl_without_sitemaps_has_no_coverage(tmp_path: Path) -> None:
    with Site() as site:
        settings = {**ADDON, "REP_AUDIT_DIR": str(tmp_path)}
        result = crawl(URLS_SPIDER, settings=settings, urls=[site.url("/a")])
    assert not [name for name in result.stats if name.startswith("rep/coverage/")]
    pytest.importorskip("jinja2", reason="needs Jinja")
    assert "URLs of sitemaps" not in page(report_of([run_at(tmp_path / "latest")]))


def test_report_shows_the_coverage(tmp_path: Path) -> None:
    pytest.importorskip("jinja2", reason="needs Jinja")
    with Site() as site:
        urls = [site.url(path) for path in ("/a?token=s3cret", "/gone?token=s3cret", "/private/1")]
        robots_txt = robots(site.url("/map.xml"), disallow=["/private"])
        files = {"/robots.txt": robots_txt, "/map.xml": xml(urlset(*urls))}
        site.change({**files, "/gone?token=s3cret": Answer(status=404)})
        audit, html = tmp_path / "audit", tmp_path / "report.html"
        wanted = {"REP_AUDIT_DIR": str(audit), "REP_REPORT": str(html), "REP_AUDIT_QUERY": "hash"}
        result = crawl(SITES, settings={**ADDON, **wanted}, sites=site.url(""))
    assert result.exit_code == 0, result.log
    latest, redacted = audit / "latest", tmp_path / "redacted"
    assert "s3cret" not in json.dumps(of_kind(run_at(latest), "coverage"))
    assert rep("audit", "redact", latest, "--query", "drop", "-o", redacted).status == 0
    assert "hmac" not in json.dumps(of_kind(run_at(redacted), "coverage"))
    for folder in (latest, redacted):
        assert rep("audit", "verify", folder).status == 0
        rows = reported(folder)
        ends = {"fetched": 1, "failed": 1, "disallowed": 1}
        assert counts_in(folder) == {"listed": 3, "requested": 2, **ends}
        assert rows["disallowed"][1] == urls[2]
    assert "2 confirmed; 2 redacted" in rep("audit", "replay", latest).out
    assert rep("audit", "export", latest).status == 0
    text = html.read_text(encoding="utf-8")
    assert "URLs of sitemaps" in text
    assert "never reached" in text
    assert "s3cret" not in text


def test_digests_of_a_trail_without_queries_test_no_guess(tmp_path: Path) -> None:
    """The same URL has another digest in each trail that leaves queries out, and in no other."""
    digests: list[set[str]] = []
    with Site() as site:
        url = site.url("/a?token=s3cret")
        site.change({"/robots.txt": robots("/map.xml"), "/map.xml": xml(urlset(url))})
        for number, query in enumerate(("keep", "keep", "hash", "drop")):
            audit = tmp_path / str(number)
            settings = {**ADDON, "REP_AUDIT_DIR": str(audit), "REP_AUDIT_QUERY": query}
            crawl(SITES, settings=settings, sites=site.url(""))
            digests.append(_digests(audit / "latest"))
    for number in range(2):
        target = tmp_path / f"redacted-{number}"
        assert rep("audit", "redact", tmp_path / "0" / "latest", "-o", target).status == 0
        digests.append(_digests(target))
    assert all(len(found) == 1 for found in digests)
    assert digests[0] == digests[1]
    assert len(set.union(*digests[1:])) == 5


def _digests(folder: Path) -> set[str]:
    found = of_kind(run_at(folder), "coverage")
    return {one["keys"] for one in found if one.get("is_listed")}


def test_runs_whose_queries_are_left_out_are_not_compared(tmp_path: Path) -> None:
    """One run lists the pages and fetches none, and the other fetches them as links."""
    with Site() as site:
        paths = ("/a", "/b?q=1")
        urls = [site.url(path) for path in paths]
        links = "".join(f"<a href='{path}'></a>" for path in paths)
        start = Answer(body=links, headers=[("Content-Type", "text/html")])
        files = {"/index.xml": xml(index(site.url("/map.xml"))), "/map.xml": xml(urlset(*urls))}
        files["/"] = start
        counts = {}
        for query in ("keep", "hash"):
            audit = tmp_path / query
            settings = {**ADDON, "REP_AUDIT_DIR": str(audit), "REP_AUDIT_QUERY": query}
            site.change({**files, "/robots.txt": robots("/index.xml")})
            # With this limit, an index file leads to no page.
            crawl(SITES, settings={**settings, "DEPTH_LIMIT": 1}, sites=site.url(""))
            site.change({**files, "/robots.txt": robots()})
            crawl(MIXED, settings=settings, start_urls=[site.url("/")])
            counts[query] = counts_in(audit)
            limits = json.loads(rep("report", audit, "--json").out)["limits"]
            told_so = [one for one in limits if "count once for each run" in one]
            assert len(told_so) == (query == "hash")
    assert counts["keep"] == {"listed": 2, "requested": 2, "fetched": 2}
    assert counts["hash"] == {"listed": 2, "requested": 1, "fetched": 1, "unknown": 1}


def test_killed_crawl_still_has_its_coverage(tmp_path: Path) -> None:
    """A trail without an end; the newest 1,000 changes may be missing."""
    with Site() as site:
        urls = [site.url(f"/{number}") for number in range(1200)]
        site.change({"/robots.txt": robots("/map.xml"), "/map.xml": xml(urlset(*urls))})
        settings = {**ADDON, "REP_AUDIT_DIR": str(tmp_path)}
        crawl("tests.crawls.sitemap_spider:KilledSpider", settings=settings, sites=site.url(""))
    counts = counts_in(tmp_path / "latest")
    assert counts["listed"] >= 900, "a thousand changes, with the sitemap"


def test_memory_for_urls_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first ones are followed to their end, and nothing is said of the others."""
    monkeypatch.setattr("scrapy_rep.decisions.url_ends.MOST_URLS", 2)
    made = Made(tmp_path)
    for state, number in ((LISTED, 1), (FETCHED, 2), (LISTED, 3), (FETCHED, 1), (FETCHED, 3)):
        word = "fetched" if state == FETCHED else "waiting"
        listed = {"is_listed": True} if state == LISTED else {}
        made.put("coverage", at=made.now, what=word, keys=packed_keys([number]), **listed)
    run = made.end()
    assert counts_in(run.path) == {"listed": 1, "requested": 1, "fetched": 1}
    limits = json.loads(rep("report", run.path, "--json").out)["limits"]
    assert any(one.startswith("Of sitemaps, only the first") for one in limits)


@pytest.mark.parametrize("most", [1, 10])
def test_crawl_tells_how_many_entries_it_did_not_follow(most: int, tmp_path: Path) -> None:
    """Also if none is left for the pages, because the sitemap counts, too."""
    spider = "tests.crawls.sitemap_spider:BoundedSpider"
    with Site() as site:
        urls = [site.url(f"/{number}") for number in range(20)]
        site.change({"/robots.txt": robots("/map.xml"), "/map.xml": xml(urlset(*urls))})
        settings = {**ADDON, "REP_AUDIT_DIR": str(tmp_path), "LOG_LEVEL": "INFO"}
        result = crawl(spider, settings=settings, sites=site.url(""), most=most)
    found = told(result)
    assert found == counts_in(tmp_path / "latest")
    assert found.get("listed", 0) + found["beyond"] == 20
    assert found.get("listed", 0) == found.get("fetched", 0) == most - 1
    assert f"  {found['beyond']} more entries were not followed, to bound memory" in result.log


@pytest.mark.parametrize("keys", ["A", "AAAA", "!", "", None])
def test_damaged_digests_are_named(keys: str | None, tmp_path: Path) -> None:
    made = Made(tmp_path)
    made.put("coverage", at=made.now, what="fetched", **({} if keys is None else {"keys": keys}))
    done = rep("audit", "verify", made.end().path)
    assert (done.status, "keys " in done.out) == (1, True)

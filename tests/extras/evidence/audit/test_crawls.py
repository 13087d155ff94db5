"""Whole crawls in every loop: the trail accounts for what the servers saw, and for all drops."""

from __future__ import annotations

import gzip
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest

from scrapy_rep.extras.evidence.trail_check import check
from scrapy_rep.extras.evidence.trail_reading import Run
from scrapy_rep.settings import PaceSettings
from tests.crawling import LOOPS, Loop
from tests.crawls.limited_site import limited
from tests.crawls.settings import WITH_SCRAPYS_QUEUE
from tests.extras.evidence.audit.crawled import audited, fetched, of_kind, passed
from tests.protocol.limiters import bucket
from tests.servers.handle import Answer, Site, free_port, redirect

FILE = "# who may\nUser-agent: *\nDisallow: /private\nAllow: /private/open\nCrawl-delay: 0\n"
PACKED = Answer(
    body=gzip.compress(FILE.encode()),
    headers=(("Content-Encoding", "gzip"), ("ETag", '"1"'), ("Cache-Control", "max-age=90000")),
)


def assert_sound(run: Run) -> None:
    found = check(run)
    assert (found.problems, found.missing, found.unmarked) == ([], [], 0)


@pytest.mark.parametrize("loop", LOOPS)
def test_trail_has_every_decision_of_a_crawl(loop: Loop, tmp_path: Path) -> None:
    """Two hops, gzip, 404, 503, a closed port, dot segments, and a copy that is used twice."""
    absent, late = free_port(), replace(PACKED, delay_seconds=0.1)
    with (
        Site({"/robots.txt": redirect("/moved.txt"), "/moved.txt": late}) as rules,
        Site({"/robots.txt": Answer(status=404)}) as none,
        Site({"/robots.txt": Answer(status=503)}) as down,
        Site() as repeats,
    ):
        repeats.change({"/robots.txt": redirect(rules.url("/robots.txt"))})
        urls = [
            *map(rules.url, ["/a", "/private/x?token=1#here", "/private/open", "/a/../private/y"]),
            rules.url("/robots.txt"),
            none.url("/a"),
            down.url("/a"),
            f"http://127.0.0.1:{absent}/a",
            repeats.url("/private/z"),
            "data:,x",
        ]
        settings = {**WITH_SCRAPYS_QUEUE, "CONCURRENT_REQUESTS": 1}
        result, run = audited(urls, tmp_path, loop=loop, settings=settings)
        assert_sound(run)
        sites = (rules, none, down, repeats)
        seen = [site.url(path) for site in sites for path in site.paths()]
        told = fetched(run) + passed(run)
        told -= {uri: 1 for uri in told if str(absent) in uri or uri == "data:,x"}
        assert sorted(told.elements()) == sorted(seen)
        dropped = [one for one in of_kind(run, "decision") if one["outcome"] == "dropped"]
        assert len(dropped) == result.stats["robotstxt/forbidden"] == 5
        assert [one["n"] for one in of_kind(run, "decision", "exempt")] == [*range(1, 12)]
        (followed,) = (one for one in of_kind(run, "decision") if one["by"] == "redirect")
        assert followed["url"] == rules.url("/moved.txt"), "as Scrapy follows redirects"
        by_url = {one["url"]: one for one in of_kind(run, "decision")}
        decided = by_url[rules.url("/private/x?token=1")]
        assert (decided["line"], decided["rule"], decided["group"]) == (
            3,
            "Disallow: /private",
            "*",
        )
        rules_of = next(one for one in of_kind(run, "policy") if one["p"] == decided["p"])
        assert (rules_of["etag"], rules_of["cache_control"]) == ('"1"', "max-age=90000")
        assert "waited_seconds" not in decided
        assert 0.1 <= by_url[rules.url("/a")]["waited_seconds"] < 60, "for the file"
        assert by_url[none.url("/a")]["reason"] == "UNAVAILABLE"
        assert by_url[down.url("/a")]["reason"] == "UNREACHABLE"
        assert by_url[rules.url("/a/../private/y")]["allowed"] is False
        why = {one["url"]: one["why"] for one in of_kind(run, "exempt")}
        assert why == {rules.url("/robots.txt"): "robots-txt-itself", "data:,x": "scheme"}
        (body,) = of_kind(run, "body")
        assert body["text"] == FILE
        (end,) = of_kind(run, "end")
        assert (end["reason"], end["n"]) == (result.finish_reason, 11)
        assert end["allowed"] == result.stats["rep/verdict/allowed"] - 1, "a robots.txt is exempt"
        assert end["disallowed"] == result.stats["rep/verdict/disallowed"]
        (head,) = of_kind(run, "run")
        assert head["settings"]["ROBOTSTXT_OBEY"] is True
        assert run.manifest_sha256 in result.log
        (hops,) = (
            one["hops"] for one in of_kind(run, "policy") if one["origin"] == repeats.url("")
        )
        assert [hop["source"] for hop in hops] == ["network", "store", "store"]


def test_trail_names_exemptions_dry_runs_and_overrides(tmp_path: Path) -> None:
    routes: dict[str, Any] = {"/robots.txt": Answer(body=FILE), "/go": redirect("/private/x")}
    with Site(routes) as site:
        urls = [site.url("/a"), site.url("/private/x")]
        meta = {"dont_obey_robotstxt": True}
        _, exempt = audited([*urls, site.url("/go")], tmp_path, meta=meta)
        assert_sound(exempt)
        assert [one["why"] for one in of_kind(exempt, "exempt")] == ["dont_obey"] * 3
        (redirected,) = of_kind(exempt, "decision")
        assert (redirected["by"], redirected["outcome"]) == ("redirect", "dropped")
        _, dry = audited(urls, tmp_path, settings={"REP_DRY_RUN": True})
        assert_sound(dry)
        assert {one["outcome"] for one in of_kind(dry, "decision")} == {"passed", "would-drop"}
        grant = {"until": "2999-01-31", "why": "contract 12"}
        mine = {"127.0.0.1": {"robots_txt": "User-agent: *\nDisallow: /a", **grant}}
        _, own = audited(urls, tmp_path, settings={"REP_OVERRIDES": mine})
        assert_sound(own)
        assert own.head["settings"]["REP_OVERRIDES"] == mine
        (policy,) = of_kind(own, "policy")
        assert policy["usable_until"] == datetime(2999, 2, 1, tzinfo=timezone.utc).timestamp()
        assert (policy["source"], policy["event"]) == ("override", "override")
        assert "hops" not in policy
        assert of_kind(own, "body")[0]["text"].endswith("Disallow: /a")


def test_trail_has_links_that_are_not_queued(tmp_path: Path) -> None:
    links = '<a href="/private/x">x</a><a href="/b">b</a>'
    page = Answer(body=links, headers=(("Content-Type", "text/html"),))
    with Site({"/robots.txt": Answer(body=FILE), "/": page}) as site:
        settings = {"REP_FILTER_LINKS": True}
        spider = "tests.crawls.links_spider:LinksSpider"
        result, run = audited([site.url()], tmp_path, spider=spider, settings=settings)
        assert_sound(run)
        assert [one["by"] for one in of_kind(run, "decision") if not one["allowed"]] == [
            "queue-filter"
        ] * result.stats["rep/filtered_links"]
        assert result.stats["rep/filtered_links"] > 0


def test_later_crawl_uses_the_stored_file(tmp_path: Path) -> None:
    store = {"REP_STORE": "sqlite", "REP_STORE_PATH": str(tmp_path / "robots.sqlite")}
    jobs = {"JOBDIR": str(tmp_path / "job")}
    with Site({"/robots.txt": Answer(body=FILE)}) as site:
        runs = [
            audited([site.url("/a")], tmp_path / "audit", settings={**store, **jobs})[1]
            for _ in range(2)
        ]
        assert site.paths().count("/robots.txt") == 1
    for run in runs:
        assert_sound(run)
    first, second = (of_kind(run, "policy")[0] for run in runs)
    assert (first["source"], second["source"]) == ("network", "store")
    assert first["hops"] == second["hops"]
    assert first["body"] == second["body"]
    assert "previous" not in runs[0].head
    assert runs[1].head["previous"] == runs[0].name


def test_trail_has_withheld_requests_and_items(tmp_path: Path) -> None:
    """Withheld by a rule of the page, and by a statement about uses in the robots.txt."""
    html = (("Content-Type", "text/html"),)
    nofollow = '<meta name="robots" content="nofollow"><a href="/b">b</a><a href="/c">c</a>'
    routes = {
        "/robots.txt": Answer(body="User-agent: *\nContent-Usage: train-ai=n\nAllow: /\n"),
        "/": Answer(body=nofollow, headers=html),
    }
    with Site(routes) as site:
        spider = "tests.crawls.links_spider:LinksSpider"
        obeyed = {"REP_PAGE_OBEY": ["nofollow"]}
        result, run = audited([site.url()], tmp_path, spider=spider, settings=obeyed)
        assert_sound(run)
        held = of_kind(run, "withheld")
        assert len(held) == result.stats["rep/page/dropped_requests"] == 2
        assert {one["url"] for one in held} == {site.url("/b"), site.url("/c")}
        assert {(one["page"], one["because"]["name"]) for one in held} == {(site.url(), "nofollow")}
        uses = {"REP_USES": ["train-ai"]}
        result, run = audited([site.url("/x")], tmp_path, settings=uses)
        assert_sound(run)
        (item,) = of_kind(run, "withheld")
        assert result.stats["rep/usage/dropped_items"] == 1
        assert (item["what"], item["outcome"], item["page"]) == (
            "item",
            "withheld",
            site.url("/x"),
        )
        assert "train-ai=n by Content-Usage, line 2" in item["because"]["text"]
        assert item["because"]["uri"] == site.url("/robots.txt")


# Values from the command line, and the values in the trail.
_CHECKED = {
    "REP_CRAWL_DELAY_EXCESS": ("cap", "cap"),
    "REP_CRAWL_DELAY_MAX_SECONDS": ("7", 7.0),
    "REP_AUDIT_QUERY": ("drop", "drop"),
    "REP_DRY_RUN": ("True", True),
    "REP_FETCH_META": ('{"proxy": "http://user:secret@proxy.example"}', ["proxy"]),
    "REP_OVERRIDES": ('{"*.example.org": "ignore"}', {"*.example.org": {"policy": "ignore"}}),
    "REP_PAGE_OBEY": ("nofollow, NOAI", ["nofollow", "noai"]),
    "REP_QUICK_RETRY_SECONDS": ("1.0,4.0", None),  # the default
    "REP_REPORT_CONTACT": (" bot@example.com ", "bot@example.com"),
    "REP_VISIT_TIME_OBEY": ("1", True),
    "ROBOTSTXT_OBEY": ("False", False),
    "ROBOTSTXT_USER_AGENT": ('["FooBot", "BarBot"]', ["FooBot", "BarBot"]),
}


def test_trail_has_checked_settings(tmp_path: Path) -> None:
    """`-s ROBOTSTXT_OBEY=False` is a text; a report must not read it as True."""
    told = {name: told for name, (told, _) in _CHECKED.items()}
    with Site({"/robots.txt": Answer(body=FILE)}) as site:
        urls = [site.url("/private/x"), site.url("/a?token=1")]
        _, off = audited(urls, tmp_path, settings=told)
        assert_sound(off)
        assert {name: off.head["settings"].get(name) for name in _CHECKED} == {
            name: checked for name, (_, checked) in _CHECKED.items()
        }
        assert PaceSettings.of_trail(off.head["settings"]) == PaceSettings.of_trail(told)
        sent = [(one["url"], one["why"], one["by"]) for one in of_kind(off, "exempt")]
        assert sorted(sent) == [
            (site.url("/a?"), "off", "request"),
            (site.url("/private/x"), "off", "request"),
        ]
        assert of_kind(off, "decision") == [], "nothing was judged, and the trail says so"


def test_a_trail_has_the_learned_pace_of_each_rest(tmp_path: Path) -> None:
    with limited(bucket(20, 5)) as site:
        _, run = audited(site.urls(40), tmp_path)
    assert_sound(run)
    rests = of_kind(run, "rest")
    assert rests
    assert all(rest["learned_per_second"] > 0 for rest in rests)

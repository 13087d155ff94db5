"""A challenge of an edge is neither a robots.txt nor a page."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.commands.calling import rep_process
from tests.crawling import Crawl, crawl
from tests.crawls.settings import ADDON, URLS_SPIDER, WITH_SCRAPYS_QUEUE
from tests.faults.test_closing import assert_clean
from tests.servers.handle import Answer, Site

RULES = Answer(body="User-agent: *\nDisallow: /private\n")
MARKED: dict[str, tuple[int, str, str]] = {
    "Cloudflare": (403, "cf-mitigated", "challenge"),
    "AWS WAF": (202, "x-amzn-waf-action", "challenge"),
    "AWS WAF, captcha": (405, "x-amzn-waf-action", "captcha"),
    "Vercel": (429, "x-vercel-mitigated", "challenge"),
    "DataDome": (403, "x-dd-b", "1"),
    "a request for a signature": (403, "accept-signature", 'sig1=("@authority")'),
}
AT_ONCE = {"REP_QUICK_RETRY_SECONDS": [], "REP_UNREACHABLE_HOLD_SECONDS": 0}


def challenge(name: str = "Cloudflare", body: str = "") -> Answer:
    status, field, value = MARKED[name]
    return Answer(status=status, headers=[(field, value)], body=body)


def errors_of(result: Crawl) -> Counter[str]:
    return Counter(item.get("error", "") for item in result.items)


@pytest.mark.parametrize(
    ("name", "preset"),
    [*((name, "rfc9309") for name in MARKED), ("Cloudflare", "google"), ("Vercel", "google")],
)
def test_a_challenged_robots_txt_permits_nothing(name: str, preset: str) -> None:
    """Unless the policy says so: "google" reads the status."""
    file = challenge(name, "User-agent: *\nAllow: /\n")
    with Site({"/robots.txt": file}) as site:
        settings = {**ADDON, **AT_ONCE, "REP_POLICY": preset}
        result = crawl(URLS_SPIDER, settings=settings, urls=[site.url("/1"), site.url("/2")])
        pages = [path for path in site.paths() if path != "/robots.txt"]
    is_gone = (name, preset) == ("Cloudflare", "google")
    assert len(pages) == (2 if is_gone else 0)
    assert result.stats["rep/event/challenge"] >= 1


@pytest.mark.parametrize("location", ["/robots.txt", "/wall", "javascript:0", ""])
def test_a_redirect_that_is_a_challenge(location: str) -> None:
    """It leads to no robots.txt, wherever it leads."""
    fields = [("cf-mitigated", "challenge"), *([("Location", location)] if location else [])]
    moved = Answer(status=302, headers=fields)
    with Site({"/robots.txt": moved, "/wall": Answer(body="<html>")}) as site:
        result = crawl(URLS_SPIDER, settings={**ADDON, **AT_ONCE}, urls=[site.url("/1")])
        assert set(site.paths()) == {"/robots.txt"}
    assert errors_of(result) == {"RobotsTxtUnreachable": 1}


@pytest.mark.parametrize("settings", [ADDON, WITH_SCRAPYS_QUEUE], ids=["ours", "Scrapy's"])
def test_a_site_that_challenges_every_page(settings: dict[str, Any]) -> None:
    """A few requests are sent, and all are dropped; no callback gets a challenge."""
    page = challenge("AWS WAF", "<title>Human Verification</title>")
    with Site({"/robots.txt": RULES, "/*": page}) as site, Site({"/robots.txt": RULES}) as other:
        urls = [site.url(f"/{number}") for number in range(12)]
        urls += [other.url(f"/{number}") for number in range(3)]
        wanted = {**settings, "CONCURRENT_REQUESTS_PER_DOMAIN": 2}
        result = crawl(URLS_SPIDER, settings=wanted, urls=urls)
        sent = Counter(path for path in site.paths() if path != "/robots.txt")
    assert errors_of(result) == {"Challenged": 12, "": 3}
    # On asyncio, Scrapy's slots send all queued requests at once.
    assert sum(sent.values()) <= (5 if settings is ADDON else 15)
    assert result.stats["rep/challenged"] == sum(sent.values())
    told = "crawl_log] INFO: " + site.url("") + " answers automated clients with a challenge"
    assert result.log.count(told) == 1
    assert "1 origin answers automated clients with a challenge (AWS WAF): ask the" in result.log
    assert_clean(result.log)


def test_one_page_that_is_challenged() -> None:
    """The others come, and do not wait for it."""
    with Site({"/robots.txt": RULES, "/search": challenge()}) as site:
        urls = [site.url("/search"), *(site.url(f"/{number}") for number in range(20))]
        result = crawl(URLS_SPIDER, settings=ADDON, urls=urls)
        seen = site.requests()
    assert errors_of(result) == {"": 20, "Challenged": 1}
    searches = [one.at for one in seen if one.path == "/search"]
    assert len(searches) == 3
    assert all(one.at < searches[1] for one in seen if one.path != "/search")


def test_challenges_may_pass_to_other_middlewares() -> None:
    with Site({"/robots.txt": RULES, "/*": challenge()}) as site:
        settings = {**ADDON, "REP_CHALLENGES": "pass", "HTTPERROR_ALLOW_ALL": True}
        result = crawl(URLS_SPIDER, settings=settings, urls=[site.url("/1"), site.url("/2")])
    assert [item["status"] for item in result.items] == [403, 403]
    assert "rep/challenged" not in result.stats


def test_ordinary_pages_that_speak_of_challenges() -> None:
    """Their header fields name captcha hosts, and their bodies a moment of patience."""
    policy = "script-src https://challenges.cloudflare.com https://captcha-delivery.com"
    fields = [
        ("Content-Security-Policy", policy),
        ("Server", "cloudflare"),
        ("CF-RAY", "8f0challenge"),
        ("X-DD-B", "1"),
        ("Accept-Signature", "sig1=()"),
        ("Set-Cookie", "cf_clearance=challenge"),
        ("X-Amzn-Waf-Action", "count"),
        ("Via", "challenge"),
        ("X-Captcha", "challenge"),
        ("Link", "<https://challenges.cloudflare.com>; rel=preconnect"),
    ]
    words = "<title>Just a moment...</title>Checking your browser: captcha challenge"
    pages = {f"/{n}": Answer(body=words, headers=[one]) for n, one in enumerate(fields)}
    with Site({"/robots.txt": RULES, **pages}) as site:
        result = crawl(URLS_SPIDER, settings=ADDON, urls=[site.url(path) for path in pages])
    assert [item["status"] for item in result.items] == [200] * 10
    assert "rep/challenged" not in result.stats


def test_check_collect_and_survey_agree(tmp_path: Path) -> None:
    """The file is unreachable to all of them, whatever its body and its status say."""
    store, warc = tmp_path / "store.sqlite", tmp_path / "warc"
    options = ["-s", f"REP_STORE_PATH={store}", "-s", "REP_QUICK_RETRY_SECONDS=0.01"]
    with Site({"/robots.txt": challenge("AWS WAF", "User-agent: *\nAllow: /\n")}) as site:
        checked = rep_process("rep", "check", site.url("/x"), *options)
        (tmp_path / "list.txt").write_text(site.url())
        collected = rep_process("rep", "collect", tmp_path / "list.txt", "--warc", warc, *options)
    assert checked.status == 3, checked
    assert "challenge" in checked.out
    assert collected.status == 0, collected.err
    (archive,) = (warc / "latest").glob("*.warc.gz")
    for source in (store, archive):
        told = rep_process("rep", "survey", source, "--json").out
        assert '"failure:challenge": 1' in told, source

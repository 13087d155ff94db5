"""The page of a report: its words, that no script runs in it, and its look in a browser."""

from __future__ import annotations

import html
import json
import re
from pathlib import Path

import pytest

from scrapy_rep.extras.evidence.reports.report_making import report_of
from scrapy_rep.extras.evidence.reports.report_values import CrawlReport
from scrapy_rep.extras.evidence.trail_reading import Run
from tests.commands.calling import rep
from tests.extras.evidence.html_pages import (
    assert_inert,
    assert_readable_in_a_browser,
    needs_browser,
)
from tests.extras.evidence.report.making import BEGAN, HOSTILE, Made, hostile_urls

pytest.importorskip("jinja2", reason="needs Jinja")


def _page(report: CrawlReport) -> str:
    from scrapy_rep.extras.evidence.reports.report_page import page

    return page(report)


def made_of_all(root: Path, *others: Run, every: int = 1) -> CrawlReport:
    """A report with rows in every section, and hostile text in each field from sites and spiders.

    `every` thins out the hostile URLs: every 7th, say.
    """
    made = Made(root, REP_DRY_RUN=True, REP_OVERRIDES={HOSTILE: HOSTILE})
    for number, url in enumerate(hostile_urls()[::every]):
        made.now += 7.0
        origin = url.rpartition("/")[0][:300]
        hops = [
            {"uri": url, "at": made.now, "status": 301, "location": url, "source": "network"},
            {"uri": url + "/", "at": made.now, "failure": HOSTILE, "source": "network"},
        ]
        p = made.policy(origin, event=HOSTILE, hops=hops, crawl_delay=0.5 + number, is_stale=True)
        made.decide(url, p)
        made.forbid(url, p, rule=f"Disallow: {url}", group=HOSTILE)
        made.forbid(url, p, outcome="would-drop", reason=HOSTILE)
        made.exempt(url)
        made.withhold(url, f"noai by {url}")
        made.put("payment", at=made.now, url=url, price=HOSTILE, licence=url)
        made.put("coverage", at=made.now, what=HOSTILE, count=1, url=url)
        for turn in range(3):
            at = made.now - BEGAN + turn * (0.4 + number)
            made.send(origin, at, at, 0.5)
    made.writer.lose(made.n + 1, "disallowed", made.now)
    made.n += 1
    made.now += 10
    return report_of([made.end(HOSTILE), *others])


def test_page_runs_and_loads_nothing(tmp_path: Path) -> None:
    assert_inert(_page(made_of_all(tmp_path)))


def test_page_has_every_section(tmp_path: Path) -> None:
    text = _page(made_of_all(tmp_path))
    for words in (
        *["Robots.txt report: ", "2027-01-15 (made)</h1>", "Verdict", "Wrong:", "Note:"],
        *["150 requests were judged by robots.txt; 100 were disallowed, and 50 of these were sent"],
        *["50 requests were sent that no robots.txt decided", "The trail is not complete"],
        *["Runs and settings", "MadeBot/1.0", "Decisions over time"],
        *["Rules that decided", "requests came too soon"],
        *["Limits", "the trail was closed"],
    ):
        assert words in text, words
    ids = re.findall(r'id="([^"]*)"', text)
    assert len(ids) == len(set(ids))
    assert "No origin asked" not in text


def test_page_names_the_operator(tmp_path: Path) -> None:
    """It is on top, once; without the setting, it is left out."""
    contact = "Example Archive <bot@archive.example>, https://archive.example/bot"
    runs = [Made(tmp_path, name, REP_REPORT_CONTACT=contact).end() for name in ("one", "two")]
    text = _page(report_of(runs))
    top = text.partition('id="verdict"')[0]
    assert f"Operator and contact: {html.escape(contact)}." in top
    assert text.count("bot@archive.example") == 1
    assert "Operator" not in _page(report_of([Made(tmp_path, "three").end()]))


def test_queries_are_masked(tmp_path: Path) -> None:
    """Values are masked; names stay, because rules mention them."""
    made = Made(tmp_path)
    url = "https://a.example/x;sid=s3cr3t;x?token=s3cr3t&q=n0ne;s=3cret&s3cr3t"
    hops = [
        {"uri": url, "at": made.now, "status": 301, "location": "/r", "source": "network"},
        {"uri": f"{url}/r", "at": made.now, "status": 200, "source": "network"},
    ]
    p = made.policy("https://a.example", hops=hops)
    made.forbid(url, p, outcome="would-drop")
    made.exempt(url)
    made.withhold(url)
    run = made.end()
    report = report_of([run])
    for text in (_page(report), json.dumps(report.as_dict(), ensure_ascii=False)):
        for secret in ("s3cr3t", "n0ne", "3cret"):
            assert secret not in text
        assert "/x;sid=…;x?token=…" in text
    assert report.rules.rows[0].url == "https://a.example/x;sid=…;x?token=…&q=…;s=…&…"
    assert report_of([run], shows_queries=True).rules.rows[0].url == url
    assert "s3cr3t" not in rep("report", run.path, "--json").out
    assert "s3cr3t" in rep("report", run.path, "--json", "--queries").out


def test_page_of_an_empty_crawl(tmp_path: Path) -> None:
    text = _page(report_of([Made(tmp_path).end()]))
    for words in (
        "No request was judged by robots.txt.",
        "The trail is complete",
        "Robots.txt report: no site, 2027-01-15 (made)",
        "No origin set a delay",
        "Nothing was withheld",
        "all records were written",
    ):
        assert words in text, words


def test_page_of_many_decisions_is_small(tmp_path: Path) -> None:
    """The page has less than 300 kB, and tells how many rows it shows of how many."""
    count = 3000
    made = Made(tmp_path)
    policies = {}
    for number in range(count):
        made.now += 0.7
        host = number % 3000
        origin = f"https://www.department-{host}.example-of-a-long-name.org"
        if host not in policies:
            hops = [
                {"uri": f"{origin}/robots.txt", "at": made.now, "status": 301, "location": "/r"},
                {"uri": f"{origin}/moved/robots.txt", "at": made.now, "status": 200},
            ]
            hops = [{**hop, "source": "network"} for hop in hops]
            policies[host] = made.policy(origin, hops=hops, crawl_delay=host % 10 + 1.0)
        url = f"{origin}/articles/2026/{number}/{'a-title-of-many-words-' * 4}?session={number}"
        if number % 3 == 0:
            made.forbid(url, policies[host], rule=f"Disallow: /articles/{'x' * 150}/*?session=")
        elif number % 50 == 1:
            made.exempt(url)
        elif number % 50 == 2:
            made.withhold(
                url, f"train-ai=n by Content-Usage, line 3 of {origin}/robots.txt: {host}"
            )
        else:
            made.decide(url, policies[host])
        if number % 2:
            made.send(origin, made.now - BEGAN, made.now - BEGAN + 0.1, host % 10 + 1.0)
    report = report_of([made.end()])
    assert report.totals.judged > 0.9 * count
    text = _page(report)
    assert len(text.encode()) < 300_000, "octets"
    shown = re.findall(r"([0-9]+) of 3,000 rows\. To see all: scrapy rep report run-1 --json", text)
    assert set(shown) == {"150"}, "fewer than 200, because rows are long"
    assert len(report.times.moments) > 50


@pytest.mark.slow
@needs_browser
def test_page_in_chromium(tmp_path: Path) -> None:
    """Light and dark, on paper, on a telephone, with a screen reader."""
    path, for_axe = tmp_path / "page.html", tmp_path / "for_axe.html"
    runs = [Made(tmp_path / "more", f"20260101T120000-abcde{n}").end() for n in range(2)]
    path.write_text(_page(made_of_all(tmp_path, *runs)), encoding="utf-8")
    for_axe.write_text(_page(made_of_all(tmp_path / "axe", every=7)), encoding="utf-8")
    assert_readable_in_a_browser(path, for_axe)

"""REP_REPORT: a page at the end of a crawl, in every loop; and the command."""

from __future__ import annotations

import json
import re
import sys
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from scrapy.settings import Settings

from scrapy_rep import ConfigurationError
from scrapy_rep.settings import RepSettings
from tests.commands.calling import rep
from tests.crawling import LOOPS, Loop, crawl
from tests.crawls.settings import ADDON, URLS_SPIDER
from tests.extras.evidence.audit.crawled import audited
from tests.servers.handle import Answer, Site, redirect

pytest.importorskip("jinja2", reason="needs Jinja")

FILE = "User-agent: *\nDisallow: /private\nCrawl-delay: 0.2\n"


@pytest.mark.parametrize("loop", LOOPS)
def test_report_has_the_numbers_of_the_server(loop: Loop, tmp_path: Path) -> None:
    """Its numbers are those of the server."""
    with Site({"/robots.txt": redirect("/r"), "/r": Answer(body=FILE)}) as site:
        urls = [site.url(path) for path in ("/a", "/b", "/c", "/private/x")]
        wanted = {"REP_REPORT": str(tmp_path / "report-%(run)s.html")}
        result, run = audited(urls, tmp_path / "audit", loop=loop, settings=wanted)
        pages = [path for path in site.paths() if path not in ("/robots.txt", "/r")]
        gaps = [after - before for before, after in pairwise(_times(site))]
    text = (tmp_path / f"report-{run.name}.html").read_text(encoding="utf-8")
    assert "4 requests were judged by robots.txt; 1 was disallowed. None of these was sent" in text
    assert (tmp_path / f"report-{run.name}.html").stat().st_mode & 0o777 == 0o600
    assert run.manifest_sha256 in text
    assert run.manifest_sha256 in result.log
    assert str(tmp_path) not in text, "reports go to other people"
    done = rep("report", run.path, "--json")
    assert done.status == 0
    found = json.loads(done.out)
    assert found["totals"]["allowed"] == len(pages) == 3
    assert found["fetches"]["statuses"] == {"200": 1, "301": 1}
    (pace,) = found["paces"]["rows"]
    assert (pace["asked_seconds"], pace["visits"], pace["word"]) == (0.2, 3, "kept")
    assert 0.2 <= pace["least_seconds"] <= min(gaps) + 0.02
    assert [path.name for path in tmp_path.iterdir() if path.suffix == ".part"] == []


def test_report_has_the_rests_of_a_crawl(tmp_path: Path) -> None:
    """One origin answers 429 and then well; another is given up, and its requests are dropped."""
    robots: dict[str, Any] = {"/robots.txt": Answer(body="User-agent: *\nDisallow: /private\n")}
    limited = Answer(status=429, headers=[("Retry-After", "1")])
    soon = {**robots, "/*": [replace(limited, lasts_seconds=0.5), Answer(body="page")]}
    with Site(soon) as site, Site({**robots, "/*": limited}) as other:
        urls = [one.url(f"/{number}") for one in (site, other) for number in range(3)]
        settings = {"REP_BACKOFF_GIVE_UP_SECONDS": 2.5, "CONCURRENT_REQUESTS": 4}
        _, run = audited(urls, tmp_path, settings=settings)
    done = rep("report", run.path, "--json")
    assert done.status == 0, done.out
    found = json.loads(done.out)
    rests = {row["origin"]: row for row in found["rests"]["rows"]}
    mended, lost = rests[site.url("")], rests[other.url("")]
    assert (mended["count"], mended["asked_seconds"], mended["too_soon"]) == (1, 1.0, 0)
    # A rest counts from its record, which a busy machine writes some milliseconds later.
    assert 0.9 <= mended["longest_seconds"] < 1.5
    assert mended["probes"] == 1, "the others follow its good answer"
    assert (mended["is_given_up"], lost["is_given_up"]) == (False, True)
    assert lost["count"] >= 2
    assert lost["too_soon"] == 0
    assert found["totals"]["rate_limited"] == 3
    assert (found["totals"]["judged"], found["totals"]["allowed"]) == (6, 6), "each once"
    assert any(one["by"] == "put-back" for one in found["decided"])
    assert "2 origins rested (2 after 429). No crawl sent a request" in rep("report", run.path).out
    assert rep("audit", "verify", run.path).status == 0
    assert (
        "dropped: its origin answered only 429"
        in rep("audit", "explain", run.path, other.url("/1")).out
    )


def _times(site: Site) -> list[float]:
    return [seen.at for seen in site.requests() if seen.path not in ("/robots.txt", "/r")]


def test_failed_report_does_not_change_the_crawl(tmp_path: Path) -> None:
    """Its folder is a file: one error, and the crawl ends as usual."""
    (tmp_path / "none").touch()
    with Site({"/robots.txt": Answer(body=FILE)}) as site:
        wanted = {"REP_REPORT": str(tmp_path / "none" / "report.html")}
        result, run = audited([site.url("/a")], tmp_path, settings=wanted)
    assert result.finish_reason == "finished"
    assert result.log.count("] ERROR: ") == 1
    assert "Cannot write the report of this crawl" in result.log
    assert rep("report", run.path).status == 0


def test_folder_of_the_report_is_made(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / "report.html"
    with Site({"/robots.txt": Answer(body=FILE)}) as site:
        wanted = {"REP_REPORT": str(path)}
        result, _ = audited([site.url("/a")], tmp_path / "audit", settings=wanted)
    assert f"Report written to {path}" in result.log
    assert path.read_text("utf-8").startswith("<!doctype html>")


@pytest.mark.parametrize("name", ["REP_AUDIT_DIR", "REP_REPORT", "REP_WARC_DIR", "REP_STORE_PATH"])
def test_crawl_with_a_uri_for_a_path_does_not_begin(name: str, tmp_path: Path) -> None:
    with Site({"/robots.txt": Answer(body=FILE)}) as site:
        settings = {**ADDON, "REP_AUDIT_DIR": str(tmp_path), name: "s3://bucket/x"}
        result = crawl(URLS_SPIDER, settings=settings, urls=[site.url("/a")])
        assert site.paths() == []
    assert f"{name} = 's3://bucket/x': must be a path on this machine" in result.error
    assert [path.name for path in tmp_path.iterdir()] == []


def test_missing_requirements_are_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigurationError, match="REP_REPORT needs REP_AUDIT_DIR"):
        RepSettings.of(Settings({"REP_REPORT": "r.html"}))
    wanted = Settings({"REP_REPORT": "r.html", "REP_AUDIT_DIR": "audit"})
    assert RepSettings.of(wanted).report == "r.html"
    monkeypatch.setattr("scrapy_rep.settings.find_spec", lambda _: None)
    with pytest.raises(ConfigurationError, match=re.escape("scrapy-rep[report]")):
        RepSettings.of(wanted)


class TestCommand:
    @pytest.fixture
    def run(self, tmp_path: Path) -> Path:
        from tests.extras.evidence.report.making import Made

        made = Made(tmp_path)
        made.forbid("https://a.example/x", made.policy("https://a.example"))
        return made.end().path

    def test_page_is_written(self, run: Path, tmp_path: Path) -> None:
        page = tmp_path / "report.html"
        done = rep("report", run, "-o", page)
        assert (done.status, page.read_text("utf-8")[:15]) == (0, "<!doctype html>")
        assert done.out.splitlines()[-1] == f"{page}: written"
        assert rep("report", run, "-o", tmp_path / "new" / "x.html").status == 0
        assert (tmp_path / "new" / "x.html").exists()
        assert rep("report", run, "-o", page / "x.html").status == 2

    def test_uri_is_no_path(
        self, run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(tmp_path)
        before = [*tmp_path.iterdir()]
        for words in (["report", run], ["audit", "redact", run], ["audit", "export", run]):
            done = rep(*words, "-o", "s3://bucket/x.html")
            assert (done.status, "-o s3://bucket/x.html: must be a path" in done.err) == (2, True)
        assert [*tmp_path.iterdir()] == before

    def test_folder_without_a_trail_is_an_error(self, tmp_path: Path) -> None:
        (tmp_path / "empty").mkdir()
        for name in ("nowhere", "empty"):
            assert rep("report", tmp_path / name).status == 2

    def test_missing_jinja_is_an_error(self, run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "jinja2", None)
        monkeypatch.setattr("scrapy_rep.extras.evidence.html_page.find_spec", lambda _: None)
        done = rep("report", run, "-o", "x.html")
        assert (done.status, "scrapy-rep[report]" in done.err) == (2, True)
        assert rep("report", run).status == 0, "the terminal needs no Jinja"


_GRANT = {"policy": "ignore", "until": "2099-01-31", "why": "contract 12"}
_BY_GRANT = "by a grant in REP_OVERRIDES (contract 12, until 2099-01-31) (such as {}/a)"
_BY_ERRORS = "by the policy for errors (a grant in REP_OVERRIDES (contract 12, until 2099-01-31))"


@pytest.mark.parametrize(
    ("answer", "overrides", "words"),
    [
        (200, {"127.0.0.1": _GRANT}, f"2 {_BY_GRANT}"),
        (503, {"127.0.0.1": {**_GRANT, "policy": "lenient"}}, f"2 {_BY_ERRORS}"),
    ],
    ids=["grant", "grant of errors"],
)
def test_report_names_the_applied_grant(
    answer: int, overrides: dict[str, Any], words: str, tmp_path: Path
) -> None:
    with Site({"/robots.txt": Answer(status=answer, body=FILE)}) as site:
        urls = [site.url("/a"), site.url("/private/x")]
        settings = {"REP_OVERRIDES": overrides}
        result, run = audited(urls, tmp_path, settings=settings)
        assert "/private/x" in site.paths()
    out = rep("report", run.path).out
    assert words.format(site.url("")) in out
    assert "no request was sent against a robots.txt" not in out
    assert ("is allowed (REP_OVERRIDES: 'lenient')" in result.log) is (answer == 503)

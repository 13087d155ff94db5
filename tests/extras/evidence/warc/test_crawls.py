"""Whole crawls in every loop: the archive has all requests and answers, and no secret."""

from __future__ import annotations

import gzip
import hashlib
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from scrapy.utils.test import get_crawler

from scrapy_rep.extras.evidence.trail_reading import run_at
from scrapy_rep.extras.evidence.warc_check import archive_at, check
from scrapy_rep.middleware import RepMiddleware
from scrapy_rep.protocol.errors import ConfigurationError
from tests.crawling import LOOPS, Loop
from tests.crawls.settings import ADDON
from tests.extras.evidence.audit.crawled import of_kind
from tests.extras.evidence.warc.archived import (
    Found,
    archived,
    exchanges_in,
    fastwarc_reads,
    files_in,
    manifest_of,
    records_in,
    warcio_checks,
)
from tests.faults.ftp import Ftp
from tests.servers.handle import Answer, Site, free_port, redirect

FILE = "# who may\nUser-agent: *\nDisallow: /private\n"
NO_LOOKUP = {"DNS_TIMEOUT": 2, "RETRY_ENABLED": False}


def assert_whole(folder: Path) -> Any:
    run = archive_at(folder)
    assert run is not None
    found = check(run)
    assert (found.problems, found.missing) == ([], [])
    assert warcio_checks(folder) == ""
    assert fastwarc_reads(folder) in (None, [one.id for one in records_in(folder)])
    assert manifest_of(folder)["records"] == found.counts.total() == len(records_in(folder))
    return found


def digest(body: str | bytes) -> str:
    octets = body.encode() if isinstance(body, str) else body
    return f"sha256:{hashlib.sha256(octets).hexdigest()}"


@pytest.mark.parametrize("loop", LOOPS)
def test_archive_has_every_exchange_of_a_crawl(loop: Loop, tmp_path: Path) -> None:
    """Two hops, gzip, br, 404, 503, a reset, a closed port, an unknown name, a copy used twice."""
    packed = gzip.compress(FILE.encode())
    gzipped = Answer(body=packed, headers=(("Content-Encoding", "gzip"),))
    big = "User-agent: *\nDisallow: /x\n" + "# more\n" * 100_000
    with (
        Site({"/robots.txt": redirect("/moved.txt"), "/moved.txt": gzipped}) as rules,
        Site({"/robots.txt": Answer(body=FILE, content_encoding="br")}) as brotli,
        Site({"/robots.txt": Answer(status=404, body="no such file")}) as none,
        Site({"/robots.txt": Answer(status=503)}) as down,
        Site({"/robots.txt": Answer(fault="reset_in_headers")}) as reset,
        Site({"/robots.txt": Answer(body=big)}) as large,
        Site() as repeats,
    ):
        repeats.change({"/robots.txt": redirect(rules.url("/robots.txt"))})
        absent = f"http://127.0.0.1:{free_port()}/"
        nameless = "http://no-such-name.invalid/"
        sites = (rules, brotli, none, down, reset, large, repeats)
        urls = [*(site.url() for site in sites), absent, nameless]
        store = {"REP_STORE": "sqlite", "REP_STORE_PATH": str(tmp_path / "robots.sqlite")}
        settings = {**store, **NO_LOOKUP}
        result, folder = archived(urls, tmp_path / "warc", loop=loop, settings=settings)
        assert_whole(folder)
        found = exchanges_in(folder)
        seen = Counter(s.url(p) for s in sites for p in s.paths() if p.endswith(".txt"))
        answered = [one for one in found if "response" in one]
        failed = [one["metadata"] for one in found if [*one] == ["main", "metadata"]]
        told = Counter(one["main"].uri for one in answered)
        # Where a kept connection breaks before an answer, handlers send the request once more.
        del seen[reset.url("/robots.txt")]
        assert told == seen
        events = {one.uri: one.told["rep-event"] for one in failed}
        assert events[reset.url("/robots.txt")] == "reset"
        assert events[f"{absent}robots.txt"] == "refused"
        assert events[f"{nameless}robots.txt"] == "dns"
        assert result.stats["rep/warc/records"] == len(records_in(folder))
        assert "rep/warc/failed" not in result.stats

        by_uri = {one["main"].uri: one for one in answered}
        first, last = by_uri[rules.url("/robots.txt")], by_uri[rules.url("/moved.txt")]
        for one in (first, last):
            assert [*one] == ["main", "response", "request", "metadata"]
            dates = {record.fields["WARC-Date"] for record in one.values()}
            assert len(dates) == 1, "one date"
            if loop != "reactorless":
                assert one["main"].fields["WARC-IP-Address"] == "127.0.0.1"
            assert one["request"].status == f"GET {one['main'].uri[len(rules.url('')) :]} HTTP/1.1"
            assert one["request"].headers["host"] == f"127.0.0.1:{rules.port}"
            assert one["metadata"].told["rep-origin"] == rules.url("")
        assert first["main"].status == "HTTP/1.1 301 Moved Permanently"
        assert first["main"].headers["location"] == "/moved.txt"
        assert "rep-outcome" not in first["metadata"].told
        told_of_last = last["metadata"].told
        assert (told_of_last["via"], told_of_last["rep-hop"]) == (rules.url("/robots.txt"), "1")
        assert (told_of_last["rep-outcome"], told_of_last["rep-outcome-hops"]) == ("200", "1")
        assert last["main"].payload == packed, "as it was sent"
        assert told_of_last["rep-body-digest"] == digest(FILE), "as it was judged"
        assert by_uri[none.url("/robots.txt")]["main"].payload == b"no such file"
        assert "rep-body-digest" not in by_uri[none.url("/robots.txt")]["metadata"].told

        cut = by_uri[large.url("/robots.txt")]
        assert cut["main"].fields["WARC-Truncated"] == "length"
        assert big.encode().startswith(cut["main"].payload)
        assert len(cut["main"].payload) > 512_000

        (copied,) = (one for one in found if one["main"].kind == "resource")
        assert copied["main"].payload == FILE.encode()
        assert copied["metadata"].told["rep-source"] == "store"
        assert copied["metadata"].told["rep-origin"] == repeats.url("")
        assert copied["main"].fields["WARC-Date"] >= last["main"].fields["WARC-Date"]

        survey = pytest.importorskip("scrapy_rep.extras.survey.inputs.tasks")
        stored = {
            digest(one.body)
            for task in survey.tasks_of(tmp_path / "robots.sqlite")
            for one in task()
            if getattr(one, "is_file", False) and one.body is not None
        }
        assert stored == {
            one["metadata"].told["rep-body-digest"]
            for one in found
            if "rep-body-digest" in one["metadata"].told
        }


def test_archive_has_confirmed_stored_and_overridden_files(tmp_path: Path) -> None:
    """A fetch, a conditional fetch, a use of the store, and an override by the user."""
    store = {"REP_STORE": "sqlite", "REP_STORE_PATH": str(tmp_path / "robots.sqlite")}
    brief = {**store, "REP_CACHE_MIN_SECONDS": 1}
    file = Answer(body=FILE, etag='"one"', headers=(("Cache-Control", "max-age=1"),))
    with Site({"/robots.txt": file}) as site:
        runs: list[dict[str, Found]] = []
        own = {"REP_OVERRIDES": {"127.0.0.1": {"robots_txt": "#x"}}}
        for settings in (brief, store, store, own):
            _, folder = archived([site.url()], tmp_path / "warc", settings=settings)
            assert_whole(folder)
            (one,) = exchanges_in(folder)
            if not runs:
                time.sleep(1.1)  # the first copy expires
            runs.append(one)
        assert site.paths().count("/robots.txt") == 2
    fetched, confirmed, reused, replaced = runs
    uri = site.url("/robots.txt")
    assert {one["main"].uri for one in runs} == {uri}
    assert [*confirmed] == ["main", "revisit", "request", "metadata"]
    fields = confirmed["main"].fields
    assert fields["WARC-Profile"].endswith("/warc/1.1/revisit/server-not-modified")
    assert fields["WARC-Refers-To-Target-URI"] == uri
    assert fields["WARC-Refers-To-Date"] == fetched["main"].fields["WARC-Date"]
    assert "WARC-Payload-Digest" not in fields
    assert confirmed["main"].status == "HTTP/1.1 304 Not Modified"
    assert confirmed["main"].payload == b""
    assert confirmed["request"].headers["if-none-match"] == '"one"'
    assert [*reused] == ["main", "resource", "metadata"]
    assert reused["main"].payload == FILE.encode()
    assert reused["metadata"].told["rep-source"] == "store"
    assert reused["main"].fields["WARC-Date"] < confirmed["main"].fields["WARC-Date"], "the octets"
    assert [*replaced] == ["main", "resource", "metadata"]
    assert replaced["main"].payload == b"#x"
    assert replaced["metadata"].told["rep-source"] == "override"


def test_trail_names_the_records_of_the_archive(tmp_path: Path) -> None:
    """A tdmrep.json is archived, too."""
    tdmrep = '[{"location": "/", "tdm-reservation": 1}]'
    routes: dict[str, Any] = {
        "/robots.txt": [Answer(status=503), Answer(body=FILE)],
        "/.well-known/tdmrep.json": Answer(body=tdmrep),
    }
    settings = {
        "REP_AUDIT_DIR": str(tmp_path / "audit"),
        "REP_TDMREP": True,
        "REP_QUICK_RETRY_SECONDS": [0.01],
    }
    with Site(routes) as site:
        _, folder = archived([site.url()], tmp_path / "warc", settings=settings)
    assert_whole(folder)
    run = run_at(tmp_path / "audit" / "latest")
    assert run.name == folder.name
    first, second, other = exchanges_in(folder)
    (policy,) = of_kind(run, "policy")
    assert [f"<{hop['warc']}>" for hop in policy["hops"]] == [first["main"].id, second["main"].id]
    assert ["rep-outcome" in one["metadata"].told for one in (first, second, other)] == [
        False,
        True,
        True,
    ]
    assert policy["body"] == second["metadata"].told["rep-body-digest"]
    assert other["main"].uri == site.url("/.well-known/tdmrep.json")
    assert other["metadata"].told["rep-file"] == "/.well-known/tdmrep.json"
    assert other["main"].payload == tdmrep.encode()


def _by(middleware: str, order: int = 300) -> dict[str, Any]:
    return {"DOWNLOADER_MIDDLEWARES": {middleware: order}}


def test_archive_invents_no_fetch(tmp_path: Path) -> None:
    """A middleware answers a request, or refuses it: neither was sent."""
    with Site({"/robots.txt": Answer(body=FILE)}) as site:
        answers = _by("tests.extras.evidence.warc.middlewares.Answers")
        _, answered = archived([site.url()], tmp_path, settings=answers)
        refuses = _by("tests.faults.middlewares.Refuse")
        result, refused = archived([site.url()], tmp_path, settings=refuses)
        assert "/robots.txt" not in site.paths()
    assert result.stats["rep/event/local"] == 1
    for folder in (answered, refused):
        assert_whole(folder)
    (one,) = exchanges_in(answered)
    assert [*one] == ["main", "resource", "metadata"]
    assert (one["main"].payload, one["metadata"].told["rep-source"]) == (
        b"# of ours\n",
        "middleware",
    )
    assert one["main"].fields["Content-Type"] == "text/x"
    assert exchanges_in(refused) == []


@pytest.mark.parametrize("loop", LOOPS)
def test_archive_has_stopped_and_late_answers(loop: Loop, tmp_path: Path) -> None:
    stops = {"DOWNLOAD_HANDLERS": {"http": "tests.crawls.meddling.StopsItself"}}
    hasty = {"REP_FETCH_TIMEOUT_SECONDS": 1, "RETRY_ENABLED": False}
    with Site({"/robots.txt": [Answer(body=FILE), Answer(fault="hang")]}) as site:
        _, stopped = archived([site.url()], tmp_path, loop=loop, settings=stops)
        _, late = archived([site.url()], tmp_path, loop=loop, settings=hasty)
    for folder in (stopped, late):
        assert_whole(folder)
    (one,) = exchanges_in(stopped)
    assert one["main"].fields["WARC-Truncated"] == "unspecified"
    assert one["metadata"].told["rep-event"] == "local"
    assert "rep-outcome" not in one["metadata"].told, "it says nothing of the site"
    (other,) = exchanges_in(late)
    assert [*other] == ["main", "metadata"]
    assert other["main"].told["rep-event"] == other["main"].told["rep-outcome"] == "timeout"
    assert 900 < int(other["main"].told["fetchTimeMs"]) < 20_000


def test_exchange_through_a_proxy_has_no_address(tmp_path: Path) -> None:
    """The address is that of the proxy; its credentials are in no file."""
    with Site() as proxy:
        by_proxy = proxy.url("").replace("//", "//user:passw0rd@")
        settings = {"REP_FETCH_META": {"proxy": by_proxy}, "REP_AUDIT_DIR": str(tmp_path / "audit")}
        _, folder = archived(["http://a.invalid/"], tmp_path / "warc", settings=settings)
        assert proxy.requests()[0].headers["proxy-authorization"]
    assert_whole(folder)
    (one,) = exchanges_in(folder)
    assert one["metadata"].told["rep-proxied"] == "true"
    assert "WARC-IP-Address" not in one["main"].fields
    for file in (*folder.iterdir(), *(tmp_path / "audit").rglob("*.gz")):
        octets = file.read_bytes()
        octets = gzip.decompress(octets) if file.suffix == ".gz" else octets
        assert not any(secret in octets for secret in (b"passw0rd", b"dXNlcjpwYXNzdzByZA"))


def test_ftp_file_is_a_resource(tmp_path: Path) -> None:
    """A file without a head is a resource, as in other archives."""
    with Ftp({"robots.txt": FILE, "a": "a"}) as server:
        _, folder = archived([server.url("a")], tmp_path)
        uri = server.url("robots.txt")
    assert_whole(folder)
    (one,) = exchanges_in(folder)
    assert [*one] == ["main", "resource", "metadata"]
    assert (one["main"].uri, one["main"].payload) == (uri, FILE.encode())
    assert one["metadata"].told["rep-body-digest"] == digest(FILE)
    assert "rep-source" not in one["metadata"].told, "it was fetched"


def test_missing_warcio_is_an_error(tmp_path: Path) -> None:
    """The crawl does not begin, and the error names the fix."""
    crawler = get_crawler(settings_dict={**ADDON, "REP_WARC_DIR": str(tmp_path / "warc")})
    refused = pytest.raises(ConfigurationError, match=r"pip install 'scrapy-rep\[warc\]'")
    with patch.dict(sys.modules, warcio=None), refused:
        RepMiddleware.from_crawler(crawler)
    assert not (tmp_path / "warc").exists()


def test_first_record_describes_the_crawl(tmp_path: Path) -> None:
    """The archive of a crawl without exchanges has one record."""
    settings = {"USER_AGENT": "ExampleBot/1.0"}
    _, folder = archived([], tmp_path, settings=settings)
    assert_whole(folder)
    (info,) = records_in(folder)
    assert info.kind == "warcinfo"
    assert info.told["http-header-user-agent"] == "ExampleBot/1.0"
    assert info.told["robots"] == "obey (rfc9309)"
    assert info.told["format"] == "WARC File Format 1.1"
    assert info.told["software"].startswith("scrapy-rep/")
    assert info.fields["WARC-Filename"] == files_in(folder)[0].name

"""Crawls with an error in their archive, and killed crawls: no verdict changes."""

from __future__ import annotations

import random
import signal
import time
from pathlib import Path

import pytest

from scrapy_rep.extras.evidence.warc_check import archive_at, check
from tests.crawling import LOOPS, crawl
from tests.crawls.settings import ADDON, URLS_SPIDER
from tests.extras.evidence.warc.archived import exchanges_in, manifest_of
from tests.faults.test_closing import started
from tests.servers.handle import Answer, Site

pytest.importorskip("warcio", reason="needs warcio")

FILE = "User-agent: *\nDisallow: /private\n# " + "".join(map(chr, range(97, 123))) * 40
HOSTS = [f"127.0.1.{n}" for n in range(1, 36)]


def urls_of(site: Site) -> list[str]:
    return [site.url(path, host=host) for host in HOSTS for path in ("/a", "/private/b")]


def test_error_in_the_archive_changes_no_verdict(tmp_path: Path) -> None:
    settings = {
        **ADDON,
        "REP_WARC_DIR": str(tmp_path / "warc"),
        "REP_STORE": "sqlite",
        "REP_STORE_PATH": str(tmp_path / "robots.sqlite"),
        "EXTENSIONS": {"tests.extras.evidence.warc.middlewares.Breaks": 1},
    }
    with Site({"/robots.txt": Answer(body=FILE)}, address="0.0.0.0") as site:
        urls = urls_of(site)[:8]
        for fetched in (4, 0):  # the second crawl goes by the store
            result = crawl(URLS_SPIDER, settings=settings, urls=urls)
            assert result.exit_code == 0, result.error
            assert result.finish_reason == "finished"
            assert result.stats["robotstxt/forbidden"] == 4
            assert [item["status"] for item in result.items if "error" not in item] == [200] * 4
            assert result.stats.get("robotstxt/response_count", 0) == fetched
            assert result.stats["rep/warc/failed"] == 4
            assert result.log.count("The archive in ") == 1, "one warning"
            assert "LookupError: odd" in result.log
            run = archive_at(tmp_path / "warc" / "latest")
            assert run is not None
            assert "exchanges that could not be archived: 4" in check(run).missing


@pytest.mark.parametrize("kills", [1, pytest.param(3, marks=pytest.mark.slow)])
def test_killed_archive_has_whole_records(kills: int, tmp_path: Path) -> None:
    """All records before the last one are whole, and the archive has no end."""
    draw = random.Random(13)
    for turn in range(kills):
        folder = tmp_path / str(turn)
        folder.mkdir()
        settings = {
            **ADDON,
            "REP_WARC_DIR": str(folder / "warc"),
            "ADDONS": {**ADDON["ADDONS"], "tests.extras.evidence.segments.SmallSegments": 600},
            "SEGMENT_OCTETS": 9000,
            "REP_CONCURRENT_FETCHES": 4,  # or all might be asked before the first one is answered
        }
        with Site({"/robots.txt": Answer(body=FILE)}, address="0.0.0.0") as site:
            with started(folder, LOOPS[turn % 3], settings, urls_of(site)) as process:
                wanted = draw.randrange(3, len(HOSTS))
                give_up_at = time.monotonic() + 60
                begun = folder / "warc" / "latest"  # by a thread of its own
                while site.paths().count("/robots.txt") < wanted or not begun.exists():
                    assert time.monotonic() < give_up_at
                    time.sleep(0.002)
                process.send_signal(signal.SIGKILL)
                process.wait(timeout=60)
            asked = site.paths().count("/robots.txt")
        run = archive_at(folder / "warc" / "latest")
        assert run is not None
        found = check(run)
        assert found.problems == []
        assert any("no end" in lack for lack in found.missing)
        assert manifest_of(run.path)["end"] is None
        archived = {one["main"].uri for one in exchanges_in(run.path)} if asked > 20 else set()
        assert len(archived) <= asked
        assert asked <= 30 or archived, "all but the last ones"

"""The writer of trails on full disks, in folders that vanish, and over many segments."""

from __future__ import annotations

import json
import os
import resource
import shutil
import time
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from scrapy_rep.extras.evidence import spool
from scrapy_rep.extras.evidence.trail_check import check
from scrapy_rep.extras.evidence.trail_reading import Run
from scrapy_rep.extras.evidence.trail_writer import TrailWriter
from tests.commands.calling import rep
from tests.extras.evidence.audit.making import Judged, judged, judged_outcomes

URLS = [f"https://a.example/{'private/' if n % 3 == 0 else ''}{n}" for n in range(1500)]


@pytest.fixture(autouse=True)
def _no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spool, "RETRY_SECONDS", 0.0)


def assert_all_count(run: Run, count: int) -> Any:
    found = check(run)
    assert found.problems == []
    assert found.counts.total() + found.lost.total() == found.last_n == count
    return found


def test_trail_counts_records_over_a_limit_of_file_sizes(tmp_path: Path) -> None:
    """A short write, then an error: as on a full disk. Later there is room again."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    crawl = judged(tmp_path)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, limits[1]))
    try:
        crawl.judge(URLS[:300])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    crawl.judge(URLS[:7])
    found = assert_all_count(crawl.end(), 307)
    assert 50 < found.lost.total() < 300
    assert any("could not be written" in lack for lack in found.missing)
    assert crawl.crawler.stats.get_value("rep/audit/gaps") >= 1


@pytest.mark.parametrize("is_replaced", [False, True])
def test_trail_goes_on_after_its_folder_vanished(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_replaced: bool
) -> None:
    monkeypatch.setattr(spool, "LOOK_SECONDS", 0.0)
    crawl = judged(tmp_path, URLS[:9])
    shutil.rmtree(crawl.folder)
    if is_replaced:
        crawl.folder.write_text("a file")
        crawl.judge(URLS[:5])
        crawl.folder.unlink()
    crawl.judge(URLS[:4])
    found = assert_all_count(crawl.end(), 18 if is_replaced else 13)
    assert found.lost.total() == (14 if is_replaced else 9)
    assert any("vanished" in lack for lack in found.missing)


def test_gap_counts_again_after_its_folder_vanished(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The records of the first gap were lost with the folder, so they count again."""
    monkeypatch.setattr(spool, "LOOK_SECONDS", 0.0)
    crawl = judged(tmp_path)
    for _ in range(2):
        crawl.judge(URLS[:5])
        shutil.rmtree(crawl.folder)
    crawl.judge(URLS[:3])
    assert assert_all_count(crawl.end(), 13).lost.total() == 10


def test_trail_reports_a_folder_that_vanished_just_before_the_end(tmp_path: Path) -> None:
    """The folder vanished after the last check."""
    crawl = judged(tmp_path, URLS[:9])
    shutil.rmtree(crawl.folder)
    found = assert_all_count(crawl.end(), 9)
    assert found.lost.total() == 9
    assert any("vanished" in lack for lack in found.missing)
    assert crawl.crawler.stats.get_value("rep/audit/gaps") == 1


def test_verdicts_stay_the_same_without_a_folder(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    assert judged_outcomes(URLS[:9], None) == judged_outcomes_at(blocked, URLS[:9])


def judged_outcomes_at(root: Path, urls: list[str]) -> list[str]:
    crawl = Judged(root)
    assert crawl.crawler.stats.get_value("rep/audit/gaps") == 1
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Judged, "end", lambda _: None)
        return judged_outcomes(urls, root)


def test_trail_has_many_segments(tmp_path: Path) -> None:
    crawl = judged(tmp_path, URLS, segment_octets=1 << 13)
    run = crawl.end()
    assert len(run.segments) > 20
    assert all(one.is_packed for one in run.segments)
    assert sorted(path.suffix for path in run.path.iterdir()) == [".gz"] * len(run.segments) + [
        ".json"
    ]
    found = assert_all_count(run, len(URLS))
    assert (found.missing, found.unmarked) == ([], 0)
    assert crawl.crawler.stats.get_value("rep/audit/segments") == len(run.segments)
    assert crawl.crawler.stats.get_value("rep/audit/records") == found.record_count


def test_slow_disk_is_not_a_step_of_the_clock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each record begins a file, so the disk is slow before the record itself is written too."""
    crawl = judged(tmp_path, segment_octets=1)
    write = os.write

    def slowly(descriptor: int, octets: bytes) -> int:
        time.sleep(0.15)
        return write(descriptor, octets)

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", slowly)
        crawl.judge(URLS[:2])
    assert "clock" not in {record["t"] for _, record in crawl.end().records()}


def test_segment_stays_plain_if_it_cannot_be_packed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("scrapy_rep.extras.evidence.trail_writer.shutil.copyfileobj", full)
    crawl = judged(tmp_path, URLS[:9])
    run = crawl.end()
    assert [one.is_packed for one in run.segments] == [False]
    assert assert_all_count(run, 9).missing == []


def _writer(folder: Path, clock: Callable[[], float] = lambda: 0.0) -> TrailWriter:
    def head(segment: int) -> dict[str, Any]:
        return {"t": "run", "v": 1, "run": folder.name, "at": 0.0, "segment": segment}

    return TrailWriter(folder, head, segment_octets=1 << 20, clock=clock)


def test_writer_sets_a_mark_each_minute(tmp_path: Path) -> None:
    """Marks cover the trail of a slow crawl, too."""
    writer = _writer(tmp_path / "run")
    (path,) = (tmp_path / "run").glob("*.jsonl")
    writer.put('{"t":"exempt"}\n', 0.0, 1, "exempt")
    writer.ready(59.9)
    assert '"mark"' not in path.read_text()
    writer.ready(60.0)
    assert path.read_text().count('"mark"') == 1
    writer.ready(119.9)
    assert path.read_text().count('"mark"') == 1
    writer.ready(120.0)
    assert path.read_text().count('"mark"') == 2


def test_gap_cannot_have_more_records_than_numbers(tmp_path: Path) -> None:
    writer = _writer(tmp_path / "run")
    gap = '{"t":"gap","from_n":5,"to_n":5,"allowed":5,"error":"x"}\n'
    writer.put(gap, 0.0)
    writer.close("finished").result(20)
    found = check(Run(tmp_path / "run"))
    assert any("5 cannot have the numbers from 5 to 5" in one for one in found.problems)


def test_writer_begins_a_file_after_a_partial_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Later records go into another file: no line begins within another one."""
    writer = _writer(tmp_path / "run")
    write = os.write

    def fail(*_: object) -> None:
        raise OSError("broken")

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", lambda descriptor, octets: write(descriptor, octets[:9]))
        patch.setattr(os, "ftruncate", fail)
        assert not writer.put('{"t":"exempt","n":1}\n', 0.0, 1, "exempt")
    assert writer.ready(6.0) == 2
    assert writer.put('{"t":"exempt","n":2}\n', 6.0, 2, "exempt")
    texts = [path.read_text() for path in sorted((tmp_path / "run").glob("*-00002.jsonl*"))]
    assert [json.loads(line)["t"] for line in texts[0].splitlines()] == ["run", "gap", "exempt"]


@pytest.mark.parametrize("is_blocked", [False, True])
def test_log_has_the_digest_of_the_written_manifest(
    is_blocked: bool, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The digest of a file that was not written would look like a forgery years later."""
    crawl = judged(tmp_path, ["https://a.example/x"])
    manifest = crawl.folder / "manifest.json"
    if is_blocked:
        manifest.unlink()
        manifest.mkdir()  # nothing can replace it, as on a full disk
    with caplog.at_level("INFO"):
        crawl.end()
    (told,) = (one for one in caplog.records if "manifest.json" in one.getMessage())
    if is_blocked:
        assert (told.levelname, "SHA-256 of its manifest.json is" in told.getMessage()) == (
            "ERROR",
            False,
        )
        manifest.rmdir()
        assert rep("report", crawl.folder).status == 4, "not complete, as the log says"
    else:
        digest = sha256(manifest.read_bytes()).hexdigest()
        assert told.getMessage().endswith(f"the SHA-256 of its manifest.json is {digest}")

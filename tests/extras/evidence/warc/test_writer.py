"""The writer of archives on disks that are full or hang, and in folders that vanish."""

from __future__ import annotations

import json
import os
import shutil
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from scrapy_rep.extras.evidence import spool
from scrapy_rep.extras.evidence.manifests import CheckOutcome
from scrapy_rep.extras.evidence.warc_check import archive_at, check
from scrapy_rep.extras.evidence.warc_writer import ArchiveWriter
from tests.commands.calling import rep
from tests.extras.evidence.warc.archived import exchanges_in, files_in, manifest_of, warcio_checks
from tests.extras.evidence.warc.making import archive, exchange

pytest.importorskip("warcio", reason="needs warcio")


@pytest.fixture(autouse=True)
def _no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spool, "RETRY_SECONDS", 0.0)
    monkeypatch.setattr(spool, "LOOK_SECONDS", 0.0)


def checked(folder: Path) -> CheckOutcome:
    run = archive_at(folder)
    assert run is not None
    return check(run)


def begun(folder: Path, told: list[str], **settings: Any) -> ArchiveWriter:
    return ArchiveWriter(folder, {}, segment_octets=1 << 20, failed=told.append, **settings)


def settled(writer: ArchiveWriter, count: int) -> None:
    """Wait until the thread has written `count` more exchanges."""
    give_up_at = time.monotonic() + 30
    while writer._queued_octets:
        assert time.monotonic() < give_up_at, count
        time.sleep(0.001)


def test_archive_has_many_files(tmp_path: Path) -> None:
    writer = archive(tmp_path / "run", 12, segment_octets=1 << 12)
    found = checked(tmp_path / "run")
    assert (found.problems, found.missing) == ([], [])
    assert len(files_in(tmp_path / "run")) > 2
    assert found.counts["warcinfo"] == len(files_in(tmp_path / "run"))
    assert found.counts["response"] == found.counts["metadata"] == 12
    assert writer.record_count == found.counts.total()
    assert warcio_checks(tmp_path / "run") == ""
    assert (tmp_path / "latest").resolve() == (tmp_path / "run").resolve()
    assert not (tmp_path / "run" / "reserve").exists()


def test_a_short_write_leaves_whole_records(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on a full disk, without a mount: the first write is short, the next one raises."""
    told: list[str] = []
    writer = begun(tmp_path / "run", told)
    writer.put(exchange(1))
    settled(writer, 1)
    write = os.write
    monkeypatch.setattr(os, "write", lambda fd, octets: write(fd, octets[:100]))
    writer.put(exchange(2))
    settled(writer, 1)
    monkeypatch.setattr(os, "write", write)
    writer.put(exchange(3))
    writer.close().result(timeout=60)
    found = checked(tmp_path / "run")
    assert found.problems == []
    assert [one["main"].uri for one in exchanges_in(tmp_path / "run")] == [
        exchange(1).uri,
        exchange(3).uri,
    ]
    assert (writer.failed_count, len(told)) == (1, 1)


@pytest.mark.parametrize("step_seconds", [0.0, -3600.0])
def test_archive_goes_on_after_its_folder_vanished(step_seconds: float, tmp_path: Path) -> None:
    """Its exchanges count as failed; later ones are in a new file, even if the clock was set."""
    told: list[str] = []
    now = [1e9]
    writer = begun(tmp_path / "run", told, clock=lambda: now[0])
    for number in range(3):
        writer.put(exchange(number))
    settled(writer, 3)
    now[0] += step_seconds
    shutil.rmtree(tmp_path / "run")
    writer.put(exchange(3))
    writer.close().result(timeout=60)
    assert [one["main"].uri for one in exchanges_in(tmp_path / "run")] == [exchange(3).uri]
    found = checked(tmp_path / "run")
    assert (found.problems, found.missing) == ([], ["exchanges that could not be archived: 3"])
    assert len(told) == 1
    assert "vanished" in told[0]


def test_exchanges_without_a_folder_count_as_failed(tmp_path: Path) -> None:
    (tmp_path / "run").write_text("in the way")
    told: list[str] = []
    writer = begun(tmp_path / "run", told)
    writer.put(exchange())
    writer.close().result(timeout=60)
    assert (writer.failed_count, writer.record_count, len(told)) == (1, 0, 1)


def test_hanging_disk_does_not_stop_the_crawl(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The crawl does not wait, and memory is bounded: other exchanges count as failed."""
    goes_on = threading.Event()
    write = os.write

    def hang(descriptor: int, octets: bytes) -> int:
        goes_on.wait(60)
        return write(descriptor, octets)

    monkeypatch.setattr(os, "write", hang)
    told: list[str] = []
    writer = begun(tmp_path / "run", told)
    body = bytes(1 << 20)
    began_at = time.monotonic()
    for number in range(100):
        writer.put(exchange(number, body))
    assert time.monotonic() - began_at < 5
    assert 30 < writer.failed_count < 50
    assert told == ["the disk is too slow: the queue is full"]
    goes_on.set()
    writer.close().result(timeout=60)
    found = checked(tmp_path / "run")
    assert found.problems == []
    assert found.counts["response"] + writer.failed_count == 100


class TestVerify:
    """Files that were cut or changed, and files that are missing."""

    def test_every_cut_and_changed_bit_is_found(self, tmp_path: Path) -> None:
        archive(tmp_path / "run", 1)
        (path,) = files_in(tmp_path / "run")
        whole = path.read_bytes()
        between = whole.rindex(b"\x1f\x8b\x08")  # two records, which readers do not notice
        for length in [*range(0, len(whole), 13), between, *range(len(whole) - 30, len(whole))]:
            path.write_bytes(whole[:length])
            assert checked(tmp_path / "run").problems, length
        for place in range(0, len(whole), 17):
            path.write_bytes(whole[:place] + bytes([whole[place] ^ 4]) + whole[place + 1 :])
            assert checked(tmp_path / "run").problems, place
        path.write_bytes(whole)
        assert checked(tmp_path / "run").problems == []

    def test_missing_and_additional_files_are_found(self, tmp_path: Path) -> None:
        archive(tmp_path / "run", 8, segment_octets=1 << 12)
        first, *rest = files_in(tmp_path / "run")
        first.rename(tmp_path / "aside")
        assert checked(tmp_path / "run").problems == [f"{first.name}: in the manifest, but missing"]
        (tmp_path / "aside").rename(first)
        other = rest[-1].with_name(rest[-1].name.replace("-0000", "-0001"))
        other.write_bytes(first.read_bytes())
        assert checked(tmp_path / "run").problems == [f"{other.name}: not in the manifest"]

    @pytest.mark.parametrize("extra", [1, 2])
    def test_only_one_finished_file_may_be_unnamed(self, extra: int, tmp_path: Path) -> None:
        """A kill can leave one whole file that the manifest does not name, not two."""
        archive(tmp_path / "run", 8, segment_octets=1 << 12)
        path = tmp_path / "run" / "manifest.json"
        manifest = json.loads(path.read_text())
        names = [one["name"] for one in manifest["segments"][-extra:]]
        del manifest["segments"][-extra:]
        path.write_text(json.dumps({**manifest, "end": None}))
        found = checked(tmp_path / "run")
        assert found.missing[0].startswith(f"{names[-1]}: not finished; it has")
        assert found.problems == [f"{name}: not in the manifest" for name in names[:-1]]

    def test_archive_without_an_end_is_incomplete(self, tmp_path: Path) -> None:
        writer = begun(tmp_path / "run", [])
        writer.put(exchange())
        settled(writer, 1)
        found = checked(tmp_path / "run")
        assert found.problems == []
        assert any("not finished; it has 4 whole records" in one for one in found.missing)
        assert any("no end" in one for one in found.missing)
        (path,) = files_in(tmp_path / "run")
        path.write_bytes(path.read_bytes()[:-40])
        found = checked(tmp_path / "run")
        assert any("after 3 whole records: the file is cut" in one for one in found.missing)
        assert manifest_of(tmp_path / "run")["end"] is None
        writer.close().result(timeout=60)

    def test_command_has_the_statuses_of_trails(self, tmp_path: Path) -> None:
        """The exit statuses are those of trails."""
        archive(tmp_path / "run", 2)
        done = rep("audit", "verify", tmp_path / "latest")
        assert done.status == 0
        assert (
            "run is complete: 7 records; 1 warcinfo, 2 response, 2 request, 2 metadata" in done.out
        )
        said = json.loads(rep("audit", "verify", tmp_path / "run", "--json").out)
        assert (said["problems"], said["missing"], said["records"]) == ([], [], 7)
        assert said["manifest_sha256"] in done.out
        (path,) = files_in(tmp_path / "run")
        path.write_bytes(path.read_bytes()[:-40])
        done = rep("audit", "verify", tmp_path / "run")
        assert done.status == 1
        assert "run was changed or damaged" in done.out
        (tmp_path / "run" / "manifest.json").unlink()
        done = rep("audit", "verify", tmp_path / "run")
        assert done.status == 4
        assert "missing: manifest.json is missing" in done.out
        assert rep("audit", "replay", tmp_path / "run").status == 2, "it is no trail"

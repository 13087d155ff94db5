"""Trails that are read while they are written, links to trails, and unreadable folders."""

from __future__ import annotations

import gzip
import json
import threading
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import pytest

from scrapy_rep.extras.evidence.manifests import manifest_in
from scrapy_rep.extras.evidence.reports.report_making import report_of, trails_at
from scrapy_rep.extras.evidence.reports.report_values import INCOMPLETE
from scrapy_rep.extras.evidence.spool import MANIFEST
from scrapy_rep.extras.evidence.trail_check import check
from scrapy_rep.extras.evidence.trail_reading import (
    Run,
    TrailError,
    run_at,
    runs_in,
)
from tests.commands.calling import rep
from tests.extras.evidence.audit.making import Judged, judged
from tests.extras.evidence.report.making import BEGAN, Made


def _run(root: Path, name: str = "run-1") -> Run:
    made = Made(root, name)
    made.decide("https://a.example/", made.policy("https://a.example"))
    return made.end()


class TestWhileItIsWritten:
    def test_segment_may_be_packed_after_the_folder_was_listed(self, tmp_path: Path) -> None:
        path = _run(tmp_path).path
        (packed,) = path.glob("*.jsonl.gz")
        plain = packed.with_suffix("")
        plain.write_bytes(gzip.decompress(packed.read_bytes()))
        packed.unlink()
        run = Run(path)
        packed.write_bytes(gzip.compress(plain.read_bytes()))
        plain.unlink()
        assert check(run).problems == []

    def test_manifest_without_an_end_means_a_kill(self, tmp_path: Path) -> None:
        """A kill may come between the end of the trail and that of the manifest."""
        path = _run(tmp_path).path
        held = json.loads((path / MANIFEST).read_bytes())
        (path / MANIFEST).write_text(json.dumps({**held, "end": None, "segments": []}))
        found = check(Run(path))
        assert found.problems == []
        assert "killed while it ended" in " ".join(found.missing)
        assert report_of([Run(path)]).state == INCOMPLETE

    @pytest.mark.slow
    def test_report_on_a_running_crawl_finds_no_problems(self, tmp_path: Path) -> None:
        """Segments may be packed, and the manifest replaced, at any moment."""
        crawl = judged(tmp_path, segment_octets=1 << 12)
        is_over = threading.Event()

        def work() -> None:
            for number in range(2000):
                crawl.judge([f"https://a.example/{number}"])
            is_over.set()

        thread = threading.Thread(target=work)
        thread.start()
        reports = 0
        while not is_over.is_set() or not reports:
            report = report_of(trails_at([tmp_path]))
            assert report.runs[0].problems == ()
            reports += 1
        thread.join()
        found = check(crawl.end())
        assert (found.problems, found.missing, found.last_n) == ([], [], 2000)


class TestLinks:
    def test_link_to_a_run_counts_as_a_run(self, tmp_path: Path) -> None:
        """For example, because it was moved to another disk."""
        root = tmp_path / "audit"
        _run(root)
        _run(tmp_path / "away", "run-0")
        (root / "run-0").symlink_to(tmp_path / "away" / "run-0", target_is_directory=True)
        (root / "latest").symlink_to("run-1", target_is_directory=True)
        (root / "again").symlink_to("run-1", target_is_directory=True)
        assert sorted(run.name for run in runs_in(root)) == ["run-0", "run-1"]
        assert len(report_of(trails_at([root])).runs) == 2

    def test_broken_links_are_ignored(self, tmp_path: Path) -> None:
        _run(tmp_path)
        (tmp_path / "loop").symlink_to("loop")
        (tmp_path / "gone").symlink_to("nothing")
        (tmp_path / "latest").symlink_to("gone")
        assert [run.name for run in runs_in(tmp_path)] == ["run-1"]
        assert run_at(tmp_path / "latest").name == "run-1"

    def test_crawl_does_not_write_to_the_last_run(self, tmp_path: Path) -> None:
        away = _run(tmp_path / "away").path
        before = sorted((one.name, one.stat().st_mtime_ns) for one in away.iterdir())
        root = tmp_path / "audit"
        root.mkdir()
        (root / "latest").symlink_to(away, target_is_directory=True)
        run = Judged(root).end()
        assert (root / "latest").resolve() == run.path.resolve()
        assert sorted((one.name, one.stat().st_mtime_ns) for one in away.iterdir()) == before

    def test_folder_named_latest_is_kept(self, tmp_path: Path) -> None:
        (tmp_path / "latest").mkdir()
        (tmp_path / "latest" / "mine").touch()
        run = Judged(tmp_path).end()
        assert check(run).problems == []
        assert (tmp_path / "latest" / "mine").exists()
        assert [one.path for one in runs_in(tmp_path)] == [run.path]


class TestUnreadable:
    @pytest.fixture
    def root(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        """Two runs, one of them without the right to list it; root has it, so a patch denies it."""
        _run(tmp_path)
        _run(tmp_path, "run-2")
        listed = Path.iterdir

        def iterdir(path: Path) -> object:
            if path.name == "run-2":
                raise PermissionError(13, "Permission denied")
            return listed(path)

        monkeypatch.setattr(Path, "iterdir", iterdir)
        return tmp_path

    def test_unreadable_run_is_reported(self, root: Path) -> None:
        with pytest.raises(TrailError, match="run-2: Permission denied"):
            runs_in(root)
        with pytest.raises(TrailError, match="run-2: Permission denied"):
            trails_at([root])
        told: list[TrailError] = []
        assert [run.name for run in runs_in(root, told.append)] == ["run-1"]
        assert len(told) == 1

    def test_list_names_the_unreadable_run(self, root: Path) -> None:
        shown = rep("audit", "list", root)
        assert shown.status == 4
        assert "run-1" in shown.out
        assert "run-2: Permission denied" in shown.err


def test_crawls_of_one_process_have_separate_trails(tmp_path: Path) -> None:
    crawls = [judged(tmp_path) for _ in range(2)]
    for number in range(200):
        crawls[number % 2].judge([f"https://a.example/{number}"])
    for crawl in crawls:
        found = check(crawl.end())
        assert (found.problems, found.missing, found.last_n) == ([], [], 100)
    assert len(runs_in(tmp_path)) == 2


@pytest.mark.slow
class TestManyRuns:
    """A report has the files of runs open at once only if the runs overlap in time."""

    @pytest.fixture(autouse=True)
    def few_files(self) -> Iterator[None]:
        resource = pytest.importorskip("resource")
        before = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (100, before[1]))
        yield
        resource.setrlimit(resource.RLIMIT_NOFILE, before)

    def _runs(self, root: Path, apart: float) -> None:
        for number in range(150):
            made = Made(root, f"run-{number:03}", began=BEGAN + apart * number)
            p = made.policy("https://a.example")
            for _ in range(2):
                made.now += 5
                made.decide("https://a.example/", p)
            made.end()

    def test_report_opens_few_files_for_runs_one_after_another(self, tmp_path: Path) -> None:
        self._runs(tmp_path, 10.0)
        report = report_of(trails_at([tmp_path]))
        assert report.totals.judged == 300
        assert {one.state for one in report.runs} == {"whole"}

    def test_too_many_runs_at_once_are_not_damage(self, tmp_path: Path) -> None:
        self._runs(tmp_path, 0.01)
        with pytest.raises(TrailError, match="too many files are open"):
            report_of(trails_at([tmp_path]))


def test_segments_are_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    """A forked crawl continues the numbers with another process id."""
    for name in ("9-00001.jsonl", "10-00002.jsonl", "8-00003.jsonl"):
        (tmp_path / name).write_text("")
    assert [one.number for one in Run(tmp_path).segments] == [1, 2, 3]


def test_long_manifest_counts_as_missing(tmp_path: Path) -> None:
    path = tmp_path / "manifest.json"
    octets = b"{}".ljust(1 << 24)
    path.write_bytes(octets)
    assert manifest_in(tmp_path, lambda one: one == {}) == ({}, sha256(octets).hexdigest())
    path.write_bytes(octets + b"\n")
    assert manifest_in(tmp_path, lambda _: True) == (None, "")

"""`verify` of other people's archives ends, in bounded memory, whatever they contain."""

from __future__ import annotations

import os
import tracemalloc
from pathlib import Path

import pytest

from scrapy_rep.extras.evidence.spool import MANIFEST
from scrapy_rep.extras.evidence.warc_check import archive_at, check
from tests.commands.calling import rep
from tests.extras.evidence.warc.archived import files_in
from tests.extras.evidence.warc.making import archive

pytest.importorskip("warcio", reason="needs warcio")


class TestOnlyRegularFilesAreOpened:
    """Only regular files are opened: a pipe or a device may never end."""

    def _replaced(self, path: Path, kind: str) -> None:
        path.unlink(missing_ok=True)
        if kind == "pipe":
            os.mkfifo(path)
        else:
            path.symlink_to("/dev/zero")

    @pytest.mark.parametrize("kind", ["pipe", "device"])
    def test_file_in_the_manifest(self, kind: str, tmp_path: Path) -> None:
        archive(tmp_path / "run")
        (path,) = files_in(tmp_path / "run")
        self._replaced(path, kind)
        done = rep("audit", "verify", tmp_path / "run")
        assert done.status == 1
        assert f"{path.name}: after 0 whole records: [Errno 22] not a regular file" in done.out

    @pytest.mark.parametrize("is_open", [False, True])
    def test_file_that_is_not_in_the_manifest(self, is_open: bool, tmp_path: Path) -> None:
        archive(tmp_path / "run")
        end = ".open" if is_open else ""
        self._replaced(tmp_path / "run" / f"rep-x-1-00009.warc.gz{end}", "pipe")
        done = rep("audit", "verify", tmp_path / "run")
        assert done.status == (4 if is_open else 1)
        assert f"rep-x-1-00009.warc.gz{end}" in done.out

    @pytest.mark.parametrize("kind", ["pipe", "device"])
    def test_manifest_of_an_archive(self, kind: str, tmp_path: Path) -> None:
        archive(tmp_path / "run")
        self._replaced(tmp_path / "run" / MANIFEST, kind)
        done = rep("audit", "verify", tmp_path / "run")
        assert done.status == 4
        assert "manifest.json is missing or invalid" in done.out
        assert "SHA-256" not in done.out

    def test_manifest_of_a_trail(self, tmp_path: Path) -> None:
        os.mkfifo(tmp_path / MANIFEST)
        done = rep("audit", "verify", tmp_path)
        assert done.status == 4


def test_endless_manifest_counts_as_missing(tmp_path: Path) -> None:
    """A manifest that is far too long counts as missing; memory is bounded."""
    archive(tmp_path / "run")
    with (tmp_path / "run" / MANIFEST).open("wb") as file:
        file.truncate(1 << 28)  # a hole
    tracemalloc.start()
    try:
        run = archive_at(tmp_path / "run")
        assert run is not None
        assert (run.manifest, run.manifest_sha256) == (None, "")
        assert tracemalloc.get_traced_memory()[1] < 1 << 26
    finally:
        tracemalloc.stop()
    assert check(run).missing[-1] == "manifest.json is missing or invalid"

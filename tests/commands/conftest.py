"""Fixtures of the tests of commands."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of its own, in which the call is made."""
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path / "here"


@pytest.fixture
def robots(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """A robots.txt with the octets ``FILE`` of the test module."""
    path = tmp_path / "robots.txt"
    path.write_bytes(request.module.FILE)
    return path

"""Each extra can be deleted: the crawl and all other extras go on without it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from scrapy_rep.extras import EXTRAS
from tests.processes import REPOSITORY
from tests.test_architecture import EXTRAS_NEEDED

_ALL = frozenset(extra.name for extra in EXTRAS)
_BY_NAME = {extra.name: extra for extra in EXTRAS}


def _gone_with(name: str) -> frozenset[str]:
    """An extra, and those that import it."""
    return frozenset(one for one, needed in EXTRAS_NEEDED.items() if name in needed)


_EACH = [
    pytest.param(_gone_with(name), id=name, marks=pytest.mark.at_length) for name in sorted(_ALL)
]
_TOGETHER = pytest.param(_ALL, id="all", marks=pytest.mark.slow)

_SETTINGS = {
    "fleet": "REP_PACE_SCOPE=process",
    "evidence": "REP_AUDIT_DIR=audit",
    "pages": "REP_PAGE_OBEY=noindex",
    "identity": "REP_SIGN_KEY=key.pem",
}


# What only tests load that are left out with an extra
_LOADED_LATE = {"user_project.py", "user_of_star.py"}


def test_tests_import_only_the_extras_of_their_folder() -> None:
    """Others may be deleted: a test that needs them imports them itself."""
    offenders = []
    for path in (REPOSITORY / "tests").rglob("*.py"):
        name = path.relative_to(REPOSITORY / "tests").as_posix()
        owner = name.removeprefix("extras/").partition("/")[0]
        needed = EXTRAS_NEEDED.get(owner, {owner})
        found = re.findall(r"(?m)^(?:from|import) \w+\.extras\.(\w+)", path.read_text("utf-8"))
        more = {one for one in found if one in _ALL and one not in needed}
        if more and name not in _LOADED_LATE:
            offenders.append((name, more))
    assert offenders == []


class Copy:
    """A copy of the repository without some extras."""

    def __init__(self, folder: Path, deleted: frozenset[str]) -> None:
        self.folder = folder
        self.deleted = [_BY_NAME[name] for name in sorted(deleted)]
        ignored = shutil.ignore_patterns("__pycache__", ".git", ".*_cache", ".scrapy", ".venv")
        shutil.copytree(REPOSITORY, folder, ignore=ignored)
        for extra in self.deleted:
            for home in ("scrapy_rep", "tests"):
                shutil.rmtree(folder / home / "extras" / extra.name)

    def run(self, *command: str, folder: str = ".") -> subprocess.CompletedProcess[str]:
        """Run a module of Python."""
        return subprocess.run(
            [sys.executable, "-m", *command],
            cwd=self.folder / folder,
            env={**os.environ, "PYTHONPATH": str(self.folder)},
            capture_output=True,
            text=True,
            check=False,
        )


@pytest.fixture
def copied(tmp_path: Path, request: pytest.FixtureRequest) -> Copy:
    return Copy(tmp_path / "copy", request.param)


@pytest.mark.parametrize("copied", [*_EACH, _TOGETHER], indirect=True)
def test_the_example_project_crawls_without_the_extra(copied: Copy) -> None:
    done = copied.run("scrapy", "crawl", "polite", folder="example_project")
    assert done.returncode == 0, done.stderr
    assert "line 5 (Disallow: /private/)" in done.stdout
    shown = copied.run("scrapy", "rep", "-h").stdout
    for extra in copied.deleted:
        assert [name for name in extra.subcommands if f"\n    {name} " in shown] == []
        if setting := _SETTINGS.get(extra.name):
            done = copied.run("scrapy", "crawl", "polite", "-s", setting, folder="example_project")
            assert f"needs {extra.package}" in done.stderr


@pytest.mark.at_length
@pytest.mark.parametrize("copied", [*_EACH, _TOGETHER], indirect=True)
def test_all_other_tests_pass_without_the_extra(copied: Copy) -> None:
    done = copied.run("pytest", "-q", "-n", "2", "-p", "no:cacheprovider", "tests")
    assert done.returncode == 0, done.stdout[-4000:]

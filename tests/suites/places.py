"""The folder of a suite: a virtual environment, and copies of the source distribution."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import venv
from pathlib import Path

from tests.suites.table import Suite

_HERE = Path(__file__).parent
_ROOT = _HERE.parents[1]


class Place:
    """Where the tests of a suite run.

    Args:
        suite: the suite.
        folder: its folder, which is made again each time; the virtual environment stays.
        count: how many copies of the tests to unpack, one for each run at a time.
    """

    def __init__(self, suite: Suite, folder: Path, count: int) -> None:
        self.suite = suite
        self.results = _emptied(folder / "results")
        self._environment = folder / "venv"
        self._archives = _emptied(folder / "archives")
        self._install()
        self.trees = [_unpacked(self._archive, folder / f"tree-{one}") for one in range(count)]

    @property
    def python(self) -> Path:
        """The interpreter."""
        return self._environment / "bin" / "python"

    @property
    def version(self) -> str:
        """The name and the version of the package."""
        return self._archive.name.removesuffix(".tar.gz")

    @property
    def _archive(self) -> Path:
        return next(self._archives.glob("*.tar.gz"))

    def _install(self) -> None:
        """Install the newest release, from the archive that has its tests, and scrapy-rep."""
        if not self.python.exists():
            venv.create(self._environment, with_pip=True)
        package = self.suite.package
        only_source = ("--no-deps", "--no-binary", package)
        self._pip("download", *only_source, "--dest", str(self._archives), package)
        self._pip("install", f"{self._archive}{self.suite.extras}", *self.suite.needs, str(_ROOT))
        self._pip("install", "--force-reinstall", "--no-deps", str(_ROOT))
        packages = self._packages()
        shutil.copy(_HERE / "switch.py", packages / "rep_suites_switch.py")
        shutil.copy(_HERE / "recorder.py", packages / "rep_suites_recorder.py")
        (packages / "rep_suites.pth").write_text("import rep_suites_switch\n", encoding="ascii")

    def _pip(self, *arguments: str) -> None:
        command = [str(self.python), "-m", "pip", "-qq", "--disable-pip-version-check"]
        subprocess.run([*command, *arguments], check=True, env=self.variables())

    def _packages(self) -> Path:
        command = [str(self.python), "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]
        return Path(subprocess.check_output(command, text=True).strip())

    def variables(self) -> dict[str, str]:
        """The environment variables of a process here."""
        paths = [str(self.python.parent), os.environ.get("PATH", os.defpath)]
        return {**os.environ, "PATH": os.pathsep.join(paths)}

    def files(self) -> list[str]:
        """The files of tests, relative to a tree."""
        tree = self.trees[0]
        found = [*tree.glob("tests/**/test_*.py"), *tree.glob("tests/**/test_*/__init__.py")]
        return sorted(str(path.relative_to(tree)) for path in found)


def _emptied(folder: Path) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def _unpacked(archive: Path, folder: Path) -> Path:
    with tarfile.open(archive) as file:
        if sys.version_info >= (3, 12):
            file.extractall(_emptied(folder), filter="data")
        else:
            file.extractall(_emptied(folder))
    return next(folder.iterdir())

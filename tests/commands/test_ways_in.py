"""The hooks of pre-commit and the steps of the GitHub Action."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from scrapy_rep.commands.subcommands import SUBCOMMANDS
from tests.at_length import at_length
from tests.processes import REPOSITORY
from tests.servers.handle import Answer, Site

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed"),
    pytest.mark.skipif(find_spec("yaml") is None, reason="PyYAML is not installed"),
]
OPEN = "User-agent: *\nDisallow: /private\n"
SHUT = "User-agent: *\nDisallow: /\n"
BROKEN = "User-agent: *\nDisallow: private\n"


def run(command: list[str], folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a command with the `scrapy-rep` of this environment; any exit status."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, **variables}
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


def commit(folder: Path) -> None:
    """Commit everything in a folder."""
    names = ["-c", "user.name=Test", "-c", "user.email=test@example.com"]
    for arguments in (["init", "-q"], ["add", "-A"], [*names, "commit", "-qm", "All of it"]):
        assert run(["git", *arguments], folder).returncode == 0


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A repository with a robots.txt."""
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "robots.txt").write_text(OPEN, encoding="utf-8")
    commit(folder)
    return folder


def step(name: str, folder: Path, **inputs: str) -> subprocess.CompletedProcess[str]:
    """Run a step of the action."""
    import yaml

    action = yaml.safe_load((REPOSITORY / "action.yml").read_text(encoding="utf-8"))
    found: dict[str, Any] = next(one for one in action["runs"]["steps"] if one.get("name") == name)
    given = dict.fromkeys(found["env"], "") | {"FILES": "robots.txt"} | inputs
    return run(["bash", "-c", found["run"]], folder, **given)


def test_action_lints_and_takes_arguments(project: Path) -> None:
    done = step("Lint", project)
    assert (done.returncode, "::error" in done.stdout) == (0, False), done.stderr
    (project / "robots.txt").write_text(BROKEN, encoding="utf-8")
    done = step("Lint", project)
    assert done.returncode == 1
    assert "::error file=robots.txt,line=2," in done.stdout
    assert step("Lint", project, ARGUMENTS="--ignore REP401").returncode == 0
    assert step("Lint", project, FILES="none.txt").returncode == 2


def test_action_writes_sarif(project: Path) -> None:
    (project / "robots.txt").write_text(BROKEN, encoding="utf-8")
    done = step("Write SARIF", project, SARIF="found.sarif")
    assert done.returncode == 0, done.stderr
    assert '"REP401"' in (project / "found.sarif").read_text(encoding="utf-8")
    assert step("Write SARIF", project, SARIF="found.sarif", FILES="none.txt").returncode == 1


def test_action_compares_with_the_base(project: Path) -> None:
    """Comments do not count, and a new file is compared with an empty one."""
    (project / "robots.txt").write_text(f"# a comment\n{OPEN}", encoding="utf-8")
    (project / "new.txt").write_text(SHUT, encoding="utf-8")
    assert step("Compare", project, BASE="HEAD").returncode == 0
    assert step("Compare", project, BASE="HEAD", FILES="robots.txt new.txt").returncode == 1
    (project / "robots.txt").write_text(SHUT, encoding="utf-8")
    done = step("Compare", project, BASE="HEAD")
    assert done.returncode == 1
    assert "disallowed" in done.stdout


def test_action_fails_without_the_revision(project: Path) -> None:
    """actions/checkout fetches one commit by default."""
    (project / "robots.txt").write_text(SHUT, encoding="utf-8")
    done = step("Compare", project, BASE="origin/main")
    assert done.returncode == 2
    assert "There is no revision origin/main here" in done.stdout
    assert "fetch-depth: 0" in done.stdout


def test_hooks_lint_and_format(project: Path) -> None:
    import yaml

    hooks = yaml.safe_load((REPOSITORY / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    entries = {hook["id"]: hook["entry"].split() for hook in hooks}
    assert run([*entries["rep-lint"], "robots.txt"], project).returncode == 0
    (project / "robots.txt").write_text(BROKEN.lower(), encoding="utf-8")
    assert run([*entries["rep-lint"], "robots.txt"], project).returncode == 1
    (project / "robots.txt").write_text(SHUT.lower(), encoding="utf-8")
    assert run([*entries["rep-format"], "robots.txt"], project).returncode == 0
    assert (project / "robots.txt").read_text(encoding="utf-8") == SHUT


_WITH_SETTINGS = ("check", "cache", "doctor")
HOSTILE_SETTINGS = "from pathlib import Path\nPath(__file__).with_name('ran').touch()\n"


def test_action_runs_no_code_from_the_checkout(project: Path) -> None:
    """Every step that runs our command, on a file and on a live site, in a hostile checkout."""
    (project / "scrapy.cfg").write_text(
        "[settings]\ndefault = hostile_settings\n[datadir]\ndefault = kept\n", encoding="utf-8"
    )
    for name in ("hostile_settings", "sitecustomize", "pip", "scrapy", "scrapy_rep"):
        (project / f"{name}.py").write_text(HOSTILE_SETTINGS, encoding="utf-8")
    (project / "--set=ADDONS=hostile_settings.txt").write_text(SHUT, encoding="utf-8")
    (project / "robots.txt").write_text(OPEN, encoding="utf-8")
    cache = {"XDG_CACHE_HOME": str(project.parent)}
    with Site({"/robots.txt": Answer(body=OPEN)}) as site:
        done = step("Compare", project, BASE=site.url("/"), **cache)
        assert done.returncode == 0, done.stderr
        assert site.paths() == ["/robots.txt"]
        files = f"{site.url('/')} *.txt"  # a URL needs settings
        for name in ("Write SARIF", "Lint"):
            given = {"FILES": files, "ARGUMENTS": "--refresh -s LOG_LEVEL=INFO", **cache}
            done = step(name, project, SARIF="found.sarif", **given)
            assert done.returncode == 0, done.stderr
        assert site.paths() == ["/robots.txt"] * 3
    assert step("Install", project, ACTION="--help").returncode == 0
    assert not (project / "ran").exists()
    assert not (project / "kept").exists(), "a store in the checkout could answer for the site"


@pytest.mark.parametrize(
    "subcommand", [*_WITH_SETTINGS, *at_length(sorted({*SUBCOMMANDS} - {*_WITH_SETTINGS}))]
)
def test_no_subcommand_imports_the_project(project: Path, subcommand: str) -> None:
    (project / "scrapy.cfg").write_text("[settings]\ndefault = hostile_settings\n", "utf-8")
    (project / "hostile_settings.py").write_text(HOSTILE_SETTINGS, encoding="utf-8")
    given = {"cache": ["list"], "agents": ["robots.txt"]}
    arguments = given.get(subcommand, ["robots.txt"])
    done = run(
        ["scrapy-rep", "--no-project", subcommand, *arguments, "-s", "LOG_LEVEL=INFO"],
        project,
        XDG_CACHE_HOME=str(project.parent),
        PYTHONPATH=str(project),
        SCRAPY_SETTINGS_MODULE="hostile_settings",
    )
    assert "Traceback" not in done.stderr
    assert not (project / "ran").exists()
    assert not (project / ".scrapy").exists()


def test_no_project_is_an_option_before_the_subcommand(project: Path) -> None:
    (project / "scrapy.cfg").touch()
    done = run(["scrapy-rep", "--no-project", "doctor", "https://example.com"], project)
    assert (done.returncode, "there is no project here" in done.stderr) == (2, True)
    assert "--no-project" in run(["scrapy-rep", "-h"], project).stdout

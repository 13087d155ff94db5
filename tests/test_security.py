"""The promises of SECURITY.md and README.md have tests, and what is pinned stays pinned."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from tests.extras import ABSENT

ROOT = Path(__file__).parents[1]
_FULL = re.compile(r"[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+")
# Its commit could not be looked up. A release has its rights, so pin it when you can.
_NOT_PINNED = "pypa/gh-action-pypi-publish@release/v1"


def _promises() -> list[tuple[str, list[str]]]:
    """The promises, and the tests that each of them names."""
    page = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    rows = [line.strip("| ").split(" | ") for line in page.splitlines() if line.startswith("| **")]
    return [(row[0].split("**")[1], re.findall(r"`(tests/[^`]+)`", row[-1])) for row in rows]


def _promises_of_the_readme() -> list[tuple[str, list[str]]]:
    rows = (ROOT / "tests" / "readme_promises.txt").read_text(encoding="utf-8").splitlines()[1:]
    return [
        (promise, tests.split()) for promise, _, tests in (row.rpartition(" | ") for row in rows)
    ]


def test_readme_says_its_promises_word_by_word() -> None:
    readme = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    assert [promise for promise, _ in _promises_of_the_readme() if promise not in readme] == []


def test_promises_of_security_are_found() -> None:
    assert {"Bounded cost.", "Guarded URLs."} <= {name for name, _ in _promises()}


@pytest.mark.parametrize(("promise", "tests"), _promises() + _promises_of_the_readme())
def test_promise_names_tests_that_exist(promise: str, tests: list[str]) -> None:
    assert tests, promise
    for test in tests:
        path, *names = test.split("::")
        assert names, f"{test}: name a test, not a file"
        if path.removeprefix("tests/").startswith(ABSENT):
            continue
        body = ast.parse((ROOT / path).read_text(encoding="utf-8")).body
        for name in names:
            found = [one for one in body if getattr(one, "name", None) == name]
            assert found, f"{test}: there is no {name}"
            body = getattr(found[0], "body", [])
        assert re.match("test_|Test", names[-1]), f"{test}: it is no test"


def test_actions_are_pinned_by_commit() -> None:
    for path in (ROOT / "action.yml", *(ROOT / ".github" / "workflows").glob("*.yml")):
        for used in re.findall(r"uses: (.+)", path.read_text(encoding="utf-8")):
            assert _FULL.fullmatch(used) or used == _NOT_PINNED, f"{path.name}: {used}"


def test_image_and_tools_are_pinned() -> None:
    image = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    assert re.findall(r"^FROM (?!.+@sha256:[0-9a-f]{64}$).*", image, re.MULTILINE) == []
    release = (ROOT / ".github" / "workflows" / "release.yml").read_text(encoding="utf-8")
    assert re.search(r"pip install build==[\d.]+ twine==[\d.]+$", release, re.MULTILINE)

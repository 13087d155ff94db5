"""docs/conformance.md and docs/semantics.md name existing tests, and all that they should name."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.extras import ABSENT
from tests.protocol.exceptions import Clause
from tests.protocol.test_semantics import clauses
from tests.protocol.touched import WANTED_KEY

_HERE = Path(__file__).resolve().parent
_ROOT = _HERE.parents[1]
_PAGE = (_ROOT / "docs" / "conformance.md").read_text(encoding="utf-8")
_SEMANTICS = (_ROOT / "docs" / "semantics.md").read_text(encoding="utf-8")
_ROWS = [line.split("|")[1:-1] for line in _PAGE.splitlines() if line.startswith("| ")]
_REFERENCE = re.compile(r"`(test_\w+\.py)::(\w+)`")


def _classes(module: str) -> set[str]:
    """The test classes of a module; of `test_semantics.py` also the clauses of its rows."""
    tree = ast.parse((_HERE / module).read_text(encoding="utf-8"))
    names = {node.name for node in tree.body if isinstance(node, ast.ClassDef)}
    rows = clauses() if module == "test_semantics.py" else ()
    return {*rows, *(name for name in names if name.startswith("Test"))}


def _clauses(section: str) -> list[str]:
    """The first cells of a section's table."""
    text = _PAGE.partition(f"\n## {section}\n")[2].partition("\n## ")[0]
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    return [row.split("|")[1].strip() for row in rows[1:]]


@pytest.mark.parametrize(("module", "name"), sorted(set(_REFERENCE.findall(_PAGE))))
def test_named_class_exists(module: str, name: str) -> None:
    assert name in _classes(module)


_OF_CLAUSES = [
    *[
        "test_semantics.py",
        "test_other_records.py",
        "test_access.py",
        "test_origin.py",
        "test_tokens.py",
        "test_properties.py",
    ],
    *["test_redirects.py", "test_endings.py", "test_clocks.py", "test_lifetime.py"],
]


@pytest.mark.parametrize("module", _OF_CLAUSES)
def test_every_class_is_named(module: str) -> None:
    both = _REFERENCE.findall(_PAGE + _SEMANTICS.replace("`protocol/", "`"))
    named = {name for named_module, name in both if named_module == module}
    assert _classes(module) - named == set()


def _binding() -> list[tuple[list[str], list[str]]]:
    """The modules and test classes of each sentence that binds a crawler."""
    table = _PAGE.partition("\n## RFC 9309\n")[2].partition("\n## ")[0]
    rows = [line.split("|")[1:-1] for line in table.splitlines() if line[2:3].isdigit()]
    modules = [re.findall(r"`([a-z_.]+)`", row[2]) for row in rows]
    classes = [["::".join(found) for found in _REFERENCE.findall(row[3])] for row in rows]
    return list(zip(modules, classes, strict=True))


def _node(name: str) -> str:
    """How pytest calls a class, or the rows of a clause."""
    module, _, group = name.partition("::")
    if not group.startswith("Test"):
        group = f"test_rows_of_each_clause_are_judged_so[{group}]"
    return f"{_HERE / module}::{group}"


@pytest.mark.slow
def test_each_sentence_is_kept_where_the_page_says() -> None:
    """Its tests run code of each module that it names."""
    wanted = {(module, *classes) for modules, classes in _binding() for module in modules}
    assert len(wanted) > 30
    plugin = ["-p", f"{__package__}.touched"]
    # The long tests of bounds come last: if others have touched their modules, they are skipped.
    named = sorted({_node(name) for _, *classes in wanted for name in classes}, reverse=True)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", *plugin, *named],
        cwd=_ROOT,
        env={**os.environ, WANTED_KEY: json.dumps([[one, classes] for one, *classes in wanted])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    untouched = next(line for line in done.stdout.splitlines() if line.startswith("["))
    assert json.loads(untouched) == []


def test_every_section_that_binds_a_crawler_is_there() -> None:
    sections = {"2.1", "2.2", "2.2.1", "2.2.2", "2.2.3", "2.2.4", "2.3", "2.4", "2.5"}
    sections |= {f"2.3.1.{number}" for number in range(1, 6)} | {"3", "5.1", "5.2"}
    assert set(_clauses("RFC 9309")) == sections


def test_every_module_of_the_core_is_named_in_one_place() -> None:
    core = _ROOT / "scrapy_rep" / "protocol"
    modules = {
        ".".join(("protocol", *path.relative_to(core).with_suffix("").parts))
        for path in core.rglob("*.py")
        if path.stem != "__init__"
    }
    keeps = {module for modules, _ in _binding() for module in modules}
    assert keeps <= modules
    assert keeps & set(_others()) == set()
    assert keeps | set(_others()) == modules


def _others() -> list[str]:
    return [cell.strip("`") for cell in _clauses("The other modules of the core")]


_CLAUSES = re.findall(
    r"^(?:###|##) (\d(?:\.\d+)?) ([^\n]+)\n(.*?)(?=^##|\Z)", _SEMANTICS, re.MULTILINE | re.DOTALL
)


@pytest.mark.parametrize(("number", "title", "text"), _CLAUSES, ids=[c[0] for c in _CLAUSES])
def test_every_clause_names_its_tests(number: str, title: str, text: str) -> None:
    if "." not in number and any(other[0].startswith(f"{number}.") for other in _CLAUSES):
        return  # a part; its clauses follow
    _, _, tests = text.partition("\nTests: ")
    files = re.findall(r"`([a-z_/0-9]+\.py)(?:::([A-Z]\w+))?`", tests)
    assert files, title
    for file, name in files:
        if file.startswith(ABSENT):
            continue
        source = (_HERE.parent / file).read_text(encoding="utf-8")
        is_row = file == "protocol/test_semantics.py" and name in clauses()
        assert not name or is_row or f"\nclass {name}" in source, f"{file} has no {name}"


def test_clauses_are_numbered_in_order() -> None:
    numbers = [tuple(map(int, clause[0].split("."))) for clause in _CLAUSES]
    assert numbers == sorted(set(numbers))
    assert len(numbers) > 35


def test_exceptions_cite_clauses() -> None:
    parts = {clause[0].partition(".")[0] for clause in _CLAUSES}
    assert {clause.value[0] for clause in Clause} <= parts


def test_every_row_names_tests_or_says_why_not() -> None:
    rows = [row for row in _ROWS if len(row) == 4 and row[0].strip() != "Clause"]
    silent = [
        row
        for row in rows
        if not _REFERENCE.search(row[3]) and not row[3].strip().startswith(("later:", "none here:"))
    ]
    assert silent == []

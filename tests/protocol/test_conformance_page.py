"""docs/conformance.md names modules and test classes that exist, and all of those it should."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from .exceptions import Clause

_HERE = Path(__file__).resolve().parent
_ROOT = _HERE.parents[1]
_PAGE = (_ROOT / "docs" / "conformance.md").read_text(encoding="utf-8")
_ROWS = [line.split("|")[1:-1] for line in _PAGE.splitlines() if line.startswith("| ")]
_REFERENCE = re.compile(r"`(test_\w+\.py)::(Test\w+)`")


def _classes(module: str) -> set[str]:
    tree = ast.parse((_HERE / module).read_text(encoding="utf-8"))
    names = {node.name for node in tree.body if isinstance(node, ast.ClassDef)}
    return {name for name in names if name.startswith("Test")}


def _clauses(section: str) -> list[str]:
    """The first cells of a section's table."""
    text = _PAGE.partition(f"\n## {section}\n")[2].partition("\n## ")[0]
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    return [row.split("|")[1].strip() for row in rows[1:]]


@pytest.mark.parametrize(("module", "name"), sorted(set(_REFERENCE.findall(_PAGE))))
def test_named_class_exists(module: str, name: str) -> None:
    assert name in _classes(module)


_OF_CLAUSES = [
    *sorted(path.name for path in _HERE.glob("test_rfc9309_*.py")),
    *sorted(path.name for path in _HERE.glob("test_semantics_*.py")),
    *["test_access.py", "test_origin.py", "test_tokens.py", "test_properties.py"],
]


@pytest.mark.parametrize("module", _OF_CLAUSES)
def test_every_class_is_named(module: str) -> None:
    named = {name for named_module, name in _REFERENCE.findall(_PAGE) if named_module == module}
    assert _classes(module) - named == set()


def test_named_modules_exist() -> None:
    modules = {
        name
        for row in _ROWS
        if len(row) == 4 and "::" not in row[2]
        for name in re.findall(r"`([a-z_.]+)`", row[2])
    }
    assert len(modules) > 10
    missing = [
        name
        for name in modules
        if not (_ROOT / "scrapy_rep" / Path(*name.split("."))).with_suffix(".py").is_file()
    ]
    assert missing == []


def test_every_section_that_binds_a_crawler_is_there() -> None:
    sections = {"2.1", "2.2", "2.2.1", "2.2.2", "2.2.3", "2.2.4", "2.3", "2.4", "2.5"}
    sections |= {f"2.3.1.{number}" for number in range(1, 6)} | {"3", "5.1", "5.2"}
    assert set(_clauses("RFC 9309")) == sections


def test_decisions_are_of_all_parts() -> None:
    assert set(_clauses("Decisions")) == {"1", "2", "3", "4", "5"}
    assert {clause.value[0] for clause in Clause} <= set(_clauses("Decisions"))


def test_every_row_names_tests_or_says_why_not() -> None:
    rows = [row for row in _ROWS if row[0].strip() not in ("Clause", "Part")]
    silent = [
        row
        for row in rows
        if not _REFERENCE.search(row[3]) and not row[3].strip().startswith(("later:", "none here:"))
    ]
    assert silent == []

"""One word, one meaning: the classes of the package, and the words of the glossary."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import scrapy_rep

_PACKAGE = Path(scrapy_rep.__file__).parent
_GLOSSARY = _PACKAGE.parent / "docs" / "glossary.md"


def _defined(*kinds: type[ast.stmt]) -> Iterator[str]:
    """The names of classes, or of functions outside of classes, without a leading underscore."""
    for module in _PACKAGE.rglob("*.py"):
        for node in ast.parse(module.read_text(encoding="utf-8")).body:
            if isinstance(node, kinds):
                yield node.name.lstrip("_")  # type: ignore[attr-defined]


def test_no_two_classes_share_a_name() -> None:
    shared = {name for name, count in Counter(_defined(ast.ClassDef)).items() if count > 1}
    assert shared == set()


def test_words_of_the_glossary_name_one_class_or_function() -> None:
    rows = [line for line in _GLOSSARY.read_text(encoding="utf-8").splitlines() if line[:2] == "| "]
    assert rows[0] == "| word | meaning | in the code |"
    named = [cell.strip("` ") for row in rows[2:] if (cell := row.split("|")[-2].strip())]
    counts = Counter(_defined(ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef))
    assert len(named) > 30
    assert {name: counts[name] for name in named if counts[name] != 1} == {}

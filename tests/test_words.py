"""One word, one meaning: the classes of the package, and the words of the glossary."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

import scrapy_rep
from tests.extras import ABSENT

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


@pytest.mark.skipif(bool(ABSENT), reason="extras have some of the words")
def test_words_of_the_glossary_name_one_class_or_function() -> None:
    rows = [line for line in _GLOSSARY.read_text(encoding="utf-8").splitlines() if line[:2] == "| "]
    assert rows[0] == "| word | meaning | in the code |"
    named = [cell.strip("` ") for row in rows[2:] if (cell := row.split("|")[-2].strip())]
    counts = Counter(_defined(ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef))
    assert len(named) > 30
    assert {name: counts[name] for name in named if counts[name] != 1} == {}


# A count before a plural, in a text or a template of the log: `{count:,} hosts`, `%d requests`.
_COUNTED = re.compile(r"(?:\{[^{}]*:,\}|%d) (?:[a-z-]+ )?[a-zA-Z]{2,}s\b(?!\.txt)")


def test_counts_get_their_plural_from_one_function() -> None:
    """`counted`: otherwise there is "1 hosts". Constants, in capitals, are greater."""
    found = [
        f"{module.relative_to(_PACKAGE)}: {match[0]}"
        for module in sorted(_PACKAGE.rglob("*.py"))
        for match in _COUNTED.finditer(
            re.sub(r'"\s*\n\s*f?"', "", module.read_text(encoding="utf-8"))  # texts on many lines
        )
        if not re.match(r"\{_?[A-Z_]+:", match[0])
    ]
    assert found == []

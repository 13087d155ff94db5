"""Every link of the README and the pages leads somewhere."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

_ROOT = Path(__file__).parents[1]
_PAGES = sorted(
    path
    for folder, pattern in (
        (_ROOT, "*.md"),
        (_ROOT / "docs", "**/*.md"),
        (_ROOT / "example_project", "*.md"),
        (_ROOT / "benchmarks", "*.md"),
    )
    for path in folder.glob(pattern)
)
_LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
_CODE = re.compile(r"^(```|:::).*?^\1", re.MULTILINE | re.DOTALL)


def _text(page: Path) -> str:
    return _CODE.sub("", page.read_text(encoding="utf-8"))


def _anchors(page: Path) -> set[str]:
    """The anchors that code hosts and the site give to headings."""
    headings = re.findall(r"^#+ (.+)$", _text(page), re.MULTILINE)
    plain = (re.sub(r"[^\w\- ]", "", heading.lower()) for heading in headings)
    return {heading.replace(" ", "-") for heading in plain}


def _broken(page: Path) -> Iterator[str]:
    for target in _LINK.findall(_text(page)):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, anchor = target.partition("#")
        path = (page.parent / name).resolve() if name else page
        if not path.exists() or (anchor and anchor not in _anchors(path)):
            yield target


@pytest.mark.parametrize("page", _PAGES, ids=lambda page: str(page.relative_to(_ROOT)))
def test_links_resolve(page: Path) -> None:
    assert list(_broken(page)) == []

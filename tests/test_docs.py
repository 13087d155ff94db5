"""The README and the pages say what the code says, and each of their links leads somewhere."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from scrapy import Request
from scrapy.http import HtmlResponse

import scrapy_rep
from scrapy_rep import Origin, Policy, parse
from scrapy_rep.fetch.reading import Reading
from scrapy_rep.protocol.access.events import CLASSES, PRESETS, Meaning

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_each_class_of_events_is_explained() -> None:
    page = (DOCS / "use.md").read_text(encoding="utf-8")
    names = {name for name in CLASSES if not name.endswith("xx")}
    assert {name for name in names if f'`"{name}"`' not in page} == set()


def test_the_readme_is_short() -> None:
    assert len(README.splitlines()) <= 160


def test_the_spider_in_the_readme_judges_each_link_by_its_own_origin() -> None:
    found: dict[str, Any] = {}
    blocks = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    exec(next(block for block in blocks if "LinkExtractor" in block), found)
    asked: list[str] = []

    async def policy_for(_: object, url: str) -> Policy:
        asked.append(url)
        origin = Origin("https", url.split("/")[2], 443)
        file = parse(b"User-agent: *\nDisallow: /no" if origin.host == "one.example" else b"")
        return Policy(origin, 200, Meaning.RULES, Reading(file, file), ("foobot",))

    async def crawl() -> list[str]:
        links = ("/no", "/yes", "mailto:who@one.example", "https://two.example/no")
        page = "".join(f'<a href="{link}">x</a>' for link in links)
        response = HtmlResponse("https://one.example/", body=page.encode())
        response.request = Request(response.url)
        spider = SimpleNamespace(crawler=None, parse=None, dropped=None)
        return [request.url async for request in found["parse"](spider, response)]

    found["policy_for"] = policy_for
    with pytest.raises(StopIteration) as ended:
        crawl().send(None)  # nothing waits
    assert ended.value.value == ["https://one.example/yes", "https://two.example/no"]
    assert len(asked) == 3


def test_the_policy_table_names_every_preset() -> None:
    for page in (
        README,
        *((DOCS / name).read_text("utf-8") for name in ("use.md", "semantics.md")),
    ):
        header = next(line for line in page.splitlines() if line.startswith("| event |"))
        assert re.findall(r"`(\w+)`", header) == list(PRESETS)


def test_the_names_that_the_readme_uses_are_public() -> None:
    used = set(re.findall(r"scrapy_rep\.([A-Za-z_]+)", README))
    assert used <= {*vars(scrapy_rep)["__all__"]}


_PAGES = sorted(
    path
    for folder, pattern in (
        (ROOT, "*.md"),
        (ROOT / "docs", "**/*.md"),
        (ROOT / "example_project", "*.md"),
        (ROOT / "benchmarks", "*.md"),
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


@pytest.mark.parametrize("page", _PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_of_all_pages_resolve(page: Path) -> None:
    assert list(_broken(page)) == []


def test_tables_are_from_one_run_of_the_benchmarks() -> None:
    pages = (ROOT / "README.md", *(ROOT / "docs").glob("*.md"))
    text = "\n".join(page.read_text(encoding="utf-8") for page in pages)
    measured = re.findall(r"^Measured by `python (\S+).*` on (.+)\.$", text, re.MULTILINE)
    assert len(measured) > 15
    assert {run for _, run in measured} == {measured[0][1]}, "run: python benchmarks/tables.py"
    assert all((ROOT / script).exists() for script, _ in measured)


def test_the_readme_shows_parsers_as_measured() -> None:
    """The rows of the README are parts of rows of the table in the benchmarks."""

    def rows(page: str) -> dict[str, dict[str, str]]:
        lines = iter(page.splitlines())
        header = next(line for line in lines if line.startswith("|  | a file, its first verdict"))
        names = header.split(" | ")[1:]
        table = (line.strip("| ").split(" | ") for line in lines)
        return {
            name: dict(zip(names, cells, strict=False))
            for name, *cells in itertools.takewhile(lambda row: len(row) > 1, table)
        }

    measured = rows((DOCS / "benchmarks.md").read_text(encoding="utf-8"))
    shown = rows(README)
    assert len(shown) == 4  # with the line below the header
    for name, cells in shown.items():
        assert cells.items() <= measured[name].items()

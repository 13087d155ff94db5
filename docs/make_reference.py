"""Writes docs/reference/settings.md and stats.md, from the tables that the code uses.

::

    python docs/make_reference.py [FOLDER]
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from scrapy_rep import stats
from scrapy_rep.settings import SETTINGS

_MADE = (
    "`python docs/make_reference.py` makes this page from the table in `scrapy_rep/{}.py`; "
    "change the table, not this page."
)

_SETTINGS = """\
For authors of Scrapy projects: this page lists every setting with its default. Scrapy's own
`ROBOTSTXT_OBEY` switches scrapy-rep on and off, `ROBOTSTXT_USER_AGENT` sets the product token or
tokens, and `ROBOTSTXT_PARSER` replaces the parser. All other settings begin with `REP_`. On the
command line, dicts are JSON, and lists are JSON or have commas between their items:
`-s 'REP_OVERRIDES={"intranet.example": "ignore"}'`. A wrong value stops the crawl before any
request, with one line in the log that says how to fix it."""

_STATS = """\
For operators of crawls: this page lists every stat. All values are integers. The five stats that
begin with `robotstxt/` have the same meaning as in Scrapy. `…` stands for a part that varies."""


def pages() -> dict[str, str]:
    """The pages by file name."""
    return {
        "settings.md": "\n".join(_settings()) + "\n",
        "stats.md": "\n".join(_stats()) + "\n",
    }


def _settings() -> Iterator[str]:
    yield "# Settings\n"
    yield _SETTINGS + "\n"
    yield _MADE.format("settings") + "\n"
    yield "| setting | default | meaning |"
    yield "| --- | --- | --- |"
    for name, setting in SETTINGS.items():
        yield f"| `{name}` | `{setting.default!r}` | {_cell(setting.meaning)} |"


def _stats() -> Iterator[str]:
    yield "# Stats\n"
    yield _STATS + "\n"
    yield _MADE.format("stats") + "\n"
    yield "| stat | meaning |"
    yield "| --- | --- |"
    for name, meaning in stats.MEANINGS.items():
        yield f"| `{name.replace('{}', '…')}` | {_cell(meaning)} |"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def main(folder: Path) -> None:
    """Write the pages into a folder."""
    for name, page in pages().items():
        (folder / name).write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main(Path(*(sys.argv[1:] or [Path(__file__).parent / "reference"])))

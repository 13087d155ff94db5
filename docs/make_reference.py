"""Writes docs/reference/settings.md and stats.md, from the tables that the code uses.

::

    python docs/make_reference.py [FOLDER]
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from scrapy_rep import stats
from scrapy_rep.settings import SETTINGS

_MADE = "<!-- python docs/make_reference.py makes this page from scrapy_rep/{}.py. -->"

_GROUPS = {
    "Answers and failures": (
        "REP_POLICY REP_POLICY_OVERRIDES REP_UNREACHABLE_AFTER_30_DAYS REP_OVERRIDES REP_DRY_RUN "
        "REP_FILTER_LINKS"
    ),
    "The fetch of a robots.txt": (
        "REP_FETCH_TIMEOUT_SECONDS REP_UNREACHABLE_WAIT_SECONDS REP_QUICK_RETRY_SECONDS "
        "REP_RETRY_FIRST_SECONDS REP_CONCURRENT_FETCHES REP_REDIRECT_GUARD REP_PARSE_LIMIT_OCTETS "
        "REP_FETCH_META REP_FETCH_META_KEYS"
    ),
    "The store and memory": (
        "REP_STORE REP_STORE_PATH REP_STORE_VERSIONS REP_CACHE_MIN_SECONDS REP_CACHE_MAX_SECONDS "
        "REP_MEMORY_OCTETS"
    ),
    "Pace and the queue": (
        "REP_CRAWL_DELAY_MAX_SECONDS REP_CRAWL_DELAY_EXCESS REP_VISIT_TIME_OBEY REP_BACKOFF "
        "REP_BACKOFF_MAX_SECONDS REP_BACKOFF_GIVE_UP_SECONDS REP_CHALLENGES "
        "REP_UNREACHABLE_HOLD_SECONDS"
    ),
    "Several workers": (
        "REP_REDIS_URL REP_REDIS_TIMEOUT_SECONDS REP_PACE_SCOPE REP_FLEET_LEASE_SECONDS"
    ),
    "Sitemaps": "REP_SITEMAP_CROSS_HOST REP_SITEMAP_MAX",
    "Pages and the use of content": (
        "REP_PAGE_OBEY REP_USES REP_USE_LEVEL REP_USES_UNKNOWN REP_USAGE_TOKENS REP_TDMREP"
        " REP_ITEM_FIELD"
    ),
    "Evidence": "REP_AUDIT_DIR REP_AUDIT_QUERY REP_REPORT REP_REPORT_CONTACT REP_WARC_DIR",
}
"""The settings by the headings of their page."""

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
    groups = {title: names.split() for title, names in _GROUPS.items()}
    if sorted(name for names in groups.values() for name in names) != sorted(SETTINGS):
        raise ValueError("put each setting into one group of _GROUPS")
    yield _MADE.format("settings") + "\n"
    yield "# Settings\n"
    yield _SETTINGS + "\n"
    yield "| group | settings |"
    yield "| --- | --- |"
    for title, names in groups.items():
        yield f"| {title} | {', '.join(f'[`{name}`](#{name.lower()})' for name in names)} |"
    for title, names in groups.items():
        yield f"\n## {title}"
        for name in names:
            setting = SETTINGS[name]
            yield f"\n### `{name}`\n"
            yield f"Default: `{setting.default!r}`\n"
            yield _linked(setting.meaning, name)


def _linked(meaning: str, own_name: str) -> str:
    text = meaning.replace("*", "\\*")
    for name in set(re.findall(r"REP_[A-Z_0-9]+", text)) & SETTINGS.keys() - {own_name}:
        text = re.sub(rf"\b{name}\b", f"[`{name}`](#{name.lower()})", text)
    return text


def _stats() -> Iterator[str]:
    yield _MADE.format("stats") + "\n"
    yield "# Stats\n"
    yield _STATS + "\n"
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

"""Writes docs/reference/settings.md and stats.md, from the tables that the code uses.

::

    python docs/make_reference.py [FOLDER]
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from scrapy_rep import stats
from scrapy_rep.extras import EXTRAS
from scrapy_rep.settings import SETTINGS, Setting

_MADE = "<!-- python docs/make_reference.py makes this page from scrapy_rep/{}.py. -->"

_GROUPS = {
    "Answers and failures": (
        "REP_POLICY REP_POLICY_OVERRIDES REP_UNREACHABLE_AFTER_30_DAYS REP_OVERRIDES REP_DRY_RUN "
        "REP_FILTER_LINKS"
    ),
    "The fetch of a robots.txt": (
        "REP_FETCH_TIMEOUT_SECONDS REP_UNREACHABLE_WAIT_SECONDS REP_QUICK_RETRY_SECONDS "
        "REP_RETRY_FIRST_SECONDS REP_CONCURRENT_FETCHES REP_PARSE_LIMIT_OCTETS "
        "REP_FETCH_META REP_FETCH_META_KEYS REP_FETCH_MIDDLEWARES REP_OPEN_FILES"
    ),
    "Where a site may lead": "REP_REDIRECT_GUARD REP_GUARD_NETWORKS",
    "The store and memory": (
        "REP_STORE REP_STORE_PATH REP_STORE_OCTETS REP_STORE_VERSIONS REP_CACHE_MIN_SECONDS "
        "REP_CACHE_MAX_SECONDS REP_MEMORY_OCTETS"
    ),
    "Pace and the queue": (
        "REP_CRAWL_DELAY_MAX_SECONDS REP_CRAWL_DELAY_EXCESS REP_VISIT_TIME_OBEY REP_BACKOFF "
        "REP_BACKOFF_MAX_SECONDS REP_BACKOFF_GIVE_UP_SECONDS REP_LEARN_PACE "
        "REP_LEARNED_DELAY_MAX_SECONDS REP_CHALLENGES "
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
    "Signed requests": "REP_SIGN_KEY REP_SIGN_AGENT REP_SIGN_HTTP",
    "Evidence": (
        "REP_AUDIT_DIR REP_AUDIT_QUERY REP_AUDIT_MAX_OCTETS REP_AUDIT_FULL REP_REPORT "
        "REP_REPORT_CONTACT REP_WARC_DIR"
    ),
}
"""The settings by the headings of their page."""

_EXAMPLES: dict[str, object] = {
    "REP_POLICY": "strict",
    "REP_POLICY_OVERRIDES": {"403": "disallow", "timeout": "allow"},
    "REP_UNREACHABLE_AFTER_30_DAYS": "allow",
    "REP_OVERRIDES": {
        "intranet.example": "ignore",
        "shop.example:8443": {"policy": "strict", "until": "2027-01-31", "why": "contract 12"},
    },
    "REP_DRY_RUN": True,
    "REP_FILTER_LINKS": True,
    "REP_FETCH_TIMEOUT_SECONDS": 20,
    "REP_UNREACHABLE_WAIT_SECONDS": 30,
    "REP_QUICK_RETRY_SECONDS": [0.5, 2],
    "REP_RETRY_FIRST_SECONDS": 10,
    "REP_CONCURRENT_FETCHES": 16,
    "REP_FETCH_MIDDLEWARES": "builtin",
    "REP_OPEN_FILES": False,
    "REP_REDIRECT_GUARD": "public",
    "REP_GUARD_NETWORKS": ["10.0.0.0/8"],
    "REP_PARSE_LIMIT_OCTETS": 1_000_000,
    "REP_FETCH_META": {"proxy": "http://proxy.example:8080"},
    "REP_FETCH_META_KEYS": ["proxy"],
    "REP_STORE": "sqlite",
    "REP_STORE_PATH": "~/robots.sqlite",
    "REP_STORE_OCTETS": 1 << 30,
    "REP_STORE_VERSIONS": 10,
    "REP_CACHE_MIN_SECONDS": 600,
    "REP_CACHE_MAX_SECONDS": 3600,
    "REP_MEMORY_OCTETS": 16_000_000,
    "REP_CRAWL_DELAY_MAX_SECONDS": 60,
    "REP_CRAWL_DELAY_EXCESS": "cap",
    "REP_VISIT_TIME_OBEY": True,
    "REP_BACKOFF": False,
    "REP_BACKOFF_MAX_SECONDS": 120,
    "REP_BACKOFF_GIVE_UP_SECONDS": 600,
    "REP_LEARN_PACE": False,
    "REP_LEARNED_DELAY_MAX_SECONDS": 10,
    "REP_CHALLENGES": "pass",
    "REP_UNREACHABLE_HOLD_SECONDS": 0,
    "REP_REDIS_URL": "redis://localhost:6379/0",
    "REP_REDIS_TIMEOUT_SECONDS": 5,
    "REP_PACE_SCOPE": "process",
    "REP_FLEET_LEASE_SECONDS": 120,
    "REP_SITEMAP_CROSS_HOST": "same-site",
    "REP_SITEMAP_MAX": 50,
    "REP_PAGE_OBEY": ["noindex", "nofollow"],
    "REP_USES": ["train-ai"],
    "REP_USE_LEVEL": "reference",
    "REP_USES_UNKNOWN": "drop",
    "REP_USAGE_TOKENS": {"train-ai": ["GPTBot"]},
    "REP_TDMREP": True,
    "REP_SIGN_KEY": "bot.pem",
    "REP_SIGN_AGENT": "https://bot.example",
    "REP_SIGN_HTTP": True,
    "REP_ITEM_FIELD": "rules",
    "REP_AUDIT_DIR": "audit",
    "REP_AUDIT_QUERY": "drop",
    "REP_AUDIT_MAX_OCTETS": 10_000_000_000,
    "REP_AUDIT_FULL": "continue",
    "REP_REPORT": "report.html",
    "REP_REPORT_CONTACT": "Example Ltd., bot@example.com",
    "REP_WARC_DIR": "warc",
}
"""For each setting a value that differs from its default."""

_WRONG = (object(), ["?"], {"?": []})
"""Values that checks refuse, with words that tell which values they accept."""

_SETTINGS = """\
For authors of Scrapy projects: this page lists every setting with its values, its default and an
example. Scrapy's own `ROBOTSTXT_OBEY` switches scrapy-rep on and off, `ROBOTSTXT_USER_AGENT` sets
the product token or tokens, and `ROBOTSTXT_PARSER` replaces the parser. All other settings begin
with `REP_`. On the command line, dicts are JSON, and lists are JSON or have commas between their
items: `-s 'REP_OVERRIDES={"intranet.example": "ignore"}'`. A wrong value stops the crawl before any
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
            yield f"Value: {_allowed(setting)}. Default: `{setting.default!r}`\n"
            setting.check(_EXAMPLES[name])
            yield f"Example: `{name} = {_EXAMPLES[name]!r}`\n"
            yield _linked(setting.meaning, name)


def _allowed(setting: Setting) -> str:
    """The values that a check accepts, as the check itself tells them."""
    told = []
    for wrong in _WRONG:
        try:
            setting.check(wrong)
        except ValueError as error:  # noqa: PERF203
            told.append(str(error))
    told = [words.removeprefix("must be ") for words in told if words.startswith("must ")]
    some = [words for words in told if " some of " in words]
    words = "; ".join(dict.fromkeys(some or told)).replace("must have", "with")
    return re.sub(r"'([^',]*)'", r"`'\1'`", words).replace("*", "\\*")


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
    for extra in EXTRAS:
        if extra.stats:
            import_module(f"{extra.package}.{extra.stats}")
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

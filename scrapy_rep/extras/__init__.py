"""The extras: parts that a crawl may lack. Each is a folder here, and can be deleted.

Nothing else imports an extra. It is found in the list below, and is loaded when one of its
settings, subcommands or parts is used.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from importlib.util import find_spec
from typing import Any


@dataclass(frozen=True)
class Extra:
    """One extra.

    Attributes:
        name: its folder here.
        settings: the settings that need it, or the beginnings of their names.
        subcommands: their summaries by name; ``commands/NAME.py`` in its folder runs each.
        parts: the places of what it adds to others, by a name for users.
        stats: its module with stats; may be empty.
        spider_middleware: the import path of a middleware that `Addon` adds; may be empty.
    """

    name: str
    settings: tuple[str, ...] = ()
    subcommands: Mapping[str, str] = field(default_factory=dict)
    parts: Mapping[str, str] = field(default_factory=dict)
    stats: str = ""
    spider_middleware: str = ""

    @property
    def package(self) -> str:
        """The import path of its folder."""
        return f"{__name__}.{self.name}"

    @property
    def is_installed(self) -> bool:
        """Whether its folder is there."""
        return find_spec(self.package) is not None

    def refusal(self, name: str) -> Exception:
        """The error for what needs it if it is not installed."""
        from scrapy_rep.protocol.errors import ConfigurationError  # most calls need none

        words = f"needs {self.package}, which is not installed: reinstall scrapy-rep"
        return ConfigurationError(f"{name} {words}")


EXTRAS = (
    Extra(
        "webmaster",
        subcommands={
            "lint": "find errors in a file",
            "format": "rewrite a file in normalised form",
            "diff": "compare the meaning of two files",
            "agents": "show which known crawlers may fetch a URL",
        },
        parts={
            "Policy.findings": "findings.answer_findings",
            "findings of files": "findings.findings",
            "doubts about files": "commands.check_additions.doubts",
            "notes on verdicts": "linting.swallowed.swallowed_words",
            "changes of verdicts": "commands.diff.show_differences",
            "lost rules": "effect.rule_patterns.Matcher",
            "--rules": "commands.check_additions.write_group",
            "--like": "commands.check_additions.Opinions",
            "--expect": "commands.check_additions.expected",
        },
    ),
    Extra(
        "fleet",
        stats="fleet_stats",
        settings=("REP_PACE_SCOPE", "REP_FLEET_LEASE_SECONDS", "REP_REDIS_"),
        subcommands={"fleet": "show crawls that several workers share"},
        parts={
            "REP_REDIS_URL": "link.redis_url",
            "paces in Redis": "pace_rows_in_redis.RedisRows",
            "REP_STORE = 'redis'": "redis_opening.crawl_store",
            "REP_STORE = 'redis' in commands": "redis_opening.project_store",
        },
    ),
    Extra(
        "evidence",
        stats="evidence_stats",
        settings=("REP_AUDIT_", "REP_WARC_DIR", "REP_REPORT"),
        subcommands={
            "audit": "read audit trails of crawls",
            "report": "report what crawls did, from their audit trails",
        },
        parts={"REP_AUDIT_DIR": "trail.Trail", "REP_WARC_DIR": "archive.Archive"},
    ),
    Extra(
        "pages",
        stats="page_stats",
        settings=("REP_PAGE_OBEY", "REP_USE", "REP_USAGE_TOKENS", "REP_ITEM_FIELD", "REP_TDMREP"),
        parts={
            "REP_TDMREP": "reservations.Reservations",
            "times of tdmrep.json": "reservations.options_of",
            "tdmrep.json": "usage.tdmrep.TdmFile",
            "REP_PAGE_OBEY": "page_settings.page_obey",
            "REP_USES": "page_settings.uses",
            "REP_USE_LEVEL": "page_settings.use_level",
            "REP_USAGE_TOKENS": "page_settings.usage_tokens",
            "PLAYWRIGHT_ABORT_REQUEST": "browsers.browser_pages.crawl_pages",
            "prices of pages": "usage.licences.payment_of",
            "uses in plans": "commands.planned_uses.use_facts",
            "lines on uses": "commands.planned_uses.use_lines",
            "--page": "commands.page_check.show_pages",
            "--usage": "commands.page_check.show_usage",
        },
        spider_middleware="scrapy_rep.RepPageMiddleware",
    ),
    Extra(
        "identity",
        stats="identity_stats",
        settings=("REP_SIGN_",),
        subcommands={"identity": "prove who your crawler is: keys, published files, checks"},
        parts={"REP_SIGN_KEY": "signer.Signer", "REP_SIGN_AGENT": "agent_origin.sign_agent"},
    ),
    Extra(
        "survey",
        subcommands={
            "collect": "fetch and store the files of many sites",
            "survey": "collect statistics on many files",
        },
    ),
    Extra(
        "accesslog",
        subcommands={"log": "show which crawlers in an access log obeyed robots.txt"},
    ),
)


def missing_extra(setting: str) -> Extra | None:
    """The extra that a setting needs, if it is not installed."""
    needed = (extra for extra in EXTRAS if setting.startswith(extra.settings))
    return next((extra for extra in needed if not extra.is_installed), None)


def part(name: str, instead: Any = None) -> Any:
    """Load a part by its name; `instead` if its extra is not installed.

    Raises:
        ConfigurationError: the extra is not installed, and nothing can be used instead.
    """
    extra = next(extra for extra in EXTRAS if name in extra.parts)
    home, _, attribute = extra.parts[name].rpartition(".")
    try:
        return getattr(import_module(f"{extra.package}.{home}"), attribute)
    except ModuleNotFoundError:
        if extra.is_installed:
            raise
        if instead is None:
            raise extra.refusal(name) from None
        return instead


def nothing(*_: Any) -> None:
    """Take the place of a part that is not installed."""


def load_late(room: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """Let a package load its public names on first use, and return its `__getattr__`.

    So reading a robots.txt does not load Scrapy, and a crawl does not load what it does not use.
    Type checkers cannot follow that: they read imports, and a test compares the two.

    Args:
        room: the package.
        homes: the names, with spaces between them, by their modules in it. A module can be a name.
    """
    places = {name: home for home, names in homes.items() for name in names.split()}
    package = vars(sys.modules[room])

    def named(name: str) -> Any:
        if name not in places:
            raise AttributeError(f"module {room!r} has no attribute {name!r}")
        module = import_module(f"{room}.{places[name]}")
        return module if name == places[name] else getattr(module, name)

    package.update(__all__=[*places], __getattr__=named)
    package["__dir__"] = lambda: sorted({*package, *places})
    return named

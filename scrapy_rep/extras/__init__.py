"""The extras: parts that a crawl may lack. Each is a folder here, and can be deleted.

Nothing else imports an extra. It is found in the list below, and is loaded when one of its settings
or subcommands is used.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec


@dataclass(frozen=True)
class Extra:
    """One extra.

    Attributes:
        name: its folder here.
        settings: the settings that need it, or the beginnings of their names.
        subcommands: their summaries by name; ``commands/NAME.py`` in its folder runs each.
    """

    name: str
    settings: tuple[str, ...] = ()
    subcommands: Mapping[str, str] = field(default_factory=dict)

    @property
    def package(self) -> str:
        """The import path of its folder."""
        return f"{__name__}.{self.name}"

    @property
    def is_installed(self) -> bool:
        """Whether its folder is there."""
        return find_spec(self.package) is not None


EXTRAS = (
    Extra(
        "webmaster",
        subcommands={
            "lint": "find errors in a file",
            "format": "rewrite a file in normalised form",
            "diff": "compare the meaning of two files",
            "agents": "show which known crawlers may fetch a URL",
        },
    ),
    Extra(
        "fleet",
        settings=("REP_PACE_SCOPE", "REP_FLEET_LEASE_SECONDS"),
        subcommands={"fleet": "show crawls that several workers share"},
    ),
    Extra(
        "evidence",
        settings=("REP_AUDIT_", "REP_WARC_DIR", "REP_REPORT"),
        subcommands={
            "audit": "read audit trails of crawls",
            "report": "report what crawls did, from their audit trails",
        },
    ),
    Extra(
        "pages",
        settings=("REP_PAGE_OBEY", "REP_USE", "REP_USAGE_TOKENS", "REP_ITEM_FIELD", "REP_TDMREP"),
    ),
    Extra(
        "identity",
        settings=("REP_SIGN_",),
        subcommands={"identity": "prove who your crawler is: keys, published files, checks"},
    ),
    Extra(
        "survey",
        subcommands={
            "collect": "fetch and store the files of many sites",
            "survey": "collect statistics on many files",
        },
    ),
)


def missing_extra(setting: str) -> Extra | None:
    """The extra that a setting needs, if it is not installed."""
    needed = (extra for extra in EXTRAS if setting.startswith(extra.settings))
    return next((extra for extra in needed if not extra.is_installed), None)

"""The summaries printed at the end of the crawls: values in, text out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

PATHS_SHOWN = 3


@dataclass(frozen=True)
class Drop:
    """A page that was not fetched, and what decided so."""

    path: str
    line: int
    """The deciding line of robots.txt; 0 if no line decided."""
    why: str
    """The rule on that line, or the reason if there is none."""


@dataclass(kw_only=True)
class Account:
    """What robots.txt let the crawler do on one origin."""

    name: str
    origin: str
    access: str
    """The access result of RFC 9309, 2.3.1."""
    event: str
    """What happened to the request for robots.txt."""
    redirected_to: str = ""
    sitemaps: tuple[str, ...] = ()
    allowed: list[str] = field(default_factory=list)
    dropped: list[Drop] = field(default_factory=list)


def summary(accounts: Iterable[Account], *, served: int, trespasses: int) -> str:
    """Describe the accounts, and what the servers counted: all pages, and disallowed ones."""
    accounts = list(accounts)
    lines = [f"{'SITE':<10} {'ORIGIN':<23} {'ROBOTS.TXT':<18} {'ALLOWED':>9} {'DROPPED':>9}"]
    for account in accounts:
        access = f"{account.access} ({account.event})"
        lines.append(
            f"{account.name:<10} {account.origin:<23} {access:<18}"
            f" {len(account.allowed):>9} {len(account.dropped):>9}"
        )
        lines.extend(f"{'':<10} {detail}" for detail in _details(account))
    allowed = sum(len(account.allowed) for account in accounts)
    dropped = sum(len(account.dropped) for account in accounts)
    lines += [
        "",
        f"The crawler fetched {allowed} pages and dropped {dropped}.",
        f"The servers saw {served} page requests, {trespasses} of them disallowed.",
    ]
    return "\n".join(lines)


@dataclass(frozen=True, order=True)
class Fate:
    """What came of a sitemap, or of a page that one lists."""

    kind: str
    site: str
    path: str
    what: str


def sitemap_summary(fates: Iterable[Fate], *, served: int, trespasses: int, files: int) -> str:
    """Describe the fates, and what the servers counted: also how often robots.txt was asked for."""
    fates = sorted(fates, key=lambda fate: (fate.kind == "page", fate))
    lines = [f"{'KIND':<8} {'SITE':<10} {'PATH':<22} WHAT CAME OF IT"]
    lines += [f"{fate.kind:<8} {fate.site:<10} {fate.path:<22} {fate.what}" for fate in fates]
    sites = len({fate.site for fate in fates})
    return "\n".join(
        [
            *lines,
            "",
            f"robots.txt was asked for {files} times on {sites} sites.",
            f"The servers saw {served} page requests, {trespasses} of them disallowed.",
        ]
    )


def _details(account: Account) -> Iterator[str]:
    if account.redirected_to:
        yield f"redirected to {account.redirected_to}"
    by_decision: dict[tuple[int, str], list[str]] = {}
    for drop in account.dropped:
        by_decision.setdefault((drop.line, drop.why), []).append(drop.path)
    for (line, why), paths in sorted(by_decision.items()):
        decision = f"line {line}" if line else "no line"
        yield f"{decision} ({why}) dropped {_some(sorted(paths))}"
    for sitemap in account.sitemaps:
        yield f"sitemap {sitemap}"


def _some(paths: list[str]) -> str:
    more = len(paths) - PATHS_SHOWN
    shown = ", ".join(paths[:PATHS_SHOWN])
    return f"{shown} and {more} more" if more > 0 else shown

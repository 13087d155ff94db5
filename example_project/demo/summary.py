"""The summaries printed at the end of the crawls: values in, text out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

PATHS_SHOWN = 3


@dataclass(frozen=True)
class Drop:
    """A page that was not fetched, and the rule that decided."""

    path: str
    line: int
    """The deciding line of robots.txt; 0 if no line decided."""
    why: str
    """The rule on that line, or the reason if no line decided."""


@dataclass(kw_only=True)
class Account:
    """The allowed and dropped pages of one origin."""

    name: str
    origin: str
    access: str
    """The access result of RFC 9309, 2.3.1."""
    event: str
    """The event of the fetch of robots.txt."""
    redirected_to: str = ""
    sitemaps: tuple[str, ...] = ()
    allowed: list[str] = field(default_factory=list)
    dropped: list[Drop] = field(default_factory=list)


def summary(accounts: Iterable[Account], *, served: int, trespasses: int) -> str:
    """Describe the accounts, and the page requests that the servers counted."""
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
    """The result for a sitemap, or for a page in a sitemap."""

    kind: str
    site: str
    path: str
    what: str


def sitemap_summary(fates: Iterable[Fate], *, served: int, trespasses: int, files: int) -> str:
    """Describe the results, and the requests that the servers counted."""
    fates = sorted(fates, key=lambda fate: (fate.kind == "page", fate))
    lines = [f"{'KIND':<8} {'SITE':<10} {'PATH':<22} WHAT CAME OF IT"]
    lines += [f"{fate.kind:<8} {fate.site:<10} {fate.path:<22} {fate.what}" for fate in fates]
    sites = len({fate.site for fate in fates})
    return "\n".join(
        [
            *lines,
            "",
            f"robots.txt was fetched {files} times from {sites} sites.",
            f"The servers saw {served} page requests, {trespasses} of them disallowed.",
        ]
    )


@dataclass(frozen=True, order=True)
class Kept:
    """An item that was kept, with the statements of its page."""

    page: str
    said: str


@dataclass(frozen=True, order=True)
class Withheld:
    """A link or an item that was dropped, and the statement that decided."""

    page: str
    what: str
    because: str


def page_summary(
    kept: Iterable[Kept], withheld: Iterable[Withheld], *, served: int, trespasses: int
) -> str:
    """Describe kept and dropped items, and the requests that the servers counted."""
    kept, withheld = sorted(kept), sorted(withheld)
    return "\n".join(
        [
            f"{'ITEMS KEPT':<12} WHAT THEIR PAGES SAID",
            *(f"{one.page:<12} {one.said or 'nothing'}" for one in kept),
            "",
            f"{'WITHHELD ON':<12} {'WHAT':<16} BECAUSE OF",
            *(f"{one.page:<12} {one.what:<16} {one.because}" for one in withheld),
            "",
            f"The crawler kept {len(kept)} items; {len(withheld)} items and links were withheld.",
            f"The servers saw {served} page requests, {trespasses} of them disallowed.",
        ]
    )


@dataclass(frozen=True, kw_only=True)
class Part:
    """One site: the requests to its server, and the drops of all workers."""

    site: str
    files: int
    """How often its robots.txt was requested."""
    delay: str
    """The Crawl-delay line of its robots.txt."""
    gap: float | None
    """The smallest time between two requests of any workers, in seconds."""
    pages: int
    drops: int


def fleet_summary(parts: Iterable[Part], *, pages: Iterable[int], trespasses: int) -> str:
    """Describe the crawl of several workers: each site, and the pages of each worker."""
    parts, pages = list(parts), list(pages)
    head = f"{'SITE':<10} {'ROBOTS.TXT FETCHES':>18} {'ASKS FOR':>16} {'SMALLEST GAP':>13}"
    lines = [f"{head} {'PAGES':>6} {'DROPS':>6}"]
    lines += [
        f"{part.site:<10} {part.files:>18} {part.delay:>16}"
        f" {'-' if part.gap is None else f'{part.gap:.3f} s':>13} {part.pages:>6} {part.drops:>6}"
        for part in parts
    ]
    served, dropped = sum(part.pages for part in parts), sum(part.drops for part in parts)
    each = " + ".join(map(str, pages))
    return "\n".join(
        [
            *lines,
            "",
            f"{len(pages)} workers fetched {each} pages and dropped {dropped}.",
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

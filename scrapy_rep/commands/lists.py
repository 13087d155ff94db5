"""Lists of sites: hosts, domains or URLs, a line each, also as CSV; and the origins they stand for.

A line is a host, a host with a port, or a URL, which stands for its origin as it is. In CSV, the
site is in the first column that is no number, so that ``1,example.com`` of a top list can be read,
or in the column that is named. Blank lines and those that begin with ``#`` say nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from scrapy_rep.protocol.access.origin import Origin
from scrapy_rep.protocol.errors import InvalidUri

_WWW = "www."
_LINE_CHARACTERS = 10_000


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which origins a host stands for.

    Attributes:
        schemes: in order.
        has_bare: whether the host as it is written is one.
        has_www: whether that with ``www.`` before it is one; it is not put before another ``www.``.
        column: of CSV, from 1; 0 for the first that is no number.
    """

    schemes: tuple[str, ...] = ("https",)
    has_bare: bool = True
    has_www: bool = False
    column: int = 0


def origins_of(lines: Iterable[str], wanted: Wanted) -> Iterator[Origin | None]:
    """The origins of a list, in order; None for a line that names no site, as a head does."""
    for line in lines:
        text = line.strip("\ufeff \t\r\n")
        if text and text[0] != "#":
            yield from _origins(_site(text[:_LINE_CHARACTERS], wanted.column), wanted)


def _site(text: str, column: int) -> str:
    cells = [cell.strip(" \t\"'") for cell in text.split(",")]
    if column:
        return cells[column - 1] if column <= len(cells) else ""
    return next((cell for cell in cells if cell and not cell.isdigit()), "")


def _origins(site: str, wanted: Wanted) -> Iterator[Origin | None]:
    if "://" in site:
        yield _origin(site)
        return
    if not _may_be_host(site):
        yield None
        return
    hosts = [site] if wanted.has_bare or site.lower().startswith(_WWW) else []
    if wanted.has_www and not site.lower().startswith(_WWW):
        hosts.append(_WWW + site)
    for host in hosts:
        for scheme in wanted.schemes:
            yield _origin(f"{scheme}://{host}")


def _may_be_host(site: str) -> bool:
    """Whether it may be a host: a head's ``domain`` has no dot."""
    return ("." in site or site.startswith(("[", "localhost"))) and "/" not in site.rstrip("/")


def _origin(uri: str) -> Origin | None:
    try:
        return Origin.of(uri)
    except InvalidUri:
        return None

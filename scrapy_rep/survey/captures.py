"""One answer for a robots.txt that a survey takes in, and its row: the facts of both.

A capture is what an input says of one origin; its body, if it has one, is read by `facts`.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any

from .facts import OWN_HOST, Facts

BODY_FACTS = tuple(one.name for one in fields(Facts) if one.name != "sitemap_hosts")
"""The facts that are those of octets."""

_OK = range(200, 300)


@dataclass(frozen=True, slots=True)
class Capture:
    """What an input says of one origin's robots.txt.

    Attributes:
        host: in lower case.
        scheme: ``http`` or ``https``; empty if it is not told.
        port: None if it is not told.
        date: when it was fetched, as ``2026-11-22T05:00:00Z``; empty if it is not told.
        status: of the last answer; None if there was none, or it is not told.
        failure: what came instead of an answer; empty if one came.
        hops: how many redirects were followed; None if that is not told.
        cross_host: whether the last answer is another host's; None if that is not told.
        media_type: of the answer, in lower case, without parameters.
        max_age: seconds that the answer may be kept; None if it does not say.
        body: the file, decompressed; None if there is none.
    """

    host: str
    scheme: str = ""
    port: int | None = None
    date: str = ""
    status: int | None = None
    failure: str = ""
    hops: int | None = None
    cross_host: bool | None = None
    media_type: str = ""
    max_age: int | None = None
    body: bytes | None = field(default=None, repr=False)

    @property
    def is_file(self) -> bool:
        """Whether it is a robots.txt: a body that came with 2xx, or by itself."""
        return self.body is not None and not self.failure and self.status in (None, *_OK)


ANSWER_FACTS = (
    *(one.name for one in fields(Capture) if one.name != "body"),
    "sitemaps_cross_host",
    "stratum",
)
"""The facts of the answer that brought a file, or none."""


@dataclass(frozen=True, slots=True)
class Bad:
    """A record of an input that is no capture, and why; the reason is one of few."""

    reason: str


def sitemaps_cross_host(capture: Capture, facts: Facts) -> int:
    """How many sitemaps of a file are on other hosts."""
    own = (capture.host, OWN_HOST)
    return sum(count for host, count in facts.sitemap_hosts.items() if host not in own)


def row_of(capture: Capture, facts: Facts | None, stratum: str = "") -> dict[str, Any]:
    """The 50 facts of a capture by name; those of octets are None if there is no file."""
    row: dict[str, Any] = {name: getattr(capture, name) for name in ANSWER_FACTS[:-2]}
    row["sitemaps_cross_host"] = None if facts is None else sitemaps_cross_host(capture, facts)
    row["stratum"] = stratum
    for name in BODY_FACTS:
        row[name] = None if facts is None else getattr(facts, name)
    return row

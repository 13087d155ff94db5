"""A capture: one answer for a robots.txt as a survey reads it, and the row of its facts.

Inputs yield captures; `facts` reads their bodies.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any

from .facts import OWN_HOST, Facts

BODY_FACTS = tuple(one.name for one in fields(Facts) if one.name != "sitemap_hosts")
"""The facts that depend on the octets of the file alone."""

_OK = range(200, 300)


@dataclass(frozen=True, slots=True)
class Capture:
    """An answer for the robots.txt of one origin, as an input holds it.

    Attributes:
        host: in lower case.
        scheme: ``http`` or ``https``; empty if unknown.
        port: None if unknown.
        date: of the fetch, as ``2026-11-22T05:00:00Z``; empty if unknown.
        status: of the last answer; None without an answer, or if unknown.
        failure: the failure, if no answer came; otherwise empty.
        hops: the number of redirects that were followed; None if unknown.
        cross_host: whether the last answer came from another host; None if unknown.
        media_type: of the answer, in lower case, without parameters.
        max_age: the seconds for which the answer may be kept; None if it does not say.
        body: the file, decompressed; None without a file.
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
        """Whether it is a robots.txt: a body with a 2xx status, or a body without any status."""
        return self.body is not None and not self.failure and self.status in (None, *_OK)


ANSWER_FACTS = (
    *(one.name for one in fields(Capture) if one.name != "body"),
    "sitemaps_cross_host",
)
"""The facts of the answer. The facts of the octets are in `Facts`."""


@dataclass(frozen=True, slots=True)
class Bad:
    """A record of an input that is not a usable capture, and one of a few reasons.

    Attributes:
        read_octets: if the rest of its file is damaged: about how much of the file was read.
        file, of_octets: the name and the size of that file.
    """

    reason: str
    read_octets: int | None = None
    file: str = ""
    of_octets: int = 0


def sitemaps_cross_host(capture: Capture, facts: Facts) -> int:
    """The number of sitemaps in a file that are on other hosts."""
    own = (capture.host, OWN_HOST)
    return sum(count for host, count in facts.sitemap_hosts.items() if host not in own)


def row_of(capture: Capture, facts: Facts | None) -> dict[str, Any]:
    """The facts of a capture by name; the facts of the octets are None without a file."""
    row: dict[str, Any] = {name: getattr(capture, name) for name in ANSWER_FACTS[:-1]}
    row["sitemaps_cross_host"] = None if facts is None else sitemaps_cross_host(capture, facts)
    for name in BODY_FACTS:
        row[name] = None if facts is None else getattr(facts, name)
    return row

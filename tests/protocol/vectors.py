"""The shared vectors as values: cases of other projects' suites, and what we expect of each.

`cases` gives the cases that ask whether a URL is allowed, `rows` the lines of suites of any other
shape. `expected` is the suite's answer, or ours where `exceptions.EXCEPTIONS` argues for it.
Tests that read them need the mark `needs_shared`.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from scrapy_rep.protocol.extensions.headers import tokens_from_user_agent
from scrapy_rep.protocol.tokens import EVERYONE
from tests.shared import SHARED

from .exceptions import EXCEPTIONS

VERDICT_SUITES = ("rfc9309", "google-cpp", "google-spec-test", "protego", "crawler-commons")
"""The suites of verdicts."""

ROBOTS_TXT_URI = "http://domain.com/robots.txt"
"""Where the files of all suites are said to be; crawler-commons' expects this host."""


@dataclass(frozen=True)
class Case:
    """One question to a file.

    Attributes:
        agents: how the suite names the crawler: names or User-Agent headers, best first.
        allowed: the suite's answer.
        google_cpp: what Google's own matcher answers.
    """

    suite: str
    name: str
    body: bytes
    agents: tuple[str, ...]
    url: str
    allowed: bool
    google_cpp: bool

    @property
    def key(self) -> tuple[str, str]:
        """By which the list of exceptions knows the case."""
        return self.suite, self.name

    def __str__(self) -> str:
        return f"{self.suite} {self.name}"


@cache
def rows(suite: str) -> tuple[dict[str, Any], ...]:
    """The lines of a suite as they stand in its file; none without the shared folder."""
    if SHARED is None:
        return ()
    text = (SHARED / "conformance" / f"{suite}.jsonl").read_text(encoding="utf-8")
    return tuple(json.loads(line) for line in text.splitlines() if line)


def cases(*suites: str) -> Iterator[Case]:
    """The cases of these suites, or of all suites of verdicts."""
    for suite in suites or VERDICT_SUITES:
        for row in rows(suite):
            yield Case(
                suite=suite,
                name=row["case"],
                body=body_of(row),
                agents=agents_of(row),
                url=row["url"],
                allowed=row["allowed"],
                google_cpp=row["google_cpp"],
            )


def body_of(row: dict[str, Any]) -> bytes:
    """The octets of a row's file."""
    encoded = row.get("robots_b64")
    return base64.b64decode(encoded) if encoded is not None else row["robots"].encode()


def agents_of(row: dict[str, Any]) -> tuple[str, ...]:
    """The names of a row's crawler: a few cases of crawler-commons give several, best first."""
    several = row.get("agents")
    if several is not None:
        return tuple(several)
    return (row["agent"],) if row["agent"] is not None else ()


def product_tokens(agents: tuple[str, ...]) -> tuple[str, ...]:
    """The product tokens of a crawler that a suite names so; none if it has no usable name."""
    found = ((agent,) if agent == EVERYONE else tokens_from_user_agent(agent) for agent in agents)
    return tuple(token for tokens in found for token in tokens)


def expected(case: Case) -> bool:
    """The answer that semantics.md wants: the suite's, unless an exception is argued."""
    return case.allowed is not (case.key in EXCEPTIONS)

"""Questions of the tests about a file, in one line each."""

from __future__ import annotations

from typing import Any

import pytest

from scrapy_rep.extras import part
from scrapy_rep.protocol import paths
from scrapy_rep.protocol.document import RobotsTxt, parse
from scrapy_rep.protocol.lines import clean, line_number, records
from scrapy_rep.protocol.tokens import ProductTokens

TOKEN = "ExampleBot"
"""The crawler of tests in which any crawler will do."""

URI = "https://example.com/robots.txt"

END = paths.END.encode("ascii")


def read(body: str | bytes) -> RobotsTxt:
    """The file with this text, from `URI`."""
    return parse(body.encode() if isinstance(body, str) else body, URI)


def allows(body: str | bytes, url: str, tokens: ProductTokens = TOKEN) -> bool:
    """Whether the file lets the crawler have the URL."""
    return read(body).verdict(url, tokens).allowed


def matches(pattern: str | bytes, url: str) -> bool:
    """Whether a rule matches, as a disallow that stands alone."""
    octets = pattern.encode() if isinstance(pattern, str) else pattern
    return not allows(b"User-agent: *\nDisallow: " + octets, url)


def rules(body: str | bytes, tokens: ProductTokens = TOKEN) -> list[str] | None:
    """The crawler's rules as text, in file order; None if no group is for it."""
    group = read(body).group(tokens)
    return None if group is None else [str(rule) for rule in group.rules]


def lines(body: str | bytes) -> list[int]:
    """The numbers of the lines that are records."""
    octets, _, _ = clean(body.encode() if isinstance(body, str) else body)
    return [line_number(octets, offset) for offset, _, _, _ in records(octets)]


def findings_of(robots_txt: RobotsTxt) -> tuple[Any, ...]:
    """The findings in a file; none without the code for them."""
    found: tuple[Any, ...] = part("findings of files", lambda _: ())(robots_txt)
    return found


def codes(body: str | bytes) -> list[tuple[str, int]]:
    """The findings in the file, with their lines; the test is skipped without their code."""
    pytest.importorskip("scrapy_rep.extras.webmaster")
    return [(finding.code.slug, finding.line) for finding in findings_of(read(body))]


def normal_path(uri: str) -> bytes:
    """A URI's path in normal form, as octets."""
    return paths.normal_path(paths.path_of(uri)).encode("ascii")


def normal_pattern(pattern: bytes) -> bytes:
    """A path pattern in normal form, as octets."""
    return paths.normal_pattern(pattern.decode("latin-1")).encode("ascii")

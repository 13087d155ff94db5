"""Reads cases on sitemaps: how many addresses some files list, and which; and dates."""

from __future__ import annotations

import ast
import datetime as dt
import gzip
import json
import re
import textwrap
from collections.abc import Iterator
from contextlib import suppress
from decimal import Decimal
from email.utils import format_datetime
from types import SimpleNamespace
from typing import Any, NamedTuple
from unittest.mock import Mock
from urllib.parse import urlsplit

from scrapy_rep.sitemaps.entry_dates import period_of
from scrapy_rep.sitemaps.reader import Sitemap
from tests.outside import Case, Checkout

_LITERAL = r'"(?:[^"\\]|\\.)*"'
_JAVA_FOLDER = "src/test/java/crawlercommons/sitemaps/"
_JAVA = re.compile(
    rf"""
      (?P<new_text>new\ StringBuilder|getXMLSitemapAsBytes)
    | \.append\((?P<piece>{_LITERAL}(?:\s*\+\s*(?:{_LITERAL}|[\w.]+\(\)))*)
    | content\ =\ (?P<text>{_LITERAL})
    | (?:getResourceAsBytes\(|parse\(parser,\ )(?P<path>{_LITERAL})
    | (?P<refused>assertThrows\(UnknownFormatException)
    | (?P<read>parser\.parseSiteMap\()
    | assertEquals\((?P<count>\d+),\ [\w() ]+\.get(?:SiteMapUrls|Sitemaps)\(\)
    | (?:assertEquals|\.getSitemap)\(new\ URI\((?P<address>{_LITERAL})
    | assertEquals\((?P<digits>{_LITERAL}),\ [\w.]*(?:format\()?[\w.]*
        (?:convertToDate|normalizeRSSTimestamp)\((?P<date>{_LITERAL})
    """,
    re.VERBOSE,
)
_LISTS = ("PagesXMLSitemap", "PagesTextSitemap", "PagesRSSSitemap", "PagesAtomSitemap")
_OTHERS = (
    "SitemapPageChangeFrequency",
    "SitemapNewsStory",
    "IndexWebsiteSitemap",
    "IndexRobotsTxtSitemap",
)


class Files(NamedTuple):
    """How many addresses do the sitemaps with these octets list?

    Attributes:
        bodies: the octets.
        address: if there is one, the question is instead whether they list it.
    """

    bodies: tuple[bytes, ...]
    address: str = ""


class Date(NamedTuple):
    """Which moment does this text mean, in digits from the year on?

    Attributes:
        text: the text.
        digits: how many digits are compared.
    """

    text: str
    digits: int


def addresses_or_date(given: Files | Date) -> int | str | None:
    """What this package answers; None if a file is not a sitemap."""
    if isinstance(given, Date):
        period = period_of(given.text)
        start = dt.datetime.fromtimestamp(period.start if period else 0, dt.timezone.utc)
        return f"{start:%Y%m%d%H%M%S}"[: given.digits] if period else ""
    sitemaps = [Sitemap(body) for body in given.bodies]
    if any(sitemap.kind is None for sitemap in sitemaps):
        return None
    addresses = [entry["loc"] for sitemap in sitemaps for entry in sitemap]
    return given.address in addresses if given.address else len(addresses)


def crawler_commons(checkout: Checkout) -> Iterator[Case]:
    """Cases in tests that read a file or a text, and assert counts, addresses and dates."""
    for name in ("SiteMapParserTest", "SiteMapParserExtensionTest", "AbstractSiteMapTest"):
        source = checkout.read(f"{_JAVA_FOLDER}{name}.java").decode()
        for test in re.split(r"(?=void test)", source)[1:]:
            found = re.match(r"void (\w+)", test)
            for number, (given, expected) in enumerate(_in_test(test, checkout), 1):
                yield Case(f"{found[1] if found else ''}#{number}", given, expected)


def _in_test(test: str, checkout: Checkout) -> Iterator[tuple[Files | Date, int | str | None]]:
    body, text, is_refused = b"", "", False
    for found in _JAVA.finditer(test):
        if found["new_text"]:
            text, body = "", b""
        elif found["piece"] or found["text"]:
            pieces = re.findall(_LITERAL, found["piece"] or found["text"])
            text = "".join([text * bool(found["piece"]), *map(json.loads, pieces)])
            body = text.encode()
        elif found["path"]:
            body = checkout.read(json.loads(found["path"]))
        elif found["date"]:
            digits = re.sub(r"\D", "", found["digits"])[:14]
            yield Date(json.loads(found["date"]), len(digits)), digits
        elif found["refused"] or (found["read"] and not is_refused):
            is_refused = bool(found["refused"])
        elif body:
            address = json.loads(found["address"] or '""')
            yield Files((body,), address), bool(address) or (found["count"] and int(found["count"]))


def ultimate_sitemap_parser(checkout: Checkout) -> Iterator[Case]:
    """Cases in tests that serve files, and expect a tree of sitemaps, or the number of pages."""
    (suite,) = [
        node
        for node in ast.parse(checkout.read("tests/test_tree.py")).body
        if isinstance(node, ast.ClassDef)
    ]
    constants: dict[str, Any] = {
        "datetime": dt,
        "format_datetime": format_datetime,
        "tzoffset": lambda _, seconds: dt.timezone(dt.timedelta(seconds=seconds)),
    }
    _set(suite.body, constants)
    for function in suite.body:
        if isinstance(function, ast.FunctionDef) and function.name.startswith("test"):
            yield from _in_function(function, constants)


def _in_function(function: ast.FunctionDef, constants: dict[str, Any]) -> Iterator[Case]:
    files: dict[str, bytes] = {}
    lists: dict[str, list[str]] = {}
    indexes: dict[str, list[str]] = {}

    def serve(
        url: str, text: str = "", content: bytes = b"", status_code: int = 200, **_: Any
    ) -> None:
        files[url] = (content or text.encode()) * (status_code == 200)

    def list_pages(url: str, pages: list[str]) -> str:
        lists[url] = pages
        return url

    def list_sitemaps(url: str, sub_sitemaps: list[str]) -> str:
        indexes[url] = sub_sitemaps
        return url

    names: dict[str, Any] = {
        "textwrap": textwrap,
        "Decimal": Decimal,
        "gzip": lambda text: gzip.compress(text.encode()),
        "self": SimpleNamespace(**constants),
        "m": Mock(get=serve),
        "SitemapPage": lambda url, **_: url,
        "InvalidSitemap": lambda url, **_: url,
        "IndexXMLSitemap": list_sitemaps,
        **dict.fromkeys(_LISTS, list_pages),
        **dict.fromkeys(_OTHERS, Mock()),
    }
    statements = [one for one in ast.walk(function) if isinstance(one, ast.stmt)]
    within = [one for one in statements if isinstance(one, ast.With)]
    _set([*function.body, *(one for with_ in within for one in with_.body)], names)
    for url, listed in (lists | indexes).items():
        place = f"{function.name}{urlsplit(url).path}"
        yield Case(place, Files((files[url],)), len(listed))
        for number, address in enumerate(listed, 1):
            yield Case(f"{place}#{number}", Files((files[url],), address), True)
    counts = {}
    for asserted in (one.test for one in statements if isinstance(one, ast.Assert)):
        found = re.fullmatch(r"len\((.*pages.*)\) == (\w+)", ast.unparse(asserted))
        if found:
            counts[found[1]] = int(str(names.get(found[2], found[2])))
    wholes = [count for said, count in counts.items() if not said.startswith("sitemap")]
    if counts:
        total = wholes[0] if wholes else sum(counts.values())
        is_list = re.compile(r"sitemap[^/]*$").search
        bodies = [body for url, body in files.items() if is_list(url) and url not in indexes]
        yield Case(function.name, Files(tuple(filter(None, bodies))), total)


def _set(statements: list[ast.stmt], names: dict[str, Any]) -> None:
    """Run the statements that serve files and set variables, as far as they need nothing else."""
    for statement in statements:
        if isinstance(statement, ast.Assign | ast.AugAssign | ast.Expr | ast.For):
            code = compile(ast.Module([statement], []), "suite", "exec")
            with suppress(NameError):
                exec(code, {"__builtins__": {"range": range}, **names}, names)

"""Reads the cases of robots-parser: lists of URLs, and single questions."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tests.outside import Case, Checkout, Robots
from tests.outside.assertions import LITERAL, unquoted

_TEST = re.compile(rf"\bit\(({LITERAL}), function([\s\S]*?)\n\t\}}\);")
_LIST = re.compile(r"var (\w+)\s*=\s*\[([^\]]*)\]")
_FILE = re.compile(rf"\]\.join\(({LITERAL})\)")
_OF_LISTS = re.compile(rf"testRobots\(({LITERAL}), contents, allowed, (?:disallowed|\[\])\)")
_OF_ONE = re.compile(rf"robotsParser\(({LITERAL}), contents\)")
_ASKED = re.compile(rf"\.isAllowed\(({LITERAL})(?:, ({LITERAL}))?\)\)\.to\.equal\((\w+)\)")


def cases(checkout: Checkout) -> Iterator[Case]:
    """All cases; the answer `undefined`, to a URL of another origin, counts as not allowed."""
    source = checkout.read("test/Robots.js").decode()
    for name, test in _TEST.findall(re.sub(r"(?m)^\s*//.*$", "", source)):
        for count, (given, is_allowed) in enumerate(_asked(test), 1):
            words = re.sub(r"\W+", "-", _text(name))
            yield Case(f"{words}#{count}", given, is_allowed)


def _asked(test: str) -> Iterator[tuple[Robots, bool]]:
    lists = {name: _items(items) for name, items in _LIST.findall(test)}
    lines, end = lists.get("contents"), _FILE.search(test)
    if not lines or not end:
        return
    octets = unquoted(end[1]).join(line.encode("utf-8", "surrogatepass") for line in lines)
    for file_url in _OF_LISTS.findall(test):
        for name in ("allowed", "disallowed"):
            for url in lists.get(name, ()):
                yield Robots(octets, "", url, _text(file_url)), name == "allowed"
    for file_url in _OF_ONE.findall(test):
        for url, agent, answer in _ASKED.findall(test):
            given = Robots(octets, _text(agent or "''"), _text(url), _text(file_url))
            yield given, answer == "true"


def _items(source: str) -> list[str]:
    """The items of a list; none if one of them is no literal."""
    is_plain = not re.sub(rf"{LITERAL}|[\s,]", "", source)
    return [_text(item) for item in re.findall(LITERAL, source)] if is_plain else []


def _text(literal: str) -> str:
    return unquoted(literal).decode("utf-8", "surrogatepass")

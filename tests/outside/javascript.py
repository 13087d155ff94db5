"""Reads the cases of robots-parser: lists of URLs, and single questions."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tests.outside import Case, Checkout, Robots
from tests.outside.assertions import LITERAL, unquoted

_LIST = r"\s*=\s*\[([^\]]*)\]"


def _items(source: str) -> list[bytes] | None:
    """The items of a list; None if one is no literal."""
    rest = re.sub(LITERAL, "", source)
    return None if rest.strip(" ,\n\t") else [unquoted(one) for one in re.findall(LITERAL, source)]


def _question(text: bytes, agent: bytes, url: bytes, file_url: bytes) -> Robots:
    one, other = (octets.decode("utf-8", "surrogatepass") for octets in (url, file_url))
    return Robots(text, agent.decode(), one, other)


def cases(checkout: Checkout) -> Iterator[Case]:
    """All cases; no answer, to a URL of another origin than that of the file, is not allowed."""
    source = re.sub(rf"({LITERAL})|//[^\n]*", lambda found: found[1] or "", checkout.read("test/Robots.js").decode())
    for block in re.split(r"\n\tit\(", source)[1:]:
        name = re.sub(r"\W+", "-", unquoted(re.match(LITERAL, block)[0]).decode())
        lists = {one[1]: _items(one[2]) for one in re.finditer(rf"var (\w+){_LIST}", block)}
        joined = re.search(rf"\.join\(({LITERAL})\)", block)
        text = lists.get("contents")
        if text is None or joined is None:
            continue
        octets = unquoted(joined[1]).join(text)
        count = 0
        for file_url in re.findall(rf"testRobots\(({LITERAL})", block):
            for key in ("allowed", "disallowed"):
                for url in lists.get(key) or ():
                    count += 1
                    given = _question(octets, b"", url, unquoted(file_url))
                    yield Case(f"{name}#{count}", given, key == "allowed")
        of = re.search(rf"robotsParser\(({LITERAL})", block)
        asked = rf"\.isAllowed\(({LITERAL})(?:, ({LITERAL}))?\)\)\.to\.equal\((\w+)\)"
        for url, agent, answer in re.findall(asked, block) if of else ():
            count += 1
            given = _question(octets, unquoted(agent or "''"), unquoted(url), unquoted(of[1]))
            yield Case(f"{name}#{count}", given, answer == "true")

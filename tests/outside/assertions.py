"""Reads robots.txt cases in tests that are lists of assertions, in most languages.

A suite has some regular expressions. They are searched in its source, and what their groups match
counts in the order of the source:

- `test`, and `columns` if it has parameters: a test begins.
- `name`, `value`: a variable is set; unknown without `value`.
- `table`: rows of text in quotes, for the columns of the next test.
- `text`, `agent`: the file, and the crawler, of what follows; unknown if the group is empty.
- `file_url`: where the file is.
- `answer`, `url`: a case.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath

from tests.outside import Case, Checkout, Robots

LITERAL = r'(?:"""[\s\S]*?"""|"(?:[^"\\]|\\[\s\S])*"|' + r"'(?:[^'\\\n]|\\.)*'" + r"|`[^`]*`)"
_TERM = rf"(?:read_?[fF]ile\(\s*{LITERAL}\)|{LITERAL}|\w+)"
WORDS = rf"{_TERM}(?:\s*\+\s*{_TERM}|\s*{LITERAL})*"
"""An expression of text: literals, variables and files, with or without `+`."""

_COMMENT = re.compile(rf"({LITERAL})|//[^\n]*|/\*[\s\S]*?\*/")
_ESCAPE = re.compile(rb"\\(?:x([0-9A-Fa-f]{2})|u\{?([0-9A-Fa-f]{4,5})\}?|(\n\s*|.))")
_PLAIN = {b"n": b"\n", b"r": b"\r", b"t": b"\t", b"0": b"\0"}
_YES = {"true": True, "allowed": True, "": True, "false": False, "disallowed": False, "!": False}


class UnreadableError(Exception):
    """An expression contains what is not known here, such as a call."""


def unquoted(literal: str) -> bytes:
    """The octets of a literal."""
    if literal.startswith(("`", '"""')):
        return literal.strip('`"').encode()

    def octets(escape: re.Match[bytes]) -> bytes:
        octet, point, other = escape.groups()
        if octet or point:
            return (
                bytes.fromhex(octet.decode())
                if octet
                else chr(int(point, 16)).encode("utf-8", "surrogatepass")
            )
        return b"" if other.startswith(b"\n") else _PLAIN.get(other, other)

    return _ESCAPE.sub(octets, literal[1:-1].encode())


class Assertions:
    """The cases of a suite.

    Args:
        patterns: the regular expressions.
        names: expressions of variables that the files do not set.
    """

    def __init__(self, *patterns: str, **names: str) -> None:
        self._patterns = patterns
        self._given = names

    def cases(self, checkout: Checkout, paths: list[str], files: str = "") -> Iterator[Case]:
        """The cases in files of tests, which may read other files, in a folder."""
        self._checkout, self._files = checkout, files
        for path in paths:
            self._names: dict[str, str | None] = dict(self._given)
            self._rows: list[dict[str, str]] = [{}]
            self._table: list[list[str]] = []
            self._text: str | None = None
            self._agent: str | None = None
            self._test, self._count, self._file_url = PurePosixPath(path).stem, 0, '""'
            source = _COMMENT.sub(lambda found: found[1] or "", checkout.read(path).decode())
            found = [one for pattern in self._patterns for one in re.finditer(pattern, source)]
            for match in sorted(found, key=re.Match.start):
                yield from self._read(match.groupdict())

    def _read(self, groups: Mapping[str, str | None]) -> Iterator[Case]:
        if test := groups.get("test"):
            columns = re.findall(r"(\w+)(?:,|$)", groups.get("columns") or "")
            self._rows = [dict(zip(columns, row, strict=False)) for row in self._table] or [{}]
            self._test, self._count, self._table, self._text = test, 0, [], None
        if name := groups.get("name"):
            self._names[name] = groups.get("value")
        if table := groups.get("table"):
            lines = [unquoted(line).decode() for line in re.findall(LITERAL, table)]
            self._table = [[cell.strip() for cell in line.split(",")] for line in lines]
        self._text = groups.get("text", self._text)
        self._agent = groups.get("agent", self._agent)
        self._file_url = groups.get("file_url", self._file_url) or '""'
        if "url" in groups:
            for row in self._rows:
                self._count += 1
                yield from self._case(groups, row)

    def _case(self, groups: Mapping[str, str | None], row: Mapping[str, str]) -> Iterator[Case]:
        try:
            parts = (self._text, self._agent, groups["url"], self._file_url)
            text, agent, url, file_url = (self._octets(part, row) for part in parts)
            answer = groups["answer"] or ""
            allowed = _YES[row.get(answer, answer).lower()]
        except (UnreadableError, KeyError):
            return
        given = Robots(
            text, agent.decode(), url.decode("utf-8", "surrogateescape"), file_url.decode()
        )
        yield Case(f"{self._test}#{self._count}", given, allowed)

    def _octets(self, words: str | None, row: Mapping[str, str]) -> bytes:
        if words is None:
            raise UnreadableError
        found = b""
        for term in re.findall(_TERM, words):
            if term.startswith("read"):
                name = unquoted(term.partition("(")[2].strip(" )")).decode()
                found += self._checkout.read(f"{self._files}{name}")
            elif not re.match(r"\w", term):
                found += unquoted(term)
            elif term in row:
                found += row[term].encode()
            else:
                found += self._octets(self._names.get(term), row)
        return found

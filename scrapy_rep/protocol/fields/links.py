"""The Link field (RFC 8288, 3): its targets, with their relations and types.

Linear in the octets: each character is looked at by one expression, from left to right. What
fails to parse ends the reading of its line; what stood before it counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_TARGET = re.compile(r"[ \t,]*<([^<>]*)>")
_PARAMETER = re.compile(
    r"[ \t]*;[ \t]*([^\s;,=\"<>]*)"  # its name
    r"[ \t]*(?:=[ \t]*(?:\"([^\"\\]*(?:\\.[^\"\\]*)*)\"|([^\s;,\"<>]*)))?"  # its value
)
_ESCAPE = re.compile(r"\\(.)")
_SEPARATOR = re.compile(r"[ \t]*(?:,|$)")


@dataclass(frozen=True, slots=True)
class FieldLink:
    """One link of the field: its target as written, and its first `rel` and `type`, lower case."""

    target: str
    relations: tuple[str, ...]
    media_type: str


def field_links(text: str) -> Iterator[FieldLink]:
    """The links of one line, in order."""
    at = 0
    while found := _TARGET.match(text, at):
        parameters: dict[str, str] = {}
        at = found.end()
        while parameter := _PARAMETER.match(text, at):
            name, quoted, bare = parameter.groups()
            value = _ESCAPE.sub(r"\1", quoted) if quoted is not None else bare or ""
            parameters.setdefault(name.lower(), value)
            at = parameter.end()
        relations = tuple(parameters.get("rel", "").lower().split())
        yield FieldLink(found[1].strip(), relations, parameters.get("type", "").lower())
        separator = _SEPARATOR.match(text, at)
        if separator is None:
            return
        at = separator.end()

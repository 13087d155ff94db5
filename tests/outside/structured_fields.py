"""The suite httpwg/structured-field-tests: vectors for a reader and a writer of structured fields.

A case is a field to read, or values to write. A Dictionary is only read: no code of ours writes one
with keys that are not its own. An Item is read as the only member of a List.
"""

from __future__ import annotations

import json
import re
from base64 import b32decode
from collections.abc import Callable, Iterator
from typing import Any

from scrapy_rep.extras.structured import (
    BareItem,
    Date,
    DisplayString,
    InnerList,
    Item,
    Member,
    Token,
    dictionary,
    member_list,
    written,
)
from tests.outside import Case, Checkout

_FAILED = "it fails"
_VECTORS = re.compile(r"(serialisation-tests/)?[^/]+\.json")
_TYPED: dict[str, Callable[[Any], BareItem]] = {
    "token": Token,
    "binary": b32decode,
    "date": Date,
    "displaystring": DisplayString,
}


def cases(checkout: Checkout) -> Iterator[Case]:
    """Each vector as a case for the reader, and for the writer if its values can be written."""
    for path in checkout.paths("."):
        if not _VECTORS.fullmatch(path):
            continue
        for vector in json.loads(checkout.read(path)):
            kind, is_wrong = vector["header_type"], vector.get("must_fail", False)
            name = f"{path.removesuffix('.json')}:{'-'.join(vector['name'].split())}"
            values = _VALUES[kind](vector["expected"]) if "expected" in vector else None
            if "raw" in vector:
                # A field that may fail does not.
                expected = _FAILED if is_wrong else _described(values)
                yield Case(name, (kind, ", ".join(vector["raw"])), expected)
            if values is not None and kind != "dictionary":
                canonical = vector.get("canonical", vector.get("raw"))
                expected = _FAILED if is_wrong else ", ".join(canonical)
                yield Case(f"write:{name}", ("write", values), expected)


def answered(given: tuple[str, Any]) -> str:
    """The values of a field, described, or the text of values; `_FAILED` if that fails."""
    kind, what = given
    if kind == "write":
        try:
            return ", ".join(map(written, what))
        except ValueError:
            return _FAILED
    octets = what.encode("utf-8")
    if kind == "dictionary":
        return _described(dictionary(octets))
    read = member_list(octets)
    if kind == "item" and not (read and len(read) == 1 and isinstance(read[0], Item)):
        return _FAILED
    return _described(read)


def _described(value: object) -> str:
    """Values as text with their types and in their order: a Token differs from a String."""
    if isinstance(value, InnerList):
        return f"{_described(value.items)};{_described(value.parameters)}"
    if isinstance(value, Item):
        return f"{_described(value.value)};{_described(value.parameters)}"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {_described(one)}" for key, one in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_described, value)) + "]"
    return _FAILED if value is None else f"{type(value).__name__} {value!r}"


def _bare(value: Any) -> BareItem:
    return _TYPED[value["__type"]](value["value"]) if isinstance(value, dict) else value


def _parameters(pairs: list[Any]) -> dict[str, BareItem]:
    return {key: _bare(value) for key, value in pairs}


def _member(pair: list[Any]) -> Member:
    value, parameters = pair
    if isinstance(value, list):
        items = tuple(Item(_bare(one), _parameters(its)) for one, its in value)
        return InnerList(items, _parameters(parameters))
    return Item(_bare(value), _parameters(parameters))


_VALUES: dict[str, Callable[[Any], Any]] = {
    "item": lambda pair: [_member(pair)],
    "list": lambda pairs: [_member(pair) for pair in pairs],
    "dictionary": lambda pairs: {key: _member(pair) for key, pair in pairs},
}

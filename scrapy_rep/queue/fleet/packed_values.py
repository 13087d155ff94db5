"""What may stand in an entry: msgpack of plain values, and of four kinds that Scrapy users need.

Reading costs O(octets), and no more memory than a small multiple of them. Nothing in it is code: a
value of a kind that is not listed here is refused, when it is written and when it is read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime
from decimal import Decimal, InvalidOperation
from typing import Any

import msgpack

DEPTH = 32
"""How deep containers may be nested."""

_MAP_LENGTH = 10_000  # keys that collide cost the square of this
_NUMBER_OCTETS = 1000  # of a Decimal's digits
_PLAIN = (str, int, float, bool, bytes, type(None))


class ValueRefused(ValueError):  # noqa: N818 - as Scrapy's UsageError is one
    """A value can't be in an entry; the message names where it stands."""


def dumps(value: dict[str, Any]) -> bytes:
    """A dict as octets.

    Raises:
        ValueRefused: something in it is of a kind that can't be there, or is nested too deep.
    """
    try:
        octets: bytes = msgpack.packb(value, strict_types=True, default=_extended)
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise ValueRefused(_culprit(value) or str(error)) from None
    _check_depth(value)
    return octets


def loads(octets: bytes) -> Any:
    """The value that `dumps` was given.

    Raises:
        ValueRefused: these octets are of no value that `dumps` would take.
    """
    if not octets or octets[0] not in _MAPS:
        raise ValueRefused("it is no msgpack of a dict")
    try:
        value = _unpacked(octets, 0)
    except ValueRefused:
        raise
    except Exception as error:  # noqa: BLE001 - msgpack has a dozen, and a bad octet may be any
        raise ValueRefused(f"it can't be read ({type(error).__name__}: {error})") from None
    _check_depth(value)
    return value


_MAPS = frozenset({*range(0x80, 0x90), 0xDE, 0xDF})  # the first octet of a map in msgpack


def _unpacked(octets: bytes, depth: int) -> Any:
    if depth > DEPTH:
        raise ValueRefused(f"it is nested deeper than {DEPTH} levels")

    def extension(code: int, data: bytes) -> Any:
        kind = _KINDS.get(code)
        if kind is None:
            raise ValueRefused(f"it holds a value of an unknown kind ({code})")
        return kind(lambda part: _unpacked(part, depth + 1), data)

    return msgpack.unpackb(
        octets,
        ext_hook=extension,
        strict_map_key=False,
        max_map_len=_MAP_LENGTH,
        use_list=True,
        raw=False,
        timestamp=3,  # msgpack's own kind, as datetime
    )


def _list_of(read: Callable[[bytes], Any], data: bytes) -> list[Any]:
    found = read(data)
    if not isinstance(found, list):
        raise ValueRefused("a tuple or set in it holds no list")
    return found


def _number(data: bytes) -> Decimal:
    if len(data) > _NUMBER_OCTETS:
        raise ValueRefused("a number in it is too long")
    try:
        return Decimal(data.decode("ascii"))
    except InvalidOperation:
        raise ValueRefused("a number in it is none") from None


_TUPLE, _SET, _DATETIME, _DECIMAL = 1, 2, 3, 4
_KINDS: dict[int, Callable[[Callable[[bytes], Any], bytes], Any]] = {
    _TUPLE: lambda read, data: tuple(_list_of(read, data)),
    _SET: lambda read, data: set(_list_of(read, data)),
    _DATETIME: lambda _, data: datetime.fromisoformat(data.decode("ascii")),
    _DECIMAL: lambda _, data: _number(data),
}


def _extended(value: Any) -> Any:
    """What msgpack has no word for; subclasses are other kinds than their bases."""

    def packed(values: list[Any]) -> bytes:
        octets: bytes = msgpack.packb(values, strict_types=True, default=_extended)
        return octets

    if type(value) is tuple:
        return msgpack.ExtType(_TUPLE, packed(list(value)))
    if type(value) is set:
        return msgpack.ExtType(_SET, packed(list(value)))
    if type(value) is datetime:
        return msgpack.ExtType(_DATETIME, value.isoformat().encode("ascii"))
    if type(value) is Decimal:
        return msgpack.ExtType(_DECIMAL, str(value).encode("ascii"))
    raise TypeError(f"{type(value).__name__} can't be queued")


def _children(value: Any) -> Iterator[tuple[str, Any]]:
    """The parts of a container, each with what leads to it."""
    kind = type(value)
    if kind is dict:
        for key, part in value.items():
            yield f" (the key {str(key)[:50]!r})", key
            yield f"[{str(key)[:50]!r}]", part
    elif kind in (list, tuple):
        for number, part in enumerate(value):
            yield f"[{number}]", part
    elif kind is set:
        for part in value:
            yield " (a member)", part


def _check_depth(value: Any) -> None:
    """Refuse what is nested too deep; the octets of the value bound what this takes."""
    if _is_deep(value, 0):
        raise ValueRefused(_culprit(value) or f"a key is nested deeper than {DEPTH} levels")


def _is_deep(value: Any, depth: int) -> bool:
    kind = type(value)
    if kind is dict:
        parts = [*value, *value.values()]
    elif kind in (list, tuple, set):
        parts = value
    else:
        return False
    return depth > DEPTH or any(
        _is_deep(part, depth + 1) for part in parts if type(part) not in _PLAIN
    )


def _culprit(value: Any) -> str | None:
    """The first part of a dict that can't be written, with the way to it."""
    names = value.items() if isinstance(value, dict) else ()
    return next((words for name, part in names for words in _culprits(part, name)), None)


def _culprits(value: Any, name: str, depth: int = 0) -> Iterator[str]:
    """What can't be written, with the way to it."""
    kind = type(value)
    if depth > DEPTH:
        yield f"{name[:50]} is nested deeper than {DEPTH} levels, or holds itself"
    elif kind in (dict, list, tuple, set):
        for step, part in _children(value):
            yield from _culprits(part, name + step, depth + 1)
    elif kind is int:
        if not -(1 << 63) <= value < 1 << 64:
            yield f"{name} is a number of more than 64 bits, which can't be queued: write it as str"
    elif kind is str:
        if any("\ud800" <= char <= "\udfff" for char in value):
            yield f"{name} is text with lone surrogates, which can't be queued: write it as bytes"
    elif kind not in (*_PLAIN, datetime, Decimal):
        yield (
            f"{name} is of type {kind.__name__}, which can't be queued: use str, bytes, int, "
            "float, bool, None, list, tuple, dict, set, datetime or Decimal"
        )

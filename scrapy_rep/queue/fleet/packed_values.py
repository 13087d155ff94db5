"""The encoding of entries: msgpack of plain values, and of four types that Scrapy users need.

Reading costs O(octets), and memory of a small multiple of the octets. An entry holds no code:
values of other types than those listed here are refused on writing and on reading.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime
from decimal import Decimal
from typing import Any

import msgpack

DEPTH = 32
"""How deep containers may be nested."""

_MAP_LENGTH = 10_000  # keys that collide cost the square of this
_PLAIN = (str, int, float, bool, bytes, type(None))


class ValueRefused(ValueError):  # noqa: N818 - as Scrapy's UsageError is one
    """A value can't be in an entry; the message says where the value is."""


def dumps(value: dict[str, Any]) -> bytes:
    """A dict as octets.

    Raises:
        ValueRefused: a value in it has an unsupported type, or is nested too deep.
    """
    try:
        octets = _packed(value)
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise ValueRefused(_culprit(value) or str(error)) from None
    _check_depth(value)
    return octets


def loads(octets: bytes) -> Any:
    """Decode the octets of `dumps`.

    Raises:
        ValueRefused: the octets do not hold a value that `dumps` accepts.
    """
    if not octets or octets[0] not in _MAPS:
        raise ValueRefused("it is not msgpack of a dict")
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
        if code not in _READERS:
            raise ValueRefused(f"it holds a value of an unknown type ({code})")
        return _READERS[code](data, lambda part: _unpacked(part, depth + 1))

    return msgpack.unpackb(
        octets,
        ext_hook=extension,
        strict_map_key=False,
        max_map_len=_MAP_LENGTH,
        use_list=True,
        raw=False,
        timestamp=3,  # msgpack's own kind, as datetime
    )


def _packed(value: Any) -> bytes:
    octets: bytes = msgpack.packb(value, strict_types=True, default=_extended)
    return octets


# Types that msgpack lacks: how they are written and read. Containers may hold more of them.
_WRITERS: dict[type, tuple[int, Callable[[Any], bytes]]] = {
    tuple: (1, lambda value: _packed([*value])),
    set: (2, lambda value: _packed([*value])),
    datetime: (3, lambda value: value.isoformat().encode("ascii")),
    Decimal: (4, lambda value: str(value).encode("ascii")),
}
_READERS: dict[int, Callable[[bytes, Callable[[bytes], Any]], Any]] = {
    1: lambda data, read: tuple(read(data)),
    2: lambda data, read: set(read(data)),
    3: lambda data, _: datetime.fromisoformat(data.decode("ascii")),
    4: lambda data, _: Decimal(data.decode("ascii")),
}


def _extended(value: Any) -> Any:
    """Encode a type that msgpack lacks; a subclass of a supported type is refused."""
    if type(value) not in _WRITERS:
        raise TypeError(f"{type(value).__name__} can't be queued")
    code, write = _WRITERS[type(value)]
    return msgpack.ExtType(code, write(value))


def _children(value: Any) -> Iterator[tuple[str, Any]]:
    """The parts of a container, each with its index or key as text."""
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
    """Refuse values that are nested too deep, in time bounded by the octets of the value."""
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
    """The message about the first part of a dict that can't be written, with its path."""
    names = value.items() if isinstance(value, dict) else ()
    return next((words for name, part in names for words in _culprits(part, name)), None)


def _culprits(value: Any, name: str, depth: int = 0) -> Iterator[str]:
    """The messages about parts that can't be written, with their paths."""
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

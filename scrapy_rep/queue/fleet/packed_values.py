"""The encoding of entries: msgpack of plain values, and of a few types that Scrapy users need.

Reading costs O(octets), and memory of a small multiple of the octets. An entry holds no code:
values of other types than those listed here are refused on writing and on reading.
"""

from __future__ import annotations

import sys
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterator
from datetime import date, datetime
from decimal import Decimal
from typing import Any, TypeVar

import msgpack
from scrapy import Item

DEPTH = 32
"""How deep containers may be nested."""

_Loaded = TypeVar("_Loaded")

_MAP_LENGTH = 10_000  # keys that collide cost the square of this
_PLAIN = (str, int, float, bool, bytes, type(None))
# A subclass of these is written as a plain value.
_BASES: dict[type, Callable[[Any], Any]] = {
    str: str.__str__,
    int: int.__int__,
    float: float.__float__,
}
# The factories of a defaultdict, by name.
_FACTORIES: dict[str | None, type | None] = {
    None: None,
    **{kind.__name__: kind for kind in (int, float, str, list, dict, set)},
}


class ValueRefused(ValueError):  # noqa: N818 - as Scrapy's UsageError is one
    """A value can't be in an entry; the message says where the value is."""


def dumps(value: dict[str, Any]) -> bytes:
    """A dict as octets.

    Raises:
        ValueRefused: a value in it has an unsupported type, is nested too deep, or is too long.
    """
    try:
        octets = _packed(value)
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise ValueRefused(_culprit(value) or str(error)) from None
    _check(value)
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
    _check(value)
    return value


def name_of(cls: type) -> str:
    """The name of a class in an entry."""
    return f"{cls.__module__}.{cls.__qualname__}"


def loaded(name: str, base: type[_Loaded]) -> type[_Loaded] | None:
    """The subclass of `base` with this name, if it is loaded; an entry imports nothing."""
    module, _, own = name.rpartition(".")
    found = getattr(sys.modules.get(module), "__dict__", {}).get(own)
    is_one = isinstance(found, type) and issubclass(found, base) and name_of(found) == name
    return found if is_one else None


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


def _named_factory(value: defaultdict[Any, Any]) -> bytes:
    names = [name for name, factory in _FACTORIES.items() if factory is value.default_factory]
    if not names:
        raise TypeError("the factory of a defaultdict can't be queued")
    return _packed([names[0], dict(value)])


# Types that msgpack lacks: how they are written and read. Containers may hold more of them.
_WRITERS: dict[type, tuple[int, Callable[[Any], bytes]]] = {
    tuple: (1, lambda value: _packed([*value])),
    set: (2, lambda value: _packed([*value])),
    datetime: (3, lambda value: value.isoformat().encode("ascii")),
    Decimal: (4, lambda value: str(value).encode("ascii")),
    date: (5, lambda value: value.isoformat().encode("ascii")),
    OrderedDict: (6, lambda value: _packed(dict(value))),
    defaultdict: (7, _named_factory),
    Item: (8, lambda value: _packed([name_of(type(value)), dict(value)])),
}
_READERS: dict[int, Callable[[bytes, Callable[[bytes], Any]], Any]] = {
    1: lambda data, read: tuple(read(data)),
    2: lambda data, read: set(read(data)),
    3: lambda data, _: datetime.fromisoformat(data.decode("ascii")),
    4: lambda data, _: Decimal(data.decode("ascii")),
    5: lambda data, _: date.fromisoformat(data.decode("ascii")),
    6: lambda data, read: OrderedDict(read(data)),
    7: lambda data, read: _defaultdict(*read(data)),
    8: lambda data, read: _item(*read(data)),
}


def _defaultdict(factory: str | None, values: dict[Any, Any]) -> defaultdict[Any, Any]:
    return defaultdict(_FACTORIES[factory], values)


def _item(name: str, values: dict[str, Any]) -> Item:
    cls = loaded(name, Item)
    if cls is None:
        raise ValueRefused(f"{name[:100]!r} is not an item class that is loaded")
    return cls(values)


def _extended(value: Any) -> Any:
    """Encode a type that msgpack lacks."""
    for base, plain in _BASES.items():
        if isinstance(value, base):
            return plain(value)
    if (kind := _kind_of(value)) not in _WRITERS:
        raise TypeError(f"{type(value).__name__} can't be queued")
    code, write = _WRITERS[kind]
    return msgpack.ExtType(code, write(value))


def _kind_of(value: Any) -> type:
    """The type of a value; `Item` for an item of a class that another worker finds."""
    kind = type(value)
    is_item = isinstance(value, Item) and loaded(name_of(kind), Item) is kind
    return Item if is_item else kind


_MAPPINGS = (dict, OrderedDict, defaultdict, Item)


def _check(value: Any) -> None:
    """Refuse values that are nested too deep or too long, in time bounded by their octets."""
    if not _fits(value, 0):
        raise ValueRefused(_culprit(value) or f"a key is nested deeper than {DEPTH} levels")


def _fits(value: Any, depth: int) -> bool:
    parts: Any = ()
    if isinstance(value, _MAPPINGS):
        parts = [*value, *value.values()]
        if len(value) > _MAP_LENGTH:
            return False
    elif isinstance(value, (list, tuple, set)):
        parts = value
    else:
        return True
    return depth <= DEPTH and all(type(part) in _PLAIN or _fits(part, depth + 1) for part in parts)


def _culprit(value: Any) -> str | None:
    """The message about the first part of a dict that can't be written, with its path."""
    names = value.items() if isinstance(value, dict) else ()
    return next((words for name, part in names for words in _culprits(part, name)), None)


def _children(value: Any) -> Iterator[tuple[str, Any]]:
    """The parts of a container, each with its index or key as text."""
    kind = _kind_of(value)
    if kind in _MAPPINGS:
        for key, part in value.items():
            yield f" (the key {str(key)[:50]!r})", key
            yield f"[{str(key)[:50]!r}]", part
    elif kind in (list, tuple):
        for number, part in enumerate(value):
            yield f"[{number}]", part
    elif kind is set:
        for part in value:
            yield " (a member)", part


def _culprits(value: Any, name: str, depth: int = 0) -> Iterator[str]:
    """The messages about parts that can't be written, with their paths."""
    kind = _kind_of(value)
    if depth > DEPTH:
        yield f"{name[:50]} is nested deeper than {DEPTH} levels, or holds itself"
    elif words := _fault(value, kind):
        yield f"{name} {words}"
    else:
        for step, part in _children(value):
            yield from _culprits(part, name + step, depth + 1)


def _fault(value: Any, kind: type) -> str | None:
    """The reason why a value can't be written, apart from its parts."""
    if kind in _MAPPINGS and len(value) > _MAP_LENGTH:
        return f"has {len(value)} keys, more than {_MAP_LENGTH}: use a list of pairs"
    if kind is defaultdict and value.default_factory not in _FACTORIES.values():
        names = ", ".join(filter(None, _FACTORIES))
        return f"is a defaultdict with a factory that can't be queued: use {names} or None"
    if isinstance(value, int) and not -(1 << 63) <= value < 1 << 64:
        return "is a number of more than 64 bits, which can't be queued: write it as str"
    if isinstance(value, str) and any("\ud800" <= char <= "\udfff" for char in value):
        return "is text with lone surrogates, which can't be queued: write it as bytes"
    if isinstance(value, Item) and kind is not Item:
        return f"is an item of {name_of(kind)}: define that class at the top level of a module"
    is_known = kind in (*_PLAIN, *_WRITERS, dict, list) or isinstance(value, tuple(_BASES))
    return (
        None
        if is_known
        else (
            f"is of type {kind.__name__}, which can't be queued: use str, bytes, int, float, bool, "
            "None, list, tuple, dict, set, date, datetime, Decimal or a Scrapy item"
        )
    )

"""The encoding of entries: msgpack of plain values, and of types that Scrapy users need.

Reading costs O(octets), and memory of a small multiple of the octets. An entry holds no code. It
may name classes, which must be loaded, and of which only fields are set (`_STATES`): no method of
such a class runs, except the `__init__` of an item. A class with `__del__` is refused.
"""

from __future__ import annotations

import sys
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from pathlib import Path
from typing import Any, TypeVar
from uuid import UUID

import msgpack
from scrapy import Item

DEPTH = 32
"""How deep lists and dicts may be nested, and how deep other values."""

_Loaded = TypeVar("_Loaded")

_MAP_LENGTH = 10_000  # keys that collide cost the square of this
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
# Classes of plugins of Scrapy. The attributes of their instances are written.
_PLUGINS = {
    "scrapy_playwright.page.PageMethod",
    "scrapypuppeteer.actions.PuppeteerServiceAction",
}


class EntryRefused(ValueError):  # noqa: N818 - it is our answer, not a fault of ours
    """A request can't be queued or an entry can't be executed; the message says why."""


def dumps(value: dict[str, Any]) -> bytes:
    """A dict as octets.

    Raises:
        EntryRefused: a value in it can't be written; the message says where it is.
    """
    try:
        return _packed(value, 0)
    except _FAULTS as error:
        raise EntryRefused(f"{_culprit(value)} and can't be queued ({error})") from None


def loads(octets: bytes) -> Any:
    """Decode the octets of `dumps`.

    Raises:
        EntryRefused: the octets do not hold a value that `dumps` accepts.
    """
    if not octets or octets[0] not in _MAPS:
        raise EntryRefused("it is not msgpack of a dict")
    try:
        return _unpacked(octets, 0)
    except Exception as error:  # noqa: BLE001 - msgpack has a dozen, and a bad octet may be any
        raise EntryRefused(f"it can't be read ({type(error).__name__}: {error})") from None


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
_FAULTS = (TypeError, ValueError, OverflowError, RecursionError)


def _packed(value: Any, depth: int) -> bytes:
    _check(value, depth)

    def extension(part: Any) -> Any:
        if (row := _TYPES.get(type(part))) is not None:
            code, plain, _ = row
            return msgpack.ExtType(code, _packed(plain(part), depth + 1))
        if (state := _state_of(type(part))) is not None:
            packed = _packed([name_of(type(part)), state[0](part)], depth + 1)
            return msgpack.ExtType(_INSTANCE, packed)
        for base, plain in _BASES.items():
            if isinstance(part, base):
                return plain(part)
        raise TypeError("no values of this type are queued")

    octets: bytes = msgpack.packb(value, strict_types=True, default=extension)
    return octets


def _unpacked(octets: bytes, depth: int) -> Any:
    _check(None, depth)  # before it uses more of the stack

    def extension(code: int, data: bytes) -> Any:
        part = _unpacked(data, depth + 1)
        if code != _INSTANCE:
            return _READERS[code](part)
        name, state = part
        cls = loaded(name, object)
        if cls is None or (how := _state_of(cls)) is None:
            raise ValueError(f"{name[:100]!r} is not a loaded class of values")
        return how[1](cls, state)

    value = msgpack.unpackb(
        octets,
        ext_hook=extension,
        strict_map_key=False,
        max_map_len=_MAP_LENGTH,
        use_list=True,
        raw=False,
        timestamp=3,  # msgpack's own kind, as datetime
    )
    _check(value, depth)
    return value


def _check(value: Any, depth: int) -> None:
    """Refuse values that are nested too deep or too long, in time bounded by their octets."""
    if depth > DEPTH or not _fits(value, 0):
        raise ValueError(f"more than {DEPTH} levels, or {_MAP_LENGTH} keys in a dict")


def _fits(value: Any, depth: int) -> bool:
    if type(value) not in (dict, list):
        return True
    is_dict = type(value) is dict
    parts = value.values() if is_dict else value
    is_short = not is_dict or len(value) <= _MAP_LENGTH
    return depth <= DEPTH and is_short and all(_fits(part, depth + 1) for part in parts)


# Types that msgpack lacks: code, how to write them as plain values, and how to read those.
_TYPES: dict[type, tuple[int, Callable[[Any], Any], Callable[[Any], Any]]] = {
    tuple: (1, list, tuple),
    set: (2, list, set),
    datetime: (3, datetime.isoformat, datetime.fromisoformat),
    Decimal: (4, str, Decimal),
    date: (5, date.isoformat, date.fromisoformat),
    OrderedDict: (6, dict, OrderedDict),
    defaultdict: (7, lambda one: [_factory(one), dict(one)], lambda of: _defaultdict(*of)),
    time: (9, time.isoformat, time.fromisoformat),
    timedelta: (
        10,
        lambda one: [one.days, one.seconds, one.microseconds],
        lambda of: timedelta(*of),
    ),
    UUID: (11, lambda one: one.bytes, lambda octets: UUID(bytes=octets)),
    frozenset: (12, list, frozenset),
    deque: (13, lambda one: [[*one], one.maxlen], lambda of: deque(*of)),
    Counter: (14, dict, Counter),
    type(Path()): (15, str, Path),
}
_READERS = {code: read for code, _, read in _TYPES.values()}
_INSTANCE = 8


def _factory(value: defaultdict[Any, Any]) -> str | None:
    for name, factory in _FACTORIES.items():
        if factory is value.default_factory:
            return name
    raise TypeError(f"the factory of a defaultdict must be one of {[*_FACTORIES]}")


def _defaultdict(factory: str | None, values: dict[Any, Any]) -> defaultdict[Any, Any]:
    return defaultdict(_FACTORIES[factory], values)


_State = tuple[Callable[[Any], Any], Callable[[type, Any], Any]]


def _state_of(cls: type) -> _State | None:
    """How to write an instance of a class, and how to make one; None for other classes."""
    if loaded(name_of(cls), object) is not cls or hasattr(cls, "__del__"):
        return None
    return next((state for is_one, *state in _STATES if is_one(cls)), None)  # type: ignore[return-value]


def _fields_of(cls: type) -> set[str] | None:
    """The names of the fields of a dataclass, or of a class of attrs or Pydantic."""
    if is_dataclass(cls):
        return {one.name for one in fields(cls)}
    if (of_attrs := getattr(cls, "__attrs_attrs__", None)) is not None:
        return {one.name for one in of_attrs}
    of_pydantic: Any = getattr(cls, "__pydantic_fields__", None)
    return None if of_pydantic is None else {*of_pydantic}


def _fields_in(value: Any) -> dict[str, Any]:
    names = _fields_of(type(value)) or set()
    rest = (getattr(value, f"__pydantic_{name}__", None) for name in ("extra", "private"))
    if getattr(value, "__dict__", {}).keys() - names or any(part is not None for part in rest):
        raise TypeError("it has attributes that are not fields")
    return {name: getattr(value, name) for name in names if hasattr(value, name)}


def _with_fields(cls: type, values: dict[str, Any]) -> Any:
    if not values.keys() <= (_fields_of(cls) or set()):
        raise ValueError("it has an unknown field")
    one: Any = object.__new__(cls)
    if hasattr(cls, "__pydantic_private__"):
        internal = {"fields_set": {*values}, "extra": None, "private": None}
        for name, value in internal.items():
            object.__setattr__(one, f"__pydantic_{name}__", value)
    for name, value in values.items():
        object.__setattr__(one, name, value)
    return one


def _plugin(cls: type, values: dict[str, Any]) -> Any:
    one: Any = object.__new__(cls)
    vars(one).update(values)
    return one


# For the instances of some classes: a test, a writer and a reader.
_STATES: tuple[
    tuple[Callable[[Any], bool], Callable[[Any], Any], Callable[[Any, Any], Any]], ...
] = (
    (lambda cls: issubclass(cls, Enum), lambda one: one.name, lambda cls, of: cls.__members__[of]),
    (lambda cls: issubclass(cls, Item), dict, lambda cls, of: cls(of)),
    (lambda cls: issubclass(cls, tuple) and hasattr(cls, "_make"), list, tuple.__new__),
    (lambda cls: _fields_of(cls) is not None, _fields_in, _with_fields),
    (lambda cls: any(name_of(one) in _PLUGINS for one in cls.__mro__), vars, _plugin),
)


def _culprit(value: Any) -> str:
    """The path to the first part that can't be written, and its type."""
    steps: list[Any] = []
    while len(steps) <= DEPTH and (bad := _bad_child(value)) is not None:
        step, value = bad
        steps.append(step)
    path = "".join(f"[{step!r:.50}]" if number else str(step) for number, step in enumerate(steps))
    return f"{path or 'it'} is of type {type(value).__name__}"


def _bad_child(value: Any) -> tuple[Any, Any] | None:
    is_mapping = isinstance(value, (dict, Item))
    is_list = isinstance(value, (list, tuple, set, frozenset, deque))
    for step, part in value.items() if is_mapping else enumerate(value if is_list else ()):
        try:
            _packed(part, 0)
        except _FAULTS:  # noqa: PERF203 - one of them is searched
            return step, part
    return None

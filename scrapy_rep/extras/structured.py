"""Structured Fields: parse and write a Dictionary or a List by RFC 9651, 4.2 and 4.1.

Takes octets, gives values, or None if parsing fails: such a field must be ignored as a whole (4.2).
Nothing recurses, since inner lists contain no lists. Linear in the octets: each regular expression
begins where the last one ended, and can match in one way only. Parsing more than `FIELD_OCTETS`
fails; the longest value that a parser must read is half as long (3.3.5).

Items as Python values: an Integer is `int`, a Decimal `float`, a String `str`, a Token `Token`, a
Byte Sequence `bytes`, a Boolean `bool`, a Date `Date`, a Display String `DisplayString`.
"""

from __future__ import annotations

import re
from binascii import Error, a2b_base64, b2a_base64
from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal
from functools import lru_cache, partial
from typing import Any
from urllib.parse import unquote_to_bytes

from scrapy_rep.protocol.fields.remarks import FIELD_OCTETS

_KEY = re.compile(r"[a-z*][a-z0-9_.*-]*")
_TOKEN = re.compile(r"[A-Za-z*][!#$%&'*+.^_`|~0-9A-Za-z:/-]*")
_NUMBER = re.compile(r"(-?)([0-9]+)(?:\.([0-9]*))?")
_STRING = re.compile(r'"([ !#-\[\]-~]*(?:\\["\\][ !#-\[\]-~]*)*)"')
_ESCAPE = re.compile(r"\\(.)")
_OCTETS = re.compile(r":([A-Za-z0-9+/=]*):")
_BOOLEAN = re.compile(r"\?([01])")
_DISPLAY = re.compile(r'%"([ !#$&-~]*(?:%[0-9a-f]{2}[ !#$&-~]*)*)"')
_VISIBLE = re.compile(r"[ -~]*")
_ESCAPED = re.compile(r"[^ !#$&-~]")  # in a Display String
_QUOTED = re.compile(r'["\\]')
_SPACES = re.compile(r" *")
_WHITE_SPACE = re.compile(r"[ \t]*")

_INTEGER_DIGITS = 15
_DECIMAL_DIGITS = 12
_FRACTION_DIGITS = 3


class Token(str):
    """A Token (3.3.4); it differs from a String of the same characters."""

    __slots__ = ()


class DisplayString(str):
    """A Display String (3.3.8)."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Date:
    """A Date (3.3.7), in POSIX seconds."""

    seconds: int


BareItem = int | float | str | bytes | Date
"""Also `bool`, a subclass of `int`, and `Token` and `DisplayString`, subclasses of `str`."""


@dataclass(frozen=True, slots=True)
class Item:
    """A bare item with its parameters, in order."""

    value: BareItem
    parameters: dict[str, BareItem] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class InnerList:
    """Items in parentheses, with the parameters of the list."""

    items: tuple[Item, ...]
    parameters: dict[str, BareItem] = field(default_factory=dict)


Member = Item | InnerList


class _Malformed(Exception):  # noqa: N818 - never leaves this file
    pass


def dictionary(octets: bytes) -> dict[str, Member] | None:
    """The members of a Dictionary by key, the last one of equal keys; None if parsing fails."""
    try:
        return _FieldReader(octets).dictionary()
    except _Malformed:
        return None


def member_list(octets: bytes) -> list[Member] | None:
    """The members of a List; None if parsing fails."""
    try:
        return _FieldReader(octets).list()
    except _Malformed:
        return None


def written(member: Member) -> str:
    """The text of an Item or an Inner List with its parameters (4.1).

    Raises:
        ValueError: a value or a key has no form: a String has characters outside of ASCII or
            control characters, a number has too many digits, and so on.
    """
    if isinstance(member, InnerList):
        items = " ".join(map(written, member.items))
        return f"({items}){_written_parameters(member.parameters)}"
    return _written_value(member.value) + _written_parameters(member.parameters)


def _written_parameters(parameters: dict[str, BareItem]) -> str:
    return "".join(
        f";{_matched(_KEY, key)}" + ("" if value is True else f"={_written_value(value)}")
        for key, value in parameters.items()
    )


def _written_value(value: BareItem) -> str:
    write = _WRITERS.get(type(value))
    if write is None:
        raise _unwritable(value)
    return write(value)


def _unwritable(value: object) -> ValueError:
    return ValueError(f"{value!r} cannot be written as a structured field")


def _matched(expression: re.Pattern[str], text: str) -> str:
    """A text of this form, such as a key."""
    if not expression.fullmatch(text):
        raise _unwritable(text)
    return text


def _written_integer(number: int) -> str:
    if type(number) is not int or abs(number) >= 10**_INTEGER_DIGITS:
        raise _unwritable(number)
    return str(number)


def _written_decimal(number: float) -> str:
    """A Decimal with the nearest three digits after its point, of two the even one (4.1.5)."""
    text = f"{Decimal(repr(number)):.{_FRACTION_DIGITS}f}"  # 0.0025 is a tie, its float is not
    found = _NUMBER.fullmatch(text)
    if found is None or len(found[2]) > _DECIMAL_DIGITS:
        raise _unwritable(number)
    return text.rstrip("0") + "0" * text.endswith(".000")


def _escaped(text: DisplayString) -> str:
    """The text of a Display String. Lone surrogates raise a ValueError, as UTF-8 has none."""
    octets = text.encode().decode("latin-1")
    return _ESCAPED.sub(lambda octet: f"%{ord(octet[0]):02x}", octets)


@lru_cache(maxsize=256)  # most are names of components, which stay the same
def _written_string(text: str) -> str:
    return '"' + _QUOTED.sub(r"\\\g<0>", _matched(_VISIBLE, text)) + '"'


_WRITERS: dict[type, Callable[[Any], str]] = {
    str: _written_string,
    bool: lambda value: "?1" if value else "?0",
    int: _written_integer,
    float: _written_decimal,
    bytes: lambda value: f":{b2a_base64(value, newline=False).decode()}:",
    Date: lambda value: f"@{_written_integer(value.seconds)}",
    Token: partial(_matched, _TOKEN),
    DisplayString: lambda value: f'%"{_escaped(value)}"',
}


class _FieldReader:
    """Parses the text of one field."""

    def __init__(self, octets: bytes) -> None:
        if len(octets) > FIELD_OCTETS:
            raise _Malformed
        try:
            self._text = octets.decode("ascii").strip(" ")
        except UnicodeDecodeError:
            raise _Malformed from None
        self._at = 0

    def dictionary(self) -> dict[str, Member]:
        found: dict[str, Member] = {}
        while self._has_more():
            key = self._take(_KEY)[0]
            if self._skips("="):
                found[key] = self._member()
            else:
                found[key] = Item(value=True, parameters=self._parameters())
            self._end_member()
        return found

    def list(self) -> list[Member]:
        found: list[Member] = []
        while self._has_more():
            found.append(self._member())
            self._end_member()
        return found

    def _has_more(self) -> bool:
        return self._at < len(self._text)

    def _end_member(self) -> None:
        """Skip the comma after a member; another member or the end of the text must follow."""
        self._skip(_WHITE_SPACE)
        if not self._has_more():
            return
        if not self._skips(","):
            raise _Malformed
        self._skip(_WHITE_SPACE)
        if not self._has_more():
            raise _Malformed

    def _member(self) -> Member:
        return self._inner_list() if self._text.startswith("(", self._at) else self._item()

    def _item(self) -> Item:
        return Item(self._bare_item(), self._parameters())

    def _inner_list(self) -> InnerList:
        self._at += 1
        items: list[Item] = []
        self._skip(_SPACES)
        while not self._skips(")"):
            items.append(self._item())
            if not self._text.startswith((" ", ")"), self._at):
                raise _Malformed
            self._skip(_SPACES)
        return InnerList(tuple(items), self._parameters())

    def _parameters(self) -> dict[str, BareItem]:
        found: dict[str, BareItem] = {}
        while self._skips(";"):
            self._skip(_SPACES)
            key = self._take(_KEY)[0]
            found[key] = self._bare_item() if self._skips("=") else True
        return found

    def _bare_item(self) -> BareItem:
        start = self._text[self._at : self._at + 1]
        read = _BARE_ITEMS.get(start)
        return Token(self._take(_TOKEN)[0]) if read is None else read(self)

    def string(self) -> str:
        """Take a String."""
        return _ESCAPE.sub(r"\1", self._take(_STRING)[1])

    def boolean(self) -> bool:
        """Take a Boolean."""
        return self._take(_BOOLEAN)[1] == "1"

    def date(self) -> Date:
        """Take a Date."""
        self._at += 1
        seconds = self.number()
        if isinstance(seconds, float):
            raise _Malformed
        return Date(seconds)

    def octets(self) -> bytes:
        """Take a Byte Sequence."""
        return _decoded(self._take(_OCTETS)[1])

    def displayed(self) -> DisplayString:
        """Take a Display String."""
        return _displayed(self._take(_DISPLAY)[1])

    def number(self) -> int | float:
        """Take an Integer or a Decimal."""
        found = self._take(_NUMBER)
        sign, whole, fraction = found.groups()
        if fraction is None:
            if len(whole) > _INTEGER_DIGITS:
                raise _Malformed
            return int(sign + whole)
        if len(whole) > _DECIMAL_DIGITS or not 1 <= len(fraction) <= _FRACTION_DIGITS:
            raise _Malformed
        return float(found[0])

    def _take(self, expression: re.Pattern[str]) -> re.Match[str]:
        found = expression.match(self._text, self._at)
        if found is None:
            raise _Malformed
        self._at = found.end()
        return found

    def _skip(self, expression: re.Pattern[str]) -> None:
        self._take(expression)

    def _skips(self, character: str) -> bool:
        if self._text.startswith(character, self._at):
            self._at += 1
            return True
        return False


_BARE_ITEMS: dict[str, Callable[[_FieldReader], BareItem]] = {
    '"': _FieldReader.string,
    "?": _FieldReader.boolean,
    "@": _FieldReader.date,
    ":": _FieldReader.octets,
    "%": _FieldReader.displayed,
    **dict.fromkeys("-0123456789", _FieldReader.number),
}


def _decoded(text: str) -> bytes:
    """Decode base64. Padding may be missing (4.2.7), and must be at the end."""
    bare = text.rstrip("=")
    if "=" in bare:
        raise _Malformed
    try:
        return a2b_base64(bare + "=" * (-len(bare) % 4))
    except Error:
        raise _Malformed from None


def _displayed(text: str) -> DisplayString:
    try:
        return DisplayString(unquote_to_bytes(text).decode("utf-8"))
    except UnicodeDecodeError:
        raise _Malformed from None

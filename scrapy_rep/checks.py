"""The checks of settings: each returns the value for use, or raises.

The text of a `ValueError` here follows the setting's name and value in the error that the user
sees.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any

from scrapy.settings import BaseSettings

from scrapy_rep.protocol.tokens import as_product_tokens


def of_json(value: Any) -> Any:
    """What a string with a dict or a list in JSON holds, as the command line passes these."""
    if not isinstance(value, str) or not value.lstrip().startswith(("{", "[")):
        return value
    try:
        return json.loads(value)
    except ValueError as error:
        raise ValueError(f"begins as JSON does, and is not JSON ({error})") from None


def number(minimum: float, *, whole: bool) -> Callable[[Any], Any]:
    """A check for numbers from a minimum on, also written as strings."""
    kind = "a whole number" if whole else "a number"

    def check(value: Any) -> Any:
        try:
            number = float("nan") if isinstance(value, bool) else float(value)
        except (TypeError, ValueError, OverflowError):  # OverflowError: 10**400
            number = float("nan")
        if not minimum <= number < float("inf") or (whole and number != int(number)):
            raise ValueError(f"must be {kind} of {minimum:g} or more")
        return int(number) if whole else number

    return check


def numbers(value: Any) -> tuple[float, ...]:
    """A list of numbers of 0 or more, or a string with commas between them."""
    check = number(0, whole=False)
    value = of_json(value)
    if isinstance(value, str):
        value = [part for part in value.split(",") if part.strip()]
    if isinstance(value, (list, tuple)):
        return tuple(check(number) for number in value)
    raise ValueError("must be a list of numbers")


def names(value: Any) -> tuple[str, ...]:
    """A list of names, or a string with commas between them."""
    value = of_json(value)
    if isinstance(value, str):
        value = [part.strip() for part in value.split(",") if part.strip()]
    if isinstance(value, (list, tuple, set, frozenset)) and all(
        isinstance(name, str) for name in value
    ):
        return tuple(value)
    raise ValueError("must be a list of strings")


def some_of(*choices: str) -> Callable[[Any], Any]:
    """A check for a list of these words, in any letter case."""

    def check(value: Any) -> tuple[str, ...]:
        chosen = tuple(word.lower() for word in names(value))
        if not set(chosen) <= set(choices):
            raise ValueError(f"must be a list of some of {', '.join(map(repr, choices))}")
        return tuple(dict.fromkeys(chosen))

    return check


def names_by(*choices: str) -> Callable[[Any], Any]:
    """A check for a dict of product tokens by these words."""

    def check(value: Any) -> dict[str, tuple[str, ...]]:
        found = {key: names(tokens) for key, tokens in mapping(value).items()}
        if not set(found) <= set(choices):
            raise ValueError(f"must have no other keys than {', '.join(map(repr, choices))}")
        for tokens in found.values():
            as_product_tokens(tokens)
        return found

    return check


def text(value: Any) -> str:
    """Text."""
    if not isinstance(value, str):
        raise ValueError("must be a string")  # noqa: TRY004 - what the reader of settings expects
    return value.strip()


def flag(value: Any) -> bool:
    """True or False, in the spellings that Scrapy takes."""
    flags = {"1": True, "true": True, "0": False, "false": False}
    if isinstance(value, (bool, int, str)) and str(value).lower() in flags:
        return flags[str(value).lower()]
    raise ValueError("must be True or False")


def one_of(*choices: str) -> Callable[[Any], Any]:
    """A check for one of these words."""

    def check(value: Any) -> Any:
        if isinstance(value, str) and value in choices:
            return value
        raise ValueError(f"must be one of {', '.join(map(repr, choices))}")

    return check


def member_of(kind: type[Enum]) -> Callable[[Any], Any]:
    """A check that takes the value of a member of an enum, and returns the member."""
    check = one_of(*(member.value for member in kind))
    return lambda value: kind(check(value))


def store(value: Any) -> Any:
    """The name of a store, a class, or its import path."""
    if value in ("auto", "memory", "sqlite", "redis") or callable(value):
        return value
    if isinstance(value, str) and "." in value:
        return value
    raise ValueError(
        "must be 'auto', 'memory', 'sqlite', 'redis' or the import path of a store class"
    )


def path(value: Any) -> str:
    """A path, as text; ``~`` stands for a home folder."""
    text = os.fsdecode(value) if isinstance(value, (str, os.PathLike)) else None
    if text is None:
        raise ValueError("must be a path")
    if "\0" in text:
        raise ValueError("must be a path, and no path holds a NUL character")
    expanded = os.path.expanduser(text)
    if text.startswith("~") and expanded == text:
        raise ValueError(
            "must be a path, and begins with the home folder of a user who has none; write ./~ for "
            "a folder of that name"
        )
    return expanded


def redis_url(value: Any) -> str:
    """Where a Redis is, as redis-py reads it; empty for none."""
    url = value.strip() if isinstance(value, str) else None
    if url is None:
        raise ValueError("must be a URL such as 'redis://localhost:6379/0', or '' for none")
    scheme, _, place = url.partition("://")
    if url and not (place and scheme in ("redis", "rediss", "unix")):
        raise ValueError("must begin with redis://, rediss:// (with TLS) or unix:// and say where")
    return url


def mapping(value: Any) -> dict[str, Any]:
    """A dict with strings as keys."""
    value = of_json(value)
    # Scrapy passes a dict setting as BaseSettings if it was set with a priority.
    if isinstance(value, (Mapping, BaseSettings)) and all(isinstance(key, str) for key in value):
        return {key: value[key] for key in value}
    raise ValueError("must be a dict with strings as keys")

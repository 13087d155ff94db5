"""What the values of settings must be: each check gives the value for use, or raises.

What a `ValueError` here says follows the setting's name and value in the error that the user sees.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any

from scrapy.settings import BaseSettings


def number(minimum: float, *, whole: bool) -> Callable[[Any], Any]:
    """A check for numbers from a minimum on; strings of digits will do."""
    kind = "a whole number" if whole else "a number"

    def check(value: Any) -> Any:
        try:
            number = float("nan") if isinstance(value, bool) else float(value)
        except (TypeError, ValueError):
            number = float("nan")
        if not minimum <= number < float("inf") or (whole and number != int(number)):
            raise ValueError(f"must be {kind} of {minimum:g} or more")
        return int(number) if whole else number

    return check


def numbers(value: Any) -> tuple[float, ...]:
    """Several numbers of 0 or more, as a list or with commas between them."""
    check = number(0, whole=False)
    if isinstance(value, str):
        value = [part for part in value.split(",") if part.strip()]
    if isinstance(value, (list, tuple)):
        return tuple(check(number) for number in value)
    raise ValueError("must be a list of numbers")


def flag(value: Any) -> bool:
    """True or False, in the ways in which Scrapy takes them."""
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


def store(value: Any) -> Any:
    """The name of a store, or a class, or where it can be imported from."""
    if value in ("auto", "memory", "sqlite") or callable(value):
        return value
    if isinstance(value, str) and "." in value:
        return value
    raise ValueError("must be 'auto', 'memory', 'sqlite' or the import path of a store class")


def path(value: Any) -> str:
    """A path, as text."""
    if isinstance(value, (str, os.PathLike)):
        return os.fspath(value)
    raise ValueError("must be a path")


def mapping(value: Any) -> dict[str, Any]:
    """A dict with strings as keys."""
    # Scrapy hands a dict setting over as BaseSettings where it came with a priority.
    if isinstance(value, (Mapping, BaseSettings)) and all(isinstance(key, str) for key in value):
        return {key: value[key] for key in value}
    raise ValueError("must be a dict with strings as keys")

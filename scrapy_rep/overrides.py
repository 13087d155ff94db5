"""Policies that the user sets for hosts, in front of what the hosts say themselves."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import translate
from typing import Any

from .protocol.access import PRESETS
from .protocol.errors import ConfigurationError
from .protocol.origin import Origin

IGNORE = "ignore"
_TEXT = "robots_txt"


@dataclass(frozen=True, slots=True)
class Override:
    """What holds for the hosts of one pattern: exactly one of these.

    Attributes:
        ignore: everything is allowed, and no robots.txt is asked for.
        text: a file to obey instead of the host's own, which is not asked for.
        preset: what errors mean for these hosts.
    """

    ignore: bool = False
    text: bytes | None = None
    preset: str | None = None


@dataclass(frozen=True, slots=True)
class Overrides:
    """Overrides by host pattern, in order: the first that matches decides.

    A pattern is compared with the host, or, where it holds ``://``, with the whole origin; ``*``
    stands for any characters, and letter case plays no part.
    """

    patterns: tuple[tuple[re.Pattern[str], bool, Override], ...] = ()

    @classmethod
    def of(cls, mapping: Mapping[str, Any]) -> Overrides:
        """Read a setting.

        Raises:
            ConfigurationError: a value is none of those that `Override` knows.
        """
        return cls(
            tuple(
                (
                    re.compile(translate(pattern.lower())),
                    "://" in pattern,
                    _override(pattern, value),
                )
                for pattern, value in mapping.items()
            )
        )

    def match(self, origin: Origin) -> Override | None:
        """The override for an origin, if there is one."""
        for pattern, is_origin, override in self.patterns:
            if pattern.match(str(origin) if is_origin else origin.host):
                return override
        return None


def _override(pattern: str, value: Any) -> Override:
    if value == IGNORE:
        return Override(ignore=True)
    if isinstance(value, str) and value in PRESETS:
        return Override(preset=value)
    if isinstance(value, Mapping) and set(value) == {_TEXT} and isinstance(value[_TEXT], str):
        return Override(text=value[_TEXT].encode())
    raise ConfigurationError(
        f"{pattern!r} can't be {value!r}: use {IGNORE!r}, one of {', '.join(PRESETS)}, or "
        f"{{{_TEXT!r}: 'a file to obey'}}"
    )

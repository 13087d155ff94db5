"""Policies that the user sets for hosts, which take precedence over what the hosts say."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import translate
from typing import Any

from scrapy_rep.protocol.access.events import PRESETS
from scrapy_rep.protocol.access.origin import Origin
from scrapy_rep.protocol.errors import ConfigurationError

IGNORE = "ignore"
_TEXT = "robots_txt"


@dataclass(frozen=True, slots=True)
class Override:
    """What holds for the hosts of one pattern: exactly one of these.

    Attributes:
        ignore: everything is allowed, and no robots.txt is fetched.
        text: a file to obey instead of the host's own, which is not fetched.
        preset: the policy for errors of these hosts.
    """

    ignore: bool = False
    text: bytes | None = None
    preset: str | None = None


@dataclass(frozen=True, slots=True)
class Overrides:
    """Overrides by host pattern, in order: the first that matches decides.

    A pattern is compared with the host, or with the whole origin if it holds ``://``. ``*`` stands
    for any characters. Letter case is ignored.
    """

    patterns: tuple[tuple[re.Pattern[str], bool, Override], ...] = ()

    @classmethod
    def of(cls, mapping: Mapping[str, Any]) -> Overrides:
        """Read a setting.

        Raises:
            ConfigurationError: a value is not one that `Override` knows.
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
        f"{pattern!r} cannot be {value!r}: use {IGNORE!r}, one of {', '.join(PRESETS)}, or "
        f"{{{_TEXT!r}: 'a file to obey'}}"
    )

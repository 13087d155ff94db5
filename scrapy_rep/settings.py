"""Every REP_ setting in one table, and the checked values that the rest of the package uses.

A value that is wrong stops the crawl, with an error that names the setting and the mend: a crawler
that goes on with half of its manners is worse than one that does not start.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from scrapy.settings import BaseSettings

from .protocol.access import PRESETS, AccessPolicy
from .protocol.errors import ConfigurationError
from .protocol.lines import PARSE_LIMIT_OCTETS
from .protocol.redirects import LEAST_HOPS


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting: its default, what its value must be, and one sentence for the user."""

    name: str
    default: Any
    check: Callable[[Any], Any]
    meaning: str


def _number(minimum: float, *, whole: bool) -> Callable[[Any], Any]:
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


def _mapping(value: Any) -> dict[str, Any]:
    # Scrapy hands a dict setting over as BaseSettings where it came with a priority.
    if isinstance(value, (Mapping, BaseSettings)) and all(isinstance(key, str) for key in value):
        return {key: value[key] for key in value}
    raise ValueError("must be a dict with strings as keys")


def _preset(value: Any) -> str:
    if isinstance(value, str) and value in PRESETS:
        return value
    raise ValueError(f"must be one of {', '.join(map(repr, PRESETS))}")


SETTINGS = {
    setting.name: setting
    for setting in (
        Setting(
            "REP_POLICY",
            "rfc9309",
            _preset,
            "What an answer without rules means: rfc9309, google, strict, lenient or scrapy.",
        ),
        Setting(
            "REP_POLICY_OVERRIDES",
            {},
            _mapping,
            "Exceptions from REP_POLICY, as {class of events: 'allow' or 'disallow'}, "
            "such as {'403': 'disallow', 'timeout': 'allow'}; the narrowest class decides.",
        ),
        Setting(
            "REP_FETCH_META",
            {},
            _mapping,
            "Merged into the meta of robots.txt requests: proxy, zyte_api, bindaddress, ...",
        ),
        Setting(
            "REP_FETCH_TIMEOUT_SECONDS",
            10.0,
            _number(0.001, whole=False),
            "How long each answer on the way to a robots.txt may take, connection included.",
        ),
        Setting(
            "REP_UNREACHABLE_WAIT_SECONDS",
            90.0,
            _number(0.001, whole=False),
            "How long a request waits for the policy of its origin; after that the robots.txt "
            "counts as unreachable for this request.",
        ),
        Setting(
            "REP_REDIRECT_HOPS",
            LEAST_HOPS,
            _number(LEAST_HOPS, whole=True),
            "How many redirects in a row are followed on the way to a robots.txt, at least 5.",
        ),
        Setting(
            "REP_PARSE_LIMIT_OCTETS",
            PARSE_LIMIT_OCTETS,
            _number(PARSE_LIMIT_OCTETS, whole=True),
            "How much of a robots.txt is downloaded and read, in octets, at least 512,000.",
        ),
        Setting(
            "REP_MEMORY_OCTETS",
            64 * 1024 * 1024,
            _number(1, whole=True),
            "How much memory the policies kept in it may take, roughly, in octets.",
        ),
    )
}


@dataclass(frozen=True, slots=True)
class RepSettings:
    """The values of all settings, checked."""

    access: AccessPolicy
    fetch_meta: dict[str, Any]
    fetch_timeout_seconds: float
    unreachable_wait_seconds: float
    redirect_hops: int
    parse_limit_octets: int
    memory_octets: int

    @classmethod
    def of(cls, settings: BaseSettings) -> RepSettings:
        """Read and check a crawl's settings.

        Raises:
            ConfigurationError: a value is wrong, or a name is nearly that of a setting.
        """
        for name in settings:
            if str(name).startswith("REP_") and name not in SETTINGS:
                meant = get_close_matches(str(name), SETTINGS, n=1, cutoff=0.8)
                if meant:
                    raise ConfigurationError(
                        f"{name}: no such setting; perhaps {meant[0]} is meant"
                    )
        value = {name: _checked(setting, settings) for name, setting in SETTINGS.items()}
        try:
            access = AccessPolicy(value["REP_POLICY"], value["REP_POLICY_OVERRIDES"])
        except ConfigurationError as error:
            raise ConfigurationError(f"REP_POLICY_OVERRIDES: {error}") from None
        return cls(
            access=access,
            fetch_meta=value["REP_FETCH_META"],
            fetch_timeout_seconds=value["REP_FETCH_TIMEOUT_SECONDS"],
            unreachable_wait_seconds=value["REP_UNREACHABLE_WAIT_SECONDS"],
            redirect_hops=value["REP_REDIRECT_HOPS"],
            parse_limit_octets=value["REP_PARSE_LIMIT_OCTETS"],
            memory_octets=value["REP_MEMORY_OCTETS"],
        )


def _checked(setting: Setting, settings: BaseSettings) -> Any:
    value = settings.get(setting.name, setting.default)
    try:
        return setting.check(value)
    except ValueError as error:
        raise ConfigurationError(f"{setting.name} = {value!r}: {error}") from None

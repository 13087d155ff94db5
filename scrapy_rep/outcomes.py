"""The settings that say what answers and failures mean, and for how long, as one value."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar

from scrapy_rep.protocol.access.events import AccessPolicy
from scrapy_rep.protocol.access.exchange import PolicyOptions
from scrapy_rep.protocol.access.lifetime import Limits
from scrapy_rep.protocol.access.redirects import FOLLOWED
from scrapy_rep.protocol.errors import ConfigurationError
from scrapy_rep.protocol.units import DAY_SECONDS

Value = TypeVar("Value")

GOOGLE = "google"
_GOOGLE_SECONDS = 30 * DAY_SECONDS  # Google's documentation lets max-age lengthen, without a limit


def rules_of(value: dict[str, Any]) -> PolicyOptions:
    """The rules by which a crawl learns from answers, from the checked values of its settings.

    Raises:
        ConfigurationError: two values contradict each other, or an override could never act.
    """
    preset = value["REP_POLICY"]
    max_seconds = value["REP_CACHE_MAX_SECONDS"]
    if value["REP_CACHE_MIN_SECONDS"] > max_seconds:
        raise ConfigurationError(
            "REP_CACHE_MIN_SECONDS: must be no more than REP_CACHE_MAX_SECONDS"
        )
    access = named("REP_POLICY_OVERRIDES", lambda: _access(preset, value["REP_POLICY_OVERRIDES"]))
    limits = Limits(
        min_seconds=value["REP_CACHE_MIN_SECONDS"],
        max_seconds=max_seconds,
        asked_max_seconds=_asked_max(preset, max_seconds),
        stale_seconds=value["REP_STALE_SECONDS"],
        retry_first_seconds=value["REP_RETRY_FIRST_SECONDS"],
        retry_max_seconds=value["REP_RETRY_MAX_SECONDS"],
        retry_after_max_seconds=value["REP_RETRY_AFTER_MAX_SECONDS"],
    )
    return PolicyOptions(
        access=access,
        limits=limits,
        allow_after_30_days=value["REP_UNREACHABLE_AFTER_30_DAYS"] == "allow",
    )


def rules_under(rules: PolicyOptions, preset: str) -> PolicyOptions:
    """The same rules with another preset, which no override of single events changes."""
    limits = rules.limits
    return replace(
        rules,
        access=AccessPolicy(preset),
        limits=replace(limits, asked_max_seconds=_asked_max(preset, limits.max_seconds)),
    )


def _access(preset: str, overrides: dict[str, str]) -> AccessPolicy:
    for name in overrides:
        if name in FOLLOWED:
            raise ConfigurationError(
                f"{name!r} would never act, because redirects are followed to their end: use "
                "'redirect' for those that lead to no file, or the status at their end"
            )
    return AccessPolicy(preset, overrides)


def _asked_max(preset: str, max_seconds: float) -> float:
    return max(max_seconds, _GOOGLE_SECONDS) if preset == GOOGLE else max_seconds


def named(name: str, build: Callable[[], Value]) -> Value:
    """What `build` returns; its error names the setting.

    Raises:
        ConfigurationError: `build` raised it.
    """
    try:
        return build()
    except ConfigurationError as error:
        raise ConfigurationError(f"{name}: {error}") from None

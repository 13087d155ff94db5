"""Settings: each wrong value is refused in words that name the setting and the mend."""

from __future__ import annotations

from typing import Any

import pytest
from scrapy.settings import Settings

from scrapy_rep import ConfigurationError
from scrapy_rep.protocol.access import PRESETS
from scrapy_rep.settings import SETTINGS, RepSettings


def test_defaults_pass_their_own_checks() -> None:
    values = RepSettings.of(Settings())
    assert values.rules.access.preset == "rfc9309"
    assert values.parse_limit_octets == 512_000
    assert values.redirect_hops == 5


@pytest.mark.parametrize("preset", PRESETS)
def test_every_preset_is_accepted(preset: str) -> None:
    assert RepSettings.of(Settings({"REP_POLICY": preset})).rules.access.preset == preset


def test_numbers_may_come_as_strings_from_the_command_line() -> None:
    values = RepSettings.of(
        Settings(
            {
                "REP_FETCH_TIMEOUT_SECONDS": "2.5",
                "REP_REDIRECT_HOPS": "7",
                "REP_QUICK_RETRY_SECONDS": "0.5,2",
                "REP_DRY_RUN": "1",
            }
        )
    )
    assert values.fetch_timeout_seconds == 2.5
    assert values.redirect_hops == 7
    assert values.quick_retry_seconds == (0.5, 2.0)
    assert values.dry_run


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("REP_POLICY", "rfc", "must be one of 'rfc9309'"),
        ("REP_POLICY_OVERRIDES", ["403"], "must be a dict"),
        ("REP_POLICY_OVERRIDES", {403: "disallow"}, "strings as keys"),
        ("REP_POLICY_OVERRIDES", {"40": "disallow"}, "no class of events"),
        ("REP_POLICY_OVERRIDES", {"": "disallow"}, "no class of events"),
        ("REP_POLICY_OVERRIDES", {"403": "deny"}, "can't mean 'deny'"),
        ("REP_POLICY_OVERRIDES", {"503": "rules"}, "can't mean 'rules'"),
        ("REP_FETCH_META", "proxy", "must be a dict"),
        ("REP_FETCH_TIMEOUT_SECONDS", 0, "must be a number"),
        ("REP_FETCH_TIMEOUT_SECONDS", "soon", "must be a number"),
        ("REP_FETCH_TIMEOUT_SECONDS", float("nan"), "must be a number"),
        ("REP_FETCH_TIMEOUT_SECONDS", float("inf"), "must be a number"),
        ("REP_UNREACHABLE_WAIT_SECONDS", -1, "must be a number"),
        ("REP_REDIRECT_HOPS", 4, "whole number of 5 or more"),
        ("REP_REDIRECT_HOPS", 5.5, "whole number"),
        ("REP_REDIRECT_HOPS", True, "whole number"),
        ("REP_PARSE_LIMIT_OCTETS", 500_000, "512000 or more"),
        ("REP_CACHE_MAX_SECONDS", 0, "must be a number"),
        ("REP_CACHE_MIN_SECONDS", 90_000, "no more than REP_CACHE_MAX_SECONDS"),
        ("REP_UNREACHABLE_AFTER_30_DAYS", "maybe", "must be one of 'allow', 'disallow'"),
        ("REP_QUICK_RETRY_SECONDS", 5, "must be a list of numbers"),
        ("REP_QUICK_RETRY_SECONDS", [1, -1], "must be a number"),
        ("REP_REDIRECT_GUARD", "private", "must be one of 'any'"),
        ("REP_STORE", "redis", "must be 'auto'"),
        ("REP_STORE_PATH", 3, "must be a path"),
        ("REP_STORE_MAX_OCTETS", 10, "whole number of 65536 or more"),
        ("REP_OVERRIDES", {"example.com": "allow"}, "'example.com' can't be 'allow'"),
        ("REP_OVERRIDES", {"example.com": {"robots": ""}}, "use 'ignore'"),
        ("REP_DRY_RUN", "perhaps", "must be True or False"),
        ("REP_MEMORY_OCTETS", 0, "whole number of 1 or more"),
        ("REP_POLICY_OVERIDES", {}, "perhaps REP_POLICY_OVERRIDES is meant"),
    ],
)
def test_wrong_values_are_refused_by_name(name: str, value: Any, words: str) -> None:
    with pytest.raises(ConfigurationError) as raised:
        RepSettings.of(Settings({name: value}))
    assert name in str(raised.value)
    assert words in str(raised.value)


def test_settings_of_others_with_our_prefix_are_left_alone() -> None:
    RepSettings.of(Settings({"REP_SALES_REGION": "north"}))


def test_every_setting_has_a_sentence() -> None:
    for setting in SETTINGS.values():
        assert setting.meaning.endswith(".")
        assert setting.check(setting.default) == setting.default

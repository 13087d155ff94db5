"""The values of all REP_ settings, checked, which the rest of the package uses.

A wrong value stops the crawl, with an error that names the setting and says how to fix it: a
crawler that goes on with half of its manners is worse than one that does not start.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, fields
from importlib.util import find_spec
from typing import Any

from scrapy.settings import BaseSettings

from scrapy_rep.hosts import HostScope
from scrapy_rep.outcomes import GOOGLE, named, rules_of, rules_under
from scrapy_rep.overrides import Overrides
from scrapy_rep.protocol.access.exchange import PolicyOptions
from scrapy_rep.protocol.access.guard import Guard
from scrapy_rep.protocol.errors import ConfigurationError
from scrapy_rep.protocol.extensions.pace import Excess
from scrapy_rep.setting_table import SETTINGS, Setting

_SHOWN_CHARACTERS = 500
_USERINFO = re.compile(r"//[^/@]*@")


@dataclass(frozen=True, slots=True)
class RepSettings:
    """The values of all settings, checked.

    `rules` and `overrides` are built from several settings. Each other value bears the name of its
    setting (`setting_name`), and is what the check of that setting returns.
    """

    rules: PolicyOptions
    overrides: Overrides
    dry_run: bool
    fetch_meta: dict[str, Any]
    fetch_meta_keys: tuple[str, ...]
    fetch_timeout_seconds: float
    fetch_line_seconds: float
    quick_retry_seconds: tuple[float, ...]
    unreachable_wait_seconds: float
    unreachable_wait_count: int
    redirect_hops: int
    redirect_guard: Guard
    parse_limit_octets: int
    memory_octets: int
    crawl_delay_max_seconds: float
    crawl_delay_excess: Excess
    visit_time_obey: bool
    concurrent_fetches: int
    prefetch_origins: int
    unreachable_hold_seconds: float
    store: Any
    store_local: str
    store_path: str
    store_max_octets: int
    store_versions: int
    redis_url: str
    pace_scope: str
    fleet_lease_seconds: float
    fleet_schemes: tuple[str, ...]
    fleet_request_classes: tuple[str, ...]
    fleet_entry_octets: int
    filter_links: bool
    browser_wait_seconds: float
    sitemap_cross_host: HostScope
    sitemap_max: int
    sitemap_probe: bool
    page_obey: tuple[str, ...]
    page_meta: str
    link_rels: tuple[str, ...]
    uses: tuple[str, ...]
    uses_unknown: str
    usage_tokens: dict[str, tuple[str, ...]]
    item_field: str
    audit_dir: str
    audit_allowed: str
    audit_query: str
    audit_segment_octets: int
    audit_on_failure: str
    warc_dir: str
    warc_segment_octets: int
    warc_operator: str
    report: str
    tdmrep: bool

    def rules_under(self, preset: str) -> PolicyOptions:
        """The rules for a host that has a policy of its own in `REP_OVERRIDES`."""
        return rules_under(self.rules, preset)

    @property
    def needs_page_answers(self) -> bool:
        """Whether any policy in use asks whether pages of an origin answer: Google's does."""
        presets = {override.preset for *_, override in self.overrides.patterns}
        return GOOGLE in presets | {self.rules.access.preset}

    @classmethod
    def of(cls, settings: BaseSettings) -> RepSettings:
        """Read and check a crawl's settings.

        Raises:
            ConfigurationError: a value is wrong, or a name is nearly that of a setting.
        """
        _refuse_misspelt_names(settings)
        values = {name: _checked(setting, settings) for name, setting in SETTINGS.items()}
        if values["REP_STORE"] == "redis" and not values["REP_REDIS_URL"]:
            raise ConfigurationError(
                "REP_STORE = 'redis' needs REP_REDIS_URL, such as 'redis://localhost:6379/0'"
            )
        _check_report(values["REP_REPORT"], values["REP_AUDIT_DIR"])
        built: dict[str, Any] = {
            "rules": rules_of(values),
            "overrides": named("REP_OVERRIDES", lambda: Overrides.of(values["REP_OVERRIDES"])),
        }
        others = {name: values[setting_name(name)] for name in _names_of(cls) - set(built)}
        return cls(**built, **others)


@dataclass(frozen=True, slots=True)
class PageSettings:
    """Of these the values about pages, checked. They count with `ROBOTSTXT_OBEY` off as well.

    So a crawl that is switched off is not stopped by the settings that it does not use.
    """

    overrides: Overrides
    dry_run: bool
    page_obey: tuple[str, ...]
    page_meta: str
    link_rels: tuple[str, ...]
    uses: tuple[str, ...]
    uses_unknown: str
    usage_tokens: dict[str, tuple[str, ...]]
    item_field: str
    audit_dir: str
    audit_allowed: str
    audit_query: str
    audit_segment_octets: int
    audit_on_failure: str
    report: str
    tdmrep: bool

    @classmethod
    def of(cls, settings: BaseSettings) -> PageSettings:
        """Read and check them.

        Raises:
            ConfigurationError: a value is wrong, or a name is nearly that of a setting.
        """
        _refuse_misspelt_names(settings)
        names = {name: SETTINGS[setting_name(name)] for name in _names_of(cls)}
        values = {name: _checked(setting, settings) for name, setting in names.items()}
        _check_report(values["report"], values["audit_dir"])
        overrides = named("REP_OVERRIDES", lambda: Overrides.of(values["overrides"]))
        return cls(**{**values, "overrides": overrides})


def _check_report(report: str, audit_dir: str) -> None:
    """See that a report can be made, before the crawl begins."""
    if report and not audit_dir:
        raise ConfigurationError(
            "REP_REPORT needs REP_AUDIT_DIR, such as 'audit': a report is made of the audit trail"
        )
    if report and find_spec("jinja2") is None:
        raise ConfigurationError("REP_REPORT needs Jinja: pip install 'scrapy-rep[report]'")


def setting_name(name: str) -> str:
    """The setting that a value of `RepSettings` comes from: ``dry_run`` from ``REP_DRY_RUN``."""
    return f"REP_{name.upper()}"


def _names_of(cls: type[RepSettings | PageSettings]) -> set[str]:
    return {field.name for field in fields(cls)}


def _refuse_misspelt_names(settings: BaseSettings) -> None:
    for name in settings:
        if str(name).startswith("REP_") and name not in SETTINGS:
            from difflib import get_close_matches  # hardly ever needed

            meant = get_close_matches(str(name), SETTINGS, n=1, cutoff=0.8)
            if meant:
                raise ConfigurationError(
                    f"{name}: there is no such setting; did you mean {meant[0]}?"
                )


def _checked(setting: Setting, settings: BaseSettings) -> Any:
    value = settings.get(setting.name, setting.default)
    try:
        return setting.check(value)
    except ValueError as error:
        raise ConfigurationError(f"{setting.name} = {_shown(value)}: {error}") from None


def _shown(value: Any) -> str:
    """A value as its owner will recognise it, without passwords; the beginning of a long one."""
    try:
        text = repr(value)
    except Exception as error:  # noqa: BLE001 - ValueError, for one: int of 5,000 digits
        return f"a {type(value).__name__} that cannot be shown ({type(error).__name__})"
    text = _USERINFO.sub("//***@", text)
    return text if len(text) <= _SHOWN_CHARACTERS else f"{text[:_SHOWN_CHARACTERS]}..."

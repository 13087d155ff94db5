"""Every REP_ setting in one table, and the checked values that the rest of the package uses.

A value that is wrong stops the crawl, with an error that names the setting and the mend: a crawler
that goes on with half of its manners is worse than one that does not start.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any, TypeVar

from scrapy.settings import BaseSettings

from . import checks
from .hosts import HostScope
from .overrides import Overrides
from .protocol.access import PRESETS, AccessPolicy
from .protocol.errors import ConfigurationError
from .protocol.exchange import Rules
from .protocol.guard import Guard
from .protocol.lifetime import DAY_SECONDS, Limits
from .protocol.lines import PARSE_LIMIT_OCTETS
from .protocol.pace import Excess
from .protocol.redirects import LEAST_HOPS

Value = TypeVar("Value")

_GOOGLE = "google"
_GOOGLE_SECONDS = 30 * DAY_SECONDS  # Google's documentation lets max-age lengthen, without a limit


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting: its default, what its value must be, and one sentence for the user."""

    name: str
    default: Any
    check: Callable[[Any], Any]
    meaning: str


SETTINGS = {
    setting.name: setting
    for setting in (
        Setting(
            "REP_POLICY",
            "rfc9309",
            checks.one_of(*PRESETS),
            "What an answer without rules means: rfc9309, google, strict, lenient or scrapy.",
        ),
        Setting(
            "REP_POLICY_OVERRIDES",
            {},
            checks.mapping,
            "Exceptions from REP_POLICY, as {class of events: 'allow' or 'disallow'}, "
            "such as {'403': 'disallow', 'timeout': 'allow'}; the narrowest class decides.",
        ),
        Setting(
            "REP_FETCH_META",
            {},
            checks.mapping,
            "Merged into the meta of robots.txt requests: proxy, zyte_api, bindaddress, ...",
        ),
        Setting(
            "REP_FETCH_TIMEOUT_SECONDS",
            10.0,
            checks.number(0.001, whole=False),
            "How long each answer on the way to a robots.txt may take, connection included.",
        ),
        Setting(
            "REP_UNREACHABLE_WAIT_SECONDS",
            90.0,
            checks.number(0.001, whole=False),
            "How long a request waits for the policy of its origin; after that the robots.txt "
            "counts as unreachable for this request.",
        ),
        Setting(
            "REP_UNREACHABLE_WAIT_COUNT",
            10_000,
            checks.number(1, whole=True),
            "How many requests may wait for policies at a time; more are dropped as unreachable.",
        ),
        Setting(
            "REP_REDIRECT_HOPS",
            LEAST_HOPS,
            checks.number(LEAST_HOPS, whole=True),
            "How many redirects in a row are followed on the way to a robots.txt, at least 5.",
        ),
        Setting(
            "REP_PARSE_LIMIT_OCTETS",
            PARSE_LIMIT_OCTETS,
            checks.number(PARSE_LIMIT_OCTETS, whole=True),
            "How much of a robots.txt is downloaded and read, in octets, at least 512,000.",
        ),
        Setting(
            "REP_MEMORY_OCTETS",
            8 * 1024 * 1024,
            checks.number(1, whole=True),
            "How much memory the policies that are ready for use may take, roughly, in octets; "
            "with REP_STORE = 'memory' as much again holds what was fetched.",
        ),
        Setting(
            "REP_CACHE_MIN_SECONDS",
            60.0,
            checks.number(0, whole=False),
            "How long an answer holds at least, whatever its Cache-Control or Expires says.",
        ),
        Setting(
            "REP_CACHE_MAX_SECONDS",
            DAY_SECONDS,
            checks.number(1, whole=False),
            "How long an answer holds at most, and if it says nothing; RFC 9309 has 24 hours. "
            "Under the policy google, an answer may ask for up to 30 days.",
        ),
        Setting(
            "REP_STALE_SECONDS",
            30 * DAY_SECONDS,
            checks.number(0, whole=False),
            "How long a copy is used, as stale, while the file is unreachable.",
        ),
        Setting(
            "REP_UNREACHABLE_AFTER_30_DAYS",
            "disallow",
            checks.one_of("allow", "disallow"),
            "What the policy rfc9309 makes of a file that has been unreachable for 30 days.",
        ),
        Setting(
            "REP_QUICK_RETRY_SECONDS",
            (1.0, 4.0),
            checks.numbers,
            "The pauses before an unreachable file is asked for again while requests wait.",
        ),
        Setting(
            "REP_RETRY_FIRST_SECONDS",
            30.0,
            checks.number(0.001, whole=False),
            "After how long an unreachable file is asked for again; doubles each time.",
        ),
        Setting(
            "REP_RETRY_MAX_SECONDS",
            3600.0,
            checks.number(0.001, whole=False),
            "Where that doubling ends.",
        ),
        Setting(
            "REP_RETRY_AFTER_MAX_SECONDS",
            3600.0,
            checks.number(0, whole=False),
            "How long a Retry-After header of a robots.txt is obeyed at most.",
        ),
        Setting(
            "REP_REDIRECT_GUARD",
            "any",
            checks.one_of(*(guard.value for guard in Guard)),
            "Which other hosts a robots.txt may redirect to: any, same-site (of the same "
            "registrable domain) or public (at addresses of the Internet); what is refused counts "
            "as unreachable.",
        ),
        Setting(
            "REP_STORE",
            "auto",
            checks.store,
            "Where answers are kept: memory; sqlite, a file that processes share; the import path "
            "of a class; auto is sqlite where a file can be written, else memory.",
        ),
        Setting(
            "REP_STORE_PATH",
            "",
            checks.path,
            "The SQLite file; by default rep/robots.sqlite in the project's .scrapy folder, else "
            "in the user's cache folder for scrapy-rep.",
        ),
        Setting(
            "REP_STORE_MAX_OCTETS",
            1 << 30,
            checks.number(1 << 16, whole=True),
            "How large the SQLite file may grow before the oldest answers go, in octets.",
        ),
        Setting(
            "REP_CRAWL_DELAY_MAX_SECONDS",
            300.0,
            checks.number(0, whole=False),
            "The longest delay between requests that a site is granted as it asks for it.",
        ),
        Setting(
            "REP_CRAWL_DELAY_EXCESS",
            Excess.SKIP.value,
            checks.one_of(*(excess.value for excess in Excess)),
            "What is done about a longer one: skip (drop the requests), cap (leave the longest "
            "delay) or ignore (leave none but your own).",
        ),
        Setting(
            "REP_VISIT_TIME_OBEY",
            False,
            checks.flag,
            "Ask for pages only in the part of the day (UTC) that the site's Visit-time names.",
        ),
        Setting(
            "REP_CONCURRENT_FETCHES",
            64,
            checks.number(1, whole=True),
            "How many robots.txt are asked for at a time; they come on top of CONCURRENT_REQUESTS.",
        ),
        Setting(
            "REP_PREFETCH_ORIGINS",
            16,
            checks.number(0, whole=True),
            "For how many origins RepPriorityQueue asks ahead of need; 0 for none.",
        ),
        Setting(
            "REP_UNREACHABLE_HOLD_SECONDS",
            60.0,
            checks.number(0, whole=False),
            "How long RepPriorityQueue keeps the requests of an origin whose robots.txt is "
            "unreachable, if it is asked for again by then; after that they are dropped.",
        ),
        Setting(
            "REP_OVERRIDES",
            {},
            checks.mapping,
            "Policies by host pattern, such as {'intranet.example': 'ignore', '*.example.org': "
            "'strict', 'example.net': {'robots_txt': 'User-agent: *...'}}; the first that matches "
            "decides.",
        ),
        Setting(
            "REP_DRY_RUN",
            False,
            checks.flag,
            "Judge, annotate and count, but drop nothing.",
        ),
        Setting(
            "REP_FILTER_LINKS",
            False,
            checks.flag,
            "Drop requests that a policy in memory disallows before they are queued; no errback is "
            "called then.",
        ),
        Setting(
            "REP_SITEMAP_CROSS_HOST",
            "any",
            checks.one_of(*(scope.value for scope in HostScope)),
            "Which hosts the sitemaps of an origin may lie on, seen from it: any, same-site (of "
            "the same registrable domain) or same-host.",
        ),
        Setting(
            "REP_SITEMAP_MAX",
            1000,
            checks.number(1, whole=True),
            "How many sitemaps are asked for per origin, index files and redirects included.",
        ),
        Setting(
            "REP_SITEMAP_PROBE",
            False,
            checks.flag,
            "Whether sitemaps are looked for in well-known places, such as /sitemap.xml, where a "
            "robots.txt names none.",
        ),
    )
}


@dataclass(frozen=True, slots=True)
class RepSettings:
    """The values of all settings, checked."""

    rules: Rules
    overrides: Overrides
    dry_run: bool
    fetch_meta: dict[str, Any]
    fetch_timeout_seconds: float
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
    store_path: str
    store_max_octets: int
    filter_links: bool
    sitemap_cross_host: HostScope
    sitemap_max: int
    sitemap_probe: bool

    def rules_under(self, preset: str) -> Rules:
        """What decides for a host that has a policy of its own by `REP_OVERRIDES`."""
        limits = self.rules.limits
        return replace(
            self.rules,
            access=AccessPolicy(preset),
            limits=replace(limits, asked_max_seconds=_asked_max(preset, limits.max_seconds)),
        )

    @property
    def asks_whether_pages_answer(self) -> bool:
        """Whether any policy in use asks that: Google's does."""
        presets = {override.preset for *_, override in self.overrides.patterns}
        return _GOOGLE in presets | {self.rules.access.preset}

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
        return cls(
            rules=_rules(value),
            overrides=_named("REP_OVERRIDES", lambda: Overrides.of(value["REP_OVERRIDES"])),
            dry_run=value["REP_DRY_RUN"],
            fetch_meta=value["REP_FETCH_META"],
            fetch_timeout_seconds=value["REP_FETCH_TIMEOUT_SECONDS"],
            quick_retry_seconds=value["REP_QUICK_RETRY_SECONDS"],
            unreachable_wait_seconds=value["REP_UNREACHABLE_WAIT_SECONDS"],
            unreachable_wait_count=value["REP_UNREACHABLE_WAIT_COUNT"],
            redirect_hops=value["REP_REDIRECT_HOPS"],
            redirect_guard=Guard(value["REP_REDIRECT_GUARD"]),
            parse_limit_octets=value["REP_PARSE_LIMIT_OCTETS"],
            memory_octets=value["REP_MEMORY_OCTETS"],
            crawl_delay_max_seconds=value["REP_CRAWL_DELAY_MAX_SECONDS"],
            crawl_delay_excess=Excess(value["REP_CRAWL_DELAY_EXCESS"]),
            visit_time_obey=value["REP_VISIT_TIME_OBEY"],
            concurrent_fetches=value["REP_CONCURRENT_FETCHES"],
            prefetch_origins=value["REP_PREFETCH_ORIGINS"],
            unreachable_hold_seconds=value["REP_UNREACHABLE_HOLD_SECONDS"],
            store=value["REP_STORE"],
            store_path=value["REP_STORE_PATH"],
            store_max_octets=value["REP_STORE_MAX_OCTETS"],
            filter_links=value["REP_FILTER_LINKS"],
            sitemap_cross_host=HostScope(value["REP_SITEMAP_CROSS_HOST"]),
            sitemap_max=value["REP_SITEMAP_MAX"],
            sitemap_probe=value["REP_SITEMAP_PROBE"],
        )


def _rules(value: dict[str, Any]) -> Rules:
    preset = value["REP_POLICY"]
    max_seconds = value["REP_CACHE_MAX_SECONDS"]
    if value["REP_CACHE_MIN_SECONDS"] > max_seconds:
        raise ConfigurationError(
            "REP_CACHE_MIN_SECONDS: must be no more than REP_CACHE_MAX_SECONDS"
        )
    access = _named(
        "REP_POLICY_OVERRIDES", lambda: AccessPolicy(preset, value["REP_POLICY_OVERRIDES"])
    )
    limits = Limits(
        min_seconds=value["REP_CACHE_MIN_SECONDS"],
        max_seconds=max_seconds,
        asked_max_seconds=_asked_max(preset, max_seconds),
        stale_seconds=value["REP_STALE_SECONDS"],
        retry_first_seconds=value["REP_RETRY_FIRST_SECONDS"],
        retry_max_seconds=value["REP_RETRY_MAX_SECONDS"],
        retry_after_max_seconds=value["REP_RETRY_AFTER_MAX_SECONDS"],
    )
    return Rules(
        access=access,
        limits=limits,
        allow_after_30_days=value["REP_UNREACHABLE_AFTER_30_DAYS"] == "allow",
    )


def _asked_max(preset: str, max_seconds: float) -> float:
    return max(max_seconds, _GOOGLE_SECONDS) if preset == _GOOGLE else max_seconds


def _named(name: str, build: Callable[[], Value]) -> Value:
    try:
        return build()
    except ConfigurationError as error:
        raise ConfigurationError(f"{name}: {error}") from None


def _checked(setting: Setting, settings: BaseSettings) -> Any:
    value = settings.get(setting.name, setting.default)
    try:
        return setting.check(value)
    except ValueError as error:
        raise ConfigurationError(f"{setting.name} = {value!r}: {error}") from None

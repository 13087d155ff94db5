"""Every REP_ setting: its name, type, default, check and description.

A wrong value stops the crawl with an error that names the setting and says how to fix it. It is
better not to crawl than to ignore a part of the settings for polite crawling.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from importlib.util import find_spec
from typing import Any, Protocol

from scrapy.settings import BaseSettings

from scrapy_rep import checks
from scrapy_rep.checks import HostScope, Overrides
from scrapy_rep.extras import missing_extra
from scrapy_rep.protocol.access.events import PRESETS, AccessPolicy
from scrapy_rep.protocol.access.guard import Guard
from scrapy_rep.protocol.access.lifetime import Limits
from scrapy_rep.protocol.access.states import PolicyOptions
from scrapy_rep.protocol.errors import ConfigurationError
from scrapy_rep.protocol.extensions.pace import NO_PACE, Excess, Pace, SitePace, pace
from scrapy_rep.protocol.lines import PARSE_LIMIT_OCTETS
from scrapy_rep.protocol.units import DAY_SECONDS

CARRIED_KEYS = ("proxy", "bindaddress", "ftp_user", "ftp_password", "ftp_passive")
"""The meta keys of a page request that its robots.txt request has, too, by default."""

_SHOWN_CHARACTERS = 500
_USERINFO = re.compile(r"(\w+://)?[^\s'\"]\S{0,1000}@")  # also of a URL without its scheme
_GOOGLE = "google"
_GOOGLE_SECONDS = 30 * DAY_SECONDS  # Google's documentation sets no limit for max-age
_SIMILARITY = 0.8  # less similar names are no misspellings
_MOST_MEANT = 4
_LINE_FACTOR = 3  # requests may be queued longer in a slot, because the user set its delay


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting: its default, the check of its value, and its description."""

    default: Any
    check: Callable[[Any], Any]
    meaning: str


def _setting(default: Any, check: Callable[[Any], Any], meaning: str) -> Any:
    return field(metadata={"setting": Setting(default, check, meaning)})


class SetsPace(Protocol):
    """The policy of an origin, as far as its pace depends on it."""

    def site_pace(self, product_tokens: tuple[str, ...] | None = None) -> SitePace:
        """The pace that the site sets for some tokens, or for those of the crawl."""


@dataclass(frozen=True, slots=True)
class PaceSettings:
    """The settings that bound the paces of sites, checked: all limits are applied here."""

    crawl_delay_max_seconds: float = _setting(
        300.0, checks.number(0), "The longest delay between requests that a site may set."
    )
    crawl_delay_excess: Excess = _setting(
        "skip",
        checks.member_of(Excess),
        "The effect of a longer delay: skip (the requests are dropped), cap (the longest delay "
        "is used) or ignore (only your own delay is used).",
    )
    visit_time_obey: bool = _setting(
        False,
        checks.flag,
        "Fetch pages only in the part of the day (UTC) that the site's Visit-time names.",
    )

    @classmethod
    def of_trail(cls, told: Mapping[str, Any]) -> PaceSettings:
        """Read the settings of a run from its trail, which has no values that are the default.

        Raises:
            ConfigurationError: a value is wrong.
        """
        return cls(**{one.name: _checked(_name_of(one.name), told) for one in fields(cls)})

    def pace(self, policy: SetsPace, now: float, tokens: tuple[str, ...] | None = None) -> Pace:
        """The pace of an origin at `now`, POSIX seconds, for some tokens or those of the crawl."""
        said = policy.site_pace(tokens)
        if said.is_nothing:
            return NO_PACE
        found = pace(said, now, self.crawl_delay_max_seconds, self.crawl_delay_excess)
        return replace(found, window=said.visit_time) if self.visit_time_obey else found


@dataclass(frozen=True, slots=True)
class RepSettings(PaceSettings):
    """The values of all settings, checked. `SETTINGS` is their table.

    Attributes:
        options: what answers and failures mean, and for how long: built from several settings.
    """

    policy: str = _setting(
        "rfc9309",
        checks.one_of(*PRESETS),
        "The meaning of answers without rules: rfc9309, google, strict, lenient or scrapy.",
    )
    policy_overrides: dict[str, str] = _setting(
        {},
        checks.event_meanings,
        "Exceptions from REP_POLICY, as {class of events: 'allow' or 'disallow'}, "
        "such as {'403': 'disallow', 'timeout': 'allow'}; the narrowest class decides.",
    )
    fetch_meta: dict[str, Any] = _setting(
        {},
        checks.mapping,
        "Merged into the meta of robots.txt requests: proxy, zyte_api, bindaddress, ...",
    )
    fetch_meta_keys: tuple[str, ...] = _setting(
        CARRIED_KEYS,
        checks.names,
        "Which meta keys of a request are copied to the robots.txt request that is sent on its "
        "behalf; [] for none. REP_FETCH_META takes precedence.",
    )
    fetch_timeout_seconds: float = _setting(
        10.0,
        checks.number(0.001),
        "The longest time for each answer on the way to a robots.txt, connecting included; also "
        "how long a request of a page in a browser waits for its verdict before it is aborted.",
    )
    unreachable_wait_seconds: float = _setting(
        90.0,
        checks.number(0.001),
        "The longest total time for a robots.txt, with redirects and retries; after that it "
        "counts as unreachable. The time that it is queued in a slot is not included, and may be "
        "three times as long.",
    )
    parse_limit_octets: int = _setting(
        PARSE_LIMIT_OCTETS,
        checks.number(PARSE_LIMIT_OCTETS, whole=True),
        "How much of a robots.txt is downloaded and read, in octets, at least 512,000.",
    )
    memory_octets: int = _setting(
        64 * 1024 * 1024,
        checks.number(1, whole=True),
        "How much memory policies may take, roughly, in octets; policies of large files use at "
        "most half of it. With REP_STORE = 'memory', the fetched files may take the same amount "
        "in addition.",
    )
    cache_min_seconds: float = _setting(
        60.0,
        checks.number(0),
        "The shortest time that an answer is fresh, whatever its Cache-Control or Expires says.",
    )
    cache_max_seconds: float = _setting(
        DAY_SECONDS,
        checks.number(1),
        "The longest and default time that an answer is fresh; RFC 9309 says 24 hours. With the "
        "policy google, an answer may set up to 30 days.",
    )
    unreachable_after_30_days: str = _setting(
        "disallow",
        checks.one_of("allow", "disallow"),
        "The meaning of a file that has been unreachable for 30 days, under the policy rfc9309.",
    )
    quick_retry_seconds: tuple[float, ...] = _setting(
        (1.0, 4.0),
        checks.numbers,
        "The pauses between quick retries of an unreachable file, while requests wait.",
    )
    retry_first_seconds: float = _setting(
        30.0,
        checks.number(0.001),
        "How long to wait before an unreachable file is retried; doubles each time.",
    )
    fetch_middlewares: str = _setting(
        "all",
        checks.one_of("all", "builtin"),
        "Which downloader middlewares see the requests for robots.txt: all, or builtin (only those "
        "of Scrapy and of this package, if a middleware of the project breaks or blocks these "
        "requests). With builtin, a proxy that such a middleware sets is not used for robots.txt.",
    )
    redirect_guard: Guard = _setting(
        "any",
        checks.member_of(Guard),
        "Which other hosts a site may lead the crawl to, with redirects of its robots.txt and "
        "tdmrep.json, its sitemaps, and the pages that these list: any, same-site (of the same "
        "registrable domain) or public (at addresses of the Internet). After a refused redirect, "
        "the robots.txt counts as unreachable; other requests are dropped.",
    )
    guard_networks: tuple[Any, ...] = _setting(
        (),
        checks.networks,
        "Networks of your own that count as public for REP_REDIRECT_GUARD = 'public'.",
    )
    store: Any = _setting(
        "auto",
        checks.store,
        "Where answers are stored: memory; sqlite, a file that processes share; redis, which "
        "machines share (REP_REDIS_URL); the import path of a class; auto, which is redis if "
        "REP_REDIS_URL is set, sqlite where a file can be written, and memory otherwise.",
    )
    store_path: str = _setting(
        "",
        checks.path,
        "The SQLite file; by default rep/robots.sqlite in the project's .scrapy folder, or "
        "outside of a project in the user's cache folder for scrapy-rep. ':memory:' uses memory "
        "instead of a file, also in front of Redis.",
    )
    store_octets: int = _setting(
        4 << 30,
        checks.number(1, whole=True),
        "The largest size of the store, in octets, roughly: of the SQLite file, and of all answers "
        "in Redis, which also take no more than a quarter of its maxmemory. Then the oldest "
        "answers are deleted, in Redis those with large files first.",
    )
    store_versions: int = _setting(
        0,
        checks.number(0, whole=True),
        "How many distinct versions of each file the store keeps, the latest included, for "
        "'scrapy rep cache log' and 'diff'; 0 keeps no history. Redis keeps none either: the "
        "SQLite file in front of it does.",
    )
    redis_url: str = _setting(
        "",
        checks.by_extra("REP_REDIS_URL", ""),
        "The Redis that several workers share, such as redis://localhost:6379/0; rediss:// for "
        "TLS. It needs scrapy-rep[redis], and Scrapy on asyncio.",
    )
    redis_timeout_seconds: float = _setting(
        2.0,
        checks.number(0.01),
        "How long Redis may take for a reply; after that it counts as unreachable, and workers go "
        "on without it until it answers again.",
    )
    pace_scope: str = _setting(
        "fleet",
        checks.one_of("fleet", "process"),
        "Over which workers RepRedisScheduler keeps the delays of an origin, DOWNLOAD_DELAY "
        "included: fleet (all workers of the crawl) or process (each worker separately).",
    )
    fleet_lease_seconds: float = _setting(
        60.0,
        checks.number(1),
        "How long a worker of RepRedisScheduler that sends nothing to Redis counts as alive; then "
        "other workers get its requests. A worker with a callback that blocks for longer counts "
        "as dead.",
    )
    backoff: bool = _setting(
        True,
        checks.flag,
        "Whether pages that answer 429 or 503 are requested again later, and their origin rests if "
        "several do: requests go back to the queue, and one of them is sent after the rest.",
    )
    backoff_max_seconds: float = _setting(
        600.0,
        checks.number(0.001),
        "The longest Retry-After of a page that is obeyed; after that one request is sent.",
    )
    backoff_give_up_seconds: float = _setting(
        3600.0,
        checks.number(0.001),
        "How long an origin may give only such answers before its requests are dropped with "
        "RateLimited; they are dropped for the same time.",
    )
    learn_pace: bool = _setting(
        True,
        checks.flag,
        "Whether the pace that a site accepts is learned from its refusals, and from the RateLimit "
        "fields of its answers, and then kept (with REP_BACKOFF).",
    )
    learned_delay_max_seconds: float = _setting(
        60.0,
        checks.number(0.001),
        "The longest time between two requests that is learned.",
    )
    challenges: str = _setting(
        "rest",
        checks.one_of("rest", "pass"),
        "The effect of a page that an edge answers with a challenge (with REP_BACKOFF): rest (as "
        "after 429; after three in a row, requests are dropped with Challenged) or pass (the "
        "answer goes on to your own middlewares).",
    )
    concurrent_fetches: int = _setting(
        64,
        checks.number(1, whole=True),
        "How many robots.txt are fetched at a time, in addition to CONCURRENT_REQUESTS. Fetches "
        "that are queued in a slot do not count.",
    )
    unreachable_hold_seconds: float = _setting(
        60.0,
        checks.number(0),
        "How long RepPriorityQueue keeps the requests of an origin whose robots.txt is "
        "unreachable, if a retry is due in that time; otherwise they are dropped.",
    )
    open_files: bool = _setting(
        True,
        checks.flag,
        "Whether to raise the soft limit of open files of the process to the hard limit, and to "
        "close idle connections to hosts for which nothing is queued.",
    )
    overrides: Overrides = _setting(
        {},
        Overrides.of,
        "Policies by host, host:port or origin, such as {'intranet.example': 'ignore', "
        "'*.example.org': 'strict', 'example.net': {'robots_txt': 'User-agent: *...'}}; the first "
        "that matches decides. A policy may have a last day (UTC) and a reason, which stand in the "
        "audit trail: {'policy': 'ignore', 'until': '2027-01-31', 'why': 'contract 12'}.",
    )
    dry_run: bool = _setting(
        False,
        checks.flag,
        "Judge, annotate and count, but drop nothing; the log names the first twenty requests "
        "that would be dropped.",
    )
    filter_links: bool = _setting(
        False,
        checks.flag,
        "Drop requests that a policy in memory disallows before they are queued; their "
        "errbacks are not called.",
    )
    sitemap_cross_host: HostScope = _setting(
        "any",
        checks.member_of(HostScope),
        "Which hosts the sitemaps of an origin may be on: any, same-site (of the same "
        "registrable domain) or same-host.",
    )
    sitemap_max: int = _setting(
        1000,
        checks.number(1, whole=True),
        "How many sitemaps are fetched per origin, index files and redirects included.",
    )
    page_obey: tuple[str, ...] = _setting(
        (),
        checks.by_extra("REP_PAGE_OBEY", ()),
        "Which rules of pages are obeyed: nofollow and rel-nofollow drop requests; every other "
        "rule drops items: noindex, unavailable_after, noai, ...",
    )
    uses: tuple[str, ...] = _setting(
        (),
        checks.by_extra("REP_USES", ()),
        "The uses that you intend for the content: train-ai, search, ai-input, tdm. Items of pages "
        "that say n to one of them are dropped.",
    )
    use_level: str = _setting(
        "",
        checks.by_extra("REP_USE_LEVEL", ""),
        "How much of the content you intend to use: immediate, reference or full. Items of pages "
        "that permit less by Content-Signal (use=reference) are dropped; empty to ignore this.",
    )
    uses_unknown: str = _setting(
        "keep",
        checks.one_of("keep", "drop"),
        "Whether to keep or drop items of pages that say neither y nor n to one of REP_USES, "
        "or nothing about REP_USE_LEVEL, or "
        "that have a robots.txt that was not fetched or is unreachable.",
    )
    usage_tokens: dict[str, tuple[str, ...]] = _setting(
        {},
        checks.by_extra("REP_USAGE_TOKENS", {}),
        "Product tokens that stand for a use, such as {'train-ai': ['GPTBot']}: a group of "
        "their own that disallows a URL says n, as the group for __usage_ai-training always does.",
    )
    item_field: str = _setting(
        "",
        checks.text,
        "The item field in which to store the rules and preferences of the page, as a dict; "
        "empty to store nothing.",
    )
    audit_dir: str = _setting(
        "",
        checks.path,
        "The folder for audit trails: each crawl writes every decision into a new subfolder; "
        "empty for no audit trail. URLs are personal data.",
    )
    audit_query: str = _setting(
        "keep",
        checks.one_of("keep", "hash", "drop"),
        "How queries of URLs, and parameters of their paths (;jsessionid=...), are written to the "
        "trail: keep, drop, or hash, which replaces each with an HMAC-SHA-256 with a key of the "
        "run, so that equal ones stay equal.",
    )
    audit_max_octets: int = _setting(
        0,
        checks.number(0, whole=True),
        "The most octets that a crawl keeps in its audit trail, and as many in its archive of "
        "REP_WARC_DIR; 0 for no limit.",
    )
    audit_full: str = _setting(
        "stop",
        checks.one_of("stop", "continue"),
        "At REP_AUDIT_MAX_OCTETS, stop ends the crawl, with the reason audit_full or warc_full; "
        "continue lets it go on without further records. In both cases the trail or the archive "
        "is marked as incomplete.",
    )
    warc_dir: str = _setting(
        "",
        checks.path,
        "The folder for archives: each crawl writes all robots.txt requests and answers as WARC "
        "into a new subfolder; empty for no archive. Needs the extra [warc].",
    )
    report: str = _setting(
        "",
        checks.path,
        "The HTML file for a report of the crawl, which is written at its end from the trail in "
        "REP_AUDIT_DIR; %(run)s stands for the name of the run, so that each worker writes its own "
        "file; empty for no report.",
    )
    report_contact: str = _setting(
        "",
        checks.text,
        "The operator of the crawl and how to contact them, which reports show at the top; empty "
        "to show nothing.",
    )
    sign_key: str = _setting(
        "",
        checks.path,
        "The PEM file with the Ed25519 key that signs every request (Web Bot Auth), which only its "
        "owner may read; 'scrapy rep identity keygen' makes one. Empty to sign nothing. Needs "
        "REP_SIGN_AGENT.",
    )
    sign_agent: str = _setting(
        "",
        checks.by_extra("REP_SIGN_AGENT", ""),
        "The origin that publishes the public key of REP_SIGN_KEY, such as 'https://bot.example', "
        "or the URL of its keys, which the newest draft wants: "
        "'https://bot.example/.well-known/http-message-signatures-directory'.",
    )
    sign_http: bool = _setting(
        False,
        checks.flag,
        "Whether requests by http are signed too: others on the way can read their signatures, and "
        "use them for a minute.",
    )
    tdmrep: bool = _setting(
        False,
        checks.flag,
        "Whether to fetch /.well-known/tdmrep.json of each origin too, before its first page; it "
        "is fetched and stored like robots.txt, and only if robots.txt allows it.",
    )
    options: PolicyOptions = field(init=False)

    def __post_init__(self) -> None:
        """Check the settings that depend on each other.

        Raises:
            ConfigurationError: two settings contradict each other.
        """
        if self.store == "redis" and not self.redis_url:
            raise ConfigurationError(
                "REP_STORE = 'redis' needs REP_REDIS_URL, such as 'redis://localhost:6379/0'"
            )
        if bool(self.sign_key) != bool(self.sign_agent):
            raise ConfigurationError(
                "REP_SIGN_KEY and REP_SIGN_AGENT need each other: set the file of the key, and the "
                "origin that publishes it, such as 'https://bot.example'"
            )
        if self.guard_networks and self.redirect_guard is not Guard.PUBLIC:
            raise ConfigurationError(
                "REP_GUARD_NETWORKS needs REP_REDIRECT_GUARD = 'public', because the other values "
                "look at no address"
            )
        if self.report and not self.audit_dir:
            raise ConfigurationError(
                "REP_REPORT needs REP_AUDIT_DIR, such as 'audit': a report is made from the audit "
                "trail"
            )
        if self.report and find_spec("jinja2") is None:
            raise ConfigurationError("REP_REPORT needs Jinja: pip install 'scrapy-rep[report]'")
        if self.cache_min_seconds > self.cache_max_seconds:
            raise ConfigurationError(
                "REP_CACHE_MIN_SECONDS: must be no more than REP_CACHE_MAX_SECONDS"
            )
        limits = Limits(
            min_seconds=self.cache_min_seconds,
            max_seconds=self.cache_max_seconds,
            headers_max_seconds=self._headers_max_seconds(self.policy),
            retry_first_seconds=self.retry_first_seconds,
        )
        options = PolicyOptions(
            access=AccessPolicy(self.policy, self.policy_overrides),
            limits=limits,
            allow_after_30_days=self.unreachable_after_30_days == "allow",
        )
        object.__setattr__(self, "options", options)

    @classmethod
    def of(cls, settings: BaseSettings) -> RepSettings:
        """Read and check a crawl's settings.

        Raises:
            ConfigurationError: a value is wrong, or there is no setting of a name.
        """
        return cls(**checked_values(settings))

    def options_under(self, preset: str) -> PolicyOptions:
        """The options for hosts with their own preset, which ignore `REP_POLICY_OVERRIDES`."""
        headers_max_seconds = self._headers_max_seconds(preset)
        return replace(
            self.options,
            access=AccessPolicy(preset),
            limits=replace(self.options.limits, headers_max_seconds=headers_max_seconds),
        )

    def _headers_max_seconds(self, preset: str) -> float:
        longest = self.cache_max_seconds
        return max(longest, _GOOGLE_SECONDS) if preset == _GOOGLE else longest

    @property
    def line_seconds(self) -> float:
        """How long a robots.txt request may be queued in the slot of its host."""
        return _LINE_FACTOR * self.unreachable_wait_seconds

    @property
    def needs_page_answers(self) -> bool:
        """Whether a policy in use depends on the answers of pages, as google does."""
        presets = {override.preset for override in self.overrides.by_pattern.values()}
        return _GOOGLE in presets | {self.policy}


def _name_of(name: str) -> str:
    return f"REP_{name.upper()}"


_TABLED = [one for one in fields(RepSettings) if one.metadata]
SETTINGS: dict[str, Setting] = {_name_of(one.name): one.metadata["setting"] for one in _TABLED}
"""The table, by the names of the settings."""
PACE_SETTINGS = tuple(_name_of(one.name) for one in fields(PaceSettings))
"""The names of the settings that bound the paces of sites."""


def checked_values(settings: BaseSettings) -> dict[str, Any]:
    """The values of all settings, each checked by itself.

    Raises:
        ConfigurationError: a value is wrong, or there is no setting of a name.
    """
    _refuse_unknown_names(settings)
    return {one.name: _checked(_name_of(one.name), settings) for one in _TABLED}


def _refuse_unknown_names(settings: BaseSettings) -> None:
    for name in map(str, settings):
        is_ours = name.startswith("REP_") or name.upper() in SETTINGS
        if is_ours and name not in SETTINGS:
            meant = " or ".join(_meant_by(name.upper()))
            proposal = f"did you mean {meant}?" if meant else "the documentation lists all names"
            raise ConfigurationError(f"{name}: there is no such setting; {proposal}")


def _meant_by(name: str) -> list[str]:
    """The settings that a name may stand for: those that it begins, or the most similar ones.

    A cut name is not similar to the name that it begins.
    """
    if name in SETTINGS:  # in another letter case
        return [name]
    from difflib import get_close_matches  # hardly ever needed

    longer = [one for one in SETTINGS if one.startswith(name)]
    if 0 < len(longer) <= _MOST_MEANT:
        return longer
    return get_close_matches(name, SETTINGS, n=_MOST_MEANT, cutoff=_SIMILARITY)


def _checked(name: str, settings: BaseSettings | Mapping[str, Any]) -> Any:
    setting = SETTINGS[name]
    value = settings.get(name, setting.default)
    if value != setting.default and (extra := missing_extra(name)) is not None:
        raise extra.refusal(name)
    try:
        return setting.check(value)
    except ValueError as error:
        raise ConfigurationError(f"{name} = {_shown(value)}: {error}") from None


def _shown(value: Any) -> str:
    """The repr of a value without passwords, cut if it is long."""
    try:
        text = repr(value)
    except Exception as error:  # noqa: BLE001 - ValueError, for one: int of 5,000 digits
        return f"{type(value).__name__} that cannot be shown ({type(error).__name__})"
    text = _USERINFO.sub(r"\1***@", text)
    return text if len(text) <= _SHOWN_CHARACTERS else f"{text[:_SHOWN_CHARACTERS]}..."

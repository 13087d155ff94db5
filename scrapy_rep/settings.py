"""Every REP_ setting: its name, type, default and check, and what users are told of it.

A wrong value stops the crawl, with an error that names the setting and says how to fix it: a
crawler that goes on with half of its manners is worse than one that does not start.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from importlib.util import find_spec
from typing import Any

from scrapy.settings import BaseSettings

from scrapy_rep import checks
from scrapy_rep.checks import HostScope, Overrides
from scrapy_rep.protocol.access.events import PRESETS, AccessPolicy
from scrapy_rep.protocol.access.exchange import PolicyOptions
from scrapy_rep.protocol.access.guard import Guard
from scrapy_rep.protocol.access.lifetime import Limits
from scrapy_rep.protocol.errors import ConfigurationError
from scrapy_rep.protocol.extensions.pace import Excess
from scrapy_rep.protocol.lines import PARSE_LIMIT_OCTETS
from scrapy_rep.protocol.page.rule_words import OBEYED
from scrapy_rep.protocol.units import DAY_SECONDS
from scrapy_rep.protocol.usage.categories import CATEGORIES

_SHOWN_CHARACTERS = 500
_USERINFO = re.compile(r"//[^/@]*@")
_GOOGLE = "google"
_GOOGLE_SECONDS = 30 * DAY_SECONDS  # Google's documentation lets max-age lengthen, without a limit
_LINE_FACTOR = 3  # the delays of a slot are the user's own, so a queue in it may take longer


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting: its default, the check of its value, and what users are told of it."""

    default: Any
    check: Callable[[Any], Any]
    meaning: str


def _setting(default: Any, check: Callable[[Any], Any], meaning: str) -> Any:
    return field(metadata={"setting": Setting(default, check, meaning)})


@dataclass(frozen=True, slots=True)
class RepSettings:
    """The values of all settings, checked. `SETTINGS` is their table.

    Attributes:
        rules: what answers and failures mean, and for how long: built from several settings.
    """

    policy: str = _setting(
        "rfc9309",
        checks.one_of(*PRESETS),
        "What an answer without rules means: rfc9309, google, strict, lenient or scrapy.",
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
        ("proxy", "bindaddress", "ftp_user", "ftp_password", "ftp_passive"),
        checks.names,
        "Which meta keys of a request are copied to the robots.txt request that is sent on its "
        "behalf; [] for none. REP_FETCH_META takes precedence.",
    )
    fetch_timeout_seconds: float = _setting(
        10.0,
        checks.number(0.001),
        "How long each answer on the way to a robots.txt may take, with its connection; and how "
        "long a request of a page in a browser waits for its verdict before it is aborted.",
    )
    unreachable_wait_seconds: float = _setting(
        90.0,
        checks.number(0.001),
        "How long a robots.txt may take in all, with redirects and retries but without the "
        "time it is queued in a slot, which may be three times as long; after that it counts as "
        "unreachable.",
    )
    parse_limit_octets: int = _setting(
        PARSE_LIMIT_OCTETS,
        checks.number(PARSE_LIMIT_OCTETS, whole=True),
        "How much of a robots.txt is downloaded and read, in octets, at least 512,000.",
    )
    memory_octets: int = _setting(
        64 * 1024 * 1024,
        checks.number(1, whole=True),
        "How much memory policies may take, roughly, in octets; those of large files take at "
        "most half of it from others. With REP_STORE = 'memory', the fetched files may take as "
        "much again.",
    )
    cache_min_seconds: float = _setting(
        60.0,
        checks.number(0),
        "How long an answer is fresh at least, whatever its Cache-Control or Expires says.",
    )
    cache_max_seconds: float = _setting(
        DAY_SECONDS,
        checks.number(1),
        "How long an answer is fresh at most, and by default; RFC 9309 says 24 hours. Under "
        "the policy google, an answer may ask for up to 30 days.",
    )
    unreachable_after_30_days: str = _setting(
        "disallow",
        checks.one_of("allow", "disallow"),
        "What a file that has been unreachable for 30 days means under the policy rfc9309.",
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
    redirect_guard: Guard = _setting(
        "any",
        checks.member_of(Guard),
        "Which other hosts a robots.txt may redirect to: any, same-site (of the same "
        "registrable domain) or public (at addresses of the Internet); a refused redirect "
        "counts as unreachable.",
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
        "outside of a project in the user's cache folder for scrapy-rep. ':memory:' is for no "
        "file: memory takes its place, in front of Redis too.",
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
        checks.redis_url,
        "The Redis that several workers share, such as redis://localhost:6379/0; rediss:// for "
        "TLS. It needs scrapy-rep[redis], and Scrapy on asyncio.",
    )
    pace_scope: str = _setting(
        "fleet",
        checks.one_of("fleet", "process"),
        "Over which workers RepRedisScheduler keeps the delays of an origin, DOWNLOAD_DELAY "
        "included: fleet (all of the crawl) or process (each for itself).",
    )
    fleet_lease_seconds: float = _setting(
        60.0,
        checks.number(1),
        "How long a worker of RepRedisScheduler that is not heard of counts as alive; then "
        "others get its requests. A callback that blocks for longer counts as dead.",
    )
    crawl_delay_max_seconds: float = _setting(
        300.0, checks.number(0), "The longest delay between requests that a site may ask for."
    )
    crawl_delay_excess: Excess = _setting(
        "skip",
        checks.member_of(Excess),
        "What a longer delay leads to: skip (the requests are dropped), cap (the longest delay "
        "holds) or ignore (only your own delay holds).",
    )
    backoff: bool = _setting(
        True,
        checks.flag,
        "Whether an origin rests whose pages answer 429, or 503 with Retry-After or twice in a "
        "row: their requests go back to the queue, and one of them is sent after the rest.",
    )
    backoff_max_seconds: float = _setting(
        600.0,
        checks.number(0.001),
        "How far a Retry-After of a page is obeyed; after that one request is sent.",
    )
    backoff_give_up_seconds: float = _setting(
        3600.0,
        checks.number(0.001),
        "How long an origin may answer so, without any other answer, until its requests are "
        "dropped with RateLimited; and for how long they are.",
    )
    visit_time_obey: bool = _setting(
        False,
        checks.flag,
        "Fetch pages only in the part of the day (UTC) that the site's Visit-time names.",
    )
    concurrent_fetches: int = _setting(
        64,
        checks.number(1, whole=True),
        "How many robots.txt are fetched at a time, besides CONCURRENT_REQUESTS. Those that "
        "are queued in a slot do not count.",
    )
    unreachable_hold_seconds: float = _setting(
        60.0,
        checks.number(0),
        "How long RepPriorityQueue keeps the requests of an origin whose robots.txt is "
        "unreachable, if a retry is due by then; otherwise they are dropped.",
    )
    overrides: Overrides = _setting(
        {},
        Overrides.of,
        "Policies by host pattern, such as {'intranet.example': 'ignore', '*.example.org': "
        "'strict', 'example.net': {'robots_txt': 'User-agent: *...'}}; the first that matches "
        "decides.",
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
        checks.some_of(*OBEYED),
        "Which rules of pages are obeyed: nofollow and rel-nofollow drop requests, every other "
        "word drops items: noindex, unavailable_after, noai, ...",
    )
    uses: tuple[str, ...] = _setting(
        (),
        checks.some_of(*CATEGORIES),
        "What the content is for: train-ai, search, ai-input, tdm. Items of pages that say n "
        "to one of these are dropped.",
    )
    uses_unknown: str = _setting(
        "keep",
        checks.one_of("keep", "drop"),
        "What happens to items of pages that say neither y nor n to one of REP_USES, or whose "
        "robots.txt was not asked or is unreachable.",
    )
    usage_tokens: dict[str, tuple[str, ...]] = _setting(
        {},
        checks.names_by(*CATEGORIES),
        "Product tokens that stand for a use, such as {'train-ai': ['GPTBot']}: a group of "
        "their own that disallows a URL says n.",
    )
    item_field: str = _setting(
        "",
        checks.text,
        "The field of items that takes the rules and preferences of their page, as a dict; "
        "empty for none.",
    )
    audit_dir: str = _setting(
        "",
        checks.path,
        "The folder for audit trails: each crawl writes every decision into a folder of its "
        "own in it; empty for none. URLs are personal data.",
    )
    audit_query: str = _setting(
        "keep",
        checks.one_of("keep", "hash", "drop"),
        "What becomes of the queries of URLs in the trail: hash replaces them by an "
        "HMAC-SHA-256 with a key of the run, so that equal ones can be told.",
    )
    warc_dir: str = _setting(
        "",
        checks.path,
        "The folder for archives: each crawl writes every exchange about robots.txt into a "
        "folder of its own in it, as WARC; empty for none. Needs the extra [warc].",
    )
    report: str = _setting(
        "",
        checks.path,
        "The HTML file with a report of the crawl, which is written at its end from the trail "
        "in REP_AUDIT_DIR; %(run)s in it stands for the name of the run, so that workers write "
        "one each; empty for none.",
    )
    tdmrep: bool = _setting(
        False,
        checks.flag,
        "Whether each origin is asked for /.well-known/tdmrep.json too, before its first page: "
        "through the same exchange and store as robots.txt, which governs it.",
    )
    rules: PolicyOptions = field(init=False)

    def __post_init__(self) -> None:
        """Check what several settings say together.

        Raises:
            ConfigurationError: two of them do not go together.
        """
        if self.store == "redis" and not self.redis_url:
            raise ConfigurationError(
                "REP_STORE = 'redis' needs REP_REDIS_URL, such as 'redis://localhost:6379/0'"
            )
        if self.report and not self.audit_dir:
            raise ConfigurationError(
                "REP_REPORT needs REP_AUDIT_DIR, such as 'audit': a report is made of the audit "
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
            asked_max_seconds=self._asked_max_seconds(self.policy),
            retry_first_seconds=self.retry_first_seconds,
        )
        rules = PolicyOptions(
            access=AccessPolicy(self.policy, self.policy_overrides),
            limits=limits,
            allow_after_30_days=self.unreachable_after_30_days == "allow",
        )
        object.__setattr__(self, "rules", rules)

    @classmethod
    def of(cls, settings: BaseSettings) -> RepSettings:
        """Read and check a crawl's settings.

        Raises:
            ConfigurationError: a value is wrong, or a name is nearly that of a setting.
        """
        _refuse_misspelt_names(settings)
        values = {one.name: _checked(_name_of(one.name), settings) for one in _TABLED}
        return cls(**values)

    def rules_under(self, preset: str) -> PolicyOptions:
        """The rules for hosts with a preset of their own; no override of events changes it."""
        asked_max_seconds = self._asked_max_seconds(preset)
        return replace(
            self.rules,
            access=AccessPolicy(preset),
            limits=replace(self.rules.limits, asked_max_seconds=asked_max_seconds),
        )

    def _asked_max_seconds(self, preset: str) -> float:
        longest = self.cache_max_seconds
        return max(longest, _GOOGLE_SECONDS) if preset == _GOOGLE else longest

    @property
    def line_seconds(self) -> float:
        """How long a robots.txt request may be queued in the slot of its host."""
        return _LINE_FACTOR * self.unreachable_wait_seconds

    @property
    def needs_page_answers(self) -> bool:
        """Whether any policy in use asks whether pages of an origin answer: Google's does."""
        presets = {override.preset for *_, override in self.overrides.patterns}
        return _GOOGLE in presets | {self.policy}


def _name_of(name: str) -> str:
    return f"REP_{name.upper()}"


_TABLED = [one for one in fields(RepSettings) if one.metadata]
SETTINGS: dict[str, Setting] = {_name_of(one.name): one.metadata["setting"] for one in _TABLED}
"""The table, by the names of the settings."""


def _refuse_misspelt_names(settings: BaseSettings) -> None:
    for name in settings:
        if str(name).startswith("REP_") and name not in SETTINGS:
            from difflib import get_close_matches  # hardly ever needed

            meant = get_close_matches(str(name), SETTINGS, n=1, cutoff=0.8)
            if meant:
                raise ConfigurationError(
                    f"{name}: there is no such setting; did you mean {meant[0]}?"
                )


def _checked(name: str, settings: BaseSettings) -> Any:
    setting = SETTINGS[name]
    value = settings.get(name, setting.default)
    try:
        return setting.check(value)
    except ValueError as error:
        raise ConfigurationError(f"{name} = {_shown(value)}: {error}") from None


def _shown(value: Any) -> str:
    """A value as its owner will recognise it, without passwords; the beginning of a long one."""
    try:
        text = repr(value)
    except Exception as error:  # noqa: BLE001 - ValueError, for one: int of 5,000 digits
        return f"a {type(value).__name__} that cannot be shown ({type(error).__name__})"
    text = _USERINFO.sub("//***@", text)
    return text if len(text) <= _SHOWN_CHARACTERS else f"{text[:_SHOWN_CHARACTERS]}..."


def log_refusals_in_one_line() -> None:
    """See that a wrong setting, which stops the crawl, is one line of the log.

    Scrapy lets the error pass. So asyncio or Twisted log it, below the traceback of all that was
    being built.
    """
    for name in ("asyncio", "twisted"):
        logging.getLogger(name).addFilter(_in_one_line)  # once: a filter is not added again


def _in_one_line(record: logging.LogRecord) -> bool:
    error = record.exc_info[1] if record.exc_info else None
    if isinstance(error, ConfigurationError):
        record.msg, record.args = str(error), ()
        cause = error.__cause__  # of code that is not ours, such as a class that the user names
        record.exc_info = None if cause is None else (type(cause), cause, cause.__traceback__)
    return True

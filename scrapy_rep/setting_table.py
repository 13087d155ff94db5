"""Every REP_ setting in one table: its name, default and check, and what users are told of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from scrapy_rep import checks
from scrapy_rep.hosts import HostScope
from scrapy_rep.protocol.access.events import PRESETS
from scrapy_rep.protocol.access.guard import Guard
from scrapy_rep.protocol.access.redirects import LEAST_HOPS
from scrapy_rep.protocol.extensions.pace import Excess
from scrapy_rep.protocol.lines import PARSE_LIMIT_OCTETS
from scrapy_rep.protocol.page.rule_words import OBEYED
from scrapy_rep.protocol.units import DAY_SECONDS
from scrapy_rep.protocol.usage.categories import CATEGORIES


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting: its default, the check of its value, and one sentence for the user."""

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
            "REP_FETCH_META_KEYS",
            ("proxy", "bindaddress", "ftp_user", "ftp_password", "ftp_passive"),
            checks.names,
            "Which meta keys of a request are copied to the robots.txt request that is sent on its "
            "behalf; [] for none. REP_FETCH_META takes precedence.",
        ),
        Setting(
            "REP_FETCH_TIMEOUT_SECONDS",
            10.0,
            checks.number(0.001, whole=False),
            "How long each answer on the way to a robots.txt may take, with its connection.",
        ),
        Setting(
            "REP_UNREACHABLE_WAIT_SECONDS",
            90.0,
            checks.number(0.001, whole=False),
            "How long a robots.txt may take in all, with redirects and retries but without the "
            "time it is queued in a slot; after that it counts as unreachable.",
        ),
        Setting(
            "REP_FETCH_LINE_SECONDS",
            300.0,
            checks.number(0, whole=False),
            "How long a robots.txt request may be queued in the slot of its host, besides one "
            "delay of that slot; after that it counts as unreachable.",
        ),
        Setting(
            "REP_UNREACHABLE_WAIT_COUNT",
            10_000,
            checks.number(1, whole=True),
            "How many requests may wait for policies at a time; others are dropped as unreachable.",
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
            64 * 1024 * 1024,
            checks.number(1, whole=True),
            "How much memory policies may take, roughly, in octets; those of large files take at "
            "most half of it from others. With REP_STORE = 'memory', the fetched files may take as "
            "much again.",
        ),
        Setting(
            "REP_CACHE_MIN_SECONDS",
            60.0,
            checks.number(0, whole=False),
            "How long an answer is fresh at least, whatever its Cache-Control or Expires says.",
        ),
        Setting(
            "REP_CACHE_MAX_SECONDS",
            DAY_SECONDS,
            checks.number(1, whole=False),
            "How long an answer is fresh at most, and by default; RFC 9309 says 24 hours. Under "
            "the policy google, an answer may ask for up to 30 days.",
        ),
        Setting(
            "REP_STALE_SECONDS",
            30 * DAY_SECONDS,
            checks.number(0, whole=False),
            "How long a stale copy is used while the file is unreachable.",
        ),
        Setting(
            "REP_UNREACHABLE_AFTER_30_DAYS",
            "disallow",
            checks.one_of("allow", "disallow"),
            "What a file that has been unreachable for 30 days means under the policy rfc9309.",
        ),
        Setting(
            "REP_QUICK_RETRY_SECONDS",
            (1.0, 4.0),
            checks.numbers,
            "The pauses between quick retries of an unreachable file, while requests wait.",
        ),
        Setting(
            "REP_RETRY_FIRST_SECONDS",
            30.0,
            checks.number(0.001, whole=False),
            "How long to wait before an unreachable file is retried; doubles each time.",
        ),
        Setting(
            "REP_RETRY_MAX_SECONDS",
            3600.0,
            checks.number(0.001, whole=False),
            "The longest wait between retries.",
        ),
        Setting(
            "REP_RETRY_AFTER_MAX_SECONDS",
            3600.0,
            checks.number(0, whole=False),
            "The longest Retry-After of a robots.txt that is obeyed.",
        ),
        Setting(
            "REP_REDIRECT_GUARD",
            "any",
            checks.member_of(Guard),
            "Which other hosts a robots.txt may redirect to: any, same-site (of the same "
            "registrable domain) or public (at addresses of the Internet); a refused redirect "
            "counts as unreachable.",
        ),
        Setting(
            "REP_STORE",
            "auto",
            checks.store,
            "Where answers are stored: memory; sqlite, a file that processes share; redis, which "
            "machines share (REP_REDIS_URL); the import path of a class; auto, which is redis if "
            "REP_REDIS_URL is set, sqlite where a file can be written, and memory otherwise.",
        ),
        Setting(
            "REP_STORE_LOCAL",
            "sqlite",
            checks.one_of("sqlite", "memory"),
            "What stores answers in front of Redis, so that a worker asks Redis once for each and "
            "goes on without it: sqlite (REP_STORE_PATH) where a file can be written, or memory.",
        ),
        Setting(
            "REP_STORE_PATH",
            "",
            checks.path,
            "The SQLite file; by default rep/robots.sqlite in the project's .scrapy folder, or "
            "outside of a project in the user's cache folder for scrapy-rep.",
        ),
        Setting(
            "REP_STORE_MAX_OCTETS",
            1 << 30,
            checks.number(1 << 16, whole=True),
            "How large the SQLite file may grow before the oldest answers are deleted, in octets.",
        ),
        Setting(
            "REP_STORE_VERSIONS",
            0,
            checks.number(0, whole=True),
            "How many distinct versions of each file the store keeps, the latest included, for "
            "'scrapy rep cache log' and 'diff'; 0 keeps no history. Redis keeps none either: the "
            "SQLite file in front of it does.",
        ),
        Setting(
            "REP_REDIS_URL",
            "",
            checks.redis_url,
            "The Redis that several workers share, such as redis://localhost:6379/0; rediss:// for "
            "TLS. It needs scrapy-rep[redis], and Scrapy on asyncio.",
        ),
        Setting(
            "REP_PACE_SCOPE",
            "fleet",
            checks.one_of("fleet", "process"),
            "Over which workers RepRedisScheduler keeps the delays of an origin, DOWNLOAD_DELAY "
            "included: fleet (all of the crawl) or process (each for itself).",
        ),
        Setting(
            "REP_FLEET_LEASE_SECONDS",
            60.0,
            checks.number(1, whole=False),
            "How long a worker of RepRedisScheduler that is not heard of counts as alive; then "
            "others get its requests. A callback that blocks for longer counts as dead.",
        ),
        Setting(
            "REP_FLEET_SCHEMES",
            ("http", "https"),
            checks.names,
            "Which URLs RepRedisScheduler queues, and executes from the queue.",
        ),
        Setting(
            "REP_FLEET_REQUEST_CLASSES",
            (),
            checks.names,
            "Import paths of the classes of requests that RepRedisScheduler takes, beside those of "
            "Scrapy.",
        ),
        Setting(
            "REP_FLEET_ENTRY_OCTETS",
            1 << 20,
            checks.number(1 << 10, whole=True),
            "How long a request may be in the queue of RepRedisScheduler, in octets.",
        ),
        Setting(
            "REP_CRAWL_DELAY_MAX_SECONDS",
            300.0,
            checks.number(0, whole=False),
            "The longest delay between requests that a site may ask for.",
        ),
        Setting(
            "REP_CRAWL_DELAY_EXCESS",
            Excess.SKIP.value,
            checks.member_of(Excess),
            "What a longer delay leads to: skip (the requests are dropped), cap (the longest delay "
            "holds) or ignore (only your own delay holds).",
        ),
        Setting(
            "REP_VISIT_TIME_OBEY",
            False,
            checks.flag,
            "Fetch pages only in the part of the day (UTC) that the site's Visit-time names.",
        ),
        Setting(
            "REP_CONCURRENT_FETCHES",
            64,
            checks.number(1, whole=True),
            "How many robots.txt are fetched at a time, besides CONCURRENT_REQUESTS. Those that "
            "are queued in a slot do not count.",
        ),
        Setting(
            "REP_PREFETCH_ORIGINS",
            16,
            checks.number(0, whole=True),
            "How many robots.txt RepPriorityQueue fetches at a time ahead of need; 0 for none.",
        ),
        Setting(
            "REP_UNREACHABLE_HOLD_SECONDS",
            60.0,
            checks.number(0, whole=False),
            "How long RepPriorityQueue keeps the requests of an origin whose robots.txt is "
            "unreachable, if a retry is due by then; otherwise they are dropped.",
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
            "Judge, annotate and count, but drop nothing; the log names the first twenty requests "
            "that would be dropped.",
        ),
        Setting(
            "REP_FILTER_LINKS",
            False,
            checks.flag,
            "Drop requests that a policy in memory disallows before they are queued; their "
            "errbacks are not called.",
        ),
        Setting(
            "REP_BROWSER_WAIT_SECONDS",
            10.0,
            checks.number(0.001, whole=False),
            "How long a request that a page makes in a browser waits for the policy of its origin "
            "before it is aborted.",
        ),
        Setting(
            "REP_SITEMAP_CROSS_HOST",
            "any",
            checks.member_of(HostScope),
            "Which hosts the sitemaps of an origin may be on: any, same-site (of the same "
            "registrable domain) or same-host.",
        ),
        Setting(
            "REP_SITEMAP_MAX",
            1000,
            checks.number(1, whole=True),
            "How many sitemaps are fetched per origin, index files and redirects included.",
        ),
        Setting(
            "REP_SITEMAP_PROBE",
            False,
            checks.flag,
            "Whether spiders try well-known places for sitemaps, such as /sitemap.xml, where a "
            "robots.txt names none.",
        ),
        Setting(
            "REP_PAGE_OBEY",
            (),
            checks.some_of(*OBEYED),
            "Which rules of pages are obeyed: nofollow and rel-nofollow drop requests, every other "
            "word drops items: noindex, unavailable_after, noai, ...",
        ),
        Setting(
            "REP_PAGE_META",
            "document",
            checks.one_of("document", "head"),
            "Which meta elements count: those of the whole document, or of its head alone.",
        ),
        Setting(
            "REP_LINK_RELS",
            ("nofollow",),
            checks.names,
            "The relations of links that rel-nofollow in REP_PAGE_OBEY does not follow, such as "
            "ugc and sponsored.",
        ),
        Setting(
            "REP_USES",
            (),
            checks.some_of(*CATEGORIES),
            "What the content is for: train-ai, search, ai-input, tdm. Items of pages that say n "
            "to one of these are dropped.",
        ),
        Setting(
            "REP_USES_UNKNOWN",
            "keep",
            checks.one_of("keep", "drop"),
            "What happens to items of pages that say neither y nor n to one of REP_USES, or whose "
            "robots.txt was not asked or is unreachable.",
        ),
        Setting(
            "REP_USAGE_TOKENS",
            {},
            checks.names_by(*CATEGORIES),
            "Product tokens that stand for a use, such as {'train-ai': ['GPTBot']}: a group of "
            "their own that disallows a URL says n.",
        ),
        Setting(
            "REP_ITEM_FIELD",
            "",
            checks.text,
            "The field of items that takes the rules and preferences of their page, as a dict; "
            "empty for none.",
        ),
        Setting(
            "REP_AUDIT_DIR",
            "",
            checks.path,
            "The folder for audit trails: each crawl writes every decision into a folder of its "
            "own in it; empty for none. URLs are personal data.",
        ),
        Setting(
            "REP_AUDIT_ALLOWED",
            "each",
            checks.one_of("each", "count"),
            "Whether the trail holds each allowed decision, or their number by policy and rule.",
        ),
        Setting(
            "REP_AUDIT_QUERY",
            "keep",
            checks.one_of("keep", "hash", "drop"),
            "What becomes of the queries of URLs in the trail: hash replaces them by an "
            "HMAC-SHA-256 with a key of the run, so that equal ones can be told.",
        ),
        Setting(
            "REP_AUDIT_SEGMENT_OCTETS",
            64 * 1024 * 1024,
            checks.number(1 << 12, whole=True),
            "How large a file of the trail grows before it is packed and the next one begins, in "
            "octets.",
        ),
        Setting(
            "REP_AUDIT_ON_FAILURE",
            "continue",
            checks.one_of("continue", "stop"),
            "What happens when a record cannot be written: the crawl goes on, and the trail tells "
            "of the gap; or the spider is closed, with the reason audit_failed.",
        ),
        Setting(
            "REP_WARC_DIR",
            "",
            checks.path,
            "The folder for archives: each crawl writes every exchange about robots.txt into a "
            "folder of its own in it, as WARC; empty for none. Needs the extra [warc].",
        ),
        Setting(
            "REP_WARC_SEGMENT_OCTETS",
            1_000_000_000,
            checks.number(1 << 12, whole=True),
            "How large a WARC file grows before the next one begins, in octets.",
        ),
        Setting(
            "REP_WARC_OPERATOR",
            "",
            checks.text,
            "Who runs the crawl, as the first record of each WARC file tells it.",
        ),
        Setting(
            "REP_REPORT",
            "",
            checks.path,
            "The HTML file with a report of the crawl, which is written at its end from the trail "
            "in REP_AUDIT_DIR; %(run)s in it stands for the name of the run, so that workers write "
            "one each; empty for none.",
        ),
        Setting(
            "REP_TDMREP",
            False,
            checks.flag,
            "Whether each origin is asked for /.well-known/tdmrep.json too, before its first page: "
            "through the same exchange and store as robots.txt, which governs it.",
        ),
    )
}

"""The stats of a crawl with their meanings, and the `Journal` that counts them as integers."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from scrapy_rep.protocol.secrecy import without_userinfo

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

MEANINGS: dict[str, str] = {}
"""The meanings by name, for the documentation."""


def _stat(name: str, meaning: str) -> str:
    MEANINGS[name] = meaning
    return name


REQUESTS = _stat("robotstxt/request_count", "robots.txt files fetched, redirects not counted")
RESPONSES = _stat("robotstxt/response_count", "robots.txt files answered, whatever the status")
RESPONSE_STATUS = _stat("robotstxt/response_status_count/{}", "the same by last status")
EXCEPTIONS = _stat("robotstxt/exception_count/{}", "robots.txt fetches that failed, by exception")
FORBIDDEN = _stat("robotstxt/forbidden", "requests dropped")
VERDICT_ALLOWED = _stat("rep/verdict/allowed", "requests judged as allowed")
VERDICT_DISALLOWED = _stat("rep/verdict/disallowed", "requests judged as disallowed")
NOT_JUDGED = _stat("rep/not_judged", "requests of schemes that robots.txt does not govern")
EXEMPT = _stat("rep/exempt", "requests that carried dont_obey_robotstxt")
CACHE_HIT = _stat("rep/cache/hit", "requests that found their policy in memory")
CACHE_MISS = _stat("rep/cache/miss", "requests that started a fetch: no policy was in memory")
CACHE_WAITED = _stat("rep/cache/waited", "requests that waited for a fetch that was under way")
CACHE_GAVE_UP = _stat("rep/cache/gave_up", "requests that waited for a policy that did not come")
CACHE_EVICTED = _stat("rep/cache/evicted", "policies evicted from memory to make room")
CACHE_REFRESHED = _stat("rep/cache/refreshed", "policies that were fetched again while in use")
SHORTAGES = _stat("rep/shortage/{}", "downloads that failed because the machine was short of files")
DELAYED_ORIGINS = _stat("rep/pace/delayed_origins", "origins that set a delay between requests")
CAPPED = _stat("rep/pace/capped", "origin delays cut by REP_CRAWL_DELAY_EXCESS = 'cap'")
IGNORED = _stat("rep/pace/ignored", "origin delays ignored by REP_CRAWL_DELAY_EXCESS = 'ignore'")
SKIPPED = _stat("rep/pace/skipped", "requests dropped by REP_CRAWL_DELAY_EXCESS = 'skip'")
BACKOFF_RESTS = _stat("rep/backoff/rests", "rests of origins: 429, 503, a challenge or many errors")
BACKOFF_ORIGINS = _stat("rep/backoff/origins", "times that an origin began to rest")
BACKOFF_LEARNED = _stat("rep/backoff/learned", "times that the pace of an origin was learned")
BACKOFF_PUT_BACK = _stat("rep/backoff/put_back", "requests that went back to wait for such a rest")
BACKOFF_GIVEN_UP = _stat("rep/backoff/given_up", "origins given up: REP_BACKOFF_GIVE_UP_SECONDS")
BACKOFF_DROPPED = _stat("rep/backoff/dropped", "requests dropped because their origin was given up")
CHALLENGED = _stat("rep/challenged", "pages that an edge answered with a challenge")
SIGNED = _stat("rep/signed", "requests that were signed (REP_SIGN_KEY)")
SIGNED_AGAIN = _stat("rep/signed_again", "requests sent again with the signature that a site wants")
SIGNATURE_WANTED = _stat("rep/signature_wanted", "challenges that want a signature of the crawler")
PAYMENT_REQUIRED = _stat("rep/payment_required", "pages that answered 402 (Payment Required)")
PREFETCHED = _stat("rep/queue/prefetched", "policies fetched by the queue ahead of need")
HELD = _stat("rep/queue/held", "unreachable origins for which the queue kept requests")
DAMAGED = _stat("rep/queue/damaged", "queue files in the JOBDIR that could not be used")
LOST = _stat("rep/queue/lost", "requests lost in those files, by the count in the file")
PUT_BACK = _stat(
    "rep/queue/put_back",
    "requests put back: into the JOBDIR at the end, because their robots.txt has changed, or "
    "because the machine was short of open files",
)
FLEET_BATCHES = _stat("rep/fleet/batches", "batches sent to the queue in Redis")
FLEET_FAILED = _stat("rep/fleet/failed", "batches without a reply")
FLEET_IN_MEMORY = _stat(
    "rep/fleet/in_memory",
    "requests that can't be written to Redis, so their worker keeps them (see the log)",
)
FLEET_ASIDE = _stat(
    "rep/fleet/aside", "entries that break a rule, and keys of another type, set aside"
)
FLEET_PASSED_ON = _stat(
    "rep/fleet/passed_on", "entries that this worker could not use, and left to other workers"
)
FLEET_DEAD = _stat(
    "rep/fleet/dead_letters", "requests during which three workers in a row were lost"
)
FLEET_AGAIN = _stat("rep/fleet/again", "requests that another worker had before and did not finish")
FLEET_SUCCEEDED = _stat("rep/fleet/succeeded", "times that this worker counted as dead")
FLEET_EMPTIED = _stat("rep/fleet/emptied", "times that Redis was emptied, or older than before")
FLEET_LOST = _stat(
    "rep/fleet/lost", "requests that Redis lost: accepted, and neither fetched nor dropped nor dead"
)
FLEET_FILTER_LOST = _stat(
    "rep/fleet/filter_lost", "fingerprints that the filter in Redis lost: pages may come again"
)
FLEET_SEEDS = _stat("rep/fleet/start_urls", "start URLs taken from Redis, of a RedisSpider")
FLEET_FULL = _stat("rep/fleet/full", "batches while Redis had no memory left")
FLEET_MENDED = _stat("rep/fleet/mended", "times that the crawl in Redis was counted again")
STORE_HIT = _stat("rep/store/hit", "robots.txt files found in the store, so not fetched")
STORE_FAILED = _stat("rep/store/failed", "times that memory, or the local tier, replaced the store")
STORE_BACK = _stat("rep/store/back", "times that a failed store was used again")
STORE_UNREADABLE = _stat("rep/store/unreadable", "unreadable records in Redis, not used")
LEASE_LOST = _stat("rep/store/lease_lost", "answers not stored: another process had taken over")
LEASE_WAITED = _stat("rep/store/lease_waited", "looks at the store while another process fetched")
LATE = _stat("rep/late", "fetches that took longer than REP_UNREACHABLE_WAIT_SECONDS")
LINE_GAVE_UP = _stat("rep/line/gave_up", "fetches given up while queued in a slot")
QUICK_RETRIES = _stat("rep/quick_retries", "fetches retried after a short pause")
CONFIRMED = _stat("rep/asked_twice", "files fetched twice: the first ended with the connection")
STALE = _stat("rep/stale", "times that a stale copy was used because the file was unreachable")
WOULD_DROP = _stat("rep/dry_run/would_drop", "requests that passed because of REP_DRY_RUN")
FILTERED = _stat("rep/filtered_links", "requests that REP_FILTER_LINKS dropped, not queued")
BROWSER_ALLOWED = _stat("rep/browser/allowed", "allowed requests of pages in browsers")
BROWSER_ABORTED = _stat("rep/browser/aborted", "requests of pages that were disallowed")
BROWSER_UNJUDGED = _stat("rep/browser/unjudged", "requests of pages without a verdict in time")
BROWSER_SLIPPED = _stat("rep/browser/slipped", "redirects to disallowed URLs, already followed")
SITEMAP_REQUESTS = _stat("rep/sitemap/request_count", "sitemaps requested, index files included")
SITEMAP_READ = _stat("rep/sitemap/read/{}", "sitemaps read, by kind: index, urlset, feed, text")
SITEMAP_INVALID = _stat("rep/sitemap/invalid", "answers to sitemap requests that were not sitemaps")
SITEMAP_CUT = _stat("rep/sitemap/cut", "sitemaps read in part: too large, or truncated")
SITEMAP_DAMAGED = _stat("rep/sitemap/damaged", "sitemaps read despite errors in them")
SITEMAP_LEFT_OUT = _stat(
    "rep/sitemap/left_out/{}",
    "sitemaps not fetched: another-host, guard, too-many, invalid, disallowed, unreachable",
)
SITEMAP_PAGES = _stat("rep/sitemap/pages", "pages scheduled because a sitemap lists them")
SITEMAP_UNCHANGED = _stat("rep/sitemap/unchanged", "entries that have not changed since `since`")
COVERAGE_LISTED = _stat("rep/coverage/listed", "URLs that sitemaps list and the spider wants")
COVERAGE_REQUESTED = _stat("rep/coverage/requested", "those that the crawl requested")
COVERAGE_FETCHED = _stat("rep/coverage/fetched", "those that were fetched (a status below 400)")
COVERAGE_REDIRECTED = _stat(
    "rep/coverage/redirected", "those that redirected to URLs that count by themselves"
)
COVERAGE_FAILED = _stat("rep/coverage/failed", "those that were requested without success")
COVERAGE_WOULD = _stat(
    "rep/coverage/would_be_disallowed", "those that robots.txt disallowed in a dry run"
)
COVERAGE_DISALLOWED = _stat("rep/coverage/disallowed", "those that robots.txt disallowed")
COVERAGE_MISSED = _stat("rep/coverage/never_reached", "those that the crawl did not reach")
COVERAGE_BEYOND = _stat("rep/coverage/beyond", "entries beyond 500,000 URLs, not followed")
PAGE_READ = _stat("rep/page/read", "responses whose page rules were read")
PAGE_REMARKS = _stat("rep/page/finding", "unusual things found in page rules")
PAGE_RULE = _stat("rep/page/rule/{}", "responses by rule: noindex, nofollow, max-snippet, ...")
PAGE_REQUESTS = _stat("rep/page/dropped_requests", "requests that REP_PAGE_OBEY dropped")
PAGE_ITEMS = _stat("rep/page/dropped_items", "items that REP_PAGE_OBEY dropped")
USAGE = _stat("rep/usage/{}/{}", "responses by category and preference: y, n, unknown")
USAGE_ITEMS = _stat("rep/usage/dropped_items", "items that REP_USES or REP_USE_LEVEL dropped")
WOULD_WITHHOLD_REQUESTS = _stat(
    "rep/dry_run/would_drop_links", "links that passed because of REP_DRY_RUN"
)
WOULD_WITHHOLD_ITEMS = _stat(
    "rep/dry_run/would_drop_items", "items that passed because of REP_DRY_RUN"
)
UNANNOTATED = _stat("rep/page/unannotated_items", "items without the field REP_ITEM_FIELD")
TDMREP_DISALLOWED = _stat("rep/tdmrep/disallowed", "tdmrep.json files that a robots.txt disallows")
TDMREP_FAILED = _stat("rep/tdmrep/failed", "times that a tdmrep.json could not be read")
ACCESS = _stat("rep/access/{}", "fetches by access result: successful, unavailable, unreachable")
EVENT = _stat("rep/event/{}", "fetches by status, or html, dns, timeout, ...")


def of_tdmrep(name: str) -> str:
    """The stat of tdmrep.json that is counted like one of robots.txt."""
    return f"rep/tdmrep/{name.partition('/')[2]}"


for _name in (REQUESTS, RESPONSES, RESPONSE_STATUS, EXCEPTIONS, ACCESS, EVENT, STORE_HIT):
    _stat(of_tdmrep(_name), MEANINGS[_name].replace("robots.txt", "tdmrep.json"))

GUARDED = _stat(
    "rep/guarded", "URLs named by sites that REP_REDIRECT_GUARD refused, redirects included"
)
REDIRECT_HOPS = _stat("rep/redirect_hops", "redirects of robots.txt and tdmrep.json, followed")
PARSE_LIMIT = _stat("rep/parse_limit", "files longer than the parse limit")
PARSER_FAILED = _stat("rep/parser_failed", "files or URLs on which ROBOTSTXT_PARSER raised")
AUDIT_RECORDS = _stat("rep/audit/records", "records in the audit trail, with marks and policies")
AUDIT_GAPS = _stat("rep/audit/gaps", "times that the audit trail could not be written")
AUDIT_SEGMENTS = _stat("rep/audit/segments", "files of the audit trail")
WARC_RECORDS = _stat("rep/warc/records", "records in the WARC files, with the first of each file")
WARC_FAILED = _stat("rep/warc/failed", "exchanges that could not be archived")

_TOLD = 20  # lines of one kind; a failing disk may have thousands


class Journal:
    """Counts stats of a crawl, and logs lines with its spider, in which URLs have no userinfo."""

    def __init__(self, crawler: Crawler, name: str = "scrapy_rep") -> None:
        """Take the crawl, and the name of the logger: that of the module."""
        self._crawler = crawler
        self._logger = logging.getLogger(name)
        self._told: set[str] = set()

    def count(self, name: str, count: int = 1) -> None:
        """Increase a stat; a count of 0 creates no stat."""
        if count:
            self._increase(name, count)

    @cached_property
    def _increase(self) -> Callable[..., None]:
        return self._crawler.stats.inc_value  # each look-up takes several calls

    @property
    def extra(self) -> dict[str, Any]:
        """The `extra` of a log record."""
        return {"spider": self._crawler.spider}

    @property
    def tells_details(self) -> bool:
        """Whether the log has lines at DEBUG: with LOG_LEVEL, Scrapy sets handlers, not loggers."""
        logger: logging.Logger | None = self._logger
        if not self._logger.isEnabledFor(logging.DEBUG):
            return False
        while logger is not None:
            for handler in logger.handlers:
                if handler.level <= logging.DEBUG:
                    return True
            logger = logger.parent if logger.propagate else None
        return False

    def debug(self, words: str, *values: object) -> None:
        """Log a detail, at DEBUG."""
        if self.tells_details:
            self._log(logging.DEBUG, words, values)

    def info(self, words: str, *values: object) -> None:
        """Log what is as it should be."""
        self._log(logging.INFO, words, values)

    def warning(self, words: str, *values: object) -> None:
        """Log what the user should know."""
        self._log(logging.WARNING, words, values)

    def error(self, words: str, *values: object) -> None:
        """Log what the user has to fix."""
        self._log(logging.ERROR, words, values)

    def exception(self, words: str, *values: object) -> None:
        """Log an error with the exception that the caller handles."""
        self._log(logging.ERROR, words, values, exc_info=True)

    def once(self, about: str, words: str, *values: object, level: int = logging.ERROR) -> None:
        """Log a line unless there was one about the same, or about twenty other things."""
        if about not in self._told and len(self._told) < _TOLD:
            self._told.add(about)
            words += " (more cases of this are only counted)"
            self._log(level, words, values)

    def _log(
        self, level: int, words: str, values: tuple[object, ...], *, exc_info: bool = False
    ) -> None:
        if self._logger.isEnabledFor(level):
            shown, extra = map(_shown, values), self.extra
            self._logger.log(level, words, *shown, exc_info=exc_info, extra=extra, stacklevel=3)


def _shown(value: object) -> object:
    """A value of a log line without userinfo."""
    if isinstance(value, Mapping):
        return {name: _shown(one) for name, one in value.items()}
    text = "" if isinstance(value, (int, float)) else str(value)
    return without_userinfo(text) if "@" in text else value

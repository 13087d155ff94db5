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


def stat(name: str, meaning: str) -> str:
    """A stat with its meaning; an extra has a module of its own."""
    MEANINGS[name] = meaning
    return name


REQUESTS = stat("robotstxt/request_count", "robots.txt files fetched, redirects not counted")
RESPONSES = stat("robotstxt/response_count", "robots.txt files answered, whatever the status")
RESPONSE_STATUS = stat("robotstxt/response_status_count/{}", "the same by last status")
EXCEPTIONS = stat("robotstxt/exception_count/{}", "robots.txt fetches that failed, by exception")
FORBIDDEN = stat("robotstxt/forbidden", "requests dropped")
VERDICT_ALLOWED = stat("rep/verdict/allowed", "requests judged as allowed")
VERDICT_DISALLOWED = stat("rep/verdict/disallowed", "requests judged as disallowed")
NOT_JUDGED = stat("rep/not_judged", "requests of schemes that robots.txt does not govern")
EXEMPT = stat("rep/exempt", "requests that carried dont_obey_robotstxt")
CACHE_HIT = stat("rep/cache/hit", "requests that found their policy in memory")
CACHE_MISS = stat("rep/cache/miss", "requests that started a fetch: no policy was in memory")
CACHE_WAITED = stat("rep/cache/waited", "requests that waited for a fetch that was under way")
CACHE_GAVE_UP = stat("rep/cache/gave_up", "requests that waited for a policy that did not come")
CACHE_EVICTED = stat("rep/cache/evicted", "policies evicted from memory to make room")
CACHE_REFRESHED = stat("rep/cache/refreshed", "policies that were fetched again while in use")
SHORTAGES = stat("rep/shortage/{}", "downloads that failed because the machine was short of files")
DELAYED_ORIGINS = stat("rep/pace/delayed_origins", "origins that set a delay between requests")
CAPPED = stat("rep/pace/capped", "origin delays cut by REP_CRAWL_DELAY_EXCESS = 'cap'")
IGNORED = stat("rep/pace/ignored", "origin delays ignored by REP_CRAWL_DELAY_EXCESS = 'ignore'")
SKIPPED = stat("rep/pace/skipped", "requests dropped by REP_CRAWL_DELAY_EXCESS = 'skip'")
BACKOFF_RESTS = stat("rep/backoff/rests", "rests of origins: 429, 503, a challenge or many errors")
BACKOFF_ORIGINS = stat("rep/backoff/origins", "times that an origin began to rest")
BACKOFF_LEARNED = stat("rep/backoff/learned", "times that the pace of an origin was learned")
BACKOFF_PUT_BACK = stat("rep/backoff/put_back", "requests that went back to wait for such a rest")
BACKOFF_GIVEN_UP = stat("rep/backoff/given_up", "origins given up: REP_BACKOFF_GIVE_UP_SECONDS")
BACKOFF_DROPPED = stat("rep/backoff/dropped", "requests dropped because their origin was given up")
CHALLENGED = stat("rep/challenged", "pages that an edge answered with a challenge")
SIGNATURE_WANTED = stat("rep/signature_wanted", "challenges that want a signature of the crawler")
PAYMENT_REQUIRED = stat("rep/payment_required", "pages that answered 402 (Payment Required)")
PREFETCHED = stat("rep/queue/prefetched", "policies fetched by the queue ahead of need")
HELD = stat("rep/queue/held", "unreachable origins for which the queue kept requests")
DAMAGED = stat("rep/queue/damaged", "queue files in the JOBDIR that could not be used")
LOST = stat("rep/queue/lost", "requests lost in those files, by the count in the file")
PUT_BACK = stat(
    "rep/queue/put_back",
    "requests put back: into the JOBDIR at the end, because their robots.txt has changed, or "
    "because the machine was short of open files",
)
STORE_HIT = stat("rep/store/hit", "robots.txt files found in the store, so not fetched")
STORE_FAILED = stat("rep/store/failed", "times that memory, or the local tier, replaced the store")
STORE_BACK = stat("rep/store/back", "times that a failed store was used again")
STORE_UNREADABLE = stat("rep/store/unreadable", "unreadable records in Redis, not used")
LEASE_LOST = stat("rep/store/lease_lost", "answers not stored: another process had taken over")
LEASE_WAITED = stat("rep/store/lease_waited", "looks at the store while another process fetched")
LATE = stat("rep/late", "fetches that took longer than REP_UNREACHABLE_WAIT_SECONDS")
LINE_GAVE_UP = stat("rep/line/gave_up", "fetches given up while queued in a slot")
QUICK_RETRIES = stat("rep/quick_retries", "fetches retried after a short pause")
CONFIRMED = stat("rep/asked_twice", "files fetched twice: the first ended with the connection")
STALE = stat("rep/stale", "times that a stale copy was used because the file was unreachable")
WOULD_DROP = stat("rep/dry_run/would_drop", "requests that passed because of REP_DRY_RUN")
FILTERED = stat("rep/filtered_links", "requests that REP_FILTER_LINKS dropped, not queued")
BROWSER_ALLOWED = stat("rep/browser/allowed", "allowed requests of pages in browsers")
BROWSER_ABORTED = stat("rep/browser/aborted", "requests of pages that were disallowed")
BROWSER_UNJUDGED = stat("rep/browser/unjudged", "requests of pages without a verdict in time")
BROWSER_SLIPPED = stat("rep/browser/slipped", "redirects to disallowed URLs, already followed")
SITEMAP_REQUESTS = stat("rep/sitemap/request_count", "sitemaps requested, index files included")
SITEMAP_READ = stat("rep/sitemap/read/{}", "sitemaps read, by kind: index, urlset, feed, text")
SITEMAP_INVALID = stat("rep/sitemap/invalid", "answers to sitemap requests that were not sitemaps")
SITEMAP_CUT = stat("rep/sitemap/cut", "sitemaps read in part: too large, or truncated")
SITEMAP_DAMAGED = stat("rep/sitemap/damaged", "sitemaps read despite errors in them")
SITEMAP_LEFT_OUT = stat(
    "rep/sitemap/left_out/{}",
    "sitemaps not fetched: another-host, guard, too-many, invalid, disallowed, unreachable",
)
SITEMAP_PAGES = stat("rep/sitemap/pages", "pages scheduled because a sitemap lists them")
SITEMAP_UNCHANGED = stat("rep/sitemap/unchanged", "entries that have not changed since `since`")
COVERAGE_LISTED = stat("rep/coverage/listed", "URLs that sitemaps list and the spider wants")
COVERAGE_REQUESTED = stat("rep/coverage/requested", "those that the crawl requested")
COVERAGE_FETCHED = stat("rep/coverage/fetched", "those that were fetched (a status below 400)")
COVERAGE_REDIRECTED = stat(
    "rep/coverage/redirected", "those that redirected to URLs that count by themselves"
)
COVERAGE_FAILED = stat("rep/coverage/failed", "those that were requested without success")
COVERAGE_WOULD = stat(
    "rep/coverage/would_be_disallowed", "those that robots.txt disallowed in a dry run"
)
COVERAGE_DISALLOWED = stat("rep/coverage/disallowed", "those that robots.txt disallowed")
COVERAGE_MISSED = stat("rep/coverage/never_reached", "those that the crawl did not reach")
COVERAGE_BEYOND = stat("rep/coverage/beyond", "entries beyond 500,000 URLs, not followed")
WOULD_WITHHOLD_REQUESTS = stat(
    "rep/dry_run/would_drop_links", "links that passed because of REP_DRY_RUN"
)
WOULD_WITHHOLD_ITEMS = stat(
    "rep/dry_run/would_drop_items", "items that passed because of REP_DRY_RUN"
)
ACCESS = stat("rep/access/{}", "fetches by access result: successful, unavailable, unreachable")
EVENT = stat("rep/event/{}", "fetches by status, or html, dns, timeout, ...")


GUARDED = stat(
    "rep/guarded", "URLs named by sites that REP_REDIRECT_GUARD refused, redirects included"
)
REDIRECT_HOPS = stat("rep/redirect_hops", "redirects of robots.txt and tdmrep.json, followed")
PARSE_LIMIT = stat("rep/parse_limit", "files longer than the parse limit")
PARSER_FAILED = stat("rep/parser_failed", "files or URLs on which ROBOTSTXT_PARSER raised")

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

"""The names of all stats, each with its meaning. Their values are integers.

The documentation is checked against this table.
"""

from __future__ import annotations

REQUESTS = "robotstxt/request_count"
RESPONSES = "robotstxt/response_count"
RESPONSE_STATUS = "robotstxt/response_status_count/{}"
EXCEPTIONS = "robotstxt/exception_count/{}"
FORBIDDEN = "robotstxt/forbidden"

VERDICT_ALLOWED = "rep/verdict/allowed"
VERDICT_DISALLOWED = "rep/verdict/disallowed"
NOT_JUDGED = "rep/not_judged"
EXEMPT = "rep/exempt"
CACHE_HIT = "rep/cache/hit"
CACHE_MISS = "rep/cache/miss"
CACHE_WAITED = "rep/cache/waited"
CACHE_GAVE_UP = "rep/cache/gave_up"
CACHE_EVICTED = "rep/cache/evicted"
CACHE_REFRESHED = "rep/cache/refreshed"
DELAYED_ORIGINS = "rep/pace/delayed_origins"
CAPPED = "rep/pace/capped"
IGNORED = "rep/pace/ignored"
SKIPPED = "rep/pace/skipped"
PREFETCHED = "rep/queue/asked"
HELD = "rep/queue/held"
STORE_HIT = "rep/store/hit"
STORE_FAILED = "rep/store/failed"
LEASE_WAITED = "rep/store/lease_waited"
QUICK_RETRIES = "rep/quick_retries"
STALE = "rep/stale"
WOULD_DROP = "rep/dry_run/would_drop"
FILTERED = "rep/filtered_links"
SITEMAP_REQUESTS = "rep/sitemap/request_count"
SITEMAP_READ = "rep/sitemap/read/{}"
SITEMAP_INVALID = "rep/sitemap/invalid"
SITEMAP_CUT = "rep/sitemap/cut"
SITEMAP_LEFT_OUT = "rep/sitemap/left_out/{}"
SITEMAP_PAGES = "rep/sitemap/pages"
ACCESS = "rep/access/{}"
EVENT = "rep/event/{}"
REDIRECT_HOPS = "rep/redirect_hops"
PARSE_LIMIT = "rep/parse_limit"
PARSER_FAILED = "rep/parser_failed"

MEANINGS = {
    REQUESTS: "robots.txt files asked for, redirects not counted",
    RESPONSES: "robots.txt files answered, whatever the status",
    RESPONSE_STATUS: "the same by the status of the last answer",
    EXCEPTIONS: "robots.txt files that could not be had, by the exception",
    FORBIDDEN: "requests dropped",
    VERDICT_ALLOWED: "requests judged as allowed",
    VERDICT_DISALLOWED: "requests judged as disallowed",
    NOT_JUDGED: "requests of schemes that robots.txt does not govern",
    EXEMPT: "requests that carried dont_obey_robotstxt",
    CACHE_HIT: "requests whose policy was in memory",
    CACHE_MISS: "requests whose policy was not in memory, and whose origin nobody was asking",
    CACHE_WAITED: "requests that waited for a fetch that was under way",
    CACHE_GAVE_UP: "requests that could not wait, or no longer, for the policy of their origin",
    CACHE_EVICTED: "policies dropped from memory to make room",
    CACHE_REFRESHED: "policies asked for again in the background while they were used",
    DELAYED_ORIGINS: "origins that ask for a delay between requests",
    CAPPED: "origins whose delay was cut by REP_CRAWL_DELAY_EXCESS = 'cap'",
    IGNORED: "origins whose delay was ignored by REP_CRAWL_DELAY_EXCESS = 'ignore'",
    SKIPPED: "requests dropped by REP_CRAWL_DELAY_EXCESS = 'skip'",
    PREFETCHED: "policies asked for by the queue, so that no request waited for them",
    HELD: "times that the queue kept an origin's requests since its robots.txt is unreachable",
    STORE_HIT: "policies that the store knew, so that nothing was fetched",
    STORE_FAILED: "times that the store was given up for memory: 0 or 1",
    LEASE_WAITED: "looks at the store for what another process was fetching",
    QUICK_RETRIES: "fetches repeated after a short pause",
    STALE: "times that a stale copy was taken for lack of a newer one",
    WOULD_DROP: "requests let through by REP_DRY_RUN that would have been dropped",
    FILTERED: "requests dropped by REP_FILTER_LINKS before they were queued",
    SITEMAP_REQUESTS: "sitemaps that spiders asked for, index files included",
    SITEMAP_READ: "sitemaps read, by kind: index, urlset, feed, text",
    SITEMAP_INVALID: "answers to sitemap requests that were no sitemaps",
    SITEMAP_CUT: "sitemaps of which only the beginning was read: too large, or damaged",
    SITEMAP_LEFT_OUT: "sitemaps not asked for: another-host, too-many, invalid",
    SITEMAP_PAGES: "pages that spiders asked for since sitemaps list them",
    ACCESS: "fetches by access result: successful, unavailable, unreachable",
    EVENT: "fetches by what happened: a status, or dns, timeout, redirect-loop, ...",
    REDIRECT_HOPS: "redirects of robots.txt that were followed",
    PARSE_LIMIT: "files longer than the parse limit",
    PARSER_FAILED: "files or URLs on which the parser of ROBOTSTXT_PARSER raised",
}

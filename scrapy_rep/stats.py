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
DAMAGED = "rep/queue/damaged"
LOST = "rep/queue/lost"
PUT_BACK = "rep/queue/put_back"
FLEET_EXCHANGES = "rep/fleet/exchanges"
FLEET_FAILED = "rep/fleet/failed"
FLEET_REFUSED = "rep/fleet/refused"
FLEET_ASIDE = "rep/fleet/aside"
FLEET_DEAD = "rep/fleet/dead_letters"
FLEET_AGAIN = "rep/fleet/again"
FLEET_SUCCEEDED = "rep/fleet/succeeded"
FLEET_EMPTIED = "rep/fleet/emptied"
FLEET_SEEDS = "rep/fleet/start_urls"
FLEET_ODD = "rep/fleet/odd_keys"
FLEET_MENDED = "rep/fleet/mended"
STORE_HIT = "rep/store/hit"
STORE_FAILED = "rep/store/failed"
STORE_BACK = "rep/store/back"
STORE_UNREADABLE = "rep/store/unreadable"
LEASE_LOST = "rep/store/lease_lost"
LEASE_WAITED = "rep/store/lease_waited"
LATE = "rep/late"
LINE_GAVE_UP = "rep/line/gave_up"
QUICK_RETRIES = "rep/quick_retries"
CONFIRMED = "rep/asked_twice"
STALE = "rep/stale"
WOULD_DROP = "rep/dry_run/would_drop"
FILTERED = "rep/filtered_links"
BROWSER_ALLOWED = "rep/browser/allowed"
BROWSER_ABORTED = "rep/browser/aborted"
BROWSER_UNJUDGED = "rep/browser/unjudged"
BROWSER_SLIPPED = "rep/browser/slipped"
SITEMAP_REQUESTS = "rep/sitemap/request_count"
SITEMAP_READ = "rep/sitemap/read/{}"
SITEMAP_INVALID = "rep/sitemap/invalid"
SITEMAP_CUT = "rep/sitemap/cut"
SITEMAP_DAMAGED = "rep/sitemap/damaged"
SITEMAP_LEFT_OUT = "rep/sitemap/left_out/{}"
SITEMAP_PAGES = "rep/sitemap/pages"
PAGE_READ = "rep/page/read"
PAGE_REMARKS = "rep/page/finding"
PAGE_RULE = "rep/page/rule/{}"
PAGE_REQUESTS = "rep/page/dropped_requests"
PAGE_ITEMS = "rep/page/dropped_items"
USAGE = "rep/usage/{}/{}"
USAGE_ITEMS = "rep/usage/dropped_items"
WOULD_WITHHOLD_REQUESTS = "rep/dry_run/would_drop_links"
WOULD_WITHHOLD_ITEMS = "rep/dry_run/would_drop_items"
UNANNOTATED = "rep/page/unannotated_items"
TDMREP_REQUESTS = "rep/tdmrep/request_count"
TDMREP_RESPONSES = "rep/tdmrep/response_count"
TDMREP_STATUS = "rep/tdmrep/response_status_count/{}"
TDMREP_EXCEPTIONS = "rep/tdmrep/exception_count/{}"
TDMREP_ACCESS = "rep/tdmrep/access/{}"
TDMREP_EVENT = "rep/tdmrep/event/{}"
TDMREP_STORE_HIT = "rep/tdmrep/store_hit"
TDMREP_DISALLOWED = "rep/tdmrep/disallowed"
TDMREP_FAILED = "rep/tdmrep/failed"
ACCESS = "rep/access/{}"
EVENT = "rep/event/{}"
REDIRECT_HOPS = "rep/redirect_hops"
PARSE_LIMIT = "rep/parse_limit"
PARSER_FAILED = "rep/parser_failed"
AUDIT_RECORDS = "rep/audit/records"
AUDIT_GAPS = "rep/audit/gaps"
AUDIT_SEGMENTS = "rep/audit/segments"
WARC_RECORDS = "rep/warc/records"
WARC_FAILED = "rep/warc/failed"

MEANINGS = {
    REQUESTS: "robots.txt files fetched, redirects not counted",
    RESPONSES: "robots.txt files answered, whatever the status",
    RESPONSE_STATUS: "the same by the status of the last answer",
    EXCEPTIONS: "robots.txt fetches that failed, by exception",
    FORBIDDEN: "requests dropped",
    VERDICT_ALLOWED: "requests judged as allowed",
    VERDICT_DISALLOWED: "requests judged as disallowed",
    NOT_JUDGED: "requests of schemes that robots.txt does not govern",
    EXEMPT: "requests that carried dont_obey_robotstxt",
    CACHE_HIT: "requests whose policy was in memory",
    CACHE_MISS: "requests that started a fetch, because their policy was not in memory",
    CACHE_WAITED: "requests that waited for a fetch that was under way",
    CACHE_GAVE_UP: "requests whose wait for a policy was refused or timed out",
    CACHE_EVICTED: "policies evicted from memory to make room",
    CACHE_REFRESHED: "policies fetched again in the background while they were used",
    DELAYED_ORIGINS: "origins that ask for a delay between requests",
    CAPPED: "origins whose delay was cut by REP_CRAWL_DELAY_EXCESS = 'cap'",
    IGNORED: "origins whose delay was ignored by REP_CRAWL_DELAY_EXCESS = 'ignore'",
    SKIPPED: "requests dropped by REP_CRAWL_DELAY_EXCESS = 'skip'",
    PREFETCHED: "policies fetched by the queue ahead of need",
    HELD: "origins whose requests the queue kept because their robots.txt was unreachable",
    DAMAGED: "queue files in the JOBDIR that could not be opened, read, written or closed",
    LOST: "requests lost in those files, by the count in the file",
    PUT_BACK: "requests put back into the JOBDIR, because they waited for a robots.txt or a visit "
    "time when the crawl was stopped",
    FLEET_EXCHANGES: "exchanges with the queue in Redis",
    FLEET_FAILED: "exchanges without a reply",
    FLEET_REFUSED: "requests that can't be queued in Redis; the log names what of them",
    FLEET_ASIDE: "entries of the queue that were not executed because they break a rule",
    FLEET_DEAD: "requests set aside because three workers in a row were lost with them",
    FLEET_AGAIN: "requests that another worker had before and did not finish",
    FLEET_SUCCEEDED: "times that this worker counted as dead and others got its requests",
    FLEET_EMPTIED: "times that Redis was found emptied, or older than it was",
    FLEET_SEEDS: "start URLs taken from Redis, of a RedisSpider",
    FLEET_ODD: "keys in Redis of another type than the crawl's, which were set aside",
    FLEET_MENDED: "times that this worker counted anew what Redis has of the crawl",
    STORE_HIT: "policies found in the store, so that nothing was fetched",
    STORE_FAILED: "times that the store failed and memory, or its local tier, took its place",
    STORE_BACK: "times that a failed store was used again",
    STORE_UNREADABLE: "records in Redis that could not be read or were another origin's: not used",
    LEASE_LOST: "answers not stored because another process had taken over the fetch",
    LEASE_WAITED: "looks at the store while another process was fetching",
    LATE: "fetches that took longer than REP_UNREACHABLE_WAIT_SECONDS",
    LINE_GAVE_UP: "fetches given up while queued in a slot, by time or number",
    QUICK_RETRIES: "fetches retried after a short pause",
    CONFIRMED: "files fetched twice, because the first answer ended with the connection",
    STALE: "times that a stale copy was used because the file was unreachable",
    WOULD_DROP: "requests that passed because of REP_DRY_RUN",
    FILTERED: "requests dropped by REP_FILTER_LINKS before they were queued",
    BROWSER_ALLOWED: "requests of pages in browsers that were allowed",
    BROWSER_ABORTED: "requests of pages in browsers that were disallowed, and aborted",
    BROWSER_UNJUDGED: "requests of pages in browsers aborted because no verdict came in time",
    BROWSER_SLIPPED: "redirects to disallowed URLs that a browser followed and we could not stop",
    SITEMAP_REQUESTS: "sitemaps that spiders requested, index files included",
    SITEMAP_READ: "sitemaps read, by kind: index, urlset, feed, text",
    SITEMAP_INVALID: "answers to sitemap requests that were not sitemaps",
    SITEMAP_CUT: "sitemaps read in part: too large, or truncated",
    SITEMAP_DAMAGED: "sitemaps read despite errors in them",
    SITEMAP_LEFT_OUT: (
        "sitemaps not fetched: another-host, too-many, invalid, disallowed, unreachable"
    ),
    SITEMAP_PAGES: "pages requested because a sitemap lists them",
    PAGE_READ: "responses whose page rules were read, because of REP_PAGE_OBEY or REP_ITEM_FIELD",
    PAGE_REMARKS: "what was unusual in them",
    PAGE_RULE: "responses that have a rule, by rule: noindex, nofollow, max-snippet, ...",
    PAGE_REQUESTS: "requests dropped because of nofollow or rel-nofollow in REP_PAGE_OBEY",
    PAGE_ITEMS: "items dropped because of another rule in REP_PAGE_OBEY",
    USAGE: "responses whose preferences were read, by category and preference: y, n, unknown",
    USAGE_ITEMS: "items dropped because of REP_USES",
    WOULD_WITHHOLD_REQUESTS: "requests that page rules would drop, but for REP_DRY_RUN",
    WOULD_WITHHOLD_ITEMS: "items that page rules or preferences would drop, but for REP_DRY_RUN",
    UNANNOTATED: "items that have no field of the name in REP_ITEM_FIELD",
    TDMREP_REQUESTS: "tdmrep.json files fetched because of REP_TDMREP, redirects not counted",
    TDMREP_RESPONSES: "tdmrep.json files answered, whatever the status",
    TDMREP_STATUS: "the same by the status of the last answer",
    TDMREP_EXCEPTIONS: "tdmrep.json fetches that failed, by exception",
    TDMREP_ACCESS: "the same by access result: successful, unavailable, unreachable",
    TDMREP_EVENT: "the same by what happened: a status, or dns, timeout, redirect-loop, ...",
    TDMREP_STORE_HIT: "tdmrep.json files found in the store, so that nothing was fetched",
    TDMREP_DISALLOWED: "URLs of tdmrep.json not fetched because a robots.txt disallows them",
    TDMREP_FAILED: "times that nobody knows what a tdmrep.json says: unreachable, or not fetched",
    ACCESS: "fetches by access result: successful, unavailable, unreachable",
    EVENT: "fetches by what happened: a status, or html, dns, timeout, redirect-loop, ...",
    REDIRECT_HOPS: "redirects of robots.txt, and of tdmrep.json, that were followed",
    PARSE_LIMIT: "files longer than the parse limit",
    PARSER_FAILED: "files or URLs on which the parser of ROBOTSTXT_PARSER raised",
    AUDIT_RECORDS: "records in the audit trail, marks and policies included",
    AUDIT_GAPS: "times that the audit trail could not be written; it tells what it lacks",
    AUDIT_SEGMENTS: "files of the audit trail",
    WARC_RECORDS: "records in the WARC files, the first one of each file included",
    WARC_FAILED: "exchanges that could not be archived, or whose file vanished",
}

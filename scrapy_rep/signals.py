"""The signals of this package; connect to them as to Scrapy's own. Handlers may be coroutines.

Only the end of the crawl waits for handlers; verdicts do not.
"""

sitemaps_discovered = object()
"""`sitemaps_discovered(origin, sitemaps, policy)`: the robots.txt of an origin names sitemaps.

Sent once per origin, whether its file came from the site, the store or REP_OVERRIDES, and again
when the sitemaps change. `sitemaps` is a tuple of absolute URLs; `policy` is a `Policy`.
"""

withheld = object()
"""`withheld(response, what, because)`: page rules or preferences dropped what a callback yielded.

`what` is the request or the item. `because` is the `PageRule` or the `Statement` that decided; as
text, it says everything. Not sent in a dry run.
"""

request_disallowed = object()
"""`request_disallowed(request, verdict)`: a request was dropped; `verdict` says by what."""

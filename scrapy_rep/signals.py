"""The signals of this package; connect to them as to Scrapy's own. Handlers may be coroutines.

Nobody waits for handlers but the end of the crawl: what is judged meanwhile is not delayed.
"""

sitemaps_discovered = object()
"""`sitemaps_discovered(origin, sitemaps, policy)`: the robots.txt of an origin names sitemaps.

Sent once per origin, wherever the file came from (the site, the store, REP_OVERRIDES), and again
when it names others than before. `sitemaps` are absolute URLs, a tuple; `policy` is a `Policy`.
"""

request_disallowed = object()
"""`request_disallowed(request, verdict)`: a request was dropped; `verdict` says by what."""

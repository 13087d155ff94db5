"""Settings of the demo project. The first two are all that scrapy-rep needs."""

ADDONS = {"scrapy_rep.Addon": 500}
ROBOTSTXT_OBEY = True

BOT_NAME = "demo"
SPIDER_MODULES = ["demo.spiders"]
USER_AGENT = "DemoBot/1.0 (+https://example.com/demobot)"

# The web to crawl, on loopback: it starts and stops with the crawl, and no proxy leads to it.
EXTENSIONS = {"demo.web.DemoWeb": 0}
HTTPPROXY_ENABLED = False

# The demo's ports are other sites in the next run: nothing of them should be remembered. Leave this
# out where the web is the real one, and what was fetched is kept for a day, for all your crawls.
REP_STORE = "memory"

# The site that is unreachable stays so: do not keep its requests until it is asked for again.
REP_UNREACHABLE_HOLD_SECONDS = 0

# Many requests at once, so that they race for the slow robots.txt, and a quiet log, so that the
# summary is what one sees.
CONCURRENT_REQUESTS = 32
LOG_LEVEL = "WARNING"
TELNETCONSOLE_ENABLED = False

"""Settings of the demo project. The first two are all that scrapy-rep needs."""

ADDONS = {"scrapy_rep.Addon": 500}
ROBOTSTXT_OBEY = True

BOT_NAME = "demo"
SPIDER_MODULES = ["demo.spiders"]
USER_AGENT = "DemoBot/1.0 (+https://example.com/demobot)"

# The web to crawl, on loopback: it starts and stops with the crawl, and no proxy leads to it.
EXTENSIONS = {"demo.web.DemoWeb": 0}
HTTPPROXY_ENABLED = False

# In the next run, other sites have the demo's ports, so nothing may be kept. Leave this out on the
# real web: answers are then kept for up to a day, and shared by all your crawls.
REP_STORE = "memory"

# The site that is unreachable stays so: do not keep its requests until the next retry.
REP_UNREACHABLE_HOLD_SECONDS = 0

# Many requests at once, so that they race for the slow robots.txt; a quiet log, so that the summary
# stands out.
CONCURRENT_REQUESTS = 32
LOG_LEVEL = "WARNING"
TELNETCONSOLE_ENABLED = False

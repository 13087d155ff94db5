"""Settings of the demo project. scrapy-rep needs only the first two."""

ADDONS = {"scrapy_rep.Addon": 500}
ROBOTSTXT_OBEY = True

BOT_NAME = "demo"
SPIDER_MODULES = ["demo.spiders"]
USER_AGENT = "DemoBot/1.0 (+https://example.com/demobot)"

# The web to crawl, on loopback: it starts and stops with the crawl, and needs no proxy.
EXTENSIONS = {"demo.web.DemoWeb": 0}
HTTPPROXY_ENABLED = False

# Other sites may have these ports in the next run, so answers must not be stored. Remove this line
# for the real web: then answers are stored for up to a day, and all your crawls share them.
REP_STORE = "memory"

# The unreachable site stays unreachable, so its requests need not wait for the next retry.
REP_UNREACHABLE_HOLD_SECONDS = 0

# Many requests at once, so that they wait for the slow robots.txt. A quiet log, so that you see the
# summary.
CONCURRENT_REQUESTS = 32
LOG_LEVEL = "WARNING"
TELNETCONSOLE_ENABLED = False

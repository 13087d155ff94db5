"""Settings of a worker. The first two are all that makes one worker of a crawl out of a crawl."""

import os

from demo.settings import *  # noqa: F403

REP_REDIS_URL = os.environ["DEMO_REDIS_URL"]
SCHEDULER = "scrapy_rep.RepRedisScheduler"

SPIDER_MODULES = ["demo.fleet.spiders"]

# Each worker writes down what it decides, for one report of them all.
REP_AUDIT_DIR = os.environ["DEMO_AUDIT_DIR"]

# The web is one for all workers, and runs elsewhere.
EXTENSIONS = {}

# Answers are shared in Redis, which ends with the demo; nothing is kept on this machine.
REP_STORE = "redis"
REP_STORE_PATH = ":memory:"

# How long nothing is to be done over all workers before they end.
SCHEDULER_IDLE_BEFORE_CLOSE = 1

# A file that is unreachable is asked for again at once, and here stays so: once is enough to see.
REP_QUICK_RETRY_SECONDS = ()

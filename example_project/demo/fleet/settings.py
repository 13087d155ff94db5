"""Settings of a worker. The first two settings let several workers share a crawl."""

import os

from demo.settings import *  # noqa: F403

REP_REDIS_URL = os.environ["DEMO_REDIS_URL"]
SCHEDULER = "scrapy_rep.RepRedisScheduler"

SPIDER_MODULES = ["demo.fleet.spiders"]

# Each worker writes an audit trail, for one report on all of them.
REP_AUDIT_DIR = os.environ["DEMO_AUDIT_DIR"]

# All workers share one web, which runs in another process.
EXTENSIONS = {}

# Answers are shared in Redis only, which ends with the demo.
REP_STORE = "redis"
REP_STORE_PATH = ":memory:"

# The workers end after all of them have been idle for this time.
SCHEDULER_IDLE_BEFORE_CLOSE = 1

# The unreachable file stays unreachable, so one fetch is enough.
REP_QUICK_RETRY_SECONDS = ()

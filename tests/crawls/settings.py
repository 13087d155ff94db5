"""The settings of most crawls in these tests."""

from __future__ import annotations

from typing import Any

ADDON: dict[str, Any] = {
    "ADDONS": {"scrapy_rep.Addon": 500},
    "ROBOTSTXT_OBEY": True,
    # Other tests use the same ports again, and pauses that are not tested would take time.
    "REP_STORE": "memory",
    "REP_QUICK_RETRY_SECONDS": [],
    "REP_UNREACHABLE_HOLD_SECONDS": 0,
}

BY_HAND: dict[str, Any] = {
    "REP_STORE": "memory",
    "ROBOTSTXT_OBEY": True,
    "DOWNLOADER_MIDDLEWARES": {
        "scrapy.downloadermiddlewares.robotstxt.RobotsTxtMiddleware": None,
        "scrapy_rep.RepMiddleware": 100,
    },
}

# Requests wait in the middleware then, as with every queue but ours.
WITH_SCRAPYS_QUEUE: dict[str, Any] = {
    **ADDON,
    "SCHEDULER_PRIORITY_QUEUE": "scrapy.pqueues.DownloaderAwarePriorityQueue",
}

URLS_SPIDER = "tests.spiders:UrlsSpider"
DISALLOW_ALL = "User-agent: *\nDisallow: /\n"

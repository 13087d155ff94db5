"""Several crawls at once in one process, which `crawl` has one for each.

``python -m tests.together <JSON>`` is that process: it prints what each crawl came to.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tests.crawling import REPOSITORY, Loop

_FAULT = re.compile("Traceback|never awaited|Unhandled|was destroyed")


@dataclass(frozen=True)
class Job:
    """One of the crawls: ``spider`` as `crawl` has it, its settings and its arguments."""

    spider: str
    settings: dict[str, Any]
    arguments: dict[str, Any]


def crawl_together(jobs: Sequence[Job], loop: Loop = "asyncio") -> list[dict[str, Any]]:
    """Run all at once; the items and stats of each."""
    work = json.dumps([loop, [vars(job) for job in jobs]])
    done = subprocess.run(
        [sys.executable, "-m", "tests.together", work],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert not _FAULT.search(done.stderr), done.stderr
    results: list[dict[str, Any]] = json.loads(done.stdout.splitlines()[-1])
    return results


def main(loop: Loop, jobs: list[dict[str, Any]]) -> None:
    """Run them in this process."""
    from scrapy import signals
    from scrapy.crawler import AsyncCrawlerProcess, CrawlerProcess
    from scrapy.utils.misc import load_object

    from tests.crawl_runner import ALWAYS, SETTINGS_OF_LOOPS

    always = {**ALWAYS, **SETTINGS_OF_LOOPS[loop], "LOG_LEVEL": "INFO"}
    process = (CrawlerProcess if loop == "select" else AsyncCrawlerProcess)(always)
    crawlers, items = [], []
    for job in jobs:
        spider = load_object(job["spider"].replace(":", "."))
        own = type(spider.__name__, (spider,), {"custom_settings": job["settings"]})
        crawler = process.create_crawler(own)
        found: list[Any] = []
        crawler.signals.connect(
            lambda item, found=found: found.append(item), signals.item_scraped, weak=False
        )
        crawlers.append(crawler)
        items.append(found)
        process.crawl(crawler, **job["arguments"])
    process.start()
    stats = [crawler.stats.get_stats() for crawler in crawlers]
    results = [{"items": i, "stats": s} for i, s in zip(items, stats, strict=True)]
    print(json.dumps(results, default=str))


if __name__ == "__main__":
    main(*json.loads(sys.argv[1]))

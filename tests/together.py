"""Several crawls at once in one process, which `crawl` has one for each."""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.crawling import Loop
from tests.processes import start_crawl

_FAULT = re.compile("Traceback|never awaited|Unhandled|was destroyed")


@dataclass(frozen=True)
class Job:
    """One of the crawls: ``spider`` as `crawl` has it, its settings and its arguments."""

    spider: str
    settings: dict[str, Any]
    arguments: dict[str, Any]


def crawl_together(jobs: Sequence[Job], loop: Loop = "asyncio") -> list[dict[str, Any]]:
    """Run all at once; the items and stats of each."""
    with tempfile.TemporaryDirectory(prefix="crawls-") as name:
        folder = Path(name)
        work = {"loop": loop, "jobs": [vars(job) for job in jobs]}
        (folder / "job.json").write_text(json.dumps(work), encoding="utf-8")
        process = start_crawl(folder, module="tests.together")
        try:
            exit_code = process.wait(60)
        finally:
            process.kill()
            process.wait()
        log = (folder / "streams").read_text(encoding="utf-8")
        assert exit_code == 0, log
        assert not _FAULT.search(log), log
        results: list[dict[str, Any]] = json.loads((folder / "result.json").read_text())
    return results


def main(folder: Path) -> None:
    """Run the jobs in the folder, in this process."""
    from scrapy import signals
    from scrapy.crawler import AsyncCrawlerProcess, CrawlerProcess
    from scrapy.utils.misc import load_object

    from tests.crawl_runner import ALWAYS, SETTINGS_OF_LOOPS

    work = json.loads((folder / "job.json").read_text(encoding="utf-8"))
    always = {**ALWAYS, **SETTINGS_OF_LOOPS[work["loop"]], "LOG_LEVEL": "INFO"}
    process = (CrawlerProcess if work["loop"] == "select" else AsyncCrawlerProcess)(always)
    crawlers, items = [], []
    for job in work["jobs"]:
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
    (folder / "result.json").write_text(json.dumps(results, default=str), encoding="utf-8")

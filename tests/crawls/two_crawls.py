"""Several crawls in one process: ``python -m tests.crawls.two_crawls <job as JSON>``."""

from __future__ import annotations

import json
import sys

from scrapy.crawler import AsyncCrawlerProcess, CrawlerProcess
from scrapy.utils.misc import load_object

from tests.crawl_runner import ALWAYS, SETTINGS_OF_LOOPS


def main() -> None:
    """Run a crawl for each of the job's lists of URLs."""
    job = json.loads(sys.argv[1])
    kind = CrawlerProcess if job["loop"] == "select" else AsyncCrawlerProcess
    process = kind({**ALWAYS, **SETTINGS_OF_LOOPS[job["loop"]], **job["settings"]})
    for urls in job["urls"]:
        process.crawl(load_object(job["spider"].replace(":", ".")), urls=urls)
    process.start()


if __name__ == "__main__":
    main()

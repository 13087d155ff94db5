"""A spider that requests the URLs of real hosts in the shared verdicts."""

from __future__ import annotations

import gzip
import json
from collections.abc import AsyncIterator, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from scrapy import Request, Spider
from scrapy.http import Response
from twisted.python.failure import Failure


def verdicts(path: str | Path, hosts: int) -> Iterator[dict[str, Any]]:
    """The verdicts of the first hosts of the file."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in islice(lines, hosts):
            yield json.loads(line)


class ReplaySpider(Spider):
    """Requests every listed URL of this number of hosts through a proxy, and counts answers."""

    name = "replay"

    def __init__(self, verdicts_path: str, hosts: int, proxy: str) -> None:
        super().__init__()
        self.verdicts_path = verdicts_path
        self.hosts = hosts
        self.proxy = proxy

    async def start(self) -> AsyncIterator[Request]:
        for row in verdicts(self.verdicts_path, self.hosts):
            for url in row["urls"]:
                yield Request(
                    url, meta={"proxy": self.proxy}, dont_filter=True, errback=self.failed
                )

    def parse(self, response: Response) -> None:
        self.crawler.stats.inc_value("replay/fetched")

    def failed(self, failure: Failure) -> None:
        self.crawler.stats.inc_value(f"replay/{type(failure.value).__name__}")

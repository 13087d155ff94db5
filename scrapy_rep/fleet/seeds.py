"""Start URLs that users put into Redis for scrapy-redis's spiders.

Those spiders take them out before they are queued, and ask Redis from within the event loop. Here
the exchange moves them: they are leased as requests are, and done once their requests are queued.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from scrapy import Request, Spider
from scrapy_redis.spiders import RedisMixin


class Seeds:
    """The start URLs of one spider; of a plain spider, there are none.

    Attributes:
        key: where users put them; empty if nowhere.
        at_a_time: how many are taken in one exchange.
    """

    def __init__(self, spider: Spider) -> None:
        self._spider: Any = spider
        self._left = 0
        self.key = ""
        self.at_a_time = 0
        if isinstance(spider, RedisMixin):
            self.key = str(spider.redis_key)
            self.at_a_time = int(spider.redis_batch_size or 16)
            # Else it would take some away, and wait for Redis, whenever it is idle.
            spider.fetch_data = lambda _key, _count: []
            spider.count_size = lambda _key: self._left

    def count(self, left: int) -> None:
        """Take note of how many are left."""
        self._left = left

    def requests(self, data: bytes) -> Iterator[Request]:
        """What the spider makes of one.

        Raises:
            Exception: what the spider raises.
        """
        made = self._spider.make_request_from_data(data)
        if isinstance(made, Request):
            yield made
        elif isinstance(made, Iterable):
            yield from made

"""The name of a crawl's run, under which it writes folders of its own."""

from __future__ import annotations

import secrets
import time
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

_NAMES: WeakKeyDictionary[Crawler, str] = WeakKeyDictionary()


def run_of(crawler: Crawler) -> str:
    """The name: the second in which it was asked for first, UTC, and six random characters."""
    name = _NAMES.get(crawler)
    if name is None:
        now = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
        name = _NAMES[crawler] = f"{now}-{secrets.token_hex(3)}"
    return name

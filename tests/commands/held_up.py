"""A download handler for which the time to close connections is over at once.

So it is for Scrapy's where its loop is held up meanwhile, as on a busy machine.
"""

from __future__ import annotations

from scrapy.core.downloader.handlers.http11 import HTTP11DownloadHandler


class Handler(HTTP11DownloadHandler):
    """Scrapy's, which gives them a second."""

    async def close(self) -> None:
        self._disconnect_timeout = 0
        await super().close()

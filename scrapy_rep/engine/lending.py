"""Places of the downloader that it takes requests into, beyond its own number of them."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING

from .downloader import Downloader
from .state import wake

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

_MOST_LENT = 1000  # requests that wait, and hold no place: each takes memory


class Lending:
    """The places that one crawl's downloader has been lent."""

    def __init__(self, crawler: Crawler, downloader: Downloader) -> None:
        self._crawler = crawler
        self._downloader = downloader
        self._lent: set[Hashable] = set()

    @contextmanager
    def for_others(self, origin: Hashable) -> Iterator[None]:
        """Let the downloader take another request while one waits in the middlewares.

        One for each origin: otherwise it would take all that are queued for the slowest.
        """
        if origin in self._lent or len(self._lent) >= _MOST_LENT:
            yield
            return
        self._lent.add(origin)
        try:
            with self._downloader.one_place_more():
                wake(self._crawler)
                yield
        finally:
            self._lent.discard(origin)

    def one_more(self) -> AbstractContextManager[None]:
        """Let the downloader take one more request, so that one of ours takes no other's place."""
        return self._downloader.one_place_more()

"""Which of the requests that were handed out have come to the downloader: told, or looked for.

Scrapy tells by a signal. For a page, that costs more than all else that the queue does
(`benchmarks/crawls.py`, shape a), and nearly always nothing follows from it: the request takes the
place that it held. So it is enough to look before places are counted.

It is not where a pace is kept: a slot learns there, before it draws a delay, how long that is. Nor
is it where middlewares choose slots behind the queue: the slot that a request was handed out for is
free for another one at once.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from pydispatch.errors import DispatcherKeyError
from scrapy import signals

from .downloader import Downloader
from .slot_keys import SLOT
from .under_way import UnderWay

if TYPE_CHECKING:
    from scrapy.crawler import Crawler


_SURE_COUNT = 64  # requests, after which we trust that no middleware chooses slots


class Arrivals:
    """The arrivals of one crawl's requests.

    Attributes:
        usual_count: how many came, as far as it was listened to, to the slots that they held.
        is_listening: whether the signal is listened to.
        is_for_a_while: whether it is listened to, though it may rest: see `rest`.
    """

    def __init__(
        self,
        crawler: Crawler,
        downloader: Downloader,
        under_way: UnderWay,
        reached: Callable[..., None],
        tell: Callable[[str], None],
    ) -> None:
        """Take the handler of the signal, and who is told of slots in which something changes."""
        self._signals = crawler.signals
        self._downloader = downloader
        self._under_way = under_way
        self._reached = reached  # kept here: Scrapy holds it weakly
        self._tell = tell
        self._may_rest = self._is_for_good = False
        self.is_listening = self.is_for_a_while = False
        self.usual_count = 0
        self.listen()

    def may_rest(self) -> None:
        """Somebody looks each time before places are counted, so that it need not be told."""
        self._may_rest = True
        self.is_for_a_while = self.is_listening and not self._is_for_good

    def listen(self) -> None:
        """Listen for a while; what came before is known as well."""
        if not self.is_listening:
            self.is_listening, self.is_for_a_while = True, self._may_rest and not self._is_for_good
            self._signals.connect(self._reached, signal=signals.request_reached_downloader)
            self.look()

    def listen_for_good(self) -> None:
        """Listen from now on."""
        self._is_for_good = True
        self.is_for_a_while = False
        self.listen()

    def rest(self) -> None:
        """Listen no more, if nothing is missed by that; not while Scrapy sends the signal.

        Not before some requests came: a middleware that chooses slots does so for most of them.
        """
        if not self.is_for_a_while or self.usual_count < _SURE_COUNT:
            return
        self.is_for_a_while = False
        if self._downloader.is_usual:
            self.is_listening = False
            with suppress(DispatcherKeyError):  # somebody disconnected all
                self._signals.disconnect(self._reached, signal=signals.request_reached_downloader)

    def look(self) -> None:
        """Find the requests that have come. O(those that were handed out, and not found yet)."""
        changed: list[str] = []
        for request, key in [*self._under_way.out.items()]:
            taken: str | None = request.meta.get(SLOT)  # written when it comes, if not before
            if taken is not None and self._downloader.holds(request, taken):
                self._under_way.arrive(request, key)
                if taken != key:
                    changed += key, taken
        if changed:
            self.listen_for_good()
        for key in changed:
            self._tell(key)

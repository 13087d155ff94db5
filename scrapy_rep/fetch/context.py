"""The objects that the fetches of a crawl share: store, recorder, sender and fetch limit."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from scrapy_rep.cache.entry import Key
from scrapy_rep.cache.memory import Lru
from scrapy_rep.engine.loops import Places, Ticks
from scrapy_rep.extras import part
from scrapy_rep.protocol.access.knowledge import Knowledge
from scrapy_rep.protocol.access.origin import Origin
from scrapy_rep.protocol.access.states import PolicyOptions, Standing, standing
from scrapy_rep.protocol.units import DAY_SECONDS
from scrapy_rep.stats import Journal

from .keeper import LEASE_SECONDS, Keeper
from .origin_files import ROBOTS_TXT
from .recording import Recorder
from .requesters import Requester
from .sender import Sender
from .shortage import Shortage
from .site_guard import SiteGuard

if TYPE_CHECKING:
    from scrapy_rep.crawl import Crawl

    from .fetch_state import FetchState

_LOOK_SECONDS = 0.1  # how often to check for fetches that are late or not needed any more
_UP_SECONDS = DAY_SECONDS  # how long a page's answer counts as proof that its origin is up
_UP_OCTETS = 1 << 20
_DATED_OCTETS = 1 << 22  # for about 10,000 files


class FetchContext:
    """The objects that the fetches of one crawl share.

    Attributes:
        crawler: the crawler.
        settings: the checked values of our settings.
        journal: counts and logs for the fetches.
        requester: builds the store's keys with the identity of the crawl.
        keeper: keeps answers in the store.
        guard: judges where redirects may lead.
        sender: sends requests.
        shortage: tells how long to wait while this machine is short of open files.
        recorder: records requests and answers.
        places: the semaphore of `REP_CONCURRENT_FETCHES`.
        looks: the regular checks of the fetches that are under way.
        heartbeat: renews each lease in time.
        under_way: the fetches that are under way, by origin and path.
        dated: the files for which the log has the age of the stored copy.
        began_at: when the crawl began, in seconds of `time.monotonic`.
        retry_times: how often a fetch is tried again with another proxy.
        renewed_from: an answer before this time (POSIX seconds) is not used without a request,
            unless it is a failure with a Retry-After that still applies.
    """

    def __init__(self, crawl: Crawl) -> None:
        """Open the store of a crawl.

        Raises:
            ConfigurationError: the store cannot be made, or an extra lacks a package.
        """
        self.crawler = crawl.crawler
        self.settings = crawl.settings
        self.journal = Journal(crawl.crawler, __name__)
        recorder: type[Recorder] = part("REP_WARC_DIR") if crawl.settings.warc_dir else Recorder
        self.recorder = crawl.part(recorder)
        self.requester = Requester(crawl)
        self.keeper = Keeper(crawl)
        self.looks = Ticks(_LOOK_SECONDS)
        self.guard = crawl.part(SiteGuard)
        self.shortage = crawl.part(Shortage)
        self.sender = Sender(crawl, self.recorder, self.looks, self.shortage)
        self.places = Places(crawl.settings.concurrent_fetches)
        self.heartbeat = Ticks(LEASE_SECONDS / 3)
        self.under_way: dict[tuple[Origin, str], FetchState] = {}
        self.dated: Lru[Key, bool] = Lru(_DATED_OCTETS)
        self.began_at = time.monotonic()
        settings = crawl.crawler.settings
        is_retrying = settings.getbool("RETRY_ENABLED")
        self.retry_times = settings.getint("RETRY_TIMES") if is_retrying else 0
        self.renewed_from = 0.0
        self._up: Lru[Origin, float] = Lru(_UP_OCTETS)

    async def close(self) -> None:
        """Close the store; operations that are still under way go on without it."""
        self.heartbeat.stop()
        await self.keeper.close()
        await self.recorder.close()

    def is_queued(self, origin: Origin) -> bool:
        """Whether the fetch of an origin's robots.txt waits to be sent, usually in a slot."""
        fetch = self.under_way.get((origin, ROBOTS_TXT.path))
        return fetch is not None and fetch.is_idle

    def overridden(self, origin: Origin, body: bytes | None) -> None:
        """Note that the user sets the robots.txt of an origin, so that nothing is fetched."""
        self.recorder.overridden(origin, ROBOTS_TXT.path, body)

    def saw_answer(self, origin: Origin, status: int) -> None:
        """Note the answer of a page: a status below 500 shows that its origin is up."""
        if status < 500:  # noqa: PLR2004
            self._up.put(origin, time.time(), 200)

    def weigh(self, origin: Origin, known: Knowledge, options: PolicyOptions) -> Standing:
        """The standing (meaning and lifetime) that follows now from the stored knowledge."""
        now = time.time()
        seen_at = self._up.get(origin)
        is_answering = seen_at is not None and now - seen_at < _UP_SECONDS
        return standing(known, now, options, is_answering=is_answering)

"""How fast a crawl fetches the pages of a site, and how long some pages take."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from statistics import median

from scrapy import Request
from scrapy.crawler import Crawler

from scrapy_rep.crawl import Crawl
from scrapy_rep.engine.clock import posix_at
from scrapy_rep.engine.downloader import Downloader, slot_key
from scrapy_rep.pace.pacing import Pacing
from scrapy_rep.policy import Policy
from scrapy_rep.protocol.extensions.pace import SitePace, opens_at
from scrapy_rep.protocol.extensions.records import VisitTime
from scrapy_rep.protocol.units import DAY_SECONDS, rate_words
from scrapy_rep.settings import RepSettings

_ASSUMED_SECONDS = 1.0  # a page, if nothing was fetched


@dataclass(frozen=True, slots=True)
class Speed:
    """How fast one process fetches the pages of one site.

    Attributes:
        seconds_a_page: the time from one request to the next, on average.
        by: the record of the site, or the setting, that decides about that.
        delay_seconds: the longest delay between two requests; 0 without one.
        site_seconds: the delay that the site sets.
        is_skipped: whether that delay is too long, so that all requests are dropped.
        page_seconds: how long a page takes: the median of the files that were fetched.
        is_measured: whether any was fetched; otherwise `page_seconds` is assumed.
        window: the only part of the day with visits; None for the whole day.
    """

    seconds_a_page: float
    by: str
    delay_seconds: float
    site_seconds: float
    is_skipped: bool
    page_seconds: float
    is_measured: bool
    window: VisitTime | None

    @classmethod
    def of(
        cls, policy: Policy, crawler: Crawler, ours: RepSettings, latencies: Sequence[float]
    ) -> Speed:
        """The speed at which a crawl visits the origin of a policy now.

        `latencies` are the seconds that its other files took.
        """
        settings, said = crawler.settings, policy.site_pace()
        of_site = ours.pace(policy, time.time())
        taken = [one.seconds for one in policy.steps if one.seconds and not one.is_copied]
        taken = [*taken[-1:], *latencies]
        page = median(taken) if taken else _ASSUMED_SECONDS
        total = settings.getint("CONCURRENT_REQUESTS")
        slot = slot_key(Request(policy.origin.robots_txt_uri))
        per_slot, own = Downloader(crawler).own_pace(slot)
        limits = [
            (page / (per_slot or math.inf), f"CONCURRENT_REQUESTS_PER_DOMAIN = {per_slot}"),
            (page / (total or math.inf), f"CONCURRENT_REQUESTS = {total:g}"),
            (own, f"DOWNLOAD_DELAY = {own:g}"),
        ]
        target = settings.getfloat("AUTOTHROTTLE_TARGET_CONCURRENCY")
        if settings.getbool("AUTOTHROTTLE_ENABLED") and target > 0:
            limits.append((page / target, f"AUTOTHROTTLE_TARGET_CONCURRENCY = {target:g}"))
        if of_site.delay_seconds:
            # It begins when a page has come.
            limits.append((of_site.delay_seconds + page, pace_words(said)))
        learned = Crawl.of(crawler).part(Pacing).backoff.paces.of(policy.origin)
        learned_seconds = 0.0 if learned is None else 1 / learned.per_second
        if learned is not None:
            day = f"{datetime.fromtimestamp(posix_at(learned.refused_at), timezone.utc):%A}"
            words = f"{rate_words(learned.per_second)}, learned on {day}"
            limits.append((learned_seconds, words))
        return cls(
            *max(limits),
            delay_seconds=max(own, of_site.delay_seconds, learned_seconds),
            site_seconds=of_site.site_seconds,
            is_skipped=of_site.is_skipped,
            page_seconds=page,
            is_measured=bool(taken),
            window=of_site.window,
        )

    def seconds(self, page_count: float) -> float:
        """The time that some pages take, closed hours of the site included."""
        busy = max(page_count * self.seconds_a_page, self.page_seconds)
        if self.window is None:
            return busy
        now = time.time()
        open_minutes = (self.window.stop_minute - self.window.start_minute) % (DAY_SECONDS // 60)
        whole_days, rest = divmod(busy, open_minutes * 60 or DAY_SECONDS)
        return opens_at(self.window, now) - now + whole_days * DAY_SECONDS + rest


def together_seconds(crawls: Iterable[tuple[Speed, float]], at_once: int) -> float:
    """The time that sites with some pages each take side by side, in one process."""
    found = list(crawls)
    longest = max((speed.seconds(count) for speed, count in found), default=0.0)
    return max(longest, sum(speed.page_seconds * count for speed, count in found) / (at_once or 1))


def pace_words(said: SitePace) -> str:
    """The record that sets the delay of a site, as in its robots.txt."""
    rate = said.request_rate
    if said.crawl_delay is not None or rate is None:
        return f"Crawl-delay {said.crawl_delay or 0:g}"
    return f"Request-rate {rate.requests}/{rate.seconds}s"


def visit_words(window: VisitTime) -> str:
    """A Visit-time as in robots.txt."""
    minutes = (window.start_minute, window.stop_minute)
    return f"Visit-time {'-'.join(f'{one // 60:02}{one % 60:02}' for one in minutes)}"

"""Coverage at the end of a crawl: how many of the URLs that its sitemaps list it has fetched."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator
from hashlib import blake2b
from typing import TYPE_CHECKING

from scrapy import Request
from scrapy.signals import request_reached_downloader, response_received

from scrapy_rep import stats
from scrapy_rep.decisions.decisions import Decisions
from scrapy_rep.protocol.secrecy import bare, masked
from scrapy_rep.signals import request_disallowed

if TYPE_CHECKING:
    from scrapy.http import Response

    from scrapy_rep.crawl import Crawl

MOST_URLS = 500_000
_STATE = "rep_coverage"  # in the state of the spider, which Scrapy keeps in the JOBDIR
_SAMPLE = 100
_ERRORS_FROM = 400
_LISTED, _DISALLOWED, _SENT, _FETCHED = range(4)  # a sent request without an answer has failed


class Coverage:
    """Follows the URLs that sitemaps list, up to `MOST_URLS`, as digests of 8 octets.

    A crawl that is stopped and resumed goes on with the URLs of its earlier runs.
    """

    def __init__(self, crawl: Crawl) -> None:
        self._stats = crawl.crawler.stats
        state = getattr(crawl.crawler.spider, "state", None)
        if not (crawl.crawler.settings["JOBDIR"] and isinstance(state, dict)):
            state = {}
        self._states: dict[int, int] = state.setdefault(_STATE, {})
        self._beyond_count = 0
        self._examples: dict[int, str] = {}
        self._sent: dict[int, str] = {}
        self._first: list[str] = []
        self._last: deque[str] = deque(maxlen=_SAMPLE)
        connect = crawl.crawler.signals.connect
        connect(self._was_refused, request_disallowed)
        connect(self._was_sent, request_reached_downloader)
        connect(self._was_answered, response_received)
        decisions = crawl.part(Decisions)
        self._trail = decisions.trail
        decisions.log.more_lines.append(self._lines)

    def forget_earlier_runs(self) -> None:
        """Begin with no URL, because all are to be fetched again."""
        self._states.clear()

    def listed(self, url: str) -> None:
        """Note a URL that a sitemap lists and the spider wants."""
        key = _key(url)
        if key in self._states:
            return
        if len(self._states) >= MOST_URLS:
            self._beyond_count += 1
            return
        self._states[key] = _LISTED
        if len(self._first) < _SAMPLE:
            self._first.append(url)
        self._last.append(url)

    def _was_refused(self, request: Request) -> None:
        self._note(request, _DISALLOWED)

    def _was_sent(self, request: Request) -> None:
        self._note(request, _SENT)

    def _was_answered(self, response: Response, request: Request) -> None:
        if response.status < _ERRORS_FROM:
            self._note(request, _FETCHED)

    def _note(self, request: Request, state: int) -> None:
        url = request.meta.get("redirect_urls", (request.url,))[0]
        key = _key(url)
        before = self._states.get(key)
        if before is None or before == _FETCHED:
            return
        self._states[key] = state
        if state == _SENT and len(self._sent) < _SAMPLE:
            self._sent[key] = url
        elif state != _SENT:
            self._sent.pop(key, None)
            self._examples.setdefault(state, url)

    def _lines(self) -> Iterator[str]:
        """Write the counts, and yield the lines of the log; none without a listed URL."""
        if not self._states:
            return
        counts = Counter(self._states.values())
        left = (*self._first, *self._last)
        missed = next((url for url in left if self._states[_key(url)] == _LISTED), "")
        rows = (
            (stats.COVERAGE_FETCHED, "fetched", counts[_FETCHED], self._examples.get(_FETCHED, "")),
            (stats.COVERAGE_FAILED, "failed", counts[_SENT], next(iter(self._sent.values()), "")),
            (
                *(stats.COVERAGE_DISALLOWED, "disallowed", counts[_DISALLOWED]),
                self._examples.get(_DISALLOWED, ""),
            ),
            (stats.COVERAGE_MISSED, "never reached (a limit, or the end)", counts[_LISTED], missed),
        )
        allowed = counts[_FETCHED] + counts[_SENT]
        self._count(stats.COVERAGE_LISTED, len(self._states), next(iter(self._first), ""))
        self._count(stats.COVERAGE_ALLOWED, allowed, rows[0][3] or rows[1][3])
        yield f"Sitemaps list {len(self._states):,} URLs; {allowed:,} of these were allowed:"
        for name, words, count, example in rows:
            self._count(name, count, example)
            if count:
                such = f". For example {masked(bare(example))}" if example else ""
                yield f"  {count:,} {words}{such}"
        if self._beyond_count:
            self._count(stats.COVERAGE_BEYOND, self._beyond_count, "")
            yield f"  {self._beyond_count:,} more entries were not followed, to bound memory"

    def _count(self, stat: str, count: int, example: str) -> None:
        """Write a count as a stat and, under the last part of its name, to the audit trail."""
        self._stats.set_value(stat, count)
        if self._trail is not None:
            self._trail.covered(stat.rpartition("/")[2], count, example)


def _key(url: str) -> int:
    return int.from_bytes(blake2b(url.encode("utf-8", "replace"), digest_size=8).digest(), "big")

"""Coverage at the end of a crawl: how many of the URLs that its sitemaps list it has fetched."""

from __future__ import annotations

import secrets
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator
from hashlib import blake2b
from typing import TYPE_CHECKING

from scrapy import Request
from scrapy.signals import request_reached_downloader, response_downloaded, response_received

from scrapy_rep import stats
from scrapy_rep.decisions.decisions import Decisions
from scrapy_rep.decisions.request_records import RequestRecords
from scrapy_rep.decisions.url_ends import (
    DISALLOWED,
    END_BITS,
    ENDS_BY_NAME,
    FETCHED,
    HAS_QUERY,
    LISTED,
    REDIRECTED,
    SENT,
    WAITING,
    WOULD_DROP,
    UrlEnds,
)
from scrapy_rep.engine.state import has_own_queue
from scrapy_rep.engine.transfer import MARK
from scrapy_rep.protocol.access.redirects import REDIRECT_STATUSES
from scrapy_rep.protocol.secrecy import bare, masked
from scrapy_rep.protocol.units import counted
from scrapy_rep.signals import request_disallowed

if TYPE_CHECKING:
    from scrapy.http import Response

    from scrapy_rep.crawl import Crawl

_STATE = "rep_coverage"  # in the state of the spider, which Scrapy keeps in the JOBDIR
_SAMPLE = 100
_WRITTEN_URLS = 20  # of each end, for the report
_BATCH = 1000
_WRITE_SECONDS = 10.0  # a crawl that is killed loses as much
_ERRORS_FROM = 400
_KEY_OCTETS = 8
_ROWS = {
    "fetched": (stats.COVERAGE_FETCHED, "fetched"),
    "redirected": (stats.COVERAGE_REDIRECTED, "redirected to URLs that count by themselves"),
    "failed": (stats.COVERAGE_FAILED, "failed"),
    "would_be_disallowed": (stats.COVERAGE_WOULD, "would be disallowed without REP_DRY_RUN"),
    "disallowed": (stats.COVERAGE_DISALLOWED, "disallowed"),
    "never_reached": (
        stats.COVERAGE_MISSED,
        "never reached (a limit, another component, or the end)",
    ),
}


class Coverage:
    """Follows the pages of a crawl from its start, by the fingerprints of their requests.

    So it does not matter whether a page is requested before or after a sitemap lists it. A crawl
    that is stopped and resumed goes on with the URLs of its earlier runs.
    """

    def __init__(self, crawl: Crawl) -> None:
        self._crawler = crawl.crawler
        self._stats = crawl.crawler.stats
        self._settings = crawl.settings
        state = getattr(crawl.crawler.spider, "state", None)
        if not (crawl.crawler.settings["JOBDIR"] and isinstance(state, dict)):
            state = {}
        if "urls" not in state.setdefault(_STATE, {}):
            state[_STATE] = {"urls": {}, "secret": secrets.token_bytes(32)}
        self._ends = UrlEnds(state[_STATE]["urls"])
        self._secret: bytes = state[_STATE]["secret"]
        self._beyond_count = 0
        self._samples: dict[int, dict[int, str]] = defaultdict(dict)
        connect = crawl.crawler.signals.connect
        connect(self._was_refused, request_disallowed)
        connect(self._was_sent, request_reached_downloader)
        connect(self._was_downloaded, response_downloaded)
        connect(self._was_answered, response_received)
        decisions = crawl.part(Decisions)
        self._records = crawl.part(RequestRecords)
        self._listener = decisions.listener
        # The digests of which to tell. Those of earlier runs are told once more, so that each trail
        # tells all by itself.
        self._news: dict[int, None] = {}
        self._has_written = False
        self._written_at = time.monotonic()
        decisions.log.more_lines.append(self._finish)

    def forget_earlier_runs(self) -> None:
        """Begin with no URL, because all are to be fetched again."""
        self._ends.held.clear()

    def listed(self, request: Request) -> None:
        """Note a page that a sitemap lists and the spider wants."""
        key = self._key(request)
        if self._ends.is_full and key not in self._ends.held:
            self._beyond_count += 1
        else:
            self._note(key, request.url, LISTED)

    def _was_refused(self, request: Request) -> None:
        self._note_all(request, DISALLOWED)

    def _was_sent(self, request: Request) -> None:
        if MARK not in request.meta:  # a request for a robots.txt
            self._note_all(request, SENT)

    def _was_downloaded(self, response: Response, request: Request) -> None:
        """Note a redirect: the duplicate filter may drop its target, perhaps in another worker."""
        if MARK not in request.meta and response.status in REDIRECT_STATUSES:
            self._note_all(request, REDIRECTED)

    def _was_answered(self, response: Response, request: Request) -> None:
        if MARK not in request.meta:
            self._note_all(request, FETCHED if response.status < _ERRORS_FROM else SENT)

    def _note_all(self, request: Request, end: int) -> None:
        """Note the end of a page, and of all pages that redirected to it."""
        record = self._records.find(request)
        verdict = None if record is None else record.verdict
        if end != DISALLOWED and verdict is not None and not verdict.allowed:
            end = WOULD_DROP
        self._note(self._key(request), request.url, end)
        for url in request.meta.get("redirect_urls", ()):
            self._note(self._key(request.replace(url=url)), url, end)

    def _note(self, key: int, url: str, state: int) -> None:
        before = self._ends.held.get(key, WAITING)
        if not self._ends.note(key, state | (HAS_QUERY if "?" in url or ";" in url else 0)):
            return
        after = self._ends.held[key]
        if after & LISTED:
            self._samples[before & END_BITS].pop(key, None)
            sample = self._samples[after & END_BITS]
            if len(sample) >= _SAMPLE:
                sample.popitem()  # the first ones stay, and the last one
            sample[key] = url
        if self._listener.hears:
            self._news[key] = None
            is_due = time.monotonic() - self._written_at > _WRITE_SECONDS
            if is_due or len(self._news) >= _BATCH:
                self._write()

    def _key(self, request: Request) -> int:
        """A digest of the fingerprint by which Scrapy's duplicate filter compares requests.

        Without userinfo, because no digest of a password is to be written.
        """
        if "@" in request.url:
            request = request.replace(url=bare(request.url))
        fingerprinter = self._crawler.request_fingerprinter
        assert fingerprinter is not None  # noqa: S101 - set when the crawl starts
        digest = blake2b(fingerprinter.fingerprint(request), digest_size=_KEY_OCTETS)
        return int.from_bytes(digest.digest(), "big")

    # The listener

    def _write(self) -> None:
        """Tell the news."""
        self._put(self._news if self._has_written else self._ends.held)
        self._news.clear()
        self._has_written, self._written_at = True, time.monotonic()

    def _put(self, keys: Iterable[int], urls: dict[int, str] | None = None) -> None:
        groups: dict[int, list[int]] = defaultdict(list)
        for key in keys:
            groups[self._ends.held[key]].append(key)
        for state, members in groups.items():
            for at in range(0, len(members), _BATCH):
                some = members[at : at + _BATCH]
                shown = [urls[key] for key in some] if urls else []
                self._listener.covered(state, some, self._secret, shown)

    # The end

    def _finish(self) -> Iterator[str]:
        """Tell the rest, write the counts as stats, and yield the lines of the log."""
        if self._listener.hears:
            self._write()
            for sample in self._samples.values():
                self._put([*sample][:_WRITTEN_URLS], sample)
            if self._beyond_count:
                self._listener.not_followed(self._beyond_count)
        counts = self._ends.counts()
        if not counts["listed"] and not self._beyond_count:
            return
        self._stats.set_value(stats.COVERAGE_LISTED, counts["listed"])
        self._stats.set_value(stats.COVERAGE_REQUESTED, counts["requested"])
        for name, (stat, _) in _ROWS.items():
            self._stats.set_value(stat, counts[name])
        if self._beyond_count:
            self._stats.set_value(stats.COVERAGE_BEYOND, self._beyond_count)
        yield from self._lines(counts)

    def _lines(self, counts: dict[str, int]) -> Iterator[str]:
        is_alone = has_own_queue(self._crawler.settings)
        listed, requested = counted(counts["listed"], "URL"), f"{counts['requested']:,} of these"
        if is_alone:
            were = "was" if counts["requested"] == 1 else "were"
            yield f"Sitemaps list {listed}; {requested} {were} requested:"
        else:
            yield f"Sitemaps that this worker read list {listed}; it requested {requested}:"
        for name, (_, words) in _ROWS.items():
            if not counts[name]:
                continue
            told = words if is_alone or name != "never_reached" else self._left_to_others()
            example = next(iter(self._samples[ENDS_BY_NAME[name]].values()), "")
            such = f". For example {masked(bare(example))}" if example else ""
            yield f"  {counts[name]:,} {told}{such}"
        if self._beyond_count:
            more = counted(self._beyond_count, "more entry was", "more entries were")
            yield f"  {more} not followed, to bound memory"

    def _left_to_others(self) -> str:
        folder = self._settings.audit_dir
        need = "" if folder else "set REP_AUDIT_DIR, and "
        report = f"scrapy rep report {folder or 'audit'}"
        return f"not requested by this worker (for all workers, {need}see {report})"

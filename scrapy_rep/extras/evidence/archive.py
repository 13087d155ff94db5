"""The archive of a crawl's exchanges: the requests sent and the answers, as values for its writer.

An exchange is a request with its answer, and a course is one fetch with all its exchanges. An
exchange is archived when the next one of its course begins or when the course ends, because only
then its outcome is known. So a course holds one answer in memory.

Errors in this module do not reach the fetch: they count as exchanges that could not be archived.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import scrapy
from scrapy import signals

from scrapy_rep.cache.memory import Lru
from scrapy_rep.engine.loops import result_of, within
from scrapy_rep.engine.transfer import Transfer, headers_of
from scrapy_rep.extras.evidence import evidence_stats as stats
from scrapy_rep.extras.evidence.spool import limit_of
from scrapy_rep.extras.evidence.warc_records import (
    SOFTWARE,
    Archived,
    Exchange,
    FileOutcome,
    Headers,
    Purpose,
    ReceivedAnswer,
    SentRequest,
    Stored,
    judged_facts,
    new_id,
)
from scrapy_rep.extras.evidence.warc_writer import ArchiveWriter
from scrapy_rep.fetch.recording import Recorder
from scrapy_rep.fetch.requesters import signing_of
from scrapy_rep.identity import Identity
from scrapy_rep.protocol.access.events import NOT_MODIFIED, AccessResult, access_result, name_of
from scrapy_rep.protocol.access.knowledge import Answer, Copy, Knowledge, Outage, Step
from scrapy_rep.protocol.access.origin import Origin
from scrapy_rep.protocol.errors import ConfigurationError
from scrapy_rep.stats import Journal

if TYPE_CHECKING:
    from scrapy.http import Response

    from scrapy_rep.crawl import Crawl
    from scrapy_rep.fetch.fetch_state import FetchState

logger = logging.getLogger(__name__)

_CLOSE_SECONDS = 30.0  # to write the remaining records when the crawl ends
_KNOWN_OCTETS = 1 << 22
SEGMENT_OCTETS = 1_000_000_000  # as the WARC guidelines recommend
_KNOWN_COST = 200
_CONDITIONS = (b"If-None-Match", b"If-Modified-Since")


class Archive(Recorder):
    """The archive of one crawl."""

    def __init__(self, crawl: Crawl) -> None:
        """Take the settings; the archive is opened with the spider.

        Raises:
            ConfigurationError: warcio is not installed.
        """
        settings = crawl.settings
        if find_spec("warcio") is None:
            raise ConfigurationError(
                f"REP_WARC_DIR = {settings.warc_dir!r} needs warcio: install it with "
                "pip install 'scrapy-rep[warc]', or remove the setting"
            )
        self._crawler = crawl.crawler
        self._settings = settings
        self._identity = crawl.part(Identity)
        self._signing = signing_of(crawl)
        self._journal = Journal(crawl.crawler, __name__)
        self._clock = crawl.clock
        self._limit = partial(limit_of, crawl, "warc_full")
        self._opened: ArchiveWriter | None = None
        self._is_closed = self._has_failed = False
        # Absolute: the working directory may change while the crawl runs.
        self._folder = Path(settings.warc_dir).absolute() / crawl.run
        # The answers archived in this run, so that reading them from the store adds no record.
        self._known: Lru[tuple[Origin, str], float] = Lru(_KNOWN_OCTETS)
        crawl.crawler.signals.connect(self._open, signal=signals.spider_opened)

    def _open(self) -> None:
        if self._opened is None and not self._is_closed:
            self._opened = ArchiveWriter(
                self._folder,
                self._facts(),
                segment_octets=SEGMENT_OCTETS,
                limit=self._limit(),
                failed=self._failed,
                clock=self._clock.now,
            )

    def _put(self, archived: Archived, outcome: FileOutcome | None = None) -> None:
        """Queue a record for writing; an exchange may come before the signal `spider_opened`."""
        self._open()
        if self._opened is not None:  # after the crawl nothing is written
            self._opened.put(archived, outcome)

    def _facts(self) -> dict[str, str]:
        self._identity.settle()  # a spider may change its name until it is open
        header = self._identity.fetch_header or self._identity.header
        policy = f"obey ({self._settings.options.access.preset})"
        signed = {}
        if self._signing.keyid:
            signed = {"signature-agent": self._signing.agent, "keyid": self._signing.keyid}
        return {
            **signed,
            "software": f"{SOFTWARE}/{version('scrapy-rep')} (Scrapy {scrapy.__version__})",
            "robots": "dry run" if self._settings.dry_run else policy,
            "http-header-user-agent": header,
            "isPartOf": self._folder.name,
        }

    def _failed(self, error: str) -> None:
        self._journal.warning(
            "The archive in %s cannot be written: %s. The manifest of the archive and the stat %s "
            "count the missing exchanges",
            self._folder,
            error,
            stats.WARC_FAILED,
        )

    async def close(self) -> None:
        """Write the end of the archive."""
        self._is_closed = True
        if self._opened is None:
            return
        writer, self._opened = self._opened, None
        try:
            await within(_CLOSE_SECONDS, result_of(writer.close()))
        except TimeoutError:
            self._failed("the disk does not answer")
        self._journal.count(stats.WARC_RECORDS, writer.record_count)
        self._journal.count(stats.WARC_FAILED, writer.failed_count)

    @contextmanager
    def _counting_failures(self) -> Iterator[None]:
        """Count an exception as a failure."""
        try:
            yield
        except Exception as error:
            logger.debug("The archive failed", exc_info=True)  # the warning has no traceback
            words = f"{type(error).__name__}: {error}"
            if self._opened is not None:
                self._opened.fail(words)
            else:  # it could not be opened
                self._journal.count(stats.WARC_FAILED)
                if not self._has_failed:
                    self._failed(words)
                self._has_failed = True

    # Called by fetches

    def saw(
        self, course: FetchState, step: Step, transfer: Transfer, response: Response | None
    ) -> str:
        """Archive a request that is done, and return the id of its record; empty without one.

        `response` is its answer, if one came; the octets that we parse are in `transfer.body`.
        """
        record = ""
        with self._counting_failures():
            record = self._saw(course, step, transfer, response)
        return record  # noqa: RET504 - the guard swallows what is raised

    def _saw(
        self, course: FetchState, step: Step, transfer: Transfer, response: Response | None
    ) -> str:
        came, way = transfer.response, course.way
        was_sent = step.sent_at is not None or response is not None
        if way is None or not course.uses_store or not was_sent:
            return ""
        purpose = Purpose(str(way.origin), course.resource.path, tuple(way.hops))
        if came is None and response is not None:
            return self._hold(course, _by_middleware(purpose, step, response, transfer.body))
        request = transfer.sent
        is_judged = came is not None and came.status // 100 == 2  # noqa: PLR2004
        exchange = Exchange(
            id=new_id(),
            uri=step.uri,
            purpose=purpose,
            at=step.sent_at or self._clock.now(),
            seconds=step.seconds,
            event=name_of(step.event) if step.event is not None else "",
            sent=None if request is None else SentRequest(request.method, _pairs(request.headers)),
            received=None if came is None else _answered(came, transfer),
            address=step.address,
            is_proxied=request is not None and bool(request.meta.get("proxy")),
            judged=judged_facts(transfer.body) if transfer.body is not None and is_judged else (),
            confirms_at=_confirms_at(way.copy, step, transfer),
        )
        return self._hold(course, exchange)

    def repeats(self, course: FetchState, copy: Copy) -> None:
        """Archive the copy of another origin, which was used for a redirect to its file."""
        with self._counting_failures():
            if course.way is not None:
                origin, hops = course.way.origin, (*course.way.hops, *copy.hops)
                self._hold(course, _stored(origin, course.resource.path, copy, hops))

    def end(
        self, course: FetchState, answer: Answer | None = None, known: Knowledge | None = None
    ) -> None:
        """Archive the last request of a course.

        `answer` is its outcome, and `known` the resulting knowledge, if the outcome counts.
        """
        with self._counting_failures():
            held, course.held = course.held, None
            if answer is None or known is None:
                course.is_over = True
            if held is not None:
                self._put(held, None if answer is None else _outcome(answer, known))

    def _hold(self, course: FetchState, archived: Exchange | Stored) -> str:
        before, course.held = course.held, archived
        if before is not None:
            self._put(before)
        if course.is_over:  # the request was cancelled, and ends after its course
            self.end(course)
        return archived.id

    def knows(self, course: FetchState, known: Knowledge) -> None:
        """Archive the stored answer for a file, unless this run fetched or archived it."""
        with self._counting_failures():
            told = known.copy or known.outage
            if told is None or not course.uses_store:
                return
            origin, path, at = course.origin, course.resource.path, _at(told)
            if self._known.get((origin, path)) == at:
                return
            self._known.put((origin, path), at, _KNOWN_COST)
            if not course.steps:
                stored = _stored(origin, path, told, told.hops)
                self._put(stored, FileOutcome(stored.event, at, told.hops))

    def overridden(self, origin: Origin, path: str, body: bytes | None) -> None:
        """Archive the file that the user sets for an origin; None without a file."""
        with self._counting_failures():
            now = time.time()
            purpose = Purpose(str(origin), path, (f"{origin}{path}",))
            event = "override"
            self._put(Stored(new_id(), purpose, now, now, event, event, body, "text/plain"))


def _outcome(answer: Answer, known: Knowledge | None) -> FileOutcome:
    """The outcome of an exchange; octets from another origin's copy keep their time."""
    at = time.time()
    if known is not None and known.outage is not None:
        at = known.outage.failed_at
    elif known is not None and known.copy is not None:
        copy = known.copy
        at = copy.confirmed_at if answer.is_confirmation else copy.fetched_at
    return FileOutcome(name_of(answer.event), at, answer.hops)


def _stored(origin: Origin, path: str, told: Copy | Outage, hops: tuple[str, ...]) -> Stored:
    body, headers = None, dict[str, str]()
    if isinstance(told, Copy):
        headers = dict(told.headers)
        is_file = access_result(told.event) is AccessResult.SUCCESSFUL
        body = told.body if is_file else None
    return Stored(
        new_id(),
        Purpose(str(origin), path, hops or (f"{origin}{path}",)),
        _at(told),
        time.time(),
        "store",
        name_of(told.event),
        body,
        headers.get("content-type", ""),
        headers.get("cache-control", ""),
    )


def _at(told: Copy | Outage) -> float:
    return told.fetched_at if isinstance(told, Copy) else told.failed_at


def _by_middleware(purpose: Purpose, step: Step, response: Response, body: bytes | None) -> Stored:
    now = time.time()
    kind = (response.headers.get(b"Content-Type") or b"").decode("latin-1")
    event = "" if step.event is None else name_of(step.event)
    is_file = response.status // 100 == 2 and body is not None  # noqa: PLR2004
    held = body if is_file else None
    return Stored(new_id(), purpose, now, now, "middleware", event, held, kind)


def _answered(came: Response, transfer: Transfer) -> ReceivedAnswer:
    truncated = ""
    if transfer.is_stopped:
        truncated = "length"
    elif "download_stopped" in came.flags:
        truncated = "unspecified"
    elif "dataloss" in came.flags:
        truncated = "disconnect"
    return ReceivedAnswer(
        came.status, came.protocol or "", _pairs(came.headers), came.body, truncated
    )


def _confirms_at(copy: Copy | None, step: Step, transfer: Transfer) -> float | None:
    """When the answer was requested that a 304 confirms; None for other statuses."""
    came, request = transfer.response, transfer.sent
    if copy is None or came is None or request is None or came.status != NOT_MODIFIED:
        return None
    is_asked = any(name in request.headers for name in _CONDITIONS)
    if not is_asked or copy.hops[-1:] != (step.uri,) or not copy.is_same_as(headers_of(came)):
        return None
    sent = [one.sent_at for one in copy.steps if one.uri == step.uri and one.sent_at is not None]
    return sent[-1] if sent else copy.fetched_at


def _pairs(headers: Any) -> Headers:
    """The fields of Scrapy's headers; `Headers.items` would be slower."""
    items: Iterable[tuple[bytes, list[bytes]]] = dict.items(headers)
    return tuple((name, value) for name, values in items for value in values)

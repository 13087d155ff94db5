"""The audit trail of one crawl: its decisions and policies as records.

Each decision is written before its request continues. A policy is written when it comes into
memory, with the octets of its file, and again in each segment with decisions of it. So a segment
can be read without the others, except for the octets, and a trail needs no other files.
"""

from __future__ import annotations

import math
import platform
import secrets
import time
from collections.abc import Hashable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, partial
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import scrapy
from scrapy import Request, signals
from scrapy.utils.asyncio import run_in_thread

from scrapy_rep.checks import mapping
from scrapy_rep.decisions.listening import Listener
from scrapy_rep.decisions.occasions import OFF, REQUEST
from scrapy_rep.decisions.url_ends import END_BITS, END_WORDS, HAS_QUERY, LISTED
from scrapy_rep.engine.loops import result_of
from scrapy_rep.extras.evidence import evidence_stats as stats
from scrapy_rep.extras.evidence import trail_records as records
from scrapy_rep.extras.evidence.spool import limit_of
from scrapy_rep.extras.evidence.trail_records import Query, line, redaction, rounded
from scrapy_rep.extras.evidence.trail_writer import TrailWriter
from scrapy_rep.fetch.requesters import Signing, signing_of
from scrapy_rep.identity import Identity
from scrapy_rep.protocol.access.events import name_of
from scrapy_rep.protocol.access.knowledge import Step
from scrapy_rep.protocol.access.origin import Origin
from scrapy_rep.protocol.extensions.rest import Rest
from scrapy_rep.protocol.secrecy import OWNER_ONLY, bare
from scrapy_rep.protocol.verdict import Verdict
from scrapy_rep.settings import SETTINGS
from scrapy_rep.stats import Journal

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

    from scrapy_rep.crawl import Crawl
    from scrapy_rep.extras.pages.usage.licences import PaymentRequired
    from scrapy_rep.policy import Policy
    from scrapy_rep.settings import RepSettings

_PREVIOUS = "rep-audit-run"  # a file in JOBDIR: the name of the last run
_KEY = "key"
_WRITTEN_KEPT = 1 << 16  # digests of bodies; a forgotten body is written again
_PENDING_OCTETS = 1 << 24  # bodies that could not be written yet
SEGMENT_OCTETS = 64 * 1024 * 1024  # compressed in seconds, and small enough for an editor
# The values of these settings may be secret: the trail records only that they are set.
_SECRET = frozenset({"REP_REDIS_URL", "REP_FETCH_META", "REP_SIGN_KEY"})
_STEP_SECONDS = 0.1  # smaller steps of the wall clock are not recorded


@dataclass(slots=True)
class _Kept:
    """The trail's data for a policy: its number, its times and its segment."""

    p: int
    at: float
    off_seconds: float  # of the wall clock, by which the policy tells its times
    segment: int = 0


class Trail(Listener):
    """Records the decisions of one crawl in a trail."""

    hears = True

    def __init__(self, crawl: Crawl) -> None:
        """Take the settings; the trail begins when the spider opens."""
        self._crawler = crawl.crawler
        self._settings = settings = crawl.settings
        self._identity = crawl.part(Identity)
        self._is_judged = crawl.crawler.settings.getbool("ROBOTSTXT_OBEY")
        self._signing = signing_of(crawl) if self._is_judged else Signing(crawl)
        self._user_agent = ""
        # By request that passed: the number of its last record.
        self._numbers: WeakKeyDictionary[Request, int] = WeakKeyDictionary()
        self._journal = Journal(crawl.crawler, __name__)
        self._clock = crawl.clock
        self._limit = partial(limit_of, crawl, "audit_full")
        self._off_seconds = 0.0  # by which the wall clock has been set since the trail was opened
        self._n = 0
        self._p = 0
        self._written: dict[bytes, None] = {}
        self._pending: dict[str, bytes] = {}
        self._pending_octets = 0
        self._key = secrets.token_bytes(32)
        query = Query(settings.audit_query)
        self._url = redaction(query, self._key)
        self._is_redacted = query is not Query.KEEP
        self._previous: str | None = None
        self.run = crawl.run
        # Absolute, because the working directory may change during the crawl.
        self._folder = Path(settings.audit_dir).expanduser().absolute() / self.run
        report = settings.report.replace("%(run)s", self.run)
        self._report = str(Path(report).absolute()) if report else ""

    def open(self) -> None:
        """Create the folder of the run, and write the first record."""
        self._ready()

    @cached_property
    def _writer(self) -> TrailWriter:
        """The writer; a decision may come before the spider is opened."""
        self._identity.settle()
        self._user_agent = self._identity.header
        self._crawler.signals.connect(self._sent, signal=signals.request_reached_downloader)
        self._previous = self._exchange_previous()
        self._clock.keep()
        writer = TrailWriter(
            self._folder,
            self._head,
            segment_octets=SEGMENT_OCTETS,
            limit=self._limit(),
            failed=self._failed,
            clock=self._clock.now,
        )
        if self._settings.audit_query == Query.HASH.value:
            with suppress(OSError):
                path = self._folder / _KEY
                path.touch(OWNER_ONLY)
                path.write_bytes(self._key)
        writer.link_latest()
        return writer

    async def close(self, reason: str) -> None:
        """Write the end of the trail."""
        if "_writer" not in vars(self):  # never opened
            return
        writer = self._writer
        self._ready()
        done = writer.close(reason)
        self._journal.count(stats.AUDIT_RECORDS, writer.record_count)
        self._journal.count(stats.AUDIT_SEGMENTS, writer.segment_count)
        digest = await result_of(done)
        if digest:
            self._journal.info(
                "Audit trail written to %s; the SHA-256 of its manifest.json is %s",
                writer.folder,
                digest,
            )
        else:
            self._journal.error(
                "Cannot write the end of the audit trail in %s, or its manifest.json: it will "
                "count as incomplete, and there is no digest to keep",
                writer.folder,
            )
        if self._report:
            # Imported here, because most crawls write no report.
            from scrapy_rep.extras.evidence.reports.report_page import write_report

            error = await run_in_thread(write_report, writer.folder, Path(self._report))
            if error:
                self._journal.error(
                    "Cannot write the report of this crawl: %s. To try again, run: "
                    "scrapy rep report %s -o report.html",
                    error,
                    writer.folder,
                )
            else:
                self._journal.info("Report written to %s", self._report)

    # One method for each kind of event

    def decided(  # noqa: PLR0917 - called for every request
        self,
        url: str,
        verdict: Verdict,
        by: str,
        outcome: str,
        policy: Policy | None = None,
        tokens: tuple[str, ...] | None = None,
        waited_seconds: float = 0.0,
        request: Request | None = None,
    ) -> None:
        """Write a decision on a request, which waited `waited_seconds` for its policy."""
        shown = self._url(url)
        held = {
            "url": shown,
            "allowed": verdict.allowed,
            "reason": verdict.reason.name,
            "line": verdict.line or None,
            "rule": None if verdict.rule is None else str(verdict.rule),
            "group": verdict.product_token or None,
            "by": by,
            "outcome": outcome,
            "tokens": None if tokens == self._identity.tokens else tokens,
            "why": verdict.why or None,
            "waited_seconds": rounded(waited_seconds) or None,
            "redacted": self._redacted(url, shown),
        }
        counts_as = records.ALLOWED if verdict.allowed else records.DISALLOWED
        self._numbered(records.DECISION, held, counts_as, policy, request)

    def exempted(self, url: str, why: str, by: str, request: Request | None = None) -> None:
        """Write an exemption: without these, a trail would prove nothing."""
        shown = self._url(url)
        held = {"url": shown, "why": why, "by": by, "redacted": self._redacted(url, shown)}
        self._numbered(records.EXEMPT, held, request=request)

    def _redacted(self, url: str, shown: str) -> bool | None:
        return True if self._is_redacted and shown != bare(url) else None

    def _sent(self, request: Request) -> None:
        """Write the User-Agent with which a request is sent, if it is not that of the run."""
        if not self._is_judged:
            self.exempted(request.url, OFF, REQUEST, request)
        values = dict.get(request.headers, b"User-Agent")  # `Headers.get` would be slower
        user_agent = ((values and values[-1]) or b"").decode("utf-8", "replace")
        n = None if user_agent == self._user_agent else self._numbers.get(request)
        if n is not None:
            self._unnumbered(records.AGENT, {"n": n, "user_agent": user_agent})

    def dropped_later(self, url: str, verdict: Verdict | None, service: str = "") -> None:
        """Write that an allowed request was dropped later."""
        reason = records.CHALLENGED if service else records.RATE_LIMITED
        held: dict[str, Any] = {"url": self._url(url), "reason": reason}
        if verdict is not None:
            held |= {"reason": verdict.reason.name, "line": verdict.line or None}
            held["robots_txt"] = bare(verdict.robots_txt)
        self._numbered(records.DROP, held)

    def withheld(self, page: str, what: str, because: Any, *, is_dry_run: bool) -> None:
        """Write that a page withheld a request or item, and the statement that decided."""
        held = {
            "page": self._url(page),
            "what": "request" if what else "item",
            "url": self._url(what) if what else None,
            "because": _statement(because),
            "outcome": "would-withhold" if is_dry_run else "withheld",
        }
        self._numbered(records.WITHHELD, held)

    def learnt(self, policy: Policy) -> None:
        """Write a policy."""
        if policy.audit is not None:
            return
        at, segment = self._ready()
        if segment is not None:
            self._put(self._policy_lines(policy, segment), at, 0, "", policy)

    def read(self, body: bytes, sha256: str) -> None:
        """Keep the octets of a file until its policy is written."""
        if bytes.fromhex(sha256) in self._written or sha256 in self._pending:
            return
        if self._pending_octets + len(body) <= _PENDING_OCTETS:
            self._pending[sha256] = body
            self._pending_octets += len(body)

    def sent_in_vain(self, origin: Origin, steps: Iterable[Step]) -> None:
        """Write the requests for a file that had no result."""
        self._unnumbered(records.FETCH, {"origin": str(origin), "hops": self._hops(steps)})

    def visited(self, origin: Hashable, sent_at: float, left_by: float, seconds: float) -> None:
        """Write when a request left for an origin with a delay."""
        held = {
            "at": rounded(self._clock.at(sent_at)),
            "left_by": rounded(self._clock.at(left_by)),
            "origin": str(origin),
            "kept_seconds": rounded(seconds),
        }
        self._unnumbered(records.SENT, held)

    def rested(
        self, origin: Origin, status: int, rest: Rest, per_second: float | None = None
    ) -> None:
        """Write that an origin rests, until when, and at which learned pace it goes on."""
        until_at = rest.given_up_until or rest.until_at
        held = {
            "origin": str(origin),
            "until": rounded(self._clock.at(until_at)),
            "status": status,
            "asked_seconds": rounded(rest.retry_after_seconds),
            "is_given_up": True if rest.given_up_until else None,
            "challenge": rest.service or None,
            "learned_per_second": rounded(per_second),
        }
        self._unnumbered(records.REST, held)

    def probed(self, origin: Origin) -> None:
        """Write that a request is sent to an origin that has not answered well since it rested."""
        self._unnumbered(records.PROBE, {"origin": str(origin)})

    def priced(self, url: str, terms: PaymentRequired) -> None:
        """Write that a page answered 402, and the terms in its answer."""
        licence = self._url(terms.licences[0].uri) if terms.licences else None
        held = {"url": self._url(url), "price": terms.price or None, "licence": licence}
        self._unnumbered(records.PAYMENT, held)

    def covered(self, state: int, keys: list[int], secret: bytes, urls: list[str]) -> None:
        """Write the digests of pages with the same state, perhaps with their URLs.

        If the trail hides the queries of URLs, `secret` hides them in the digests.
        """
        has_query = bool(state & HAS_QUERY)
        is_keyed = has_query and self._is_redacted
        held = {
            "what": END_WORDS[state & END_BITS],
            "is_listed": True if state & LISTED else None,
            "has_query": has_query or None,
            "keyed": records.name_of_secret(secret) if is_keyed else None,
            "keys": records.packed_keys(records.keyed(keys, secret) if is_keyed else keys),
            "urls": [self._url(url) for url in urls] or None,
        }
        self._unnumbered(records.COVERAGE, held)

    def not_followed(self, count: int) -> None:
        """Write how many entries of sitemaps were not followed, to bound memory."""
        self._unnumbered(records.COVERAGE, {"what": "beyond", "count": count})

    # Writing

    def _ready(self) -> tuple[float, int | None]:
        """The time of the next record, and its segment; None if nothing can be written.

        First writes whether the wall clock was set since the last record.
        """
        writer = self._writer  # may open the trail, and so keep the clock
        at = self._clock.now()
        step_seconds = time.time() - at - self._off_seconds  # a slow disk is no step
        segment = writer.ready(at)
        if segment is not None and abs(step_seconds) > _STEP_SECONDS:
            held = {"t": records.CLOCK, "at": rounded(at), "step_seconds": rounded(step_seconds)}
            if not writer.put(line(held), at):
                return at, None
            self._off_seconds += step_seconds
        return at, segment

    def _unnumbered(self, kind: str, held: dict[str, Any]) -> None:
        at, segment = self._ready()
        if segment is not None:
            self._writer.put(line({"t": kind, "at": rounded(at), **held}), at)

    def _numbered(
        self,
        kind: str,
        held: dict[str, Any],
        counts_as: str = "",
        policy: Policy | None = None,
        request: Request | None = None,
    ) -> None:
        """Write a record with a number, which is then that of the request, after its policy."""
        self._n += 1
        if request is not None:
            self._numbers[request] = self._n
        at, segment = self._ready()
        if segment is None:
            self._writer.lose(self._n, counts_as or kind, at)
            return
        before = "" if policy is None else self._policy_lines(policy, segment)
        p = None if policy is None else policy.audit.p
        record = {"t": kind, "n": self._n, "at": rounded(at), "p": p, **held}
        self._put(before + line(record), at, self._n, counts_as or kind, policy)

    def _put(self, text: str, at: float, n: int, kind: str, policy: Policy | None) -> None:
        if self._writer.put(text, at, n, kind):
            if policy is not None and policy.sha256 in self._pending:
                self._forget_pending(policy.sha256)
        elif policy is not None and policy.audit is not None:
            policy.audit.segment = 0  # written again before its next decision

    def _forget_pending(self, sha256: str) -> None:
        self._pending_octets -= len(self._pending.pop(sha256))
        if len(self._written) >= _WRITTEN_KEPT:
            del self._written[next(iter(self._written))]
        self._written[bytes.fromhex(sha256)] = None

    def _policy_lines(self, policy: Policy, segment: int) -> str:
        """The lines that a policy's decisions need; empty if the segment has them."""
        kept: _Kept | None = policy.audit
        if kept is None:
            self._p += 1
            policy.audit = kept = _Kept(self._p, self._clock.now(), self._off_seconds)
        if kept.segment == segment:
            return ""
        kept.segment = segment
        body = self._pending.get(policy.sha256)
        lines = "" if body is None else records.body(body, policy.sha256)
        return lines + line(self._policy_record(policy, kept))

    def _policy_record(self, policy: Policy, kept: _Kept) -> dict[str, Any]:
        result, outage = policy.access_result, policy.outage

        def instant(at: float) -> float | None:
            return rounded(at - kept.off_seconds) if math.isfinite(at) else None

        parser = self._crawler.settings.get("ROBOTSTXT_PARSER")
        return {
            "t": records.POLICY,
            "p": kept.p,
            "at": rounded(kept.at),
            "origin": str(policy.origin),
            "source": policy.source or None,
            "event": policy.event,
            "access_result": None if result is None else result.value,
            "meaning": policy.meaning.value,
            "is_stale": policy.is_stale or None,
            "hops": self._hops(policy.steps) or None,
            "fetched_at": instant(policy.fetched_at or math.inf),
            "confirmed_at": instant(policy.confirmed_at or math.inf),
            "usable_until": instant(policy.usable_until),
            "body": f"sha256:{policy.sha256}" if policy.sha256 else None,
            "is_cut": policy.robots_txt.is_cut or None,
            "content_type": policy.content_type or None,
            **{name.replace("-", "_"): value for name, value in policy.headers.items()},
            "crawl_delay": policy.site_pace().crawl_delay,
            "parser": None if policy.is_read_by_us else str(parser),
            "outage": None
            if outage is None
            else {
                "event": name_of(outage.event),
                "since": instant(outage.since),
                "count": outage.count,
            },
        }

    def _hops(self, steps: Iterable[Step]) -> list[dict[str, Any]]:
        found = []
        for step in steps:
            failed = step.event is not None and not isinstance(step.event, int)
            hop = {
                "uri": self._url(step.uri),
                "at": rounded(step.sent_at),
                "seconds": rounded(step.seconds),
                "status": step.event if isinstance(step.event, int) else None,
                "failure": name_of(step.event) if failed and step.event is not None else None,
                "location": self._url(step.location) if step.location else None,
                "ip": step.address or None,
                "octets": step.octets,
                "source": "store" if step.is_copied else "network",
                "warc": step.record or None,
            }
            found.append({name: value for name, value in hop.items() if value is not None})
        return found

    # The first record

    def _head(self, segment: int) -> dict[str, Any]:
        spider = self._crawler.spider
        return {
            "t": records.RUN,
            "v": records.VERSION,
            "run": self.run,
            "at": rounded(self._clock.now()),
            "segment": segment,
            "software": {
                "scrapy_rep": version("scrapy-rep"),
                "scrapy": scrapy.__version__,
                "python": platform.python_version(),
            },
            "spider": getattr(spider, "name", None),
            "tokens": self._identity.tokens,
            "user_agent": self._user_agent,
            "keyid": self._signing.keyid or None,
            "signature_agent": self._signing.agent or None,
            "settings": _settings(self._crawler, self._settings, self._identity),
            "previous": self._previous,
        }

    def _exchange_previous(self) -> str | None:
        """The previous run in the same `JOBDIR`; the name of this one replaces it."""
        folder = self._crawler.settings.get("JOBDIR")
        if not folder:
            return None
        path = Path(folder) / _PREVIOUS
        previous = None
        with suppress(OSError, UnicodeDecodeError):
            previous = path.read_text(encoding="ascii").strip() or None
        with suppress(OSError):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(self.run, encoding="ascii")
        return previous

    def _failed(self, error: str) -> None:
        self._journal.count(stats.AUDIT_GAPS)
        self._journal.error(
            "Cannot write the audit trail in %s: %s. Missing records are counted in it",
            self._settings.audit_dir,
            error,
        )


def _statement(because: Any) -> dict[str, Any]:
    """The statement that withholds: a rule of a page, or a preference about uses."""
    source = because.source
    return {
        "name": getattr(because, "name", None) or getattr(because, "category", None),
        "text": str(because),
        "uri": bare(source.uri) if getattr(source, "uri", "") else None,
    }


def _settings(crawler: Crawler, checked: RepSettings, identity: Identity) -> dict[str, Any]:
    """The settings that differ from their defaults, checked, as JSON values, without secrets."""
    held: dict[str, Any] = {}
    for name, setting in SETTINGS.items():
        value = getattr(checked, name.removeprefix("REP_").lower())
        if value == setting.check(setting.default):
            continue
        held[name] = "(set)" if name in _SECRET else value
    if checked.fetch_meta:
        held["REP_FETCH_META"] = sorted(checked.fetch_meta)
    if "REP_OVERRIDES" in held:
        overrides = mapping(crawler.settings["REP_OVERRIDES"]).items()
        held["REP_OVERRIDES"] = {
            pattern: one if isinstance(one, dict) else {"policy": one} for pattern, one in overrides
        }
    return held | {
        "ROBOTSTXT_OBEY": crawler.settings.getbool("ROBOTSTXT_OBEY"),
        "ROBOTSTXT_USER_AGENT": list(identity.tokens) if identity.is_chosen else None,
        "ROBOTSTXT_PARSER": crawler.settings.get("ROBOTSTXT_PARSER"),
    }

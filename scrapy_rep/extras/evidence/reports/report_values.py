"""The numbers of a report. Instants are POSIX seconds; ages and spans are seconds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Generic, NamedTuple, TypeVar

from scrapy_rep.extras.evidence.distribution import Distribution
from scrapy_rep.protocol.extensions.rest import status_words

from .tallies import ROUNDING_SECONDS, Counted, Counts, Gaps, Held, Tally, Times

Row = TypeVar("Row")
Hop = Mapping[str, Any]

WHOLE, INCOMPLETE, CHANGED = "whole", "incomplete", "changed"
"""The state of a trail: every digest and number is right; or it lacks some records or an end, as it
says itself; or it contradicts itself, so that it proves nothing."""

_FILES = 5  # kept per origin
_NO_FILE = ("404", "410")
_STATUSES = 1000
_FAILURE_CHARACTERS = 160
_NETWORK = "network"
_QUANTILES = {"least": 0, "half": 50, "nine in ten": 90, "most": 100}
_WORST_FIRST = (CHANGED, INCOMPLETE, WHOLE)


@dataclass(frozen=True)
class Rows(Generic[Row]):
    """Rows of a table, in the order for display.

    Attributes:
        rows: the rows that were kept.
        of: the number of all rows; at least this number, if some were dropped to bound memory.
        missing: the number of records behind the dropped rows.
    """

    rows: tuple[Row, ...]
    of: int
    missing: int = 0


def rows_of(tally: Tally[Held], order: Callable[[Held], Any]) -> Rows[Held]:
    """The rows of a tally in some order."""
    rows = sorted(tally.held.values(), key=order)
    return Rows(tuple(rows), tally.key_count, tally.dropped_records)


@dataclass(frozen=True)
class RunFacts:
    """One trail.

    Attributes:
        contact: the operator, and how to contact them; may be empty.
        is_obeying: whether the crawl obeyed robots.txt (`ROBOTSTXT_OBEY`).
        ended: the reason of its end; None without an end.
        state: `WHOLE`, `INCOMPLETE` or `CHANGED`.
        difference: words on decisions that differ when they are made again; empty without any.
        last_n: the number of its last decision.
        replayed: the decisions that were made again, by result; empty if none was.
        problems: the first contradictions; `missing`: the first gaps that it reports.
        redacted_from: the manifest of the trail with queries, from which this one was made.
        clock_steps: when the wall clock was set during the crawl, and by how many seconds.
    """

    run: str
    spider: str
    user_agent: str
    tokens: tuple[str, ...]
    software: Mapping[str, str]
    settings: Mapping[str, Any]
    is_obeying: bool
    contact: str
    began_at: float | None
    ended_at: float | None
    ended: str | None
    state: str
    difference: str
    last_n: int
    records: int
    replayed: Mapping[str, int]
    problems: tuple[str, ...]
    missing: tuple[str, ...]
    unmarked: int
    manifest_sha256: str
    previous: str | None
    redacted_from: str | None
    clock_steps: tuple[tuple[float, float], ...]


@dataclass
class CrawlTotals:
    """The totals of a report.

    Attributes:
        judged: the decisions by robots.txt, or by a setting in its place: `allowed` and
            `disallowed`.
        refused: the requests to origins that an operator dropped.
        ruled: those of them by the rules of a robots.txt; the others had no rules.
        held_back: the disallowed requests that were dropped.
        went_on: the disallowed requests that were sent all the same.
        against: the requests that were sent though their robots.txt disallows them: `went_on`, and
            exempt ones that were judged afterwards.
        unknown: the requests that were sent by a setting or by code, without known rules.
        dropped_later: requests that were allowed, and dropped when their browser was redirected.
        rate_limited: requests that were allowed, and dropped because of 429 or 503 answers.
        challenged: requests that were allowed, and dropped because of challenges.
        exempt: the requests that were not judged, by reason.
        withheld: requests and items that pages withheld.
        lost: records that could not be written.
        stale: decisions by a stale copy.
        redirected: decisions on the target of a redirect.
    """

    judged: int = 0
    ruled: int = 0
    allowed: int = 0
    disallowed: int = 0
    held_back: int = 0
    went_on: int = 0
    against: int = 0
    unknown: int = 0
    refused: int = 0
    dropped_later: int = 0
    rate_limited: int = 0
    challenged: int = 0
    exempt: Counts = field(default_factory=Counts)
    withheld: int = 0
    lost: int = 0
    stale: int = 0
    redirected: int = 0


@dataclass(frozen=True)
class Decided:
    """The number of decisions with the same result; `outcome` and `by` are as in the trail."""

    outcome: str
    allowed: bool
    reason: str
    by: str
    count: int


class Sampled(Counted):
    """A row with a sample URL of its records: the alphabetically first."""

    sample = "url"  # the name of the field with it

    def add(self, url: str) -> None:
        """Count one more record."""
        self.count += 1
        held = getattr(self, self.sample)
        if url and (not held or url < held):
            setattr(self, self.sample, url)


@dataclass
class Exemption(Sampled):
    """Requests that robots.txt did not decide on, or not finally.

    Attributes:
        why: as in the trail; or `overridden`, `errors`, `dry-run`, `slipped`, `delay-ignored`,
            `delay-skipped` (dropped because of the delay) or `refused` (dropped by an operator).
        origin: of the requests.
        url: one of them.
        known: how many of them were judged afterwards, by the robots.txt in the trail.
        disallowed: how many of them it disallows.
        by: a line that disallows one of them, or the reason, in words.
    """

    why: str
    origin: str
    count: int = 0
    url: str = ""
    known: int = 0
    disallowed: int = 0
    by: str = ""


class Delay(NamedTuple):
    """The delay of an origin for one run since an instant, and the delay before."""

    since: float
    seconds: float | None
    before: float | None

    def at(self, instant: float) -> float | None:
        """The delay before a request with its turn at an instant, perhaps before this policy."""
        return self.seconds if instant >= self.since else self.before


@dataclass(frozen=True)
class FileRead:
    """A robots.txt, or the answer without one, that decided on requests.

    Attributes:
        uri: where it was, after redirects; empty if the operator's settings replaced it.
        event: the status or the failure; `access_result` and `meaning` are as in the trail.
        status: of the answer, which may differ from the event, as for a challenge; None without it.
        source: as in the trail.
        sha256: of the octets that were judged; empty without them.
    """

    uri: str
    event: str
    access_result: str
    meaning: str
    source: str
    sha256: str
    fetched_at: float | None
    status: int | None = None


def _essence(file: FileRead) -> FileRead:
    """A file without the facts that differ if the same file is read again."""
    return replace(file, fetched_at=None, uri="", status=None)


@dataclass
class OriginFacts(Counted):
    """One origin.

    Attributes:
        sent: the requests that went to the downloader, by run.
        against: the requests that were sent though its robots.txt disallows them.
        unknown: the requests that were sent by a setting or by code, without known rules.
        unruled: the checked requests that were sent without rules, for instance after a 404.
        obeyed_as: the decisions for other product tokens than those of their runs.
        files: the last versions of its robots.txt, in order; `file_count` is that of all.
        changed_at: when a file with other octets than the one before came; None if none did.
        knows_delay: whether a robots.txt was read, or does not exist, so that its delay is known.
        age_seconds: the greatest age of its copy at a decision.
        requests: the number of requests for its file.
        crawl_delay: the last delay in its robots.txt.

    Not fields:
        gaps: the gaps between its visits.
        asked_at: the times of the counted requests for its file.
        delays: the delay for each run; groups of other crawlers may set other delays.
    """

    origin: str
    judged: int = 0
    held_back: int = 0
    went_on: int = 0
    against: int = 0
    unknown: int = 0
    unruled: int = 0
    exempt: int = 0
    stale: int = 0
    sent: Counts = field(default_factory=Counts)
    obeyed_as: Counts = field(default_factory=Counts)
    files: list[FileRead] = field(default_factory=list)
    file_count: int = 0
    changed_at: float | None = None
    knows_delay: bool = False
    requests: int = 0
    age_seconds: float | None = None
    crawl_delay: float | None = None

    def __post_init__(self) -> None:
        self.gaps = Gaps()
        self.asked_at: set[float] = set()
        self.delays: dict[str, Delay] = {}

    def read(self, file: FileRead) -> None:
        """Note its robots.txt, if it is another one, or has another meaning, than before."""
        if self.files and _essence(file) == _essence(self.files[-1]):
            return
        before = self.files[-1] if self.files else file
        is_newer = (file.fetched_at or 0.0) > (before.fetched_at or 0.0)
        if is_newer and file.sha256 and before.sha256 not in ("", file.sha256):
            self.changed_at = file.fetched_at
        self.files = [*self.files[1 - _FILES :], file]
        self.file_count += 1
        self.knows_delay |= bool(file.uri) and (file.meaning == "rules" or file.event in _NO_FILE)

    @property
    def sent_count(self) -> int:
        """The number of requests that went to the downloader."""
        return sum(self.sent.values())

    @property
    def weight(self) -> int:
        """The importance: decisions other than plain allows count most, and a broken delay."""
        self.gaps.finish()
        special = self.held_back + self.went_on + self.exempt + bool(self.gaps.visits)
        return self.judged + 1000 * special + 1_000_000 * (self.gaps.too_soon + self.gaps.crossed)

    @property
    def count(self) -> int:  # type: ignore[override]  # not a field
        """The number of decisions and exemptions."""
        return self.judged + self.exempt


@dataclass
class FetchTotals:
    """The requests for robots.txt files.

    Attributes:
        policies: the number of policies that came into memory, by source.
        requests: the requests sent; each hop is one.
        in_vain: the requests among them without a result, because the crawl closed.
        statuses: answers by status; `failures`: by failure.
        redirects: files that were fetched, by the number of redirects that were followed.
        octets: of all answers.
        milliseconds: quantiles of the time to an answer or a failure; empty without requests.
    """

    policies: Counts = field(default_factory=Counts)
    requests: int = 0
    in_vain: int = 0
    statuses: Counts = field(default_factory=Counts)
    failures: Counts = field(default_factory=Counts)
    redirects: Counts = field(default_factory=Counts)
    octets: int = 0
    milliseconds: Mapping[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._times = Distribution()

    def learnt(self, source: str, hops: Sequence[Hop]) -> Sequence[Hop]:
        """Count a policy and its new requests; return the requests that were sent."""
        self.policies.add(source or "unknown")
        if source != _NETWORK:
            return ()  # no request of this crawl
        asked = self.count(hops)
        if asked:
            self.redirects.add(str(sum("location" in hop for hop in hops)))
        return asked

    def count(self, hops: Sequence[Hop]) -> Sequence[Hop]:
        """Count requests; return those that were sent, not answered by a copy or a middleware."""
        asked = [hop for hop in hops if hop.get("source") == _NETWORK and "at" in hop]
        for hop in asked:
            self.requests += 1
            if "status" in hop:
                self.statuses.add(str(hop["status"]), _STATUSES)
            elif "failure" in hop:
                self.failures.add(hop["failure"][:_FAILURE_CHARACTERS])
            self.octets += hop.get("octets", 0)
            if "seconds" in hop:
                self._times.add(max(0, round(float(hop["seconds"]) * 1000)))
        return asked

    def finished(self) -> FetchTotals:
        """The numbers, in order."""
        self.policies = Counts(sorted(self.policies.items()))
        self.statuses = Counts(sorted(self.statuses.items()))
        self.failures = Counts(sorted(self.failures.items(), key=lambda one: (-one[1], one[0])))
        self.redirects = Counts(sorted(self.redirects.items(), key=lambda one: (len(one[0]), one)))
        if self._times.count:
            parts = _QUANTILES.items()
            self.milliseconds = {name: self._times.quantile(part) for name, part in parts}
        return self


@dataclass
class Ruled(Sampled):
    """A rule that decided.

    Attributes:
        line: its line number in the file of the origin.
        url: one of the URLs that it decided on.
    """

    origin: str
    line: int
    rule: str
    group: str
    allowed: bool
    count: int = 0
    url: str = ""


@dataclass(frozen=True)
class Paced:
    """The pace of an origin with a delay.

    Attributes:
        asked_seconds: the last delay in its robots.txt, the shortest of several crawls; None if the
            delay has another source.
        kept_seconds: the delay that the crawl meant to keep.
        visits: the number of requests that were sent to it, as far as known.
        least_seconds: the shortest time that can have passed between two requests; None under two.
        too_soon: the number of requests sent before the delay after another of the same crawl was
            over.
        crossed: the number of those sent too soon after one of another crawl only, if the clocks
            of both agree.
        word: `kept`, `not-kept`, `crossed`, or the reason why nothing can be compared.
        source: the source of the delay, in words.
    """

    origin: str
    asked_seconds: float | None
    kept_seconds: float | None
    visits: int
    least_seconds: float | None
    too_soon: int
    crossed: int
    word: str
    source: str

    @property
    def is_capped(self) -> bool:
        """Whether the crawl kept a shorter delay than that of the site."""
        return self.kept_seconds is not None and self.kept_seconds < (self.asked_seconds or 0.0)


@dataclass
class OriginRests(Counted):
    """The rests of an origin after its pages answered 429, 503 or a challenge.

    Attributes:
        began_at: when the first answer came.
        count: the number of rests.
        longest_seconds: the longest of them; a rest that became longer counts whole.
        asked_seconds: the longest Retry-After; None without one.
        probes: the requests sent after the first rest, until the origin answered well.
        too_soon: the requests among them that were sent before the end of a rest of the same crawl.
        crossed: those sent before the end of a rest of another crawl only, if the clocks agree.
        is_given_up: whether its requests were dropped in the end.
        challenge: the service that answered with challenges instead of the site, or empty.
        causes: the answers after which it rested; `given_up_causes`: after which it was given up.
    """

    origin: str
    count: int = 0
    longest_seconds: float = 0.0
    asked_seconds: float | None = None
    probes: int = 0
    too_soon: int = 0
    crossed: int = 0
    is_given_up: bool = False
    challenge: str = ""
    causes: list[str] = field(default_factory=list)
    given_up_causes: list[str] = field(default_factory=list)
    began_at: float | None = None

    def __post_init__(self) -> None:
        self._began_at = self._until = 0.0
        self._until_of: dict[str, float] = {}  # by run

    @property
    def weight(self) -> int:
        """The importance: a request that was sent too soon counts most."""
        return self.count + 1_000_000 * (self.too_soon + self.crossed)

    def begin(self, run: str, at: float, until: float, record: Mapping[str, Any]) -> None:
        """Note a rest that begins or becomes longer, or that the origin is given up."""
        service = str(record.get("challenge", ""))
        self.challenge = service or self.challenge
        cause = "a challenge" if service else status_words(record.get("status", "429 or 503"))
        self.began_at = at if self.began_at is None else self.began_at
        causes = self.given_up_causes if record.get("is_given_up") else self.causes
        if cause not in causes:
            causes.append(cause)
        if record.get("is_given_up"):
            self.is_given_up = True
            return
        if at >= self._until:
            self.count += 1
            self._began_at = at
        self._until = max(self._until, until)
        self._until_of[run] = max(self._until_of.get(run, 0.0), until)
        self.longest_seconds = max(self.longest_seconds, round(self._until - self._began_at, 3))
        asked = record.get("asked_seconds")
        if asked is not None:
            self.asked_seconds = max(self.asked_seconds or 0.0, asked)

    def probe(self, run: str, at: float) -> None:
        """Note a request that was sent."""
        self.probes += 1
        is_own = at < self._until_of.get(run, 0.0) - ROUNDING_SECONDS
        self.too_soon += is_own
        self.crossed += at < self._until - ROUNDING_SECONDS and not is_own


@dataclass
class Priced(Sampled):
    """Pages of an origin that answered 402 with the same terms; `url` is one of the pages."""

    origin: str
    price: str
    licence: str
    count: int = 0
    url: str = ""


@dataclass
class Covered(Counted):
    """URLs of sitemaps that came to one end; `url` is one of them, or empty."""

    what: str
    count: int = 0
    url: str = ""


@dataclass
class Withheld(Sampled):
    """Requests or items of pages that one statement withheld; `page` is one of the pages."""

    what: str
    name: str
    because: str
    outcome: str
    count: int = 0
    page: str = ""

    sample = "page"


@dataclass(frozen=True)
class Lost:
    """Records of a run that could not be written."""

    run: str
    from_n: int
    to_n: int
    count: int
    from_at: float
    to_at: float
    error: str


@dataclass(frozen=True)
class CrawlReport:
    """The facts about one or several crawls, from their trails.

    Attributes:
        obeyed_as: the decisions by the product tokens that they were made for; ``*`` for none.
        agents: the requests that were sent, by User-Agent; `unknown` if a trail lost its head.
            Requests of pages in browsers do not count.
    """

    runs: tuple[RunFacts, ...]
    totals: CrawlTotals
    obeyed_as: Mapping[str, int]
    agents: Mapping[str, int]
    decided: tuple[Decided, ...]
    times: Times
    exemptions: Rows[Exemption]
    origins: Rows[OriginFacts]
    fetches: FetchTotals
    rules: Rows[Ruled]
    paces: Rows[Paced]
    rests: Rows[OriginRests]
    payments: Rows[Priced]
    coverage: Rows[Covered]
    withheld: Rows[Withheld]
    gaps: Rows[Lost]
    limits: tuple[str, ...]

    @property
    def state(self) -> str:
        """The state of the worst trail."""
        states = {run.state for run in self.runs}
        return next((state for state in _WORST_FIRST if state in states), WHOLE)

    @property
    def too_soon_count(self) -> int:
        """The number of requests that were sent too soon after another of the same crawl."""
        paces, rests = self.paces.rows, self.rests.rows
        return sum(row.too_soon for row in paces) + sum(row.too_soon for row in rests)

    @property
    def ignored_count(self) -> int:
        """The number of requests after the first to an origin with a delay that was ignored."""
        return sum(row.count - 1 for row in self.exempted("delay-ignored"))

    def exempted(self, *whys: str) -> list[Exemption]:
        """The exemptions of these kinds."""
        return [row for row in self.exemptions.rows if row.why in whys]

    def as_dict(self) -> dict[str, Any]:
        """The whole report as JSON values."""
        return {"v": 1, "state": self.state, **asdict(self)}

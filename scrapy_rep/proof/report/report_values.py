"""The numbers of a report, as values. Instants are POSIX seconds; ages and spans are seconds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Generic, TypeVar

from .tallies import Gaps, Held, Tally, Times

Row = TypeVar("Row")

WHOLE, INCOMPLETE, CHANGED = "whole", "incomplete", "changed"
"""What a trail is: every digest and number is right; it tells that it lacks something, or has no
end; it contradicts itself, so that it proves nothing."""

_WORST_FIRST = (CHANGED, INCOMPLETE, WHOLE)


@dataclass(frozen=True)
class Rows(Generic[Row]):
    """Rows of a table, in the order in which people want them.

    Attributes:
        rows: those that were kept.
        of: how many there are; if some were dropped to bound memory, at least so many.
        missing: how many records those stand for that were dropped.
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
        ended: the reason of its end; None without an end.
        state: `WHOLE`, `INCOMPLETE` or `CHANGED`.
        last_n: the number of its last decision.
        problems: what contradicts itself, and `missing`: what it tells that it lacks; the first.
        redacted_from: the manifest of the trail that this one was made of, without queries.
    """

    run: str
    spider: str
    user_agent: str
    tokens: tuple[str, ...]
    software: Mapping[str, str]
    settings: Mapping[str, Any]
    began_at: float | None
    ended_at: float | None
    ended: str | None
    state: str
    last_n: int
    records: int
    problems: tuple[str, ...]
    missing: tuple[str, ...]
    unmarked: int
    manifest_sha256: str
    previous: str | None
    redacted_from: str | None


@dataclass(frozen=True)
class CrawlTotals:
    """How many of what.

    Attributes:
        judged: the decisions: `allowed` and `disallowed`.
        held_back: the disallowed ones that were not sent.
        went_on: the disallowed ones that were sent all the same.
        dropped_later: those that had passed, and were dropped when their browser was redirected.
        exempt: the requests that were not judged, by why.
        withheld: requests and items that pages withheld.
        lost: records that could not be written.
        stale: decisions by a copy past its time.
        redirected: decisions on the target of a redirect.
    """

    judged: int
    allowed: int
    disallowed: int
    held_back: int
    went_on: int
    dropped_later: int
    exempt: Mapping[str, int]
    withheld: int
    lost: int
    stale: int
    redirected: int


@dataclass(frozen=True)
class Decided:
    """So many decisions that came out alike: `outcome` and `by` as in the trail."""

    outcome: str
    allowed: bool
    reason: str
    by: str
    count: int


class Counted:
    """A row that counts records: the more, the more it matters."""

    count: int

    @property
    def weight(self) -> int:
        """How much it matters."""
        return self.count


class Sampled(Counted):
    """One with a URL of these records: the first in the order of the alphabet."""

    sample = "url"  # the name of the field

    def add(self, url: str) -> None:
        """Count one more."""
        self.count += 1
        held = getattr(self, self.sample)
        if url and (not held or url < held):
            setattr(self, self.sample, url)


@dataclass
class Exemption(Sampled):
    """Requests that robots.txt had no say on, or not the last word.

    Attributes:
        why: as in the trail; or `overridden`, `dry-run`, `slipped`, `delay-ignored`.
        origin: of the requests.
        url: one of them.
    """

    why: str
    origin: str
    count: int = 0
    url: str = ""


@dataclass
class OriginFacts:
    """One origin, and its robots.txt as it was last.

    Attributes:
        age_seconds: how old its copy was at most when it decided.
        requests: how many were sent for its file.
        redirects: how many of the last way to it were followed.
        gaps: those between its visits; no field, nor is `asked_at`, when its file was asked last.
    """

    origin: str
    judged: int = 0
    held_back: int = 0
    went_on: int = 0
    exempt: int = 0
    stale: int = 0
    event: str = ""
    access_result: str = ""
    meaning: str = ""
    source: str = ""
    requests: int = 0
    redirects: int = 0
    age_seconds: float | None = None
    crawl_delay: float | None = None

    def __post_init__(self) -> None:
        self.gaps = Gaps()
        self.asked_at = 0.0

    @property
    def weight(self) -> int:
        """How much it matters: what was not simply allowed matters most."""
        special = self.held_back + self.went_on + self.exempt + bool(self.gaps.visits)
        return self.judged + 1000 * special + 1_000_000 * self.gaps.too_soon

    @property
    def count(self) -> int:
        """How many decisions and exemptions it stands for."""
        return self.judged + self.exempt


@dataclass
class Chain(Counted):
    """A way to a robots.txt over redirects.

    Attributes:
        uris: each hop; `came`: what came of it; `asked`: whether it was asked, or known already.
    """

    origin: str
    uris: tuple[str, ...]
    came: tuple[str, ...] = ()
    asked: tuple[bool, ...] = ()
    count: int = 0


@dataclass(frozen=True)
class Fetches:
    """The requests for robots.txt files.

    Attributes:
        policies: how often a policy came into memory, by its source.
        requests: all that were sent; each hop is one.
        in_vain: those of them of which nothing was learnt, since the crawl closed.
        statuses: what came, by status; `failures`: by failure.
        redirects: files that were fetched, by the number of redirects that were followed.
        octets: of all answers.
        milliseconds: quantiles of the time to an answer or a failure; empty without requests.
    """

    policies: Mapping[str, int]
    requests: int
    in_vain: int
    statuses: Mapping[str, int]
    failures: Mapping[str, int]
    redirects: Mapping[str, int]
    octets: int
    milliseconds: Mapping[str, int]
    chains: Rows[Chain]


@dataclass
class Ruled(Sampled):
    """A rule that decided.

    Attributes:
        line: where it stands in the file of the origin.
        url: one that it decided on.
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
    """The pace of an origin that asks for a delay.

    Attributes:
        asked_seconds: the delay of its robots.txt that was asked last; None if it asks otherwise.
        kept_seconds: what the crawl meant to keep.
        visits: how many requests are known to have left for it.
        least_seconds: the least time that can have passed between two of them; None under two.
        too_soon: how many came sooner than was asked.
        word: `kept`, `not-kept`, or why there is nothing to compare.
    """

    origin: str
    asked_seconds: float | None
    kept_seconds: float | None
    visits: int
    least_seconds: float | None
    too_soon: int
    word: str


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
    """What one or several crawls did, as their trails tell."""

    runs: tuple[RunFacts, ...]
    totals: CrawlTotals
    decided: tuple[Decided, ...]
    times: Times
    exemptions: Rows[Exemption]
    origins: Rows[OriginFacts]
    fetches: Fetches
    rules: Rows[Ruled]
    paces: Rows[Paced]
    withheld: Rows[Withheld]
    gaps: Rows[Lost]
    limits: tuple[str, ...]

    @property
    def state(self) -> str:
        """That of the worst trail."""
        states = {run.state for run in self.runs}
        return next((state for state in _WORST_FIRST if state in states), WHOLE)

    def as_dict(self) -> dict[str, Any]:
        """Everything, as JSON takes it."""
        return {"v": 1, "state": self.state, **asdict(self)}

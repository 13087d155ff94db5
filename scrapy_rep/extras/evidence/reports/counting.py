"""The numbers of a report, counted while the trails are read once, in bounded memory.

A record may be damaged or forged. If it cannot be counted, that is reported as a problem of its
trail, which then proves nothing.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

from scrapy_rep.decisions import occasions
from scrapy_rep.decisions.url_ends import (
    END_BITS,
    END_WORDS,
    ENDS_BY_NAME,
    HAS_QUERY,
    LISTED,
    MOST_URLS,
    UrlEnds,
)
from scrapy_rep.extras.evidence import trail_records as records
from scrapy_rep.extras.evidence.replay import tokens_of
from scrapy_rep.extras.evidence.trail_records import unpacked_keys
from scrapy_rep.protocol.extensions.pace import NO_PACE, Excess, SitePace
from scrapy_rep.protocol.secrecy import masked
from scrapy_rep.protocol.verdict import Reason, Verdict
from scrapy_rep.settings import PaceSettings

from .report_values import (
    Covered,
    CrawlTotals,
    Delay,
    Exemption,
    FetchTotals,
    FileRead,
    Lost,
    OriginFacts,
    OriginRests,
    Priced,
    Rows,
    Ruled,
    Withheld,
)
from .tallies import OTHERS, Counts, Tally, Timeline

Record = Mapping[str, Any]

_TEXT_CHARACTERS = 200  # of a text from sites or spiders
_URI_CHARACTERS = 160
_KINDS = 1000  # of decisions; a crawl has some dozens
_GAPS = 10_000
_SAMPLES = 10_000  # URLs of sitemaps
_STEPS = 20  # of the wall clock of a run
_WENT_ON = {occasions.WOULD_DROP: "dry-run", occasions.SLIPPED: "slipped"}
"""The exemption, by the outcome of a disallowed request that was sent all the same."""
_OVERRIDDEN = "OVERRIDDEN"
_OVERRIDE = "override"
JUDGED_AFTERWARDS = (occasions.DONT_OBEY, occasions.OFF, "overridden")
"""The exemptions on which a robots.txt in the trail may say more."""
_WITHOUT_RULES = ("overridden", "errors")
"""The exemptions of decisions that no rules made."""
_ERRORS = ("UNREACHABLE", "HTML", _OVERRIDDEN)
"""The reasons with which a policy for errors allows."""
_ORIGIN = re.compile(r"[^:]*://[^/?#]*")

_SECOND = (occasions.AGAIN, occasions.CAME_BACK)
"""The occasions of a second decision on an allowed request."""

ALLOWED, HELD_BACK, WENT_ON, EXEMPT, STALE = range(5)
"""The places of the counts in a moment."""


class Known(NamedTuple):
    """The part of a policy that a report keeps."""

    origin: str
    source: str
    is_stale: bool
    fetched_at: float | None
    crawl_delay: float | None
    has_rules: bool = False

    def site_pace(self, _: tuple[str, ...] | None = None) -> SitePace:
        """Its delay; trails have no other paces."""
        return SitePace(self.crawl_delay)


@dataclass
class RunCounts:
    """The state of one run while it is read.

    Attributes:
        last_p: the greatest number of its policies; segments repeat the policies that they need.
        settings: the bounds of the paces of sites.
        steps: when its wall clock was set, and by how many seconds; the first of them.
        uncounted: records that could not be read, by kind.
        passed: the number of requests that were sent, as far as is known.
        agents: the number of them by User-Agent, if it is not that of the run.
    """

    name: str = ""
    head: Record = field(default_factory=dict)
    passed: int = 0
    agents: Counts = field(default_factory=Counts)
    began_at: float = 0.0
    policies: dict[Any, Known] = field(default_factory=dict)
    last_p: int = 0
    settings: PaceSettings = field(default_factory=partial(PaceSettings.of_trail, {}))
    steps: list[tuple[float, float]] = field(default_factory=list)
    ended_at: float | None = None
    end: Record | None = None
    uncounted: Counter[str] = field(default_factory=Counter)


class Counting:
    """The numbers of one report while the trails are read."""

    def __init__(self, *, shows_queries: bool) -> None:
        self._url = _text if shows_queries else _masked
        self.decided: Counter[tuple[str, bool, str, str]] = Counter()
        self.totals = CrawlTotals()
        self.timeline = Timeline()
        self.fetches = FetchTotals()
        self.exemptions = Tally(Exemption)
        self.origins = Tally(OriginFacts)
        self.rules = Tally(Ruled)
        self.withheld = Tally(Withheld)
        self.rests = Tally(OriginRests)
        self.payments = Tally(Priced)
        self.coverage = Coverings()
        self.obeyed_as = Counts()
        self.gaps: list[Lost] = []
        self.gap_count = 0

    @property
    def has_exemptions(self) -> bool:
        """Whether requests were sent that a robots.txt in the trail can judge afterwards."""
        return any(why in JUDGED_AFTERWARDS for why, _ in self.exemptions.held)

    def hear(self, run: RunCounts, record: Record) -> None:
        """Count a record of a run."""
        reader = getattr(self, f"_hear_{record['t']}", None)
        if reader is None:
            return
        try:
            reader(run, record)
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError, RecursionError):
            run.uncounted[record["t"]] += 1

    def _hear_run(self, run: RunCounts, record: Record) -> None:
        run.name, run.head = _text(record.get("run", "")), record
        run.policies.clear()  # each segment repeats the policies that it needs
        run.settings = PaceSettings.of_trail(record.get("settings") or {})
        if "at" in record and not run.began_at:
            run.began_at = float(record["at"]) - 1.0  # the first fetch may begin before the trail

    def _hear_policy(self, run: RunCounts, record: Record) -> None:
        hops, source = record.get("hops") or (), _text(record.get("source", ""))[:_URI_CHARACTERS]
        origin = self.origins.of(_text(record["origin"]))
        uri = hops[-1]["uri"] if hops else f"{origin.origin}/robots.txt"
        file = FileRead(
            uri="" if source == _OVERRIDE else self._url(uri),
            event=_text(record["event"]),
            access_result=_text(record.get("access_result") or ""),
            meaning=_text(record["meaning"]),
            source=source,
            sha256=_text(record.get("body", "")).removeprefix("sha256:"),
            fetched_at=record.get("fetched_at"),
            status=hops[-1].get("status") if hops else None,
        )
        origin.read(file)
        origin.crawl_delay, at = record.get("crawl_delay"), float(record.get("at", 0.0))
        before = origin.delays.get(run.name, Delay(-1.0, None, None))
        if (origin.crawl_delay, before.seconds) != (None, None) and at > before.since:
            origin.delays[run.name] = Delay(at, origin.crawl_delay, before.seconds)
        run.policies[record["p"]] = Known(
            origin.origin,
            source,
            bool(record.get("is_stale")),
            record.get("fetched_at"),
            origin.crawl_delay,
            has_rules=file.meaning == "rules" and source != _OVERRIDE,
        )
        if record["p"] > run.last_p:
            run.last_p = record["p"]
            # A renewed policy also lists the requests for its older copy, of this or another run.
            hops = [
                hop
                for hop in hops
                if (at := float(hop.get("at", 0.0))) > run.began_at and at not in origin.asked_at
            ]
            asked = self.fetches.learnt(source, hops)
            origin.requests += len(asked)
            origin.asked_at.update(float(hop["at"]) for hop in asked)

    def _hear_fetch(self, _: RunCounts, record: Record) -> None:
        asked = self.fetches.count(record["hops"])
        self.fetches.in_vain += len(asked)
        self.origins.of(_text(record["origin"])).requests += len(asked)

    def _hear_decision(self, run: RunCounts, record: Record) -> None:
        at = float(record["at"])
        allowed, reason = record["allowed"], _text(record["reason"])
        outcome = record["outcome"]
        by = record.get("by")
        is_again = by in _SECOND  # counted before, as allowed
        is_refused = reason == Reason.DROPPED.name  # by an operator, not by a robots.txt
        place = ALLOWED if allowed else WENT_ON if outcome in _WENT_ON else HELD_BACK
        moment, totals = self.timeline.at(at), self.totals
        moment[place] += not (is_again and allowed)
        totals.refused += is_refused
        totals.allowed += allowed - is_again
        totals.disallowed += not allowed and not is_refused
        totals.redirected += by == occasions.REDIRECT
        sent = (place != HELD_BACK) - (by == occasions.AGAIN)
        if by != occasions.BROWSER:
            run.passed += sent
        obeyed_as = _text(", ".join(tokens_of(record, run.head)) or "*")
        if not is_refused:
            self.obeyed_as.add(obeyed_as)
        key = (outcome, allowed, reason, _text(by or "request"))
        if key not in self.decided and len(self.decided) >= _KINDS:
            key = (outcome, allowed, OTHERS, OTHERS)
        self.decided[key] += 1
        url = self._url(record["url"])
        known = run.policies.get(record.get("p"))
        name = known.origin if known is not None else origin_of(url)
        origin = self.origins.of(name)
        for one in (totals, origin):
            one.judged += (not is_again) - is_refused
            one.held_back += place == HELD_BACK
            one.went_on += place == WENT_ON
            one.against += place == WENT_ON
        if sent:
            origin.sent.add(run.name, by=sent)
        if "tokens" in record:
            origin.obeyed_as.add(obeyed_as)
        if known is not None:
            self._age(origin, known, record, moment)
        has_rules = known is not None and known.has_rules
        totals.ruled += has_rules and not is_again
        origin.unruled += place == ALLOWED and not has_rules and not is_again
        self._count_exemptions(run, record, origin, known, place)
        if "line" in record:
            rule, group = _text(record["rule"]), _text(record.get("group", ""))
            self.rules.of(name, record["line"], rule, group, allowed).add(url)

    def _count_exemptions(
        self, run: RunCounts, record: Record, origin: OriginFacts, known: Known | None, place: int
    ) -> None:
        """Count a decision that a setting or code of the crawl made, or did not follow."""
        reason, outcome = _text(record["reason"]), record["outcome"]
        is_again = record.get("by") in _SECOND
        pace = NO_PACE if known is None else run.settings.pace(known, float(record["at"]))
        for why, is_so in (
            (_WENT_ON.get(outcome, ""), place == WENT_ON),
            ("refused", reason == Reason.DROPPED.name),
            ("delay-skipped", reason == Reason.CRAWL_DELAY.name and place == HELD_BACK),
            ("delay-ignored", pace.excess is Excess.IGNORE and place != HELD_BACK and not is_again),
            (_permission(reason, known), place == ALLOWED and not is_again),
        ):
            if why and is_so:
                self.exemptions.of(why, origin.origin).add(self._url(record["url"]))
                origin.unknown += why in _WITHOUT_RULES
                self.totals.unknown += why in _WITHOUT_RULES

    def _age(self, origin: OriginFacts, known: Known, record: Record, moment: list[int]) -> None:
        moment[STALE] += known.is_stale
        origin.stale += known.is_stale
        self.totals.stale += known.is_stale
        if known.fetched_at is not None:
            age = round(max(0.0, float(record["at"]) - known.fetched_at), 3)
            origin.age_seconds = max(origin.age_seconds or 0.0, age)

    def _hear_exempt(self, run: RunCounts, record: Record) -> None:
        why, url = _text(record["why"]), self._url(record["url"])
        run.passed += why != occasions.SCHEME and record.get("by") not in (
            occasions.AGAIN,
            occasions.BROWSER,
        )
        name = origin_of(url)
        is_counted = name.startswith("http")
        if is_counted and record.get("by") != occasions.AGAIN:
            self.origins.of(name).sent.add(run.name)
        if record.get("by") in _SECOND:
            return
        self.timeline.at(float(record["at"]))[EXEMPT] += 1
        self.totals.exempt.add(why)
        self.totals.unknown += why in JUDGED_AFTERWARDS
        self.exemptions.of(why, name).add(url)
        if is_counted:
            self.origins.of(name).exempt += 1
            self.origins.of(name).unknown += why in JUDGED_AFTERWARDS

    def _hear_drop(self, run: RunCounts, record: Record) -> None:
        reason, totals = record["reason"], self.totals
        totals.rate_limited += reason == records.RATE_LIMITED
        if reason in (records.RATE_LIMITED, records.CHALLENGED):  # while it waited: it did not go
            run.passed -= 1
            self.origins.of(origin_of(self._url(record["url"]))).sent.add(run.name, by=-1)
        totals.challenged += reason == records.CHALLENGED
        totals.dropped_later += reason not in (records.RATE_LIMITED, records.CHALLENGED)

    def _hear_withheld(self, _: RunCounts, record: Record) -> None:
        because = record["because"]
        told = because.get("name") or "", because.get("text") or ""
        key = map(_text, (record["what"], *told, record["outcome"]))
        self.withheld.of(*key).add(self._url(record["page"]))
        self.totals.withheld += 1

    def _hear_sent(self, run: RunCounts, record: Record) -> None:
        origin = self.origins.of(_text(record["origin"]))
        at, kept = float(record["at"]), float(record["kept_seconds"])
        delay = origin.delays.get(run.name)
        asked = None if delay is None else delay.at(at)
        owed = kept if asked is None else asked
        origin.gaps.add(at, float(record["left_by"]), kept, owed, run.name)

    def _hear_rest(self, run: RunCounts, record: Record) -> None:
        at, until = float(record["at"]), float(record["until"])
        self.rests.of(_text(record["origin"])).begin(run.name, at, until, record)

    def _hear_agent(self, run: RunCounts, record: Record) -> None:
        run.agents.add(_text(record["user_agent"]) or "no User-Agent")

    def judged_afterwards(self, record: Record, verdict: Verdict | None) -> None:
        """Count what the robots.txt says on a request that it did not decide."""
        if verdict is None or record.get("by") in _SECOND:
            return
        why = "overridden" if record["t"] == records.DECISION else _text(record["why"])
        name = origin_of(self._url(record["url"]))
        for one in (self.totals, self.origins.held.get((name,))):
            if one is not None:  # dropped, to bound memory
                one.unknown -= 1
                one.against += not verdict.allowed
        self.timeline.at(float(record["at"]))[WENT_ON] += not verdict.allowed
        row = self.exemptions.held.get((why, name))
        if row is None:
            return  # dropped, to bound memory
        row.known += 1
        row.disallowed += not verdict.allowed
        if not verdict.allowed and not row.by:
            where = f"the robots.txt of {row.origin}"
            told = f"line {verdict.line} of {where}: {verdict.rule}"
            row.by = _text(told if verdict.line else f"{where}: {verdict.reason.value}")

    def _hear_probe(self, run: RunCounts, record: Record) -> None:
        self.rests.of(_text(record["origin"])).probe(run.name, float(record["at"]))

    def _hear_payment(self, _: RunCounts, record: Record) -> None:
        url, licence = self._url(record["url"]), self._url(record.get("licence", ""))
        self.payments.of(origin_of(url), _text(record.get("price", "")), licence).add(url)

    def _hear_coverage(self, _: RunCounts, record: Record) -> None:
        urls = [self._url(url) for url in record.get("urls", ())]
        if "keys" in record:
            self.coverage.follow(record, urls)
        else:
            self.coverage.beyond += record["count"]

    def _hear_clock(self, run: RunCounts, record: Record) -> None:
        if len(run.steps) < _STEPS:
            run.steps.append((float(record["at"]), float(record["step_seconds"])))

    def _hear_gap(self, run: RunCounts, record: Record) -> None:
        count = sum(int(record.get(kind, 0)) for kind in records.OUTCOMES)
        self.totals.lost += count
        self.gap_count += 1
        if len(self.gaps) < _GAPS:
            ends = int(record["from_n"]), int(record["to_n"])
            times = float(record["from_at"]), float(record["to_at"])
            self.gaps.append(Lost(run.name, *ends, count, *times, _text(record["error"])))

    def _hear_end(self, run: RunCounts, record: Record) -> None:
        run.end = record


class Coverings:
    """The URLs that the sitemaps of all runs list, and what became of them in any run.

    Attributes:
        beyond: the number of entries that were not followed.
    """

    def __init__(self) -> None:
        self.beyond = 0
        self._ends = UrlEnds({})
        self._secrets: set[str] = set()
        self._samples: dict[int, str] = {}

    def follow(self, record: Record, urls: Sequence[str]) -> None:
        """Note the ends of the pages in a record."""
        state = END_WORDS.index(record["what"])
        state |= LISTED if record.get("is_listed") else 0
        keys = unpacked_keys(record["keys"])
        if record.get("has_query"):
            state |= HAS_QUERY
            self._secrets.add(record.get("keyed", ""))
        for key in keys:
            self._ends.note(key, state)
        if urls and len(self._samples) < _SAMPLES:
            self._samples.update(zip(keys, urls, strict=True))

    def rows(self) -> Rows[Covered]:
        """The rows: the listed URLs, and then how many of them had each end."""
        counts = self._ends.counts(knows_queries=self._knows_queries)
        samples = self._samples_by_end()
        rows = [
            Covered(name, count, samples.get(name, ""))
            for name, count in counts.items()
            if counts["listed"] and (count or name != "unknown")
        ]
        rows += [Covered("beyond", self.beyond)] if self.beyond else []
        return Rows(tuple(rows), len(rows))

    def limits(self) -> Iterator[str]:
        """Yield the limits of the rows as sentences."""
        if self._ends.is_full:
            yield f"Of sitemaps, only the first {MOST_URLS:,} URLs of all runs are counted."
        if not self._knows_queries and self._ends.counts()["listed"]:
            yield (
                "URLs of sitemaps whose queries are left out count once for each run, because they "
                "cannot be compared over several runs."
            )

    @property
    def _knows_queries(self) -> bool:
        """Whether URLs with queries can be compared over all runs."""
        return len(self._secrets) <= 1

    def _samples_by_end(self) -> dict[str, str]:
        found: dict[str, str] = {}
        names = {end: name for name, end in ENDS_BY_NAME.items()}
        for key, url in self._samples.items():
            state = self._ends.held.get(key, 0)
            if state & LISTED:
                found.setdefault(names[state & END_BITS], url)
        return found


def _permission(reason: str, known: Known | None) -> str:
    """The setting or code that allowed a request, not a robots.txt; empty without one."""
    if known is not None and known.source == _OVERRIDE:
        return "overridden"
    return "errors" if reason in _ERRORS else ""


def _text(value: Any) -> str:
    """A text from a trail, cut to its beginning."""
    text = str(value)
    return text if len(text) <= _TEXT_CHARACTERS else text[: _TEXT_CHARACTERS - 1] + "…"


def _masked(value: Any) -> str:
    """A URL from a trail without the values in its query, cut to its beginning."""
    return _text(masked(str(value)))


def origin_of(url: str) -> str:
    """The beginning of a URL, up to its path; without a host, its scheme."""
    found = _ORIGIN.match(url)
    return found[0] if found else f"{url.partition(':')[0]}:"

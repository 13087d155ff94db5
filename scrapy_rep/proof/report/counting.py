"""The numbers of trails, counted while they are read: once, and in bounded memory.

A record may be damaged or made up. What cannot be counted is told as a problem of its trail, which
proves nothing then.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from scrapy_rep.proof import trail_records as records

from .report_fetches import Fetching, Known
from .report_values import Lost
from .tallies import Counts, Gaps, Tally, Timeline

Record = Mapping[str, Any]

_TEXT_CHARACTERS = 200  # of what sites wrote, or spiders asked for
_OTHERS = "others"
_KINDS = 1000  # of decisions; those of a crawl are some dozens
_GAPS = 10_000
_MOST = 1 << 53  # of decisions that one record counts
_LETS_OUT = frozenset({"passed", "would-drop", "slipped"})
_OUTCOMES = _LETS_OUT | {"dropped", "aborted"}
_WENT_ON = {"would-drop": "dry-run", "slipped": "slipped", "passed": "passed"}

AGAIN = "user-agent"
"""The occasion (`by`) of a decision on a request that was allowed before, as another crawler."""

MOST_SECONDS = 300.0
"""The default of REP_CRAWL_DELAY_MAX_SECONDS: trails tell of settings that are none."""

ALLOWED, HELD_BACK, WENT_ON, EXEMPT, STALE = range(5)
"""The places of a moment's counts."""


class Origin:
    """What is counted of one origin."""

    __slots__ = (
        "age",
        "asked_at",
        "exempt",
        "gaps",
        "held_back",
        "judged",
        "known",
        "requests",
        "stale",
        "went_on",
    )

    def __init__(self) -> None:
        self.judged = self.held_back = self.went_on = self.exempt = self.stale = 0
        self.requests = 0
        self.asked_at = 0.0
        self.age: float | None = None
        self.known: Known | None = None
        self.gaps: Gaps | None = None

    @property
    def weight(self) -> int:
        """How much it matters: what was not simply allowed matters most."""
        delayed = self.gaps is not None
        special = self.held_back + self.went_on + self.exempt + delayed
        too_soon = 0 if self.gaps is None else self.gaps.too_soon
        return self.judged + 1000 * special + 1_000_000 * too_soon

    @property
    def count(self) -> int:
        """How many decisions and exemptions it stands for."""
        return self.judged + self.exempt


class Sample:
    """A count, with the first of its URLs in the order of the alphabet."""

    __slots__ = ("count", "url")

    def __init__(self) -> None:
        self.count = 0
        self.url = ""

    def add(self, url: str, count: int = 1) -> None:
        """Count one more."""
        self.count += count
        if url and (not self.url or url < self.url):
            self.url = url

    @property
    def weight(self) -> int:
        """How much it matters."""
        return self.count


class Run:
    """What is known of one run while it is read."""

    def __init__(self) -> None:
        self.name = ""
        self.began_at = 0.0
        self.policies: dict[Any, Known] = {}
        self.ignores_excess = False
        self.most_seconds = MOST_SECONDS
        self.is_counted = False
        self.last_at: float | None = None
        self.ended_at: float | None = None
        self.end: Record | None = None
        self.uncounted: Counter[str] = Counter()  # records that say nothing, by kind


class Counting:
    """The numbers of one report while they grow."""

    def __init__(self) -> None:
        self.decided: Counter[tuple[str, bool, str, str]] = Counter()
        self.exempt: Counts[str] = Counts(_OTHERS)
        self.dropped_later = self.stale = 0
        self.timeline = Timeline()
        self.fetching = Fetching()
        self.exemptions: Tally[tuple[str, str], Sample] = Tally(Sample, lambda one: one.weight)
        self.origins: Tally[str, Origin] = Tally(
            Origin, lambda one: one.weight, count=lambda one: one.count
        )
        self.rules: Tally[tuple[str, int, str, str, bool], Sample] = Tally(
            Sample, lambda one: one.weight
        )
        self.withheld: Tally[tuple[str, str, str, str], Sample] = Tally(
            Sample, lambda one: one.weight
        )
        self.withheld_count = 0
        self.gaps: list[Lost] = []
        self.gap_count = 0
        self.lost = 0

    def hear(self, run: Run, record: Record) -> None:
        """Count a record of a run."""
        reader = _READERS.get(record["t"])
        if reader is None:
            return
        try:
            reader(self, run, record)
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError, RecursionError):
            run.uncounted[record["t"]] += 1

    def _begins(self, run: Run, record: Record) -> None:
        run.name = _text(record.get("run", ""))
        run.policies.clear()  # each segment repeats those that it needs
        settings = record.get("settings") or {}
        run.is_counted = settings.get("REP_AUDIT_ALLOWED") == "count"
        run.ignores_excess = settings.get("REP_CRAWL_DELAY_EXCESS") == "ignore"
        run.most_seconds = float(settings.get("REP_CRAWL_DELAY_MAX_SECONDS", MOST_SECONDS))
        if "at" not in record:
            return
        run.last_at = float(record["at"])
        if not run.began_at:
            run.began_at = run.last_at - 1.0  # the first fetch may begin before the trail

    def _policy(self, run: Run, record: Record) -> None:
        known = run.policies[record["p"]] = Known.of(record)
        origin = self.origins.of(known.origin)
        origin.known = known
        since = max(origin.asked_at, run.began_at)
        asked = self.fetching.learnt(run.name, record, known, since)
        origin.requests += len(asked)
        origin.asked_at = max([origin.asked_at, *(float(hop["at"]) for hop in asked)])

    def _in_vain(self, run: Run, record: Record) -> None:  # noqa: ARG002 - as all readers
        origin = self.origins.of(_text(record["origin"]))
        origin.requests += self.fetching.in_vain(record["hops"])

    def _decision(self, run: Run, record: Record) -> None:
        at = run.last_at = float(record["at"])
        self._decide(run, record, 1, at)

    def _count(self, run: Run, record: Record) -> None:
        self._decide(run, record, int(record["count"]), run.last_at or 0.0)

    def _decide(self, run: Run, record: Record, count: int, at: float) -> None:
        allowed, reason = bool(record["allowed"]), _text(record["reason"])
        outcome = str(record.get("outcome", "passed"))
        if outcome not in _OUTCOMES or not isinstance(record["allowed"], bool):
            raise ValueError("it is not known what came of it")
        if not 0 < count <= _MOST:
            raise ValueError(f"{count} is no count")
        is_again = record.get("by") == AGAIN  # it was counted before, as allowed
        place = ALLOWED if allowed else WENT_ON if outcome in _LETS_OUT else HELD_BACK
        moment = self.timeline.at(at)
        moment[place] += 0 if is_again and allowed else count
        key = (outcome, allowed, reason, _text(record.get("by", "request")))
        if key not in self.decided and len(self.decided) >= _KINDS:
            key = (outcome, allowed, _OTHERS, _OTHERS)
        self.decided[key] += count
        url = _text(record.get("url", ""))
        known = run.policies.get(record.get("p"))
        name = known.origin if known is not None else origin_of(url)
        origin = self.origins.of(name)
        origin.judged += 0 if is_again else count
        if known is not None:
            self._age(origin, known, record, moment, count)
        if place == HELD_BACK:
            origin.held_back += count
        elif place == WENT_ON:
            origin.went_on += count
            self._exempted(_WENT_ON[outcome], name, url, count)
        if "line" in record:
            rule = (
                name,
                int(record["line"]),
                _text(record["rule"]),
                _text(record.get("group", "")),
            )
            self.rules.of((*rule, allowed)).add(url, count)
        if allowed and reason == _OVERRIDDEN:
            self._exempted("overridden", name, url, count)
        if known is not None and known.is_over(run.most_seconds) and run.ignores_excess:
            self._exempted("delay-ignored", name, url, count)

    def _age(
        self, origin: Origin, known: Known, record: Record, moment: list[int], count: int
    ) -> None:
        if known.is_stale:
            moment[STALE] += count
            origin.stale += count
            self.stale += count
        if known.fetched_at is not None and "at" in record:
            age = max(0.0, float(record["at"]) - known.fetched_at)
            origin.age = age if origin.age is None else max(origin.age, age)

    def _exempted(self, why: str, name: str, url: str, count: int) -> None:
        self.exemptions.of((why, name)).add(url, count)

    def _exempt(self, run: Run, record: Record) -> None:
        at = run.last_at = float(record["at"])
        why, url = _text(record["why"]), _text(record["url"])
        self.timeline.at(at)[EXEMPT] += 1
        self.exempt.add(why)
        name = origin_of(url)
        self._exempted(why, name, url, 1)
        if name.startswith("http"):
            self.origins.of(name).exempt += 1

    def _drop(self, run: Run, record: Record) -> None:
        run.last_at = float(record["at"])
        self.dropped_later += 1

    def _withheld(self, run: Run, record: Record) -> None:
        run.last_at = float(record["at"])
        because = record["because"]
        key = (
            _text(record["what"]),
            _text(because.get("name") or ""),
            _text(because.get("text") or ""),
            _text(record["outcome"]),
        )
        self.withheld.of(key).add(_text(record["page"]))
        self.withheld_count += 1

    def _sent(self, run: Run, record: Record) -> None:  # noqa: ARG002 - as all readers
        origin = self.origins.of(_text(record["origin"]))
        if origin.gaps is None:
            origin.gaps = Gaps()
        kept = float(record["kept_seconds"])
        known = origin.known
        asked = known.crawl_delay if known is not None else None
        owed = kept if asked is None else asked
        origin.gaps.add(float(record["at"]), float(record["left_by"]), kept, owed)

    def _gap(self, run: Run, record: Record) -> None:
        count = sum(int(record.get(kind, 0)) for kind in records.OUTCOMES)
        if not 0 <= count <= _MOST:
            raise ValueError(f"{count} is no count")
        self.lost += count
        self.gap_count += 1
        if len(self.gaps) < _GAPS:
            ends = int(record["from_n"]), int(record["to_n"])
            times = float(record["from_at"]), float(record["to_at"])
            self.gaps.append(Lost(run.name, *ends, count, *times, _text(record["error"])))

    def _end(self, run: Run, record: Record) -> None:
        run.end = record


_OVERRIDDEN = "OVERRIDDEN"

_READERS: Mapping[str, Callable[[Counting, Run, Record], None]] = {
    records.RUN: Counting._begins,  # noqa: SLF001
    records.POLICY: Counting._policy,  # noqa: SLF001
    records.FETCH: Counting._in_vain,  # noqa: SLF001
    records.DECISION: Counting._decision,  # noqa: SLF001
    records.COUNT: Counting._count,  # noqa: SLF001
    records.EXEMPT: Counting._exempt,  # noqa: SLF001
    records.DROP: Counting._drop,  # noqa: SLF001
    records.WITHHELD: Counting._withheld,  # noqa: SLF001
    records.SENT: Counting._sent,  # noqa: SLF001
    records.GAP: Counting._gap,  # noqa: SLF001
    records.END: Counting._end,  # noqa: SLF001
}


def _text(value: Any) -> str:
    """What a trail holds, cut: a report shows the beginning."""
    text = str(value)
    return text if len(text) <= _TEXT_CHARACTERS else text[: _TEXT_CHARACTERS - 1] + "…"


def origin_of(url: str) -> str:
    """The beginning of a URL, up to its path; of one without a host, its scheme."""
    scheme, mark, rest = url.partition("://")
    if not mark:
        return f"{url.partition(':')[0]}:"
    for stop in "/?#":
        rest = rest.partition(stop)[0]
    return f"{scheme}://{rest}"

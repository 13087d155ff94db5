"""What the trails tell of robots.txt files: policies, and the requests that brought them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from scrapy_rep.survey.measures import Distribution

from .report_values import Chain, Fetches, Rows
from .tallies import Counts, Seen, Tally

_NETWORK = "network"
_OTHERS = "others"
_HOPS = 8  # of a chain: no fetch follows more
_URI_CHARACTERS = 160
_QUANTILES = {"least": 0, "half": 50, "nine in ten": 90, "most": 100}


@dataclass(frozen=True, slots=True)
class Known:
    """What a report keeps of a policy."""

    origin: str
    event: str
    access_result: str
    meaning: str
    source: str
    is_stale: bool
    fetched_at: float | None
    crawl_delay: float | None
    redirects: int

    @classmethod
    def of(cls, record: Mapping[str, Any]) -> Known:
        """The facts of a record.

        Raises:
            KeyError, TypeError, ValueError: it is none.
        """
        hops = record.get("hops") or ()
        fetched_at, delay = record.get("fetched_at"), record.get("crawl_delay")
        return cls(
            str(record["origin"])[:_URI_CHARACTERS],
            str(record["event"])[:_URI_CHARACTERS],
            str(record.get("access_result") or "")[:_URI_CHARACTERS],
            str(record["meaning"])[:_URI_CHARACTERS],
            str(record.get("source", ""))[:_URI_CHARACTERS],
            bool(record.get("is_stale")),
            None if fetched_at is None else float(fetched_at),
            None if delay is None else float(delay),
            sum(_is_redirect(hop) for hop in hops),
        )

    def is_over(self, limit_seconds: float) -> bool:
        """Whether its origin asks for a longer delay than the crawl's longest."""
        return self.crawl_delay is not None and self.crawl_delay > limit_seconds


class _Way:
    __slots__ = ("asked", "came", "count")

    def __init__(self) -> None:
        self.came: tuple[str, ...] = ()
        self.asked: tuple[bool, ...] = ()
        self.count = 0


class Fetching:
    """The numbers of all requests for robots.txt files."""

    def __init__(self) -> None:
        self._seen = Seen()
        self._policies: Counts[str] = Counts(_OTHERS)
        self._statuses: Counts[str] = Counts(_OTHERS, 1000)
        self._failures: Counts[str] = Counts(_OTHERS)
        self._redirects: Counter[int] = Counter()
        self._requests = self._in_vain = self._octets = 0
        self._times = Distribution()
        self._ways: Tally[tuple[str, tuple[str, ...]], _Way] = Tally(_Way, lambda way: way.count)

    def learnt(
        self, run: str, record: Mapping[str, Any], known: Known, since: float
    ) -> Sequence[Mapping[str, Any]]:
        """Count a policy, unless a segment only repeats it; the requests that were sent for it.

        A renewed policy tells the way to the copy that it rests on, too: `since` is when the last
        request was sent that is counted already.
        """
        if not self._seen.is_new(run, int(record["p"])):
            return ()
        self._policies.add(known.source or "unknown")
        if known.source != _NETWORK:
            return ()  # what stands there was asked by another crawl, or by none
        hops = [hop for hop in record.get("hops") or () if float(hop.get("at", 0.0)) > since]
        asked = self._count(hops)
        if asked:
            redirects = sum(map(_is_redirect, hops))
            self._redirects[redirects] += 1
            if redirects:
                self._chain(known.origin, hops)
        return asked

    def in_vain(self, hops: Sequence[Mapping[str, Any]]) -> int:
        """Count requests of which nothing was learnt; how many."""
        asked = len(self._count(hops))
        self._in_vain += asked
        return asked

    def _count(self, hops: Sequence[Mapping[str, Any]]) -> Sequence[Mapping[str, Any]]:
        asked = [hop for hop in hops if _was_asked(hop)]
        for hop in asked:
            self._requests += 1
            if "status" in hop:
                self._statuses.add(str(int(hop["status"])))
            elif "failure" in hop:
                self._failures.add(str(hop["failure"])[:_URI_CHARACTERS])
            self._octets += max(0, int(hop.get("octets") or 0))
            if "seconds" in hop:
                self._times.add(max(0, round(float(hop["seconds"]) * 1000)))
        return asked

    def _chain(self, origin: str, hops: Sequence[Mapping[str, Any]]) -> None:
        hops = hops[-_HOPS:]
        way = self._ways.of((origin, tuple(str(hop["uri"])[:_URI_CHARACTERS] for hop in hops)))
        way.came = tuple(str(hop.get("status") or hop.get("failure") or "") for hop in hops)
        way.asked = tuple(map(_was_asked, hops))
        way.count += 1

    def fetches(self) -> Fetches:
        """The numbers."""
        times = self._times
        chains = [
            Chain(origin, uris, way.came, way.asked, way.count)
            for (origin, uris), way in sorted(self._ways.held.items())
        ]
        return Fetches(
            policies=dict(sorted(self._policies.of.items())),
            requests=self._requests,
            in_vain=self._in_vain,
            statuses=dict(sorted(self._statuses.of.items())),
            failures=dict(sorted(self._failures.of.items(), key=lambda one: (-one[1], one[0]))),
            redirects={str(count): of for count, of in sorted(self._redirects.items())},
            octets=self._octets,
            milliseconds={name: times.quantile(percent) for name, percent in _QUANTILES.items()}
            if times.count
            else {},
            chains=Rows(tuple(chains), self._ways.key_count, self._ways.dropped_records),
        )


def _was_asked(hop: Mapping[str, Any]) -> bool:
    """Whether a request was sent: not if a copy stood for the hop, or a middleware answered."""
    return hop.get("source") == _NETWORK and "at" in hop


def _is_redirect(hop: Mapping[str, Any]) -> bool:
    return "location" in hop

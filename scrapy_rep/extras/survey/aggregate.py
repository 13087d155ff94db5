"""Counts over many files. They add up to the same bits in any order and any split (a monoid).

`Aggregate()` is the zero, `Aggregate.of(captures)` counts captures, and ``a + b`` adds two. Each
value in it is a count, a sum of whole numbers, or the smallest of some hashes, so that neither
order nor grouping matters. There is one exception, which the result shows: beyond 200,000 different
names, the rarest are dropped.

Memory: bounded by the names kept, some 60 MB at most; nothing grows with the number of files.

For a file with these records, the counts on the right go up by one::

    User-agent: *             star_class:part
    Disallow: /a
    User-agent: GPTBot        agent:gptbot:full:part      the class of its group, and that of *
    Disallow: /               named:purpose:ai-training, full:purpose:ai-training, ...
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from hashlib import sha256
from typing import Any

from scrapy_rep.extras.evidence.distribution import Distribution
from scrapy_rep.extras.webmaster.agents.crawlers import CRAWLERS, Crawler, crawler_of, known_names
from scrapy_rep.protocol.access.events import Failure

from .captures import Bad, Capture, row_of, sitemaps_cross_host
from .effect import CLASSES, FULL
from .facts import Facts, facts
from .measures import Distinct, OpenCounts

FORMAT = "scrapy-rep survey"
VERSION = 1

_MEASURES = ("bodies", "hosts", "names", "other_keys")
FLAGS = tuple(one.name for one in fields(Facts) if one.type == "bool")
NUMBERS = tuple(one.name for one in fields(Facts) if one.type == "int")
MILLI = 1000
"""Delays are counted in thousandths of a second, since sums of fractions depend on their order."""

MEDIA_TYPES = frozenset(
    {
        *["text/plain", "text/html", "text/robots", "text/x-robots", "text/xml", "text/css"],
        *["application/json", "application/octet-stream", "application/xhtml+xml"],
        *["application/xml", "application/x-robots", "application/text", "application/pdf"],
    }
)
_FAILURES = frozenset(failure.value for failure in Failure)
_SCHEMES = frozenset({"http", "https", "ftp"})
_USUAL_PORTS = {"http": 80, "https": 443, "ftp": 21}
_STATUSES = range(100, 1000)
_LONGEST_AGE_SECONDS = 10**9
_REMEMBERED = 4096  # files; in any survey, thousands are equal


class Aggregate:
    """The counts over some captures.

    Attributes:
        counts: numbers of captures and files by name, for everything with few kinds.
        distributions: the distribution of each fact that is a number.
        bodies: an estimate of the number of different files.
        hosts: an estimate of the number of different hosts.
        names: for each name in user-agent lines, the files that restrict it as ``full``, ``part``,
            ``none``.
        other_keys: for each key of other records, the number of files and of records.
        first_date: of the first capture, if any has one.
        last_date: of the last.
    """

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.distributions: defaultdict[str, Distribution] = defaultdict(Distribution)
        self.bodies = Distinct()
        self.hosts = Distinct()
        self.names = OpenCounts(len(CLASSES))
        self.other_keys = OpenCounts(2)
        self.first_date = ""
        self.last_date = ""

    @classmethod
    def of(cls, captures: Iterable[Capture | Bad], *, with_lint: bool = False) -> Aggregate:
        """Count captures."""
        return SurveyReader(with_lint=with_lint).part(captures).aggregate

    def add(self, capture: Capture, found: Facts | None) -> None:
        """Count a capture, and the facts of its file if it has one."""
        self.hosts.add(sha256(capture.host.encode("utf-8", "replace")).digest())
        self._add_answer(capture)
        if found is not None:
            self._add_file(capture, found)

    def _add_answer(self, capture: Capture) -> None:
        counts, status = self.counts, capture.status
        counts["captures"] += 1
        counts[f"scheme:{capture.scheme if capture.scheme in _SCHEMES else 'unknown'}"] += 1
        if capture.port is not None:
            usual = _USUAL_PORTS.get(capture.scheme)
            counts[f"port:{'usual' if capture.port == usual else 'other'}"] += 1
        if capture.failure:
            name = capture.failure if capture.failure in _FAILURES else "other"
            counts[f"failure:{name}"] += 1
        elif status is not None:
            counts[f"status:{status if status in _STATUSES else 'other'}"] += 1
        if capture.hops is not None:
            self.distributions["hops"].add(capture.hops)
        if capture.cross_host is not None:
            counts["cross_host_known"] += 1
            counts["cross_host"] += capture.cross_host
        if capture.media_type:
            name = capture.media_type if capture.media_type in MEDIA_TYPES else "other"
            counts[f"media_type:{name}"] += 1
        if capture.max_age is not None:
            self.distributions["max_age"].add(min(max(capture.max_age, 0), _LONGEST_AGE_SECONDS))
        if capture.date:
            self.first_date = min(self.first_date or capture.date, capture.date)
            self.last_date = max(self.last_date, capture.date)

    def _add_file(self, capture: Capture, found: Facts) -> None:
        self.bodies.add(found.sha256)
        keys = ["files", f"star_class:{found.star_class}"]
        keys += ["with_rules"] if found.rules else []
        flags = [name for name in FLAGS if getattr(found, name)]
        for name in NUMBERS:
            self.distributions[name].add(getattr(found, name))
        self.distributions["sitemaps_cross_host"].add(sitemaps_cross_host(capture, found))
        if found.crawl_delay_star is not None:
            self.distributions["crawl_delay_star"].add(round(found.crawl_delay_star * MILLI))
        keys += [f"eol:{found.eol}", *flags, *_of_usage(found), *_of_agents(found)]
        self.counts.update(keys)
        for name, effect in found.agents.items():
            self.names.add(name, CLASSES.index(effect))
        for key, count in found.other_keys.items():
            self.other_keys.add(key, 0)
            self.other_keys.add(key, 1, count)
        self._add_lint(found)

    def _add_lint(self, found: Facts) -> None:
        if found.lint is not None:
            self.counts["linted"] += 1
            for code, count in found.lint.items():
                self.counts[f"lint:{code}"] += 1
                self.counts[f"lint_sum:{code}"] += count

    def update(self, other: Aggregate) -> None:
        """Add the counts of another aggregate."""
        self.counts.update(other.counts)
        for name, distribution in other.distributions.items():
            self.distributions[name].update(distribution)
        for name in _MEASURES:
            getattr(self, name).update(getattr(other, name))
        dates = [*filter(None, (self.first_date, other.first_date))]
        self.first_date = min(dates, default="")
        self.last_date = max(self.last_date, other.last_date)

    def __add__(self, other: Aggregate) -> Aggregate:
        """The sum of both."""
        both = Aggregate()
        both.update(self)
        both.update(other)
        return both

    def __eq__(self, other: object) -> bool:
        """Whether every bit is the same."""
        if not isinstance(other, Aggregate):
            return NotImplemented
        return self.to_json() == other.to_json()

    __hash__ = None  # type: ignore[assignment]

    def to_json(self) -> str:
        """The aggregate as JSON; equal aggregates give equal text."""
        return json.dumps(self.to_dict(), sort_keys=True, separators=(",", ":"))

    def to_dict(self) -> dict[str, Any]:
        """The aggregate as values that JSON can hold."""
        return {
            "format": FORMAT,
            "version": VERSION,
            "counts": {name: count for name, count in self.counts.items() if count},
            "distributions": {n: one.to_json() for n, one in self.distributions.items()},
            **{name: getattr(self, name).to_json() for name in _MEASURES},
            "first_date": self.first_date,
            "last_date": self.last_date,
        }

    @classmethod
    def from_dict(cls, found: Any) -> Aggregate:
        """Read an aggregate from decoded JSON.

        Raises:
            ValueError: the value is not an aggregate of this version.
        """
        if not isinstance(found, dict) or found.get("format") != FORMAT:
            raise ValueError("it does not hold a survey")
        if found.get("version") != VERSION:
            raise ValueError(f"its version is {found.get('version')!r}, not {VERSION}")
        try:
            made = cls()
            for name, one in found["distributions"].items():
                made.distributions[name] = Distribution.from_json(one)
            for name in _MEASURES:
                setattr(made, name, type(getattr(made, name)).from_json(found[name]))
            made.counts = Counter(dict(found["counts"]))
            made.first_date, made.last_date = found["first_date"], found["last_date"]
        except (AttributeError, KeyError, TypeError) as error:
            raise ValueError(f"it is damaged ({error!r})") from error
        return made


@dataclass(slots=True)
class SurveyPart:
    """The result for some captures.

    Attributes:
        aggregate: the counts over all of them.
        rows: the facts of each, if rows were requested.
        damage: the files with a rest that could not be read.
    """

    aggregate: Aggregate = field(default_factory=Aggregate)
    rows: list[dict[str, Any]] = field(default_factory=list)
    damage: list[Bad] = field(default_factory=list)


class SurveyReader:
    """Reads captures; caches the facts of files by digest, because many sites have the same file.

    Args:
        with_lint: whether to lint every file.
        with_rows: whether to return the facts of each capture, too.
    """

    def __init__(self, *, with_lint: bool = False, with_rows: bool = False) -> None:
        self._with_lint = with_lint
        self._with_rows = with_rows
        self._known: dict[bytes, Facts] = {}

    def part(self, captures: Iterable[Capture | Bad]) -> SurveyPart:
        """Count some captures."""
        part = SurveyPart()
        for capture in captures:
            if isinstance(capture, Bad):
                part.aggregate.counts[f"bad:{capture.reason}"] += 1
                if capture.file:
                    part.damage.append(capture)
                continue
            found = self._facts(capture.body or b"") if capture.is_file else None
            part.aggregate.add(capture, found)
            if self._with_rows:
                part.rows.append(row_of(capture, found))
        return part

    def _facts(self, body: bytes) -> Facts:
        digest = sha256(body).digest()
        found = self._known.get(digest)
        if found is None:
            found = facts(body, with_lint=self._with_lint)
            if found.is_small:
                if len(self._known) >= _REMEMBERED:
                    self._known.clear()
                self._known[digest] = found
        return found


AI = "ai"
"""The prefix of all AI purposes, counted as one."""


def kinds_of(crawler: Crawler) -> tuple[str, ...]:
    """The kinds by which crawlers are counted together: operator, purpose, AI."""
    kinds = (f"operator:{crawler.operator}", f"purpose:{crawler.purpose}")
    return (*kinds, f"purpose:{AI}") if crawler.purpose.startswith(f"{AI}-") else kinds


def _of_agents(found: Facts) -> Iterable[str]:
    """Yield the names of the counts that a file adds to for the known crawlers."""
    effects: dict[str, str] = {}
    for name, effect in found.agents.items():
        crawler = _KNOWN.get(name)
        if crawler is not None and (name == crawler.name or crawler.name not in effects):
            effects[crawler.name] = effect
    kinds: dict[str, bool] = {}
    for name, effect in effects.items():
        yield f"agent:{name}:{effect}:{found.star_class}"
        for kind in kinds_of(_KNOWN[name]):
            kinds[kind] = kinds.get(kind, False) or effect == FULL
    if effects:
        for name, fallback in _FALLBACKS:
            if fallback in effects and name not in effects:
                yield f"fallback:{name}:{effects[fallback]}:{found.star_class}"
    for kind, is_full in kinds.items():
        yield f"named:{kind}"
        if is_full:
            yield f"full:{kind}"


def _of_usage(found: Facts) -> Iterable[str]:
    for name in ("content_signal", "content_usage"):
        said = getattr(found, name)
        if said is not None:
            yield name
            yield from (f"{name}:{word}" for word in said.split())
    if "license" in found.other_keys:
        yield "licence"


_KNOWN = {name: crawler for name in known_names() if (crawler := crawler_of(name)) is not None}
_FALLBACKS = tuple((one.name, one.fallback.lower()) for one in CRAWLERS if one.fallback)

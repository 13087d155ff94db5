"""The statistics of an aggregate, by name: each share with its denominator and interval.

The table `definitions.txt` has each in words, for the output and the docs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import islice
from pkgutil import get_data
from typing import Any

from scrapy_rep.extras.evidence.distribution import Distribution
from scrapy_rep.extras.webmaster.agents.crawlers import CRAWLERS, OWN_GROUP_ONLY, known_names

from .aggregate import FLAGS, MILLI, NUMBERS, Aggregate, kinds_of
from .effect import CLASSES, NONE

CAPTURES, FILES = "captures", "files"
KNOWN, LINTED = "captures that have it", "files linted"
"""The denominators of shares."""

_LINES = (get_data(__name__, "definitions.txt") or b"").decode().splitlines()
_ROWS = [line.split(" | ") for line in _LINES if not line.startswith("#")]

DEFINITIONS = {name: definition for name, _, definition in _ROWS if definition != "-"}
"""The definition of each statistic in one sentence."""

LABELS = {name: label for name, label, _ in _ROWS if label != "-"}
"""Statistics in words for people; the others have a name that is a word."""

_Z = 1.959963984540054  # 95 %
_PERCENTS = {"min": 0, "p10": 10, "p25": 25, "p50": 50, "p75": 75, "p90": 90, "p99": 99, "max": 100}
_PAIRS = tuple((own, star) for own in CLASSES for star in CLASSES)
_CRAWLERS = {crawler.name: crawler for crawler in CRAWLERS}
_NAMES_SHOWN = 200
_KEYS_SHOWN = 100
_OF_FILES = ("eol", "star_class")
_DIGITS = 6


def interval(count: int, of: int) -> tuple[float, float]:
    """Wilson's interval at 95 % for a share."""
    if not of:
        return 0.0, 1.0
    share, square = count / of, _Z * _Z
    middle = share + square / (2 * of)
    around = _Z * math.sqrt(share * (1 - share) / of + square / (4 * of * of))
    scale = 1 + square / of
    return max(0.0, (middle - around) / scale), min(1.0, (middle + around) / scale)


def share(count: int, of: int, denominator: str) -> dict[str, Any]:
    """A count as a share of a whole."""
    low, high = interval(count, of)
    return {
        "files_with": count,
        "of": of,
        "denominator": denominator,
        "share": round(count / of, _DIGITS) if of else None,
        "low": round(low, _DIGITS),
        "high": round(high, _DIGITS),
    }


def report(
    found: Aggregate, names: Sequence[str] | None = None, keys: Sequence[str] | None = None
) -> dict[str, Any]:
    """The report of a survey: ``definitions`` and ``statistics``, by the same names.

    `names` are the crawlers to report; None stands for all known ones, and the names that files use
    most. `keys` are the other records to report; None stands for the most usual ones.
    """
    if names is None:
        spellings = known_names()
        most = (name for name, _ in found.names.most(_NAMES_SHOWN + len(spellings)))
        others = (name for name in most if name not in spellings)
        names = [*_CRAWLERS, *islice(others, _NAMES_SHOWN)]
    if keys is None:
        keys = [key for key, _ in found.other_keys.most(_KEYS_SHOWN, by=0)]
    statistics = _statistics(found, names, keys)
    definitions = {name: DEFINITIONS[name] for name in statistics}
    return {"definitions": definitions, "statistics": statistics}


def _statistics(found: Aggregate, names: Sequence[str], keys: Sequence[str]) -> dict[str, Any]:
    """The numbers by name."""
    counts = found.counts
    files, captures = counts["files"], counts["captures"]
    said: dict[str, Any] = {
        "captures": {"sum": captures},
        "files": share(files, captures, CAPTURES),
        "files_with_rules": share(counts["with_rules"], files, FILES),
        "bad_records": dict(_of_prefix(found, "bad:")),
        "sha256": {"distinct": found.bodies.estimate, "is_exact": found.bodies.is_exact},
        "host": {"distinct": found.hosts.estimate, "is_exact": found.hosts.is_exact},
        "date": {"first": found.first_date, "last": found.last_date},
    }
    for name in FLAGS:
        said[name] = {"sum": counts[name], **share(counts[name], files, FILES)}
    for name in (*NUMBERS, "sitemaps_cross_host"):
        said[name] = _number(found.distributions.get(name), files, FILES)
    said["crawl_delay_star"] = _delays(found.distributions.get("crawl_delay_star"), files)
    for name in ("eol", "star_class", "scheme", "port", "status", "failure", "media_type"):
        of, denominator = (files, FILES) if name in _OF_FILES else (captures, CAPTURES)
        said[name] = {
            kind: share(count, of, denominator) for kind, count in _of_prefix(found, f"{name}:")
        }
    for name in ("hops", "max_age"):
        distribution = found.distributions.get(name)
        known = distribution.count if distribution is not None else 0
        said[name] = _number(distribution, known, KNOWN)
    known = counts["cross_host_known"]
    said["cross_host"] = {"sum": counts["cross_host"], **share(counts["cross_host"], known, KNOWN)}
    for name in ("content_signal", "content_usage"):
        said[name] = _usage(found, name)
    said["licence"] = share(counts["licence"], files, FILES)
    said["agents"] = _agents(found, names)
    said["purposes"], said["operators"] = (_kinds(found, k) for k in ("purpose", "operator"))
    said["lint"] = _lint(found)
    said["other_keys"] = {
        key: {"sum": sums, **share(files_with, files, FILES)}
        for key, (files_with, sums) in ((key, found.other_keys.get(key)) for key in keys)
    }
    said["error_bound"] = {"names": found.names.error, "other_keys": found.other_keys.error}
    return said


def _of_prefix(found: Aggregate, prefix: str) -> list[tuple[str, int]]:
    """The counts with a prefix in their names, without the prefix, the highest first."""
    kinds = [
        (name.removeprefix(prefix), count)
        for name, count in found.counts.items()
        if count and name.startswith(prefix)
    ]
    return sorted(kinds, key=lambda kind: (-kind[1], kind[0]))


def _number(found: Distribution | None, of: int, denominator: str) -> dict[str, Any]:
    """The sum of a fact, the share of files that have it, and its quantiles."""
    found = found or Distribution()
    said = share(found.positive, of, denominator)
    quantiles = {name: found.quantile(percent) for name, percent in _PERCENTS.items()}
    return {"sum": found.sum, **said, **quantiles, "mean": round(found.mean, 3)}


def _delays(found: Distribution | None, files: int) -> dict[str, Any]:
    """Crawl-delays in seconds; files without one are not part of the distribution."""
    found = found or Distribution()
    said = _number(found, files, FILES) | share(found.count, files, FILES)
    seconds = {name: said[name] / MILLI for name in ("sum", *_PERCENTS)}
    return {**said, **seconds, "mean": round(found.mean / MILLI, 3)}


def _usage(found: Aggregate, name: str) -> dict[str, Any]:
    files = found.counts["files"]
    said = {
        kind: share(count, files, FILES) for kind, count in sorted(_of_prefix(found, f"{name}:"))
    }
    count = found.counts[name]
    return {"sum": count, **share(count, files, FILES), "says": said}


def _agents(found: Aggregate, names: Sequence[str]) -> dict[str, Any]:
    """The counts of some crawlers, those that most files name first."""
    said = {name: _agent(found, name) for name in names}
    return dict(sorted(said.items(), key=lambda item: (-item[1]["files_with"], item[0])))


def _agent(found: Aggregate, name: str) -> dict[str, Any]:
    """The files that name a crawler, by class; for a known crawler, all files by class.

    In a file that does not name it, the crawler gets the class of its fallback, if the file names
    that, otherwise that of ``*``. A crawler that obeys only its own group is not restricted there.
    """
    files, crawler = found.counts["files"], _CRAWLERS.get(name)
    if crawler is None:
        named = dict(zip(CLASSES, found.names.get(name), strict=True))
        count = share(sum(named.values()), files, FILES)
        return {"operator": "", "purpose": "", **count, "named": named}
    own, other = (
        {(c, star): found.counts[f"{kind}:{name}:{c}:{star}"] for c, star in _PAIRS}
        for kind in ("agent", "fallback")
    )
    named = {c: sum(own[c, star] for star in CLASSES) for c in CLASSES}
    by_other = {c: sum(other[c, star] for star in CLASSES) for c in CLASSES}
    left = {
        c: found.counts[f"star_class:{c}"] - sum(own[x, c] + other[x, c] for x in CLASSES)
        for c in CLASSES
    }
    if crawler.obeys == OWN_GROUP_ONLY:
        left = {**dict.fromkeys(CLASSES, 0), NONE: sum(left.values())}
    return {
        "operator": crawler.operator,
        "purpose": crawler.purpose,
        **share(sum(named.values()), files, FILES),
        "named": named,
        "effective": {c: named[c] + by_other[c] + left[c] for c in CLASSES},
    }


def _kinds(found: Aggregate, kind: str) -> dict[str, Any]:
    files = found.counts["files"]
    names = dict.fromkeys(
        name.partition(":")[2]
        for crawler in CRAWLERS
        for name in kinds_of(crawler)
        if name.startswith(f"{kind}:")
    )
    return {
        name: {
            **share(found.counts[f"named:{kind}:{name}"], files, FILES),
            "full": share(found.counts[f"full:{kind}:{name}"], files, FILES),
        }
        for name in sorted(names, key=lambda n: (-found.counts[f"named:{kind}:{n}"], n))
    }


def _lint(found: Aggregate) -> dict[str, Any]:
    linted = found.counts["linted"]
    return {
        code: {"sum": found.counts[f"lint_sum:{code}"], **share(count, linted, LINTED)}
        for code, count in _of_prefix(found, "lint:")
    }

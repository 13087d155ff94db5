"""The effect of groups on the crawlers that obey them: everything is closed, a part, or nothing.

The class is found by trying URLs as a crawler would: `/`, a path that no file names, and the paths
that each pattern names, with ``*`` replaced by nothing and by ``x``. If the crawler may fetch none
of them, the class is full; if it may fetch all, none; otherwise part. Rules for ``/robots.txt``
itself play no part, since it is always allowed.

Cost: that of `ruleset.prepared`, and one verdict for each probe, until one probe is allowed and
one is not. `ProbeBudget` bounds the work for one file. Probes beyond the budget are skipped, and
the class follows from those before.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from scrapy_rep.protocol.matching import RuleSet
from scrapy_rep.protocol.packed import UNDECIDED
from scrapy_rep.protocol.paths import END, ROBOTS_TXT, normal_patterns, without_dots
from scrapy_rep.protocol.ruleset import prepared

FULL, PART, NONE = "full", "part", "none"
CLASSES = (FULL, PART, NONE)

_UNNAMED = f"/Q7Jxk0-Vw_93Zq{END}"  # no file names it
_PROBE_STEPS = 100


@dataclass(slots=True)
class ProbeBudget:
    """The work that is still allowed for one file.

    Attributes:
        rules: the number of rules that may still be prepared; the largest real file has 19,125.
        steps: the number of octets of paths and patterns that may still be compared, roughly.
    """

    rules: int = 100_000
    steps: int = 20_000_000


def class_of(disallow: Sequence[str], allow: Sequence[str], budget: ProbeBudget) -> str | None:
    """The class of a merged group, from the values of its rules (octets as characters).

    None if the file has too many groups for the budget.
    """
    if not any(value.lstrip(" \t\v\f")[:1] in ("/", "*") for value in disallow):
        return NONE  # no rule can match a path
    budget.rules -= len(disallow) + len(allow)
    if budget.rules < 0:
        return None
    patterns = normal_patterns([*disallow, *allow])
    rules = prepared([*disallow], [*allow]).rules
    wild_octets = sum(len(pattern) for pattern in patterns if "*" in pattern)
    seen: set[bool] = set()
    for path in _probes(patterns):
        budget.steps -= _PROBE_STEPS + len(path) * (1 + wild_octets // 16)
        if budget.steps < 0 and seen:
            break
        allowed = _allows(rules, path)
        if allowed and "/." in path:
            bare = without_dots(path[:-1]) + END
            allowed = bare == ROBOTS_TXT or _allows(rules, bare)
        seen.add(allowed)
        if len(seen) > 1:
            return PART
    return NONE if True in seen else FULL


def _allows(rules: RuleSet, path: str) -> bool:
    key = rules.match(path, path.removesuffix(END))
    if key is None or key == UNDECIDED:
        return key is None
    octets, allow = rules.decider(key)
    return allow or octets == 0


def _probes(patterns: list[str]) -> Iterator[str]:
    """Yield the paths to judge, in normal form; equal patterns give each path once."""
    yield "/" + END
    yield _UNNAMED
    for pattern in dict.fromkeys(patterns):
        if pattern[:1] not in ("/", "*"):
            continue
        path = pattern.removesuffix(END)
        for filler in ("", "x") if "*" in path else ("",):
            probe = path.replace("*", filler) + END
            if probe[:1] != "/":
                probe = "/" + probe
            if probe != ROBOTS_TXT:
                yield probe

"""What groups do to the crawlers that obey them: everything closed, a part, or nothing.

Judged by effect, as a crawler would be: `/`, a path that no file names, and for each pattern that
can match the paths that it names, ``*`` as nothing and as ``x``. A crawler that may fetch none of
them is shut out; one that may fetch all is not restricted. Rules for ``/robots.txt`` itself play no
part, since it is always allowed.

Cost: what `ruleset.prepared` costs, and a verdict for each probe, which stop once one is allowed
and one is not. All verdicts on one file together are bounded by `ProbeBudget`; what it leaves out
is not probed, and the class is that of the probes before.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from scrapy_rep.protocol.packed import UNDECIDED
from scrapy_rep.protocol.paths import END, ROBOTS_TXT, normal_patterns, without_dots
from scrapy_rep.protocol.ruleset import prepared

FULL, PART, NONE = "full", "part", "none"
CLASSES = (FULL, PART, NONE)

_UNNAMED = f"/Q7Jxk0-Vw_93Zq{END}"  # no file names it
_RULES = 100_000  # the largest real file that we know has 19,125
_STEPS = 20_000_000
_PROBE_STEPS = 100


class ProbeBudget:
    """What may still be done for one file.

    Attributes:
        rules: how many rules may still be made ready.
        steps: how many octets of paths and patterns may still be compared, roughly.
    """

    __slots__ = ("rules", "steps")

    def __init__(self) -> None:
        self.rules = _RULES
        self.steps = _STEPS

    def has_for(self, rules: int) -> bool:
        """Whether so many rules may be made ready; if so, they are taken."""
        is_enough = rules <= self.rules
        self.rules -= rules if is_enough else 0
        return is_enough


def class_of(disallow: Sequence[str], allow: Sequence[str], budget: ProbeBudget) -> str | None:
    """The class of a merged group by the values of its rules, octets as characters.

    None if the file has so many groups that to tell would take too long.
    """
    if not any(map(_may_match, disallow)):
        return NONE
    if not budget.has_for(len(disallow) + len(allow)):
        return None
    patterns = normal_patterns([*disallow, *allow])
    closing, opening = patterns[: len(disallow)], patterns[len(disallow) :]
    return _without_probes(closing, opening) or _probed(disallow, allow, patterns, budget)


def _may_match(value: str) -> bool:
    """Whether the value of a rule can match a path, white space around it apart."""
    return value.lstrip(" \t\v\f")[:1] in ("/", "*")


def _without_probes(closing: list[str], opening: list[str]) -> str | None:
    """The class of a group without allow rules, where no probe is needed; else None."""
    if opening:
        return None
    if "/" in closing or "/*" in closing or "*" in closing:
        return FULL
    if "*" in "".join(closing):
        return None
    # Literal patterns close themselves, and not the path that no file names.
    closes = any(p[:1] == "/" and p.removesuffix(END) + END != ROBOTS_TXT for p in closing)
    return PART if closes else None


def _probed(
    disallow: Sequence[str], allow: Sequence[str], patterns: list[str], budget: ProbeBudget
) -> str:
    rules = prepared([*disallow], [*allow]).rules
    wild_octets = sum(len(pattern) for pattern in patterns if "*" in pattern)
    seen: set[bool] = set()
    for path in _probes(patterns):
        budget.steps -= _PROBE_STEPS + len(path) * (1 + wild_octets // 16)
        if budget.steps < 0 and seen:
            break
        key = rules.match(path, path.removesuffix(END))
        allowed = _allows(rules, key)
        if allowed and "/." in path:
            bare = without_dots(path[:-1]) + END
            allowed = bare == ROBOTS_TXT or _allows(
                rules, rules.match(bare, bare.removesuffix(END))
            )
        seen.add(allowed)
        if len(seen) > 1:
            return PART
    return NONE if True in seen else FULL


def _allows(rules: object, key: object) -> bool:
    if key is None or key == UNDECIDED:
        return key is None
    octets, allow = rules.decider(key)  # type: ignore[attr-defined]
    return bool(allow) or octets == 0


def _probes(patterns: list[str]) -> Iterator[str]:
    """The paths that are judged, in normal form, each once for patterns that are equal."""
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

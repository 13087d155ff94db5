"""What the methods of published studies say of a file, beside what RFC 9309 says.

Each method is written down here from the description of its study, not from its code, and reads a
file as that study does: which rules are for a name. The class is then judged by effect for all, so
that only the reading differs. Compared are the known crawlers that a file names.

Cost for a file: linear in its octets for each method, besides what `effect.class_of` costs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from scrapy_rep.analysis.agents.crawlers import crawler_of
from scrapy_rep.protocol.lines import PARSE_LIMIT_OCTETS

from .effect import CLASSES, FULL, NONE, ProbeBudget, class_of
from .facts import Facts
from .measures import Least, number_in

_EXAMPLES = 100
_NAMES_AT_ONCE = 200  # of a set the last names count: a hostile file has 100,000, and rules for all
_RULES = ("allow", "disallow")
_FILE_OCTETS = 4 * PARSE_LIMIT_OCTETS  # methods without a limit read so much here

Rules = tuple[list[str], list[str]]
"""Disallow and allow rules."""

Sets = dict[str, Rules]
"""Rules by the name that they are for, as a method spells names."""


@dataclass(frozen=True, slots=True)
class Method:
    """A way to read a file.

    Attributes:
        study: who published it.
        errors: where it differs from RFC 9309, in a sentence.
        read: the rules of a file by name.
        spell: a name as the method looks for it, given the token and the name in lower case.
        inherits: whether a name without rules of its own takes those of ``*``.
    """

    study: str
    errors: str
    read: Callable[[bytes], Sets]
    spell: Callable[[str, str], str]
    inherits: bool = True


def _pairs(body: bytes) -> Iterator[tuple[str, str]]:
    """Keys in lower case and values of the lines of a file, octets as characters."""
    for line in body[:_FILE_OCTETS].decode("latin-1").split("\n"):
        key, colon, value = line.partition("#")[0].partition(":")
        if colon:
            yield key.strip().lower(), value.strip()


def _last_name_counts(body: bytes) -> Sets:
    """After the first rule, each user-agent line starts a new set, and drops those before it."""
    sets: Sets = {}
    names: list[str] = []
    has_rule = False
    for key, value in _pairs(body):
        if key == "user-agent":
            names = [value] if has_rule else _with(names, value)
        else:
            has_rule = has_rule or key in _RULES
            _add(sets, names, key, value)
    return sets


def _any_record_ends_a_run(body: bytes) -> Sets:
    """Any other record between user-agent lines splits them; the whole value is the name."""
    sets: Sets = {}
    names: list[str] = []
    previous = ""
    for key, value in _pairs(body[:PARSE_LIMIT_OCTETS].replace(b"\r", b"\n")):
        if key == "user-agent":
            name = value.lower()
            names = _with(names, name) if previous == key else [name]
        else:
            _add(sets, names, key, value)
        previous = key
    return sets


def _with(names: list[str], name: str) -> list[str]:
    return [*names[1 - _NAMES_AT_ONCE :], name]


def _add(sets: Sets, names: list[str], key: str, value: str) -> None:
    """Note a record; a set without rules, such as with a Crawl-delay alone, is one too."""
    for name in names:
        disallow, allow = sets.setdefault(name, ([], []))
        if key in _RULES:
            (allow if key == "allow" else disallow).append(value)


METHODS: dict[str, Method] = {
    "common-crawl": Method(
        "Common Crawl, robots.txt experiments, 2016 to 2025",
        "after the first rule, each user-agent line drops the names before it; names count as "
        "written, letter case included; a lone CR ends no line; there is no parse limit",
        _last_name_counts,
        lambda token, _: token,
    ),
    "consent-in-crisis": Method(
        "Data Provenance Initiative, Consent in Crisis, 2024",
        "the same drops names, which then count as not restricted at all",
        _last_name_counts,
        lambda token, _: token,
        inherits=False,
    ),
    "http-archive": Method(
        "HTTP Archive, Web Almanac, 2025",
        "any other record between user-agent lines splits a group; the whole value is the name",
        _any_record_ends_a_run,
        lambda _, name: name,
    ),
}

Said = dict[str, dict[str, tuple[str, str]]]
"""By method and name: the class by RFC 9309, and that of the method."""


def compared(body: bytes, found: Facts) -> Said:
    """What each method says of the known crawlers that a file names."""
    known = [(name, crawler) for name in found.agents if (crawler := crawler_of(name)) is not None]
    if not known:
        return {}
    said: Said = {}
    for method_name, method in METHODS.items():
        sets, budget = method.read(body), ProbeBudget()
        said[method_name] = {}
        for name, crawler in known:
            token = crawler.token if name == crawler.name else name
            own = sets.get(method.spell(token, name))
            if own is None:
                own = sets.get("*", ([], [])) if method.inherits else ([], [])
            effect = class_of(*own, budget) or NONE
            said[method_name][name] = found.agents[name], effect
    return said


class Differences:
    """Where methods differ from RFC 9309: counts, and some of the files; adds up in any order."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.files: dict[str, Least] = {}

    def add(self, host: str, said: Said) -> None:
        """Count a file."""
        for method, classes in said.items():
            differing = {name: pair for name, pair in classes.items() if pair[0] != pair[1]}
            self.counts[f"{method}:pairs"] += len(classes)
            self.counts[f"{method}:differing"] += len(differing)
            for ours, theirs in classes.values():
                self.counts[f"{method}:{ours}:{theirs}"] += 1
            if differing:
                self.counts[f"{method}:files"] += 1
                words = ", ".join(f"{n} {a} -> {b}" for n, (a, b) in sorted(differing.items())[:20])
                self.files.setdefault(method, Least(_EXAMPLES)).add(f"{host}: {words}")

    def update(self, other: Differences) -> None:
        """Add what another one has counted."""
        self.counts.update(other.counts)
        for method, files in other.files.items():
            self.files.setdefault(method, Least(_EXAMPLES)).update(files)

    def __bool__(self) -> bool:
        """Whether anything was compared."""
        return bool(self.counts)

    def report(self) -> dict[str, Any]:
        """What was found, by method."""
        return {
            name: {
                "study": method.study,
                "errors": method.errors,
                "pairs": self.counts[f"{name}:pairs"],
                "differing": self.counts[f"{name}:differing"],
                "files_with": self.counts[f"{name}:files"],
                **{
                    f"{ours}_as_{theirs}": self.counts[f"{name}:{ours}:{theirs}"]
                    for ours in CLASSES
                    for theirs in CLASSES
                    if ours != theirs
                },
                "shut_out": sum(self.counts[f"{name}:{FULL}:{c}"] for c in CLASSES),
                "shut_out_by_method": sum(self.counts[f"{name}:{c}:{FULL}"] for c in CLASSES),
                "samples": [*self.files[name].texts] if name in self.files else [],
            }
            for name, method in METHODS.items()
        }

    def to_dict(self) -> dict[str, Any]:
        """As what JSON can hold."""
        files = {method: one.to_json() for method, one in sorted(self.files.items())}
        return {"counts": {n: c for n, c in self.counts.items() if c}, "files": files}

    @classmethod
    def from_dict(cls, found: Any) -> Differences:
        """From that.

        Raises:
            ValueError: it is something else.
        """
        made = cls()
        try:
            made.counts = Counter({str(n): number_in(c) for n, c in found["counts"].items()})
            made.files = {str(m): Least.from_json(t, _EXAMPLES) for m, t in found["files"].items()}
        except (AttributeError, KeyError, TypeError) as error:
            raise ValueError(f"it is damaged ({error!r})") from error
        return made

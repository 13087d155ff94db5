"""Why published studies classify crawlers differently from RFC 9309: pairs by cause.

::

    python benchmarks/methods.py CORPUS.JSONL.GZ [--lists]

Each line of the corpus is an object with `host` and `body_b64`. A pair is a file and a known
crawler that it names. Each method is implemented from the description of its study and not from
its code, and finds the rules for a name as that study does. The classes then come from verdicts
for all methods, so only the reading differs. The script first prints the figures of each method.

Then it fixes the errors of a method one after another. The pairs that a fix removes have that
error as a cause, alone or together with the errors that were fixed before.

An earlier count of the same files used at most 48 crawlers, and that list is lost. `--lists` (needs
SciPy) computes the least and the most that a list of known crawlers with the same number of pairs
can give, by integer programming.
"""

from __future__ import annotations

import argparse
import base64
import gzip
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from scrapy_rep.extras.survey.effect import FULL, NONE, ProbeBudget, class_of
from scrapy_rep.extras.survey.facts import facts
from scrapy_rep.extras.webmaster.agents.crawlers import crawler_of
from scrapy_rep.protocol.lines import PARSE_LIMIT_OCTETS, clean
from scrapy_rep.protocol.tokens import EVERYONE, is_everyone, is_product_token, token_of

_NAMES_AT_ONCE = 200  # of a set the last names count: a hostile file has 100,000, and rules for all
_RULES = ("allow", "disallow")
_FILE_OCTETS = 4 * PARSE_LIMIT_OCTETS  # methods without a limit read up to this here

Rules = tuple[list[str], list[str]]
"""Disallow and allow rules."""

Sets = dict[str, Rules]
"""Rules by the name that they are for, as a method spells names."""


@dataclass(frozen=True, slots=True)
class Method:
    """A way to read a file.

    Attributes:
        study: its publication.
        errors: its differences from RFC 9309.
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
    """Add a record; a set without rules, such as one with only a Crawl-delay, counts too."""
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

# Figures of an earlier count, with a list of crawlers that is lost.
_EARLIER = {"pairs": 1598, "common-crawl, as it is": 284, "http-archive, as it is": 146}
_LONGEST_LIST = 48
_FIRST_WORD = re.compile(r"[^\s/]*")

Spell = Callable[[str, bool], str]
"""How the value of a user-agent line, or a token, is looked up; for product tokens, and others."""

Pairs = dict[tuple[str, str], str]
"""The class by host and name."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--lists", action="store_true")
    options = parser.parse_args()
    corpus = options.corpus
    rows = map(json.loads, gzip.decompress(corpus.read_bytes()).splitlines())
    files = [(row["host"], base64.b64decode(row["body_b64"])) for row in rows]
    ours: Pairs = {}
    for host, body in files:
        named = facts(body).agents.items()
        ours |= {(host, name): effect for name, effect in named if crawler_of(name)}
    print(f"{len(ours):,} pairs, {len({name for _, name in ours})} crawlers")
    for name, method in METHODS.items():
        print(f"{name}: {_figures(files, ours, method)}")
    counts = {"pairs": Counter(name for _, name in ours)}
    for study, stages in _STAGES.items():
        before = None
        for cause, read, spell in stages:
            found = _classes(files, ours, read, spell)
            differing = {pair for pair, effect in found.items() if effect != ours[pair]}
            gone = "" if before is None else f", {before - len(differing)} settled by that"
            hosts = len({host for host, _ in differing})
            print(f"{study}, {cause}: {len(differing)} in {hosts} files{gone}")
            before = len(differing)
            counts[f"{study}, {cause}"] = Counter(name for _, name in differing)
    if options.lists:
        _tell_of_lists(counts)


def _figures(files: list[tuple[str, bytes]], ours: Pairs, method: Method) -> str:
    """Print where a method differs from RFC 9309."""
    found: Pairs = {}
    for host, body in files:
        sets, budget = method.read(body), ProbeBudget()
        for name in (name for file, name in ours if file == host):
            crawler = crawler_of(name)
            token = crawler.token if crawler and crawler.name == name else name
            own = sets.get(method.spell(token, name))
            if own is None:
                own = sets.get("*", ([], [])) if method.inherits else ([], [])
            found[host, name] = class_of(*own, budget) or NONE
    differing = {pair for pair, effect in found.items() if effect != ours[pair]}
    shut_out = [sum(of == FULL for of in classes.values()) for classes in (ours, found)]
    return (
        f"{len(differing)} differ in {len({host for host, _ in differing})} files; shut out are "
        f"{shut_out[0]} by RFC 9309, and {shut_out[1]} by this method"
    )


def _tell_of_lists(counts: dict[str, Counter[str]]) -> None:
    """Print the figures of lists of crawlers that agree with parts of the earlier count."""
    wanted: dict[str, int] = {}
    for name, figure in _EARLIER.items():
        wanted[name] = figure
        print(f"lists of at most {_LONGEST_LIST} crawlers with {wanted}:")
        for other in counts.keys() - wanted.keys():
            least, most = (_extreme(counts, wanted, other, sign) for sign in (1, -1))
            print(f"  {other}: {least} to {most}")


def _extreme(
    counts: dict[str, Counter[str]], wanted: dict[str, int], sought: str, sign: int
) -> int:
    """The least (`sign` is 1) or the greatest (-1) figure that a list can have."""
    import numpy as np
    from scipy.optimize import Bounds, LinearConstraint, milp

    names = list(counts["pairs"])
    rows = [[counts[figure][name] for name in names] for figure in wanted] + [[1] * len(names)]
    found = milp(
        sign * np.array([counts[sought][name] for name in names]),
        constraints=LinearConstraint(
            np.array(rows), [*wanted.values(), 0], [*wanted.values(), _LONGEST_LIST]
        ),
        integrality=np.ones(len(names)),
        bounds=Bounds(0, 1),
    )
    least: float = sign * found.fun
    return round(least)


def _classes(
    files: list[tuple[str, bytes]],
    ours: Pairs,
    read: Callable[[bytes], Sets],
    spell: Spell,
) -> Pairs:
    names: dict[str, list[str]] = {}
    for host, name in ours:
        names.setdefault(host, []).append(name)
    found: Pairs = {}
    for host, body in files:
        if host in names:
            sets, budget = read(body), ProbeBudget()
            by_form = {is_token: _merged(sets, spell, is_token) for is_token in (True, False)}
            for name in names[host]:
                crawler, is_token = crawler_of(name), is_product_token(name)
                token = crawler.token if crawler and crawler.name == name else name
                merged = by_form[is_token]
                rules = merged.get(spell(token, is_token), merged.get("*", ([], [])))
                found[host, name] = class_of(*rules, budget) or NONE
    return found


def _merged(sets: Sets, spell: Spell, is_token: bool) -> Sets:
    """Merge the sets of names with the same spelling."""
    merged: Sets = {}
    for name, (disallow, allow) in sets.items():
        rules: Rules = merged.setdefault(spell(name, is_token), ([], []))
        rules[0].extend(disallow)
        rules[1].extend(allow)
    return merged


def _as_written(value: str, _: bool) -> str:
    return value


def _in_lower_case(value: str, _: bool) -> str:
    return value.lower()


def _name(value: str, is_token: bool) -> str:
    """The name in a user-agent line (RFC 9309, 2.2.1): a product token, or the first word."""
    if is_everyone(value.encode("latin-1")):
        return EVERYONE
    word = _FIRST_WORD.match(value.lower())
    return token_of(value.lower()) if is_token or word is None else word[0]


def _grouped(pairs: Iterator[tuple[str, str]]) -> Sets:
    """Rules by name, in the groups of RFC 9309: a user-agent line after a rule begins one."""
    sets: Sets = {}
    names: list[str] = []
    has_rule = False
    for key, value in pairs:
        if key == "user-agent":
            names = [value] if has_rule else [*names, value]
            has_rule = False
            for name in names:
                sets.setdefault(name, ([], []))
        elif key in ("allow", "disallow"):
            has_rule = True
            for name in names:
                sets[name][key == "allow"].append(value)
    return sets


def _records(octets: bytes) -> Iterator[tuple[str, str]]:
    for line in octets.decode("latin-1").split("\n"):
        key, colon, value = line.partition("#")[0].partition(":")
        if colon:
            yield key.strip().lower(), value.strip()


def _with_groups(body: bytes) -> Sets:
    return _grouped(_records(body))


def _with_lines(body: bytes) -> Sets:
    """Lines, the byte order mark, UTF-16 and the parse limit too, as this project reads them."""
    return _grouped(_records(clean(body)[0]))


_CC, _HA = METHODS["common-crawl"].read, METHODS["http-archive"].read
_STAGES: dict[str, list[tuple[str, Callable[[bytes], Sets], Spell]]] = {
    "common-crawl": [
        ("as it is", _CC, _as_written),
        ("letter case mended", _CC, _in_lower_case),
        ("names too", _CC, _name),
        ("groups too", _with_groups, _name),
        ("lines too", _with_lines, _name),
    ],
    "http-archive": [
        ("as it is", _HA, _in_lower_case),
        ("names mended", _HA, _name),
        ("groups too", _with_lines, _name),
    ],
}


if __name__ == "__main__":
    main()

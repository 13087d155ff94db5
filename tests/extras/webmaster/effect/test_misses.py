"""That `diff` misses no change: generated files, each changed in one place, against many paths."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator

import pytest

from scrapy_rep.extras.webmaster.effect.differences import differences
from scrapy_rep.extras.webmaster.effect.other_readers import OURS
from scrapy_rep.extras.webmaster.effect.rule_patterns import StepBudget
from scrapy_rep.extras.webmaster.effect.witnesses import witnesses
from scrapy_rep.protocol.document import parse
from tests.protocol.reading import read

_MOST_PATHS = 1500
_PIECES = (
    *["/", "a", "b", "x", "*", "*", "$", "?", "=", "/a/", "index.html", "thmb", "."],
    *["%2F", "%41", "é", "=b", "&", "-"],
)

_OCTETS = ("#", "%23", "%24", "%2A", "%3F", ";", "@", "+", ":", "//", "é", "%C3%A9", "%zz")

Pieces = tuple[str, ...]
Rules = list[tuple[bool, str]]


def _pattern(chance: random.Random, every: Pieces) -> str:
    pieces = [chance.choice(every) for _ in range(chance.randint(0, 5))]
    return chance.choice("/*/") + "".join(pieces)


def _rule(chance: random.Random, every: Pieces) -> tuple[bool, str]:
    return chance.random() < 0.4, _pattern(chance, every)


def _mutant(rules: Rules, chance: random.Random, every: Pieces) -> Rules:
    """The rules with one rule added, removed, or changed in one place."""
    place = chance.randrange(len(rules))
    allow, pattern = rules[place]
    at = chance.randrange(len(pattern))
    piece = chance.choice(every)
    instead: Rules = chance.choice(
        [
            [],
            [rules[place], _rule(chance, every)],
            [(not allow, pattern)],
            [(allow, pattern + piece)],
            [(allow, pattern[:-1] or "/")],
            [(allow, pattern[:at] + piece + pattern[at + 1 :])],
            [(allow, pattern[:at] + piece + pattern[at:])],
        ]
    )
    return [*rules[:place], *instead, *rules[place + 1 :]]


def _file(rules: Rules) -> bytes:
    lines = [f"{'Allow' if allow else 'Disallow'}: {pattern}" for allow, pattern in rules]
    return "\n".join(["User-agent: *", *lines]).encode()


def _paths(rules: Rules, chance: random.Random, more: Pieces) -> Iterator[str]:
    """Up to three literal parts of the rules, and others, one after the other."""
    pieces = {"", "q", "/q", "?q", "/", "?", *more}
    for _, pattern in rules:
        for part in pattern.rstrip("$").split("*"):
            pieces |= {part, part[:-1]}
    for count in (1, 2, 3):
        paths = list(itertools.product(sorted(pieces), repeat=count))
        for parts in paths if len(paths) <= _MOST_PATHS else chance.sample(paths, _MOST_PATHS):
            path = "".join(parts)
            yield path if path.startswith("/") else f"/{path}"


@pytest.mark.slow
@pytest.mark.parametrize("count", [60, pytest.param(20_000, marks=pytest.mark.at_length)])
@pytest.mark.parametrize("more", [(), _OCTETS], ids=["as files are", "other octets"])
def test_no_change_is_missed(more: Pieces, count: int) -> None:
    chance = random.Random(20_261_122)
    every = (*_PIECES, *more)
    changed = 0
    for _ in range(count):
        rules = [_rule(chance, every) for _ in range(chance.randint(1, 6))]
        mutant = _mutant(rules, chance, every)
        old, new = parse(_file(rules)), parse(_file(mutant))
        if next(differences(old, new, readers=(OURS,)), None) is not None:
            changed += 1
            continue
        for path in _paths(rules + mutant, chance, more):
            url = f"https://h{path}"
            same = old.verdict(url, ()).allowed is new.verdict(url, ()).allowed
            assert same, (rules, mutant, path)
    assert changed > count // 2


STAR = "User-agent: *\n"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        # The text in the wildcards decides: neither "x" nor the text of another pattern.
        ("Disallow: *=\nAllow: /thmb/*", "Disallow: *=\nAllow: /thmb/*x"),
        # Three patterns have to meet.
        (
            "Disallow: /\nDisallow: *?%2Fzindex/\nAllow: /$a&\nDisallow: *=",
            "Disallow: /\nDisallow: *?%2Fzindex/$\nAllow: /$a&\nDisallow: *=",
        ),
        # Without the "?", the path would have a dot segment, and be judged without it.
        (
            "Disallow: /index.html\nDisallow: /*\nAllow: */a/.",
            "Disallow: /index.htm\nDisallow: /*\nAllow: */a/.",
        ),
        # The path without its dot segment must be allowed, too.
        (
            "Allow: *x*a\nDisallow: **?\nAllow: /x*",
            "Allow: *x*a\nDisallow: **?\nAllow: /./\nAllow: /x*",
        ),
        # Only what climbs to the root is allowed without its dot segments: "/./a/..".
        (
            "Disallow: */a/*\nAllow: /./a/*.",
            "Disallow: */a/*\nDisallow: /./a/*.",
        ),
        # It has to climb twice, and to descend elsewhere.
        (
            "Disallow: /\nAllow: /b\nAllow: /a/x/../*y",
            "Disallow: /\nAllow: /b",
        ),
        # In a path that is not escaped, "#" would begin a fragment.
        ("Disallow: /a%23b", "Disallow: /a%23c"),
        ("Disallow: /*%23b", "Disallow: /*%23c"),
    ],
)
def test_difference_that_was_missed_is_found(old: str, new: str) -> None:
    assert next(differences(read(STAR + old), read(STAR + new)), None) is not None


@pytest.mark.parametrize(
    ("old", "new"),
    [
        # Every path that they match is disallowed without its dot segments too.
        ("Disallow: /\nAllow: /../x", "Disallow: /"),
        ("Disallow: /x\nAllow: /./x", "Disallow: /x"),
        ("Disallow: */a/*\nDisallow: /./a/*.", "Disallow: */a/*"),
    ],
)
def test_equal_rules_have_no_difference(old: str, new: str) -> None:
    found = differences(read(STAR + old), read(STAR + new), readers=(OURS,))
    assert next(found, None) is None


class TestWitnesses:
    def test_search_adds_patterns_only_where_they_decide(self) -> None:
        """One of a hundred wildcard patterns may allow a disallowed path."""
        others = [(True, f"*{n}?q{n}") for n in range(100)]
        old, new = [(False, "*a=b**"), *others], [(False, "*a=b"), *others]
        budget = StepBudget(100_000)
        assert any("a=b" in path for path in witnesses(old, new, budget))
        assert not budget.is_spent
        assert list(witnesses(old, [(False, "*a=b***"), *others], budget)) == []
        assert not budget.is_spent

    def test_hostile_rules_end_with_the_budget(self) -> None:
        old = [(False, "/" + "*a*b" * 400 + str(n)) for n in range(50)]
        budget = StepBudget(10_000)
        assert list(witnesses(old, [(True, "/*a*b*a")], budget)) == []
        assert budget.is_spent

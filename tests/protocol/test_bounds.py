"""The cost of one verdict, in counted steps. It is bounded for all rules and URLs.

Beyond the bound, the verdict is a disallow that says so.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from itertools import islice, product

import pytest

from scrapy_rep.protocol import matching, packed, wildcards, written
from scrapy_rep.protocol.document import RobotsTxt
from scrapy_rep.protocol.verdict import Reason

from .reading import TOKEN, read

pytestmark = pytest.mark.slow

Grammar = Callable[[str], str]


def _words(alphabet: str = "abcdefgh", octets: int = 3) -> Iterator[str]:
    while True:
        yield from map("".join, product(alphabet, repeat=octets))
        octets += 1


GRAMMARS: dict[str, Grammar] = {
    "one part": lambda word: f"/*{word}",
    "an escaped slash": lambda word: f"/*%2F{word}",
    "an escaped slash apart": lambda word: f"/*%2F*{word}^",
    "alike but for the end": lambda word: f"/*aaa*{word}^",
    "long and alike": lambda word: f"/*{'a' * 30}*{word}{'a' * 30}^",
    "short parts": lambda word: f"/*{'*'.join(word)}*^",
    "many parts": lambda word: f"/{'*a' * 20}*{word}^",
    "one head": lambda word: f"/aaa*{word}*^",
    "many heads": lambda word: f"/{word}*a*a*a^",
    "a final star": lambda word: f"/{word}*",
    "with ends": lambda word: f"*{word}$",
}
URLS: list[Callable[[int], str]] = [
    lambda octets: "/" + "a" * octets,
    lambda octets: "/" + "%2F" * (octets // 3),
    lambda octets: "/?" + "/" * octets,
    lambda octets: "/" + "".join(islice(_words(), octets // 3)),
    lambda octets: "/?" + "/".join(islice(_words(), octets // 4)),
    lambda octets: "/aaa" + "".join(random.Random(1).choices("abcdefgh", k=octets)),
    lambda octets: "/" + "é{" * (octets // 2),
]


def _body(grammar: Grammar, count: int) -> str:
    lines = (f"Allow: {grammar(word)}\n" for word in islice(_words(), count))
    return f"User-agent: *\nDisallow: /\n{''.join(lines)}"


class Counted:
    """The steps of all verdicts, as they are taken."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.largest = self.steps = self.rules = 0
        take = wildcards.Work.take

        def noted(work: wildcards.Work, steps: int) -> None:
            self.steps += steps
            self.largest = max(self.largest, steps)
            self.rules += steps == packed._RULE_STEPS
            take(work, steps)

        monkeypatch.setattr(wildcards.Work, "take", noted)

    def of(self, robots_txt: RobotsTxt, url: str) -> int:
        """How many a verdict takes."""
        before = self.steps
        robots_txt.verdict(url, TOKEN)
        return self.steps - before


class TestOneVerdict:
    """A URL costs a bounded number of steps, whatever the number of rules and its length."""

    @pytest.mark.parametrize("grammar", GRAMMARS.values(), ids=GRAMMARS)
    def test_steps_of_a_verdict_are_bounded(
        self, grammar: Grammar, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        counted = Counted(monkeypatch)
        for count in (1500, 12_000):
            robots_txt = read(_body(grammar, count))
            for make_url in URLS:
                for octets in (1000, 8000):
                    steps = counted.of(robots_txt, make_url(octets))
                    assert steps <= packed._STEPS + counted.largest

    @pytest.mark.parametrize("grammar", GRAMMARS.values(), ids=GRAMMARS)
    def test_few_rules_too(self, grammar: Grammar, monkeypatch: pytest.MonkeyPatch) -> None:
        """Those of few rules on a short path are the octets of both, which are compared at most."""
        counted = Counted(monkeypatch)

        def noted(pattern: str, path: str) -> bool:
            counted.steps += len(pattern) * len(path)
            return wildcards.matches(pattern, path)

        monkeypatch.setattr(matching, "matches", noted)
        most = max(packed._STEPS, matching._SAFE_STEPS)
        for count in (125, 500, 1000):
            robots_txt = read(_body(grammar, count))
            for make_url in URLS:
                for octets in (1000, 8000):
                    assert counted.of(robots_txt, make_url(octets)) <= most + counted.largest

    @pytest.mark.parametrize("grammar", GRAMMARS.values(), ids=GRAMMARS)
    def test_of_rules_as_written(self, grammar: Grammar, monkeypatch: pytest.MonkeyPatch) -> None:
        """Rules with a % that begins no escape are compared twice."""
        counted = Counted(monkeypatch)
        for count in (3000, 12_000):
            robots_txt = read(_body(lambda word: f"{grammar(word)}*%", count))
            for make_url in URLS:
                for octets in (1000, 8000):
                    steps = counted.of(robots_txt, make_url(octets))
                    assert steps <= packed._STEPS + written._STEPS + 2 * counted.largest

    def test_only_rules_that_may_match_are_tried(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Of thousands of rules, only those with their part in the path are tried."""
        counted = Counted(monkeypatch)
        tried = []
        for count in (2000, 4000, 8000, 16_000):
            robots_txt = read(_body(lambda word: f"/*{word}=", count))
            before = counted.rules
            assert robots_txt.verdict("/aab=", TOKEN).allowed
            assert not robots_txt.verdict("/zzz", TOKEN).allowed
            tried.append(counted.rules - before)
        assert max(tried) <= 16

    def test_very_long_urls_are_not_cut_up(self) -> None:
        robots_txt = read(_body(lambda word: f"/*{word}", 2000))
        verdict = robots_txt.verdict("/" + "z" * 1_000_000, TOKEN)
        assert verdict.reason is Reason.TOO_MUCH_WORK


class TestTooMuchWork:
    """Where the steps do not suffice the URL is disallowed: never allowed unproved."""

    BODY = _body(lambda word: f"/*{word}*^", 20_000)
    URL = "/" + "".join(islice(_words(), 2500))

    def test_is_a_disallow_with_a_reason(self) -> None:
        verdict = read(self.BODY).verdict(self.URL, TOKEN)
        assert not verdict.allowed
        assert verdict.reason is Reason.TOO_MUCH_WORK
        assert verdict.rule is None
        assert verdict.line == 0
        assert "would take too long" in str(verdict)

    def test_disallows_even_after_a_rule_that_allows(self) -> None:
        """A better one might disallow."""
        body = self.BODY.replace("Allow", "Disallow").replace("Disallow: /\n", "Allow: /\n")
        assert read(body).verdict("/x", TOKEN).allowed
        assert not read(body).verdict(self.URL, TOKEN).allowed

    def test_other_urls_are_judged_as_before(self) -> None:
        robots_txt = read(self.BODY)
        for url in (self.URL, "/aaa-^", "/x", self.URL):
            robots_txt.verdict(url, TOKEN)
        assert robots_txt.verdict("/aab-^", TOKEN).line == 4
        assert robots_txt.verdict("/x", TOKEN).line == 2
        assert robots_txt.verdict("/robots.txt", TOKEN).allowed

    def test_the_same_every_time(self) -> None:
        """Steps are counted, not timed."""
        found = {read(self.BODY).verdict(self.URL, TOKEN).reason for _ in range(3)}
        assert found == {Reason.TOO_MUCH_WORK}

    @pytest.mark.parametrize("octets", [100, 2083])
    def test_large_real_files_stay_below_the_limit(self, octets: int) -> None:
        """More rules than any of 2,811 real files has, alike as theirs are, and long URLs."""
        words = islice(_words("abcdefghijklmnopqrstuvwxyz"), 2000)
        lines = "".join(f"Disallow: /*?*{word}=\nDisallow: /{word}/*.pdf$\n" for word in words)
        robots_txt = read(f"User-agent: *\n{lines}")
        query = "&".join(f"p{number}={number}" for number in range(octets // 7))
        assert robots_txt.verdict(f"/abc/x.html?{query}", TOKEN).reason is Reason.NO_RULE_MATCHES
        assert not robots_txt.verdict(f"/x?{query}&aac=1", TOKEN).allowed
        assert not robots_txt.verdict("/aab/x.pdf", TOKEN).allowed

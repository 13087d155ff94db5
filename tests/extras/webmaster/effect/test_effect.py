"""Patterns against patterns, rules that could go, probes, and what two files differ in."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_rep.extras.webmaster.effect import differences as module
from scrapy_rep.extras.webmaster.effect.analysis import Pattern, first_of_each, needless
from scrapy_rep.extras.webmaster.effect.differences import (
    UNNAMED,
    Difference,
    TooMuchToCompare,
    agents_of,
    differences,
)
from scrapy_rep.extras.webmaster.effect.other_readers import OURS
from scrapy_rep.extras.webmaster.effect.probes import probes
from scrapy_rep.extras.webmaster.effect.rule_patterns import (
    Matcher,
    StepBudget,
    covers,
    is_live,
    matches,
    may_meet,
    pattern_of,
)
from scrapy_rep.extras.webmaster.outline import outline
from scrapy_rep.protocol.document import parse
from scrapy_rep.protocol.paths import normal_path
from tests.protocol import strategies
from tests.protocol.reading import read

HOST = "https://h"

_texts = st.lists(st.sampled_from(["/", "a", "b", "*", "index.htm", "?"]), max_size=5).map("".join)
_ends = st.sampled_from(["", "$"])
_patterns = st.builds("/{}{}".format, _texts, _ends)
_paths = st.lists(st.sampled_from(["/", "a", "b", "index.html", "?"]), max_size=6).map(
    lambda parts: normal_path("/" + "".join(parts))
)
_rules = st.lists(st.tuples(st.booleans(), _patterns), max_size=8)


def _file(rules: list[tuple[bool, str]]) -> str:
    lines = [f"{'Allow' if allow else 'Disallow'}: {pattern}" for allow, pattern in rules]
    return "\n".join(("User-agent: *", *lines))


def _name(number: int) -> str:
    return "".join("abcdefghij"[int(digit)] for digit in str(number))


class TestPatterns:
    @given(_patterns, _paths)
    def test_match_equals_the_verdict_of_the_core(self, pattern: str, path: str) -> None:
        disallowed = not read(_file([(False, pattern)])).verdict(HOST + path[:-1], ()).allowed
        assert matches(pattern_of(pattern.encode()), path) is disallowed

    @given(_patterns, _patterns, _paths)
    def test_covers_is_certain(self, wide: str, narrow: str, path: str) -> None:
        if covers(wide, narrow) and matches(narrow, path):
            assert matches(wide, path)

    @given(_patterns, _patterns, _paths)
    def test_may_meet_errs_on_the_safe_side(self, one: str, other: str, path: str) -> None:
        if matches(one, path) and matches(other, path):
            assert may_meet(one, other)


class TestNeedless:
    @given(_rules, _paths)
    def test_needless_rules_can_all_be_removed(
        self, rules: list[tuple[bool, str]], path: str
    ) -> None:
        found = needless(
            first_of_each(Pattern(a, p, n) for n, (a, p) in enumerate(rules) if is_live(p)),
            StepBudget(9999),
        )
        going = {(reason.pattern.allow, reason.pattern.text) for reason in found}
        left = [rule for rule in rules if rule not in going]
        before, after = read(_file(rules)), read(_file(left))
        for url in (path[:-1], *probes(pattern for _, pattern in rules)):
            assert before.verdict(HOST + url, ()).allowed is after.verdict(HOST + url, ()).allowed

    def test_spent_budget_names_no_rule(self) -> None:
        patterns = [Pattern(False, f"/{'a' * n}", n) for n in range(50)]
        budget = StepBudget(10)
        assert needless(patterns, budget) == []
        assert budget.is_spent


class TestMatchingRules:
    @given(_rules, strategies.paths)
    def test_first_rule_of_the_matcher_decides(
        self, rules: list[tuple[bool, str]], path: str
    ) -> None:
        robots_txt = read(_file(rules))
        verdict, group = robots_txt.verdict(HOST + path, ()), robots_txt.group(())
        assert group is not None
        found = Matcher(group.rules).matching(HOST + path)
        if path == "/robots.txt":
            return
        assert (verdict.line, verdict.allowed) == (
            (found[0].line, found[0].allow) if found else (0, True)
        )

    def test_matching_rules_are_in_order_of_rank(self) -> None:
        group = read("User-agent: *\nDisallow: /a\nAllow: /a/b\nDisallow: /*b\nDisallow: /c").group(
            ()
        )
        assert group is not None
        assert [rule.line for rule in Matcher(group.rules).matching("/a/b")] == [3, 4, 2]


class TestProbes:
    def test_number_of_probes_is_bounded(self) -> None:
        patterns = [f"/{n}*{n}" for n in range(1000)]
        assert len(list(probes(patterns))) < 45 * len(patterns) + 2100


class TestDifferences:
    OLD = "User-agent: *\nDisallow: /a\n\nUser-agent: foo\nDisallow: /\n"

    @pytest.mark.parametrize(
        ("new", "agents"),
        [
            ("User-agent: *\nDisallow: /a*\n\nUser-agent: FOO\nDisallow: /*\n", set()),
            ("User-agent: *\nDisallow: /b\n\nUser-agent: foo\nDisallow: /\n", {UNNAMED}),
            ("User-agent: *\nDisallow: /a\n", {"foo"}),
            (OLD + "User-agent: bar\nDisallow:\n", {"bar"}),
            (OLD + "User-agent: bar\nDisallow: /a\n", set()),
            (OLD + "User-agent: *\nAllow: /a$\n", {UNNAMED}),
            (OLD + "User-agent: *\nAllow: /*.gif$\n", {UNNAMED}),
            ("", {UNNAMED, "foo"}),
        ],
    )
    def test_agents_with_a_difference(self, new: str, agents: set[str]) -> None:
        found = list(differences(read(self.OLD), read(new), readers=(OURS,)))
        assert {difference.agent for difference in found} == agents
        assert all(d.before.allowed is not d.after.allowed for d in found)

    def test_differences_of_given_agents(self) -> None:
        assert list(differences(read(self.OLD), read(""), ["baz"])) != []
        assert {d.agent for d in differences(read(self.OLD), read(""), ["foo"])} == {"foo"}

    @given(strategies.files, strategies.files, strategies.tokens)
    def test_shared_results_equal_those_of_each_agent(
        self, one: bytes, other: bytes, agent: str
    ) -> None:
        """The results are equal to a comparison for this agent alone."""
        old, new = parse(one), parse(other)
        found = [d.path for d in differences(old, new, [agent])]
        among_all = [d.path for d in differences(old, new) if d.agent == agent.lower()]
        assert not among_all or among_all == found

    MANY = "".join(f"User-agent: {_name(n)}\nDisallow: /{n}\n" for n in range(50))

    def test_limit_of_work_raises_with_the_agents_left(self) -> None:
        other = self.MANY.replace("Disallow: /", "Disallow: /x")
        found = differences(read(self.MANY), read(other), steps=100_000)
        with pytest.raises(TooMuchToCompare, match=r"of 51 agents compared, on .* more$") as raised:
            list(found)
        error = raised.value
        assert {*error.compared, *error.left} == {*map(_name, range(50)), UNNAMED}
        assert error.compared
        assert error.left
        assert error.probe_count >= 10 * (len(error.compared) - 1)

    def test_differences_come_before_the_end_of_the_work(self) -> None:
        found = differences(read(self.MANY), read(""), steps=100_000)
        assert next(found).after.allowed
        with pytest.raises(TooMuchToCompare):
            list(found)

    def test_hostile_group_is_compared_last(self) -> None:
        hostile = "User-agent: evil\n" + "".join(f"Disallow: /*{n}*x\n" for n in range(3000))
        other = hostile.replace("*x", "*y")
        old, new = read(hostile + self.OLD), read(other + self.OLD + "Disallow: /new\n")
        compared: list[Difference] = []
        with pytest.raises(TooMuchToCompare) as raised:
            compared += differences(old, new, steps=1_000_000)
        assert raised.value.left == ("evil",)
        assert raised.value.compared == ("foo", UNNAMED)

    def test_changed_rules_alone_are_probed_in_a_large_group(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(module, "STEPS_FOR_ALL", 0)
        self.test_agents_with_a_difference("User-agent: *\nDisallow: /a\n", {"foo"})

    def test_agents_of_a_file(self) -> None:
        body = b"User-agent: MJ12bot/1.4\nUser-agent: *\nUser-agent: Foo\nDisallow: /\n"
        assert agents_of(outline(body)) == ("MJ12bot", "MJ", "Foo", UNNAMED)

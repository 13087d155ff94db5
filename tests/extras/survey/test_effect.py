"""The class of a group by its effect."""

from __future__ import annotations

import time

import pytest

from scrapy_rep.extras.survey.effect import ProbeBudget, class_of
from scrapy_rep.extras.survey.facts import facts


@pytest.mark.parametrize(
    ("disallow", "allow", "effect"),
    [
        ([], [], "none"),
        ([""], [], "none"),
        (["x"], [], "none"),
        (["/robots.txt$"], [], "none"),
        (["/"], [], "full"),
        (["/*"], [], "full"),
        (["*"], [], "full"),
        ([" /"], [], "full"),
        (["/", "/a"], [], "full"),
        (["/"], ["/robots.txt"], "full"),
        (["/"], ["/robots.txt$"], "full"),
        (["/"], ["/a"], "part"),
        (["/a"], ["/"], "part"),
        (["/"], ["/"], "none"),
        (["/"], ["/*"], "none"),
        (["/*x"], ["/"], "part"),
        (["/$"], [], "part"),
        (["/a"], [], "part"),
        (["/a"], ["/a"], "none"),
        (["/a*b"], ["/a"], "part"),
        (["/%2e%2e/a"], [], "part"),
        (["/?"], [], "part"),
    ],
)
def test_class_of_rules_is_their_effect(disallow: list[str], allow: list[str], effect: str) -> None:
    assert class_of(disallow, allow, ProbeBudget()) == effect


def test_many_groups_of_many_names_take_bounded_time() -> None:
    """Each name obeys the large group and its own: unbounded, that is 3 million rules."""
    agents = b"".join(b"User-agent: n%d-\n" % n for n in range(1000)).translate(
        bytes.maketrans(b"0123456789", b"abcdefghij")
    )
    rules = b"".join(b"Disallow: /a*%d\nAllow: /b*%d\n" % (n, n) for n in range(1500))
    own = b"".join(
        b"User-agent: %s-\nDisallow: /x\n"
        % (b"n%d" % n).translate(bytes.maketrans(b"0123456789", b"abcdefghij"))
        for n in range(1000)
    )
    began_at = time.process_time()
    found = facts(agents + rules + own)
    assert found.names_in_several_groups == 1000
    assert 0 < len(found.agents) < 1000
    assert time.process_time() - began_at < 10


def test_expensive_rules_take_bounded_time() -> None:
    rules = b"".join(b"Allow: /%s*%d*z\n" % (b"a*" * 20, n) for n in range(3000))
    began_at = time.process_time()
    assert facts(b"User-agent: *\nDisallow: /\n" + rules).star_class in ("full", "part")
    assert time.process_time() - began_at < 15

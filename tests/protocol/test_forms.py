"""Two things with the same answers: few rules and many; all user-agent lines and those for one."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from scrapy_rep.protocol.lines import UserAgentLines, clean
from scrapy_rep.protocol.matching import FewRules, Rules
from scrapy_rep.protocol.packed import PackedRules
from scrapy_rep.protocol.paths import END
from scrapy_rep.protocol.ruleset import places_of_allow, prepared
from scrapy_rep.protocol.tokens import Names

from .strategies import files, tokens

# Short, of few letters: so that they begin, contain and equal each other.
_patterns = st.lists(
    st.text("/ab*", max_size=6).map(lambda text: f"/{text}") | st.text("/ab*$", max_size=4),
    max_size=40,
).map(lambda found: [p.replace("$", "") + END if "$" in p else p for p in found])
_paths = st.text("/ab", max_size=9).map(lambda text: f"/{text}{END}")


def _decides(rules: Rules, path: str) -> tuple[int, bool, int] | None:
    key = rules.match(path)
    return None if key is None else rules.decider(key)


class TestForms:
    """Which form rules are kept in is a matter of their number, not of what they say."""

    @given(disallow=_patterns, allow=_patterns, asked=st.lists(_paths, min_size=1))
    def test_same_decider(self, disallow: list[str], allow: list[str], asked: list[str]) -> None:
        places = places_of_allow(allow)
        few = FewRules(disallow, places, has_wild=True)
        packed = PackedRules(disallow, places, has_wild=True)
        for path in asked:
            assert _decides(few, path) == _decides(packed, path)

    def test_many_are_packed(self) -> None:
        few, _ = prepared([f"/{number}" for number in range(1000)], [])
        many, _ = prepared([f"/{number}" for number in range(1000)], ["/a", "/b*"] * 500)
        assert isinstance(few, FewRules)
        assert isinstance(many, PackedRules)

    def test_first_line_of_equals(self) -> None:
        """A literal and wildcards of the same length: the line decides which one is named."""
        for order in (["/ab", "/*b", "/a*"], ["/*b", "/a*", "/ab"], ["/a*", "/ab", "/*b"]):
            for form in (FewRules, PackedRules):
                assert _decides(form(order, {}, has_wild=True), "/ab" + END) == (3, False, 0)


class TestOpenings:
    """Lines left out for their first octets name nobody who was asked for."""

    @given(body=files, names=st.lists(tokens, max_size=2, unique=True))
    def test_no_line_that_names_them_is_left_out(self, body: bytes, names: list[str]) -> None:
        octets, _, _ = clean(body)
        lines = UserAgentLines(octets)
        crawler = Names(tuple(name.lower() for name in names))

        def naming(openings: tuple[bytes, ...]) -> list[tuple[int, Sequence[int]]]:
            found = []
            line = lines.after(0, openings)
            while line is not None:
                start, stop, value = line
                found.append((start, crawler.ranks(value)))
                line = lines.after(stop, openings)
            return [(start, ranks) for start, ranks in found if ranks]

        assert naming(crawler.openings) == naming(())

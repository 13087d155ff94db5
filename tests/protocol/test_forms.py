"""Same answers from few rules and many, and from all user-agent lines and a crawler's own."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_rep.protocol.lines import (
    LINE_LIMIT_OCTETS,
    RULES,
    Kind,
    UserAgentLines,
    clean,
    has_rule,
    records,
    rules,
)
from scrapy_rep.protocol.matching import FewRules, RuleSet
from scrapy_rep.protocol.packed import PackedRules
from scrapy_rep.protocol.paths import END
from scrapy_rep.protocol.ruleset import places_of_allow
from scrapy_rep.protocol.tokens import Names

from . import model
from .strategies import files, tokens

# Short, of few letters: so that they begin, contain and equal each other.
_patterns = st.lists(
    st.text("/ab*", max_size=8).map(lambda text: f"/{text}") | st.text("/ab*$", max_size=6),
    max_size=40,
).map(lambda found: [p.replace("$", "") + END if "$" in p else p for p in found])
_paths = st.text("/ab\t*", max_size=9).map(lambda text: f"/{text}{END}")  # odd ones as written


Decider = tuple[int, bool, int]


def _decides(rules: RuleSet, path: str) -> Decider | None:
    key = rules.match(path, path.removesuffix(END))
    return None if key is None else (*rules.decider(key), rules.place(key))


def _decides_slowly(disallow: list[str], allow: dict[str, int], path: str) -> Decider | None:
    """One rule after the other, by the model: most octets, then allow, then the first line."""
    rules = [(p, False, place) for place, p in enumerate(disallow)]
    rules += [(p, True, place) for p, place in allow.items()]
    found = [
        (len(pattern), allows, -place)
        for pattern, allows, place in rules
        if not pattern or model.matches(pattern.encode(), path.removesuffix(END).encode())
    ]
    octets, allows, place = max(found, default=(0, False, None))
    return None if place is None else (octets, allows, -place)


class TestForms:
    """Both forms of rules give the same verdicts."""

    @given(
        others=st.sampled_from([0, 17]),
        disallow=_patterns,
        allow=_patterns,
        asked=st.lists(_paths, min_size=1),
    )
    def test_every_form_of_rules_has_the_same_decider(
        self, others: int, disallow: list[str], allow: list[str], asked: list[str]
    ) -> None:
        """Also if each wildcard rule stands in a crowd of others with its head."""
        places = places_of_allow(allow)
        heads = {p.partition("*")[0] for p in (*disallow, *places) if "*" in p}
        crowd = [f"{head}*~{number}" for head in sorted(heads) for number in range(others)]
        all_rules = [*disallow, *crowd]
        forms = [form(all_rules, places, has_wild=True) for form in (FewRules, PackedRules)]
        for path in asked:
            slowly = _decides_slowly(disallow, places, path)
            assert [_decides(form, path) for form in forms] == [slowly, slowly]

    def test_first_line_of_equals_that_allow(self) -> None:
        """Also where a folder's index is one of them."""
        for allow in (
            ["/*b/$", "/*/index.htm"],
            ["/*/index.htm", "/*b/$"],
            ["/*/$", "/b*/"],
            ["/*/index.htm", "/*b/"],
            ["/*b/", "/*/index.htm"],
        ):
            places = places_of_allow(allow)
            for form in (FewRules, PackedRules):
                slowly = _decides_slowly([], places, f"/b/{END}")
                assert _decides(form([], places, has_wild=True), f"/b/{END}") == slowly

    def test_wildcards_by_the_hundred(self) -> None:
        """Each is found where its longest part is in the path, and nowhere else."""
        words = ["".join(letters) for letters in product("abcdef", repeat=4)]
        patterns = [pattern for word in words for pattern in (f"/*{word}", f"*/{word}*x{END}")]
        few = FewRules(patterns[:600], {}, has_wild=True)
        many = PackedRules(patterns, {}, has_wild=True)
        for place, word in enumerate(words[:300]):
            assert _decides(few, f"/-{word}-{END}") == (6, False, 2 * place)
            assert _decides(few, f"/{word}/x{END}") == (9, False, 2 * place + 1)
        for place, word in enumerate(words):
            assert _decides(many, f"/-{word}-{END}") == (6, False, 2 * place)
            assert _decides(many, f"/{word}/x{END}") == (9, False, 2 * place + 1)
        for path in (f"/{END}", f"/abc{END}", f"/a/b/c/d{END}", f"/x{END}"):
            assert _decides(few, path) is None
            assert _decides(many, path) is None

    def test_long_way_up_through_prefixes(self) -> None:
        """Each nested in the one before, and most of them not in the block of the last."""
        nested = ["/" + "a" * octets for octets in range(1, 100)]
        for form in (FewRules, PackedRules):
            rules = form(nested, {}, has_wild=False)
            for octets in range(1, 100):
                for other in ("", "!", "b"):
                    path = f"/{'a' * octets}{other}{END}"
                    assert _decides(rules, path) == (octets + 1, False, octets - 1)

    def test_odd_characters_of_a_path_hide_no_rule(self) -> None:
        """They stand in a path as written, and some sort before whatever divides rules."""
        patterns = [f"/{number:04}" for number in range(40)]
        for form in (FewRules, PackedRules):
            rules = form(patterns, {}, has_wild=False)
            for place, pattern in enumerate(patterns):
                for odd in "\0\t\n\x0b !*~\x7f\x80é\u2028":
                    assert _decides(rules, f"{pattern}{odd}!{END}") == (5, False, place)


class TestOpenings:
    """Lines that are skipped for their first octets name none of the crawlers."""

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


_AT_THE_LIMIT = b" " * (LINE_LIMIT_OCTETS - len(b"allow:"))


class TestRules:
    """To look for rules alone gives what it gives to read every line."""

    @pytest.mark.parametrize(
        "line",
        [
            b"Allow: /a",
            b"Disallow:\t/a ",
            b"aLLoW /a",
            b" \v\fdiasllow  /a\t",
            b"allow\xa0/a",
            b"allow /a\x85b",
            b"allow /a \x1c",
            b"allow\x1c /a",
            b"allow",
            b"Disallow ",
            b"Allow/",
            b"allow /a b",
            b"allow /a b: c",
            b"allowed by us : /a",
            b"disallow\x85: /a\xa0",
            b"disallow#: /a",
            b"disallow /a #: b",
            b"disallow: #/a",
            b"disallow:/a:b",
            b": allow /a",
            b"a:",
            b"dis",
            b"disagree: /a",
            b"all /a",
            b"#allow: /a",
            b"noallow: /a",
            b"\xa0allow: /a",
            b"site allow: /a",
            b"di\xc5\xbfallow: /a",
            _AT_THE_LIMIT + b"allow:/a",
            _AT_THE_LIMIT + b"allow :/a",
            _AT_THE_LIMIT + b"allow: /a" * 2,
            b"allow" + _AT_THE_LIMIT + b":/a",
            b"allow " + _AT_THE_LIMIT + b":/a",
            b"Allow: " + _AT_THE_LIMIT + b"/a",
        ],
    )
    @pytest.mark.parametrize(
        "around", [b"", b"\n", b"\n\n", b"\nx\n", b"\nuser-agent: a\n", b"\n#\n"]
    )
    def test_rule_line_reads_as_in_the_full_parser(self, line: bytes, around: bytes) -> None:
        head = b"user-agent: a"
        octets = b"%s\n%s%s" % (head, line, around)
        found = [(kind, value) for _, kind, _, value in records(octets) if kind in RULES]
        disallow: list[str] = []
        allow: list[str] = []
        rules(octets, len(head), len(octets), disallow, allow)
        for kind, values in ((Kind.DISALLOW, disallow), (Kind.ALLOW, allow)):
            full = [value for its, value in found if its is kind]
            assert [value.encode("latin-1").strip() for value in values] == full
        assert has_rule(octets, len(head), len(octets)) is bool(found)
        assert not has_rule(octets, len(head), len(head) + 1)

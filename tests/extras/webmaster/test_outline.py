"""A file line by line."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from scrapy_rep.extras.webmaster.effect.rule_patterns import pattern_of
from scrapy_rep.extras.webmaster.outline import outline
from scrapy_rep.protocol.document import parse
from scrapy_rep.protocol.lines import RULES
from tests.protocol import strategies

_ODD = st.lists(
    st.sampled_from([b"/", b"*", b"$", b"%2f", b"?", b"\xff", b" ", b"\v", b"%", b"#", b"a"])
).map(b"".join)


class TestPatterns:
    """The pattern of a line is that of the rule that the core reads there."""

    @given(strategies.files)
    def test_outline_has_the_pattern_of_each_rule(self, body: bytes) -> None:
        found = outline(body)
        for line in found.lines:
            assert line.pattern == (pattern_of(line.value) if line.kind in RULES else "")

    @given(st.lists(st.tuples(st.sampled_from([b"Allow", b"Disallow", b"Noindex"]), _ODD)))
    def test_all_are_read_at_once(self, records: list[tuple[bytes, bytes]]) -> None:
        body = b"User-agent: *\n" + b"".join(b"%s:%s\n" % record for record in records)
        rules = [line for block in outline(body).blocks for line in block.rules]
        group = parse(body).group("x")
        assert group is not None
        read = {rule.line: pattern_of(rule.path_pattern) for rule in group.rules}
        assert {line.number: line.pattern for line in rules if line.value} == {
            number: pattern for number, pattern in read.items() if pattern
        }

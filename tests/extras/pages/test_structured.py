"""RFC 9651, 4.2 and 4.1: Dictionaries and Lists, and the Link field of RFC 8288."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_rep.extras.pages.usage.licences import field_links
from scrapy_rep.extras.structured import (
    Date,
    DisplayString,
    InnerList,
    Item,
    Token,
    dictionary,
    member_list,
    written,
)

keys = st.one_of(st.from_regex("[a-z*][a-z0-9_.*-]*", fullmatch=True), st.text(max_size=5))
bare_items = (
    *(st.integers(), st.booleans(), st.binary(), st.text(), st.text().map(Token)),
    *(st.text().map(DisplayString), st.integers().map(Date)),
    st.integers(-(10**15), 10**15).map(lambda number: number / 1000),
)


def only(text: str) -> Any:
    """The value of the only item of a List."""
    members = member_list(text.encode())
    if members is None:
        return None
    (member,) = members
    assert isinstance(member, Item)
    return member.value


class TestBareItems:
    """3.3: each type, and invalid text."""

    @pytest.mark.parametrize(
        ("text", "value"),
        [
            *[("1", 1), ("-0", 0), ("007", 7), ("999999999999999", 999999999999999)],
            *[("1.5", 1.5), ("-0.125", -0.125), ("123456789012.123", 123456789012.123)],
            *[('""', ""), ('"a"', "a"), (r'"a\"\\"', 'a"\\')],
            *[
                ("a", Token("a")),
                ("*", Token("*")),
                ("a:/b!#$%&'*+.^_`|~-", Token("a:/b!#$%&'*+.^_`|~-")),
            ],
            *[("::", b""), (":aGVsbG8=:", b"hello"), (":aGVsbG8:", b"hello")],
            *[("?1", True), ("?0", False), ("@0", Date(0)), ("@-1659578233", Date(-1659578233))],
            *[('%"f%c3%bc"', DisplayString("f\u00fc")), ('%""', DisplayString(""))],
        ],
    )
    def test_bare_items_are_read(self, text: str, value: Any) -> None:
        assert only(text) == value
        assert type(only(text)) is type(value)

    @pytest.mark.parametrize(
        "text",
        [
            *["-", "--1", "1.", ".5", "1.2345", "1234567890123.1", "1000000000000000", "1e3"],
            *['"', '"a', r'"\a"', '"\x7f"', '"\t"', ":a", ":a:", ":a=b=:", ":a b:", ":\u00e9:"],
            *["?", "?2", "?true", "@", "@1.5", "@a", '%"', '%"%"', '%"%C3%BC"', '%"%ff"', "%a"],
            *["\u00e9", "=a", "!", "\ta", "a b"],
        ],
    )
    def test_wrong_bare_items_are_refused(self, text: str) -> None:
        assert only(text) is None

    def test_token_is_not_a_string(self) -> None:
        assert not isinstance(only('"y"'), Token)


class TestLists:
    """3.1, 4.2.1: members between commas, inner lists, parameters."""

    def test_empty_field_is_an_empty_list(self) -> None:
        assert member_list(b"") == member_list(b"   ") == []

    def test_members_of_a_list_are_read(self) -> None:
        assert member_list(b" a;x;y=2 \t,\t b ") == [
            Item(Token("a"), {"x": True, "y": 2}),
            Item(Token("b")),
        ]

    def test_last_of_equal_parameters_counts(self) -> None:
        assert member_list(b"a;x=1; y;x=2") == [Item(Token("a"), {"x": 2, "y": True})]

    def test_inner_lists_of_a_list_are_read(self) -> None:
        assert member_list(b"( a  b;x );y, ()") == [
            InnerList((Item(Token("a")), Item(Token("b"), {"x": True})), {"y": True}),
            InnerList(()),
        ]

    @pytest.mark.parametrize(
        "text",
        [
            *["a,", ",a", "a,,b", ",", "a b", "(a", "(a,b)", "a)", "(a)b", "((a))", "(a\tb)", "a;"],
            *["a;X", "a;x=", "a ;x", "a;x =1", "a\x00", "a\n"],
        ],
    )
    def test_wrong_lists_are_refused(self, text: str) -> None:
        assert member_list(text.encode()) is None


class TestDictionaries:
    """3.2, 4.2.2: the last of equal keys counts; a key alone is true."""

    @pytest.mark.parametrize(
        ("text", "members"),
        [
            ("", {}),
            ("a=1, b", {"a": 1, "b": True}),
            ("a=1,a=2", {"a": 2}),
            ("a;x=1", {"a": True}),
            ("*a._-*=y", {"*a._-*": "y"}),
        ],
    )
    def test_members_of_a_dictionary_are_read(self, text: str, members: dict[str, Any]) -> None:
        found = dictionary(text.encode())
        assert found is not None
        values = {key: one.value for key, one in found.items() if isinstance(one, Item)}
        assert values == members

    def test_inner_list_of_a_dictionary_is_read(self) -> None:
        assert dictionary(b"a=(1 2);x") == {"a": InnerList((Item(1), Item(2)), {"x": True})}

    @pytest.mark.parametrize(
        "text", ["A=1", "1=a", "a= 1", "a =1", "a=", "a=1,", "a=1;", "a=1 b=2", '"a"']
    )
    def test_wrong_dictionaries_are_refused(self, text: str) -> None:
        assert dictionary(text.encode()) is None


class TestWriting:
    """4.1: what is written can be read, and all else is refused."""

    @pytest.mark.parametrize(
        ("value", "text"),
        [
            *[(1, "1"), (-(10**15) + 1, "-999999999999999"), (10**15 - 1, "999999999999999")],
            *[(1.0, "1.0"), (-0.125, "-0.125"), (0.0015, "0.002"), (0.0625, "0.062")],
            *[(0.0025, "0.002"), (-0.0025, "-0.002"), (9.9995, "10.0")],  # ties, as text
            *[(1e-9, "0.0"), (100.0, "100.0"), (999999999999.999, "999999999999.999")],
            *[("", '""'), ('a"\\', r'"a\"\\"'), (Token("*a/b:"), "*a/b:"), (True, "?1")],
            *[(b"hello", ":aGVsbG8=:"), (Date(-1), "@-1")],
            *[(DisplayString('f\u00fc%"\n'), '%"f%c3%bc%25%22%0a"')],
        ],
    )
    def test_values_are_written_in_their_form(self, value: Any, text: str) -> None:
        assert written(Item(value)) == text
        assert written(InnerList((Item(value),), {"key": value})).startswith(f"({text});key")

    @pytest.mark.parametrize(
        "value",
        [
            *[10**15, -(10**15), Date(10**15), Date(True), Date(1.5)],  # type: ignore[arg-type]
            *[1e12, -1e12, 999999999999.9996, 1e300, float("inf"), float("nan")],
            *["\u00e9", "a\n", "\x00", "\x7f", DisplayString("\udcff")],
            *[Token(""), Token("a b"), Token("1a"), Token("a\n"), Token("a\u00e9"), Token('a"')],
            *[None, 1j, [1]],
        ],
    )
    def test_values_without_a_form_are_not_written(self, value: Any) -> None:
        for member in (Item(value), Item(1, {"a": value}), InnerList((Item(value),))):
            with pytest.raises(ValueError, match=r"written|surrogates"):
                written(member)

    @pytest.mark.parametrize("key", ["", "A", "1a", "a b", "a=1", "a\n", "a\r\nx", "\u00e9", "-a"])
    @pytest.mark.parametrize("value", [True, 1])
    def test_wrong_keys_are_not_written(self, key: str, value: int) -> None:
        for member in (Item(1, {key: value}), InnerList((), {key: value})):
            with pytest.raises(ValueError, match="written"):
                written(member)

    @given(st.lists(st.tuples(keys, st.one_of(bare_items)), max_size=4))
    def test_is_read_as_it_was_written(self, pairs: list[tuple[str, Any]]) -> None:
        """Any value is refused, or comes back as it was."""
        parameters = dict(pairs)
        try:
            text = written(Item(1, parameters))
        except ValueError:
            return
        assert member_list(text.encode("ascii")) == [Item(1, parameters)]


class TestLinkField:
    """RFC 8288, 3: targets with relations and types."""

    @pytest.mark.parametrize(
        ("text", "links"),
        [
            ("<a>; rel=license", [("a", ("license",), "")]),
            ('<a>;REL="License next" ;type="text/X"', [("a", ("license", "next"), "text/x")]),
            ('<a>; title="b, <c>; rel=d"; rel=e', [("a", ("e",), "")]),
            ("<a>; rel=b; rel=c", [("a", ("b",), "")]),
            ("<a>,, <b>;rel=x", [("a", (), ""), ("b", ("x",), "")]),
            ('<a>; x; rel="b"', [("a", ("b",), "")]),
            ("nothing", []),
            ("<a", []),
            ("<a>; rel=b <c>; rel=d", [("a", ("b",), "")]),
        ],
    )
    def test_links_of_a_field_are_read(
        self, text: str, links: list[tuple[str, tuple[str, ...], str]]
    ) -> None:
        assert list(field_links(text)) == links

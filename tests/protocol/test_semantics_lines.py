"""semantics.md, part 1: octets to lines, and lines to records.

One class per clause; its docstring is the clause in short. See docs/conformance.md.
"""

from __future__ import annotations

import pytest

from scrapy_rep.analysis.checks.codes import Code
from scrapy_rep.protocol.document import parse
from scrapy_rep.protocol.lines import LINE_LIMIT_OCTETS, PARSE_LIMIT_OCTETS, Kind, clean

from .reading import TOKEN, allows, codes, kinds, lines, read, record, rules

_FILE = "User-agent: *\nDisallow: /é\n"


class TestByteOrderMarks:
    """1: A UTF-8 BOM, or a part of one, is skipped; a UTF-16 file is decoded, with a finding."""

    @pytest.mark.parametrize("mark", [b"", b"\xef", b"\xef\xbb", b"\xef\xbb\xbf"])
    def test_utf8(self, mark: bytes) -> None:
        assert rules(mark + _FILE.encode()) == ["Disallow: /é"]

    @pytest.mark.parametrize("mark", [b"\xbb", b"\xbf", b"\xef\xbf", b"\xef\xbb\xbf\xef\xbb\xbf"])
    def test_what_is_none_is_of_the_key(self, mark: bytes) -> None:
        assert rules(mark + _FILE.encode()) is None

    def test_only_at_the_start(self) -> None:
        assert rules("User-agent: *\n\ufeffDisallow: /a\n") == []

    def test_alone(self) -> None:
        for mark in (b"\xef", b"\xef\xbb", b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff", b"\xff\xfea"):
            assert allows(mark, "/")

    @pytest.mark.parametrize(
        "body",
        [b"\xff\xfe" + _FILE.encode("utf-16-le"), b"\xfe\xff" + _FILE.encode("utf-16-be")],
        ids=["little-endian", "big-endian"],
    )
    def test_utf16(self, body: bytes) -> None:
        assert not allows(body, "/é")
        assert (Code.UTF16, 0) in codes(body)
        assert read(body).is_utf16

    @pytest.mark.parametrize("mark", [b"\xff\xfe", b"\xfe\xff"])
    def test_octets_after_a_utf16_mark_that_are_none(self, mark: bytes) -> None:
        """Decoded as UTF-16 the file would hold no line, and so permit everything."""
        body = mark + b"User-agent: *\nDisallow: /private\n"
        for more in (b"", b"#", b"Disallow: /\xe9\n"):
            assert not allows(body + more, "/private")
            assert not read(body + more).is_utf16
        assert read(mark).octets == b""
        assert not allows(mark + b"User-agent: *\rDisallow: /private", "/private")

    def test_utf16_that_ends_in_the_middle(self) -> None:
        assert not allows(b"\xff\xfe" + _FILE.encode("utf-16-le") + b"#", "/é")

    def test_utf16_counts_to_the_limit_in_octets(self) -> None:
        rule = "Disallow: /é\n"
        text = "User-agent: *\n" + rule * (PARSE_LIMIT_OCTETS // 2 // len(rule)) + "Disallow: /b"
        octets, is_cut, _ = clean(b"\xff\xfe" + text.encode("utf-16-le"))
        assert is_cut
        assert octets.endswith(b"\n")
        assert b"/b" not in octets


class TestNothingElseIsDecoded:
    """1: Octets are matched as they are, valid UTF-8 or not."""

    def test_invalid_octets_are_kept(self) -> None:
        group = read(b"User-agent: *\nDisallow: /\xe9\xff\n").group(TOKEN)
        assert group is not None
        assert group.rules[0].path_pattern == b"/\xe9\xff"
        assert str(group.rules[0]) == r"Disallow: /\xe9\xff"

    def test_no_line_is_lost(self) -> None:
        assert not allows(b"\xe9\nUser-agent: *\n\xff: \xff\nDisallow: /\n", "/")


class TestLineEnds:
    """1: LF, CR and CRLF end a line, nothing else does; lines are numbered as an editor would."""

    @pytest.mark.parametrize("no_end", ["\v", "\f", "\x1c", "\x85", "\u2028", "\u2029"])
    def test_nothing_else(self, no_end: str) -> None:
        assert kinds(f"User-agent: *{no_end}Disallow: /") == [Kind.USER_AGENT]

    @pytest.mark.parametrize(
        ("text", "numbers"),
        [
            ("a:\nb:\n", [1, 2]),
            ("a:\r\nb:\r\n", [1, 2]),
            ("a:\r\rb:", [1, 3]),
            ("a:\n\r\nb:", [1, 3]),
            ("a:\r\n\rb:\n\n\nc:", [1, 3, 6]),
            ("\n\n# x\n \na:", [5]),
        ],
    )
    def test_numbers(self, text: str, numbers: list[int]) -> None:
        assert lines(text) == numbers


class TestParseLimit:
    """1: What follows the limit is ignored, and a line that the limit cuts is ignored whole."""

    head = b"User-agent: *\nDisallow: /a\n"

    def _with(self, last: bytes, octets_before: int) -> bytes:
        """The head, then `last` so that `octets_before` of its octets are within the limit."""
        filler = PARSE_LIMIT_OCTETS - len(self.head) - octets_before - 1
        return self.head + b"#" * filler + b"\n" + last

    @pytest.mark.parametrize("octets_before", [1, 9, 11, 12, 13])
    def test_half_a_rule_is_none(self, octets_before: int) -> None:
        """Half of ``Disallow: /ab`` could be ``Disallow: /``."""
        body = self._with(b"Disallow: /ab\n", octets_before)[:-1] + b"c\n"
        assert read(body).is_cut
        assert rules(body) == ["Disallow: /a"]

    @pytest.mark.parametrize("end", [b"\n", b"\r", b"\r\n"])
    def test_line_that_ends_there_is_whole(self, end: bytes) -> None:
        body = self._with(b"Disallow: /ab" + end + b"Disallow: /c", 13)
        assert rules(body) == ["Disallow: /a", "Disallow: /ab"]

    def test_between_cr_and_lf(self) -> None:
        body = self._with(b"Disallow: /ab\r\nDisallow: /c", 14)
        assert rules(body) == ["Disallow: /a", "Disallow: /ab"]

    def test_one_line_longer_than_the_limit(self) -> None:
        assert allows(b"Disallow: /" * PARSE_LIMIT_OCTETS, "/")

    def test_finding(self) -> None:
        assert codes(self._with(b"Disallow: /ab\n", 3)) == [(Code.PARSE_LIMIT, 0)]

    def test_more_by_setting(self) -> None:
        body = self._with(b"Disallow: /ab\n", 3)
        group = parse(body, limit_octets=len(body)).group(TOKEN)
        assert group is not None
        assert [rule.path_pattern for rule in group.rules] == [b"/a", b"/ab"]


class TestLongLines:
    """1: A line longer than 16,663 octets is cut there; a NUL ends the line's content."""

    def test_limit(self) -> None:
        assert LINE_LIMIT_OCTETS == 16_663

    @pytest.mark.parametrize("longer", [0, 1, 5000])
    def test_cut(self, longer: int) -> None:
        key = "Disallow: /"
        whole = key + "a" * (LINE_LIMIT_OCTETS - len(key))
        found = record(whole + "b" * longer)
        assert found == (Kind.DISALLOW, b"Disallow", whole[10:].encode())

    def test_key_after_the_cut(self) -> None:
        assert record(" " * LINE_LIMIT_OCTETS + "Disallow: /") is None

    def test_next_line_is_another(self) -> None:
        body = "User-agent: *\nDisallow: /" + "a" * 20_000 + "\nDisallow: /b\n"
        assert not allows(body, "/b")

    def test_nul(self) -> None:
        assert record("Disallow: /a\0b") == (Kind.DISALLOW, b"Disallow", b"/a")
        assert record("Disallow\0: /a") is None
        assert record("\0Disallow: /a") is None
        assert rules("User-agent: *\0\nDisallow: /a\0\0\nDisallow: /b") == [
            "Disallow: /a",
            "Disallow: /b",
        ]


class TestWhiteSpace:
    """1: White space around line, key and value is dropped: space, tab, VT, FF."""

    @pytest.mark.parametrize("space", [" ", "\t", "\v", "\f", " \t\v\f"])
    def test_dropped(self, space: str) -> None:
        line = f"{space}Disallow{space}:{space}/a b{space}#{space}"
        assert record(line) == (Kind.DISALLOW, b"Disallow", b"/a b")

    @pytest.mark.parametrize("other", ["\u00a0", "\x01", "\x85", "\u3000"])
    def test_nothing_else(self, other: str) -> None:
        assert record(f"Disallow:{other}/a") == (
            Kind.DISALLOW,
            b"Disallow",
            f"{other}/a".encode(),
        )


class TestColon:
    """1: Without a colon exactly two words are key and value; anything else is no record."""

    @pytest.mark.parametrize("line", ["Disallow /a", "disallow\t/a", "  Disallow  /a  # c"])
    def test_two_words(self, line: str) -> None:
        found = record(line)
        assert found is not None
        assert (found[0], found[2]) == (Kind.DISALLOW, b"/a")

    @pytest.mark.parametrize("line", ["Disallow /a /b", "user agent foo", "a", "#a b", "   "])
    def test_other_counts(self, line: str) -> None:
        assert record(line) is None

    @pytest.mark.parametrize("key", ["Disallow", "Allow", "User-agent", "Sitemap"])
    def test_key_alone(self, key: str) -> None:
        """Only one word: no record, so it ends no group either."""
        assert record(key) is None
        assert rules(f"User-agent: a\n{key}\nUser-agent: b\nDisallow: /x\n", "a") == [
            "Disallow: /x"
        ]

    @pytest.mark.parametrize("line", [":", ": /a", " \t: /a"])
    def test_no_key(self, line: str) -> None:
        assert record(line) is None


class TestKeys:
    """1: Keys are read as Google's code reads them: by how they start, and in a few misspellings;
    every other key is another record.
    """

    @pytest.mark.parametrize(
        ("key", "kind"),
        [
            ("user-agent", Kind.USER_AGENT),
            ("useragent", Kind.USER_AGENT),
            ("user agent", Kind.USER_AGENT),
            ("User-Agents", Kind.USER_AGENT),
            ("allow", Kind.ALLOW),
            ("Allowed", Kind.ALLOW),
            ("disallow", Kind.DISALLOW),
            ("Disallows", Kind.DISALLOW),
            ("dissallow", Kind.DISALLOW),
            ("dissalow", Kind.DISALLOW),
            ("disalow", Kind.DISALLOW),
            ("diasllow", Kind.DISALLOW),
            ("DISALLAW", Kind.DISALLOW),
            ("sitemap", Kind.SITEMAP),
            ("site-map", Kind.SITEMAP),
            ("Sitemap-index", Kind.SITEMAP),
            ("user  agent", Kind.OTHER),
            ("user_agent", Kind.OTHER),
            ("agent", Kind.OTHER),
            ("desallow", Kind.OTHER),
            ("not disallow", Kind.OTHER),
            ("alow", Kind.OTHER),
            ("site map", Kind.OTHER),
        ],
    )
    def test_kind(self, key: str, kind: Kind) -> None:
        for spelling in (key, key.upper(), key.title()):
            assert record(f"{spelling}: x") == (kind, spelling.encode(), b"x")

    @pytest.mark.parametrize(
        "key",
        [
            "crawl-delay",
            "request-rate",
            "visit-time",
            "host",
            "clean-param",
            "content-signal",
            "content-usage",
            "license",
            "noindex",
            "robot-version",
            "comment",
            "x",
            "é",
        ],
    )
    def test_others_are_kept(self, key: str) -> None:
        (kept,) = read(f"# 1\n{key}: a b # c\n").other_records
        assert (kept.key, kept.value, kept.line) == (key.encode(), b"a b", 2)

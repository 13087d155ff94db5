"""semantics.md, part 1, and RFC 9309, 2.2, 2.3.1.5 and 2.5: octets to lines, lines to records.

One class per clause; its docstring is the clause in short. See docs/conformance.md.
"""

from __future__ import annotations

import gzip
import tracemalloc

import pytest

from scrapy_rep.analysis.checks.codes import Code
from scrapy_rep.analysis.lint.linter import fixed, lint
from scrapy_rep.analysis.lint.suppressions import without_suppressed
from scrapy_rep.analysis.rewrite.normal import Mode, normalise
from scrapy_rep.protocol.document import parse
from scrapy_rep.protocol.lines import LINE_LIMIT_OCTETS, PARSE_LIMIT_OCTETS, Coding, Kind, clean

from .reading import TOKEN, allows, codes, kinds, lines, matches, read, record, rules

_FILE = "User-agent: *\nDisallow: /é\n"


class TestByteOrderMarks:
    """1: A UTF-8 BOM, or a part of one, is skipped; a UTF-16 file is decoded, with a finding."""

    @pytest.mark.parametrize("mark", [b"", b"\xef", b"\xef\xbb", b"\xef\xbb\xbf"])
    def test_utf8(self, mark: bytes) -> None:
        assert rules(mark + _FILE.encode()) == ["Disallow: /é"]

    @pytest.mark.parametrize("mark", [b"\xbb", b"\xbf", b"\xef\xbf", b"\xef\xbb\xbf\xef\xbb\xbf"])
    def test_other_octets_belong_to_the_key(self, mark: bytes) -> None:
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
        assert read(body).codings == (Coding.UTF16,)

    @pytest.mark.parametrize("mark", [b"\xff\xfe", b"\xfe\xff"])
    def test_plain_octets_after_a_utf16_mark(self, mark: bytes) -> None:
        """Decoded as UTF-16 the file would hold no line, and so permit everything."""
        body = mark + b"User-agent: *\nDisallow: /private\n"
        for more in (b"", b"#", b"Disallow: /\xe9\n"):
            assert not allows(body + more, "/private")
            assert read(body + more).codings == ()
        assert read(mark).octets == b""
        assert not allows(mark + b"User-agent: *\rDisallow: /private", "/private")

    @pytest.mark.parametrize("coding", ["utf-16", "utf-32"])
    def test_file_that_ends_within_a_character(self, coding: str) -> None:
        """As after an appended LF of one octet: the rest is no part of the last rule."""
        for end in ("", "\n"):
            whole = (_FILE.strip() + end).encode(coding)
            for more in (b"", b"\n", b"#"):
                assert not allows(whole + more, "/é")
        for octets in range(1, 4):
            assert not allows(
                "User-agent: *\nDisallow: /a\U0001f600".encode(coding)[:-octets], "/a"
            )


class TestUtf32:
    """1: A file that begins with a UTF-32 BOM is decoded as UTF-32, with a finding."""

    @pytest.mark.parametrize("order", ["le", "be"])
    def test_decoded(self, order: str) -> None:
        body = f"\ufeff{_FILE}".encode(f"utf-32-{order}")
        assert not allows(body, "/é")
        assert (Code.UTF32, 0) in codes(body)
        assert read(body).codings == (Coding.UTF32,)
        assert not allows(body + b"#", "/é"), "also one that ends in the middle"

    def test_stays_as_it_is_when_rewritten(self) -> None:
        body = f"\ufeff{_FILE}\rdisallow /b".encode("utf-32-le")
        assert normalise(body) == fixed(body)[0] == body


class TestGzip:
    """1: A body that begins with 1F 8B is decompressed; if that fails, nothing is allowed."""

    @pytest.mark.parametrize("level", [1, 2, 10])
    def test_decompressed(self, level: int) -> None:
        body = _FILE.encode()
        for _ in range(level):
            body = gzip.compress(body)
        assert not allows(body, "/é")
        assert allows(body, "/f")
        assert (Code.GZIP, 0) in codes(body)

    def test_members_and_what_follows_them(self) -> None:
        body = gzip.compress(b"User-agent: *\n") + gzip.compress(b"Disallow: /a\n") + b"Allow: /a"
        assert not allows(body, "/a")

    def test_of_utf16(self) -> None:
        body = gzip.compress(_FILE.encode("utf-16"))
        assert not allows(body, "/é")
        assert read(body).codings == (Coding.GZIP, Coding.UTF16)

    @pytest.mark.parametrize(
        "body",
        [
            b"\x1f\x8b",
            b"\x1f\x8b: 1\nUser-agent: *\nAllow: /\n",
            gzip.compress(_FILE.encode())[:-9],
            gzip.compress(_FILE.encode())[:-1] + b"x",
            gzip.compress(b"")[:-1],
            gzip.compress(b"") * 1001,
        ],
        ids=["magic", "text", "cut", "length", "empty, cut", "members"],
    )
    def test_damaged(self, body: bytes) -> None:
        assert not allows(body, "/f")
        assert allows(body, "/robots.txt")
        assert (Code.GZIP_DAMAGED, 0) in codes(body)

    def test_too_many_layers(self) -> None:
        body = _FILE.encode()
        for _ in range(11):
            body = gzip.compress(body)
        assert not allows(body, "/f")

    def test_no_more_than_the_limit(self) -> None:
        bomb = gzip.compress(_FILE.encode() + b"#\n" * 20_000_000, 1)
        tracemalloc.start()
        octets, is_cut, _ = clean(bomb)
        assert is_cut
        assert len(octets) <= PARSE_LIMIT_OCTETS
        assert not allows(octets, "/é")
        assert tracemalloc.get_traced_memory()[1] < 10 * PARSE_LIMIT_OCTETS
        tracemalloc.stop()

    def test_lint_reads_the_same(self) -> None:
        body = gzip.compress(b"User-agent: *\nDisallow: x # rep: ignore\nDisallow: y\n")
        found = [one for one in lint(body) if one.code is Code.RULE_MATCHES_NOTHING]
        assert {one.line for one in found} == {2, 3}
        assert {one.line for one in without_suppressed(body, found)} == {3}

    def test_stays_as_it_is_when_rewritten(self) -> None:
        body = gzip.compress(b"user-agent: *\rdisallow /b\0\nSitemap: /s")
        for damaged in (body, body[:-1]):
            assert fixed(damaged, "https://h/robots.txt")[0] == damaged
            for mode in Mode:
                assert normalise(damaged, mode, "https://h/robots.txt") == damaged


class TestNothingElseIsDecoded:
    """1: Octets are matched as they are, valid UTF-8 or not."""

    def test_invalid_octets_are_kept(self) -> None:
        group = read(b"User-agent: *\nDisallow: /\xe9\xff\n").group(TOKEN)
        assert group is not None
        assert group.rules[0].path_pattern == b"/\xe9\xff"
        assert str(group.rules[0]) == r"Disallow: /\xe9\xff"


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
    """1: Octets after the limit are ignored, and so is a line that the limit cuts."""

    head = b"User-agent: *\nDisallow: /a\n"

    def _with(self, last: bytes, octets_before: int) -> bytes:
        """The head, then `last` so that `octets_before` of its octets are within the limit."""
        filler = PARSE_LIMIT_OCTETS - len(self.head) - octets_before - 1
        return self.head + b"#" * filler + b"\n" + last

    @pytest.mark.parametrize("octets_before", [1, 9, 11, 12, 13])
    def test_half_a_rule_is_ignored(self, octets_before: int) -> None:
        """Half of ``Disallow: /ab`` could be ``Disallow: /``."""
        body = self._with(b"Disallow: /ab\n", octets_before)[:-1] + b"c\n"
        assert read(body).is_cut
        assert rules(body) == ["Disallow: /a"]

    @pytest.mark.parametrize(
        ("end", "octets_before"), [(b"\n", 13), (b"\r", 13), (b"\r\n", 13), (b"\r\n", 14)]
    )
    def test_line_that_ends_there_is_whole(self, end: bytes, octets_before: int) -> None:
        body = self._with(b"Disallow: /ab" + end + b"Disallow: /c", octets_before)
        assert rules(body) == ["Disallow: /a", "Disallow: /ab"]

    def test_one_line_longer_than_the_limit(self) -> None:
        assert allows(b"Disallow: /" * PARSE_LIMIT_OCTETS, "/")

    @pytest.mark.parametrize(("coding", "least"), [("utf-16-le", 2), ("utf-32-le", 4)])
    def test_decoded_it_counts_the_octets_of_the_file(self, coding: str, least: int) -> None:
        rule = "Disallow: /é\n"
        text = "\ufeffUser-agent: *\n" + rule * (PARSE_LIMIT_OCTETS // least // len(rule))
        octets, is_cut, _ = clean((text + "Disallow: /b").encode(coding))
        assert is_cut
        assert octets.endswith(rule.encode())

    def test_finding(self) -> None:
        assert codes(self._with(b"Disallow: /ab\n", 3)) == [(Code.PARSE_LIMIT, 4)]


class TestLongLines:
    """1: A line longer than 16,663 octets is cut there; a NUL ends the line's content."""

    @pytest.mark.parametrize("longer", [0, 1, 5000])
    def test_cut(self, longer: int) -> None:
        key = "Disallow: /"
        whole = key + "a" * (LINE_LIMIT_OCTETS - len(key))
        found = record(whole + "b" * longer)
        assert found == (Kind.DISALLOW, b"Disallow", whole[10:].encode())

    def test_key_after_the_cut(self) -> None:
        assert record(" " * LINE_LIMIT_OCTETS + "Disallow: /") is None

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


class TestAbnfRecords:
    """2.2: ``*WS key *WS ":" *WS value EOL``, keys in any case (RFC 5234, 2.3)."""

    @pytest.mark.parametrize("space", ["", " ", "\t", " \t  \t"])
    def test_white_space(self, space: str) -> None:
        line = f"{space}allow{space}:{space}/x{space}"
        assert record(line) == (Kind.ALLOW, b"allow", b"/x")

    @pytest.mark.parametrize("empty", ["", " ", "\t \t"])
    def test_empty_pattern(self, empty: str) -> None:
        """``empty-pattern = *WS``: a rule that forbids nothing, and still ends the group."""
        assert record(f"Disallow:{empty}") == (Kind.DISALLOW, b"Disallow", b"")
        assert allows(f"User-agent: *\nDisallow:{empty}\n", "/x")
        body = f"User-agent: a\nDisallow:{empty}\nUser-agent: b\nDisallow: /x\n"
        assert allows(body, "/x", "a")

    def test_second_colon_is_of_the_value(self) -> None:
        assert record("Disallow: /a:b") == (Kind.DISALLOW, b"Disallow", b"/a:b")


class TestAbnfComment:
    """2.2: ``comment = "#" *(...)``, at the end of any line or alone on it."""

    @pytest.mark.parametrize("line", ["#", "# x", "#Disallow: /x", " \t# x # y"])
    def test_alone(self, line: str) -> None:
        assert record(line) is None

    @pytest.mark.parametrize("comment", ["#", " #", "# Allow: /", "\t# a # b"])
    def test_after_a_value(self, comment: str) -> None:
        assert record(f"Disallow: /x{comment}") == (Kind.DISALLOW, b"Disallow", b"/x")

    def test_in_place_of_a_value(self) -> None:
        assert record("Disallow: # nothing") == (Kind.DISALLOW, b"Disallow", b"")

    def test_in_place_of_the_colon(self) -> None:
        assert record("Disallow # : /x") is None


class TestAbnfNewline:
    """2.2: ``NL = %x0D / %x0A / %x0D.0A``."""

    @pytest.mark.parametrize("end", ["\n", "\r", "\r\n"])
    def test_each_ends_a_line(self, end: str) -> None:
        body = end.join(["User-agent: a", "Disallow: /1", "", "Allow: /2"])
        assert rules(body, "a") == ["Disallow: /1", "Allow: /2"]


class TestAbnfCharacters:
    """2.2: ``path-pattern = "/" *UTF8-char-noctl``: any UTF-8, without controls, space and "#"."""

    @pytest.mark.parametrize("character", ["!", '"', "$x", "~", "é", "ツ", "😀"])
    def test_in_a_pattern(self, character: str) -> None:
        assert matches(f"/{character}", f"/{character}")
        assert not matches(f"/{character}", "/other")


class TestParsingErrors:
    """2.3.1.5: Each line MUST be tried, and the rules that can be read MUST be used."""

    @pytest.mark.parametrize(
        "garbage",
        [
            b"<html>",
            b"\xff\xfe\xfd",
            b"Disallow",
            b"User-agent",
            b": /",
            b"Disallow /a /b",
            b"\0\1\2",
            b"x" * 20_000,
        ],
    )
    def test_unreadable_line_spoils_no_other(self, garbage: bytes) -> None:
        body = b"\n".join([b"User-agent: a", b"User-agent: b", b"Disallow: /1", b"Disallow: /2"])
        spoilt = body.replace(b"\n", b"\n" + garbage + b"\n")
        for token in ("a", "b"):
            assert rules(spoilt, token) == rules(body, token)


class TestParsingLimit:
    """2.5: A parsing limit SHOULD be there, and MUST be at least 500 kibibytes."""

    rule = b"User-agent: *\nDisallow: /x\n"

    def test_is_500_kibibytes(self) -> None:
        assert PARSE_LIMIT_OCTETS == 500 * 1024

    def test_rules_after_it_are_ignored(self) -> None:
        body = b"#" * (PARSE_LIMIT_OCTETS - 1) + b"\n" + self.rule
        assert allows(body, "/x")
        assert parse(body).is_cut

    def test_can_be_more_and_never_less(self) -> None:
        body = b"#" * (PARSE_LIMIT_OCTETS - 1) + b"\n" + self.rule
        more = parse(body, limit_octets=len(body))
        assert not more.verdict("/x", "a").allowed
        with pytest.raises(ValueError, match="below the 512000 octets"):
            parse(body, limit_octets=PARSE_LIMIT_OCTETS - 1)


class TestComment:
    """2.2.3: ``#`` MUST be supported, as the beginning of a comment."""

    @pytest.mark.parametrize("body", ["/a# b", "/a #b", "/a#"])
    def test_ends_the_path(self, body: str) -> None:
        assert matches(body, "/a")
        assert matches(body, "/ax")

    def test_escaped_it_is_the_character(self) -> None:
        assert matches("/a%23b", "/a%23b")
        assert not matches("/a%23b", "/a#b")

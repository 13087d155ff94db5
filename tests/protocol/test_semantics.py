"""docs/semantics.md, parts 1 to 3, and RFC 9309, 2.1 to 2.5, 5.1 and 5.2.

`semantics.txt` has the verdicts, clause by clause. The classes have what a verdict does not show.
The docstring of a class is its clause in short. See docs/conformance.md.
"""

from __future__ import annotations

import gzip
import re
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from scrapy_rep.protocol.document import parse
from scrapy_rep.protocol.errors import InvalidProductToken
from scrapy_rep.protocol.extensions.headers import tokens_from_user_agent
from scrapy_rep.protocol.lines import LINE_LIMIT_OCTETS, PARSE_LIMIT_OCTETS, Coding, clean
from scrapy_rep.protocol.paths import before_path_of, path_of, uri_without_dots, without_dots
from scrapy_rep.protocol.tokens import as_product_tokens, is_product_token
from scrapy_rep.protocol.verdict import Reason
from scrapy_rep.robotparser import ParserRules

from . import model
from .reading import TOKEN, allows, codes, lines, normal_path, normal_pattern, read, rules

TEXT = (Path(__file__).parent / "semantics.txt").read_text(encoding="utf-8")
_ANSWER = re.compile(r"(yes|no)(?:@(\d+))?(?:\[(.*)\])? (.+)")


class Row(NamedTuple):
    """Verdicts on some URLs, by one file."""

    robots_txt: bytes
    tokens: list[str]
    urls: list[str]
    allowed: bool
    line: int | None


def _octets(text: str) -> bytes:
    """The octets of a text with escapes."""
    return re.sub(rb"\\x(..)", lambda found: bytes.fromhex(found[1].decode()), text.encode())


def _rows(block: str) -> Iterator[Row]:
    """The rows of a file: its lines, then the answers, once for each text."""
    texts = re.findall(r"^each (.*)\n", block, re.MULTILINE) or [""]
    block = re.sub(r"^each .*\n", "", block, flags=re.MULTILINE)
    answers = [_ANSWER.fullmatch(line) for line in block.splitlines()]
    file = [line for line, answer in zip(block.splitlines(), answers, strict=True) if not answer]
    body = "".join(f"{line}\n" for line in file)
    body = body if "agent" in body.lower() or r"\x0aUser" in block else f"User-agent: *\n{body}"
    for text in texts[0].split(" | "):
        for found in filter(None, answers):
            yield Row(
                _octets(body.replace("{}", text)),
                [TOKEN] if found[3] is None else [token for token in found[3].split(",") if token],
                found[4].split(" "),
                found[1] == "yes",
                None if found[2] is None else int(found[2]),
            )


def clauses() -> dict[str, list[Row]]:
    """The rows of each clause, by its name."""
    found: dict[str, list[Row]] = {}
    for part in re.split(r"^= ", TEXT, flags=re.MULTILINE)[1:]:
        heading, _, text = part.partition("\n")
        blocks = re.split(r"(?<=\n)\n+(?=\S)", text)
        found[heading.split()[0]] = [row for block in blocks for row in _rows(block)]
    return found


@pytest.mark.parametrize("rows", clauses().values(), ids=clauses())
def test_rows_of_each_clause_are_judged_so(rows: list[Row]) -> None:
    assert rows
    for row in rows:
        for url in row.urls:
            verdict = parse(row.robots_txt, "https://h/robots.txt").verdict(url, row.tokens)
            found = verdict.allowed, verdict.line if row.line is not None else None
            assert found == (row.allowed, row.line), (row, url)


class TestVerdict:
    """2.2.2: The verdict names the rule and the group that decide, or why none does."""

    def test_by_a_rule(self) -> None:
        verdict = read("# 1\nUser-agent: *\nDisallow: /a\n").verdict("/a", TOKEN)
        assert verdict.rule is not None
        assert (verdict.reason, str(verdict.rule)) == (Reason.RULE, "Disallow: /a")
        assert (verdict.line, verdict.rule.line, verdict.product_token) == (3, 3, "*")

    @pytest.mark.parametrize(
        ("body", "url", "reason", "product_token"),
        [
            ("User-agent: *\nDisallow: /a\n", "/b", Reason.NO_RULE_MATCHES, "*"),
            ("User-agent: ExampleBot\n", "/b", Reason.NO_RULE_MATCHES, "examplebot"),
            ("User-agent: x\nDisallow: /\n", "/b", Reason.NO_GROUP, ""),
            ("", "/b", Reason.NO_GROUP, ""),
            ("User-agent: *\nDisallow:\n", "/a", Reason.EMPTY_RULE, "*"),
            ("User-agent: *\nDisallow: /\n", "/robots.txt", Reason.IMPLICITLY_ALLOWED, ""),
        ],
    )
    def test_verdict_without_a_rule_has_a_reason(
        self, body: str, url: str, reason: Reason, product_token: str
    ) -> None:
        verdict = read(body).verdict(url, TOKEN)
        assert (verdict.allowed, verdict.reason) == (True, reason)
        assert verdict.product_token == product_token

    def test_of_the_folder_of_an_index(self) -> None:
        """It has the octets of the folder."""
        verdict = read("User-agent: *\nDisallow: /\nAllow: /x/index.html\n").verdict("/x/", TOKEN)
        assert verdict.rule is not None
        assert (verdict.rule.octets, verdict.line) == (4, 3)


class TestNormalForm:
    """3: Path, parameters and query of a URL in normal form, and a rule's path."""

    URLS = """
        http://h                   /$
        http://h?x                 /?x$
        http://h#x                 /$
        http://h;p                 /;p$
        http://u;v:p;q@h:80/a;p?q#f  /a;p?q$
        http://u;@v;@h;a/b@c       /;a/b@c$
        //u;@h?a@;b                /?a@;b$
        u;@h/a                     /;@h/a$
        http://h?@i/p              /?@i/p$
        http://h//a//b             //a//b$
        http://h/a?u=http://i/j    /a?u=http://i/j$
        /a:b//c                    /a:b//c$
        http://h/a/../b/./c        /a/../b/./c$
        /%41%7a%30%2D%2e%5F%7e     /Az0-._~$
        /%3A%23%5B%5D%40%21%26%27%28%29%2B%2C%3B%3D  /:#[]@!&'()+,;=$
        /{}|\\^`<>"                /%7B%7D%7C%5C%5E%60%3C%3E%22$
        /%20%7b%c3%A9              /%20%7B%C3%A9$
        /%                         /%25$
        /%4                        /%254$
        /%zz%41                    /%25zzA$
        /%%41                      /%25A$
        /%25%2541                  /%25%2541$
        /%2f%3F?%2f%3F             /%2F%3F?/?$
        /*$%2a%24?*$               /%2A%24%2A%24?%2A%24$
    """
    PATTERNS = r"""
        /%41  /A
        /\xe9  /%E9
        /%2f%3f?%2f%3f  /%2F%3F?/?
        /*  /*
        /%2a  /%2A
        /a$  /a$
        /a$b  /a%24b
        /a$$  /a%24$
        /a%24  /a%24
        /?*$  /?*$
    """

    def test_normal_form_of_urls_is_as_listed(self) -> None:
        for line in self.URLS.split("\n")[1:-1]:
            url, path = line.split()
            assert normal_path(url) == path.encode(), url
        assert normal_path("/ \x00\x7f\x80\ud800") == b"/%20%00%7F%C2%80%ED%A0%80$"
        assert normal_path("") == b"/$"

    def test_normal_form_of_rules_is_as_listed(self) -> None:
        for line in self.PATTERNS.split("\n")[1:-1]:
            written, pattern = line.split()
            assert normal_pattern(_octets(written)) == pattern.encode(), written
        assert normal_pattern(b"/a b") == b"/a%20b"


class TestUnmatchable:
    """3: A rule that begins with neither "/" nor "*" matches nothing, with a finding."""

    @pytest.mark.parametrize(
        "pattern", ["a", "https://example.com/a", "?a", "$", "%2Fa", ".", "\\a"]
    )
    def test_rule_without_a_slash_matches_nothing(self, pattern: str) -> None:
        body = f"User-agent: *\nDisallow: {pattern}\n"
        urls = ("/", "/a", "/?a", "/https://example.com/a")
        assert [url for url in urls if not allows(body, url)] == []
        assert codes(body) == [("rule-matches-nothing", 2)]

    def test_rules_that_can_match_are_no_finding(self) -> None:
        assert codes("User-agent: *\nDisallow: /\nAllow: *a\nDisallow: \n") == []


class TestLonePercent:
    """3: A rule with a "%" that begins no escape is also compared as it is written."""

    def test_lone_percent_counts_among_thousands(self) -> None:
        many = "".join(f"Disallow: /{number}\n" for number in range(2000))
        body = f"User-agent: *\n{many}Disallow:\t/itm/*/% \nAllow: /1*x\n"
        assert not allows(body, "/itm/x/%5Bfoo")
        assert allows(body, "/itm/x/[foo")


class KnowsNoDots:
    """A parser that sees the private folder where it is named right behind the host."""

    def allowed(self, url: str, user_agent: str) -> bool:
        return not url.startswith("http://h/private/")


class TestDotSegments:
    """3: Judged as written and with dot segments removed; allowed only if both are."""

    def test_by_another_parser(self) -> None:
        other = ParserRules(KnowsNoDots(), "", None)  # type: ignore[arg-type]
        for url in ("http://h/private/../public", "http://h/public/%2e%2E/private/x"):
            assert not other.verdict(url, (TOKEN,)).allowed

    @pytest.mark.parametrize(
        ("written", "bare"),
        [
            ("/a/b/c/./../../g", "/a/g"),  # RFC 3986, 5.2.4
            ("/a/./", "/a/"),
            ("/a/.", "/a/"),
            ("/a/..", "/"),
            ("/.", "/"),
            ("/a/%2e%2e/%2fb?c/../d", "/%2fb?c/../d"),
            ("/mid/content=5/../6", "/mid/6"),
        ],
    )
    def test_dot_segments_are_removed(self, written: str, bare: str) -> None:
        assert without_dots(written) == bare
        assert uri_without_dots(f"http://h{written}") == f"http://h{bare}"

    @pytest.mark.parametrize(
        ("written", "bare"),
        [
            ("http://u;p@h/a/../b", "http://u;p@h/b"),
            ("/.//a/b", "////a/b"),  # "//a/b" would be the path "/b" of a host
            ("//h/.//a", "//h//a"),
            ("//h", "//h"),
            ("http:/.//./a", "http:////a"),
            ("a:b/.//c", "a:b//c"),
        ],
    )
    def test_part_before_the_path_stays(self, written: str, bare: str) -> None:
        assert uri_without_dots(written) == uri_without_dots(bare) == bare
        assert not allows(f"User-agent: *\nDisallow: {path_of(bare)}$", written)

    def test_dot_segments_take_linear_time(self) -> None:
        assert uri_without_dots(f"http://h{'/a/..' * 200_000}/b") == "http://h/b"
        userinfo = ";@" * 100_000
        assert uri_without_dots(f"http://{userinfo}h/./b") == f"http://{userinfo}h/b"
        assert before_path_of("http://" + "@" * 200_000 + ";/b") == ""


class TestTwofold:
    """3: In a rule without "?", an escape behind a "*" may stand in the path or in the query."""

    def test_each_reading_agrees(self) -> None:
        """The model, and the code that compares the effects of rules."""
        for row in clauses()["Twofold"][:-4]:
            for url in row.urls:
                patterns = re.findall(rb"Disallow: (.*)\n", row.robots_txt)
                assert any(model.matches(one, url.encode()) for one in patterns) is not row.allowed

    def test_twofold_rule_counts_among_thousands(self) -> None:
        more = "".join(f"Disallow: /z{number}\n" for number in range(2000))
        body = f"User-agent: *\n{more}Disallow: /*u=%2F\nAllow: /a?u=/\nAllow: /b?u=/x\n"
        found = [read(body).verdict(url, TOKEN).line for url in ("/c?u=/", "/a?u=/", "/b?u=/x")]
        assert found == [2002, 2002, 2004]

    def test_twofold_rules_take_linear_time(self) -> None:
        body = b"User-agent: *\n" + b"Disallow: /*a%2F*%2F*%2F*b\n" * 100
        assert allows(body, "/" + "a%2F" * 20_000 + "?" + "a/" * 20_000)


_FILE = "User-agent: *\nDisallow: /é\n"


_CHROMIUM = (
    b'<html><head><meta name="color-scheme" content="light dark"></head><body>'
    b'<pre style="word-wrap: break-word; white-space: pre-wrap;">%s</pre></body></html>'
)
_FIREFOX = (
    b'<html><head><link rel="stylesheet" href="resource://content-accessible/plaintext.css"></head>'
    b"<body><pre>%s</pre></body></html>"
)
_SERVICE = b"<!DOCTYPE html>\n<html><head><title>robots.txt</title><style>p > b {}</style></head>%s"
PAGES = (_CHROMIUM, _FIREFOX, _SERVICE % _FIREFOX[6:])
"""What browsers and services make of a text file: %s is its text."""


class TestPageSource:
    """1: the page that a browser makes of a text file is read as this file."""

    @pytest.mark.parametrize("page", PAGES)
    @pytest.mark.parametrize("before", [b"", b"\xef\xbb\xbf", b"\n "])
    def test_page_source_of_a_browser_is_unwrapped(self, page: bytes, before: bytes) -> None:
        text = b"User-agent: *\nDisallow: /\xc3\xa9?a=&lt;b&gt;&amp;c\nDisallow: /d&nbsp;\n"
        body = before + page % text
        assert not allows(body, "/\xe9?a=<b>&c")
        assert allows(body, "/x")
        assert ("page-source", 0) in codes(body)
        assert read(body).codings == (Coding.PAGE_SOURCE,)

    def test_cut_page_loses_the_line_that_is_cut(self) -> None:
        whole = _CHROMIUM % b"User-agent: *\nDisallow: /private\nDisallow: /public/x\n"
        body = whole[: whole.index(b"/x\n")]
        assert not allows(body, "/private")
        assert allows(body, "/public")

    @pytest.mark.parametrize(
        "page",
        [
            b"<html><body><p>Hello</p><pre>%s</pre></body></html>",
            b"<html><body><pre>%s</pre>Hello</body></html>",
            b"<html><body><pre>%s</pre><pre>more</pre></body></html>",
            b"<html><body><pre>%s<b>x</b></pre></body></html>",
            b"<html><head><title>a</head><body><pre>%s</pre></body></html>",
            b"<html><body><pre %s",
            b"<body><pre>%s</pre></body>",
        ],
    )
    def test_other_pages_are_pages(self, page: bytes) -> None:
        assert Coding.PAGE_SOURCE not in read(page % b"User-agent: *\nDisallow: /\n").codings

    @pytest.mark.parametrize("reference", ["&#" + "1" * 100_000 + ";", "&#xD800;", "&#0;", "&zz;"])
    def test_any_reference_of_a_page_source_is_harmless(self, reference: str) -> None:
        body = _CHROMIUM % f"User-agent: *\nDisallow: /a\n#{reference}\n".encode()
        assert not allows(body, "/a")

    @pytest.mark.parametrize("piece", [b"<style>", b"<pre>", b"<b>", b"<", b"<!--"])
    def test_page_source_takes_linear_time(self, piece: bytes) -> None:
        assert allows(b"<html>" + piece * (500_000 // len(piece)), "/a")


class TestCodings:
    """1: UTF-16, UTF-32 and gzip are decoded, with a finding; else the file would permit all."""

    @pytest.mark.parametrize(
        ("coding", "code", "kind"),
        [("utf-16", "utf16", Coding.UTF16), ("utf-32", "utf32", Coding.UTF32)],
    )
    @pytest.mark.parametrize("order", ["le", "be"])
    def test_wide_text_is_read(self, coding: str, order: str, code: str, kind: Coding) -> None:
        body = f"\ufeff{_FILE}".encode(f"{coding}-{order}")
        assert not allows(body, "/é")
        assert (code, 0) in codes(body)
        assert read(body).codings == (kind,)
        # As after an appended LF of one octet: the rest is no part of the last rule.
        whole = f"\ufeff{_FILE.strip()}".encode(f"{coding}-{order}")
        assert not allows(whole + b"\n", "/é")
        assert not allows(whole + b"#", "/é")
        for end in range(1, 4):
            cut = "\ufeffUser-agent: *\nDisallow: /a\U0001f600".encode(f"{coding}-{order}")[:-end]
            assert not allows(cut, "/a")

    @pytest.mark.parametrize("mark", [b"\xff\xfe", b"\xfe\xff"])
    def test_plain_octets_after_a_utf16_mark(self, mark: bytes) -> None:
        """Decoded as UTF-16 the file would hold no line, and so permit everything."""
        for more in (b"", b"#", b"Disallow: /\xe9\n"):
            body = mark + b"User-agent: *\nDisallow: /private\n" + more
            assert not allows(body, "/private")
            assert read(body).codings == ()

    def test_byte_order_mark_alone_allows_all(self) -> None:
        for mark in (b"\xef", b"\xef\xbb", b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff", b"\xff\xfea"):
            assert allows(mark, "/")

    @pytest.mark.parametrize("level", [1, 10])
    def test_file_in_gzip_is_read(self, level: int) -> None:
        body = _FILE.encode()
        for _ in range(level):
            body = gzip.compress(body)
        assert not allows(body, "/é")
        assert allows(body, "/f")
        assert ("gzip", 0) in codes(body)
        if level == 10:
            assert not allows(gzip.compress(body), "/f"), "too many layers"

    def test_members_of_gzip_and_what_follows_them(self) -> None:
        body = gzip.compress(b"User-agent: *\n") + gzip.compress(b"Disallow: /a\n") + b"Allow: /a"
        assert not allows(body, "/a")
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
    def test_damaged_gzip_allows_nothing(self, body: bytes) -> None:
        assert not allows(body, "/f")
        assert allows(body, "/robots.txt")
        assert ("gzip-damaged", 0) in codes(body)

    def test_no_more_of_gzip_than_the_limit(self) -> None:
        bomb = gzip.compress(_FILE.encode() + b"#\n" * 20_000_000, 1)
        tracemalloc.start()
        octets, is_cut, _ = clean(bomb)
        assert is_cut
        assert len(octets) <= PARSE_LIMIT_OCTETS
        assert not allows(octets, "/é")
        assert tracemalloc.get_traced_memory()[1] < 10 * PARSE_LIMIT_OCTETS
        tracemalloc.stop()


class TestLineNumbers:
    """1: Lines are numbered as an editor would."""

    @pytest.mark.parametrize(
        ("text", "numbers"),
        [
            ("a:\r\nb:\r\n", [1, 2]),
            ("a:\r\rb:", [1, 3]),
            ("a:\r\n\rb:\n\n\nc:", [1, 3, 6]),
            ("\n\n# x\n \na:", [5]),
        ],
    )
    def test_lines_are_numbered_as_in_an_editor(self, text: str, numbers: list[int]) -> None:
        assert lines(text) == numbers


class TestParseLimit:
    """2.5: At least 500 kibibytes; octets after it are ignored, and so is a line that it cuts."""

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
        assert codes(body) == [("parse-limit", 4)]

    @pytest.mark.parametrize(
        ("end", "octets_before"), [(b"\n", 13), (b"\r", 13), (b"\r\n", 13), (b"\r\n", 14)]
    )
    def test_line_that_ends_there_is_whole(self, end: bytes, octets_before: int) -> None:
        body = self._with(b"Disallow: /ab" + end + b"Disallow: /c", octets_before)
        assert rules(body) == ["Disallow: /a", "Disallow: /ab"]

    @pytest.mark.parametrize(("coding", "least"), [("utf-16-le", 2), ("utf-32-le", 4)])
    def test_decoded_it_counts_the_octets_of_the_file(self, coding: str, least: int) -> None:
        rule = "Disallow: /é\n"
        text = "\ufeffUser-agent: *\n" + rule * (PARSE_LIMIT_OCTETS // least // len(rule))
        octets, is_cut, _ = clean((text + "Disallow: /b").encode(coding))
        assert is_cut
        assert octets.endswith(rule.encode())

    def test_can_be_more_and_never_less(self) -> None:
        assert PARSE_LIMIT_OCTETS == 500 * 1024
        body = b"#" * (PARSE_LIMIT_OCTETS - 1) + b"\nUser-agent: *\nDisallow: /x\n"
        assert allows(body, "/x")
        assert not parse(body, limit_octets=len(body)).verdict("/x", "a").allowed
        with pytest.raises(ValueError, match="below the 512000 octets"):
            parse(body, limit_octets=PARSE_LIMIT_OCTETS - 1)


class TestLongLines:
    """1: A line longer than 16,663 octets is cut there."""

    @pytest.mark.parametrize("longer", [0, 1, 5000])
    def test_long_line_is_cut_at_the_limit(self, longer: int) -> None:
        whole = "Disallow: /".ljust(LINE_LIMIT_OCTETS, "a")
        assert rules(f"User-agent: *\n{whole}{'b' * longer}") == [whole]
        garbage = "x" * LINE_LIMIT_OCTETS + "Disallow: /"
        assert rules(f"User-agent: *\n{' ' * LINE_LIMIT_OCTETS}Disallow: /\n{garbage}") == []


class TestOtherRecords:
    """2.2.4: Other records MAY be read: they are kept with line, key and value, in any group."""

    def test_other_records_are_kept_with_their_group(self) -> None:
        body = (
            "Foo: a b # c\nUser-agent: a\nHost: h\nClean-param: p&q /x\nSitemap: /s.xml\nAllow: /"
        )
        robots_txt = read(body + "\r\n\r\nUser-agent: b\nNoindex: 1\n")
        found = [(one.key, one.value, one.line) for one in robots_txt.other_records]
        own = [(b"Host", b"h", 3), (b"Clean-param", b"p&q /x", 4)]
        assert found == [(b"Foo", b"a b", 1), *own, (b"Noindex", b"1", 9)]
        assert robots_txt.sitemaps == ("https://example.com/s.xml",)
        group = robots_txt.group("a")
        assert group is not None
        assert [(one.key, one.value, one.line) for one in group.other_records] == own


class TestPaceOfUserAgentLines:
    """2: Crawl-delay, Request-rate and Visit-time belong to the user-agent lines directly above."""

    BODY = "User-agent: a\nCrawl-delay: 5\nUser-agent: b\nCrawl-delay: 10\nDisallow: /x\n"

    def _delays(self, body: str, *tokens: str) -> list[float | None]:
        return [read(body).crawl_delay(token) for token in tokens]

    def test_each_has_its_own_and_they_share_the_rules(self) -> None:
        assert self._delays(self.BODY, "a", "b", "c") == [5, 10, None]
        assert rules(self.BODY, "a") == rules(self.BODY, "b") == ["Disallow: /x"]
        group = read(self.BODY).group("a")
        assert group is not None
        assert [(one.value, one.line) for one in group.other_records] == [(b"5", 2)]

    def test_the_largest_of_all_that_belong_to_us(self) -> None:
        body = f"{self.BODY}User-agent: A\nAllow: /y\nCrawl-delay: 7\nCrawl-delay: x\n"
        assert self._delays(body + "Crawl-delay: 6\n", "a", "b") == [7, 10]


class TestFindings:
    """2: Rules before any group, and user-agent lines that name no crawler, are findings."""

    def test_rules_before_any_group(self) -> None:
        assert codes("Disallow: /\n\nAllow: /a\nUser-agent: *\nDisallow: /b") == [
            ("rule-before-group", 1),
            ("rule-before-group", 3),
        ]

    def test_user_agent_lines(self) -> None:
        for value in ("", "*bot", "**", "*/1", "/"):
            body = f"User-agent: {value}\nDisallow: /"
            assert codes(body) == [("user-agent-names-nobody", 1)], value
        for value in ("*", "* x", "2bot"):  # a crawler may be called 2bot, as 360Spider is
            assert codes(f"User-agent: {value}\nDisallow: /") == [], value


class TestProductToken:
    """2.2.1: A product token MUST contain only letters, "_" and "-"; it SHOULD be in the header."""

    def test_product_token_has_only_its_characters(self) -> None:
        for token in ("ExampleBot", "example-bot", "Example_Bot", "-", "_"):
            assert is_product_token(token)
        for token in ("", "2bot", "bot2", "a b", "a/1", "a.b", "*", "a*", "é", " a", "a\n"):
            assert not is_product_token(token)

    @pytest.mark.parametrize(
        "token",
        ["", "a b", "a/1", "a*", "ExampleBot/1.0 (+http://a/)", "a,b", "a:", "a\n", "a#b", "(a"],
    )
    def test_wrong_own_token_is_refused_at_once(self, token: str) -> None:
        """No user-agent line can name it, so the caller is told."""
        with pytest.raises(InvalidProductToken, match="give the crawler's name alone"):
            as_product_tokens(token)
        robots_txt = read("User-agent: *\n")
        for question in (robots_txt.group, robots_txt.crawl_delay):
            with pytest.raises(InvalidProductToken):
                question(token)
        with pytest.raises(InvalidProductToken):
            robots_txt.verdict("/x", token)

    @pytest.mark.parametrize(
        "header",
        [
            "Mozilla/5.0 (compatible; ExampleBot/0.1; https://www.example.com/bot.html)",
            "ExampleBot/0.1",
        ],
    )
    def test_derived_from_the_header(self, header: str) -> None:
        assert tokens_from_user_agent(header) == ("ExampleBot",)

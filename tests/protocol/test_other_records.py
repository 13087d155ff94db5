"""semantics.md, part 4: sitemaps, and the values of other records.

One class per clause; its docstring is the clause in short. See docs/conformance.md.
"""

from __future__ import annotations

from typing import ClassVar
from urllib.parse import urljoin

import pytest

from scrapy_rep.protocol.document import parse
from scrapy_rep.protocol.extensions.records import RequestRate, VisitTime

from .reading import TOKEN, URI, codes, read

SIXTH = "https://a/6"  # the only colon is that of the URL: what follows it is the value


class TestSitemaps:
    """4: Anywhere, for all, in order, each once; resolved if relative, left out if not http(s)."""

    def test_sitemap_lines_count_anywhere(self) -> None:
        body = (
            "Sitemap: http://a/1\nUser-agent: a\nSitemap: http://a/2\nAllow: /\nsitemap:http://a/3"
        )
        assert read(body).sitemaps == ("http://a/1", "http://a/2", "http://a/3")

    def test_each_sitemap_is_listed_once(self) -> None:
        body = (
            "Sitemap: http://a/1\nSitemap: http://a/2\nSitemap: http://a/1\nSitemap: /3\nSitemap: 3"
        )
        assert read(body).sitemaps == ("http://a/1", "http://a/2", "https://example.com/3")
        assert codes(body) == [
            ("sitemap-duplicate", 3),
            ("sitemap-relative", 4),
            ("sitemap-relative", 5),
            ("sitemap-duplicate", 5),
        ]

    def test_sitemap_lines_count_however_written(self) -> None:
        """After a byte order mark, with CR line ends, in upper case, indented, in and between."""
        lines = [
            *["Sitemap: http://a/1", "SITEMAP: http://a/2", "  \tsitemap : http://a/3 # here"],
            *["User-agent: *", "Sitemap: http://a/4", "Disallow: /x", "Site-Map:http://a/5", ""],
            *["sitemap http://a/6", "User-agent: b", "Disallow: /", "Sitemaps: http://a/7"],
        ]
        found = tuple(f"http://a/{number}" for number in (1, 2, 3, 4, 5, 7))
        for end in ("\n", "\r", "\r\n"):
            body = b"\xef\xbb\xbf" + end.join(lines).encode()
            assert read(body).sitemaps == (*found[:5], SIXTH, found[5]), end
            assert not read(body).verdict("/x", "a").allowed

    @pytest.mark.parametrize(
        "value",
        [
            *["/a.xml", "a.xml?b", "index.php/a.xml", "v1.0/a.xml", "a.xml.gz"],
            *["a/www.example.org", "//cdn.example/a.xml"],
        ],
    )
    def test_relative_sitemap_is_resolved(self, value: str) -> None:
        assert read(f"Sitemap: {value}").sitemaps == (urljoin(URI, value),)
        assert codes(f"Sitemap: {value}") == [("sitemap-relative", 1)]

    LEFT_OUT = """
        ftp://a/b|file:///a|http://|http://[a/|data:,|http:///a|www.example.org/a.xml
        www.example.org|example.org/a.xml|www.a:81/b|b:8/a|"www.example.org/a.xml"
        my.example.com/a.xml|xn--a.xn--p1ai/a.xml|https:/a/s.xml|https//a/s.xml|https;//a/s.xml
        https: //a/s.xml|https:s.xml|http://https://a/s.xml|HTTP://http:/a/s.xml|(https://a/s.xml)
        'https:/a'|https://|https:///www.example.org/s.xml|://a/s.xml|https://https//a/s.xml
        https//example.com.example.org/s.xml|(https//example.com/s.xml)|/a.xml /b.xml|a.xml, b.xml
        coming soon|see https://example.com/s.xml|https://example.com/s.xml (main)
        https://example.com/s.xml /t.xml|example.com/s.xml main|https//example.com/s.xml main
        https://example.com /s.xml|https://example.com/a b|<loc>https://a/s.xml</loc>
        {{ url }}/s.xml|https://a/{lang}/s.xml|"https://example.com/s.xml|https://a/s.xml>
        https://example.com/s.xml”|http://a:99999/b|http://a:x/b|http://a b/c|http://a\\b/
    """

    def test_sitemap_that_is_no_uri_is_left_out(self) -> None:
        values = [one.strip() for line in self.LEFT_OUT.split("\n") for one in line.split("|")]
        for value in (*values, "http://a/\x01"):
            assert read(f"Sitemap: {value}").sitemaps == (), value
            assert codes(f"Sitemap: {value}") == [("sitemap-left-out", 1)], value
            assert read(f"Sitemap: {value}").invalid_sitemaps == ((value,) if value else ())

    @pytest.mark.parametrize(
        "value",
        ["example.com/a.xml", "WWW.Example.com/a.xml", "example.com:8080/a?b", "example.com"],
    )
    def test_this_host_without_a_scheme(self, value: str) -> None:
        assert read(f"Sitemap: {value}").sitemaps == (f"https://{value}",)
        assert codes(f"Sitemap: {value}") == [("sitemap-no-scheme", 1)]
        found = parse(f"Sitemap: www.{value}".encode(), "http://www.example.com/robots.txt")
        assert found.sitemaps == ((f"http://www.{value}",) if value[0] == "e" else ())

    @pytest.mark.parametrize(
        ("value", "uri"),
        [
            *(
                (f"{scheme}example.com/s.xml", f"{scheme[:5].rstrip(':/; ')}://example.com/s.xml")
                for scheme in (
                    *["http//", "http:/", "http:", "http;//", "http ://", "http: //", "https//"],
                    *["https:/", "https:::///", "https:///", "https://https://", "https://https//"],
                )
            ),
            ("HTTP//Example.com/s.xml", "HTTP://Example.com/s.xml"),
            ("http://https://example.com/s.xml", "https://example.com/s.xml"),
            ("://example.com/s.xml", "https://example.com/s.xml"),
            ("https//www.example.com/s.xml?a=b", "https://www.example.com/s.xml?a=b"),
            ("https//example.com/site map.xml", "https://example.com/site map.xml"),
        ],
    )
    def test_this_host_after_a_broken_scheme(self, value: str, uri: str) -> None:
        robots_txt = read(f"Sitemap: {value}")
        assert (robots_txt.sitemaps, robots_txt.invalid_sitemaps) == ((uri,), ())
        assert codes(f"Sitemap: {value}") == [("sitemap-bad-scheme", 1)]
        # Without its own URL, a file does not tell whether the host is that of the site.
        assert parse(f"Sitemap: {value}".encode()).sitemaps == ()

    @pytest.mark.parametrize("around", ['""', "''", "<>", "“”"])
    def test_quotes_around_a_sitemap_are_removed(self, around: str) -> None:
        for value, more in (
            ("http://a/s.xml", []),
            ("/s.xml", ["sitemap-relative"]),
            ("example.com/s.xml", ["sitemap-no-scheme"]),
        ):
            body = f"Sitemap: {around[0]} {value}{around[1]}"
            assert read(body).sitemaps == read(f"Sitemap: {value}").sitemaps
            assert codes(body) == [(code, 1) for code in ("sitemap-quoted", *more)]
        assert codes(f"Sitemap: {around[0]}http://a/s.xml") != codes("Sitemap: http://a/s.xml")

    @pytest.mark.parametrize("between", [" ", ",", ", ", "\t", " ,, ", "> <", '" "'])
    def test_several_sitemaps_of_a_line_are_read(self, between: str) -> None:
        body = f"Sitemap: http://a/1.xml{between}https://b/2.xml{between}http://a/1.xml"
        if between[0] in '>"':
            body = body.replace("Sitemap: ", f"Sitemap: {between[-1]}") + between[0]
        for whole in (body, body.replace(" ", ' "', 1) + '"') if between[0] in " ,\t" else (body,):
            assert read(whole).sitemaps == ("http://a/1.xml", "https://b/2.xml")
            assert ("sitemap-several", 1) in codes(whole)

    @pytest.mark.parametrize("value", ["http://a/?u=https://b/", "s.xml,https://b/", "http://a/,b"])
    def test_uri_inside_a_sitemap_is_no_second_one(self, value: str) -> None:
        assert len(read(f"Sitemap: {value}").sitemaps) == 1
        assert ("sitemap-several", 1) not in codes(f"Sitemap: {value}")

    def test_relative_to_nowhere(self) -> None:
        """Without the URI of the file there is nothing to resolve against."""
        assert parse(b"Sitemap: /a\nSitemap: http://a/b").sitemaps == ("http://a/b",)

    def test_octets_that_are_no_utf8(self) -> None:
        """They are percent-encoded, so that the server gets its own octets."""
        assert read(b"Sitemap: http://a/\xe9\xff?\xe9").sitemaps == ("http://a/%E9%FF?%E9",)
        assert read(b"Sitemap: http://a/\xc3\xa9\xe9").sitemaps == ("http://a/\xe9%E9",)
        assert read(b"Sitemap: http://\xe9.example/s").sitemaps == (), "no host holds these"

    @pytest.mark.parametrize(
        "blank", ["\xa0", "\u3000", "\ufeff", "\u200b", "\u2028", " \xa0 ", "\xa0\u2003\xa0"]
    )
    def test_blanks_that_are_no_white_space_of_the_file(self, blank: str) -> None:
        """A no-break space from a web page is no part of the URI, nor makes it relative."""
        line = f"Sitemap: {blank}http://a/s.xml{blank}\n".encode()
        assert read(line).sitemaps == ("http://a/s.xml",)
        assert codes(line) == []
        assert read(f"Sitemap: {blank}\n".encode()).sitemaps == ()

    def test_a_no_break_space_of_latin_1(self) -> None:
        assert read(b"Sitemap: \xa0http://a/s\xa0.xml\xa0").sitemaps == ("http://a/s%A0.xml",)
        assert read("Sitemap: http://a/\xe0".encode()).sitemaps == ("http://a/\xe0",)


class TestValues:
    """4: Crawl-delay in decimal seconds >= 0; Request-rate ``n/m[s|m|h|d] [hhmm-hhmm]``;
    Visit-time ``hhmm-hhmm``, UTC. What cannot be read is a finding.
    """

    READ: ClassVar[dict[str, dict[str, object]]] = {
        "Crawl-delay": {"0": 0, "2.5": 2.5, ".5": 0.5, "3.": 3, "007": 7, "2,5": 2.5},
        "Request-rate": {
            "1/5": RequestRate(1, 5),
            "10 / 60s": RequestRate(10, 60),
            "1/2M": RequestRate(1, 120),
            "30/1h": RequestRate(30, 3600),
            "5/1 d": RequestRate(5, 86_400),
            "1/10m 0600-0845": RequestRate(1, 600, VisitTime(360, 525)),
        },
        "Visit-time": {
            "0600-0845": VisitTime(360, 525),
            "0000-2400": VisitTime(0, 1440),
            "2200 - 0200": VisitTime(1320, 120),
        },
    }
    UNREAD: ClassVar[dict[str, list[str]]] = {
        "Crawl-delay": [
            *["", "-1", "+1", "1s", "1 2", "inf", "nan", "1e3", "0x1", ".", "1.2.3", "٣", "9" * 400]
        ],
        "Request-rate": ["", "1", "1/", "0/1", "1/0", "-1/2", "1/1w", "1/1 9-17", "1.5/2"],
        "Visit-time": ["", "0600", "6-8", "0660-0700", "2401-0100", "0600-0800-", "0200 0630"],
    }

    @pytest.mark.parametrize("key", READ)
    def test_values_of_other_records_are_read(self, key: str) -> None:
        for value, expected in self.READ[key].items():
            file = read(f"User-agent: *\n{key}: x\n{key}: {value}\nUser-agent: *\n{key}: 0")
            assert getattr(file, key.lower().replace("-", "_"))(TOKEN) == expected, value

    @pytest.mark.parametrize("key", UNREAD)
    def test_unreadable_values_of_other_records_are_found(self, key: str) -> None:
        for value in self.UNREAD[key]:
            body = f"User-agent: *\n{key}: {value}"
            assert getattr(read(body), key.lower().replace("-", "_"))(TOKEN) is None
            assert codes(body) == [("value-unreadable", 2)], value

    def test_decimal_comma_is_a_finding(self) -> None:
        assert codes("User-agent: *\nCrawl-delay: 1,5") == [("crawl-delay-comma", 2)]

"""semantics.md, part 4: Clean-param as Yandex means it, and Host."""

from __future__ import annotations

import pytest

from scrapy_rep.protocol.extensions.clean_params import CleanParams
from scrapy_rep.protocol.extensions.records import host

from .reading import read

SITE = "https://example.com"


def of(*values: str) -> CleanParams:
    return CleanParams.of(
        read("".join(f"Clean-param: {value}\n" for value in values)).other_records
    )


class TestCleanParam:
    """4: ``p1[&p2...] [path]``, as Yandex means it: for the whole file, case counting."""

    @pytest.mark.parametrize(
        ("value", "url", "canonical"),
        [
            ("ref /book.pl", "/book.pl?ref=site_1&book_id=123", "/book.pl?book_id=123"),
            ("ref /book.pl", "/book.pl?book_id=123", "/book.pl?book_id=123"),
            ("ref /book.pl", "/other?ref=1", "/other?ref=1"),
            ("ref /book", "/bookshelf/x?ref=1", "/bookshelf/x"),
            ("s&ref /f*/show.php", "/forum/show.php?s=1&t=2&ref=3#top", "/forum/show.php?t=2#top"),
            ("s /f*/show.php", "/forum/list.php?s=1", "/forum/list.php?s=1"),
            ("s *.php", "/a/b.php5?s=1&s=2&t", "/a/b.php5?t"),
            ("s /*ab*b", "/ab?s=1", "/ab?s=1"),
            ("s /*ab*b", "/abcb?s=1", "/abcb"),
            ("s /a*/a", "/a?s=1", "/a?s=1"),
            ("a&b", "/?a&b=&c=3", "/?c=3"),
            ("a&b", "/?a&b=", "/"),
            ("s", "/?a=1&b=2&s=3&c&d=#e", "/?a=1&b=2&c&d=#e"),
            ("s\t/x", "/x?s=1", "/x"),
            ("s  /x/*", "/x/y?s=1", "/x/y"),
            ("S", "/?s=1", "/?s=1"),
            ("s /X", "/x?s=1", "/x?s=1"),
            ("s x", "/x?s=1", "/x?s=1"),
            ("a%5Bb%5D", "/?a[b]=1&c", "/?c"),
            ("имя /путь", "/%D0%BF%D1%83%D1%82%D1%8C?%D0%B8%D0%BC%D1%8F=1", "/путь"),
            ("s /a%7Eb", "/a~b?s=1", "/a~b"),
            ("s /y", "/x?/y?s=1", "/x?/y?s=1"),
            ("", "/?s=1", "/?s=1"),
            ("& /x", "/x?=1&s=1", "/x?=1&s=1"),
            ("s" * 500, f"/?{'s' * 500}=1", "/"),
            ("s" * 501, f"/?{'s' * 501}=1", f"/?{'s' * 501}=1"),
            ("я" * 500, f"/?{'я' * 500}=1", "/"),
        ],
    )
    def test_clean_param_drops_the_parameters_it_names(
        self, value: str, url: str, canonical: str
    ) -> None:
        found = of(value).canonical(SITE + url)
        assert found == SITE + canonical.replace("/путь", "/%D0%BF%D1%83%D1%82%D1%8C")

    def test_all_records_of_the_file_count_wherever_they_stand(self) -> None:
        body = (
            "Clean-param: a\nUser-agent: Yandex\nClean-param: b /x\nDisallow: /y\nClean-Param: c\n"
        )
        found = CleanParams.of(read(body).other_records)
        assert found.parameters(f"{SITE}/x/1?a=1") == {"a", "b", "c"}
        assert found.parameters(f"{SITE}/z") == {"a", "c"}
        assert found.canonical(f"{SITE}/x?a&b&c&d") == f"{SITE}/x?d"

    def test_canonical_is_idempotent_and_works_on_references(self) -> None:
        found = of("s /a")
        assert found.canonical("/a?s=1&t=2") == "/a?t=2"
        assert found.canonical("/a?t=2") == "/a?t=2"

    def test_no_records_change_nothing(self) -> None:
        assert CleanParams().canonical("https://example.com/?#x") == "https://example.com/?#x"

    def test_records_past_the_thousandth_are_ignored(self) -> None:
        found = of(*(f"p{number}" for number in range(1001)))
        assert len(found) == 1000
        assert found.canonical("/?p999=1&p1000=1") == "/?p1000=1"


class TestHost:
    """4: a host, perhaps with a scheme and a port."""

    @pytest.mark.parametrize(
        ("value", "meant"),
        [
            (b"www.Example.com", "www.example.com"),
            (b"https://www.example.com", "https://www.example.com"),
            (b"https://www.example.com:8443/", "https://www.example.com:8443"),
            ("пример.рф".encode(), "пример.рф"),
            (b"", None),
            (b"/x", None),
            (b"a b", None),
            (b"ftp://example.com", None),
            (b"example.com/path", None),
            (b"\xff\xfe", None),
        ],
    )
    def test_host_record_names_a_host(self, value: bytes, meant: str | None) -> None:
        assert host(value) == meant

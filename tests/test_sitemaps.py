"""Sitemap files as streams of entries: every form, and whatever a site may send instead."""

from __future__ import annotations

import gzip
import tracemalloc
import zlib
from collections.abc import Callable
from itertools import islice
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scrapy_rep.sitemaps.reader import (
    SITEMAP_ENTRIES,
    SITEMAP_OCTETS,
    STEP_CHARACTERS,
    Sitemap,
    SitemapKind,
)
from tests.counting import calls

XMLNS = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'
ONE = "http://a/1"


def read(body: str | bytes) -> tuple[SitemapKind | None, list[str]]:
    sitemap = Sitemap(body.encode() if isinstance(body, str) else body)
    if sitemap.kind is None:
        assert list(sitemap) == []
    return sitemap.kind, [entry["loc"] for entry in sitemap]


def cut(body: bytes) -> tuple[int, bool]:
    sitemap = Sitemap(body)
    return sum(1 for _ in sitemap), sitemap.is_cut


URLSET = f"<urlset {XMLNS}><url><loc> {ONE} </loc></url></urlset>"


@pytest.mark.parametrize(
    ("body", "kind", "found"),
    [
        (URLSET, SitemapKind.URLSET, [ONE]),
        (f'<?xml version="1.0" encoding="UTF-8"?>{URLSET}', SitemapKind.URLSET, [ONE]),
        (f'\ufeff \n<?xml version="1.0"?>{URLSET}', SitemapKind.URLSET, [ONE]),
        (
            f'<?xml version="1.0" encoding="utf-16"?>{URLSET}'.encode("utf-16"),
            SitemapKind.URLSET,
            [ONE],
        ),
        (f"<!-- {'x' * 200_000} -->{URLSET}", SitemapKind.URLSET, [ONE]),
        (URLSET.replace(XMLNS, ""), SitemapKind.URLSET, [ONE]),
        (URLSET.replace("<urlset ", "<s:urlset xmlns:s='x' "), SitemapKind.URLSET, [ONE]),
        (
            f"<sitemapindex {XMLNS}><sitemap><loc>{ONE}</loc></sitemap></sitemapindex>",
            SitemapKind.INDEX,
            [ONE],
        ),
        (
            (
                "<rss version='2.0'><channel><link>http://a/</link><item><title>x</title>"
                f"<link>{ONE}</link></item><item><guid>y</guid></item></channel></rss>"
            ),
            SitemapKind.FEED,
            [ONE],
        ),
        (
            (
                "<rdf:RDF xmlns:rdf='r'><channel/><item rdf:about='x'>"
                f"<link>{ONE}</link></item></rdf:RDF>"
            ),
            SitemapKind.FEED,
            [ONE],
        ),
        (
            (
                "<feed xmlns='http://www.w3.org/2005/Atom'><link href='http://a/'/><entry>"
                f"<link rel='self' href='http://a/s'/><link href='{ONE}'/></entry></feed>"
            ),
            SitemapKind.FEED,
            [ONE],
        ),
        (
            f"{ONE}\r\nHTTPS://b/2\rnonsense\n\n  http://c/3",
            SitemapKind.TEXT,
            [ONE, "HTTPS://b/2", "http://c/3"],
        ),
        (f"\ufeff{ONE}", SitemapKind.TEXT, [ONE]),
        (f"# a comment\n{ONE}\n{'x' * 200_000}\n{ONE}", SitemapKind.TEXT, [ONE, ONE]),
        ("<urlset><url><loc>http://a/?b&amp;c</loc></url>", SitemapKind.URLSET, ["http://a/?b&c"]),
        (
            "<urlset><url><loc><![CDATA[http://a/?b&c]]></loc>",
            SitemapKind.URLSET,
            ["http://a/?b&c"],
        ),
        (f"<urlset><url><loc/></url><url><x/></url>{URLSET[60:]}", SitemapKind.URLSET, [ONE]),
        ("<html><body>http://a/</body></html>", None, []),
        ("<!doctype html><p>not found", None, []),
        ("", None, []),
        ("   ", None, []),
        ("not found", None, []),
        (b"\x1f\x8b", None, []),
        (b"\x1f\x8b\x08garbage", None, []),
        (b"\x00\xff" * 1000, None, []),
        ("<urlset/>", SitemapKind.URLSET, []),
        (f"<sitemapindex><url><loc>{ONE}</loc></url></sitemapindex>", SitemapKind.INDEX, [ONE]),
        (f"<urlset><sitemap><loc>{ONE}</loc></sitemap></urlset>", SitemapKind.URLSET, [ONE]),
        (
            f"<urlset xmlns:i='i'><url><i:i><i:url/></i:i><loc>{ONE}</loc></url></urlset>",
            SitemapKind.URLSET,
            [ONE],
        ),
    ],
)
def test_each_form_is_read(body: str | bytes, kind: SitemapKind | None, found: list[str]) -> None:
    octets = body.encode() if isinstance(body, str) else body
    assert read(octets) == (kind, found)
    assert read(gzip.compress(octets)) == (kind, found)
    halves = gzip.compress(octets[:50]) + gzip.compress(octets[50:]) + b"\0" * 8
    assert read(halves) == (kind, found)


@pytest.mark.parametrize(
    "dates",
    [
        "<pubDate>Mon</pubDate>",
        "<pubDate>Mon</pubDate><d:date>Tue</d:date>",
        "<pubDate>Fri</pubDate><a:updated>Mon</a:updated>",
        "<d:modified>Mon</d:modified><pubDate>Fri</pubDate>",
    ],
)
def test_item_has_the_date_of_its_change(dates: str) -> None:
    feed = f"<rss><item><link>{ONE}</link>{dates}</item></rss>"
    assert list(Sitemap(feed.encode())) == [{"loc": ONE, "lastmod": "Mon"}]


def test_entry_with_several_addresses_gives_each() -> None:
    body = f"""<urlset {XMLNS} xmlns:i="i"><url><loc>{ONE}</loc><i:loc>http://a/i</i:loc>
        <loc>http://a/2</loc><loc>{ONE}</loc><priority>1</priority></url></urlset>"""
    one, two = Sitemap(body.encode())
    assert one == {"loc": ONE, "priority": "1"}
    assert two == {"loc": "http://a/2", "priority": "1"}


@pytest.mark.parametrize(
    ("children", "dates"),
    [
        ("A 2021 B 2022", ["2021", "2022"]),
        ("A B 2022", [None, "2022"]),
        ("A 2021 B", ["2021", None]),
        ("A 2021 B C 2023", ["2021", None, "2023"]),
        ("A 2021 2021 B", ["2021", None]),
        ("A 2021 2022 B", [None, None]),
        ("2021 A 2022 B", [None, None]),
        ("A 2021 B 2022 A 2023", [None, "2022"]),
        ("2021 A", ["2021"]),
        ("2021 A 2022", [None]),
        ("A 2021 2022", [None]),
        ("A 2021 A", ["2021"]),
    ],
)
def test_date_belongs_to_the_address_before_it(children: str, dates: list[str | None]) -> None:
    """A page with the date of another could be skipped although it has changed."""
    inner = "".join(
        f"<loc>http://a/{one}</loc>" if one.isalpha() else f"<lastmod>{one}</lastmod>"
        for one in children.split()
    )
    found = list(Sitemap(f"<urlset><url>{inner}</url></urlset>".encode()))
    assert [entry.get("lastmod") for entry in found] == dates
    assert [entry["loc"] for entry in found] == ["http://a/A", "http://a/B", "http://a/C"][
        : len(dates)
    ]


@pytest.mark.parametrize(
    "child",
    [
        ONE,
        f"\n {ONE}\n<lastmod>2024</lastmod>",
        f"<lastmod/><loc><a href='{ONE}'>{ONE}</a></loc>",
        f"<loc>\n<url>{ONE}</url></loc><lastmod>2024</lastmod>",
        f"<loc><url><loc><![CDATA[{ONE}]]></loc></url></loc>",
        f"<x><loc>http://a/2</loc></x><loc><b><i>{ONE}</i></b> more</loc>",
    ],
)
@pytest.mark.parametrize("entry", ["url", "sitemap"])
def test_address_at_an_unusual_place_is_read(child: str, entry: str) -> None:
    body = f"<urlset><{entry}>{child}</{entry}><{entry}><loc>http://a/3</loc></{entry}></urlset>"
    sitemap = Sitemap(body.encode())
    assert [one["loc"] for one in sitemap] == [ONE, "http://a/3"]
    assert not sitemap.damage


def test_address_of_an_item_at_an_unusual_place() -> None:
    assert read(f"<rss><item><link><a>{ONE}</a></link></item></rss>")[1] == [ONE]
    assert read(f"<rss><item>{ONE}</item></rss>")[1] == [ONE]


@pytest.mark.parametrize(
    "child",
    [
        "",
        "<loc/>",
        "a page",
        "see http://a/1 for more",
        "<loc><a href='/1'>a page</a></loc>",
        "<loc><a/>http://a/1</loc>",
        f"<loc>{'a' * 9000}</loc>",
        "<lastmod>2024</lastmod>",
    ],
)
def test_entries_without_an_address_are_told(child: str) -> None:
    body = f"<urlset><url>{child}</url><url><loc>{ONE}</loc></url><url>{child}</url></urlset>"
    sitemap = Sitemap(body.encode())
    assert [one["loc"] for one in sitemap] == [ONE]
    assert sitemap.damage == "2 entries without an address"
    other = Sitemap(body.replace("<urlset>", "<urlset>&").replace("</urlset>", "<url>").encode())
    list(other)
    assert other.damage == "'&' is not XML, 2 entries without an address"


def test_item_of_a_feed_needs_no_address() -> None:
    sitemap = Sitemap(b"<rss><item><title>a</title></item></rss>")
    assert list(sitemap) == []
    assert not sitemap.damage


@pytest.mark.parametrize(
    ("end", "found"),
    [
        (f"<loc>{ONE}</loc><las", {"loc": ONE}),
        (f"<loc>{ONE}</loc><lastmod>2024-05-0", {"loc": ONE}),
        (f"<loc>{ONE}</loc><lastmod>2024-05-01</lastm", {"loc": ONE, "lastmod": "2024-05-01"}),
        (f"<loc>{ONE}</loc><loc>http://a/", {"loc": ONE}),
        (f"<loc>{ONE}</", {"loc": ONE}),
        (f"{ONE}</ur", {"loc": ONE}),
        (f"<loc><a>{ONE}</a></loc", {"loc": ONE}),
        (f"<loc>{ONE}", None),
        (f"<loc>{ONE}<", None),
        (f"<loc>{ONE}&am", None),
        (f"<loc>{ONE}<b>2</b>", None),
        (f"<loc><a>{ONE}", None),
        (f"<loc><![CDATA[{ONE}]]", None),
        (ONE, None),
        (f"{ONE}<", None),
    ],
)
def test_cut_entry_gives_the_whole_values(end: str, found: dict[str, str] | None) -> None:
    before = {"loc": "http://a/0"}
    sitemap = Sitemap(f"<urlset><url><loc>http://a/0</loc></url><url>{end}".encode())
    assert list(sitemap) == ([before, found] if found else [before])
    assert sitemap.is_cut


@pytest.mark.parametrize(
    ("children", "found"),
    [
        ("<guid>http://a/1</guid>", [ONE]),
        ("<guid isPermaLink='true'> http://a/1 </guid>", [ONE]),
        ("<guid isPermaLink='false'>http://a/1</guid>", []),
        ("<guid>a-1</guid>", []),
        ("<guid>http://a/2</guid><link>http://a/1</link>", [ONE]),
        ("<guid>http://a/1</guid><link/>", [ONE]),
    ],
)
def test_permalink_stands_for_the_link(children: str, found: list[str]) -> None:
    assert read(f"<rss><item>{children}</item></rss>") == (SitemapKind.FEED, found)


def billion_laughs(use: str) -> bytes:
    entities = "".join(f"<!ENTITY l{level} '{f'&l{level - 1};' * 10}'>" for level in range(1, 12))
    head = f"<?xml version='1.0'?><!DOCTYPE l [<!ENTITY l0 'http://aaaaaaaaaa'>{entities}]>"
    return f"{head}<urlset>{use.format('&l11;')}<url><loc>{ONE}</loc></url></urlset>".encode()


def of_attributes() -> bytes:
    named = " ".join(f"a{number:x}=''" for number in range(1_500_000))
    return f"<urlset {named}><url><loc>{ONE}</loc></url></urlset>".encode()


HOSTILE: dict[str, Callable[[], bytes]] = {
    "entities in text": lambda: billion_laughs("<url><loc>{}</loc></url>"),
    "entities in an attribute": lambda: billion_laughs("<url><link href='{}'/></url>"),
    "one long value": lambda: b"<urlset><url><loc>" + b"a" * 30_000_000,
    "one long line": lambda: b"http://" + b"a" * 30_000_000,
    "deep": lambda: b"<urlset>" + b"<url>" * 3_000_000,
    "empty elements": lambda: b"<urlset>" + b"<a/>" * 5_000_000,
    "values of one entry": lambda: b"<urlset><url>" + b"<loc>http://a/</loc>" * 1_000_000,
    "attributes": of_attributes,
    "a comment": lambda: b"<urlset><!--" + b"a" * 30_000_000,
    "entries": lambda: b"<urlset>" + b"<url><loc>a</loc></url>" * 1_000_000,
    "lines": lambda: b"http://a\n" * 3_000_000,
    "no lines": lambda: b"ftp://a\n" * 3_000_000,
    "gzip": lambda: gzip.compress(b"<urlset>" + b" " * 200_000_000, 1),
    "gzip of text": lambda: gzip.compress(b"http://a/\n" * 20_000_000, 1),
    "empty gzip members": lambda: gzip.compress(b"") * 1_000_000,
    "NULs": lambda: b"\0" * 30_000_000,
}


@pytest.mark.slow
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_files_take_little_memory(name: str) -> None:
    """Reading takes less than 24 MiB of memory for files that could need gigabytes.

    The memory of libxml2 is not counted here; the crawls of hostile sitemaps count all.
    """
    body = HOSTILE[name]()
    tracemalloc.start()
    try:
        count = 0
        sitemap = Sitemap(body)
        for _ in sitemap:
            count += 1
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert count <= SITEMAP_ENTRIES
    assert peak < 24 << 20


@pytest.mark.slow
def test_limits_are_kept() -> None:
    entry = b"<url><loc>http://a/</loc></url>"
    assert cut(b"<urlset>" + entry * SITEMAP_ENTRIES + b"</urlset>") == (SITEMAP_ENTRIES, False)
    assert cut(b"<urlset>" + entry * (SITEMAP_ENTRIES + 1)) == (SITEMAP_ENTRIES, True)
    spread = b"<urlset>" + (b" " * (2048 - len(entry)) + entry) * (SITEMAP_OCTETS // 2048 - 1)
    count = SITEMAP_OCTETS // 2048
    assert cut(spread + entry + b"</urlset>") == (count, False)
    assert cut(spread + b" " * 2048 + entry) == (count - 1, True)
    assert cut(b"<urlset>" + b"<a/>" * 200_000 + entry + b"</urlset>") == (0, True)
    longest = b"<urlset><url><loc>" + b"a" * 8192
    assert cut(longest + b"</loc></url></urlset>") == (1, False)
    assert cut(longest + b"<!-- -->a</loc></url></urlset>") == (0, False)
    silent = Sitemap(gzip.compress(b"<urlset><!--" + b" " * 4_000_000))
    assert list(silent) == []
    assert silent.octets < 2_500_000, "it is read in pieces, and not to its end"


def test_file_without_entries_does_not_block_the_crawl() -> None:
    """Nothing else runs until the next entry comes: five million octets would take a second."""
    entry = f"<url><loc>{'a' * 100_000}</loc></url>"
    many, few = (f"<urlset>{entry * count}<url><loc>http://a/</loc></url>" for count in (50, 30))
    sitemap = Sitemap(many.encode())
    assert list(sitemap) == []
    assert sitemap.is_cut
    assert len(list(Sitemap(few.encode()))) == 1


@pytest.mark.parametrize(
    "child", ["<a{}/>", "<a a{}=''/>", "<x:a xmlns:x='u:{}'/>", "<a xmlns:x{}='u'/>"]
)
def test_file_with_too_many_names_is_not_read_to_its_end(child: str) -> None:
    """libxml2 keeps every name that it has met for as long as the process lives."""
    entry = f"<url><loc>http://a/</loc>{child}</url>"
    sitemap = Sitemap(f"<urlset>{''.join(map(entry.format, range(40_000)))}</urlset>".encode())
    assert len(list(sitemap)) >= 300
    assert sitemap.is_cut
    assert sitemap.octets < 200_000


@given(
    st.binary(max_size=300)
    | st.text("<>/ahloctureslmipdx:& \n&#;!['\"=-?", max_size=120).map(str.encode)
)
@settings(max_examples=300)
def test_octets_never_raise(octets: bytes) -> None:
    for body in (octets, b"<urlset>" + octets, zlib.compress(octets), gzip.compress(octets)):
        for entry in Sitemap(body):
            assert entry["loc"]


_STEPS = {
    "elements": "<a></a>",
    "text": "a",
    "signs": "&",
    "tags": "<",
    "comments": "<!-- -->",
    "an open comment": "<!-",
    "values": "<url><loc>http://a/</loc>" + "<a>b</a>" * 50,
}


@pytest.mark.parametrize("name", _STEPS)
@pytest.mark.parametrize("is_packed", [False, True])
def test_step_has_a_limit(name: str, *, is_packed: bool) -> None:
    """Other work of a crawl waits for one step only, whatever the octets."""
    body = f"<urlset>{_STEPS[name] * (600_000 // len(_STEPS[name]))}".encode()
    sitemap = Sitemap(gzip.compress(body) if is_packed else body)
    taken: list[Any] = []
    while not taken or taken[-1]:
        step_calls = calls(lambda: taken.append(sitemap.step() or [*islice(sitemap, 1)]))
        assert step_calls <= 8 * STEP_CHARACTERS
    assert len(taken) > 5


def test_steps_lose_no_entry() -> None:
    body = f"<urlset>{'<url><loc>http://a/</loc></url>' * 3_000}</urlset>".encode()
    stepping, found = Sitemap(body), 0
    entries = iter(stepping)
    while True:
        while stepping.step():
            pass
        if next(entries, None) is None:
            break
        found += 1
    assert found == len(list(Sitemap(body))) == 3_000
    assert not stepping.is_cut

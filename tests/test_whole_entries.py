"""Entries of sitemaps that are read as a whole come to the same as tag by tag."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scrapy_rep.sitemaps import reader, unpacking
from scrapy_rep.sitemaps.reader import Sitemap

_LEAVES = st.sampled_from(
    [
        "<loc>https://h/a</loc>",
        "<loc>\n https://h/b?x=1&amp;y=2 </loc>",
        "<loc>https://h/c&d&lol;</loc>",
        "<loc></loc>",
        "<loc>" + "https://h/" + "l" * 9000 + "</loc>",
        "<lastmod>2024-01-01</lastmod> ",
        "<priority>0.5</priority>\r\n",
        "<link>https://h/link</link>",
        "<alternate>x</alternate>",
        '<xhtml:link rel="alternate" hreflang="de" href="https://h/de?a=1&amp;b=&lol;"/>',
        '<xhtml:link href="" href="https://h/second" rel="self" />',
        '<x:link a=" href=" b="https://h/no"/>',
        '<link href="https://h/\nfr"/>',
        "<link/>",
        "<xhtml:link href='https://h/single'/>",
        "<image:image><image:loc>https://h/i</image:loc></image:image>",
        "<image:loc>https://h/i</image:loc>",
        "<news:loc> <news:name>n</news:name></news:loc>",
        "<a:lastmod><b:x></b:x><b:x>&</b:x></a:lastmod>",
        "<url>https://h/inner</url>",
        "<sitemap>https://h/inner</sitemap>",
        "<odd>é\x07\ufffe</odd>",
        "<loc><![CDATA[https://h/cdata]]></loc>",
        "<loc>https://h/</lok>",
        "<!-- <url><loc>https://h/comment</loc></url> -->",
        "text",
        "<",
        "&",
        "<url>",
        "</url>",
        "<loc>",
        '<a b="<url><loc>https://h/quoted</loc></url>">',
    ]
)
_ENTRIES = st.builds(
    "<{0}>{1}{2}</{0}>{1}".format,
    st.sampled_from(["url", "sitemap", "url", "item", "x:url"]),
    st.sampled_from(["", "\n", " text "]),
    st.lists(_LEAVES, max_size=5).map("".join),
)
_HEADS = st.sampled_from(
    [
        "<urlset>",
        '<?xml version="1.0"?>\n<urlset xmlns="x">\n',
        "<sitemapindex>",
        "<!DOCTYPE urlset [<!ENTITY lol 'x'>]><urlset>",
        "<rss><channel>",
        "<urlset>" + "<d>" * 62,
        "<urlset></urlset>",
        "<other>",
    ]
)
_FILES = st.builds(
    "{}{}{}".format,
    _HEADS,
    st.lists(st.one_of(_ENTRIES, _ENTRIES, _LEAVES), max_size=12).map("".join),
    st.sampled_from(
        ["</urlset>", "", "</sitemapindex>\n", "</urlset>x", "<url><loc>https://h/cut"]
    ),
)


def _all_of(body: bytes) -> tuple[object, ...]:
    sitemap = Sitemap(body)
    entries = [list(entry.items()) for entry in sitemap]
    damages = getattr(sitemap._reader, "_markup", None)
    return (
        entries,
        sitemap.kind,
        sitemap.is_cut,
        sitemap.damage,
        sitemap.octets,
        damages and damages.damages,
    )


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(_FILES, st.sampled_from([40, 200, 1 << 16]))
def test_the_same_as_tag_by_tag(text: str, piece_octets: int) -> None:
    body = text.encode()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(unpacking, "_PIECE_OCTETS", piece_octets)
        found = _all_of(body)
        patch.setattr(reader, "WHOLE", re.compile("(?!)"))
        assert found == _all_of(body)


def test_usual_entries_are_read_as_a_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    body = "<urlset>" + "<url><loc>https://h/a&amp;b</loc><lastmod>2024</lastmod></url>\n" * 100
    monkeypatch.setattr(reader._XmlReader, "_begin_entry", None)
    assert [entry["loc"] for entry in Sitemap(body.encode())] == ["https://h/a&b"] * 100


@pytest.mark.parametrize("limit", [250, 251, 252, 253])
def test_silence_ends_a_file_at_the_same_element(
    limit: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    body = ("<urlset>" + "<url><a>x</a><b:c><b:d>x</b:d></b:c></url>" * 200).encode()
    monkeypatch.setattr(reader, "_SILENT_ELEMENTS", limit)
    found = _all_of(body)
    monkeypatch.setattr(reader, "WHOLE", re.compile("(?!)"))
    assert found == _all_of(body)

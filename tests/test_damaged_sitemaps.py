"""Sitemaps with errors: one error costs at most the entry that has it.

Compared with the same file without the error, and for well-formed files with Scrapy's own reading.
"""

from __future__ import annotations

import gzip
import re
from itertools import pairwise

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from scrapy.utils.sitemap import Sitemap as ScrapySitemap

from scrapy_rep.sitemaps.reader import _ROOT, Sitemap, SitemapEntry, _XmlReader
from scrapy_rep.sitemaps.seeding import urls_of
from scrapy_rep.sitemaps.unpacking import Unpacked

XMLNS = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'
DECLARATION = '<?xml version="1.0" encoding="UTF-8"?>'


def url(number: int) -> str:
    return f"http://a/{number}?a=1&b=2"


def entry(number: int, loc: str = "", more: str = "", before: str = "") -> str:
    loc = loc or url(number).replace("&", "&amp;")
    return f"{before}<url><loc>{loc}</loc>{more}<lastmod>{number}</lastmod></url>\n"


def urlset(*entries: str, declaration: str = DECLARATION) -> bytes:
    return f"{declaration}<urlset {XMLNS}>{''.join(entries)}</urlset>".encode(
        "utf-8", "surrogateescape"
    )


def locs(body: bytes) -> list[str]:
    return [one["loc"] for one in Sitemap(body)]


def damage(body: bytes) -> str:
    sitemap = Sitemap(body)
    list(sitemap)
    return sitemap.damage


IN_TEXT = {
    "a bare &": "x & y",
    "a query as it is": "?b=1&c=2&d",
    "an entity of HTML": "a&nbsp;b",
    "an unknown entity": "a&nothing;b",
    "a reference without end": "a&amp",
    "half a reference": "a&#;b&#x;c",
    "a control character": "a\x01b",
    "a NUL": "a\0b",
    "a reference to one": "a&#0;b&#11;c",
    "a reference to a surrogate": "a&#xD800;b",
    "a reference beyond Unicode": "a&#x7fffffffffffff;b",
    "no character": "a\uffffb",
    "an octet of Latin-1": "caf\udce9",
    "half a character": "caf\udcc3",
    "a bare <": "a < b",
    "a < before a digit": "a<5",
    "a < before a name": "a<b",
    "a tag that does not end": "a<b ",
    "a tag without end tag": "a<br>b",
    "an end tag alone": "a</b>c",
    "a tag with one quote": 'a<b c="d>e</b>',
    "a tag of quotes": "<b '\"'>",
    "an empty tag": "<>",
    "a declaration": "a<!b c>",
    "an instruction": "a<?b",
    "a reference in a tag": "<b c='&d'/>",
    "an open CDATA section": "<![CDATA[a",
    "no CDATA section's end": "<![CDATA[a]></b>",
    "half a CDATA section": "<![CDATA[a]",
    "nearly a CDATA section": "<![CDATA a]]>",
}


@pytest.mark.parametrize("where", ["loc", "lastmod", "before", "first"])
@pytest.mark.parametrize("name", IN_TEXT)
def test_one_error_costs_no_other_entry(name: str, where: str) -> None:
    wrong = IN_TEXT[name]
    if where == "loc":
        second = entry(2, loc=f"http://a/2{wrong}")
    elif where == "lastmod":
        end = "]]>" if "CDATA" in name and "nearly" not in name else ""
        second = entry(2, more=f"<changefreq>{wrong}{end}</changefreq>")
    elif where == "before":
        second = entry(2, before="" if "CDATA" in name else wrong)
    else:
        second = entry(2)
    first = entry(1, loc=f"http://a/1{wrong}") if where == "first" else entry(1)
    body = urlset(first, second, entry(3), entry(4))
    found = locs(body)
    assert found[-2:] == [url(3), url(4)]
    if where == "first":
        assert url(2) in found
        assert damage(body)
    else:
        assert found[0] == url(1)
    assert len(found) <= 4
    if where in ("lastmod", "before"):
        assert found == [url(number) for number in range(1, 5)]


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("?b=1&c=2", "?b=1&c=2"),
        ("?b=1&copy=2", "?b=1&copy=2"),
        ("?b=1&amp;c=2&d", "?b=1&c=2&d"),
        ("?b=1&amp;amp;c", "?b=1&amp;c"),
        ("?b&eacute;&nothing;", "?b\u00e9&nothing;"),
        ("&nbsp;", ""),
        ("?b=\x02c", "?b=c"),
        ("?b=&#2;c&#38;d&#x26;e", "?b=c&d&e"),
        ("?b<c", "?b<c"),
        ("?b<5&amp;c>6", "?b<5&c>6"),
        ("caf\udce9\udcff", "caf%E9%FF"),
        ("caf\u00e9", "caf\u00e9"),
        ("<![CDATA[?b&amp;c&d<e]]>&amp;f", "?b&amp;c&d<e&f"),
        ("<![CDATA[?b]]", "?b"),
        ("<!-- & < --x -->?b", "?b"),
        ("?b</c>&amp;d", "?b"),
        (" \n?b \t", " \n?b"),
    ],
)
def test_address_is_decoded(written: str, meant: str) -> None:
    body = urlset(entry(1), entry(2, loc=f"http://a/2{written}"), entry(3))
    assert locs(body) == [url(1), f"http://a/2{meant}", url(3)]


def test_alternate_links_and_values() -> None:
    more = '<x:link href="http://a/de?b=1&c=2&amp;d&quot;"/><title>caf\udce9&eacute;&lt;</title>'
    (one,) = Sitemap(urlset(entry(1, more=more)))
    assert one["alternate"] == ['http://a/de?b=1&c=2&d"']
    assert one["title"] == "caf%E9\u00e9<"


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("a/1", ["https://a/1"]),
        ("www.a/1", ["https://www.a/1"]),
        ("https//a/1", ["https://a/1"]),
        ("http:/a/1", ["http://a/1"]),
        ("https://https://a/1", ["https://a/1"]),
        ("https:///a/1", ["https://a/1"]),
        ('"https://b/1"', ["https://b/1"]),
        ("https://b/1 2", ["https://b/1 2"]),
        ("https://https.b/1", ["https://https.b/1"]),
        ("HTTPS://b/1", ["https://b/1"]),
        ("/1 2", ["https://a/1 2"]),
        ("1.html", ["https://a/x/1.html"]),
        ("//b/1", ["https://b/1"]),
        ("b/1", ["https://a/x/b/1"]),
        ("\ud800", ["https://a/x/\ud800"]),
        ("https://[", ["https://["]),
        ("//[", [""]),
    ],
)
def test_slips_in_an_address_are_mended(written: str, meant: list[str]) -> None:
    assert list(urls_of("https://a/x/sitemap.xml", f" {written}\n")) == meant


def test_feeds_and_lists() -> None:
    item = "<item><title>a & b</title><link>{}</link></item>"
    rss = f"<rss><channel>{item.format('http://a/1?b&c')}{item.format('http://a/2?b&amp;c')}"
    assert locs(f"{rss}</channel></rss>".encode()) == ["http://a/1?b&c", "http://a/2?b&c"]
    atom = "<feed><entry><title>&nbsp;</title><link href='http://a/1?b&amp;c'/></entry></feed>"
    assert locs(atom.encode()) == ["http://a/1?b&c"]
    text = b"http://a/caf\xe9?b&c\nhttp://a/caf\xc3\xa9\n"
    assert locs(text) == ["http://a/caf%E9?b&c", "http://a/caf\u00e9"]
    assert damage(text)
    assert not damage(b"http://a/caf\xc3\xa9")


@pytest.mark.parametrize(
    "body",
    [
        urlset(entry(1)),
        urlset(entry(1, more="<![CDATA[& <]]><!-- & < --><?a & <?>"), declaration="\n"),
        urlset(entry(1), declaration=f"{DECLARATION}<!DOCTYPE a [<!ENTITY b '>]'>]>"),
        urlset(entry(1, more="<a b='>' c=\"'&amp;/>\"/>")),
        urlset(entry(1, loc="&#65;\x7f\u0085\U0001f600")),
        urlset(),
        b"<urlset/>",
    ],
)
def test_well_formed_file_is_not_damaged(body: bytes) -> None:
    sitemap = Sitemap(body)
    list(sitemap)
    assert (sitemap.damage, sitemap.is_cut) == ("", False)


@pytest.mark.parametrize(
    ("body", "found"),
    [
        (f"Warning: none in /a.php on line 1\n{urlset(entry(1)).decode()}".encode(), [url(1)]),
        (b"\x01\0 \r\n" + urlset(entry(1)), [url(1)]),
        (urlset(entry(1)) + urlset(entry(2)), [url(1), url(2)]),
        (urlset(entry(1)) + b"<!-- \0 -->trailing", [url(1)]),
        (urlset(entry(1), "</urlset>", entry(2)), [url(1), url(2)]),
        (urlset(entry(1), *["<br>"] * 100, entry(2)), [url(1), url(2)]),
        (urlset(entry(1).replace("</loc>", ""), entry(2)), [url(1), url(2)]),
        (urlset(entry(1).replace("</url>", ""), entry(2)), [url(1), url(2)]),
        (urlset(entry(1).replace("</url>", "</ulr>"), entry(2)), [url(1), url(2)]),
        (urlset(entry(1).replace("<url>", "<ulr>"), entry(2)), [url(2)]),
    ],
)
def test_damaged_structure_keeps_its_entries(body: bytes, found: list[str]) -> None:
    assert locs(body) == found
    assert damage(body)


@pytest.mark.parametrize(
    ("body", "found"),
    [
        (urlset(entry(1), declaration='<?xml version="1.0">'), [url(1)]),
        (urlset(entry(1), "<?a?>", entry(2), declaration="<?xml version='1.0'>"), [url(1), url(2)]),
        (urlset(entry(1), declaration="<!DOCTYPE a [<!ENTITY b '>"), [url(1)]),
        (urlset(entry(1), declaration="<!DOCTYPE a SYSTEM 'b>"), [url(1)]),
    ],
)
def test_errors_before_the_root_element_cost_nothing(body: bytes, found: list[str]) -> None:
    sitemap = Sitemap(body)
    assert [one["loc"] for one in sitemap] == found
    assert not sitemap.is_cut


@pytest.mark.parametrize("body", [urlset(entry(1), entry(2)), f"{url(1)}\n{url(2)}\n".encode()])
def test_truncated_file_gives_no_half_address(body: bytes) -> None:
    """The file or the gzip file around it ends at each place."""
    whole = [url(1), url(2)]
    packed = gzip.compress(body)
    cuts = [Sitemap(gzip.compress(body)[:end]) for end in range(len(packed))]
    if body.startswith(b"<"):
        cuts += [Sitemap(body[:end]) for end in range(len(body))]
    for sitemap in cuts:
        found = [one["loc"] for one in sitemap]
        assert found == whole[: len(found)]
        assert sitemap.is_cut or not sitemap.kind
    lost = Sitemap(body[:-4], is_cut=True)
    assert [one["loc"] for one in lost] == ([url(1), url(2)] if body[:1] == b"<" else [url(1)])
    assert lost.is_cut


def test_gzip_file_is_read_up_to_the_damage() -> None:
    body = urlset(*map(entry, range(2000)))
    packed = bytearray(gzip.compress(body))
    packed[-400:] = bytes(400)
    found = locs(bytes(packed))
    assert len(found) > 1500
    assert found[:1500] == [url(number) for number in range(1500)]
    wrong_sum = Sitemap(gzip.compress(body)[:-8] + bytes(8))
    assert [one["loc"] for one in wrong_sum] == [url(number) for number in range(2000)]
    assert wrong_sum.is_cut


def test_large_gzip_members_are_read_to_the_end() -> None:
    """zlib returns the octets after a member twice if it is called again after the member."""
    members = [urlset(*map(entry, range(number, number + 2000))) for number in range(0, 6000, 2000)]
    for junk in (b"", bytes(8), b"junk"):
        sitemap = Sitemap(b"".join(map(gzip.compress, members)) + junk)
        assert [one["loc"] for one in sitemap] == [url(number) for number in range(6000)]
        assert not sitemap.is_cut


def test_small_gzip_members_are_read_together() -> None:
    """A held tag is read again with each piece."""
    body = gzip.compress(b"<!DOCTYPE a [" + b"[]" * 100_000) + gzip.compress(b"[") * 5000
    texts = list(Unpacked(body, 1 << 30))
    assert sum(map(len, texts)) == 205_013
    assert len(texts) < 6


@pytest.mark.parametrize("wrong", ["</a>", "<url>", f"<b/>{'&' * 10_000}"])
def test_file_of_errors_is_not_read_to_its_end(wrong: str) -> None:
    sitemap = Sitemap(urlset(entry(1), wrong * (1_200_000 // len(wrong)), entry(2)))
    assert [one["loc"] for one in sitemap] == [url(1)]
    assert sitemap.is_cut


@pytest.mark.parametrize(
    ("encoding", "declared", "mark"),
    [
        ("utf-8", "utf-8", b""),
        ("utf-8", "", b"\xef\xbb\xbf"),
        ("utf-8", "utf-16", b""),
        ("utf-8", "nonsense", b""),
        ("utf-8", "zlib", b""),
        ("utf-8", "", b"\xff\xfe"),
        ("utf-16-le", "utf-16", b"\xff\xfe"),
        ("utf-16-be", "utf-16", b"\xfe\xff"),
        ("utf-32-le", "utf-32", b"\xff\xfe\0\0"),
        ("gb18030", "GB18030", b""),
        ("shift_jis", "Shift_JIS", b""),
    ],
)
def test_wrong_encoding_of_a_sitemap_is_guessed(encoding: str, declared: str, mark: bytes) -> None:
    named = f"<?xml version='1.0' encoding='{declared}'?>" if declared else ""
    text = f"{named}<urlset><url><loc>http://a/日本</loc></url></urlset>"
    octets = mark + text.encode(encoding)
    assert locs(octets) == ["http://a/日本"]
    assert locs(gzip.compress(octets[:1]) + gzip.compress(octets[1:])) == ["http://a/日本"]
    if not declared and encoding not in ("gb18030", "shift_jis"):
        assert locs(mark + "http://a/日本\r\n".encode(encoding)) == ["http://a/日本"]


def test_latin_1_is_decoded() -> None:
    for name, octet in (("ISO-8859-1", b"\xe9"), ("windows-1252", b"\xe9")):
        body = f"<?xml version='1.0' encoding='{name}'?>".encode() + b"<urlset><url><loc>http://a/"
        assert locs(body + octet + b"</loc></url></urlset>") == ["http://a/é"]


def test_declared_entities_are_not_expanded() -> None:
    head = "<!DOCTYPE a [<!ENTITY x 'http://b/'><!ENTITY y SYSTEM 'file:///etc/passwd'>]>"
    links = "<x:link href='&x;'/><x:link href='http://a/2'/>"
    body = urlset(entry(1, loc="http://a/&y;&x;1", more=links), entry(2), declaration=head)
    first, second = Sitemap(body)
    assert first["loc"] == "http://a/&y;&x;1"
    assert first["alternate"] == ["&x;", "http://a/2"]
    assert second["loc"] == url(2)


# Well-formed files


def _text(meaning: str, form: str) -> str:
    """Some text in one of the spellings of XML.

    An end tag in a CDATA section of an address ends the address, but Scrapy reads on to the next
    end of the section.
    """
    if form == "cdata" and not re.search("]]>|</[^\\W\\d]", meaning):
        return f"<![CDATA[{meaning}]]>"
    if form == "numbers":
        return "".join(f"&#{ord(one)};" for one in meaning)
    if form == "hex":
        return "".join(f"&#x{ord(one):X};" for one in meaning)
    if form == "comment":
        return "<!-- <loc> & -->".join(_text(one, "") for one in meaning)
    escaped = meaning.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return escaped.replace('"', "&quot;").replace("'", "&apos;")


texts = st.text("ab/?=&<>\"'é日\U0001f600;#x]-! \n\t", min_size=1, max_size=12)
forms = st.sampled_from(["", "cdata", "numbers", "hex", "comment"])
written = st.tuples(texts, forms).map(lambda pair: _text(*pair))
blanks = st.sampled_from(["", " ", "\n", "\r\n\t", "<!-- <url> & -->", "<?a <b> & ?>"])


@st.composite
def entries(draw: st.DrawFn, prefix: str) -> str:
    children = [f"<{prefix}loc>{draw(blanks)}http://a/{draw(written)}</{prefix}loc>"]
    names = draw(st.lists(st.sampled_from(["priority", "x", "y:x"]), max_size=3))
    names += ["lastmod"] * draw(st.integers(0, 1))  # two differ from Scrapy's reading
    children += [f"<{name}>{draw(written)}{draw(blanks)}</{name}>" for name in names]
    if draw(st.booleans()):
        children.append("<image:image><image:loc>http://b/</image:loc> x</image:image>")
    for quote in draw(st.lists(st.sampled_from("'\""), max_size=2)):
        href = _text(draw(texts), "").replace("\n", "&#10;")
        children.append(f"<xhtml:link rel='alternate'{draw(blanks)[:1].strip('<')} "
                        f"href = {quote}{href}{quote} />")  # fmt: skip
    children = draw(st.permutations(children))
    inner = "".join(one + draw(blanks) for one in children)
    return f"<{prefix}url>{draw(blanks)}{inner}</{prefix}url >{draw(blanks)}"


@st.composite
def files(draw: st.DrawFn) -> str:
    prefix = draw(st.sampled_from(["", "s:"]))
    head = draw(st.sampled_from(["", "<!DOCTYPE urlset [<!ENTITY x '>]'><!-- '> -->]>\n"]))
    named = "xmlns:image='i' xmlns:xhtml='h' xmlns:y='y' xmlns:s='s'"
    found = "".join(draw(st.lists(entries(prefix), max_size=4)))
    return f"{head}<{prefix}urlset {named}>{found}</{prefix}urlset>"


def _encoded(text: str, encoding: str) -> bytes:
    declared = f"<?xml version='1.0' encoding='{encoding}'?>{text}"
    return declared.encode(encoding, "xmlcharrefreplace")


def _of_scrapy(body: bytes) -> list[SitemapEntry]:
    """Without entries that lack an address, which Scrapy's spider skips too."""
    return [one for one in ScrapySitemap(body) if one["loc"]]


@given(files(), st.sampled_from(["utf-8", "utf-16", "iso-8859-1", "windows-1252"]))
@example(
    "<urlset xmlns:x='y'><url><loc>http://a/1</loc><priority> 1 </priority><empty/>"
    "<x:link rel='alternate' href='http://a/de'/><x:link/>"
    "<x:image><x:loc>http://b/</x:loc></x:image></url></urlset>",
    "utf-8",
)
@example("<urlset><url><loc>http://a/\r\nb</loc><x>a\rb</x></url></urlset>", "utf-8")
def test_well_formed_files_are_read_as_scrapy_reads_them(text: str, encoding: str) -> None:
    try:
        body = _encoded(text, encoding)
        body.decode(encoding)
    except UnicodeError:
        assume(False)
    sitemap = Sitemap(body)
    assert list(sitemap) == _of_scrapy(body)
    assert (sitemap.damage, sitemap.is_cut) == ("", False)


def in_pieces(text: str, ends: list[int]) -> tuple[list[SitemapEntry], bool, bool]:
    root = _ROOT.search(text)
    assert root
    reader = _XmlReader(root)
    found: list[SitemapEntry] = []
    for start, end in pairwise([root.start(), *ends, len(text)]):
        if not reader.is_over:
            found += reader.read(text[start:end])[1]
    return found, bool(reader.damage), reader.is_unfinished


mutations = st.sampled_from(
    [*"<>&\"'/!?;=-[] x1#\x01\udce9", "&amp", "&nbsp;", "<b>", "</b>", "<!", "]]>"]
)


@given(files(), st.integers(0, 500), st.integers(0, 2), mutations, st.integers(1, 20))
@example("<urlset><url><loc>a</loc></url></urlset>", 19, 0, "]]>", 1)
def test_pieces_of_a_file_are_read_like_the_file(
    text: str, at: int, gone: int, new: str, size: int
) -> None:
    at %= len(text)
    damaged = text[:at] + new + text[at + gone :]
    root = _ROOT.search(damaged)
    if root:
        ends = list(range(root.start() + size, len(damaged), size))
        assert in_pieces(damaged, ends) == in_pieces(damaged, [])


@given(
    st.integers(0, 4),
    st.integers(0, 200),
    st.integers(0, 3),
    mutations,
    st.sampled_from(["", "cdata", "numbers"]),
)
def test_one_error_anywhere_costs_one_entry(
    number: int, at: int, gone: int, new: str, form: str
) -> None:
    """After any change within an entry, all other entries are read as before."""
    meant = [url(one) for one in range(5)]
    written = [entry(one, loc=_text(meant[one], form)) for one in range(5)]
    hit = written[number]
    at %= len(hit) - 1
    written[number] = hit[:at] + new + hit[min(at + gone, len(hit) - 1) :]
    found = locs(urlset(*written))
    left = len(found) - 4
    assert left in (0, 1)
    assert found[:number] == meant[:number]
    assert found[number + left :] == meant[number + 1 :]

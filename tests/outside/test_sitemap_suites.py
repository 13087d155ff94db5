"""The adapters of suites on sitemaps, with small suites of our own."""

from __future__ import annotations

from pathlib import Path

from tests.outside import Case, Checkout
from tests.outside.sitemap_suites import (
    Date,
    Files,
    addresses_or_date,
    crawler_commons,
    ultimate_sitemap_parser,
)

_ONE = b"<urlset><url><loc>http://a/1</loc></url></urlset>"


def test_sitemap_cases_in_java_are_read(tmp_path: Path) -> None:
    folder = tmp_path / "src/test/java/crawlercommons/sitemaps"
    folder.mkdir(parents=True)
    (tmp_path / "one.xml").write_bytes(_ONE)
    for name in ("SiteMapParserTest", "SiteMapParserExtensionTest"):
        (folder / f"{name}.java").touch()
    (folder / "AbstractSiteMapTest.java").write_text(r"""
        void testOne() {
            StringBuilder text = new StringBuilder();
            text.append("<urlset>" + file.path() + "\n") //
                .append("</urlset>");
            map = parser.parseSiteMap(text);
            assertEquals(0, map.getSiteMapUrls().size());
            text = getXMLSitemapAsBytes();
            assertEquals(5, map.getSiteMapUrls().size());
            content = getResourceAsBytes("one.xml");
            assertEquals(1, ((SiteMap) map).getSiteMapUrls().size());
            assertEquals(new URI("http://a/1").toURL(), map.next().getUrl());
        }
        void testOther() {
            assertThrows(UnknownFormatException.class, () -> {
                byte[] content = "no sitemap".getBytes();
                parser.parseSiteMap(content);
            });
            assertEquals("2017-01-05", format.format(Map.convertToDate("2017-01-05")));
            assertEquals("no date", Map.normalizeRSSTimestamp("no date"));
        }
    """)
    cases = list(crawler_commons(Checkout(tmp_path, "0" * 40)))
    assert cases == [
        Case("testOne#1", Files((b"<urlset>\n</urlset>",)), 0),
        Case("testOne#2", Files((_ONE,)), 1),
        Case("testOne#3", Files((_ONE,), "http://a/1"), expected=True),
        Case("testOther#1", Files((b"no sitemap",)), None),
        Case("testOther#2", Date("2017-01-05", 8), "20170105"),
        Case("testOther#3", Date("no date", 0), ""),
    ]
    assert [addresses_or_date(case.given) for case in cases] == [case.expected for case in cases]


def test_sitemap_cases_in_python_are_read(tmp_path: Path) -> None:
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests/test_tree.py").write_text("""
class T:
    BASE = "http://a"
    def test_tree(self):
        with Mocker() as m:
            m.get(self.BASE + "/sitemap.xml", text="<urlset/>")
            m.get(self.BASE + "/gone_sitemap.xml", status_code=404)
            expected = IndexWebsiteSitemap(
                sub_sitemaps=[PagesXMLSitemap(url="http://a/sitemap.xml", pages=[
                    SitemapPage(url="http://a/1", priority=Decimal("1"))])])
            actual = crawled(self.BASE)
            assert len(list(actual.all_pages())) == 1
    def test_parts(self):
        m.get("http://a/sitemap_1.gz", content=gzip("1"))
        m.get("http://a/sitemap_2", text="2")
        pages = 2
        assert len(sitemap_1.pages) == 1
        assert len(sitemap_2.pages) == pages
""")
    tree, page, total, parts = ultimate_sitemap_parser(Checkout(tmp_path, "0" * 40))
    assert tree == Case("test_tree/sitemap.xml", Files((b"<urlset/>",)), 1)
    assert page == Case(
        "test_tree/sitemap.xml#1", Files((b"<urlset/>",), "http://a/1"), expected=True
    )
    assert total == Case("test_tree", Files((b"<urlset/>",)), 1)
    assert (parts.name, len(parts.given.bodies), parts.expected) == ("test_parts", 2, 3)

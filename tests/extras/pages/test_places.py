"""Elements in odd places: lxml finds those of Chromium's DOM, except where a case has a comment.

The model is the DOM that Chromium makes without scripts. It includes the content of templates, as
A2 of docs/pages.md does.
"""

from __future__ import annotations

import html
import json
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import pytest
from lxml.etree import LIBXML_VERSION

from scrapy_rep import page_rules
from scrapy_rep.extras.pages import page_html
from scrapy_rep.extras.pages.readings import refused_links
from tests.others.browsers import CHROMIUM
from tests.tables import rows_of

from .answers import response_of

pytestmark = pytest.mark.skipif(LIBXML_VERSION < (2, 14), reason="libxml2 is older than its HTML 5")

NOINDEX = '<meta name="robots" content="noindex">'
NOAI = '<meta name="robots" content="noai">'
ZERO = '<meta name="tdm-reservation" content="0">'
LINK = '<a href="/l" rel="nofollow">l</a>'


class Place(NamedTuple):
    """A page.

    Attributes:
        page: its HTML.
        read: the elements that we read: metas in order, then links.
        seen: those in Chromium's DOM, if they differ.
    """

    page: str
    read: str
    seen: str | None = None


_ELEMENTS = {"{noindex}": NOINDEX, "{noai}": NOAI, "{zero}": ZERO, "{link}": LINK}


def _page(text: str) -> str:
    """A page with its elements."""
    for name, element in _ELEMENTS.items():
        text = text.replace(name, element)
    return text


PLACES = {
    **{name: Place(_page(page), *more) for name, page, *more in rows_of(__file__)["PLACES"]},
    "many open divs": Place("<div>" * 300 + NOINDEX + LINK, "body:noindex nofollow:/l"),
    "many open fonts": Place("<p><font>" * 200 + NOINDEX, "body:noindex"),
    "600 open divs": Place(
        "<div>" * 600 + NOINDEX + "</div>" * 600 + NOAI, "body:noindex body:noai"
    ),
    "2000 open spans": Place("<span>" * 2000 + NOINDEX, "body:noindex"),
}

_DRIVER = """<!doctype html><meta charset="utf-8"><pre></pre><script>
const elements = node => [...node.children].flatMap(
  one => [one, ...elements(one), ...(one.localName === "template" ? elements(one.content) : [])]);
const found = PAGES.map(page => {
  const dom = new DOMParser().parseFromString(page, "text/html"), all = elements(dom);
  return [
    all.filter(one => one.localName === "meta").map(
      one => [dom.head.contains(one), one.getAttribute("content")]),
    all.filter(one => one.matches("a[href], area[href]")).map(
      one => [one.getAttribute("href"), one.getAttribute("rel")]),
  ];
});
document.querySelector("pre").textContent = JSON.stringify(found);
</script>"""


def _words(
    metas: Iterable[tuple[bool, str | None]], links: Iterable[tuple[str, str | None]]
) -> str:
    said = [f"{'head' if in_head else 'body'}:{content}" for in_head, content in metas]
    return " ".join(
        [*said, *sorted({f"{'nofollow' if rel else 'follow'}:{url}" for url, rel in links})]
    )


@pytest.mark.parametrize("place", PLACES.values(), ids=PLACES)
def test_place_of_an_element_decides_if_it_is_read(place: Place) -> None:
    response = response_of(place.page)
    metas = [(meta.in_head, meta.content) for meta in page_html.metas_of(response)]
    links = [(link.target, link.rel) for link in page_html.anchors_of(response)]
    assert _words(metas, links) == place.read
    assert not page_html.is_unreadable(response)
    for rule in ("noindex", "noai"):
        assert page_rules(response).to_dict().get(rule, False) is (rule in place.read.lower())
    refused = refused_links(response)
    assert bool(refused) is ("nofollow:/l" in place.read and "follow:/l" not in place.read.split())


@pytest.mark.skipif(not CHROMIUM, reason="no Chromium is installed")
def test_chromium_agrees_on_most_places(tmp_path: Path) -> None:
    path = tmp_path / "pages.html"
    pages = json.dumps([place.page for place in PLACES.values()]).replace("<", "\\u003c")
    path.write_text(_DRIVER.replace("PAGES", pages, 1), encoding="utf-8")
    options = ["--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path}/user"]
    done = subprocess.run(
        [CHROMIUM, *options, "--dump-dom", path.as_uri()],
        capture_output=True,
        check=True,
        text=True,
        timeout=120,
    )
    found = json.loads(html.unescape(done.stdout.partition("<pre>")[2].partition("</pre>")[0]))
    seen = {name: _words(*words) for name, words in zip(PLACES, found, strict=True)}
    assert seen == {
        name: place.read if place.seen is None else place.seen for name, place in PLACES.items()
    }
    agreed = sum(place.seen is None for place in PLACES.values())
    assert agreed >= 95, agreed


_DEEP = 2_100


class TestNesting:
    """lxml stops at 2,048 levels. Rules before that count, and those after it are unknown."""

    @pytest.mark.parametrize(
        "body",
        [
            "<div>" * _DEEP + NOINDEX,
            "<div>" * _DEEP + "</div>" * _DEEP + NOINDEX,
            "<b>x" * _DEEP + NOINDEX,
            "</x>" * 1000 + "<div>" * _DEEP + NOINDEX,
            "</body></html>" + "<div>" * _DEEP + NOINDEX,
        ],
    )
    def test_makes_a_page_unreadable(self, body: str, caplog: pytest.LogCaptureFixture) -> None:
        response = response_of(f"<html><head>{NOAI}</head><body>{LINK}{body}</body></html>")
        assert page_rules(response).to_dict() == {"noai": True}
        assert len(refused_links(response)) == 1
        assert page_html.is_unreadable(response)
        assert caplog.text.count("Cannot read all of https://example.com/dir/page") == 1

    @pytest.mark.parametrize("levels", [600, 2_000])
    def test_deeply_nested_page_is_read(self, levels: int) -> None:
        for end in ("", "</div>" * levels):
            response = response_of("<div>" * levels + end + NOINDEX)
            assert page_rules(response).noindex
            assert not page_html.is_unreadable(response)

    def test_without_a_page(self) -> None:
        for response in (response_of(), response_of("[1]", content_type="application/json")):
            assert page_html.metas_of(response) == []
            assert not page_html.is_unreadable(response)

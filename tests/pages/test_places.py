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
from scrapy_rep.pages import page_html
from scrapy_rep.pages.readings import refused_links
from tests.others.browsers import CHROMIUM

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


def _head(elements: str) -> str:
    return f"<html><head>{elements}</head><body></body></html>"


def _body(elements: str) -> str:
    return f"<html><head></head><body>{elements}</body></html>"


PLACES = {
    "after html": Place(
        f"<html><head></head><body>a</body></html>{NOINDEX}{LINK}", "body:noindex nofollow:/l"
    ),
    "after html, in a head": Place(
        f"<html><head></head><body>a</body></html><head>{NOINDEX}{ZERO}</head>",
        "body:noindex body:0",
    ),
    "after html, in a body": Place(
        f"<html><head></head><body>a</body></html><body>{NOINDEX}{LINK}</body>",
        "body:noindex nofollow:/l",
    ),
    "a second document": Place(
        _body("a") + f"<!doctype html><html><head>{NOINDEX}{ZERO}</head><body>{LINK}</body></html>",
        "body:noindex body:0 nofollow:/l",
    ),
    "two more documents": Place(
        _body("a") + _head(NOINDEX) + f"<html><head>{NOAI}</head><body>{LINK}</body></html>",
        "body:noindex body:noai nofollow:/l",
    ),
    "an empty document first": Place(
        f"<html></html><html><head>{NOINDEX}{ZERO}</head></html>", "body:noindex body:0"
    ),
    "after body": Place(
        f"<html><head></head><body>a</body>{NOINDEX}{LINK}</html>", "body:noindex nofollow:/l"
    ),
    "after body and html": Place(
        f"<html><head></head><body>a</body>{NOINDEX}</html>{NOAI}", "body:noindex body:noai"
    ),
    "after html, behind text": Place(f"<html><body>a</body></html>text{NOINDEX}", "body:noindex"),
    "after html, behind a comment": Place(
        f"<html><body>a</body></html><!-- {NOAI} -->{NOINDEX}", "body:noindex"
    ),
    "after html, in a div": Place(
        f"<html><body>a</body></html><div><p>{NOINDEX}{LINK}</div>", "body:noindex nofollow:/l"
    ),
    "after html, in a comment": Place(f"<html><body>a</body></html><!-- {NOINDEX} -->", ""),
    "after html, in a script": Place(
        f"<html><body>a</body></html><script>'{NOINDEX}'</script>", ""
    ),
    "html closed twice": Place(
        f"<html><body>a</body></html></html>{NOINDEX}</html>{NOAI}", "body:noindex body:noai"
    ),
    "body closed twice": Place(f"<body>a</body></body>{NOINDEX}{LINK}", "body:noindex nofollow:/l"),
    "before the doctype": Place(
        f"{NOINDEX}{ZERO}<!doctype html><html><head></head><body></body></html>",
        "head:noindex head:0",
    ),
    "before html": Place(
        f"<!doctype html>{NOINDEX}{ZERO}<html><head></head><body></body></html>",
        "head:noindex head:0",
    ),
    "before html, behind text": Place(
        f"text{NOINDEX}{ZERO}<html><head>{NOAI}</head><body></body></html>",
        "body:noindex body:0 body:noai",
    ),
    "between html and head": Place(
        f"<html>{NOINDEX}{ZERO}<head>{NOAI}</head><body></body></html>",
        "head:noindex head:0 head:noai",
    ),
    # A browser puts them into the head again.
    "between head and body": Place(
        f"<html><head></head>{NOINDEX}{ZERO}<body>{NOAI}</body></html>",
        "body:noindex body:0 body:noai",
        "head:noindex head:0 body:noai",
    ),
    "no tags around": Place(f"{NOINDEX}{ZERO}{LINK}", "head:noindex head:0 nofollow:/l"),
    "no head": Place(_body(f"{NOINDEX}{ZERO}"), "body:noindex body:0"),
    "no body": Place(f"<html><head>{NOINDEX}{ZERO}</head></html>", "head:noindex head:0"),
    "only a closed head": Place(f"</head>{NOINDEX}{ZERO}", "head:noindex head:0"),
    # lxml does not tell them from a page without tags.
    "only closed tags": Place(
        f"</body></html>{NOINDEX}{ZERO}", "head:noindex head:0", "body:noindex body:0"
    ),
    "behind a div in the head": Place(_head(f"<div></div>{NOINDEX}{ZERO}"), "body:noindex body:0"),
    "behind text in the head": Place(_head(f"x{NOINDEX}{ZERO}"), "body:noindex body:0"),
    "behind an image in the head": Place(
        _head(f"<img src=x>{NOINDEX}{ZERO}"), "body:noindex body:0"
    ),
    "behind an iframe in the head": Place(
        _head(f"<iframe src=x></iframe>{NOINDEX}{ZERO}"), "body:noindex body:0"
    ),
    "behind a link in the head": Place(
        _head(f"<link rel=x href=y><base href=/><style>a</style>{NOINDEX}{ZERO}"),
        "head:noindex head:0",
    ),
    "in noscript in the head": Place(
        _head(f"<noscript>{NOINDEX}{ZERO}</noscript>{NOAI}"), "head:noindex head:0 head:noai"
    ),
    # A browser that runs scripts reads no element in a noscript, and agrees.
    "behind an image in noscript in the head": Place(
        _head(f"<noscript><img src=x></noscript>{NOINDEX}{ZERO}"),
        "head:noindex head:0",
        "body:noindex body:0",
    ),
    "in noscript in the body": Place(
        _body(f"<noscript>{NOINDEX}{LINK}</noscript>"), "body:noindex nofollow:/l"
    ),
    # A template is a document of its own in the DOM.
    "in a template in the head": Place(
        _head(f"<template>{NOINDEX}{LINK}</template>{ZERO}"),
        "head:noindex head:0 nofollow:/l",
        "body:noindex head:0 nofollow:/l",
    ),
    "in a template in the body": Place(
        _body(f"<template>{NOINDEX}{LINK}</template>"), "body:noindex nofollow:/l"
    ),
    "in a template in a template": Place(
        f"<template><template>{NOINDEX}</template>{NOAI}</template>", "body:noindex body:noai"
    ),
    "in the title": Place(_head(f"<title>{NOINDEX}</title>{NOAI}"), "head:noai"),
    "in an open title": Place(_head(f"<title>{NOINDEX}"), ""),
    "in a style": Place(_head(f"<style>{NOINDEX}</style>{NOAI}"), "head:noai"),
    "in a script": Place(_head(f"<script>document.write('{NOINDEX}')</script>{NOAI}"), "head:noai"),
    "in an escaped script": Place(
        _head(f"<script><!-- <script>{NOINDEX}</script> {NOINDEX} --></script>{NOAI}"), "head:noai"
    ),
    "in an attribute": Place(_body(f"<p title='{NOINDEX}'>{NOAI}"), "body:noai"),
    "in srcdoc": Place(_body(f"<iframe srcdoc='{NOINDEX}'></iframe>{NOAI}"), "body:noai"),
    "in an iframe": Place(_body(f"<iframe>{NOINDEX}</iframe>{NOAI}"), "body:noai"),
    "in noembed": Place(_body(f"<noembed>{NOINDEX}</noembed>{NOAI}"), "body:noai"),
    "in noframes": Place(_body(f"<noframes>{NOINDEX}</noframes>{NOAI}"), "body:noai"),
    "in xmp": Place(_body(f"<xmp>{NOINDEX}</xmp>{NOAI}"), "body:noai"),
    "in a textarea": Place(_body(f"<textarea>{NOINDEX}</textarea>{NOAI}"), "body:noai"),
    "behind plaintext": Place(_body(f"{NOAI}<plaintext>{NOINDEX}"), "body:noai"),
    "in a comment": Place(_head(f"<!-- {NOINDEX} -->{NOAI}"), "head:noai"),
    "behind an abrupt comment": Place(
        _head(f"<!-->{NOINDEX}<!--->{NOAI}"), "head:noindex head:noai"
    ),
    "behind a comment that ends with a bang": Place(_head(f"<!-- x --!>{NOINDEX}"), "head:noindex"),
    "in an open comment": Place(_head(f"{NOAI}<!-- {NOINDEX}"), "head:noai"),
    "in a conditional comment": Place(
        _head(f"<!--[if IE]>{NOINDEX}<![endif]-->{NOAI}"), "head:noai"
    ),
    "in a downlevel conditional comment": Place(
        _head(f"<![if !IE]>{NOINDEX}<![endif]>{NOAI}"), "head:noindex head:noai"
    ),
    "in CDATA": Place(_body(f"<![CDATA[{NOINDEX}]]>{NOAI}"), "body:noai"),
    "in a processing instruction": Place(_head(f"<?php echo '{NOINDEX}' ?>{NOAI}"), "body:noai"),
    "in a table": Place(
        _body(f"<table>{NOINDEX}<tr>{NOAI}<td>{LINK}</td></tr></table>"),
        "body:noindex body:noai nofollow:/l",
    ),
    "in a select": Place(
        _body(f"<select>{NOINDEX}<option>{NOAI}</select>"), "body:noindex body:noai"
    ),
    "in a select, in an option": Place(
        _body(f"<select><option>a{LINK}</option></select>{NOINDEX}"), "body:noindex nofollow:/l"
    ),
    "in a paragraph": Place(_body(f"<p>{NOINDEX}<p>{NOAI}"), "body:noindex body:noai"),
    "in a list": Place(_body(f"<ul>{NOINDEX}<li>{NOAI}</ul>"), "body:noindex body:noai"),
    "in a button": Place(_body(f"<button>{NOINDEX}</button>"), "body:noindex"),
    "in svg": Place(_body(f"<svg>{NOINDEX}</svg>{NOAI}"), "body:noindex body:noai"),
    "in a foreignObject": Place(
        _body(f"<svg><foreignObject>{NOINDEX}{LINK}</foreignObject></svg>"),
        "body:noindex nofollow:/l",
    ),
    # lxml reads a title and a style as text everywhere.
    "in svg, in a title": Place(_body(f"<svg><title>{NOINDEX}</title></svg>"), "", "body:noindex"),
    "in math": Place(_body(f"<math><mi>{NOINDEX}</mi>{NOAI}</math>"), "body:noindex body:noai"),
    "in svg, in CDATA": Place(_body(f"<svg><![CDATA[{NOINDEX}]]></svg>{NOAI}"), "body:noai"),
    "in svg, in a style": Place(_body(f"<svg><style>{NOINDEX}</style></svg>"), "", "body:noindex"),
    # A browser drops elements that it does not show; a rule there still counts.
    "in a frameset": Place(
        f"<html><head>{NOAI}</head><frameset>{NOINDEX}<frame src=x></frameset></html>",
        "head:noai body:noindex",
        "head:noai",
    ),
    "after a frameset": Place(
        f"<html><head></head><frameset><frame src=x></frameset>{NOINDEX}</html>", "body:noindex", ""
    ),
    "in noframes of a frameset": Place(
        f"<html><head></head><frameset><noframes>{NOINDEX}</noframes></frameset></html>", ""
    ),
    "repeated attributes": Place(
        _head('<meta name="robots" name="x" content="noindex" content="noai">'), "head:noindex"
    ),
    "attributes in capitals": Place(
        '<HTML><HEAD><META NAME="ROBOTS" CONTENT="NOINDEX"></HEAD></HTML>', "head:NOINDEX"
    ),
    "attributes without quotes": Place(
        _head("<meta name=robots content=noindex/>"), "head:noindex/"
    ),
    "attributes without space": Place(
        _head('<meta name="robots"content="noindex">'), "head:noindex"
    ),
    "attributes with slashes": Place(
        _head('<meta/name="robots"/content="noindex"/>'), "head:noindex"
    ),
    "attributes on lines": Place(
        _head("<meta\n\tname\n=\n\"robots\"\fcontent = 'noindex'\n>"), "head:noindex"
    ),
    "attributes with references": Place(
        _head('<meta name="r&#111;bots" content="no&#105;ndex&comma;noai">'), "head:noindex,noai"
    ),
    "a quote that is not closed": Place(
        f'<head><meta name="robots" content="noindex>{NOAI}</head><body title="x">{NOINDEX}</body>',
        "head:noindex><meta name= body:noindex",
    ),
    "an end tag of meta": Place(
        f"<html><head></meta>{NOINDEX}</meta>{NOAI}</head></html>", "head:noindex head:noai"
    ),
    "a meta with content": Place(
        f"<html><head><meta name=robots content=noindex>noai</meta>{ZERO}</head></html>",
        "head:noindex body:0",
    ),
    "a meta in a meta's tag": Place(
        "<html><head><meta name=robots <meta content=noindex></head></html>", "head:noindex"
    ),
    "an angle in a value": Place(
        '<html><head><meta name="robots" title="a>b" content="noindex"></head></html>',
        "head:noindex",
    ),
    "a NUL in a tag": Place(_head('<meta name="robots" content="noindex"\0>'), "head:noindex"),
    "an equals sign first": Place(
        _head('<meta ="x" name="robots" content="noindex">'), "head:noindex"
    ),
    "nested links": Place(
        _body('<a href="/l" rel="nofollow">a<a href="/m">b</a></a>'), "follow:/m nofollow:/l"
    ),
    "links with repeated rel": Place(
        _body('<a href="/l" rel="nofollow" rel="x">a</a>'), "nofollow:/l"
    ),
    "links in a heading in a link": Place(
        _body('<a href="/l" rel="nofollow"><h1><a href="/m" rel="nofollow">x</a></h1></a>'),
        "nofollow:/l nofollow:/m",
    ),
    "links misnested with b": Place(
        _body(f'<b><p><a href="/l" rel="nofollow"></b>x</p></a>{NOINDEX}'),
        "body:noindex nofollow:/l",
    ),
    "areas": Place(
        _body('<map><area href="/l" rel="nofollow"><area href="/m"></map>'), "follow:/m nofollow:/l"
    ),
    "links in a table": Place(
        _body('<table><a href="/l" rel="nofollow">x</a><tr><td>y</table>'), "nofollow:/l"
    ),
    # lxml ends the head at its first end tag.
    "heads that repeat": Place(
        _head(f"<title>a</title></head><head>{NOINDEX}{ZERO}"),
        "body:noindex body:0",
        "head:noindex head:0",
    ),
    "a head in the body": Place(_body(f"<head>{NOINDEX}{ZERO}</head>"), "body:noindex body:0"),
    "a head in a div": Place(
        _body(f"<div><head>{NOINDEX}{ZERO}</head></div>"), "body:noindex body:0"
    ),
    "bodies that repeat": Place(_body(f"<body>{NOINDEX}<body>{NOAI}"), "body:noindex body:noai"),
    "html in html": Place(
        _body(f"<html><head>{NOINDEX}{ZERO}</head><body>{NOAI}</body></html>"),
        "body:noindex body:0 body:noai",
    ),
    "a head that is not closed": Place(
        f"<html><head>{NOINDEX}<body>{ZERO}</html>", "head:noindex body:0"
    ),
    "a head behind an unknown element": Place(
        f"<html><x-y></x-y><head>{NOINDEX}{ZERO}</head></html>", "body:noindex body:0"
    ),
    "many open divs": Place("<div>" * 300 + NOINDEX + LINK, "body:noindex nofollow:/l"),
    "many open fonts": Place("<p><font>" * 200 + NOINDEX, "body:noindex"),
    "600 open divs": Place(
        "<div>" * 600 + NOINDEX + "</div>" * 600 + NOAI, "body:noindex body:noai"
    ),
    "2000 open spans": Place("<span>" * 2000 + NOINDEX, "body:noindex"),
    "open elements only": Place(
        f"<html><head><title>a</title>{NOINDEX}<body><div><p><ul><li><a href='/m'>b{NOAI}",
        "head:noindex body:noai follow:/m",
    ),
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
def test_reads(place: Place) -> None:
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
def test_chromium_agrees(tmp_path: Path) -> None:
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
        assert caplog.text.count("Cannot read the elements of https://example.com/dir/page") == 1

    @pytest.mark.parametrize("levels", [600, 2_000])
    def test_is_read(self, levels: int) -> None:
        for end in ("", "</div>" * levels):
            response = response_of("<div>" * levels + end + NOINDEX)
            assert page_rules(response).noindex
            assert not page_html.is_unreadable(response)

    def test_without_a_page(self) -> None:
        for response in (response_of(), response_of("[1]", content_type="application/json")):
            assert page_html.metas_of(response) == []
            assert not page_html.is_unreadable(response)

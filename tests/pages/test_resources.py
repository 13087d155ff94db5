"""The style sheets, scripts and images of a page."""

from __future__ import annotations

import time

import pytest
from scrapy.http import HtmlResponse, Response, TextResponse

from scrapy_rep.pages.subresources import resources_of

URL = "https://h.example/d/page"


def found(body: str, content_type: str = "text/html") -> list[tuple[str, str]]:
    page = HtmlResponse(
        URL, body=body.encode(), headers={"Content-Type": content_type}, encoding="utf-8"
    )
    return [(one.kind, one.url) for one in resources_of(page)]


@pytest.mark.parametrize(
    ("element", "resources"),
    [
        ('<link rel="stylesheet" href="a.css">', [("css", "https://h.example/d/a.css")]),
        ('<link rel="Alternate StyleSheet" href=/a>', [("css", "https://h.example/a")]),
        ("<link rel=preload as=script href=/a#x>", [("js", "https://h.example/a")]),
        ("<link rel=preload as=font href=/a>", []),
        ("<link rel=modulepreload href=/a>", [("js", "https://h.example/a")]),
        ('<link rel="shortcut icon" href=/a>', [("image", "https://h.example/a")]),
        ("<link rel=canonical href=/a>", []),
        ('<script src="//o.example/x.js?a=1&amp;b=2"></script>', [
            ("js", "https://o.example/x.js?a=1&b=2")]),
        ("<script>var a = 1</script>", []),
        ('<img src="a.png">', [("image", "https://h.example/d/a.png")]),
        ('<img src="data:image/png;base64,AA==">', []),
        ('<img src="">', []),
        ('<img src="http://[bad/">', []),
        ('<img src="ftp://h/x.png">', []),
        ('<img src=/a srcset="/a 1x, /b,c 2x,/d">', [
            ("image", "https://h.example/a"),
            ("image", "https://h.example/b,c"),
            ("image", "https://h.example/d")]),
        ('<img srcset="/a, /b">', [
            ("image", "https://h.example/a"), ("image", "https://h.example/b")]),
        ('<picture><source srcset="/a 2x"><img src=/a></picture>', [
            ("image", "https://h.example/a")]),
        ("<video poster=/p src=/v><source src=/w></video>", [("image", "https://h.example/p")]),
        ("<input type=Image src=/a>", [("image", "https://h.example/a")]),
        ("<input type=text src=/a>", []),
        ('<svg><image href="/a"/><image xlink:href="/b"/></svg>', [
            ("image", "https://h.example/a"), ("image", "https://h.example/b")]),
        ('<base href="/e/"><img src=a>', [("image", "https://h.example/e/a")]),
    ],
)  # fmt: skip
def test_elements(element: str, resources: list[tuple[str, str]]) -> None:
    assert found(f"<html><body>{element}</body></html>") == resources


def test_lines() -> None:
    page = HtmlResponse(URL, body=b"<html>\n<body>\n<img src=/a>\n<img src=/a>", encoding="utf-8")
    (one,) = resources_of(page)
    assert one.line == 3


def test_xhtml_and_others() -> None:
    xhtml = (
        '<html xmlns="http://www.w3.org/1999/xhtml"><head>'
        '<link rel="stylesheet" href="/a"/></head></html>'
    )
    assert found(xhtml, "application/xhtml+xml") == [("css", "https://h.example/a")]
    assert found("<img src=/a>", "application/json") == []
    assert list(resources_of(Response(URL, body=b"\x89PNG"))) == []
    assert list(resources_of(TextResponse(URL, body=b"", encoding="utf-8"))) == []


def test_growth() -> None:
    """Hostile sets take linear time: twice the octets take no four times as long."""
    for piece in ("a ", ", ", "a,", ",a ", "\u00e9, "):
        seconds = []
        for count in (20_000, 80_000):
            began = time.process_time()
            found(f'<img srcset="{piece * count}">')
            seconds.append(time.process_time() - began)
        assert seconds[1] < 12 * max(seconds[0], 0.02), piece

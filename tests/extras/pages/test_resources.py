"""The style sheets, scripts and images of a page."""

from __future__ import annotations

import time

import pytest
from scrapy.http import HtmlResponse, Response, TextResponse

from scrapy_rep.extras.pages.subresources import resources_of
from tests.tables import rows_of

ROWS = rows_of(__file__)

URL = "https://h.example/d/page"


def found(body: str, content_type: str = "text/html") -> list[tuple[str, str]]:
    page = HtmlResponse(
        URL, body=body.encode(), headers={"Content-Type": content_type}, encoding="utf-8"
    )
    return [(one.kind, one.url) for one in resources_of(page)]


@pytest.mark.parametrize(("element", "resources"), ROWS["elements"])
def test_resources_of_an_element_are_found(element: str, resources: list[list[str]]) -> None:
    assert [[*one] for one in found(f"<html><body>{element}</body></html>")] == resources


def test_resource_has_the_line_of_its_element() -> None:
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


def test_hostile_sets_of_images_take_linear_time() -> None:
    """Hostile sets take linear time: twice the octets take no four times as long."""
    for piece in ("a ", ", ", "a,", ",a ", "\u00e9, "):
        seconds = []
        for count in (20_000, 80_000):
            began = time.process_time()
            found(f'<img srcset="{piece * count}">')
            seconds.append(time.process_time() - began)
        assert seconds[1] < 12 * max(seconds[0], 0.02), piece

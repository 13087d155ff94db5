"""Responses for tests of pages, as Scrapy would build them from an answer."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from scrapy.http import Headers, Response
from scrapy.responsetypes import responsetypes

URL = "https://example.com/dir/page"


def response_of(
    html: str | bytes = b"",
    fields: Iterable[tuple[str, str | bytes]] = (),
    *,
    url: str = URL,
    content_type: str | None = "text/html",
    **values: Any,
) -> Response:
    """A response with these fields, in this order; a Content-Type among them counts."""
    body = html.encode() if isinstance(html, str) else html
    lines: dict[str, list[bytes]] = {}  # Scrapy's `appendlist` copies the list each time
    for name, value in fields:
        lines.setdefault(name, []).append(value.encode() if isinstance(value, str) else value)
    headers = Headers(lines)
    if content_type is not None and b"Content-Type" not in headers:
        headers["Content-Type"] = f"{content_type}; charset=utf-8"
    kind = responsetypes.from_args(headers=headers, url=url, body=body)
    return kind(url, headers=headers, body=body, **values)


def page(*elements: str, body: str = "<p>x</p>") -> str:
    """A page with these elements in its head."""
    head = "".join(elements)
    return f"<!doctype html><html><head><title>t</title>{head}</head><body>{body}</body></html>"


def meta(content: str, name: str = "robots") -> str:
    """A meta element."""
    return f'<meta name="{name}" content="{content}">'

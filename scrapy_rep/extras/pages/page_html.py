"""Responses as values: header fields, and elements of HTML pages.

This is the only module that reads HTML. It uses the tree of the response's own selector, which the
spider's callbacks share. Only HTML responses have elements.

Each reader has a budget. A page that exceeds one is read in part, and counts as unreadable: so
nothing that it says beyond the budget is lost. Too many links leave only the links unknown, and too
many ``link`` elements nothing: they name licences, which forbid nothing.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from itertools import accumulate
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin
from weakref import WeakSet

from lxml.etree import ErrorTypes
from scrapy.http import HtmlResponse, Response, TextResponse
from scrapy.utils.response import get_base_url
from w3lib.url import safe_url_string

from scrapy_rep.extras.pages.page.page_elements import Meta, PageLink
from scrapy_rep.extras.pages.page.rules import ROBOTS_TAG, X_ROBOTS_TAG
from scrapy_rep.extras.pages.usage.usage_answers import LINK, USAGE_FIELDS
from scrapy_rep.protocol.access.origin import Origin, origin_of
from scrapy_rep.protocol.errors import InvalidUri
from scrapy_rep.protocol.fields.remarks import FIELD_OCTETS
from scrapy_rep.protocol.secrecy import bare

if TYPE_CHECKING:
    from lxml.etree import _Element

logger = logging.getLogger(__name__)

_HTML = frozenset([b"text/html", b"application/xhtml+xml", b"application/vnd.wap.xhtml+xml"])
_TYPE = re.compile(rb"[!#$%&'+.^_`|~0-9a-z-]+/[!#$%&'+.^_`|~0-9a-z-]+")  # not "*/*"
_CUT = frozenset(["dataloss", "partial"])  # Scrapy's flags of incomplete responses
_XHTML = "{http://www.w3.org/1999/xhtml}"
_HTML_SPACE = " \t\n\r\f"
# Neither `urljoin` nor `safe_url_string` changes such a URL.
_PLAIN = re.compile(r"https?://[a-z0-9.-]+/[\w./~?=&+,;-]*", re.ASCII)

HEAD_ELEMENTS = 20_000
"""The most meta elements, and the most ``link`` elements, that are read: a paper may name thousands
of authors in them."""

ANCHORS = 50_000
"""The most links that are read."""

_unreadable: WeakSet[Response] = WeakSet()
_unread_links: WeakSet[Response] = WeakSet()


FIELDS = (X_ROBOTS_TAG, ROBOTS_TAG, *USAGE_FIELDS)
"""The fields with page rules or preferences, in lower case."""


def fields_of(response: Response) -> dict[str, list[bytes]]:
    """The values of `FIELDS` in a response, in order, by name; at most `FIELD_OCTETS` of each."""
    fields = {name: lines for name in FIELDS if (lines := response.headers.getlist(name))}
    for name, lines in fields.items():
        if sum(map(len, lines)) > FIELD_OCTETS:
            # Half a line may mean something else.
            ends = accumulate(map(len, lines))
            fields[name] = [
                one for one, end in zip(lines, ends, strict=True) if end <= FIELD_OCTETS
            ]
            if name != LINK:  # a licence forbids nothing
                set_unreadable(response, f"its field {name} is longer than {FIELD_OCTETS} octets")
    return fields


def origin_of_page(response: Response) -> Origin | None:
    """The origin of a response; None if robots.txt does not govern its URL."""
    try:
        return origin_of(response.url)
    except InvalidUri:
        return None


def is_image(response: Response) -> bool:
    """Whether the content is an image."""
    return _content_type(response).startswith(b"image/")


def is_cut(response: Response) -> bool:
    """Whether the body is truncated."""
    return not _CUT.isdisjoint(response.flags)


def is_html(response: Response) -> bool:
    """Whether the content is an HTML page, by its Content-Type if it has one that is valid.

    A page that Scrapy could not decompress counts too, though it is not a text response.
    """
    content_type = _content_type(response)
    if not isinstance(response, TextResponse):
        return content_type in _HTML and bool(response.body)
    if _TYPE.fullmatch(content_type):
        return content_type in _HTML
    return isinstance(response, HtmlResponse)


def metas_of(response: Response) -> list[Meta]:
    """The meta elements with a subject, in order."""
    found = []
    for one, in_head in _first_elements(response, HEAD_ELEMENTS, _unreadable, "meta"):
        name, property_name, http_equiv = one.get("name"), None, None
        if not name:
            property_name, http_equiv = one.get("property"), one.get("http-equiv")
        if name or property_name or http_equiv:
            content, line = one.get("content"), one.sourceline or 0
            found.append(Meta(name, content, line, in_head, property_name, http_equiv))
    return found


def anchors_of(response: Response) -> list[PageLink]:
    """The links of the page: each ``a`` and ``area`` with a target."""
    return [*_links(response, ANCHORS, _unread_links, "a", "area")]


def link_elements_of(response: Response) -> list[PageLink]:
    """The ``link`` elements of the page with a target, in order."""
    return [*_links(response, HEAD_ELEMENTS, None, "link")]


def elements_of(response: Response, *tags: str) -> Iterator[tuple[str, dict[str, str], int]]:
    """The elements of some names, in order, with their attributes and lines."""
    root = _root(response)
    for one in () if root is None else _elements(root, *tags):
        name = str(one.tag).removeprefix(_XHTML)
        yield name, {str(key): str(value) for key, value in one.items()}, one.sourceline or 0


def is_unreadable(response: Response) -> bool:
    """Whether a page could not be read to its end, so that what it says is unknown."""
    return response in _unreadable


def has_unread_links(response: Response) -> bool:
    """Whether a page, or the links in it, could not be read to the end."""
    return response in _unread_links or response in _unreadable


def set_unreadable(
    response: Response, problem: str, unread: WeakSet[Response] = _unreadable
) -> None:
    """Note that a page could not be read to its end, and why; it is logged once for a response."""
    if response not in unread:
        unread.add(response)
        logger.warning(
            "Cannot read all of %(page)s: %(problem)s",
            {"page": bare(response.url), "problem": problem},
        )


def base_url_of(response: Response) -> str:
    """The base URL of relative references in the page."""
    if not isinstance(response, TextResponse):
        return response.url
    try:
        return get_base_url(response)
    except ValueError:  # <base href="http://[">, which browsers ignore too
        return response.url


def resolved(response: Response, reference: str) -> str:
    """Resolve a reference to the form of `without_fragment`; empty if it is invalid."""
    encoding = response.encoding if isinstance(response, TextResponse) else "utf-8"
    try:
        url = response.urljoin(reference.strip(_HTML_SPACE))
        if _PLAIN.fullmatch(url):
            return url
        # Resolved twice, as link extractors do: <base href="data:,x"> resolves nothing.
        return without_fragment(safe_url_string(urljoin(response.url, url), encoding))
    except ValueError:
        return ""


def without_fragment(url: str) -> str:
    """A URL in a form for comparison."""
    bare = url.partition("#")[0]
    scheme, mark, rest = bare.partition("://")
    authority = rest.partition("?")[0]
    if mark and "/" not in authority:  # the empty path is "/"
        bare = f"{scheme}://{authority}/{rest[len(authority) :]}"
    return bare


def _content_type(response: Response) -> bytes:
    """The last Content-Type: a proxy may have joined several, as in ``text/html, text/html``."""
    lines = dict.get(response.headers, b"Content-Type")
    value: bytes = lines[-1] if lines else b""
    return value.rpartition(b",")[2].partition(b";")[0].strip().lower()


def _root(response: Response) -> _Element | None:
    """The first root of an HTML page; None for other responses, and if a page cannot be parsed."""
    if not is_html(response):
        return None
    root: Any = None
    try:
        root = response.selector.root  # type: ignore[attr-defined]  # caught
        problem = _limit_of(root)
    except Exception as error:  # noqa: BLE001 - a hostile page may cause any error
        problem = repr(error)
    if problem:
        set_unreadable(response, problem)
    return root if hasattr(root, "iter") else None


def _limit_of(root: Any) -> str:
    """The limit at which the parser stopped reading, such as that of nesting; usually empty."""
    parser = root.getroottree().parser if hasattr(root, "getroottree") else None
    error = None if parser is None else parser.error_log.last_error
    if error is None or error.type != ErrorTypes.ERR_RESOURCE_LIMIT:
        return ""
    return str(error.message)


def _elements(root: _Element, *tags: str) -> Iterator[_Element]:
    """The elements of some names; those after ``</html>`` are in further roots (libxml2 2.14)."""
    names = _names(root, *tags)
    for one in (root, *root.itersiblings("*")):
        yield from one.iter(*names)


def _names(root: _Element, *tags: str) -> tuple[str, ...]:
    is_xml = str(root.tag).startswith("{")  # XHTML has a namespace
    return tuple(f"{_XHTML}{tag}" for tag in tags) if is_xml else tags


def _first_elements(
    response: Response, most: int, unread: WeakSet[Response] | None, *tags: str
) -> Iterator[tuple[_Element, bool]]:
    """The first elements of some names, in order, and whether each is in the head.

    A page with more is noted in `unread`, if any. Each ancestor is visited once, and held until
    the end: when lxml frees an element, it looks for an ancestor that is held, at any distance.
    """
    root = _root(response)
    if root is None:
        return
    # A head after </html> is part of the body.
    head = next(root.iterchildren(*_names(root, "head")), None)
    held: dict[_Element, bool] = {}  # whether it is in the head, or is the head
    for number, one in enumerate(_elements(root, *tags)):
        if number == most or len(held) > 2 * most:
            around = "" if number == most else ", or elements around them"
            if unread is not None:
                problem = f"it has more than {most:,} {tags[0]} elements{around}"
                set_unreadable(response, problem, unread)
            break
        parent, new = one.getparent(), []
        while parent is not None and parent not in held:
            new.append(parent)
            parent = parent.getparent()
        in_head = parent is not None and held[parent]
        for parent in reversed(new):
            in_head = in_head or parent is head
            held[parent] = in_head
        yield one, in_head
    while held:
        held.popitem()  # the last one first: it is no ancestor of those before


def _links(
    response: Response, most: int, unread: WeakSet[Response] | None, *tags: str
) -> Iterator[PageLink]:
    for one, _ in _first_elements(response, most, unread, *tags):
        if (target := one.get("href")) is not None:
            rel, media_type = one.get("rel") or "", one.get("type") or ""
            yield PageLink(target, rel, media_type, one.sourceline or 0)

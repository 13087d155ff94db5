"""The resources of a page: the style sheets, scripts and images that its elements name.

Not included: resources that scripts load or style sheets import, and inline content. Cost: linear
in the page.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .page_html import elements_of, resolved

if TYPE_CHECKING:
    from scrapy.http import Response

STYLE, SCRIPT, IMAGE = "css", "js", "image"
_Reference = tuple[str, str]  # kind, and address as written
_Attributes = dict[str, str]

_ICONS = ("icon", "apple-touch-icon", "apple-touch-icon-precomposed", "mask-icon")
_RELS = {"stylesheet": STYLE, "modulepreload": SCRIPT, **dict.fromkeys(_ICONS, IMAGE)}
_LOADS = frozenset({"preload", "prefetch"})
_AS = {"style": STYLE, "script": SCRIPT, "image": IMAGE}
# Resources of other elements: the kind, and the attributes with an address and with a ``srcset``.
_LOADED = {
    "script": (SCRIPT, "src", ""),
    "img": (IMAGE, "src", "srcset"),
    "source": (IMAGE, "", "srcset"),  # of pictures: audio and video sources have no srcset
    "input": (IMAGE, "src", ""),
    "video": (IMAGE, "poster", ""),
}
_SOURCE = re.compile(r"[\s,]*(\S+)")


@dataclass(frozen=True, slots=True)
class Resource:
    """A resource of a page.

    Attributes:
        kind: ``css``, ``js`` or ``image``.
        url: absolute, without fragment.
        line: of the first element that names it, from 1; 0 if unknown.
    """

    kind: str
    url: str
    line: int


def resources_of(response: Response) -> Iterator[Resource]:
    """The resources of an HTML page, each once, in order; empty for other responses."""
    seen: set[_Reference] = set()
    for tag, attributes, line in elements_of(response, "link", "image", *_LOADED):
        for kind, written in _references(tag, attributes):
            url = resolved(response, written) if written.strip() else ""
            if url.startswith(("http://", "https://")) and (kind, url) not in seen:
                seen.add((kind, url))
                yield Resource(kind, url, line)


def _references(tag: str, attributes: _Attributes) -> Iterator[_Reference]:
    if tag == "link":
        yield from _link(attributes)
    elif tag == "image":  # within SVG
        yield IMAGE, attributes.get("href") or attributes.get("xlink:href", "")
    elif tag != "input" or attributes.get("type", "").strip().lower() == "image":
        kind, address, addresses = _LOADED[tag]
        yield kind, attributes.get(address, "")
        yield from _set_of(addresses, attributes)


def _link(attributes: _Attributes) -> Iterator[_Reference]:
    words = attributes.get("rel", "").lower().split()
    kinds = [_RELS[word] for word in words if word in _RELS]
    if not kinds and not _LOADS.isdisjoint(words):
        kinds = [_AS[name] for name in [attributes.get("as", "").lower()] if name in _AS]
    for kind in kinds[:1]:
        yield kind, attributes.get("href", "")
        yield from _set_of("imagesrcset", attributes)


def _set_of(name: str, attributes: _Attributes) -> Iterator[_Reference]:
    """The addresses in a ``srcset``: ``a.png 1x, b.png 2x``; an address may contain a comma."""
    text, at = attributes.get(name, ""), 0
    while found := _SOURCE.match(text, at):
        address, at = found[1], found.end()
        if address.endswith(","):
            address = address.rstrip(",")
        else:
            comma = text.find(",", at)
            at = len(text) if comma < 0 else comma + 1
        if address:
            yield IMAGE, address

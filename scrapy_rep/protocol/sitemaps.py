"""Sitemap lines as absolute URIs (sitemaps.org; RFC 9309, 2.2.4 names them as other records)."""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import urljoin

from .errors import InvalidUri
from .origin import Origin

_SCHEMES = ("http", "https")


def sitemap_uris(values: Iterable[bytes], robots_txt: str) -> tuple[str, ...]:
    """The values as absolute http(s) URIs, in order, each once; what is none is left out.

    `robots_txt` is the URI against which relative values are resolved; where it is empty they are
    left out. Octets that are no UTF-8 become U+FFFD, as a browser would read them.
    """
    uris = (sitemap_uri(value, robots_txt) for value in values)
    return tuple(dict.fromkeys(uri for uri in uris if uri))


def sitemap_uri(value: bytes, robots_txt: str) -> str | None:
    """One value as an absolute http(s) URI whose origin could be asked; None if it is none."""
    text = value.decode("utf-8", "replace")
    if not text:
        return None
    try:
        uri = urljoin(robots_txt, text)
        origin = Origin.of(uri)
    except (ValueError, InvalidUri):
        return None
    return uri if origin is not None and origin.scheme in _SCHEMES else None

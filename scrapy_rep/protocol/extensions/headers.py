"""The crawler's name in a User-Agent header: RFC 9309 leaves open how a crawler knows its own.

It says only that the product token should be a part of the header (2.2.1).
"""

from __future__ import annotations

import re

from scrapy_rep.protocol.tokens import is_name

# The parts of a browser's header, which name no crawler. Lower case.
_FURNITURE = frozenset(
    {
        *["mozilla", "applewebkit", "webkit", "khtml", "gecko", "like", "chrome", "chromium"],
        *["crios", "headlesschrome", "safari", "version", "mobile", "edg", "edge", "edga"],
        *["edgios", "firefox", "fxios", "opera", "opr", "presto", "trident", "msie"],
        *["samsungbrowser", "ucbrowser", "yabrowser", "vivaldi", "android", "linux", "windows"],
        *["macintosh", "iphone", "ipad", "x11", "ubuntu", "compatible"],
    }
)
_COMMENT = re.compile(r"\(([^()]*(?:\([^()]*\)[^()]*)*)\)")
_COMPATIBLE = re.compile(r"compatible;\s*([^\s/;,()]+)", re.IGNORECASE)
_PRODUCT = re.compile(r"(?<![^\s])([^\s/;,()]+)/([^\s;,()]*)")
_HEADER_LIMIT = 4096  # characters of a User-Agent header that are looked at


def token_from_user_agent(user_agent: str) -> str | None:
    """The crawler's name in a User-Agent header, or a name that stands alone; None if none does.

    A header names the crawler by the first product outside of comments (``Name/version``) that is
    no part of a browser's header, or by the product after ``compatible;`` in a comment, whichever
    comes first: later products are libraries. A URL's parts are never names.
    """
    header = user_agent.strip()[:_HEADER_LIMIT]
    if is_name(header):
        return None if header.lower() in _FURNITURE else header
    products = _PRODUCT.finditer(_COMMENT.sub(_blank, header))
    found = [(m.start(), m[1]) for m in products if not _is_url(m[1], m[2])]
    for comment in _COMMENT.finditer(header):
        product = _COMPATIBLE.search(comment[1])
        if product:
            found.append((comment.start(), product[1]))
    for _, name in sorted(found):
        if name.lower() not in _FURNITURE and is_name(name):
            return name
    words = _COMMENT.sub(_blank, header).split()
    if len(words) == 1 and words[0].lower() not in _FURNITURE and is_name(words[0]):
        return words[0]
    return None


def _is_url(name: str, version: str) -> bool:
    """Whether ``name/version`` is rather a URL without its scheme: ``www.example.com/bot``."""
    return "." in name and not version[:1].isdigit()


def _blank(match: re.Match[str]) -> str:
    return " " * len(match[0])

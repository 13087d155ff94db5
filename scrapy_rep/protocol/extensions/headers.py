"""Find the crawler's name in a User-Agent header.

RFC 9309, 2.2.1 says only that the header should contain the product token.
"""

from __future__ import annotations

import re

from scrapy_rep.protocol.tokens import is_name

# Parts of browsers' headers, in lower case; they never name a crawler.
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
_HEADER_LIMIT = 4096  # characters of a User-Agent header that are read


def token_from_user_agent(user_agent: str) -> str | None:
    """The crawler's name in a User-Agent header or in a text that is only a name, or None.

    The name is the first product outside comments (``Name/version``) that is not part of a
    browser's header, or the product after ``compatible;`` in a comment, whichever comes first:
    later products are libraries. Parts of a URL are never names.
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
    """Whether ``name/version`` is a URL without its scheme, such as ``www.example.com/bot``."""
    return "." in name and not version[:1].isdigit()


def _blank(match: re.Match[str]) -> str:
    return " " * len(match[0])

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
_HEAD = re.compile(r"\s*([^\s/;,()]+)(?=[\s(]|;\s|$)")
_PRODUCT = re.compile(r"(?<![^\s])([^\s/;,()]+)/([^\s;,()]*)")
_HEADER_LIMIT = 4096  # characters of a User-Agent header that are read


def tokens_from_user_agent(user_agent: str) -> tuple[str, ...]:
    """The crawler's names in a User-Agent header or in a text that is only a name, in order.

    The first product outside comments is a name, with a version or without. So is the first one
    with a version, and after them the product after ``compatible;`` in a comment. After a comment
    with such a product, products are libraries. Parts of a browser's header or of a URL are never
    names, nor is a word of a text that has neither versions nor comments.
    """
    header = user_agent.strip()[:_HEADER_LIMIT]
    outside = _COMMENT.sub(_blank, header)
    found = [
        (comment.start(), product[1])
        for comment in _COMMENT.finditer(header)
        if (product := _COMPATIBLE.search(comment[1])) and _is_crawler(product[1])
    ]
    end = found[0][0] if found else len(header)
    head = _HEAD.match(outside) if is_name(header) or re.search("[/(]", header) else None
    names = [head[1]] if head and head.start(1) < end and _is_crawler(head[1]) else []
    for product in _PRODUCT.finditer(outside, 0, end):
        if not _is_url(product[1], product[2]) and _is_crawler(product[1]):
            names.append(product[1])
            break
    return tuple(dict.fromkeys([*names, *(name for _, name in found)]))


def _is_crawler(name: str) -> bool:
    return name.lower() not in _FURNITURE and is_name(name)


def _is_url(name: str, version: str) -> bool:
    """Whether ``name/version`` is a URL without its scheme, such as ``www.example.com/bot``."""
    return "." in name and not version[:1].isdigit()


def _blank(match: re.Match[str]) -> str:
    return " " * len(match[0])

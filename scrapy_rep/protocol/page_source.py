"""The text file in the page that a browser makes of it.

Chromium and Firefox show a text file as a page with one `pre` element around it, and rendering
services answer with the source of that page. With this markup, the first line of a robots.txt names
no crawler, and its group is lost.
"""

from __future__ import annotations

import re
from html import unescape

_HIDDEN = (b"style", b"script", b"title", b"template", b"noscript")
_TAG = re.compile(rb"<(?:/?([A-Za-z][A-Za-z0-9-]*)|[!?])[^>]*>")
_OPEN = re.compile(rb"(?:\xef\xbb\xbf)?[ \t\r\n\f]*(<)(?:!doctype|html)", re.IGNORECASE)
# Numbers of any length would be expensive.
_REFERENCE = re.compile(r"&(?:#[0-9]{1,7}|#[xX][0-9A-Fa-f]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")


def text_in_page(octets: bytes) -> bytes | None:
    """The text of the only `pre` element of a page, if the page shows nothing else.

    A browser escapes each `<` of the text, so the text ends at the next tag. A page that is cut
    within the text counts, too, without its last line. None for all other octets; linear in them.
    """
    opening = _OPEN.match(octets)
    if opening is None:
        return None
    found: bytes | None = None
    lowered, at = octets.lower(), opening.start(1)
    while True:
        tag_at = octets.find(b"<", at)
        shown = octets[at:] if tag_at < 0 else octets[at:tag_at]
        if shown.strip():
            return None
        if tag_at < 0:
            return _unescaped(found) if found is not None and found.strip() else None
        tag = _TAG.match(octets, tag_at)
        if tag is None:
            return None
        at, name = tag.end(), (tag[1] or b"").lower()
        is_start = octets[tag_at + 1 : tag_at + 2] != b"/"
        if is_start and name in _HIDDEN:
            at = lowered.find(b"</" + name, at)
            if at < 0:
                return None
        elif is_start and name == b"pre":
            if found is not None:
                return None
            end = octets.find(b"<", at)
            found = octets[at:end] if end >= 0 else octets[at : octets.rfind(b"\n", at) + 1]
            at = end if end >= 0 else len(octets)


def _unescaped(octets: bytes) -> bytes:
    text = octets.decode("utf-8", "surrogateescape")
    text = _REFERENCE.sub(lambda reference: unescape(reference[0]), text)
    return text.encode("utf-8", "surrogateescape")

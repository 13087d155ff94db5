"""Repairs the text of damaged XML, so that a recovering parser continues after the damage.

libxml2 recovers from tags that do not match. But its incremental parser stops at a bare ``<``, and
drops every ``&amp;`` after any error. So each error between tags is repaired here:

* ``&`` and ``<`` that do not begin a reference or a tag are escaped;
* HTML entities become characters; others are escaped, even if a DOCTYPE declares them;
* characters that XML forbids are dropped; octets that are invalid in the encoding are
  percent-encoded;
* a CDATA section ends at the latest with the address or the entry around it.

Comments and instructions are left out. Time is linear in the text.
"""

from __future__ import annotations

import re
import sys
from html.entities import html5

from .unpacking import percent_encoded

_FORBIDDEN = re.compile("[\0-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_NAME = r"[A-Za-z_][\w.:-]{0,255}"
_REST_OF_TAG = rf"""/?{_NAME}(?:\s+{_NAME}\s*=\s*(?:"[^"<]*"|'[^'<]*')){{0,100}}\s*/?>"""
_INSTRUCTION = r"\?(?:(?!\?>|</|<\?\w).)*"
_SPECIAL = re.compile(  # each alternative begins with a character, to be found fast
    rf"""
      <(?!{_REST_OF_TAG}) (?:
          (?P<aside> !--.*?--> | {_INSTRUCTION}\?>)
        | !\[CDATA\[ (?P<cdata>.*?)
          (?: \]\]> | (?=</(?:{_NAME}:)?(?:loc|link|url|sitemap)\s*>))
        | (?P<open_tag> (?: !--.* | !\[CDATA\[.* | {_INSTRUCTION} | [^<]*) \Z)
        | (?P<bare_sign>)
      )
    | & (?:
          \#(?P<number>[0-9]{{1,20}}|x[0-9a-fA-F]{{1,20}});
        | (?P<entity>[A-Za-z]\w{{0,63}});
        | (?P<open_reference> \#?\w{{0,63}}\Z)
        | (?P<bare_and>)
      )
    | \] (?: \](?P<bare_end>>) | (?P<open_end>\]?\Z))
    """,
    re.ASCII | re.DOTALL | re.VERBOSE,
)
_PREDEFINED = ("amp", "lt", "gt", "quot", "apos")
_ESCAPES = {ord(sign): f"&#{ord(sign)};" for sign in "&<>\"'"}
_NO_CHARACTER = "a character that XML forbids"


class XmlMender:
    """Repairs the text of one file, piece by piece.

    Attributes:
        damage: the first error, in words; empty without one.
        damages: the number of errors.
    """

    def __init__(self) -> None:
        self.damage = ""
        self.damages = 0
        self._rest = ""  # an unfinished tag or reference

    @property
    def is_in_end_tag(self) -> bool:
        """Whether the text so far ends within an end tag."""
        return self._rest.startswith("</")

    def note(self, damage: str) -> None:
        """Note an error."""
        self.damage = self.damage or damage
        self.damages += 1

    def mended(self, text: str) -> str:
        """The text, well-formed except for the pairing of tags; an unfinished part is kept."""
        encoded = percent_encoded(text)
        if encoded != text:
            self.note("octets that are invalid in its encoding")
        if _FORBIDDEN.search(encoded):
            self.note(_NO_CHARACTER)
            encoded = _FORBIDDEN.sub("", encoded)
        text, self._rest = self._rest + encoded, ""
        return _SPECIAL.sub(self._replacement, text)

    def _replacement(self, found: re.Match[str]) -> str:
        kind = found.lastgroup or ""
        said = found[kind]
        if kind == "aside":
            return ""
        if kind.startswith("open"):
            self._rest = found[0]
            return ""
        if kind == "number":
            return self._character(int(said[1:], 16) if said.startswith("x") else int(said))
        if kind == "cdata" and found[0].endswith("]]>"):
            meaning = said
        elif kind == "cdata":
            self.note("a CDATA section that does not end")
            meaning = said.rstrip("]>")
        else:
            if said not in _PREDEFINED:
                self.note(f"{found[0]!r} is not XML")
            meaning = html5.get(f"{said};", found[0])
        return meaning.translate(_ESCAPES)

    def _character(self, code: int) -> str:
        if code <= sys.maxunicode and not _FORBIDDEN.match(chr(code)):
            return f"&#{code};"
        self.note(_NO_CHARACTER)
        return ""

"""Read the lines of a robots.txt into records (RFC 9309, 2.2); no other module does this.

Takes the octets of a file and gives records with the offset of their line. Never raises for any
octets. Time is linear in the octets; memory is one copy of them and one block of lines.

The grammar of RFC 9309::

    rule  = *WS ("allow" / "disallow") *WS ":" *WS (path-pattern / empty-pattern) EOL
    EOL   = *WS [comment] NL
    NL    = %x0D / %x0A / %x0D.0A
    WS    = %x20 / %x09

Deviations for real files, each as Google reads them, so that rules meant to disallow do so:
a key may continue after its word (``Disallows``), may be misspelt in the ways of ``_KEYS``, and the
colon may be missing if a line is exactly two words. Vertical tab and form feed are white space.
"""

from __future__ import annotations

import re
from codecs import getincrementaldecoder
from collections.abc import Iterator
from enum import Enum

from .compressed import GZIP_MAGIC, without_gzip
from .page_source import text_in_page

PARSE_LIMIT_OCTETS = 500 * 1024
"""The smallest parse limit that RFC 9309, 2.5 permits, and our default."""

LINE_LIMIT_OCTETS = 2083 * 8 - 1
"""Where a line is cut, as in Google's parser: eight times the longest URL of old browsers."""

_BLOCK_OCTETS = 1 << 16  # lines are split block by block, so that 500 KiB of newlines stay cheap

_LONE_CR = re.compile(rb"\r(?!\n)")
_UTF8_BOM = re.compile(rb"\A\xef(?:\xbb\xbf?)?")
_UTF16_BOMS = (b"\xff\xfe", b"\xfe\xff")
_UTF32_BOMS = (b"\xff\xfe\0\0", b"\0\0\xfe\xff")
BOMS_WITH_NUL = (*_UTF16_BOMS, *_UTF32_BOMS)
"""The beginnings of files in UTF-16 and UTF-32, which have many NUL octets."""

_NOTHING_ALLOWED = b"User-agent: *\nDisallow: /\n"


class Coding(Enum):
    """An encoding of a whole file that only some clients can read."""

    GZIP = "gzip"
    DAMAGED_GZIP = "damaged gzip"
    UTF16 = "utf-16"
    UTF32 = "utf-32"
    PAGE_SOURCE = "page source of a browser"


Codings = tuple[Coding, ...]
"""The codings of one file, the outer one first."""


class Kind(Enum):
    """The kind of a record; every key except the first four is an "other record" (2.2.4)."""

    USER_AGENT = "user-agent"
    ALLOW = "allow"
    DISALLOW = "disallow"
    SITEMAP = "sitemap"
    OTHER = "other"


RULES = (Kind.ALLOW, Kind.DISALLOW)

_KEYS = {
    Kind.USER_AGENT: (b"user-agent", b"useragent", b"user agent"),
    Kind.ALLOW: (b"allow",),
    Kind.DISALLOW: (b"disallow", b"dissallow", b"dissalow", b"disalow", b"diasllow", b"disallaw"),
    Kind.SITEMAP: (b"sitemap", b"site-map"),
}

# The spellings of nearly every real line: one look-up instead of `read_line`. The table only saves
# time, since `read_line` reads them as the same kinds.
_USUAL_KEYS = {
    spelling: kind
    for kind, keys in _KEYS.items()
    for spelling in (keys[0], keys[0].capitalize(), keys[0].title(), keys[0].upper())
}

SITEMAP_KEYS = _KEYS[Kind.SITEMAP]
"""Every Sitemap line contains one of these in lower case."""

KNOWN_KEYS = frozenset(
    {
        *[b"crawl-delay", b"request-rate", b"visit-time", b"host", b"clean-param", b"license"],
        *[b"content-signal", b"content-signals", b"content-usage", b"noindex", b"agentmap"],
    }
)
"""Keys of other records that some crawler reads, in lower case."""

WHITE_SPACE = " \t\v\f"
_STARTS_OF_RULES = frozenset({*"aAdD", *WHITE_SPACE})
_ALLOW, _DISALLOW = (b"|".join(_KEYS[kind]).decode() for kind in (Kind.ALLOW, Kind.DISALLOW))
# The start of a rule, up to its colon if it has one. Most other lines need only this one check.
_RULE = rf"[{WHITE_SPACE}]*(?:({_ALLOW})|{_DISALLOW})[^:#\n]*(:?)[{WHITE_SPACE}]*"
_START_OF_RULE = re.compile(_RULE, re.IGNORECASE | re.ASCII)
_NEXT_START_OF_RULE = re.compile(rf"\n{_RULE}".encode(), re.IGNORECASE)
_USUAL_USER_AGENT = b"user-agent:"
_USUAL_OPENING = b"\nuser-agent: "

Record = tuple[int, Kind, bytes, bytes]
"""Offset of the line, kind, key as written, value without comment and outer white space."""


def clean(body: bytes, limit_octets: int = PARSE_LIMIT_OCTETS) -> tuple[bytes, bool, Codings]:
    """The parseable octets, with LF as the only line end.

    Returns:
        The octets; whether the parse limit cut them; their codings. A line that the limit cuts is
        dropped whole, since half a rule is another rule (RFC 9309, 2.5).

    A UTF-8 byte order mark, or the start of one, is skipped. UTF-16 and UTF-32 are decoded and gzip
    is decompressed, which the RFC does not require: read as plain octets, such a file would contain
    no rule, and so permit everything. If gzip can't be decompressed, nothing is allowed. The page
    that a browser makes of a text file is read as this file: see `page_source`.

    UTF-16 contains a NUL with each LF. So a file with its byte order mark but without NUL is not
    UTF-16, and decoding would lose all rules. Only the two octets of the mark are skipped.
    """
    codings: list[Coding] = []
    if body.startswith(GZIP_MAGIC):
        found = without_gzip(body, limit_octets)
        if found is None:
            return _NOTHING_ALLOWED, False, (Coding.DAMAGED_GZIP,)
        body = found
        codings.append(Coding.GZIP)
    if (text := text_in_page(body)) is not None:
        body = text
        codings.append(Coding.PAGE_SOURCE)
    is_cut = len(body) > limit_octets
    octets = body[:limit_octets] if is_cut else body
    unicode = _unicode_coding(octets)
    if unicode is not None:
        codings.append(unicode)
        # An incomplete character at the end would become part of the last rule, and change it.
        decoder = getincrementaldecoder(unicode.value)("replace")
        octets = decoder.decode(octets).encode("utf-8", "replace")
    elif octets.startswith(_UTF16_BOMS):
        octets = octets[2:]
    else:
        octets = _UTF8_BOM.sub(b"", octets)
    if b"\r" in octets:
        if _LONE_CR.search(octets) is not None:
            octets = octets.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        octets = octets.replace(b"\r", b"")  # deleting one octet is faster than replacing two
    if is_cut and (unicode is not None or body[limit_octets] not in b"\r\n"):
        octets = octets[: octets.rfind(b"\n") + 1]
    if b"\0" in octets:
        octets = re.sub(rb"\0[^\n]*", b"", octets)
    return octets, is_cut, tuple(codings)


def _unicode_coding(octets: bytes) -> Coding | None:
    if octets.startswith(_UTF32_BOMS):
        return Coding.UTF32
    return Coding.UTF16 if octets.startswith(_UTF16_BOMS) and b"\0" in octets else None


def records(octets: bytes, start: int = 0, stop: int | None = None) -> Iterator[Record]:
    """The records of cleaned octets from `start`, the offset of a line, up to `stop`."""
    stop = len(octets) if stop is None else stop
    while start < stop:
        block_stop = _block_stop(octets, start, stop)
        for raw in octets[start:block_stop].split(b"\n"):
            if raw:
                key, colon, value = raw.partition(b":")
                kind = _USUAL_KEYS.get(key) if colon else None
                if kind is None or b"#" in value or len(raw) > LINE_LIMIT_OCTETS:
                    record = read_line(raw)
                    if record is not None:
                        yield (start, *record)
                else:
                    yield start, kind, key, value.strip()
            start += len(raw) + 1


def rules(octets: bytes, start: int, stop: int, disallow: list[str], allow: list[str]) -> None:
    """Add the values of the rules from `start` up to `stop`, one character per octet.

    The values may keep outer white space. Does the same as `records`, but only for rules, with one
    check for nearly every line; linear. `benchmarks/parsers.py` shows the cost as "parse + first".
    """
    while start < stop:
        block_stop = _block_stop(octets, start, stop)
        block = octets[start:block_stop].decode("latin-1")
        lines = block.split("\n")
        if "#" in block or len(block) > LINE_LIMIT_OCTETS:
            lines = [line[:LINE_LIMIT_OCTETS].partition("#")[0] for line in lines]
        for line in lines:
            if line[:10] == "Disallow: ":
                disallow.append(line[10:])
            elif line[:7] == "Allow: ":
                allow.append(line[7:])
            elif line[:1] in _STARTS_OF_RULES:
                found = _START_OF_RULE.match(line)
                if found:
                    value = line[found.end() :] if found[2] else _second_word(line)
                    if value is not None:
                        (allow if found[1] else disallow).append(value)
        start = block_stop + 1


def _second_word(line: str) -> str | None:
    words = line.encode("latin-1").split()  # str.split() would split at more characters
    return words[1].decode("latin-1") if len(words) == 2 else None  # noqa: PLR2004 - with the key


def _block_stop(octets: bytes, start: int, stop: int) -> int:
    if stop - start <= _BLOCK_OCTETS:
        return stop
    block_stop = octets.find(b"\n", start + _BLOCK_OCTETS, stop)
    return stop if block_stop < 0 else block_stop


def has_rule(octets: bytes, start: int, stop: int) -> bool:
    """Whether there is a rule between the end of one line and the start of another; linear."""
    found = _NEXT_START_OF_RULE.search(octets, start, stop)
    while found:
        if found[2] and found.end() - found.start() <= LINE_LIMIT_OCTETS:
            return True
        start = octets.find(b"\n", found.end(), stop)
        record = read_line(octets[found.start() + 1 : start if start >= 0 else stop])
        if record is not None and record[0] in RULES:
            return True
        found = _NEXT_START_OF_RULE.search(octets, start, stop) if start >= 0 else None
    return False


def read_line(raw: bytes) -> tuple[Kind, bytes, bytes] | None:
    """Kind, key and value of one line without its end; None if it holds no record."""
    content = raw[:LINE_LIMIT_OCTETS].partition(b"#")[0]
    key, colon, value = content.partition(b":")
    if not colon:
        words = content.split()
        if len(words) != 2:  # noqa: PLR2004 - a key and a value
            return None
        key, value = words
    key = key.strip()
    if not key:
        return None
    return _kind_of(key), key, value.strip()


def _kind_of(key: bytes) -> Kind:
    lowered = key.lower()
    for kind, spellings in _KEYS.items():
        if lowered.startswith(spellings):
            return kind
    return Kind.OTHER


UserAgentLine = tuple[int, int, bytes]
"""Start and stop of a user-agent line, and its value."""


class UserAgentLines:
    """The user-agent lines of cleaned octets.

    Reads only lines that contain the word "agent", as every spelling of the key does: most lines of
    a file are rules. Linear in the octets.
    """

    __slots__ = ("_lowered", "_octets")

    def __init__(self, octets: bytes) -> None:
        self._octets = octets
        self._lowered = octets.lower()

    def __iter__(self) -> Iterator[UserAgentLine]:
        """All of them, in order."""
        line = self.after(0)
        while line is not None:
            yield line
            line = self.after(line[1])

    def after(self, start: int, openings: tuple[bytes, ...] = ()) -> UserAgentLine | None:
        """The first user-agent line at or after an offset, or None.

        If `openings` is given, lines that name other crawlers may be skipped with one check: lines
        in the usual form, if their value in lower case does not start with one of the openings.
        """
        octets, lowered = self._octets, self._lowered
        found = lowered.find(b"agent", start)
        while found >= 0:
            if (
                openings
                and lowered[found - 6 : found + 7] == _USUAL_OPENING
                and not lowered.startswith(openings, found + 7)
            ):
                found = lowered.find(b"agent", found + 7)
                continue
            start = lowered.rfind(b"\n", 0, found) + 1
            stop = lowered.find(b"\n", found)
            if stop < 0:
                stop = len(octets)
            raw = octets[start:stop]
            if (
                lowered.startswith(_USUAL_USER_AGENT, start)
                and b"#" not in raw
                and len(raw) <= LINE_LIMIT_OCTETS
            ):
                return start, stop, raw[len(_USUAL_USER_AGENT) :].strip()
            record = read_line(raw)
            if record is not None and record[0] is Kind.USER_AGENT:
                return start, stop, record[2]
            found = lowered.find(b"agent", stop)
        return None


def line_number(octets: bytes, offset: int) -> int:
    """The number of the line at an offset of cleaned octets, from 1 as in an editor."""
    return octets.count(b"\n", 0, offset) + 1

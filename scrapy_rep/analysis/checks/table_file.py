"""Rows of the table: octets, the file as a whole, and its lines."""

from __future__ import annotations

from .codes import Check, Code, Severity

_GOOD = b"User-agent: *\nDisallow: /private/\n"
_GZIP = bytes.fromhex(
    "1f8b08000000000002ff0b2d4e2dd24d4c4fcd2bb152d0e272c92c4eccc9c92fb752d02f28ca2c4b"
    "2c49d5e7020061298f7722000000"
)
"""The good file, compressed."""

FILE = (
    Check(
        Code.BOM,
        Severity.INFO,
        "the file begins with a byte order mark, which some crawlers read as part of the first key",
        "save the file as UTF-8 without a byte order mark",
        b"\xef\xbb\xbf" + _GOOD,
        _GOOD,
    ),
    Check(
        Code.UTF16,
        Severity.WARNING,
        "the file is in UTF-16 instead of UTF-8",
        "save the file as UTF-8; to most crawlers it is empty, which permits everything",
        _GOOD.decode().encode("utf-16"),
        _GOOD,
    ),
    Check(
        Code.NOT_UTF8,
        Severity.WARNING,
        "these octets are no UTF-8; they are compared as they are, which few crawlers do",
        "save the file as UTF-8, or write the octets as percent-escapes",
        b"User-agent: *\nDisallow: /caf\xe9/\n",
        b"User-agent: *\nDisallow: /caf%C3%A9/\n",
    ),
    Check(
        Code.NUL,
        Severity.ERROR,
        "a NUL ends the content of its line",
        "remove the NUL and what follows it on its line, which is not read",
        b"User-agent: *\nDisallow: /a\0b\n",
        b"User-agent: *\nDisallow: /a\n",
    ),
    Check(
        Code.CR_ONLY,
        Severity.WARNING,
        "lines end with CR alone, which some crawlers do not take for a line end",
        "end lines with LF or CRLF",
        b"User-agent: *\rDisallow: /private/\r",
        b"User-agent: *\r\nDisallow: /private/\r\n",
    ),
    Check(
        Code.PARSE_LIMIT,
        Severity.ERROR,
        "the file is larger than the parse limit; what follows it is ignored",
        "keep the file below 500 KiB: merge rules with wildcards, or move pages under one path",
        b"User-agent: *\n" + b"Disallow: /private/\n" * 26_000,
        _GOOD,
    ),
    Check(
        Code.MARKUP,
        Severity.ERROR,
        "the file is markup; only lines that read as records count",
        "serve a plain text file, or answer 404 if there is none",
        b"<!doctype html>\n<html><body>Not found</body></html>\n",
        _GOOD,
    ),
    Check(
        Code.JSON,
        Severity.ERROR,
        "the file is JSON; only lines that read as records count",
        "serve a plain text file, or answer 404 if there is none",
        b'{"error": "not found"}\n',
        _GOOD,
    ),
    Check(
        Code.EMPTY_FILE,
        Severity.INFO,
        "the file is empty, so everything is allowed",
        "say so in words: a group for * with an empty Disallow",
        b"\n",
        b"User-agent: *\nDisallow:\n",
    ),
    Check(
        Code.NO_GROUPS,
        Severity.WARNING,
        "the file has no user-agent line, so it forbids nothing",
        "begin each group with User-agent",
        b"Sitemap: https://example.com/sitemap.xml\n",
        _GOOD,
    ),
    Check(
        Code.TOO_MANY_RULES,
        Severity.WARNING,
        "the file has more than 2,048 rules; Yandex reads no more",
        "merge rules with wildcards, or move pages under one path",
        b"User-agent: *\n" + b"".join(b"Disallow: /p%d/\n" % number for number in range(2049)),
        b"User-agent: *\nDisallow: /p*/\n",
    ),
    Check(
        Code.TOO_MANY_FINDINGS,
        Severity.INFO,
        "more lines have this; they are not listed",
        "fix those above, and look again",
        b"User-agent: *\n" + b"Disallow: private/\n" * 1001,
        b"User-agent: *\n" + b"Disallow: private/\n" * 3,
    ),
    Check(
        Code.EFFECT_NOT_CHECKED,
        Severity.INFO,
        "the file is too large for all checks of effect (REP8xx); those beyond are left out",
        "make the file smaller",
        b"User-agent: *\n" + b"".join(b"Disallow: /*%d*a\n" % number for number in range(3000)),
        _GOOD,
    ),
    Check(
        Code.UTF32,
        Severity.WARNING,
        "the file is in UTF-32 instead of UTF-8",
        "save the file as UTF-8; to most crawlers it is empty, which permits everything",
        _GOOD.decode().encode("utf-32"),
        _GOOD,
    ),
    Check(
        Code.GZIP,
        Severity.WARNING,
        "the file is gzip, as no header says; it is decompressed, which few crawlers do",
        "serve the file as text, or with Content-Encoding: gzip; to most crawlers it is empty, "
        "which permits everything",
        _GZIP,
        _GOOD,
    ),
    Check(
        Code.GZIP_DAMAGED,
        Severity.ERROR,
        "the file begins as gzip does, and can't be decompressed; nothing is allowed",
        "serve the file as text",
        _GZIP[:20],
        _GOOD,
    ),
)

LINES = (
    Check(
        Code.MISSING_COLON,
        Severity.WARNING,
        "the colon is missing; exactly two words are read as key and value, by some crawlers",
        "put a colon after the key",
        b"User-agent: *\nDisallow /private/\n",
        _GOOD,
    ),
    Check(
        Code.NO_RECORD,
        Severity.ERROR,
        "the line is no record and is ignored",
        "put # in front of it; what is to be read is written as 'key: value'",
        b"User-agent: *\nplease stay out of here\nDisallow: /private/\n",
        b"User-agent: *\n# please stay out of here\nDisallow: /private/\n",
    ),
    Check(
        Code.UNKNOWN_KEY,
        Severity.WARNING,
        "no crawler is known that reads this key; the record is ignored",
        "remove the line, or put # in front of it",
        b"User-agent: *\nDisallow: /private/\nColour: blue\n",
        _GOOD,
    ),
    Check(
        Code.UNSUPPORTED_KEY,
        Severity.INFO,
        "the key is known, but no crawler of today reads it",
        "remove the line, or put # in front of it",
        b"Robot-version: 2.0\nUser-agent: *\nDisallow: /private/\n",
        _GOOD,
    ),
    Check(
        Code.MISSPELT_KEY,
        Severity.WARNING,
        "the key is misspelt in a way that some crawlers read, and others do not",
        "write User-agent, Disallow or Sitemap",
        b"User-agent: *\nDissallow: /private/\n",
        _GOOD,
    ),
    Check(
        Code.NEAR_KEY,
        Severity.ERROR,
        "the key is not known, but it is nearly one that is; the record is ignored",
        "write the key that is meant",
        b"User-agent: *\nDisallow: /\nAlow: /public/\n",
        b"User-agent: *\nDisallow: /\nAllow: /public/\n",
    ),
    Check(
        Code.KEY_GOES_ON,
        Severity.WARNING,
        "the key goes on after a known word; Google reads it as that word, others do not",
        "write the key alone",
        b"User-agent: *\nDisallowed: /private/\n",
        _GOOD,
    ),
    Check(
        Code.LINE_TOO_LONG,
        Severity.ERROR,
        "the line is longer than 16,663 octets; the rest of it is ignored",
        "remove what stands beyond, which is not read",
        b"User-agent: *\nDisallow: /" + b"a" * 17_000 + b"\n",
        _GOOD,
    ),
    Check(
        Code.INVISIBLE_CHARACTER,
        Severity.ERROR,
        "the line begins with a character that can't be seen, which makes its key another one",
        "remove the character, and write the line anew",
        b"User-agent: *\n\xe2\x80\x8bDisallow: /private/\n",
        _GOOD,
    ),
    Check(
        Code.KEY_MISSING,
        Severity.ERROR,
        "the line begins with its colon; without a key it is ignored",
        "put # in front of it; if a record is meant, write its key in front of the colon",
        b"User-agent: *\n: /private/\n",
        _GOOD,
    ),
)

"""Comments in a file that suppress findings about it.

::

    Disallow: /*?sort=   # rep: ignore REP509
    # rep: ignore leading-star, REP8: old links
    Disallow: */print/
    # rep: ignore-file REP605

After a record, the comment applies to its line. On a line of its own, it applies to the next line
that contains more than a comment. ``ignore-file`` applies to all lines and to the file as a whole,
wherever it is. Codes are written as for ``--select``, separated by commas; only codes of the form
``REP401`` may also be separated by a blank. The text after the last code is a reason, and its words
are not read as codes: "REP509 all of these are old" suppresses REP509, but not ``all``. A comment
without any code applies to all codes; ``ignore-file`` needs at least one.

Cost: linear in the octets.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from scrapy_rep.extras.webmaster.checks.codes import GROUPS, Code
from scrapy_rep.extras.webmaster.findings import Finding
from scrapy_rep.protocol.lines import clean

_COMMENT = re.compile(rb"#[ \t]*rep:[ \t]*(ignore(?:-file)?)(?![\w-])[ \t:=]*(.*)", re.IGNORECASE)


# Codes are separated by commas; only those of this form, by blanks too.
_WORDS = re.compile(r"[^,;:\s]+(?:\s*,\s*[^,;:\s]+|\s+REP\d+(?![^,;:\s]))*", re.IGNORECASE)
_BETWEEN = re.compile(r"[\s,]+")


@dataclass
class Suppressions:
    """The findings that the comments of a file suppress.

    Attributes:
        unknown: pairs of a line number, and a word on that line that is not a code.
    """

    unknown: list[tuple[int, str]] = field(default_factory=list)
    _of_file: set[Code] = field(default_factory=set)
    _by_line: dict[int, set[Code]] = field(default_factory=dict)

    @classmethod
    def of(cls, body: bytes) -> Suppressions:
        """Read the comments of a file."""
        found = cls()
        octets = clean(body)[0]
        if b"#" not in octets:
            return found
        pending: set[Code] = set()
        for number, line in enumerate(octets.split(b"\n"), start=1):
            before, mark, _ = line.partition(b"#")
            codes = found._read(number, line[len(before) :]) if mark else set()
            if not before.strip():
                pending |= codes if mark else set()
                continue
            codes |= pending
            pending = set()
            if codes:
                found._by_line[number] = codes
        return found

    def _read(self, number: int, comment: bytes) -> set[Code]:
        """The codes for a line, or for the next one; those for the file are kept in `_of_file`."""
        match = _COMMENT.match(comment)
        if match is None:
            return set()
        codes: set[Code] = set()
        found = _WORDS.search(match[2].decode("latin-1"))
        words = _BETWEEN.split(found[0]) if found else []
        for word in words:
            named = codes_of(word)
            if not named:
                if not codes:
                    self.unknown.append((number, word))
                break  # a reason
            codes |= named
        if match[1].lower() == b"ignore":
            return codes if words else set(Code)
        self._of_file |= codes
        if not words:
            self.unknown.append((number, "nothing"))
        return set()

    def covers(self, finding: Finding) -> bool:
        """Whether a finding is suppressed."""
        code = finding.code
        return code in self._of_file or code in self._by_line.get(finding.line, ())


def codes_of(word: str) -> frozenset[Code]:
    """The codes that a word names: a code, its name, its beginning, or a group; may be empty."""
    if word.lower() in GROUPS:
        return GROUPS[word.lower()]
    start = word.upper()
    begun = {code for code in Code if start[:3] == "REP" and code.value.startswith(start)}
    return frozenset(begun | {code for code in Code if code.slug == word.lower()})


def without_suppressed(body: bytes, findings: Iterable[Finding]) -> list[Finding]:
    """The findings that the file itself does not suppress."""
    comments = Suppressions.of(body)
    return [finding for finding in findings if not comments.covers(finding)]

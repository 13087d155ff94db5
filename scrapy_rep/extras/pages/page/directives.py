"""The grammar of page rules: one line of X-Robots-Tag, or the content of one meta element.

Commas separate segments. For the crawler ``foobot``::

    noarchive, otherbot: noindex, foobot: nofollow, unavailable_after: Wed, 03 Dec 2025 13:09:53 GMT
    everyone   otherbot           foobot            foobot; the weekday joins the next segment

A name applies up to the next name, or to the end of the line. A name in front of an unknown rule,
as in ``max-audio-preview: 3``, is part of that rule: as a crawler's name it would hide the rules
after it. Unreadable text never hides a readable rule.

Linear in the octets: a fixed number of expressions reads each segment, each can match in one way
only, and a segment is split at most twice. Each segment, and each piece of one, is a step of work:
the lines of a page may take `PAGE_STEPS` together. A real page takes less than a hundred.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from scrapy_rep.protocol.fields.remarks import Problem, Remarks, Source
from scrapy_rep.protocol.wildcards import OutOfWork, Work

from .dates import is_weekday
from .rule_words import SPELLINGS, UNAVAILABLE_AFTER, VALUED, WORDS, Value, lowered

Directive = tuple[str, Value]
"""A rule and its value."""

PAGE_STEPS = 2_000
"""The most segments, pieces and elements with rules that are read of a page."""

LINE_CHARACTERS = 64 * 1024
"""The most characters that are read of one line."""

# Characters around words that do not belong to them: white space, zero-width marks, quotes.
_AROUND = (
    " \t\n\r\v\f\x1c\x1d\x1e\x1f\x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007"
    "\u2008\u2009\u200a\u200b\u2028\u2029\u202f\u205f\u2060\u3000\ufeff\udca0"
    "\"'`\u2018\u2019\u201a\u201c\u201d\u201e\u00ab\u00bb"
)
_VALUED = re.compile(
    rf"({'|'.join(sorted(map(re.escape, SPELLINGS), key=len, reverse=True))})\s*[:=](.*)",
    re.IGNORECASE | re.ASCII | re.DOTALL,
)
_NO_WORD = re.compile(r"no[\s_-]+([a-z]+)", re.ASCII)
_SEPARATORS = re.compile(r"[;|/+&]")
_AFTER_VALUE = re.compile(r"[;|&]")
_PLAIN: dict[str, tuple[Directive, ...]] = {
    word: tuple((rule, True) for rule in rules) for word, rules in WORDS.items()
}
EVERYBODY = frozenset(["", "*", "robots", "x-robots-tag"])
"""The names that apply to every crawler."""


def is_everyone(name: str) -> bool:
    """Whether the name in a field's line or of an element applies to every crawler."""
    return lowered(name) in EVERYBODY


class RuleLine:
    """One line of a field, or the content of one element, read for a crawler.

    Attributes:
        speaks_to_us: tells whether a name applies to this crawler, because it is everyone's, or as
            a user-agent line would name it.
        source: the source of the line.
        remarks: takes remarks on unusual text.
        work: the steps that are left.
    """

    def __init__(
        self, speaks_to_us: Callable[[str], bool], source: Source, remarks: Remarks, work: Work
    ) -> None:
        self._speaks_to_us = speaks_to_us
        self._source = source
        self._remarks = remarks
        self._work = work

    def rules(self, text: str) -> Iterator[Directive]:
        """The rules for this crawler in the text of the line, in order.

        Raises:
            OutOfWork: the line, or those before it, are too long; raised after the rules so far.
        """
        yield from self._rules(text[:LINE_CHARACTERS])
        if len(text) > LINE_CHARACTERS:
            raise OutOfWork

    def _rules(self, text: str) -> Iterator[Directive]:
        is_ours = True
        segments = text.split(",")
        at = 0
        while at < len(segments):
            self._work.take(1)
            segment = segments[at].strip(_AROUND)
            at += 1
            if not segment:
                continue
            # Nearly every segment of a real page is one plain word.
            found: Sequence[Directive] | None
            found = _PLAIN.get(segment) or _PLAIN.get(lowered(segment))
            if found is None:
                valued = _VALUED.match(segment)
                if valued is None and ":" in segment:
                    is_ours, segment, before = self._agent(segment, is_ours)
                    yield from before
                    if not segment:
                        continue
                    valued = _VALUED.match(segment)
                if valued is None:
                    found = self._unvalued(segment)
                else:
                    following = segments[at] if at < len(segments) else ""
                    found, takes_next = self._valued(valued, following)
                    at += takes_next
            if is_ours:
                yield from found

    def _agent(self, segment: str, is_ours: bool) -> tuple[bool, str, list[Directive]]:
        """Whether the next rules are for us; the rest of the segment; rules before the name."""
        before, _, rest = segment.partition(":")
        pieces = before.split()
        rest = rest.strip(_AROUND)
        said: list[Directive] = []
        if len(pieces) > 1:  # as in "noindex; otherbot: nofollow"
            said = self._words(" ".join(pieces[:-1])) if is_ours else []
            pieces = pieces[-1:] if said else pieces[:1]
        name = pieces[0].strip(_AROUND) if pieces else ""
        if self._speaks_to_us(name):
            return True, rest, said
        if _known(name):  # as in "noindex: nofollow", which names no crawler
            said += self._words(name) if is_ours else []
            return is_ours, rest, said
        if not rest or self._is_rule(rest):
            return False, rest, said
        return is_ours, segment, said

    def _is_rule(self, text: str) -> bool:
        is_one = _known(text) is not None or _VALUED.match(text) is not None
        return is_one or any(_known(piece) is not None for piece in self._pieces(text))

    def _unvalued(self, segment: str) -> Sequence[Directive]:
        """The rules of a segment without a name and a value."""
        plain = _PLAIN.get(lowered(segment))
        if plain is not None:
            return plain
        known = _known(segment)
        if known is None:
            return self._words(segment)
        self._remarks.add(Problem.UNUSUAL_SPELLING, self._source, segment)
        return known

    def _valued(self, valued: re.Match[str], following: str) -> tuple[list[Directive], bool]:
        """The rules of a segment with a value, and whether it includes the next segment."""
        name = SPELLINGS[lowered(valued[1])]
        value = valued[2].strip(_AROUND)
        if name == UNAVAILABLE_AFTER and is_weekday(value):
            joined = f"{value}, {following.strip(_AROUND)}"
            found, is_read = self._with_value(name, joined)
            if is_read:
                return found, True
        return self._with_value(name, value)[0], False

    def _with_value(self, name: str, text: str) -> tuple[list[Directive], bool]:
        """The rules of a value and of words after it; whether the value could be read."""
        read = VALUED[name].read
        value, rest = read(text), ""
        if value is None:  # as in "max-snippet: 20; noindex"
            parts = _AFTER_VALUE.split(text, maxsplit=1)
            if len(parts) == 1 and name != UNAVAILABLE_AFTER:
                parts = text.split(maxsplit=1)
            if len(parts) > 1:
                rest = parts[1]
                value = read(parts[0].strip(_AROUND))
        said = self._words(rest) if rest else []
        if value is None:
            is_date = name == UNAVAILABLE_AFTER
            problem = Problem.INVALID_DATE if is_date else Problem.INVALID_VALUE
            self._remarks.add(problem, self._source, f"{name}: {text}")
            return said, False
        return [*_directives(name, value), *said], True

    def _words(self, text: str) -> list[Directive]:
        """The rules among the pieces of a text that is not a word itself."""
        said: list[Directive] = []
        is_known = False
        for piece in self._pieces(text):
            valued = _VALUED.match(piece)
            if valued:
                name = SPELLINGS[lowered(valued[1])]
                value = VALUED[name].read(valued[2].strip(_AROUND))
                if value is not None:
                    said += _directives(name, value)
                    is_known = True
                continue
            known = _known(piece)
            is_known = is_known or known is not None
            said += known or ()
        problem = Problem.UNUSUAL_SEPARATOR if is_known else Problem.UNKNOWN_RULE
        self._remarks.add(problem, self._source, text)
        return said

    def _pieces(self, text: str) -> Iterator[str]:
        for piece in _pieces(text):
            self._work.take(1)
            yield piece


def _directives(name: str, value: Value) -> list[Directive]:
    """A rule with a value, and the rules that it implies."""
    return [(name, value), *((rule, True) for rule in VALUED[name].implies(value))]


def _known(text: str) -> tuple[Directive, ...] | None:
    """The rules of a word, even if spelled like ``no-index``; None if the word is unknown."""
    word = lowered(text)
    known = _PLAIN.get(word)
    if known is None and word.startswith("no"):
        found = _NO_WORD.fullmatch(word)
        known = _PLAIN.get(f"no{found[1]}") if found else None
    return known


def _pieces(text: str) -> Iterator[str]:
    """The pieces between separators other than commas: ``a; b``, ``a/b``, ``a b``, ``no a``."""
    for part in _SEPARATORS.split(text):
        piece = part.strip(_AROUND)
        if _known(piece) is not None or _VALUED.match(piece):
            yield piece
            continue
        previous = ""
        for word in piece.split():
            bare = word.strip(_AROUND)
            if previous == "no" and _known(f"no {bare}") is not None:
                bare = f"no {bare}"
            elif previous == "no":
                yield previous
            if lowered(bare) == "no":
                previous = "no"
                continue
            previous = ""
            yield bare
        if previous:
            yield previous

"""Lines that look like damaged records, and the records that were probably meant.

::

    User-agent: * Disallow: /       two records on one line
    Disallow: /private/ // old      a comment of another language
    1. Disallow: "/private/"        a number, and quotes

Crawlers read something else in such a line, or nothing. So the finding is an error, no safe fix
touches the line, and `format` does not write the file. The unsafe fix writes `Damage.meant`.

`_REPAIRS` has a function for each kind of damage, and each function gets the result of the one
above it. The first that changes the line gives the code. Linear in the octets.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice

from scrapy_rep.extras.webmaster.checks.codes import Code
from scrapy_rep.extras.webmaster.findings import Finding, value_finding
from scrapy_rep.extras.webmaster.outline import Line, Outline
from scrapy_rep.protocol.lines import KNOWN_KEYS, RULES, Kind, read_line

from .crawler_names import LETTERS_ALIKE

_KEYS = ("user-agent", "useragent", "disallow", "allow", "sitemap", *map(bytes.decode, KNOWN_KEYS))
_KEY = rf"(?:user agent|{'|'.join(sorted(map(re.escape, _KEYS), reverse=True))})"

# A line in the usual form: most lines need only this one check.
_USUAL = re.compile(
    rb"\s*#.*|\s*[A-Za-z][A-Za-z-]*[ \t]*:(?:[ \t]*(?!//)[^\s#:;\"'`<>\\\x7f-\xff]+)?\s*(?:#.*)?"
)
_WHITE = " \t\v\f"

_LATIN_1_BLANK = "\udca0"  # a no-break space that is not UTF-8, as `_text` decodes it
_BLANKS = f"\u00a0\u2007\u202f\u3000{_LATIN_1_BLANK}"  # they are no white space to crawlers
_HIDDEN = (
    "\u00ad\u180e\u200b\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2060\u2061\u2062\u2063\u2064"
)
_HIDDEN += "\u2066\u2067\u2068\u2069\ufeff"
_JOINERS = "\u200c\u200d"  # within words, some scripts need them
_UNSEEN = _BLANKS + _HIDDEN + _JOINERS
_AROUND = _WHITE + _UNSEEN
_IN_KEYS = re.compile(f"[{_UNSEEN}]")
_HIDDEN_WITHIN = re.compile(f"[{_HIDDEN}]")

_NBSP = re.compile(r"&(?:nbsp|#160|#xa0);", re.IGNORECASE)

_LIST_MARK = re.compile(
    r"(?:[-+*>|=~\u2010-\u2015\u2022\u2023\u25aa\u25cf\u25e6\u00b7]+|[(\[]?\d{1,4}[.):\]]?|[a-z][.)])"
)

# Marks around the colon: **User-agent:** GPTBot, "Disallow": "/"
_MARKED_COLON = re.compile(r"\A([\w -]{4,12}?)(?:[*\"'`]+\s*:|\s*:[*`]+(?=\s))")
# In place of the colon: User-agent=*, Disallow; /x, Disallow - /x, Disallow -> /x
_SEPARATOR = re.compile(
    rf"({_KEY})(?:\s*(?:=>?|;|->|\u2192|\.(?=\s)|[-\u2013\u2014](?=\s))"
    r"|(?<=sitemap)\s+(?=https?:))\s*:?\s*(?=[/*]|https?:|[\w.+-]+\Z)",
    re.IGNORECASE,
)
_AI_TRAINING_KEYS = (b"disallowaitraining", b"allowaitraining")

_SITEMAP_ALONE = re.compile(r"\Ahttps?://[^\s/]+/\S*sitemap\S*\Z", re.IGNORECASE)

_COLONS = "\uff1a\ufe55\ufe13\ufe30\u2236\u02d0\u02f8\ua789\u0589\u05c3"
_SIGNS = "\uff0f\u2044\u2215\u29f8\uff0a\u2217\u204e\u066d"  # slashes and stars
_FULL_WIDTH = "".join(map(chr, range(0xFF01, 0xFF5F)))
_HYPHENS = "\u2010\u2011\u2012\u2013\u2014\u2015\u2043\u2212\ufe58\ufe63"
_ALIKE: dict[int, str | int] = {
    **LETTERS_ALIKE,
    **str.maketrans(_FULL_WIDTH, "".join(map(chr, range(0x21, 0x7F)))),
    **dict.fromkeys(map(ord, _COLONS), ":"),
    **dict.fromkeys(map(ord, _HYPHENS), "-"),
    **str.maketrans(_SIGNS, "////****"),
}
_KEY_AND_COLON = re.compile(rf"([^:{_COLONS}]{{1,30}})[:{_COLONS}]")

# Line ends in other notations, and keys: behind a blank, or in their usual spelling anywhere.
_BREAK = re.compile(
    rf"(?:\\r)?\\n|<br\s?/?>|</?p>|(?<=[\s;,|*>])(?={_KEY}\s?:)|(?<=\s)(?=(?:dis)?allow\s[/*])"
    r"|(?<=\S)(?<!Dis)(?=(?-i:Disallow|Allow|User-[Aa]gent|Sitemap|Crawl-delay):)",
    re.IGNORECASE,
)

_CLOSING = {
    **{quote: quote for quote in "\"'`\uff02\uff07\u201d\u2019"},
    "<": ">",
    "\u201c": "\u201d",
    "\u2018": "\u2019",
    "\u00ab": "\u00bb",
    "\u2039": "\u203a",
    "\u201e": "\u201c\u201d",
    "\u201a": "\u2018\u2019",
}
"""Quotes and brackets around a value: the opening ones, and the closing ones."""

_FOREIGN = re.compile(
    r"(<!--)|(/\*)\**(?=\s|\Z)|-->|\*+/\Z|//+(?=\s|\Z|[A-Za-z-]+(?:[\s:]|\Z))|--+(?=\s)"
)
_FOREIGN_BEHIND = re.compile(
    r"<!--|\s//+(?=\s|\Z)|\s(?:--+|;+)\s|\s/\*\s|\s<-+\s|(?<=[/*$])\s+(?=\([^()]*\)\Z)"
)
_FOREIGN_MARKS = re.compile(r"<!?-+|(?<!-)-+->|/\*+|\*+/\Z|\A//+|\A--+|\A;+")
_MOST_LINES = 50  # of a comment in several lines
_MOST_NAMED = 5  # characters in one finding


@dataclass(frozen=True, slots=True)
class Damage:
    """A line that looks like damaged records.

    Attributes:
        finding: the error.
        meant: the lines that were probably meant; empty if nothing can be proposed.
    """

    finding: Finding
    meant: tuple[bytes, ...] = ()


def damages(outlined: Outline) -> dict[int, Damage]:
    """The damaged lines of a file, by number."""
    if outlined.is_opaque or outlined.is_markup:
        return {}
    found = {damage.finding.line: damage for damage in _noindex_alone(outlined)}
    for index, line in enumerate(outlined.lines):
        if line.kind in RULES and line.name in _AI_TRAINING_KEYS:
            finding = Finding(Code.AI_TRAINING_KEY, line.number, line.key, line.key_column)
            found[line.number] = Damage(finding)
        if line.number in found or line.is_cut or _USUAL.fullmatch(line.octets):
            continue
        foreign = _foreign_comment(outlined.lines[index : index + _MOST_LINES])
        for inner in foreign:
            if not inner.octets.lstrip().startswith(b"#"):
                comment = [_as_comment(_text(inner))]
                found[inner.number] = _damage(inner, Code.FOREIGN_COMMENT, comment)
        if not foreign:
            text, mark, after = _text(line).partition("#")
            code, meant = _repaired(text.strip(_WHITE))
            if code is not None:
                last = f"{meant[-1]} #{after}".lstrip() if mark else meant[-1]
                found[line.number] = _damage(line, code, [*meant[:-1], last])
    return found


def _noindex_alone(outlined: Outline) -> Iterator[Damage]:
    """The Noindex lines of groups without a rule."""
    for block in outlined.blocks:
        for line in block.others if not block.rules else ():
            if line.name == b"noindex":
                detail = "the group has no rule, so its crawlers may fetch everything"
                yield Damage(value_finding(Code.NOINDEX_UNSUPPORTED, line, detail))


def _text(line: Line) -> str:
    return line.octets.decode("utf-8", "surrogateescape")


def _octets(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _damage(line: Line, code: Code, meant: list[str]) -> Damage:
    """A damaged line; the text of its finding begins where it differs from the meant lines."""
    text = _text(line).rstrip(_WHITE)
    lead = len(text) - len(text.lstrip(_WHITE))
    both = enumerate(zip(text[lead:], "\n".join(meant), strict=False))
    at = lead + next((index for index, (one, other) in both if one != other), 0)
    at += len(text[at:]) - len(text[at:].lstrip(_WHITE))
    detail = _letters(text) if code is Code.LOOK_ALIKE else ""
    finding = Finding(code, line.number, _octets(text[at:])[:200], at + 1, detail)
    return Damage(finding, tuple(map(_octets, meant)))


def _letters(text: str) -> str:
    """The characters that look like others, with their code points and names."""
    found = [one for one in dict.fromkeys(text) if not one.isascii() and ord(one) in _ALIKE]
    told = (f"{one} is U+{ord(one):04X} {unicodedata.name(one, '')}" for one in found)
    return ", ".join(map(str.rstrip, islice(told, _MOST_NAMED)))


def _foreign_comment(lines: tuple[Line, ...]) -> tuple[Line, ...]:
    """The lines of a comment in the style of another language; empty if none begins here."""
    opening = _FOREIGN.match(_text(lines[0]).strip(_AROUND))
    if opening is None:
        return ()
    end = "-->" if opening[1] else "*/" if opening[2] else ""
    last = next((count for count, line in enumerate(lines, 1) if end in _text(line)), 1)
    return lines[:last]


def _as_comment(text: str) -> str:
    text = _FOREIGN_MARKS.sub("", text.strip(_AROUND)).strip().removeprefix("#").strip()
    return f"# {text}".rstrip()


def _repaired(text: str) -> tuple[Code | None, list[str]]:
    """The code of the damage in a line without its comment, and the lines that were meant."""
    codes: list[Code] = []
    lines = [text]
    for code, repair in _REPAIRS:
        new = [piece for line in lines for piece in repair(line)]
        codes += [code] if new != lines else []
        lines = new
    return (codes[0] if codes else None), lines


def _read(text: str) -> tuple[Kind, str] | None:
    """The kind and the value of a record with a key that crawlers know; otherwise None."""
    record = read_line(_octets(text))
    if record is None:
        return None
    kind, key, value = record
    name = key.lower()
    is_known = name in KNOWN_KEYS if kind is Kind.OTHER else b" " not in name.replace(b"user ", b"")
    return (kind, value.decode("utf-8", "surrogateescape")) if is_known else None


def _with_value(text: str, old: str, new: str) -> str:
    """A record without a comment, with another value."""
    return (text.removesuffix(old) + new).rstrip(_WHITE)


def _seen(text: str) -> list[str]:
    """Without invisible characters in the key and around the value."""
    if _IN_KEYS.search(text) is None:
        return [text]
    key, colon, value = text.partition(":")
    key = key.strip(_WHITE)
    bare_key, bare_value = _as_blanks(key).strip(_WHITE), value.strip(_AROUND)
    if "agent" in key.lower():
        bare_value = _as_blanks(bare_value)
    elif (ascii_value := _HIDDEN_WITHIN.sub("", bare_value)).isascii():  # others may need them
        bare_value = ascii_value
    if (bare_key, bare_value) == (key, value.strip(_WHITE)):
        return [text]
    bare = f"{bare_key}{colon} {bare_value}".strip(_AROUND)
    return [bare] if not bare or _read(bare) else [text]


def _as_blanks(text: str) -> str:
    return _IN_KEYS.sub(lambda found: " " if found[0] in _BLANKS else "", text)


def _without_mark(text: str) -> list[str]:
    """Without a list mark in front of the key, and without quotes around the whole line."""
    bare = text
    mark = _LIST_MARK.match(bare)
    if mark:
        bare = bare[mark.end() :].lstrip()
    closing = _CLOSING.get(bare[:1])
    if closing:
        bare = bare[1:].rstrip(f",;{closing}")
    if bare != text:
        bare = _MARKED_COLON.sub(r"\1:", bare, count=1)
    (meant,) = _in_ascii(bare)
    is_record = bare[:1].isalpha() and ":" in meant and _read(meant) is not None
    return [bare] if is_record else [text]


def _with_one_colon(text: str) -> list[str]:
    """Without colons in front of the value."""
    kind, value = _read(text) or (Kind.OTHER, "")
    is_odd = kind is not Kind.OTHER and value.startswith(":")
    return [_with_value(text, value, value.lstrip(f":{_WHITE}")) if is_odd else text]


def _with_colon(text: str) -> list[str]:
    """With a colon behind the key."""
    found = _SEPARATOR.match(text)
    if found is None:
        return [text]
    new = f"{found[1]}: {text[found.end() :]}"
    return [new] if _read(new) else [text]


def _in_ascii(text: str) -> list[str]:
    """With the colon, the hyphens and the letters that were meant in the key."""
    found = _KEY_AND_COLON.match(text)
    if found is None:
        return [text]
    key = found[1].translate(_ALIKE)
    value = text[found.end() :].strip(_WHITE)
    bare = value.translate(_ALIKE)
    if not (value.startswith(tuple(_SIGNS)) or ("agent" in key.lower() and bare.isascii())):
        bare = value
    if (key, found[0][-1:], bare) == (found[1], ":", value) or not key.isascii():
        return [text]
    new = f"{key.rstrip(_WHITE)}: {bare}"
    return [new] if _read(new) else [text]


def _apart(text: str) -> list[str]:
    """Each of several records."""
    pieces = [piece.strip(_WHITE) for piece in _BREAK.split(text)]
    *first, last = list(filter(None, pieces)) or [text]
    apart = [*(piece.rstrip(f";,|{_WHITE}") for piece in first), last]
    if apart == [text] or not all(map(_read, apart)):
        return [text]
    return [piece if ":" in piece else ": ".join(piece.split()) for piece in apart]


def _unquoted(text: str) -> list[str]:
    """Without quotes or brackets around the value; those of Sitemap lines are understood."""
    kind, value = _read(text) or (Kind.SITEMAP, "")
    closing = _CLOSING.get(value[:1])
    if closing is None or kind is Kind.SITEMAP:
        return [text]
    is_pair = len(value) > 1 and value[-1] in closing
    if not is_pair and (kind is Kind.OTHER or value[0] == "<"):
        return [text]
    bare = value.translate({ord(quote): None for quote in value[0] + closing})
    return [_with_value(text, value, bare.strip())]


def _commented(text: str) -> list[str]:
    """With # in front of a comment behind the value."""
    _, value = _read(text) or (None, "")
    behind = _FOREIGN_BEHIND.search(value)
    if behind is None or (behind[0].strip() == "/*" and not value.endswith("*/")):
        return [text]
    at = behind.start()
    return [_with_value(text, value, f"{value[:at].rstrip()} {_as_comment(value[at:])}")]


def _without_entities(text: str) -> list[str]:
    """With a blank in place of ``&nbsp;``."""
    if _NBSP.search(text) is None:
        return [text]
    bare = " ".join(_NBSP.sub(" ", text).split())
    return [bare] if _read(bare) else [text]


_REPAIRS: tuple[tuple[Code, Callable[[str], list[str]]], ...] = (
    (Code.INVISIBLE_CHARACTER, _without_entities),
    (Code.INVISIBLE_CHARACTER, _seen),
    (Code.LIST_MARK, _without_mark),
    (Code.LIST_MARK, _with_one_colon),
    (Code.WRONG_SEPARATOR, _with_colon),
    (Code.KEY_MISSING, lambda text: [_SITEMAP_ALONE.sub(r"Sitemap: \g<0>", text)]),
    (Code.LOOK_ALIKE, _in_ascii),
    (Code.SEVERAL_RECORDS, _apart),
    (Code.QUOTED_VALUE, _unquoted),
    (Code.FOREIGN_COMMENT, _commented),
)

"""Elements and text of XML, read piece by piece, damaged or not.

libxml2 also recovers from errors, but after the first one it drops every `&amp;` that follows. Here
an error damages only the place where it stands:

* ``&`` that begins no reference, and ``<`` that begins no tag, are text;
* characters that XML forbids are dropped; octets that are invalid in the encoding stay octets;
* entities of HTML are read; those that a DOCTYPE declares are never expanded, and no file is
opened;
* an attribute's quote that never ends, ends with its tag.

The reader of the tokens pairs the tags. Time is linear in the text. Memory is bounded by what is
held until its end comes: `_HELD_CHARACTERS` of anything but a tag. The reader has to bound tags.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from html.entities import html5

Token = tuple[str, str, str]
"""A tag's name (with ``/`` before it at an end, empty where there is only text), the attributes as
written (with ``/`` at the end if the element is empty), and the text up to the next tag."""

UNEXPANDED = "\0"
"""Stands in text for an entity that a DOCTYPE declares."""

_HELD_CHARACTERS = 1 << 15
_ANY_SPECIAL = re.compile("<[!?]")
_CDATA = "<![CDATA["
_END_OF_CDATA = re.compile("]]>")
_END_OF_PLAIN_CDATA = re.compile("]]>|</(?=[^\\W\\d])")
_PREDEFINED = {"amp": "&", "lt": "<", "gt": ">", "quot": '"', "apos": "'"}
_REFERENCE = re.compile("&(?:#([0-9]{1,20}|x[0-9a-fA-F]{1,20})|([A-Za-z_][\\w.-]{0,63}));|&")
_NAME = re.compile(r"/?[^\W\d][\w.:-]{0,255}(?=[\s/>])")
_ANY_SIGN = re.compile("[<>]")
_INSTRUCTION = re.compile(r"<\?[^\W\d]")
_DECLARATION = re.compile(r"<\?xml\s")
_QUOTES_AND_END = re.compile("[\"'>]")
# Matches at every place but white space, so that a search never scans far in vain.
_ATTRIBUTE = re.compile("([^\\s=]+)\\s*(?:=\\s*(\"[^\"]*\"|'[^']*'|\\S+))?")
_WHITE_SPACE = re.compile("[\t\n]")
_ENDS_AT_FIRST = "a declaration or instruction that does not end"
_NO_TAG = "a '<' that begins no tag"
_DECLARED = re.compile("<!ENTITY\\s+([^\\s%\"'<>]+)\\s")
_IN_DOCTYPE = re.compile("[\"'\\[\\]>]|<!--|<\\?")
_ENDS_IN_DOCTYPE = {'"': '"', "'": "'", "<!--": "-->", "<?": "?>"}
_KNOWN_HEADS = 256
_NOTHING = re.compile("(?!)")

_FORBIDDEN = "\0-\x08\x0b\x0c\x0e-\x1f\ud800-\udc7f\udd00-\udfff\ufffe\uffff"
_NO_CHARACTER = "a character that no XML file may hold"
_NO_TEXT = "octets that are not of its encoding"
_ODD = re.compile(f"[{_FORBIDDEN}\udc80-\udcff]")  # with octets that are invalid in the encoding
_DROPPED = re.compile(f"[{_FORBIDDEN}]")


class Markup:
    """Reads the text of a file, and yields its tokens.

    Attributes:
        damage: the first error of the file, in words; empty without one.
        damages: how many errors there are.
        is_open: whether the file ended within a comment or the like.
    """

    def __init__(
        self,
        plain: tuple[str, ...] = (),
        whole: re.Pattern[str] = _NOTHING,
        take: Callable[[re.Match[str]], bool] = lambda _: False,
    ) -> None:
        """Read a file from its start.

        Args:
            plain: elements that hold no markup: a CDATA section of theirs that holds an end tag
                lacks its own end.
            whole: what elements look like that may be read as a whole, with the white space
                behind them. Each begins with ``<``, ends an element, and has nothing special in it.
            take: is given such an element once all before it has been read; whether it took it. If
                not, it comes as tokens.
        """
        self._whole = whole
        self._take = take
        self.damage = ""
        self.damages = 0
        self._plain = plain
        self._last_name = ""
        self._had_doctype = False
        self._is_open_instruction = False
        self._rest = ""  # what is held until more of it comes
        self._skips_to = ""  # the end of what is not held
        self._ended_in_cr = False
        self._is_long = False  # whether text is dropped up to the next tag
        self._declared: set[str] = set()
        self._heads: set[str] = set()  # tags without attributes that came before

    @property
    def is_open(self) -> bool:
        """Whether a comment or the like has begun and not ended."""
        return bool(self._skips_to)

    def note(self, damage: str) -> None:
        """Note an error."""
        self.damage = self.damage or damage
        self.damages += 1

    def feed(self, text: str, *, is_last: bool = False) -> Iterator[Token]:
        """The tokens that end in this piece."""
        if odd := _ODD.search(text):
            self.note(_NO_CHARACTER if _DROPPED.match(odd[0]) else _NO_TEXT)
            text = _DROPPED.sub("", text)
        text, self._rest = self._rest + self._with_lf(text), ""
        at = 0
        if self._skips_to or self._is_long:
            yield from self._heard()
            at = self._end_of_skipped(text)
        while at < len(text):
            special = _ANY_SPECIAL.search(text, at)
            end = special.start() if special else len(text)
            yield from self._run(text, at, end, is_open=not special and not is_last)
            at = end
            if special:
                at, found = self._special(text, end, is_last=is_last)
                if found:
                    yield "", "", found

    def _with_lf(self, text: str) -> str:
        """The text with LF for all line ends; a CRLF may lie in two pieces."""
        if self._ended_in_cr and text:
            text, self._ended_in_cr = text.removeprefix("\n"), False
        if "\r" in text:
            self._ended_in_cr = text.endswith("\r")
            text = text.replace("\r\n", "\n").replace("\r", "\n")
        return text

    def _heard(self) -> Iterator[Token]:
        """An empty token where text is skipped: text counts as content, unlike a comment."""
        if self._is_long or self._skips_to == "]]>":
            yield "", "", ""

    def _end_of_skipped(self, text: str) -> int:
        sign = self._skips_to or "<"
        end = text.find(sign)
        if end < 0:
            self._rest = text[1 - len(sign) :] if len(sign) > 1 else ""
            return len(text)
        self._is_long = False
        self._skips_to = ""
        return end if sign == "<" else end + len(sign)

    def _run(self, text: str, at: int, end: int, *, is_open: bool) -> Iterator[Token]:
        """The tokens of what holds tags and text only, without those of elements that are taken."""
        while found := self._whole.search(text, at, end):
            start = found.start()
            if start > at:
                yield from self._tags(text[at:start], is_open=False)
            at = start
            while found is not None and self._take(found):
                self._last_name = ""
                at = found.end()
                found = self._whole.match(text, at, end)
            if at == start and found is not None:
                at = found.end()
                yield from self._tags(text[start:at], is_open=False)
        yield from self._tags(text[at:end], is_open=is_open)

    def _tags(self, run: str, *, is_open: bool) -> Iterator[Token]:
        """The tokens of a run of tags and text."""
        parts = run.split("<")
        last = parts.pop() if is_open else None
        has_tags = bool(parts)
        heads = self._heads
        if parts and parts[0]:
            yield "", "", self.resolved(parts[0])
        for number in range(1, len(parts)):
            head, sign, text = parts[number].partition(">")
            name, attributes = head, ""
            if not sign or head not in heads:
                name, attributes, text = self._tag(parts[number])
            self._last_name = name
            yield name, attributes, self.resolved(text) if "&" in text else text
        if last is not None:
            yield from self._hold(f"<{last}" if has_tags else last)

    def _hold(self, rest: str) -> Iterator[Token]:
        """Hold what may go on in the next piece; of a text that is too long, only the beginning."""
        self._rest = rest
        if len(rest) <= _HELD_CHARACTERS:
            return
        if not rest.startswith("<"):
            yield "", "", rest
        elif _NAME.match(rest, 1) and ">" not in rest:
            return
        else:
            yield self._tag(rest[1:])  # as written: its last reference may be cut
        self._rest, self._is_long = "", True

    def _tag(self, part: str) -> Token:
        """What follows a ``<``, up to the next: a tag and its text, or text, as written."""
        found = _NAME.match(part)
        if found is None or ">" not in part:
            self.note(_NO_TAG)
            return "", "", f"<{part}"
        end = _end_of_tag(part)
        if end < 0:
            self.note("a quote that does not end")
            end = part.index(">")
        name, attributes = found[0], part[found.end() : end].strip()
        self.resolved(attributes)  # to note errors; few attributes are read
        if name == part[:end] and len(self._heads) < _KNOWN_HEADS:
            self._heads.add(name)
        return name, attributes, part[end + 1 :]

    def resolved(self, text: str) -> str:
        """Text with its references replaced by their characters."""
        return _REFERENCE.sub(self._meaning, text) if "&" in text else text

    def _meaning(self, reference: re.Match[str]) -> str:
        number, name = reference.groups()
        if name in _PREDEFINED:
            return _PREDEFINED[name]
        if name in self._declared:
            return UNEXPANDED
        if number:
            return self._character(number)
        self.note("an '&' that begins no reference")
        return html5.get(f"{name};", reference[0])

    def _character(self, number: str) -> str:
        code = int(number[1:], 16) if number.startswith("x") else int(number)
        character = chr(code) if code <= sys.maxunicode else "\0"
        if _ODD.match(character):
            self.note(_NO_CHARACTER)
            return ""
        return character

    def attributes(self, text: str) -> dict[str, str]:
        """The attributes of a tag, by name as written, without those that have no value."""
        found: dict[str, str] = {}
        for name, value in _ATTRIBUTE.findall(text):
            if value:
                bare = value[1:-1] if value[0] == value[-1] and value[0] in "\"'" else value
                found.setdefault(name, self.resolved(_WHITE_SPACE.sub(" ", bare)))
        return found

    def _special(self, text: str, start: int, *, is_last: bool) -> tuple[int, str]:
        """Where to go on reading after a comment or the like, and the text that it holds."""
        if len(text) - start < len(_CDATA) and not is_last:
            self._rest = text[start:]
            return len(text), ""
        if text.startswith("<!--", start):
            return self._skip(text, start + 4, "-->"), ""
        if text.startswith(_CDATA, start):
            return self._cdata(text, start, is_last=is_last)
        if text.startswith("<!DOCTYPE", start):
            return self._doctype(text, start, is_last=is_last), ""
        if _INSTRUCTION.match(text, start):
            return self._instruction(text, start, is_last=is_last), ""
        self.note(_NO_TAG)
        return start + 2, text[start : start + 2]

    def _skip(self, text: str, start: int, sign: str) -> int:
        end = text.find(sign, start)
        if end >= 0:
            return end + len(sign)
        self._skips_to = sign
        self._rest = text[max(start, len(text) - len(sign) + 1) :]
        return len(text)

    def _cdata(self, text: str, start: int, *, is_last: bool) -> tuple[int, str]:
        begin = start + len(_CDATA)
        is_plain = self._last_name.rpartition(":")[2] in self._plain
        found = (_END_OF_PLAIN_CDATA if is_plain else _END_OF_CDATA).search(text, begin)
        if found is None:
            if not is_last and len(text) - start <= _HELD_CHARACTERS:
                self._rest = text[start:]
                return len(text), ""
            return self._skip(text, begin, "]]>"), text[begin : begin + _HELD_CHARACTERS]
        if found[0] == "]]>":
            return found.end(), text[begin : found.start()]
        self.note("a CDATA section that does not end")
        return found.start(), text[begin : found.start()].rstrip("]>")

    def _doctype(self, text: str, start: int, *, is_last: bool) -> int:
        """Where to go on. A second DOCTYPE is not searched for its end: there may be many."""
        end = -1 if self._had_doctype else self._end_of_doctype(text, start)
        at = self._after(text, start, end, is_last=is_last or self._had_doctype)
        self._had_doctype |= not self._rest
        return at

    def _instruction(self, text: str, start: int, *, is_last: bool) -> int:
        """Where to go on. Once an end was missing, each instruction ends at the next ``>``."""
        if _DECLARATION.match(text, start):  # it holds no '>'
            end = text.find(">", start)
            if end >= 0 and text[end - 1] != "?":
                self.note(_ENDS_AT_FIRST)
            return self._after(text, start, end, is_last=is_last)
        end = -1 if self._is_open_instruction else text.find("?>", start)
        at = self._after(text, start, end + 1 or -1, is_last=is_last or self._is_open_instruction)
        self._is_open_instruction |= end < 0 and not self._rest
        return at

    def _after(self, text: str, start: int, end: int, *, is_last: bool) -> int:
        """Where to go on reading after something that ends at `end`, or is too long."""
        if end >= 0:
            return end + 1
        if is_last or len(text) - start > _HELD_CHARACTERS:
            self.note(_ENDS_AT_FIRST)
            found = _ANY_SIGN.search(text, start + 1)
            return found.end() - (found[0] == "<") if found else len(text)
        self._rest = text[start:]
        return len(text)

    def _end_of_doctype(self, text: str, start: int) -> int:
        """Where a DOCTYPE ends, -1 if it does not; notes the entities that it declares."""
        at, depth = start, 0
        while mark := _IN_DOCTYPE.search(text, at):
            sign, at = mark[0], mark.end()
            if sign in _ENDS_IN_DOCTYPE:
                at = text.find(_ENDS_IN_DOCTYPE[sign], at) + len(_ENDS_IN_DOCTYPE[sign])
                if at < mark.end():
                    return -1
            elif sign == ">" and depth == 0:
                self._declared = set(_DECLARED.findall(text, start, at))
                return at - 1
            else:
                depth += (sign == "[") - (sign == "]")
        return -1


def _end_of_tag(part: str) -> int:
    """Where a tag ends: at a ``>`` outside of quotes; -1 without one."""
    quote = ""
    for mark in _QUOTES_AND_END.finditer(part):
        sign = mark[0]
        if sign == quote:
            quote = ""
        elif not quote and sign == ">":
            return mark.start()
        elif not quote:
            quote = sign
    return -1

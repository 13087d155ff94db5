"""The spelling of rewritten records: usual keys, and paths with the same meaning."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from scrapy_rep.extras.webmaster.effect.other_readers import escaped
from scrapy_rep.extras.webmaster.linting.rule_checks import has_wrong_characters, is_utf8
from scrapy_rep.extras.webmaster.outline import KEYS, Line, Outline, has_other_words, name_of
from scrapy_rep.protocol.extensions.pace import PACE_KEYS
from scrapy_rep.protocol.extensions.sitemaps import sitemap_line
from scrapy_rep.protocol.lines import KNOWN_KEYS, LINE_LIMIT_OCTETS, RULES, Kind
from scrapy_rep.protocol.tokens import token_of

_OTHER_KEYS = {b"content-signal": "Content-Signal", b"content-usage": "Content-Usage"}
"""Keys that their documents write in another way than `str.capitalize` does."""

_KEYS = {kind: key.decode() for kind, key in KEYS.items()}
_ESCAPED_UTF8 = re.compile(r"(?:%[89A-F][0-9A-F])+")

_BEGIN_WITH_PATH = frozenset([b"content-usage", b"content-signal", b"content-signals"])
_LAST_ASCII = 0x7F


def rule_text(line: Line, *, is_readable: bool) -> str:
    """A rule as one line, with its escapes in upper case; with `is_readable`, UTF-8 is kept.

    Nothing else changes in a path, because other crawlers compare its octets. A rule that is also
    compared as written is not changed, and a rule that would become too long is not either. The
    same is true of a rule with wrong characters: as escapes, they would look right.
    """
    value = line.value.decode("utf-8", "surrogateescape")
    if not (line.is_written or has_wrong_characters(line.value)):
        value = _readable(line.value) if is_readable else escaped(line.value)
    text = f"{_KEYS[line.kind]}: {value}".rstrip(" ") if line.kind is not None else value
    return as_written(line) if len(octets_of(text)) > LINE_LIMIT_OCTETS else text


def _readable(value: bytes) -> str:
    """A path with its escaped UTF-8 as characters, if these are visible and equal."""

    def decoded(match: re.Match[str]) -> str:
        text = bytes.fromhex(match[0].replace("%", "")).decode("utf-8", "replace")
        is_visible = text.isprintable() and "\ufffd" not in text and not any(map(str.isspace, text))
        return text if is_visible else match[0]

    text = _ESCAPED_UTF8.sub(decoded, escaped(value))
    return text if escaped(text.encode()) == escaped(value) else escaped(value)


def agent_texts(lines: Iterable[Line]) -> dict[str, list[Line]]:
    """The user-agent lines to be written for one name, with the lines that each replaces.

    A line with more than a name and its version stays as it is. It may name several crawlers, an
    error that only its author can correct, and some names have several words. All others become
    one.
    """
    found: dict[bytes, list[Line]] = {}
    for line in lines:
        said = line.value.lower() if has_other_words(line.value) else b""
        found.setdefault(said, []).append(line)
    return {_agent_text(same[0]): same for same in found.values()}


def _agent_text(line: Line) -> str:
    """A user-agent line with ``*`` or a name, spelled as in the file, without its version."""
    if has_other_words(line.value):
        written = line.value.decode("utf-8", "surrogateescape")
    else:
        name, word = name_of(line.value), line.value.decode("utf-8", "replace")
        written = word[: len(name)] if _is_start(word, name) else name
    return f"{_KEYS[Kind.USER_AGENT]}: {written}"


def _is_start(word: str, name: str) -> bool:
    return word[: len(name)].lower() == name and token_of(word) == word[: len(token_of(name))]


def record_text(line: Line) -> str:
    """Any other record: the key as in its document or with one capital, the value as it is."""
    key = _OTHER_KEYS.get(line.name) or text_of(line.key).capitalize()
    value = _with_escapes(line.value) if line.name in _BEGIN_WITH_PATH else line.value
    return f"{key}: {text_of(value)}".rstrip(" ")


def _with_escapes(value: bytes) -> bytes:
    """A value with escapes instead of the octets of its path that are not UTF-8."""
    path, space, rest = value.partition(b" ")
    if not path.startswith(b"/") or is_utf8(path):
        return value
    escaped = b"".join(b"%%%02X" % one if one > _LAST_ASCII else bytes([one]) for one in path)
    return escaped + space + rest


def sitemap_texts(line: Line, uri: str) -> list[str]:
    """The lines for a Sitemap line, absolute where possible; several if it names several."""
    uris = sitemap_line(line.value, uri).uris
    if not uris or not all(map(_can_be_written, uris)):
        return [f"{_KEYS[Kind.SITEMAP]}: {text_of(line.value)}".rstrip(" ")]
    return [f"{_KEYS[Kind.SITEMAP]}: {absolute}" for absolute in uris]


def _can_be_written(uri: str) -> bool:
    return "#" not in uri and uri.isprintable() and sitemap_line(uri.encode(), "").uris == (uri,)


def comment_text(octets: bytes) -> str:
    """The line for a comment or for a line without a record; empty if it has no text."""
    text = text_of(octets).strip().lstrip("#").strip()
    return f"# {text}" if text else ""


def text_of(octets: bytes) -> str:
    """Octets as text that can be written as UTF-8; octets that are not UTF-8 become escapes."""
    return octets.decode("utf-8", "backslashreplace")


def as_written(line: Line) -> str:
    """The parseable part of a record as it was; `octets_of` restores octets that are not UTF-8."""
    content = line.octets[:LINE_LIMIT_OCTETS].partition(b"#")[0]
    return content.strip().decode("utf-8", "surrogateescape")


def octets_of(text: str) -> bytes:
    """The octets of a text, including octets that `as_written` preserved."""
    return text.encode("utf-8", "surrogateescape")


@dataclass(frozen=True, slots=True)
class Notes:
    """The comments of a file, as lines to be written.

    Attributes:
        head: comments at the very top, if a blank line follows them before the first record.
        before: comments before or on a line, by the number of the line.
        tail: comments after the last record.
    """

    head: tuple[str, ...]
    before: dict[int, tuple[str, ...]]
    tail: tuple[str, ...]


def notes_of(outlined: Outline, numbers: set[int]) -> Notes:
    """The comments of a file, if the records of some lines are written."""
    records = _written(outlined)
    written = records & numbers
    head_stop = _head_stop(outlined, written)
    head: list[str] = []
    pending: list[str] = []
    before: dict[int, tuple[str, ...]] = {}
    for line in outlined.lines:
        if line.number < head_stop:
            head += _texts(line.octets)
        elif line.number not in records:
            pending += _texts(line.octets)
        else:
            own = _texts(line.comment) if line.comment is not None else []
            if line.number not in written:
                pending += own
                continue
            if pending or own:
                before[line.number] = (*pending, *own)
            pending = []
    return Notes(tuple(head), before, tuple(pending))


def is_known(line: Line) -> bool:
    """Whether some crawler reads this other record."""
    return line.name in KNOWN_KEYS


def is_of_group(line: Line) -> bool:
    """Whether some crawler reads this other record and applies it to the whole group."""
    return is_known(line) and line.name not in PACE_KEYS


def _texts(octets: bytes) -> list[str]:
    text = comment_text(octets)
    return [text] if text else []


def _written(outlined: Outline) -> set[int]:
    """The numbers of the lines that are written as records."""
    lines = [line for line in outlined.before if line.kind is Kind.OTHER and is_known(line)]
    lines += outlined.sitemaps
    for block in outlined.blocks:
        if block.names:
            lines += [line for line in block.agents if name_of(line.value)]
            lines += [line for line in block.rules if line.kind in RULES]
            lines += [line for line in block.others if is_of_group(line)]
    lines += [line for run in outlined.runs if run.names for line in run.others]
    return {line.number for line in lines}


def _head_stop(outlined: Outline, written: set[int]) -> int:
    """The number of the line after the comments at the top, which a blank line ends; or 0."""
    stop = previous = 0
    for line in outlined.lines:
        if previous and line.number > previous + 1:
            stop = line.number
        if line.number in written:
            return stop
        previous = line.number
    return 0

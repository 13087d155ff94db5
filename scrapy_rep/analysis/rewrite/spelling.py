"""How records are written: canonical keys, and paths that mean what they meant."""

from __future__ import annotations

import re

from scrapy_rep.analysis.effect.patterns import pattern_of
from scrapy_rep.analysis.outline import Line, name_of
from scrapy_rep.protocol.extensions.sitemaps import sitemap_line
from scrapy_rep.protocol.lines import LINE_LIMIT_OCTETS, Kind
from scrapy_rep.protocol.tokens import EVERYONE, token_of

_OTHER_KEYS = {
    b"content-signal": "Content-Signal",
    b"content-usage": "Content-Usage",
}
"""Those that their documents write in another way than `str.capitalize` does."""

_KEYS = {
    Kind.USER_AGENT: "User-agent",
    Kind.ALLOW: "Allow",
    Kind.DISALLOW: "Disallow",
    Kind.SITEMAP: "Sitemap",
}
_ESCAPED_UTF8 = re.compile(r"(?:%[89A-F][0-9A-F])+")

_BEGIN_WITH_PATH = frozenset([b"content-usage", b"content-signal", b"content-signals"])
_LAST_ASCII = 0x7F


def rule_text(allow: bool, pattern: str, written: Line | None, *, is_readable: bool) -> str:
    """A rule as one line.

    Args:
        allow: whether it is an allow rule.
        pattern: its path pattern in normal form.
        written: the line that it comes from, which stands in where its normal form is too long.
        is_readable: whether escaped UTF-8 is written as characters.
    """
    key = _KEYS[Kind.ALLOW if allow else Kind.DISALLOW]
    if not pattern:
        return f"{key}:"
    # The normal form has "#" as itself; in a file it would begin a comment.
    text = f"{key}: {(_readable(pattern) if is_readable else pattern).replace('#', '%23')}"
    if written is not None and len(text.encode()) > LINE_LIMIT_OCTETS:
        return as_written(written)
    return text


def as_it_is(allow: bool, line: Line) -> str:
    """A rule with its value as it is written, since it is compared so."""
    value = line.value.decode("utf-8", "surrogateescape")
    text = f"{_KEYS[Kind.ALLOW if allow else Kind.DISALLOW]}: {value}"
    return as_written(line) if len(octets_of(text)) > LINE_LIMIT_OCTETS else text


def _readable(pattern: str) -> str:
    """A pattern with its escaped UTF-8 as characters, where these can be seen and are equal."""

    def decoded(match: re.Match[str]) -> str:
        octets = bytes.fromhex(match[0].replace("%", ""))
        try:
            text = octets.decode("utf-8")
        except UnicodeDecodeError:
            return match[0]
        return text if text.isprintable() and not any(map(str.isspace, text)) else match[0]

    text = _ESCAPED_UTF8.sub(decoded, pattern)
    return text if pattern_of(text.encode()) == pattern else pattern


def agent_text(line: Line) -> str:
    """A user-agent line: ``*``, or the name that it names. Only for lines that name somebody.

    The name is spelt as written, without its version.
    """
    name = name_of(line.value)
    if name == EVERYONE:
        return f"{_KEYS[Kind.USER_AGENT]}: {EVERYONE}"
    word = line.value.decode("utf-8", "replace")
    return f"{_KEYS[Kind.USER_AGENT]}: {word[: len(name)] if _is_start(word, name) else name}"


def _is_start(word: str, name: str) -> bool:
    return word[: len(name)].lower() == name and token_of(word) == word[: len(token_of(name))]


def record_text(line: Line) -> str:
    """Any other record: the key as its document has it or with one capital, the value as it is."""
    key = _OTHER_KEYS.get(line.name) or text_of(line.key).capitalize()
    value = _with_escapes(line.value) if line.name in _BEGIN_WITH_PATH else line.value
    return f"{key}: {text_of(value)}".rstrip()


def _with_escapes(value: bytes) -> bytes:
    """A value whose path is no UTF-8, with escapes that mean the same."""
    path, space, rest = value.partition(b" ")
    if not path.startswith(b"/") or not _is_broken(path):
        return value
    escaped = b"".join(b"%%%02X" % one if one > _LAST_ASCII else bytes([one]) for one in path)
    return escaped + space + rest


def _is_broken(octets: bytes) -> bool:
    try:
        octets.decode()
    except UnicodeDecodeError:
        return True
    return False


def sitemap_texts(line: Line, uri: str) -> list[str]:
    """A Sitemap line, absolute where that can be known; several of them if it names several."""
    uris = sitemap_line(line.value, uri).uris
    if not uris or not all(map(_can_be_written, uris)):
        return [f"{_KEYS[Kind.SITEMAP]}: {text_of(line.value)}".rstrip()]
    return [f"{_KEYS[Kind.SITEMAP]}: {absolute}" for absolute in uris]


def _can_be_written(uri: str) -> bool:
    return "#" not in uri and uri.isprintable() and sitemap_line(uri.encode(), "").uris == (uri,)


def comment_text(octets: bytes) -> str:
    """A comment, or what is no record, as a comment line; empty if there is nothing to say."""
    text = text_of(octets).strip().lstrip("#").strip()
    return f"# {text}" if text else ""


def text_of(octets: bytes) -> str:
    """Octets as text that can be written as UTF-8; what is no UTF-8 is kept as an escape."""
    return octets.decode("utf-8", "backslashreplace")


def as_written(line: Line) -> str:
    """What counts of a record, as it was; `octets_of` gives its octets, what is no UTF-8 too."""
    content = line.octets[:LINE_LIMIT_OCTETS].partition(b"#")[0]
    return content.strip().decode("utf-8", "surrogateescape")


def octets_of(text: str) -> bytes:
    """Text as octets, those that `as_written` kept included."""
    return text.encode("utf-8", "surrogateescape")

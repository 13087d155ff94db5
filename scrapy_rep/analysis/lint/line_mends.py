"""How lines are written so that they mean what they mean, without what a finding names.

Each function takes a line and gives it anew, or None if it has no such form.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from scrapy_rep.analysis.checks.codes import Code
from scrapy_rep.analysis.outline import Line, name_of
from scrapy_rep.protocol.lines import LINE_LIMIT_OCTETS, RULES, Kind
from scrapy_rep.protocol.tokens import EVERYONE

_KEYS = {
    Kind.USER_AGENT: b"User-agent",
    Kind.ALLOW: b"Allow",
    Kind.DISALLOW: b"Disallow",
    Kind.SITEMAP: b"Sitemap",
}
_ESCAPE = re.compile(rb"%[0-9A-Fa-f]{2}")
_NEEDLESS = re.compile(
    rb"%(?:2[DEde]|3[0-9]|[46][1-9A-Fa-f]|[57][0-9Aa]|5[Ff]|7[Ee])"  # as `rule_checks` finds them
)

Rewrite = Callable[[Line], bytes | None]


def without(line: Line) -> bytes | None:
    """What stays of a line that goes: its comment; None if it has none."""
    comment = line.octets.partition(b"#")[2]
    return b"#" + comment if comment.strip() else None


def as_comment(line: Line) -> bytes:
    """A line as a comment."""
    return b"# " + line.octets.strip()


def with_value(line: Line, value: bytes) -> bytes:
    """A line with another value."""
    at = line.value_at
    return line.octets[:at] + value + line.octets[at + len(line.value) :]


def _escaped(octets: bytes) -> bytes:
    return b"".join(b"%%%02X" % octet for octet in octets)


def _substitute(pattern: bytes, write: Callable[[bytes], bytes]) -> Rewrite:
    """The line with every match in its value written anew."""
    compiled = re.compile(pattern)

    def rewrite(line: Line) -> bytes:
        return with_value(line, compiled.sub(lambda match: write(match[0]), line.value))

    return rewrite


def _with_key(line: Line) -> bytes | None:
    key = _KEYS.get(line.kind) if line.kind is not None else None
    if key is None:
        return None
    at = line.octets.find(line.key)
    return line.octets[:at] + key + line.octets[at + len(line.key) :]


def _with_colon(line: Line) -> bytes:
    at = line.octets.find(line.key) + len(line.key)
    return line.octets[:at] + b":" + line.octets[at:]


def _name_alone(line: Line) -> bytes | None:
    """The name that a user-agent line names, without what follows it."""
    name = name_of(line.value)
    if not name:
        return None
    return with_value(line, b"*" if name == EVERYONE else line.value[: len(name.encode())])


def _as_utf8(line: Line) -> bytes | None:
    """Octets that are no UTF-8: escapes in a rule, characters of Latin-1 in a comment."""
    octets = line.octets
    if line.kind in RULES and not line.value.isascii():
        octets = with_value(line, _substitute_not_ascii(line.value))
    before, mark, comment = octets.partition(b"#")
    try:
        before.decode("utf-8")
    except UnicodeDecodeError:
        return None
    try:
        comment.decode("utf-8")
    except UnicodeDecodeError:
        comment = comment.decode("latin-1").encode("utf-8")
    return before + mark + comment


def _substitute_not_ascii(value: bytes) -> bytes:
    return re.sub(rb"[\x80-\xff]+", lambda match: _escaped(match[0]), value)


def _before_comment(line: Line) -> bytes:
    before, _, comment = line.octets.partition(b"#")
    return before + b" #" + comment


REWRITES: dict[Code, Rewrite] = {
    Code.MISSING_COLON: _with_colon,
    Code.NO_RECORD: as_comment,
    Code.UNKNOWN_KEY: as_comment,
    Code.UNSUPPORTED_KEY: as_comment,
    Code.KEY_MISSING: as_comment,
    Code.MISSPELT_KEY: _with_key,
    Code.KEY_GOES_ON: _with_key,
    Code.LINE_TOO_LONG: lambda line: line.octets[:LINE_LIMIT_OCTETS],
    Code.NOT_UTF8: _as_utf8,
    Code.USER_AGENT_VERSION: _name_alone,
    Code.USER_AGENT_WILDCARD: _name_alone,
    Code.SPACE_IN_PATH: _substitute(rb"\s", _escaped),
    Code.FRAGMENT: _before_comment,
    Code.DOLLAR_NOT_LAST: _substitute(rb"\$(?=.)", _escaped),
    Code.NOT_ASCII: lambda line: with_value(line, _substitute_not_ascii(line.value)),
    Code.NEEDLESS_ESCAPE: _substitute(
        _NEEDLESS.pattern, lambda escape: bytes([int(escape[1:], 16)])
    ),
    Code.LOWER_CASE_ESCAPE: _substitute(_ESCAPE.pattern, bytes.upper),
    Code.CRAWL_DELAY_COMMA: lambda line: with_value(line, line.value.replace(b",", b".", 1)),
}
"""By code: what keeps the meaning of the line, whatever else is in the file."""

"""Paths and path patterns in a normal form that makes them comparable (RFC 9309, 2.2.2).

The RFC says which octets are equal: a percent-escape of an ASCII octet that needs none equals the
octet, and an octet that needs one equals its escape. So both sides are written in a normal form:

* a reserved or unreserved character (RFC 3986, 2.2 and 2.3) is written as itself;
* every other octet is percent-encoded, in upper case; a ``%`` that begins no escape is ``%25``;
* before the first ``?``, ``%2F`` and ``%3F`` stay escaped, because ``/`` and ``?`` are delimiters;
* literal ``*`` and ``$`` are ``%2A`` and ``%24``. So in a normal pattern a bare ``*`` is always
  the wildcard and a bare ``$`` always the end, and a normal path contains neither.

A normal path ends with a ``$`` that marks its end. This makes "matches up to the end" an ordinary
prefix match: ``/a$`` is a prefix of ``/a$`` and of nothing else.

Google's matcher decodes nothing and encodes only octets above 127, and only in rules. RFC 9309's
figures 4 to 6 require more, and sites expect it: ``Disallow: /a b/`` should match ``/a%20b/``.
"""

from __future__ import annotations

import re

from .lines import WHITE_SPACE

_UNRESERVED = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"
_RESERVED = b":/?#[]@!$&'()*+,;="
_PLAIN_OCTETS = bytes(sorted({*_UNRESERVED, *_RESERVED} - {*b"$"}))
_PLAIN_IN_PATTERN = _PLAIN_OCTETS.decode("ascii")

_PLAIN_IN_PATH = re.escape(_PLAIN_IN_PATTERN.replace("*", ""))
_ESCAPED = "(?:(?<=%)[0-9A-Fa-f]{2})?"
# Each expression begins with one class of characters: Python is slower with alternatives.
_ODD_IN_PATH = re.compile(f"[^{_PLAIN_IN_PATH}]{_ESCAPED}")
_ODD_IN_PATTERNS = re.compile(f"([^{re.escape(_PLAIN_IN_PATTERN)}\n$]{_ESCAPED})")
_DOLLAR_WITHIN = re.compile(r"\$(?!\n|\Z)")

END = "$"
"""The end of a path or of a pattern in normal form."""

ROBOTS_TXT = "/robots.txt" + END
"""The only path that is always allowed, in normal form."""

_DOTS_OCTETS = len("%2e%2e")


def _table() -> dict[str, str]:
    """The normal form of each escape, and of each octet as a character."""
    table = {"%": "%25"}
    digits = "0123456789ABCDEFabcdef"
    plain = {*_UNRESERVED, *_RESERVED} - {*b"*$/?"}
    for escape in (f"%{high}{low}" for high in digits for low in digits):
        octet = int(escape[1:], 16)
        table[escape] = chr(octet) if octet in plain else escape.upper()
    for octet in range(256):
        table.setdefault(chr(octet), f"%{octet:02X}")
    return table


_NORMAL = _table()

# The part of a URI reference before its path. The authority of RFC 3986, 3.2 ends at "/", "?" or
# "#". ";" ends it too, as in Google's matcher, since no host contains one; userinfo may contain it.
_BEFORE_PATH = re.compile(r"(?:(?:[^/?#;:]*:)?//(?:[^/?#]*@)?)?[^/?#;]*", re.DOTALL)
# A host contains no "@": otherwise each "@" of "http://@@@@;" would be tried as the last one.
_AUTHORITY = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://(?:[^/?#]*@)?[^/?#;@]+/")


def before_path_of(uri: str) -> str:
    """Scheme, authority and the ``/`` after them; empty if the URI is not absolute or lacks it."""
    match = _AUTHORITY.match(uri)
    return match[0] if match else ""


def path_of(uri: str) -> str:
    """Path, parameters, query and fragment of a URI; an empty path is ``/``.

    Takes an absolute URI, or a reference that begins with ``/``. Userinfo, host and port are
    ignored. Never raises; linear in the length of the URI.
    """
    path = uri[_path_at(uri) :]
    return path if path[:1] == "/" else f"/{path}"


def _path_at(uri: str) -> int:
    match = _BEFORE_PATH.match(uri)
    assert match is not None  # noqa: S101 - it matches nothing, too
    return match.end()


def without_dots(path: str) -> str:
    """A path, with or without a query, without its dot segments, escaped ones included.

    See RFC 3986, 5.2.4. Some clients remove dot segments before they send a request, most servers
    after they receive it. So the served path may differ from the path that a rule matched. A ``#``
    does not begin a fragment here: in normal form it means ``%23``. Linear.
    """
    path, mark, query = path.partition("?")
    kept: list[str] = []
    dots = ""
    for segment in path.split("/")[1:]:
        dots = segment.lower().replace("%2e", ".") if len(segment) <= _DOTS_OCTETS else ""
        if dots == "..":
            del kept[-1:]
        elif dots != ".":
            kept.append(segment)
    if dots in (".", ".."):
        kept.append("")
    return f"/{'/'.join(kept)}{mark}{query}"


def uri_without_dots(uri: str) -> str:
    """A URI without the dot segments of its path; the same URI if there are no dot segments."""
    path = path_of(uri).partition("#")[0]
    if "/." not in path and "/%2" not in path:
        return uri
    resolved = without_dots(path)
    if resolved == path:
        return uri
    before = uri[: _path_at(uri)]
    found = before + resolved
    # Plain "/.//a" and "http:/.//a" would become "//a": the path "" on a host "a".
    return found if path_of(found) == resolved else f"{before}//{resolved}"


def is_robots_txt(uri: str) -> bool:
    """Whether a URI is that of a robots.txt, which no rule can disallow (RFC 9309, 2.2.2).

    The path may be escaped, but must have no query; fragment and userinfo are ignored.
    """
    if "robots.txt" not in uri and "%" not in uri:
        return False
    return normal_path(path_of(uri)) == ROBOTS_TXT


def normal_path(path: str) -> str:
    """Path, parameters and query in normal form, with `END`; a fragment is ignored."""
    return _with_plain_query(_ODD_IN_PATH.sub(_normal, octets_of(path))) + END


def octets_of(path: str) -> str:
    """Path, parameters and query, one character per octet; a fragment is ignored.

    Octets that are not UTF-8 are lone surrogates in the path, as Python decodes arguments of a
    command.
    """
    path = path.partition("#")[0]
    if path.isascii():
        return path
    try:
        octets = path.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:  # other surrogates, which stand for no octet
        octets = path.encode("utf-8", "surrogatepass")
    return octets.decode("latin-1")


def _normal(found: re.Match[str]) -> str:
    return _NORMAL[found[0]]


def _with_plain_query(octets: str) -> str:
    """Decode ``%2F`` and ``%3F`` after the first ``?``, where they equal the characters."""
    if "?" not in octets or ("%2F" not in octets and "%3F" not in octets):
        return octets
    path, mark, query = octets.partition("?")
    return path + mark + query.replace("%2F", "/").replace("%3F", "?")


def normal_patterns(written: list[str]) -> list[str]:
    """Path patterns, one character per octet, in normal form and without outer white space.

    Most patterns contain nothing unusual except white space or a final "$", and one check of all
    patterns finds that out: deleting plain octets is faster than searching for others. Linear.
    """
    if _is_normal(written):
        return written
    patterns = [pattern.strip(WHITE_SPACE) for pattern in written]
    return patterns if _is_normal(patterns) else _normal_lines(patterns)


def _is_normal(patterns: list[str]) -> bool:
    unusual = "".join(patterns).encode("latin-1").translate(None, _PLAIN_OCTETS)
    if not unusual:
        return True
    ends = [pattern[-1:] for pattern in patterns]
    return unusual == END.encode() * ends.count(END)


def normal_pattern(pattern: str) -> str:
    """A path pattern, one character per octet, in normal form; a final bare ``$`` is the end."""
    return _normal_lines([pattern.replace("\n", "%0A")])[0]


def _normal_lines(patterns: list[str]) -> list[str]:
    """Normalise all patterns as one text, which is faster than one by one."""
    parts = _ODD_IN_PATTERNS.split("\n".join(patterns))  # each second one is a match
    parts[1::2] = map(_NORMAL.__getitem__, parts[1::2])
    text = _DOLLAR_WITHIN.sub("%24", "".join(parts))
    return [*map(_with_plain_query, text.split("\n"))]

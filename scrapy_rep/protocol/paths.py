"""Paths and path patterns in the one form in which they can be compared (RFC 9309, 2.2.2).

The RFC says which octets are equal: a percent-escape of an ASCII octet that needs none equals the
octet, and an octet that needs one equals its escape. So both sides are written in a normal form:

* a reserved or unreserved character (RFC 3986, 2.2 and 2.3) stands for itself, however written;
* every other octet is percent-encoded, in upper case; a ``%`` that begins no escape is ``%25``;
* before the first ``?``, ``%2F`` and ``%3F`` stay escapes: there, ``/`` and ``?`` divide;
* ``*`` and ``$`` that mean themselves are ``%2A`` and ``%24``. So in a normal pattern a bare ``*``
  is always the wildcard and a bare ``$`` always the end, and in a normal path neither occurs.

Normal paths end with a ``$`` of their own, the end of the path: then "matches up to the end" is
no special case, since ``/a$`` is a prefix of ``/a$`` and of nothing else.

Google's matcher decodes nothing and encodes only octets above 127, and only in rules. RFC 9309's
figures 4 to 6 ask for more, and so do sites: ``Disallow: /a b/`` is meant to match ``/a%20b/``.
"""

from __future__ import annotations

import re

_UNRESERVED = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"
_RESERVED = b":/?#[]@!$&'()*+,;="
_PLAIN_IN_PATTERN = bytes(sorted({*_UNRESERVED, *_RESERVED} - {*b"$"}))
_PLAIN_IN_PATH = bytes(sorted({*_PLAIN_IN_PATTERN} - {*b"*"}))

_ESCAPE_OR_ODD = re.compile(
    rb"%(?:[0-9A-Fa-f]{2})?|[^" + re.escape(_PLAIN_IN_PATH) + rb"]", re.DOTALL
)

END = b"$"
"""The end of a path or of a pattern, in normal form."""


def _table(kept_escaped: bytes, kept_bare: bytes) -> dict[bytes, bytes]:
    """What each escape and each odd octet is in normal form."""
    table = {b"%": b"%25"}
    digits = b"0123456789ABCDEFabcdef"
    plain = {*_UNRESERVED, *_RESERVED} - {*kept_escaped}
    for high in digits:
        for low in digits:
            escape = bytes((0x25, high, low))
            octet = int(escape[1:], 16)
            table[escape] = bytes((octet,)) if octet in plain else escape.upper()
    for octet in range(256):
        table.setdefault(bytes((octet,)), b"%%%02X" % octet)
    for octet in kept_bare:
        table[bytes((octet,))] = bytes((octet,))
    return table


_PATH_TABLE = _table(kept_escaped=b"*$/?", kept_bare=b"")
_QUERY_TABLE = _table(kept_escaped=b"*$", kept_bare=b"")
_PATTERN_PATH_TABLE = _table(kept_escaped=b"*$/?", kept_bare=b"*")
_PATTERN_QUERY_TABLE = _table(kept_escaped=b"*$", kept_bare=b"*")

# Path, parameters and query of a URI reference. The authority of RFC 3986, 3.2 ends at "/", "?" or
# "#"; ";" ends it too, as in Google's matcher, since no host holds one.
_PATH_AND_QUERY = re.compile(r"(?:(?:[^/?#;:]*:)?//)?[^/?#;]*([^#]*)", re.DOTALL)


def normal_path(uri: str) -> bytes:
    """Path, parameters and query of a URI in normal form, with `END`.

    Takes an absolute URI, or a reference that begins with ``/``. Userinfo, host, port and fragment
    play no part; an empty path is ``/``. Never raises; linear in the length of the URI.
    """
    match = _PATH_AND_QUERY.match(uri)
    path = match[1] if match else ""
    octets = path.encode("utf-8", "surrogatepass")
    if octets[:1] != b"/":
        octets = b"/" + octets
    if octets.translate(None, _PLAIN_IN_PATH):
        octets = _normal(octets, _PATH_TABLE, _QUERY_TABLE)
    return octets + END


def normal_pattern(pattern: bytes) -> bytes:
    """A rule's path pattern in normal form; a final bare ``$`` means the end of the path."""
    if not pattern.translate(None, _PLAIN_IN_PATTERN):
        return pattern
    end = pattern[-1:] if pattern.endswith(END) else b""
    stem = pattern[: len(pattern) - len(end)]
    return _normal(stem, _PATTERN_PATH_TABLE, _PATTERN_QUERY_TABLE) + end


def _normal(octets: bytes, in_path: dict[bytes, bytes], in_query: dict[bytes, bytes]) -> bytes:
    path, mark, query = octets.partition(b"?")
    return (
        _ESCAPE_OR_ODD.sub(lambda found: in_path[found[0]], path)
        + mark
        + _ESCAPE_OR_ODD.sub(lambda found: in_query[found[0]], query)
    )

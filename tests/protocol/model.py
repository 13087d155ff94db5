"""The protocol once more, slowly and from the text, for the fast code to agree with.

Shares no code with the package. A dynamic programme over the octets of normal forms tells whether a
rule matches; `allows` tries every rule, and `groups` reads every line of a file in order.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_CHARACTERS = set(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_CHARACTERS |= set(b":/?#[]@!$&'()+,;=*")
_WILD, _END = -1, -2  # what a bare * and a final $ are in a pattern; octets are 0 and more


def normal(octets: bytes) -> bytes:
    """A path, or the part of a rule's path between wildcards, as its normal form writes it."""
    found = b""
    in_query = False
    at = 0
    while at < len(octets):
        escape = re.match(rb"%[0-9A-Fa-f]{2}", octets[at : at + 3])
        octet = int(escape[0][1:], 16) if escape else octets[at]
        at += 3 if escape else 1
        divides = octet in b"/?" and escape is not None and not in_query
        plain = octet in _CHARACTERS and octet not in b"*$" and not divides
        found += bytes([octet]) if plain else b"%%%02X" % octet
        in_query = in_query or (octet in b"?" and escape is None)
    return found


def normal_rule(pattern: bytes) -> list[int]:
    """The octets of a rule's path in normal form, with its wildcards."""
    has_end = pattern.endswith(b"$")
    found: list[int] = []
    in_query = False
    for part in re.split(rb"(\*)", pattern[:-1] if has_end else pattern):
        if part == b"*":
            found.append(_WILD)
            continue
        # A part after the query's beginning is read as what follows a "?".
        read = normal(b"?" + part)[1:] if in_query else normal(part)
        found.extend(read)
        in_query = in_query or b"?" in part
    return [*found, _END] if has_end else found


def matches(pattern: bytes, path: bytes) -> bool:
    """Whether a rule's path matches a path: reachable[i], that the pattern can end there."""
    if pattern[:1] not in (b"/", b"*"):
        return False
    text = normal(path)
    reachable = [True] + [False] * len(text)
    for item in normal_rule(pattern):
        if item == _WILD:
            first = reachable.index(True) if True in reachable else len(reachable)
            reachable = [index >= first for index in range(len(reachable))]
        elif item == _END:
            reachable = [False] * len(text) + reachable[-1:]
        else:
            reachable = [False] + [
                before and text[index] == item for index, before in enumerate(reachable[:-1])
            ]
    return any(reachable)


def octets_of(pattern: bytes) -> int:
    """How specific a rule's path is."""
    return len(normal_rule(pattern))


def index_reading(pattern: bytes) -> bytes | None:
    """What an allow rule for a folder's index is tried as besides."""
    folder, slash, name = pattern.rpartition(b"/")
    return folder + slash + b"$" if slash and name.startswith(b"index.htm") else None


def allows(rules: list[tuple[bool, bytes]], path: bytes) -> bool:
    """Whether the rules let the path be had: most octets, then allow."""
    best = (-1, True)
    for allow, pattern in rules:
        if not pattern:
            continue
        readings = [pattern]
        if allow and (other := index_reading(pattern)):
            readings.append(other)
        for reading in readings:
            if matches(reading, path):
                best = max(best, (octets_of(reading), allow))
    return best[1]


@dataclass
class Group:
    """The names of a group's user-agent lines, and its rules."""

    names: list[bytes]
    rules: list[tuple[bool, bytes]]


_KINDS = {
    "agent": r"user-agent|useragent|user agent",
    "allow": r"allow",
    "disallow": r"disallow|dissallow|dissalow|disalow|diasllow|disallaw",
}


def groups(text: bytes) -> list[Group]:
    """The groups of a file with LF line ends, below the limits of size."""
    found: list[Group] = []
    rules_seen = True
    for line in text.split(b"\n"):
        content = re.split(rb"[\0#]", line)[0]
        split = re.match(rb"([^:]*):(.*)", content, re.DOTALL)
        two = re.fullmatch(rb"\s*(\S+)\s+(\S+)\s*", content) if split is None else None
        words = split or two
        if words is None:
            continue
        key, value = words[1].strip().lower().decode("latin-1"), words[2].strip()
        kind = next((kind for kind, keys in _KINDS.items() if re.match(keys, key)), None)
        if kind == "agent":
            if rules_seen:
                found.append(Group([], []))
                rules_seen = False
            found[-1].names.append(value)
        elif kind is not None and found:
            found[-1].rules.append((kind == "allow", value))
            rules_seen = True
    return found


def rules_for(text: bytes, token: str) -> list[tuple[bool, bytes]] | None:
    """The merged rules for a token; None if no group is for it."""
    for names in (_names_token, _names_everyone):
        own = [group for group in groups(text) if any(names(n, token) for n in group.names)]
        if own:
            return [rule for group in own for rule in group.rules]
    return None


def _names_token(name: bytes, token: str) -> bool:
    is_token = re.fullmatch(r"[A-Za-z_-]+", token)
    run = re.match(rb"[A-Za-z_-]*" if is_token else rb"[^\s/]*", name)
    return run is not None and run[0].lower() == token.lower().encode()


def _names_everyone(name: bytes, token: str) -> bool:
    return re.match(rb"\*(\s|$)", name) is not None

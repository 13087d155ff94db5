"""The protocol once more, slowly and from the text, for the fast code to agree with.

Shares no code with the package. Reads every line of a file in order, tries every rule, and tells by
a dynamic programme over the octets of normal forms whether one matches: a set of places that the
rule can have come to, as the bits of a number.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

_CHARACTERS = set(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_CHARACTERS |= set(b":/?#[]@!$&'()+,;=*")
# What a bare * and a final $ are in a pattern, and escapes that may also stand in the query as what
# they mean; octets are 0 and more.
_WILD, _END, _SLASH, _MARK = -1, -2, -3, -4
_EITHER = {_SLASH: (b"%2F", b"/"), _MARK: (b"%3F", b"?")}
_ESCAPE = re.compile(rb"%[0-9A-Fa-f]{2}")


@lru_cache(maxsize=4096)
def normal(octets: bytes) -> bytes:
    """A path, or the part of a rule's path between wildcards, as its normal form writes it."""
    found = b""
    in_query = False
    at = 0
    while at < len(octets):
        escape = _ESCAPE.match(octets, at) if octets[at] in b"%" else None
        octet = int(escape[0][1:], 16) if escape else octets[at]
        at += 3 if escape else 1
        divides = octet in b"/?" and escape is not None and not in_query
        plain = octet in _CHARACTERS and octet not in b"*$" and not divides
        found += bytes([octet]) if plain else b"%%%02X" % octet
        in_query = in_query or (octet in b"?" and escape is None)
    return found


@lru_cache(maxsize=4096)
def normal_rule(pattern: bytes) -> tuple[int, ...]:
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
        found.extend(_either(read) if _WILD in found and b"?" not in pattern else read)
        in_query = in_query or b"?" in part
    return (*found, _END) if has_end else tuple(found)


def _either(octets: bytes) -> list[int]:
    """The octets, with the escapes that may stand in the path or in the query as one item each."""
    found: list[int] = []
    for piece in re.split(rb"(%2F|%3F)", octets):
        either = [item for item, (escape, _) in _EITHER.items() if escape == piece]
        found.extend(either or piece)
    return found


@dataclass(frozen=True)
class Text:
    """A path in normal form: for each octet the places where it is; the places in the query."""

    length: int
    places: dict[int, int]
    query: int

    @classmethod
    @lru_cache(maxsize=4096)
    def of(cls, path: bytes) -> Text:
        text = normal(path)
        places: dict[int, int] = {}
        for index, octet in enumerate(text):
            places[octet] = places.get(octet, 0) | 1 << index
        mark = text.find(b"?")
        query = (1 << len(text)) - (1 << mark + 1) if mark >= 0 else 0
        return cls(len(text), places, query)

    def fits(self, items: tuple[int, ...]) -> bool:
        """Whether a pattern can end at some place, having begun at the first."""
        reached = 1
        for item in items:
            if item == _WILD:
                lowest = reached & -reached
                reached = (1 << self.length + 1) - lowest if reached else 0
            elif item == _END:
                reached &= 1 << self.length
            elif item in _EITHER:
                escape, meant = _EITHER[item]
                escaped = reached
                for octet in escape:
                    escaped = (escaped & self.places.get(octet, 0)) << 1
                reached = escaped | (reached & self.places.get(meant[0], 0) & self.query) << 1
            else:
                reached = (reached & self.places.get(item, 0)) << 1
            if not reached:
                return False  # most rules end here, at their second octet
        return True


def matches(pattern: bytes, path: bytes) -> bool:
    """Whether a rule's path matches a path."""
    return pattern[:1] in (b"/", b"*") and Text.of(path).fits(normal_rule(pattern))


_LONE_PERCENT = re.compile(rb"%(?![0-9A-Fa-f][0-9A-Fa-f])")


@lru_cache(maxsize=4096)
def as_written(pattern: bytes) -> re.Pattern[bytes] | None:
    """A rule with a % that begins no escape, for a path as requested; otherwise None."""
    if not _LONE_PERCENT.search(pattern) or pattern[:1] not in (b"/", b"*"):
        return None
    has_end = pattern.endswith(b"$")
    parts = (pattern[:-1] if has_end else pattern).split(b"*")
    return re.compile(b".*".join(map(re.escape, parts)) + (rb"\Z" if has_end else b""), re.DOTALL)


def fits_as_written(allow: bool, pattern: bytes, path: bytes) -> int:
    """How many octets of a rule match a path as requested; 0 if it does not."""
    expression = as_written(pattern)
    if expression is not None and expression.match(path):
        return octets_of(normal_rule(pattern))
    folder, slash, name = pattern.rpartition(b"/")
    if allow and slash and name.startswith(b"index.htm"):
        return fits_as_written(False, folder + b"/$", path)
    return 0


@lru_cache(maxsize=4096)
def octets_of(items: tuple[int, ...]) -> int:
    """How specific a rule's path is."""
    return sum(len(_EITHER[item][0]) if item in _EITHER else 1 for item in items)


@lru_cache(maxsize=4096)
def readings(allow: bool, pattern: bytes) -> tuple[tuple[int, ...], ...]:
    """The forms in which a rule is tried: itself, and for a folder's index the folder."""
    if pattern[:1] not in (b"/", b"*"):
        return ()
    items = normal_rule(pattern)
    slash = max((place for place, item in enumerate(items) if item == ord("/")), default=None)
    if not allow or slash is None or items[slash + 1 :][:9] != tuple(b"index.htm"):
        return (items,)
    return items, (*_folder(items[: slash + 1]), _END)


def _folder(items: tuple[int, ...]) -> tuple[int, ...]:
    """The folder as a rule of its own: a "?" of the name is none of its path."""
    if _WILD not in items or ord("?") in items or not set(_EITHER).isdisjoint(items):
        return items
    first = items.index(_WILD) + 1
    found = list(items[:first])
    literal = bytearray()
    for item in (*items[first:], _WILD):
        if item == _WILD:
            found += [*_either(bytes(literal)), _WILD]
            literal.clear()
        else:
            literal.append(item)
    return tuple(found[:-1])


Numbered = tuple[bool, bytes, int]
"""A rule: whether it allows, its path, its line."""


def decide_path(rules: list[Numbered], path: bytes) -> tuple[bool, int]:
    """The verdict on one path: most octets, then allow, then the first line; 0 without a rule."""
    if normal(path) == b"/robots.txt":
        return True, 0
    text = Text.of(path)
    best = (0, True, 0)
    for allow, pattern, line in rules:
        if pattern:
            for items in readings(allow, pattern):
                if text.fits(items):
                    best = max(best, (octets_of(items), allow, -line))
            if octets := fits_as_written(allow, pattern, path):
                best = max(best, (octets, allow, -line))
    return best[1], -best[2]


_DOT_SEGMENT = re.compile(rb"(?<=/)(?:\.|%2[Ee]){1,2}(?=/|\Z)")


def without_dots(path: bytes) -> bytes:
    """RFC 3986, 5.2.4, step by step, on the path before its query."""
    path, mark, query = path.partition(b"?")
    left = _DOT_SEGMENT.sub(lambda dots: re.sub(rb"(?i)%2e", b".", dots[0]), path)
    found = b""
    while left:
        if left.startswith(b"/./") or left == b"/.":
            left = b"/" + left[3:]
        elif left.startswith(b"/../") or left == b"/..":
            left = b"/" + left[4:]
            found = found[: found.rfind(b"/")] if found else b""
        else:
            segment = re.match(rb"/?[^/]*", left)
            assert segment is not None
            found += segment[0]
            left = left[segment.end() :]
    return found + mark + query


def decide(rules: list[Numbered], path: bytes) -> tuple[bool, int]:
    """Allowed or not, and by which line: as it is written and without dot segments."""
    path = path.partition(b"#")[0]
    written = decide_path(rules, path)
    if not written[0]:
        return written
    bare = decide_path(rules, without_dots(path))
    return written if bare[0] else bare


def allows(rules: list[tuple[bool, bytes]], path: bytes) -> bool:
    """Whether the rules let the path be had."""
    return decide([(allow, pattern, 1) for allow, pattern in rules], path)[0]


@dataclass
class Group:
    """The names of a group's user-agent lines, and its rules."""

    names: list[bytes]
    rules: list[Numbered]


_KINDS = {
    "agent": r"user-agent|useragent|user agent",
    "allow": r"allow",
    "disallow": r"disallow|dissallow|dissalow|disalow|diasllow|disallaw",
}


def lines(body: bytes) -> list[bytes]:
    """The lines of a file below the limits of size."""
    if body[:2] in (b"\xff\xfe", b"\xfe\xff"):
        if b"\0" in body:
            body = body.decode("utf-16", "replace").encode("utf-8", "replace")
        else:
            body = body[2:]
    else:
        body = re.sub(rb"\A(\xef(\xbb(\xbf)?)?)", b"", body)
    return re.split(rb"\r\n|\r|\n", body)


def groups(body: bytes) -> list[Group]:
    """The groups of a file."""
    found: list[Group] = []
    rules_seen = True
    for number, line in enumerate(lines(body), start=1):
        content = re.split(rb"[\0#]", line[:16_663])[0]
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
            found[-1].rules.append((kind == "allow", value, number))
            rules_seen = True
    return found


def numbered_rules_for(read: list[Group], token: str) -> list[Numbered] | None:
    """The merged rules for a token; None if no group is for it."""
    for names in (names_token, lambda name, _: names_everyone(name)):
        own = [group for group in read if any(names(n, token) for n in group.names)]
        if own:
            return [rule for group in own for rule in group.rules]
    return None


def rules_for(body: bytes, token: str) -> list[tuple[bool, bytes]] | None:
    """The same without their lines, from a file."""
    found = numbered_rules_for(groups(body), token)
    return None if found is None else [(allow, pattern) for allow, pattern, _ in found]


def names_token(name: bytes, token: str) -> bool:
    """Whether a user-agent line of this value is for a token."""
    is_token = re.fullmatch(r"[A-Za-z_-]+", token)
    run = re.match(rb"[A-Za-z_-]*" if is_token else rb"[^\s/]*", name)
    return run is not None and run[0].lower() == token.lower().encode()


def names_everyone(name: bytes) -> bool:
    """Whether one is for everyone."""
    return re.match(rb"\*(\s|$)", name) is not None

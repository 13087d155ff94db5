"""URLs that distinguish rules: for every pattern, some that match it and some that nearly match.

Cost: linear in the octets of the patterns: at most 40 probes for each, and `_CROSSINGS` more, all
at most `_LONGEST` long.
"""

from __future__ import annotations

import string
from collections.abc import Collection, Iterable, Iterator
from itertools import combinations, islice, pairwise, product

from scrapy_rep.protocol.paths import END
from scrapy_rep.protocol.ruleset import folder_of

from .rule_patterns import is_live, literal_of

_MORE = ("", "x", "/x", "?x=1", ".html")
_CROSSINGS = 2000
_LOOKS_PER_CROSSING = 20  # pairs of patterns that are tried; most can't match the same path
LETTERS = string.ascii_lowercase[::-1] + string.digits + string.ascii_uppercase
_LONGEST = 8000  # characters of a path; no client requests a longer one
_ALWAYS = ("/", "/index.html", "/x", "/robots.txt", "/robots.txt?x", "/?x=1", "/*", "/$")


def probes(
    patterns: Iterable[str], changed: Collection[str] = (), *, is_brief: bool = False
) -> Iterator[str]:
    """Paths for patterns in normal form, each once: references that begin with ``/``.

    Each pattern is tried as it is and longer, with its wildcards filled in several ways, one
    character short, with its last character changed, in the other case, and as its folder. Patterns
    with wildcards are also combined with other patterns, in either order.

    Args:
        patterns: the patterns of the rules that may decide.
        changed: the patterns that only one of two files has; any difference is due to these.
        is_brief: whether each pattern is tried only as it is, with its wildcards filled in two
            ways, and with one more character.
    """
    seen: set[str] = set()
    live = [pattern for pattern in dict.fromkeys(patterns) if is_live(pattern)]
    for path in _paths(live, changed, is_brief=is_brief):
        if path[:1] == "/" and len(path) <= _LONGEST and path not in seen:
            seen.add(path)
            yield as_reference(path)


def as_reference(path: str) -> str:
    """A path as a reference: ``#`` in the normal form becomes ``%23``, not a fragment."""
    return path.replace("#", "%23")


def _paths(live: list[str], changed: Collection[str], *, is_brief: bool) -> Iterator[str]:
    yield from _ALWAYS
    unused = _unused(live)
    # The text in place of "*" must not be in any pattern, or other patterns would match it.
    fills = "", unused, f"/{unused}/", f"?{unused}=1&y="
    first = sorted(live, key=lambda pattern: pattern not in changed)
    for pattern in first:
        yield from _briefly(pattern, fills[:2]) if is_brief else _of(pattern, fills)
    yield from _crossings(first, unused)


def _filled(pattern: str, fills: Iterable[str]) -> Iterator[str]:
    for fill in fills if "*" in pattern else ("",):
        filled = pattern.replace("*", fill).removesuffix(END)
        path = filled if filled[:1] == "/" else f"/{filled}"
        if len(path) <= _LONGEST:
            yield path


def _briefly(pattern: str, fills: tuple[str, ...]) -> Iterator[str]:
    for path in _filled(pattern, fills):
        yield path
        yield path + _MORE[1]


def _of(pattern: str, fills: tuple[str, ...]) -> Iterator[str]:
    for path in _filled(pattern, fills):
        for more in _MORE:
            yield path + more
        yield path[:-1]
        yield path[:-1] + ("y" if path[-1:] == "x" else "x")
        yield path.swapcase()
        yield f"/x{path}"
    folder = folder_of(pattern)
    yield (pattern if folder is None else folder).rpartition("/")[0].replace("*", fills[1]) + "/"


def _unused(patterns: list[str]) -> str:
    """One or two letters that no pattern contains; "x" if they contain all pairs of letters."""
    text = "\n".join(patterns)
    held = {*text, *map("".join, pairwise(text))}
    every = (*LETTERS, *map("".join, product(LETTERS, repeat=2)))
    return next((found for found in every if found not in held), "x")


def _crossings(patterns: list[str], unused: str) -> Iterator[str]:
    """Paths that a wildcard pattern and another one may both match."""
    pairs = islice(combinations(patterns, 2), _CROSSINGS * _LOOKS_PER_CROSSING - 1)
    wild = (pair for pair in pairs if "*" in pair[0] or "*" in pair[1])
    paths = (path for one, other in wild for path in _together(one, other, unused))
    return islice(paths, _CROSSINGS)


def _together(one: str, other: str, unused: str) -> Iterator[str]:
    """Simple paths that two patterns both match, if there are any."""
    head, head_too = literal_of(one), literal_of(other)
    if not head.startswith(head_too) and not head_too.startswith(head):
        return
    longer = max(head, head_too, key=len).removesuffix(END)
    start = longer if longer[:1] == "/" else f"/{longer}"
    tails = [
        pattern.partition("*")[2].replace("*", unused) for pattern in (one, other) if "*" in pattern
    ]
    if not any(tails):
        return
    for first, *more in (tails, tails[::-1]) if len(tails) > 1 else (tails,):
        last = "".join(more)
        # "a$" and "ba$" end in the same way; "a$" comes last.
        ends = last if not first.endswith(END) or not more else ""
        path = start + unused + first.removesuffix(END) + unused * bool(ends) + ends
        yield path.removesuffix(END)
        yield start + first.removesuffix(END) + ends.removesuffix(END)

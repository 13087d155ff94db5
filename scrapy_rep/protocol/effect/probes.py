"""URLs that tell rules apart: for every pattern some that match it, and some that just miss it.

Cost: linear in the patterns, at most `_PROBES_PER_PATTERN` for each, and `_CROSSINGS` more.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from scrapy_rep.protocol.paths import END

from .patterns import folder_of, is_live

_FILLS = ("", "x", "/x/", "?x=1&y=")
_MORE = ("", "x", "/x", "?x=1", ".html")
_CROSSINGS = 2000
_LONGEST = 8000  # characters of a path; no client asks for more
_ALWAYS = ("/", "/index.html", "/x", "/robots.txt", "/robots.txt?x", "/?x=1", "/*", "/$")


def probes(patterns: Iterable[str]) -> tuple[str, ...]:
    """Paths for patterns in normal form, each once: references that begin with ``/``.

    Each pattern is tried as it stands and longer, its wildcards filled in several ways, one
    character short, with its last one changed, in the other case, and as its folder; and where
    there are wildcards, behind the literal beginnings of the other patterns.
    """
    live = [pattern for pattern in dict.fromkeys(patterns) if is_live(pattern)]
    found: dict[str, None] = dict.fromkeys(_ALWAYS)
    for pattern in live:
        found.update(dict.fromkeys(_of(pattern)))
    found.update(dict.fromkeys(_crossings(live)))
    return tuple(path for path in found if path[:1] == "/" and len(path) <= _LONGEST)


def _of(pattern: str) -> Iterator[str]:
    for fill in _FILLS if "*" in pattern else _FILLS[:1]:
        filled = pattern.replace("*", fill).removesuffix(END)
        path = filled if filled[:1] == "/" else f"/{filled}"
        for more in _MORE:
            yield path + more
        yield path[:-1]
        yield path[:-1] + ("y" if path[-1:] == "x" else "x")
        yield path.swapcase()
        yield f"/x{path}"
    folder = folder_of(pattern)
    yield (pattern if folder is None else folder).rpartition("/")[0].replace("*", "x") + "/"


def _crossings(patterns: list[str]) -> Iterator[str]:
    """Paths that a wildcard pattern and another one may both match."""
    tails = [
        pattern.partition("*")[2].replace("*", "x").removesuffix(END)
        for pattern in patterns
        if "*" in pattern.rstrip("*")
    ]
    heads = [pattern.replace("*", "x").removesuffix(END) for pattern in patterns]
    count = 0
    for tail in dict.fromkeys(tails):
        for head in heads:
            yield head + tail
            count += 1
            if count >= _CROSSINGS:
                return

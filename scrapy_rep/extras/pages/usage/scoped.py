"""Values that may begin with a path pattern, and a look-up of the values for a URL.

A value that begins with ``/`` begins with a path pattern, up to white space; other values apply to
every path, like ``/``. Patterns match as in rules. As in rules, a URL with dot segments is judged
both as written and without them.

Cost for a URL: the cost of `wildcards.matches` for each pattern. If all of them would take too
long, `matching` returns the untried ones.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar

from scrapy_rep.protocol.paths import END, normal_path, normal_pattern, path_of, without_dots
from scrapy_rep.protocol.wildcards import (
    OutOfWork,
    Work,
    fits_either,
    is_twofold,
    matches,
)

_SPACE = re.compile(rb"[ \t]+")
_STEPS = 6_000_000  # for all patterns on one path, as for rules

Said = TypeVar("Said")


def divided(value: bytes) -> tuple[str, bytes]:
    """The path pattern of a value in normal form, and the rest of the value."""
    if not value.startswith(b"/"):
        return "/", value
    path, *rest = _SPACE.split(value, maxsplit=1)
    return normal_pattern(path.decode("latin-1")), rest[0] if rest else b""


@dataclass(frozen=True, slots=True)
class Scoped(Generic[Said]):
    """A value that applies to the paths that a pattern in normal form matches."""

    pattern: str
    said: Said

    def speaks_of(self, path: str, work: Work) -> bool:
        """Whether the pattern matches a path in normal form.

        Raises:
            OutOfWork: the answer would take too long.
        """
        work.take(1)
        if is_twofold(self.pattern):
            return fits_either(self.pattern, path, work)
        return matches(self.pattern, path, work)


def paths_of(url: str) -> tuple[str, ...]:
    """The path of a URL in normal form, and the path without dot segments if it differs."""
    path = normal_path(path_of(url))
    bare = without_dots(path[:-1]) + END if "/." in path or "/%2" in path else path
    return (path,) if bare == path else (path, bare)


def matching(
    scoped: Iterable[Scoped[Said]], path: str
) -> tuple[list[Scoped[Said]], list[Scoped[Said]]]:
    """The values that apply to a path in normal form, and the values that were not tried.

    Values are not tried if that would take too long.
    """
    work, found = Work(_STEPS), []
    left: Iterator[Scoped[Said]] = iter(scoped)
    for one in left:
        try:
            if one.speaks_of(path, work):
                found.append(one)
        except OutOfWork:  # noqa: PERF203 - at most once
            return found, [one, *left]
    return found, []

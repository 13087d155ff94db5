"""The elements of an HTML page that speak to crawlers, as values; what links may be followed."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from .words import lowered

_HTTP_EQUIV = frozenset(["x-robots-tag", "robots"])


class Meta(NamedTuple):
    """A meta element: its attributes as written, None where they are missing.

    Attributes:
        name: what it speaks of.
        content: what it says.
        line: its line in the page, from 1; 0 if that is unknown.
        in_head: whether it stands in the head, as HTML parses the page.
        property_name: its attribute ``property``.
        http_equiv: its attribute ``http-equiv``.
    """

    name: str | None
    content: str | None
    line: int = 0
    in_head: bool = True
    property_name: str | None = None
    http_equiv: str | None = None

    @property
    def subject(self) -> str:
        """What it speaks of: its name; without one, what other attributes say instead."""
        name = (self.name or "").strip() or (self.property_name or "").strip()
        if name:
            return name
        equiv = (self.http_equiv or "").strip()
        return equiv if lowered(equiv) in _HTTP_EQUIV else ""

    @property
    def is_named(self) -> bool:
        """Whether it names what it speaks of as HTML says."""
        return bool(self.name and self.name.strip())


class PageLink(NamedTuple):
    """An ``a`` or ``area`` with a target, or a ``link``; attributes as written."""

    target: str
    rel: str = ""
    media_type: str = ""
    line: int = 0


def relations(rel: str) -> frozenset[str]:
    """The words of a ``rel``, in lower case: white space and commas divide them."""
    return frozenset(lowered(rel).replace(",", " ").split())


def refusing(links: Iterable[PageLink], rels: Iterable[str]) -> list[str]:
    """The targets of those links that have one of these relations, in lower case."""
    wanted = frozenset(rels)
    refuses = {rel: not wanted.isdisjoint(relations(rel)) for rel in {one.rel for one in links}}
    return [link.target for link in links if refuses[link.rel]]


def refused_urls(
    refusing: Sequence[str], targets: Iterable[str], resolve: Callable[[str], str]
) -> frozenset[str]:
    """The URLs that refusing links alone name.

    Args:
        refusing: the targets of those links.
        targets: the targets of all links of the page, these included.
        resolve: makes a target absolute, in the form in which URLs are compared, or empty if it is
            no URL.

    Linear in the links. Resolving takes most of the time, so it is left out where what follows the
    last slash of a plain target tells that it is another URL.
    """
    refused = {*map(resolve, {*refusing})}
    tails = {*map(_tail, refused)}
    others = Counter(targets)
    others.subtract(refusing)
    for target, count in others.items():
        if count > 0 and (_tail(target) in tails or not _PLAIN.fullmatch(target)):
            refused.discard(resolve(target))
    return frozenset(filter(None, refused))


# A reference whose end no resolution changes: no escapes, no host without a path, no other scheme,
# no query alone, and no dots at the end of its path.
_PLAIN = re.compile(
    r"(?:https?://[A-Za-z0-9.-]+(?=/)|(?!\?|//|[^/?#]*:))"
    r"[A-Za-z0-9/_~=&+,.:!()-]*[A-Za-z0-9/_~=&+,()-]"
    r"(?:\?[A-Za-z0-9/_~?=&+,.:!()-]*[A-Za-z0-9/_~=&+,()-])?"
    r"(?:#[A-Za-z0-9_-]*)?"
)


def _tail(url: str) -> str:
    """What follows the last slash of a URL, without its fragment."""
    return url.partition("#")[0].rpartition("/")[2]

"""The elements of an HTML page for crawlers, as values, and the links that may be followed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from .rule_words import lowered

_HTTP_EQUIV = frozenset(["x-robots-tag", "robots"])


class Meta(NamedTuple):
    """A meta element: its attributes as written, None if missing.

    Attributes:
        name: its attribute ``name``.
        content: its attribute ``content``.
        line: its line in the page, from 1; 0 if unknown.
        in_head: whether it is in the head, as HTML parses the page.
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
        """Its subject, such as ``robots``: the ``name``, otherwise a similar attribute."""
        name = (self.name or "").strip() or (self.property_name or "").strip()
        if name:
            return name
        equiv = (self.http_equiv or "").strip()
        return equiv if lowered(equiv) in _HTTP_EQUIV else ""

    @property
    def is_named(self) -> bool:
        """Whether it has a ``name``, as HTML requires."""
        return bool(self.name and self.name.strip())


class PageLink(NamedTuple):
    """An ``a`` or ``area`` with a target, or a ``link``; attributes as written."""

    target: str
    rel: str = ""
    media_type: str = ""
    line: int = 0


def relations(rel: str) -> frozenset[str]:
    """The words of a ``rel`` in lower case, separated by white space or commas."""
    return frozenset(lowered(rel).replace(",", " ").split())


NOFOLLOW = "nofollow"
"""The relation of links that are not followed; ``ugc`` and ``sponsored`` describe a link for search
engines, and forbid nothing."""


def refused_urls(links: Sequence[PageLink], resolve: Callable[[str], str]) -> frozenset[str]:
    """The URLs to which a page has only ``nofollow`` links.

    Args:
        links: all links of the page.
        resolve: makes a target absolute, in the form in which URLs are compared; returns an empty
            string if it is not a URL.
    """
    refusing: set[str] = set()
    others: set[str] = set()
    for link in links:
        (refusing if NOFOLLOW in relations(link.rel) else others).add(link.target)
    refused = frozenset(filter(None, map(resolve, refusing)))
    return refused.difference(map(resolve, others)) if refused else refused

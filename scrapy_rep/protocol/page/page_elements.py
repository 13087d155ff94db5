"""The elements of an HTML page that speak to crawlers, as values; what links may be followed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from .rule_words import lowered

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


NOFOLLOW = "nofollow"
"""The relation of links that are not followed; ``ugc`` and ``sponsored`` tell search engines about
the link, and forbid nothing."""


def refused_urls(links: Sequence[PageLink], resolve: Callable[[str], str]) -> frozenset[str]:
    """The URLs that a page links to by nothing but ``nofollow`` links.

    Args:
        links: all links of the page.
        resolve: makes a target absolute, in the form in which URLs are compared, or empty if it is
            no URL.
    """
    refusing: set[str] = set()
    others: set[str] = set()
    for link in links:
        (refusing if NOFOLLOW in relations(link.rel) else others).add(link.target)
    refused = frozenset(filter(None, map(resolve, refusing)))
    return refused.difference(map(resolve, others)) if refused else refused

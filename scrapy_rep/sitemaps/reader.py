"""Sitemap files as streams of entries (sitemaps.org): XML, RSS, Atom and text, gzipped or not.

Scrapy's own `Sitemap` reads neither text nor feeds, and builds a tree that grows with the file.
Here an error loses at most the entry in which it stands. No tree is built, no entity is expanded,
and nothing is fetched or opened.

Memory is bounded by a few MiB besides the body: at most `SITEMAP_OCTETS` are decompressed and read,
and none of them is kept. Reading ends after `SITEMAP_ENTRIES` entries (both limits are the
protocol's), at elements nested too deep, and where a file goes on without an entry. Time is linear
in the octets read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import Enum
from itertools import chain
from typing import Any, Protocol

from .markup import UNEXPANDED, Markup
from .unpacking import Unpacked, as_readable, as_uri_text
from .usual_entries import ATTRIBUTE, CHILD, ODD_IN_ATTRIBUTES, WHOLE

SITEMAP_OCTETS = 50 * 1024 * 1024
"""How large a sitemap may be, uncompressed (sitemaps.org)."""

SITEMAP_ENTRIES = 50_000
"""How many entries a sitemap may have (sitemaps.org)."""

SitemapEntry = dict[str, Any]
"""The values of an entry by the local names of their elements: ``loc`` at least, ``lastmod`` and so
on, and ``alternate``, the list of alternate links. Scrapy's `Sitemap` returns the same."""

_VALUE_CHARACTERS = 8192
_VALUES_AN_ENTRY = 1000
_DEPTH = 64
_SILENT_CHARACTERS = 1 << 18  # of one tag or comment
_SILENT_ELEMENTS = 100_000  # between two entries
_DAMAGES = 1_000_000  # 20 for each entry: with more errors, a file is not a sitemap


class SitemapKind(Enum):
    """The kind of a sitemap: a list of sitemaps, or one of three kinds of lists of pages."""

    INDEX = "index"
    URLSET = "urlset"
    FEED = "feed"
    TEXT = "text"


_ENTRIES = (
    "sitemap",
    "url",
)  # in both kinds: sites confuse them, and Scrapy's parser is lenient too
_KINDS: dict[str, tuple[SitemapKind, tuple[str, ...]]] = {  # by root element; with those of entries
    "sitemapindex": (SitemapKind.INDEX, _ENTRIES),
    "urlset": (SitemapKind.URLSET, _ENTRIES),
    "rss": (SitemapKind.FEED, ("item",)),
    "RDF": (SitemapKind.FEED, ("item",)),
    "feed": (SitemapKind.FEED, ("entry",)),
}
_NO_END = "an element that does not end, or ends twice"
_TOO_DEEP = "elements nested too deep"
_BLANK = " \t\r\n\v\f\0\ufeff"
_ROOT = re.compile(r"<([\w.-]{1,40}:)?(urlset|sitemapindex)[\s>]")
_JUNK_CHARACTERS = 1 << 12  # before the XML: a warning of the site's software, say
_NO_PLACE = "something before or after the root element"
_FEED_NAMES = {"link": "loc", "pubDate": "lastmod", "date": "lastmod", "updated": "lastmod"}


class _Reader(Protocol):
    """Reads the text of a file, and returns its entries.

    Attributes:
        kind: the kind of the file, once that is known.
        is_over: whether reading has ended before the file.
        is_unfinished: whether the file ended within an element or the like.
        damage: the first error of the file, in words; empty without one.
    """

    kind: SitemapKind | None
    is_over: bool

    @property
    def is_unfinished(self) -> bool: ...

    @property
    def damage(self) -> str: ...

    def feed(self, text: str) -> list[SitemapEntry]: ...

    def close(self, *, is_cut: bool) -> list[SitemapEntry]: ...


class Sitemap:
    """The entries of one file, read during the iteration; to be iterated over once.

    Attributes:
        is_cut: whether more may have followed where reading ended; final after the iteration.
    """

    def __init__(self, body: bytes, *, is_cut: bool = False) -> None:
        """Read as much of a body as tells its kind; no octets raise.

        Args:
            body: the file.
            is_cut: whether its end is known to be missing.
        """
        self.is_cut = is_cut
        self._unpacked = Unpacked(body, SITEMAP_OCTETS)
        self._texts = iter(self._unpacked)
        first = next(self._texts)
        self._reader: _Reader = _TextReader() if _is_text(first) else _XmlReader()
        self._found = self._reader.feed(first)
        for text in self._texts:
            if self._reader.kind is not None or self._reader.is_over:
                self._texts = chain((text,), self._texts)
                return
            self._found += self._reader.feed(text)
        if self._reader.kind is None:
            self._found += self._close()

    @property
    def kind(self) -> SitemapKind | None:
        """The kind of the file; None if it is not a sitemap."""
        return self._reader.kind

    @property
    def type(self) -> str:
        """The kind in the words of Scrapy's `Sitemap`, for a `sitemap_filter`."""
        return "sitemapindex" if self.kind is SitemapKind.INDEX else "urlset"

    @property
    def octets(self) -> int:
        """How many octets were unpacked so far."""
        return self._unpacked.octets

    @property
    def damage(self) -> str:
        """The first error in what was read so far, in words; empty without one."""
        return self._reader.damage

    def __iter__(self) -> Iterator[SitemapEntry]:
        """The entries in order."""
        left = SITEMAP_ENTRIES
        for found in self._batches():
            if len(found) > left:
                self.is_cut = True
                yield from found[:left]
                return
            left -= len(found)
            yield from found

    def _batches(self) -> Iterator[list[SitemapEntry]]:
        found, self._found = self._found, []
        yield found
        for text in self._texts:
            if self._reader.is_over:
                break
            yield self._reader.feed(text)
        yield self._close()

    def _close(self) -> list[SitemapEntry]:
        self.is_cut |= self._unpacked.is_cut or self._reader.is_over
        found = self._reader.close(is_cut=self.is_cut)
        self.is_cut |= self._reader.is_unfinished
        return found


def _is_text(first: str) -> bool:
    """Whether a file that begins like this is not XML: a list of URLs, say."""
    is_xml = first.lstrip(_BLANK).startswith("<") or _ROOT.search(first, 0, _JUNK_CHARACTERS)
    return not is_xml


class _TextReader:
    """One URL per line."""

    def __init__(self) -> None:
        self.kind: SitemapKind | None = None
        self.is_over = False
        self.is_unfinished = False
        self.damage = ""
        self._rest = ""
        self._silent_characters = 0

    def feed(self, text: str) -> list[SitemapEntry]:
        *lines, rest = (self._rest + text).replace("\r", "\n").split("\n")
        self._rest = rest[: _VALUE_CHARACTERS + 1]
        found = list(self._entries(lines))
        self._silent_characters = 0 if found else self._silent_characters + len(text)
        self.is_over = self._silent_characters > _SILENT_CHARACTERS
        return found

    def close(self, *, is_cut: bool) -> list[SitemapEntry]:
        """The last line, unless its end may be missing."""
        line, self._rest = self._rest, ""
        return [] if is_cut else list(self._entries([line]))

    def _entries(self, lines: list[str]) -> Iterator[SitemapEntry]:
        for line in lines:
            url = line.strip(_BLANK)
            is_address = url[:8].lower().startswith(("http://", "https://"))
            if is_address and len(url) <= _VALUE_CHARACTERS:
                self.kind = SitemapKind.TEXT
                address = as_uri_text(url)
                if address != url:
                    self.damage = "octets that are not UTF-8"
                yield {"loc": address}


class _XmlReader:
    """The three kinds of XML: makes entries of tags, even if an end tag is missing."""

    def __init__(self) -> None:
        self.kind: SitemapKind | None = None
        self.is_over = False
        self._markup = Markup(plain=("loc", "link"), whole=WHOLE, take=self._take)
        self._has_taken = False
        self._silent_characters = 0
        self._elements = 0  # since an entry
        self._open: list[str] = []  # the elements around, by their names as written
        self._entry_names: tuple[str, ...] = ()
        self._entry: SitemapEntry | None = None
        self._entry_name = ""  # as written
        self._prefix = ""  # of it
        self._entry_depth = 0
        self._values = 0
        self._name = ""  # of the value whose text is being read
        self._text = ""
        self._is_before_children = False
        self._entries: list[SitemapEntry] = []

    @property
    def is_unfinished(self) -> bool:
        return bool(self._open) or self._markup.is_open

    @property
    def damage(self) -> str:
        return self._markup.damage

    def feed(self, text: str, *, is_last: bool = False) -> list[SitemapEntry]:
        has_heard = self._has_taken = False
        for name, attributes, following in self._markup.feed(text, is_last=is_last):
            has_heard = True
            if name.startswith("/"):
                self._end(name[1:])
            elif name:
                self._start(name, attributes)
                if self.is_over:
                    break
            if not self._open and following.strip(_BLANK):
                self._markup.note(_NO_PLACE)
            if following and self._is_before_children and len(self._text) <= _VALUE_CHARACTERS:
                self._text += following
        has_heard |= self._has_taken
        self._silent_characters = 0 if has_heard else self._silent_characters + len(text)
        self.is_over |= self._silent_characters > _SILENT_CHARACTERS
        self.is_over |= self._markup.damages > _DAMAGES
        entries, self._entries = self._entries, []
        return entries

    def close(self, *, is_cut: bool) -> list[SitemapEntry]:  # noqa: ARG002 - open tags show it
        return self.feed("", is_last=True) if not self.is_over else []

    def _take(self, found: re.Match[str]) -> bool:
        """Read an entry as a whole, where one may begin; with what its tags would come to."""
        is_between = self._entry is None and self._entry_names is _ENTRIES
        if not is_between or not 0 < len(self._open) < _DEPTH - 1:
            return False
        content = found[2]
        elements = self._elements + 1 + content.count("<") - content.count("</")
        children = CHILD.findall(content)
        if elements > _SILENT_ELEMENTS or any(child[0] == found[1] for child in children):
            return False
        entry: SitemapEntry = {}
        for name, text, attributes, nested, _ in children:
            if name:
                said = self._markup.resolved(text) if "&" in text else text
                self._keep(entry, name, said.partition(UNEXPANDED)[0].strip(), replaces=True)
            elif nested:
                name = nested.partition(":")[2]  # noqa: PLW2901 - it holds no text of its own
                self._keep(entry, name, "", replaces=True)
            elif attributes:
                self._link(entry, self._attributes(attributes))
        self._has_taken = True
        self._elements = elements
        self._keep_entry(entry)
        return True

    def _attributes(self, written: str) -> dict[str, str]:
        """The attributes of a tag that is read as a whole."""
        if ODD_IN_ATTRIBUTES.search(written):
            self._markup.resolved(written)  # as of every tag, for the damage
            return self._markup.attributes(written)
        return dict(reversed(ATTRIBUTE.findall(written)))  # of equal names the first counts

    def _start(self, name: str, attributes: str) -> None:
        self._is_before_children = False
        self._elements += 1
        local = name.rpartition(":")[2]
        if not self._open and self.kind is not None:
            self._markup.note(_NO_PLACE)
        if self.kind is None:
            self.kind, self._entry_names = _KINDS.get(local, (None, ()))
        elif name == self._entry_name or (self._entry is None and local in self._entry_names):
            self._begin_entry(name, local)
        elif len(self._open) == self._entry_depth and self._entry is not None:
            self._begin_value(self._entry, local, attributes)
        self.is_over = self.kind is None or self._elements > _SILENT_ELEMENTS
        if len(self._open) - self._entry_depth >= _DEPTH:
            self._markup.note(_TOO_DEEP)
            return
        self._open.append(name)
        if attributes.endswith("/"):
            self._end(name)

    def _begin_entry(self, name: str, local: str) -> None:
        """Begin an entry, and end the last one if it was not closed."""
        if self._entry is not None:
            self._end(name)
            self._markup.note(_NO_END)
        self._entry, self._entry_name = {}, name
        self._prefix = name.removesuffix(local)
        self._entry_depth = len(self._open) + 1
        self._values = 0

    def _begin_value(self, entry: SitemapEntry, name: str, attributes: str) -> None:
        """Begin a child of an entry."""
        self._values += 1
        if self._values > _VALUES_AN_ENTRY:
            return
        self._name, self._text, self._is_before_children = name, "", True
        if name == "link" and len(attributes) > 1:
            self._link(entry, self._markup.attributes(attributes))

    def _link(self, entry: SitemapEntry, attributes: dict[str, str]) -> None:
        link = as_uri_text(attributes.get("href", ""))
        if not link or len(link) > _VALUE_CHARACTERS or UNEXPANDED in link:
            return
        if self.kind is not SitemapKind.FEED:
            entry.setdefault("alternate", []).append(link)
        elif attributes.get("rel", "alternate") == "alternate":
            entry.setdefault("loc", link)

    def _end(self, name: str) -> None:
        """End an element and those in it; ignore an end without a start."""
        opened = self._open
        if not opened or opened[-1] != name:
            self._markup.note(_NO_END)
            if name not in opened:
                return
            while opened[-1] != name:
                self._end_last()
        self._end_last()

    def _end_last(self) -> None:
        name = self._open.pop()
        self._is_before_children = False
        if self._entry is None:
            return
        if len(self._open) == self._entry_depth:
            if self._name:
                self._end_value(self._entry, name)
        elif len(self._open) < self._entry_depth:
            self._end_entry(self._entry)

    def _end_value(self, entry: SitemapEntry, written: str) -> None:
        """Keep a value: the last of several, as Scrapy does; in feeds, which have many, the first.

        The address of another namespace, an image's say, does not replace that of the page.
        """
        name, self._name = self._name, ""
        text = self._text.partition(UNEXPANDED)[0].strip()
        replaces = name != "loc" or written.removesuffix(name) == self._prefix
        if self.kind is SitemapKind.FEED:
            name, replaces = _FEED_NAMES.get(name, name), False
        self._keep(entry, name, text, replaces=replaces)

    def _keep(self, entry: SitemapEntry, name: str, text: str, *, replaces: bool) -> None:
        if len(text) > _VALUE_CHARACTERS or name in ("alternate", "link"):
            return
        if name == "loc" and not text:
            return
        if replaces or name not in entry:
            entry[name] = as_uri_text(text) if name == "loc" else as_readable(text)

    def _end_entry(self, entry: SitemapEntry) -> None:
        self._entry, self._entry_name, self._name = None, "", ""
        self._entry_depth = 0
        self._keep_entry(entry)

    def _keep_entry(self, entry: SitemapEntry) -> None:
        if "loc" in entry:
            self._elements = 0
            self._entries.append(entry)

"""Sitemap files as streams of entries (sitemaps.org): XML, RSS, Atom and text, gzipped or not.

Scrapy's own `Sitemap` reads neither text nor feeds, and builds a tree that grows with the file.
This reader usually loses only the entry with an error. It builds no tree, expands no entity, and
fetches or opens nothing.

Memory: a few MiB in addition to the body. At most `SITEMAP_OCTETS` are decompressed and read, and
none of them is kept. Reading ends after `SITEMAP_ENTRIES` entries (both limits are the protocol's),
or after a long part without an entry. Time is linear in the octets read. A step reads at most
`STEP_CHARACTERS`, so other work can be done between steps.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator, Mapping
from enum import Enum
from functools import lru_cache
from itertools import chain
from typing import Any, NamedTuple

from lxml import etree

from scrapy_rep.protocol.units import counted

from .unpacking import Unpacked, percent_encoded
from .xml_mending import XmlMender

SITEMAP_OCTETS = 50 * 1024 * 1024
"""The size limit of a sitemap, uncompressed (sitemaps.org)."""

SITEMAP_ENTRIES = 50_000
"""The limit of entries in a sitemap (sitemaps.org)."""

STEP_CHARACTERS = 1 << 14
"""The most characters that one step reads."""

SitemapEntry = dict[str, Any]
"""The values of an entry by the local names of their elements: at least ``loc``, others such as
``lastmod``, and the list ``alternate`` of alternate links. Scrapy's `Sitemap` returns the same."""

_VALUE_CHARACTERS = 8192
_VALUES_AN_ENTRY = 1000
_SILENT_CHARACTERS = 1 << 19  # without a tag, and within a tag or comment
_SILENT_ELEMENTS = 100_000  # and errors, between two entries
_BARREN_CHARACTERS = 1 << 22  # between two entries
_NAMES = 1000  # libxml2 keeps each for as long as the process lives
_DEPTH = 100_000
_DAMAGES = 1_000_000  # 20 per entry: a file with more errors is not a sitemap


class SitemapKind(Enum):
    """The kind of a sitemap: a list of sitemaps, or one of three kinds of lists of pages."""

    INDEX = "index"
    URLSET = "urlset"
    FEED = "feed"
    TEXT = "text"


_ENTRIES = ("sitemap", "url")  # allowed in both kinds, because sites confuse them, as in Scrapy
_KINDS: dict[str, tuple[SitemapKind, tuple[str, ...]]] = {  # by root; with entries
    "sitemapindex": (SitemapKind.INDEX, _ENTRIES),
    "urlset": (SitemapKind.URLSET, _ENTRIES),
    "rss": (SitemapKind.FEED, ("item",)),
    "RDF": (SitemapKind.FEED, ("item",)),
    "feed": (SitemapKind.FEED, ("entry",)),
}
_ROOT = re.compile(r"<((?:[\w.-]{1,40}:)?(urlset|sitemapindex|rss|RDF|feed|html))(?=[\s/>])")
_JUNK_CHARACTERS = 1 << 12  # before the XML, for example a warning of the site's software
_BLANK = " \t\r\n\v\f\0\ufeff"
_BLANK_OF_XML = " \t\r\n\ufeff"
_ADDRESS = re.compile("https?://", re.IGNORECASE)
_WHOLE_ADDRESS = re.compile(r"https?://\S+", re.IGNORECASE)
_ANY_ADDRESS = re.compile("(?:^|[\r\n])[ \t\v\f\0\ufeff]*https?://", re.IGNORECASE)
_CHANGE_NAMES = ("updated", "modified")  # their dates replace that of the publication
_FEED_NAMES = {"pubDate": "lastmod", "date": "lastmod"}
_AROUND = "rep"  # an element that this reader adds around the root
_LEVELS = 1000  # of these elements: each end tag without a start ends one


class Sitemap:
    """The entries of one file, parsed during the iteration; can be iterated once.

    Attributes:
        is_cut: whether reading ended before the end of the file; final after the iteration.
    """

    def __init__(self, body: bytes, *, is_cut: bool = False) -> None:
        """Read enough of a body to know its kind; never raises for its content.

        Args:
            body: the file.
            is_cut: whether the end of the body is known to be missing.
        """
        self.is_cut = is_cut
        self._unpacked = Unpacked(body, SITEMAP_OCTETS)
        self._texts = iter(self._unpacked)
        self._reader: _TextReader | _XmlReader | None = None
        self._ready: deque[SitemapEntry] = deque()
        self._head = next(self._texts)
        if not self._begins():
            for text in self._texts:
                self._head += text
                if len(self._head) > _SILENT_CHARACTERS:
                    break
            self._begins()
        self._steps = self._reading()

    def _begins(self) -> bool:
        """Choose the reader, once the kind of the file is known."""
        is_xml = self._head.lstrip(_BLANK).startswith("<")
        root = _ROOT.search(self._head, 0, len(self._head) if is_xml else 2 * _JUNK_CHARACTERS)
        if is_xml or (root and root.start() <= _JUNK_CHARACTERS):
            if root and root[2] in _KINDS:
                self._reader = _XmlReader(root)
                self._head = self._head[root.start() :]
        elif _ANY_ADDRESS.search(self._head):
            self._reader = _TextReader()
        return self._reader is not None

    @property
    def kind(self) -> SitemapKind | None:
        """The kind of the file; None if it is not a sitemap."""
        return self._reader.kind if self._reader else None

    @property
    def type(self) -> str:
        """The kind as Scrapy's `Sitemap` names it, for a `sitemap_filter`."""
        return "sitemapindex" if self.kind is SitemapKind.INDEX else "urlset"

    @property
    def octets(self) -> int:
        """The number of octets unpacked so far."""
        return self._unpacked.octets

    @property
    def damage(self) -> str:
        """The errors so far, in words: the first one, and lost entries; empty without one."""
        return self._reader.damage if self._reader else ""

    def __iter__(self) -> Iterator[SitemapEntry]:
        """The entries in order."""
        while self.step() or self._ready:
            while self._ready:
                yield self._ready.popleft()

    def step(self) -> bool:
        """Read on by a step, unless an entry is waiting to be taken; False without a step."""
        return not self._ready and next(self._steps, False)

    def _reading(self) -> Iterator[bool]:
        """Read step by step."""
        if self._reader is None:
            return
        left, silent_characters, barren_characters = SITEMAP_ENTRIES, 0, 0
        for text in self._pieces():
            has_heard, found = self._reader.read(text)
            self._ready.extend(found[:left])
            silent_characters = 0 if has_heard else silent_characters + len(text)
            barren_characters = 0 if found else barren_characters + len(text)
            is_vain = silent_characters > _SILENT_CHARACTERS
            is_vain |= barren_characters > _BARREN_CHARACTERS
            if is_vain or self._reader.is_over or len(found) > left:
                self.is_cut = True
                return
            left -= len(found)
            yield True
        self._ready.extend(self._reader.rest()[:left])
        self.is_cut |= self._reader.is_unfinished

    def _pieces(self) -> Iterator[str]:
        for text in chain([self._head], self._texts):
            self._head = ""
            for start in range(0, len(text), STEP_CHARACTERS):
                yield text[start : start + STEP_CHARACTERS]
        self.is_cut |= self._unpacked.is_cut
        if not self.is_cut:
            yield "\n"  # terminates the last line


class _TextReader:
    """Reads one address per line."""

    kind = SitemapKind.TEXT
    damage = ""
    is_over = False
    is_unfinished = False
    _rest = ""

    def read(self, text: str) -> tuple[bool, list[SitemapEntry]]:
        """Whether a piece of the text was useful, and the entries in it."""
        *lines, rest = (self._rest + text).replace("\r", "\n").split("\n")
        self._rest = rest[: _VALUE_CHARACTERS + 1]
        found: list[SitemapEntry] = []
        for line in lines:
            url = line.strip(_BLANK)
            if _ADDRESS.match(url) and len(url) <= _VALUE_CHARACTERS:
                found.append({"loc": percent_encoded(url)})
                if found[-1]["loc"] != url:
                    self.damage = "octets that are not UTF-8"
        return bool(found), found

    def rest(self) -> list[SitemapEntry]:
        """No entry: a line that is cut may be half an address."""
        return []


class _XmlReader:
    """Reads the three kinds of XML with libxml2's incremental parser in recovery mode.

    Text before the root element is skipped. The parser gets the rest, repaired, within extra
    elements, so that it continues after the end of the root, and after superfluous end tags.

    Attributes:
        is_over: whether reading must stop here.
        is_unfinished: whether the end of the root element is missing.
    """

    def __init__(self, root: re.Match[str]) -> None:
        """Start at the start tag of the root element, which was found in the file's text."""
        self.kind, self._entry_names = _KINDS[root[2]]
        is_feed = self.kind is SitemapKind.FEED
        self._entries = _entries_of_feed if is_feed else _entries_of_list
        self._address_names = ("link" if is_feed else "loc", "")
        self._error = ""
        self._lost = 0  # entries without an address; an item of a feed needs none
        self.is_over = False
        self.is_unfinished = True
        self._root_end = f"</{root[1]}"
        self._mender = XmlMender()
        self._parser = etree.XMLParser(
            target=self, recover=True, encoding="utf-8", resolve_entities=False, no_network=True
        )
        self._found: list[SitemapEntry] = []
        self._has_heard = False
        self._names: set[str | None] = set()
        self._depth = 0
        self._has_root = False
        self._elements = 0  # since the last entry
        self._entry_tag = ""
        self._entry_depth = 0  # 0 between entries
        self._children: list[_Child] = []  # of the current entry
        self._is_in_text = False  # of the last child, before its own first child
        self._room = 0  # how much more of that text fits, in characters
        self._parser.feed(f"<{_AROUND}>".encode() * _LEVELS)
        if root.string.lstrip(_BLANK_OF_XML)[0] != "<":
            self._mender.note("text before the XML")

    def read(self, text: str) -> tuple[bool, list[SitemapEntry]]:
        """Whether a piece of the text was useful, and the entries in it."""
        self._found, self._has_heard = [], False
        damages = self._mender.damages
        mended = self._mender.mended(text)
        self._elements += self._mender.damages - damages
        self._parser.feed(mended.encode())
        self.is_over |= self._mender.damages > _DAMAGES or self._elements > _SILENT_ELEMENTS
        if self._root_end in mended or (self._has_root and self._depth <= _LEVELS):
            self.is_unfinished = False
        if not self._error:
            errors = self._parser.feed_error_log.filter_from_fatals()
            self._error = self._mender.damage or (errors[0].message if errors else "")
        return self._has_heard, self._found

    def rest(self) -> list[SitemapEntry]:
        """The entry that has no end, without a value that is cut."""
        self._found = []
        if self._mender.is_in_end_tag:
            self._parser.feed(f"</{_AROUND}>".encode())
        if self._is_in_text or self._depth > self._entry_depth:
            del self._children[-1:]
        return [*self._found, *self._entries(self._entry_tag, self._children)]

    @property
    def damage(self) -> str:
        """The first error of the file, and the number of lost entries; empty without one."""
        lost = counted(self._lost, "entry", "entries") + " without an address"
        return ", ".join(filter(None, [self._error, lost * bool(self._lost)]))

    # The methods below are those of a parser's target.

    def start(
        self, tag: str, attributes: Mapping[str, str], namespaces: Mapping[str | None, str]
    ) -> None:
        """Handle a start tag; a new entry ends an entry without an end tag."""
        self._depth += 1
        if tag == _AROUND:
            return
        self._has_heard = True
        self._elements += 1
        if attributes or namespaces or tag not in self._names:
            self._names.update((tag, *attributes, *namespaces, *namespaces.values()))
        self.is_over |= self._depth > _DEPTH or len(self._names) > _NAMES
        if self._depth == _LEVELS + 1 and self._has_root:
            self._mender.note("more than one root element")
        self._has_root = True
        is_around_address = self._is_in_text and self._is_around_address()
        self._is_in_text = False
        if is_around_address:
            self._begin_child("", {})
        elif tag == self._entry_tag or (not self._entry_tag and _local(tag) in self._entry_names):
            self._end_entry()
            self._entry_tag, self._entry_depth = tag, self._depth
            self._begin_child("", {})
        elif self._entry_tag and self._depth == self._entry_depth + 1:
            self._begin_child(tag, attributes)

    def _is_around_address(self) -> bool:
        """Whether an element begins where the text of an address is expected."""
        child = self._children[-1]
        is_within = self._depth > self._entry_depth + 1
        return is_within and _local(child.tag) in self._address_names and not child.text

    def _begin_child(self, tag: str, attributes: Mapping[str, str]) -> None:
        if len(self._children) == _VALUES_AN_ENTRY:
            return
        is_long = sum(map(len, attributes.values())) > _VALUE_CHARACTERS
        self._children.append(_Child(tag, {} if is_long else dict(attributes), []))
        self._is_in_text, self._room = True, _VALUE_CHARACTERS

    def data(self, text: str) -> None:
        """Handle some text, perhaps only a part; a text that is too long is dropped."""
        if self._is_in_text:
            texts = self._children[-1].texts
            texts.append(text)
            self._room -= len(text)
            if self._room < 0:
                texts.clear()
                self._is_in_text = False

    def end(self, _: str) -> None:
        """Handle the end of the innermost element."""
        self._depth -= 1
        self._has_heard = True
        self._is_in_text = False
        self.is_over |= not self._depth
        if self._depth < self._entry_depth:
            self._end_entry()

    def close(self) -> None:
        """Do nothing; the parser requires this method."""

    def _end_entry(self) -> None:
        before = len(self._found)
        self._found += self._entries(self._entry_tag, self._children)
        if len(self._found) > before:
            self._elements = 0
        elif self._entry_tag and self.kind is not SitemapKind.FEED:
            self._lost += 1
        self._entry_tag, self._entry_depth, self._children = "", 0, []


class _Child(NamedTuple):
    """A child element of an entry, or, without a tag, some text at an unusual place."""

    tag: str
    attributes: dict[str, str]
    texts: list[str]  # before its own first child

    @property
    def text(self) -> str:
        return "".join(self.texts).strip()

    @property
    def is_address(self) -> bool:
        """Whether it is an address at an unusual place."""
        return not self.tag and bool(_WHOLE_ADDRESS.fullmatch(self.text))

    @property
    def href(self) -> str:
        return self.attributes.get("href", "").replace("&#38;", "&")  # as libxml2 passes it


def _entries_of_list(tag: str, children: list[_Child]) -> Iterator[SitemapEntry]:
    """An entry for each address; for other names, the last value counts, as in Scrapy.

    An address in another namespace, such as an image's, is used if the entry has none. A date
    belongs to the address before it; two dates of one address are no date.
    """
    values: SitemapEntry = {}
    dates: dict[str, set[str]] = {"": set()}  # by address, first those before all addresses
    other_locs: list[str] = []
    current = ""
    for child in children:
        name = _local(child.tag)
        if name == "loc" and child.tag.removesuffix(name) != tag.removesuffix(_local(tag)):
            other_locs += filter(None, [child.text])
        elif name == "loc" or child.is_address:
            current = child.text or current
            dates.setdefault(current, set())
        elif name == "lastmod":
            dates[current].add(child.text)
        elif name == "link" and child.href:
            values.setdefault("alternate", []).append(child.href)
        elif name and name not in ("alternate", "link"):
            values[name] = child.text
    early = dates.pop("")
    dates = dates or {loc: set() for loc in other_locs[:1]}
    for loc, own in dates.items():
        lastmods = own | early
        is_clear = len(lastmods) == 1 and (len(dates) <= 1 or not early)
        yield {**values, **({"lastmod": lastmods.pop()} if is_clear else {}), "loc": loc}


def _entries_of_feed(_: str, children: list[_Child]) -> Iterator[SitemapEntry]:
    """An entry with the first value of each name; a permalink replaces a missing link."""
    values: SitemapEntry = {}
    locs: list[str] = []
    permalinks: list[str] = []
    for child in children:
        name = _local(child.tag)
        if child.is_address:
            permalinks.append(child.text)
        elif name == "link":
            is_alternate = child.attributes.get("rel", "alternate") == "alternate"
            locs.append(child.text or child.href * is_alternate)
        elif name == "guid" and child.attributes.get("isPermaLink", "true") == "true":
            permalinks += filter(_ADDRESS.match, [child.text])
        elif name in _CHANGE_NAMES:
            values["lastmod"] = child.text
        elif name and name not in ("alternate", "loc"):
            values.setdefault(_FEED_NAMES.get(name, name), child.text)
    for loc in list(filter(None, locs + permalinks))[:1]:
        yield {**values, "loc": loc}


@lru_cache(maxsize=_NAMES)
def _local(tag: str) -> str:
    return tag.rpartition("}")[2].rpartition(":")[2]

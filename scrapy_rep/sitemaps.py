"""Sitemap files as streams of entries (sitemaps.org): XML, RSS, Atom and text, gzipped or not.

What Scrapy's own `Sitemap` does not do: text and feeds; and bounds, for its tree grows with the
file. Here lxml builds no tree. The parser is fed piece by piece, resolves no external entity, and
stops where internal ones grow too large. Memory is bounded by a few MiB besides the body: no more
than `SITEMAP_OCTETS` are decompressed and read, none of them kept; a file ends for us after
`SITEMAP_ENTRIES` entries (both limits are the protocol's), at elements nested too deep, at too many
names, and where much is said without saying anything. Time is linear in the octets that are read.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from contextlib import suppress
from enum import Enum
from typing import Any, Protocol

import lxml.etree

SITEMAP_OCTETS = 50 * 1024 * 1024
"""How large a sitemap may be, uncompressed (sitemaps.org)."""

SITEMAP_ENTRIES = 50_000
"""How many entries a sitemap may have (sitemaps.org)."""

Entry = dict[str, Any]
"""What an entry says, by local name of the element: ``loc`` at least; ``lastmod`` and so on; the
addresses of alternate links as a list, ``alternate``. As Scrapy's `Sitemap` gives them."""

_PIECE_OCTETS = 1 << 16
_GZIP = b"\x1f\x8b"
_BOMS = (b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")
_GZIP_MEMBERS = 10_000
_VALUE_CHARACTERS = 8192
_VALUES_AN_ENTRY = 1000
_DEPTH = 64
_SILENT_OCTETS = 1 << 18  # of one tag or comment: 50 MB of attributes would take 1.4 GB
_NAMES_CHARACTERS = 1 << 17  # of all names that differ: lxml keeps them until the process ends
_SILENT_ELEMENTS = 100_000  # between two entries


class Kind(Enum):
    """What a sitemap is: a list of sitemaps, or one of three kinds of lists of pages."""

    INDEX = "index"
    URLSET = "urlset"
    FEED = "feed"
    TEXT = "text"


_ENTRIES = (
    "sitemap",
    "url",
)  # in both kinds: sites confuse them, and Scrapy's parser too is lenient
_KINDS: dict[str, tuple[Kind, tuple[str, ...]]] = {  # by root element; with those of entries
    "sitemapindex": (Kind.INDEX, _ENTRIES),
    "urlset": (Kind.URLSET, _ENTRIES),
    "rss": (Kind.FEED, ("item",)),
    "RDF": (Kind.FEED, ("item",)),
    "feed": (Kind.FEED, ("entry",)),
}
_FEED_NAMES = {"link": "loc", "pubDate": "lastmod", "date": "lastmod", "updated": "lastmod"}


class _Reader(Protocol):
    """Takes the octets of a file and gives its entries.

    Attributes:
        kind: what the file is, once that is known.
        is_over: whether no more is wanted.
    """

    kind: Kind | None
    is_over: bool

    def feed(self, octets: bytes) -> list[Entry]: ...

    def close(self) -> list[Entry]: ...


class Sitemap:
    """The entries of one file, read while they are asked for; to be iterated over once.

    Attributes:
        is_cut: whether more may have followed where reading ended; right after the iteration.
    """

    def __init__(self, body: bytes) -> None:
        """Read as much of a body as tells what it is; whatever the octets are, nothing raises."""
        self.is_cut = False
        self._pieces = self._measured(body)
        first = next(self._pieces, b"")
        is_xml = first.lstrip().startswith((b"<", *_BOMS[1:]))
        self._reader: _Reader = _XmlReader() if is_xml else _TextReader()
        self._found = self._reader.feed(first)
        while self._reader.kind is None and not self._reader.is_over:
            piece = next(self._pieces, None)
            if piece is None:
                self._found += self._reader.close()
                break
            self._found += self._reader.feed(piece)

    @property
    def kind(self) -> Kind | None:
        """What the file is; None if it is no sitemap."""
        return self._reader.kind

    @property
    def type(self) -> str:
        """The same in the words of Scrapy's `Sitemap`, for a `sitemap_filter` that asks."""
        return "sitemapindex" if self.kind is Kind.INDEX else "urlset"

    def __iter__(self) -> Iterator[Entry]:
        """The entries in order."""
        left = SITEMAP_ENTRIES
        for found in self._batches():
            if len(found) > left:
                self.is_cut = True
                yield from found[:left]
                return
            left -= len(found)
            yield from found

    def _batches(self) -> Iterator[list[Entry]]:
        yield self._found
        for piece in self._pieces:
            if self._reader.is_over:
                self.is_cut = True
                return
            yield self._reader.feed(piece)
        yield self._reader.close()

    def _measured(self, body: bytes) -> Iterator[bytes]:
        """The pieces of the body, up to the limit, without a byte order mark of UTF-8."""
        left = SITEMAP_OCTETS
        is_first = True
        try:
            for piece in _gunzipped(body) if body.startswith(_GZIP) else _pieces(body):
                if len(piece) > left:
                    self.is_cut = True
                    yield piece[:left]
                    return
                left -= len(piece)
                # Scrapy's parser too is lenient about white space before the XML declaration.
                yield piece.removeprefix(_BOMS[0]).lstrip() if is_first else piece
                is_first = False
        except EOFError:
            self.is_cut = True


def _pieces(body: bytes) -> Iterator[bytes]:
    for start in range(0, len(body), _PIECE_OCTETS):
        yield body[start : start + _PIECE_OCTETS]


def _gunzipped(body: bytes) -> Iterator[bytes]:
    """As much as can be decompressed.

    Raises:
        EOFError: after that, if the file is damaged, or has too many members.
    """
    start = 0
    for _ in range(_GZIP_MEMBERS):
        inflater = zlib.decompressobj(zlib.MAX_WBITS | 16)
        while not inflater.eof and start < len(body):
            data = body[start : start + _PIECE_OCTETS]
            start += len(data)
            try:
                piece = inflater.decompress(data, _PIECE_OCTETS)
                while piece:
                    yield piece
                    piece = inflater.decompress(inflater.unconsumed_tail, _PIECE_OCTETS)
            except zlib.error as error:
                raise EOFError from error
        if not inflater.eof:
            raise EOFError
        start -= len(inflater.unused_data)
        if not body.startswith(_GZIP, start):  # another member, or padding, or the end
            return
    raise EOFError


class _TextReader:
    """One URL per line."""

    def __init__(self) -> None:
        self.kind: Kind | None = None
        self.is_over = False
        self._rest = b""
        self._silent_octets = 0

    def feed(self, octets: bytes) -> list[Entry]:
        *lines, rest = (self._rest + octets).replace(b"\r", b"\n").split(b"\n")
        self._rest = rest[: _VALUE_CHARACTERS + 1]
        found = list(self._entries(lines))
        self._silent_octets = 0 if found else self._silent_octets + len(octets)
        self.is_over = self._silent_octets > _SILENT_OCTETS
        return found

    def close(self) -> list[Entry]:
        line, self._rest = self._rest, b""
        return list(self._entries([line]))

    def _entries(self, lines: list[bytes]) -> Iterator[Entry]:
        for line in lines:
            url = line.strip()
            is_address = url[:8].lower().startswith((b"http://", b"https://"))
            if is_address and len(url) <= _VALUE_CHARACTERS:
                self.kind = Kind.TEXT
                yield {"loc": url.decode("utf-8", "replace")}


class _XmlReader:
    """The three kinds of XML."""

    def __init__(self) -> None:
        self.kind: Kind | None = None
        self.is_over = False
        self._target = _Target()
        # Network access, external DTDs and trees of any size are off unless asked for.
        self._parser = lxml.etree.XMLParser(
            target=self._target, recover=True, resolve_entities=False, no_network=True
        )
        self._silent_octets = 0

    def feed(self, octets: bytes) -> list[Entry]:
        self._target.has_heard = False
        try:
            self._parser.feed(octets)
        except lxml.etree.XMLSyntaxError:
            self.is_over = True
        self._silent_octets = 0 if self._target.has_heard else self._silent_octets + len(octets)
        self.is_over |= self._silent_octets > _SILENT_OCTETS or self._target.is_over
        self.kind = self._target.kind
        return self._target.taken()

    def close(self) -> list[Entry]:
        with suppress(lxml.etree.XMLSyntaxError):
            self._parser.close()
        return self._target.taken()


class _Target:
    """What lxml tells of elements, made into entries."""

    def __init__(self) -> None:
        self.kind: Kind | None = None
        self.is_over = False
        self.has_heard = False
        self._entry_names: tuple[str, ...] = ()
        self._entry: Entry | None = None
        self._entry_tag = ""
        self._entry_depth = 0
        self._depth = 0
        self._name = ""
        self._text = ""
        self._values = 0
        self._elements = 0
        self._names: set[str] = set()
        self._names_left = _NAMES_CHARACTERS
        self._entries: list[Entry] = []

    def taken(self) -> list[Entry]:
        """The entries that ended since this was asked last."""
        entries, self._entries = self._entries, []
        return entries

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        self.has_heard = True
        self._depth += 1
        self._elements += 1
        self._count_names({tag, *attributes})
        if self._depth > _DEPTH or self._elements > _SILENT_ELEMENTS or self._names_left < 0:
            self.is_over = True
        if self.is_over:
            return
        name = tag.rpartition("}")[2]
        if self._depth == 1:
            self.kind, self._entry_names = _KINDS.get(name, (None, ()))
            self.is_over = self.kind is None
        elif tag == self._entry_tag or (self._entry is None and name in self._entry_names):
            self._begin_entry(tag)
        elif self._depth == self._entry_depth + 1:
            self._begin(name, attributes)

    def _count_names(self, names: set[str]) -> None:
        new = names - self._names
        self._names |= new
        self._names_left -= sum(map(len, new))

    def _begin_entry(self, tag: str) -> None:
        """Begin an entry, and end the last one: it was not closed, and holds this one."""
        if self._entry is not None:
            self._end_entry(self._entry)
        self._entry, self._entry_tag, self._entry_depth = {}, tag, self._depth
        self._name, self._values = "", 0

    def _begin(self, name: str, attributes: dict[str, str]) -> None:
        """Begin a child of an entry."""
        self._values += 1
        if self._entry is None or self._values > _VALUES_AN_ENTRY:
            return
        self._name, self._text = name, ""
        link = attributes.get("href", "")
        if name != "link" or not link or len(link) > _VALUE_CHARACTERS:
            return
        if self.kind is not Kind.FEED:
            self._entry.setdefault("alternate", []).append(link)
        elif attributes.get("rel", "alternate") == "alternate":
            self._entry.setdefault("loc", link)

    def data(self, text: str) -> None:
        self.has_heard = True
        if self._name:
            self._text += text[: _VALUE_CHARACTERS + 1 - len(self._text)]

    def end(self, tag: str) -> None:  # noqa: ARG002
        self.has_heard = True
        if self._entry is not None:
            if self._name and self._depth == self._entry_depth + 1:
                self._end_value(self._entry)
            elif self._depth == self._entry_depth:
                self._end_entry(self._entry)
        self._depth -= 1

    def _end_value(self, entry: Entry) -> None:
        name, self._name = self._name, ""
        text = self._text.strip()
        if self.kind is Kind.FEED:
            name = _FEED_NAMES.get(name, name)
        is_address = name in ("loc", "link")
        if len(text) > _VALUE_CHARACTERS or (is_address and not text) or name == "alternate":
            return
        if name != "link":
            entry.setdefault(name, text)

    def _end_entry(self, entry: Entry) -> None:
        self._entry, self._entry_tag = None, ""
        if "loc" in entry:
            self._elements = 0
            self._entries.append(entry)

    def close(self) -> None:
        """The file ended."""

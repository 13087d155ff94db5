"""One pass over the records of a file: counts, unmerged groups and names.

Cost: linear in the octets; memory is some 150 octets for each rule of a file.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from scrapy_rep.analysis.outline import name_of
from scrapy_rep.protocol.lines import Kind, records
from scrapy_rep.protocol.selection import Selection
from scrapy_rep.protocol.text import Text
from scrapy_rep.protocol.tokens import is_product_token, names_of, token_of
from scrapy_rep.protocol.usage.categories import CATEGORIES
from scrapy_rep.protocol.usage.preference import Preference, combined
from scrapy_rep.protocol.usage.robots import FileUsage

_SIGNAL, _USAGE = "Content-Signal", "Content-Usage"
_KEYS = {
    _SIGNAL: (b"content-signal", b"content-signals"),
    _USAGE: (b"content-usage",),
}


@dataclass(slots=True)
class FileGroup:
    """A group as written in the file, not merged: the values of its lines, octets as characters."""

    agents: list[bytes] = field(default_factory=list)
    disallow: list[str] = field(default_factory=list)
    allow: list[str] = field(default_factory=list)


@dataclass(slots=True)
class FileRecords:
    """The records of a file.

    Attributes:
        counts: the number of records of each kind.
        before: the rules before any group.
        blocks: the groups, in file order, not merged.
        others: other records by key, in lower case.
        sitemaps: the values of the Sitemap lines.
    """

    counts: dict[Kind, int] = field(default_factory=lambda: dict.fromkeys(Kind, 0))
    before: FileGroup = field(default_factory=FileGroup)
    blocks: list[FileGroup] = field(default_factory=list)
    others: Counter[bytes] = field(default_factory=Counter)
    sitemaps: list[bytes] = field(default_factory=list)

    @property
    def has_preferences(self) -> bool:
        """Whether a record states preferences about the use of content."""
        return any(key.startswith(b"content-") for key in self.others)

    def values(self) -> list[str]:
        """The values of the rules of all groups."""
        return [value for b in self.blocks for value in (*b.disallow, *b.allow)]


def read(octets: bytes) -> FileRecords:
    """Read the cleaned octets of a file."""
    found = FileRecords()
    block = found.before
    for _, kind, key, value in records(octets):
        found.counts[kind] += 1
        if kind is Kind.DISALLOW:
            block.disallow.append(value.decode("latin-1"))
        elif kind is Kind.ALLOW:
            block.allow.append(value.decode("latin-1"))
        elif kind is Kind.USER_AGENT:
            if block is found.before or block.disallow or block.allow:
                block = FileGroup()
                found.blocks.append(block)
            block.agents.append(value)
        elif kind is Kind.SITEMAP:
            found.sitemaps.append(value)
        else:
            found.others[key.lower()] += 1
    return found


@dataclass(slots=True)
class GroupNames:
    """The groups that name each crawler, by their indices.

    Attributes:
        by_name: the groups by the names in their user-agent lines, as `name_of` reads them.
        by_token: the groups with more text after the product token, by the token.
    """

    by_name: dict[str, list[int]] = field(default_factory=dict)
    by_token: dict[str, list[int]] = field(default_factory=dict)

    @classmethod
    def of(cls, blocks: list[FileGroup]) -> GroupNames:
        """Collect the names of groups in file order."""
        names = cls()
        for index, block in enumerate(blocks):
            for value in block.agents:
                name = name_of(value)
                if name:
                    _note(names.by_name, name, index)
                    _note(names.by_token, token_of(name), index)
        return names

    def obeyed_by(self, name: str) -> tuple[int, ...]:
        """The groups that a crawler obeys: with its name, or its product token and more text."""
        groups = self.by_token if is_product_token(name) else self.by_name
        return tuple(groups.get(name, ()))


def _note(groups: dict[str, list[int]], name: str, index: int) -> None:
    indices = groups.setdefault(name, [])
    if not indices or indices[-1] != index:
        indices.append(index)


def said_to_everyone(octets: bytes) -> tuple[str | None, str | None]:
    """The preferences of a file for all crawlers: two facts; linear in the octets.

    Each is None without such a record, empty if the records say nothing to all crawlers about
    ``/``, otherwise like ``search=y train-ai=n``, categories in alphabetical order.
    """
    keys = {key.lower() for _, kind, key, _ in records(octets) if kind is Kind.OTHER}
    text = Text(octets)
    said = FileUsage.of(text, "", Selection.of(text, "", names_of(())), {}).preferences("/")
    found = []
    for name in (_SIGNAL, _USAGE):
        own = [one for one in said.statements if one.source.kind == name]
        words = {category: combined(own, category) for category in sorted(CATEGORIES)}
        shown = " ".join(
            f"{category}={preference.value}"
            for category, preference in words.items()
            if preference is not Preference.UNKNOWN
        )
        found.append(shown if keys.intersection(_KEYS[name]) else None)
    return found[0], found[1]

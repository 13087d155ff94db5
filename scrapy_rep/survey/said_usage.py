"""What a file says to everyone about the use of its content, as two facts.

Each is None where the file holds no such record; empty where its records say nothing to everyone
about ``/``; otherwise ``search=y train-ai=n``, categories in alphabetical order.
"""

from __future__ import annotations

from scrapy_rep.protocol.lines import Kind, records
from scrapy_rep.protocol.selection import Selection
from scrapy_rep.protocol.text import Text
from scrapy_rep.protocol.tokens import names_of
from scrapy_rep.protocol.usage.categories import CATEGORIES
from scrapy_rep.protocol.usage.preference import Preference, combined
from scrapy_rep.protocol.usage.robots import FileUsage

_SIGNAL, _USAGE = "Content-Signal", "Content-Usage"
_KEYS = {
    _SIGNAL: (b"content-signal", b"content-signals"),
    _USAGE: (b"content-usage",),
}


def said_to_everyone(octets: bytes) -> tuple[str | None, str | None]:
    """The facts ``content_signal`` and ``content_usage``; linear in the octets."""
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

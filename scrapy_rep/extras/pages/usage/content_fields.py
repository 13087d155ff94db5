"""Content-Usage and Content-Signal, in robots.txt and as fields: preferences by category.

Content-Usage (draft-ietf-aipref-attach, draft-ietf-aipref-vocab) is a Dictionary. Its labels are
case-sensitive, and its values are the Tokens ``y`` and ``n``. Everything else is ignored, and so is
a value that fails to parse.

Content-Signal (Content Signals, a policy of Cloudflare), ``search=yes, ai-train=no``, has hardly a
grammar. So unusual spellings that forbid are understood, such as ``ai-train: N``; only ``yes``
permits.

Linear in the octets.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from scrapy_rep.extras.structured import Item, Member, Token, dictionary
from scrapy_rep.protocol.fields.remarks import Problem, Remarks, Source

from .categories import AI_INPUT, SEARCH, TRAIN_AI, USE, USES
from .preference import Preference

_LABELS = (TRAIN_AI, SEARCH)
_BY_TOKEN = {"y": Preference.ALLOWED, "n": Preference.DISALLOWED}
_CATEGORIES = {"ai-train": TRAIN_AI, "search": SEARCH, "ai-input": AI_INPUT}
_BY_WORD = {
    **dict.fromkeys(("no", "n", "false", "0", "disallow", "deny"), Preference.DISALLOWED),
    "yes": Preference.ALLOWED,
}
_PAIR = re.compile(r"([^\s=:,;]+)(?:\s*[=:][\s=:]*([^\s=:,;]+))?")  # a key and an optional value


def content_usage(octets: bytes, source: Source, remarks: Remarks) -> dict[str, Preference] | None:
    """The preferences in a value, by category; None if it is not a Dictionary."""
    members = dictionary(octets)
    if members is None:
        remarks.add(Problem.NO_DICTIONARY, source, octets)
        return None
    found = {}
    for label, member in members.items():
        preference = _preference(member)
        if label not in _LABELS:
            remarks.add(Problem.UNKNOWN_LABEL, source, label)
        elif preference is None:
            remarks.add(Problem.UNKNOWN_PREFERENCE, source, octets)
        else:
            found[label] = preference
    return found


def _preference(member: Member) -> Preference | None:
    is_token = isinstance(member, Item) and isinstance(member.value, Token)
    return _BY_TOKEN.get(str(member.value)) if is_token else None  # type: ignore[union-attr]


@dataclass(slots=True)
class Signals:
    """The preferences in a value, by category, and how much of the content may be used."""

    preferences: dict[str, Preference] = field(default_factory=dict)
    use: str = ""


def content_signal(text: str, source: Source, remarks: Remarks) -> Signals:
    """Read a value, without its path; unreadable parts get a remark and are ignored."""
    found = Signals()
    for key, value in _PAIR.findall(text.lower()):
        category, preference = _CATEGORIES.get(key), _BY_WORD.get(value)
        if category is not None and preference is not None:
            if found.preferences.get(category) is not Preference.DISALLOWED:
                found.preferences[category] = preference
        elif key == USE and value in USES:
            found.use = min(found.use or value, value, key=USES.index)
        else:
            remarks.add(Problem.UNREADABLE_SIGNAL, source, f"{key}={value}" if value else key)
    return found

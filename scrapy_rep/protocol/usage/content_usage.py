"""Content-Usage (draft-ietf-aipref-attach, draft-ietf-aipref-vocab): a Dictionary of preferences.

Labels count letter case, and values are the Tokens ``y`` and ``n``; everything else says nothing,
and so does a value that fails to parse. Linear in the octets.
"""

from __future__ import annotations

from scrapy_rep.protocol.fields.sources import Problem, Remarks, Source
from scrapy_rep.protocol.fields.structured import Item, Member, Token, dictionary

from .categories import SEARCH, TRAIN_AI
from .preference import Preference

_LABELS = (TRAIN_AI, SEARCH)
_PREFERENCES = {"y": Preference.ALLOWED, "n": Preference.DISALLOWED}


def content_usage(octets: bytes, source: Source, remarks: Remarks) -> dict[str, Preference] | None:
    """What a value says about each category; None if it is no Dictionary."""
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
    return _PREFERENCES.get(str(member.value)) if is_token else None  # type: ignore[union-attr]

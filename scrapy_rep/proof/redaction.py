"""URLs as a trail keeps them: without userinfo and fragments, and with the queries that are wanted.

Neither userinfo nor fragments play a part in matching, so what is left is judged the same.
"""

from __future__ import annotations

import hmac
import re
from collections.abc import Callable
from enum import Enum

_USERINFO = re.compile(r"^([^/?#]*//)[^/?#]*@")
_SHOWN_DIGITS = 16  # of a hash: enough to tell queries apart


class Query(Enum):
    """What becomes of the queries of URLs; the value is the setting's."""

    KEEP = "keep"
    HASH = "hash"
    DROP = "drop"


def bare(url: str) -> str:
    """A URL without its fragment and without userinfo."""
    if "#" in url:
        url = url.partition("#")[0]
    return _USERINFO.sub(r"\1", url) if "@" in url else url


def redaction(query: Query, key: bytes = b"") -> Callable[[str], str]:
    """A function that makes URLs as `query` says; `key` is that of the hashes of a run."""
    if query is Query.KEEP:
        return bare

    def redacted(url: str) -> str:
        head, mark, asked = bare(url).partition("?")
        if not mark:
            return head
        if query is Query.DROP:
            return f"{head}?"
        digest = hmac.new(key, asked.encode("utf-8", "surrogatepass"), "sha256").hexdigest()
        return f"{head}?hmac-sha256={digest[:_SHOWN_DIGITS]}"

    return redacted

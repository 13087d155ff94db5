"""The records of a trail, as lines of JSON: the fields of each kind.

`t` comes first and names the kind. A missing key is unknown. Instants are POSIX seconds.
`docs/audit.md` describes each kind; a test compares the two.

URLs are kept without userinfo and fragments, which play no part in matching, and with queries as
the settings say.
"""

from __future__ import annotations

import base64
import hmac
import json
import struct
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import Enum
from hashlib import blake2b
from typing import Any

from scrapy_rep.decisions.occasions import AGAIN, CAME_BACK, PASSED, SLIPPED, WOULD_DROP
from scrapy_rep.protocol.secrecy import PATH_VALUE, bare

VERSION = 1

RUN, POLICY, BODY, DECISION, EXEMPT = "run", "policy", "body", "decision", "exempt"
DROP, WITHHELD, FETCH, GAP = "drop", "withheld", "fetch", "gap"
MARK, END, SENT = "mark", "end", "sent"
REST, PROBE, PAYMENT, CLOCK = "rest", "probe", "payment", "clock"
COVERAGE, AGENT = "coverage", "agent"
RATE_LIMITED = "RATE_LIMITED"  # the reason of a `drop`: its origin was given up after 429 or 503
CHALLENGED = "CHALLENGED"  # the reason of a `drop`: an edge answers with challenges

NUMBERED = frozenset({DECISION, EXEMPT, DROP, WITHHELD})
"""The kinds with a number, `n`: 1, 2, 3 and so on in a run, without gaps."""

ALLOWED, DISALLOWED = "allowed", "disallowed"
OUTCOMES = (ALLOWED, DISALLOWED, EXEMPT, DROP, WITHHELD)
"""The kinds that numbered records count as, in `gap` and in `end`."""

_SENT = (PASSED, WOULD_DROP, SLIPPED)
_AGAIN = (AGAIN, CAME_BACK)
_SHOWN_DIGITS = 16  # of a hash: enough to tell queries apart

Record = Mapping[str, Any]


def _plain(value: Any) -> Any:
    """A value of a setting that JSON lacks."""
    if isinstance(value, Enum):
        return value.value
    return [*value] if isinstance(value, (set, frozenset)) else str(value)


_ENCODER = json.JSONEncoder(separators=(",", ":"), check_circular=False, default=_plain)


def line(record: Record) -> str:
    """A record as a line; None values are left out."""
    held = {name: value for name, value in record.items() if value is not None}
    return _ENCODER.encode(held) + "\n"


def is_sent(record: Record) -> bool:
    """Whether a request was sent, unless a later record says more."""
    is_decision = record["t"] == DECISION and record["outcome"] in _SENT
    return is_decision or record["t"] == EXEMPT


def is_again(record: Record) -> bool:
    """Whether it replaces an earlier decision on the same request."""
    return record["t"] == DECISION and record.get("by") in _AGAIN


def rounded(instant: float | None) -> float | None:
    """An instant or a span, rounded as in records."""
    return None if instant is None else round(instant, 3)


def body(octets: bytes, sha256: str) -> str:
    """A `body` record: the octets of a file that was judged."""
    held: dict[str, Any] = {"t": BODY, "sha256": sha256, "octets": len(octets)}
    try:
        held["text"] = octets.decode("utf-8")
    except UnicodeDecodeError:
        held["base64"] = base64.b64encode(octets).decode("ascii")
    return line(held)


def octets_of(record: Record) -> bytes:
    """The octets in a `body` record.

    Raises:
        ValueError: it has no octets.
    """
    if "base64" in record:
        return base64.b64decode(str(record["base64"]), validate=True)
    if "text" not in record:
        raise ValueError("a body without octets")
    return str(record["text"]).encode("utf-8")


def packed_keys(keys: Sequence[int]) -> str:
    """Digests of 8 octets, as in a `coverage` record."""
    return base64.b64encode(struct.pack(f">{len(keys)}Q", *keys)).decode("ascii")


def unpacked_keys(text: str) -> tuple[int, ...]:
    """The digests in a `coverage` record.

    Raises:
        ValueError: the text does not contain such digests.
    """
    octets = base64.b64decode(text, validate=True)
    if len(octets) % 8:
        raise ValueError("not digests of 8 octets each")
    return struct.unpack(f">{len(octets) // 8}Q", octets)


def keyed(keys: Iterable[int], secret: bytes) -> list[int]:
    """Digests of digests, by which no guess at a URL can be tested without the secret."""
    return [_keyed(struct.pack(">Q", key), secret) for key in keys]


def name_of_secret(secret: bytes) -> str:
    """A name: digests that were keyed with the same secret can be compared."""
    return f"{_keyed(b'name', secret):016x}"


def _keyed(octets: bytes, secret: bytes) -> int:
    return int.from_bytes(blake2b(octets, key=secret, digest_size=8).digest(), "big")


class Query(Enum):
    """The treatment of queries and of parameters of paths; the value is the setting's."""

    KEEP = "keep"
    HASH = "hash"
    DROP = "drop"


def redaction(query: Query, key: bytes = b"") -> Callable[[str], str]:
    """A function that redacts URLs as `query` says; `key` is the key for the hashes of a run."""
    if query is Query.KEEP:
        return bare

    def hidden(value: str) -> str:
        if query is Query.DROP:
            return ""
        digest = hmac.new(key, value.encode("utf-8", "surrogatepass"), "sha256").hexdigest()
        return f"hmac-sha256={digest[:_SHOWN_DIGITS]}"

    def redacted(url: str) -> str:
        head, mark, asked = bare(url).partition("?")
        head = PATH_VALUE.sub(lambda found: found[1] + hidden(found[2]), head)
        return f"{head}{mark}{hidden(asked)}" if mark else head

    return redacted

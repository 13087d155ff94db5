"""Outcomes of an attempt to fetch a robots.txt, and their meaning (RFC 9309, 2.3.1).

An event is mapped to its access result in the RFC's terms; then a policy gives the event a meaning.
Both are tables: a preset is a column, and a user's override comes before it. Nothing is allowed by
default: an event without a row would raise, and a test tries every event.

Users name events in overrides. Each event also belongs to classes, narrow to wide: ``404`` is a
``404``, a ``4xx`` and an ``unavailable``; ``dns`` is a ``dns``, a ``network`` and an
``unreachable``. The narrowest entry decides.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import lru_cache

from scrapy_rep.protocol.errors import ConfigurationError
from scrapy_rep.protocol.lines import (
    KNOWN_KEYS,
    PARSE_LIMIT_OCTETS,
    Coding,
    Kind,
    Record,
    clean,
    records,
)
from scrapy_rep.protocol.units import DAY_SECONDS

from .challenges import challenge_in


class AccessResult(Enum):
    """The access results of RFC 9309, 2.3.1; the value is the widest class of their events."""

    SUCCESSFUL = "successful"
    UNAVAILABLE = "unavailable"
    UNREACHABLE = "unreachable"


class Meaning(Enum):
    """The meaning of an event for the origin's other URIs."""

    RULES = "rules"
    ALLOW = "allow"
    DISALLOW = "disallow"


class Failure(Enum):
    """An event other than a status code; the value is its name."""

    DNS = "dns"
    REFUSED = "refused"
    RESET = "reset"
    TLS = "tls"
    TIMEOUT = "timeout"
    TRUNCATED = "truncated"
    UNDECODABLE = "undecodable"
    GUARD = "guard"
    LOCAL = "local"
    NETWORK = "network"
    REDIRECT_LIMIT = "redirect-limit"
    REDIRECT_LOOP = "redirect-loop"
    REDIRECT_TARGET = "redirect-target"
    HTML = "html"
    CHALLENGE = "challenge"


Event = int | Failure
"""The status code of the last answer, or a failure that replaces it."""

_REDIRECTS = frozenset({Failure.REDIRECT_LIMIT, Failure.REDIRECT_LOOP, Failure.REDIRECT_TARGET})
_HUNDREDS = range(1, 10)
_DOCTYPE = b"<!doctype html"
_HTML = re.compile(r"[ \t]*text/html[ \t]*(?:[;,]|\Z)", re.IGNORECASE)
NOT_MODIFIED = 304
"""The status of an answer that confirms our copy of the file."""


# Access results and meanings by class of event. RFC 9309 makes 4xx "unavailable" (2.3.1.3), 5xx and
# network errors "unreachable" (2.3.1.4), and lets crawlers treat redirects that reach no file as
# unavailable (2.3.1.2). An HTML page is a successful answer without rules. Walls against crawlers
# send such pages too, and "strict" does not read them as permission. Deviation: 429 tells us to
# wait, so it does not mean "there is no file", and we do not use the RFC's "MAY access": as in
# Google's documentation it is grouped with 5xx. A challenge is an answer of an edge instead of the
# site, so it is no permission either; "google" reads its status alone, see `meaning`. Events that
# no standard defines (1xx, 6xx, an answer that is not HTTP) are unreachable, which is the more
# restrictive reading.
_RULES, _ALLOW, _DISALLOW = Meaning.RULES, Meaning.ALLOW, Meaning.DISALLOW
_COLUMNS = ("rfc9309", "google", "strict", "lenient", "scrapy")
_ROWS: dict[str, tuple[AccessResult, tuple[Meaning, Meaning, Meaning, Meaning, Meaning]]] = {
    "html": (AccessResult.SUCCESSFUL, (_RULES, _RULES, _DISALLOW, _RULES, _RULES)),
    "2xx": (AccessResult.SUCCESSFUL, (_RULES, _RULES, _RULES, _RULES, _RULES)),
    "redirect": (AccessResult.UNAVAILABLE, (_ALLOW, _ALLOW, _DISALLOW, _ALLOW, _ALLOW)),
    "401": (AccessResult.UNAVAILABLE, (_ALLOW, _ALLOW, _DISALLOW, _ALLOW, _ALLOW)),
    "403": (AccessResult.UNAVAILABLE, (_ALLOW, _ALLOW, _DISALLOW, _ALLOW, _ALLOW)),
    "challenge": (AccessResult.UNREACHABLE, (_DISALLOW, _DISALLOW, _DISALLOW, _ALLOW, _ALLOW)),
    "429": (AccessResult.UNREACHABLE, (_DISALLOW, _DISALLOW, _DISALLOW, _ALLOW, _ALLOW)),
    "4xx": (AccessResult.UNAVAILABLE, (_ALLOW, _ALLOW, _ALLOW, _ALLOW, _ALLOW)),
    "5xx": (AccessResult.UNREACHABLE, (_DISALLOW, _DISALLOW, _DISALLOW, _ALLOW, _ALLOW)),
    "network": (AccessResult.UNREACHABLE, (_DISALLOW, _DISALLOW, _DISALLOW, _ALLOW, _ALLOW)),
    "nonsense": (AccessResult.UNREACHABLE, (_DISALLOW, _DISALLOW, _DISALLOW, _ALLOW, _ALLOW)),
}

PRESETS: dict[str, dict[str, Meaning]] = {
    name: {row: meanings[column] for row, (_, meanings) in _ROWS.items()}
    for column, name in enumerate(_COLUMNS)
}
"""The presets: the meaning of each class of event. ``rfc9309`` is the default."""


FOREVER = float("inf")


class Remedy(Enum):
    """The behaviour while a file is unreachable, in one phase of the outage."""

    COPY = "the copy's policy"
    ALLOW = "allow"
    DISALLOW = "disallow"
    IF_ANSWERING = "allow if other pages of the origin answer, otherwise disallow"
    AFTER_30_DAYS = "what REP_UNREACHABLE_AFTER_30_DAYS says"


_MONTH = 30 * DAY_SECONDS

# Per preset: the end of each phase, in seconds after the outage began, and what to do with and
# without a usable copy. RFC 9309, 2.3.1.4 defines the copy and the 30 days, Google's documentation
# the twelve hours without crawling, and the draft of 1994, as "strict" reads it, neither.
PHASES: dict[str, tuple[tuple[float, Remedy, Remedy], ...]] = {
    "rfc9309": (
        (_MONTH, Remedy.COPY, Remedy.DISALLOW),
        (FOREVER, Remedy.AFTER_30_DAYS, Remedy.AFTER_30_DAYS),
    ),
    "google": (
        (DAY_SECONDS / 2, Remedy.DISALLOW, Remedy.DISALLOW),
        (_MONTH, Remedy.COPY, Remedy.ALLOW),
        (FOREVER, Remedy.IF_ANSWERING, Remedy.IF_ANSWERING),
    ),
    "strict": ((FOREVER, Remedy.DISALLOW, Remedy.DISALLOW),),
    "lenient": ((FOREVER, Remedy.COPY, Remedy.ALLOW),),
    "scrapy": ((FOREVER, Remedy.COPY, Remedy.ALLOW),),
}


def seen_with_fields(event: Event, headers: Mapping[str, str]) -> Event:
    """The event of an answer with known header fields, by names in lower case.

    A challenge is `Failure.CHALLENGE`.
    """
    is_challenge = isinstance(event, int) and challenge_in(event, headers)
    return Failure.CHALLENGE if is_challenge else event


def seen_whole(event: Event, headers: Mapping[str, str], body: bytes) -> Event:
    """The event of an answer with known header fields and body: an HTML page is `Failure.HTML`.

    Sites send such pages for unknown paths, or to keep crawlers out. Linear in the octets.
    """
    event = seen_with_fields(event, headers)
    content_type = headers.get("content-type", "")
    if access_result(event) is not AccessResult.SUCCESSFUL:
        return event
    # A page may be a single line.
    octets, _, codings = clean(body, max(len(body), PARSE_LIMIT_OCTETS))
    if octets.lstrip()[: len(_DOCTYPE)].lower().startswith((_DOCTYPE, b"<html")):
        return Failure.HTML
    is_sent_as_page = _HTML.match(content_type) or Coding.PAGE_SOURCE in codings
    is_page = is_sent_as_page and octets.strip() and not any(map(_is_known, records(octets)))
    return Failure.HTML if is_page else event


def _is_known(record: Record) -> bool:
    _, kind, key, _ = record
    return kind is not Kind.OTHER or key.lower() in KNOWN_KEYS


def name_of(event: Event) -> str:
    """The event's own name: ``404``, ``timeout``."""
    return event.value if isinstance(event, Failure) else str(event)


@lru_cache(maxsize=1 << 10)  # called several times for each answer; there are no more events
def access_result(event: Event) -> AccessResult:
    """The RFC's access result for an event."""
    for name in _narrow_to_wide(event):
        if name in _ROWS:
            return _ROWS[name][0]
    raise AssertionError(f"no row for {event!r}")  # pragma: no cover - see the module's contract


def _narrow_to_wide(event: Event) -> tuple[str, ...]:
    """The possible names of the event in the table of rows."""
    if event is Failure.HTML:
        return (event.value, "2xx")
    if event is Failure.CHALLENGE:
        return (event.value,)
    if isinstance(event, Failure):
        return (event.value, "redirect" if event in _REDIRECTS else "network")
    hundreds = event // 100
    if hundreds == 3:  # noqa: PLR2004
        # A redirect without a target. A 304 makes no sense here: the request had no validators.
        return (str(event), "3xx", "nonsense" if event == NOT_MODIFIED else "redirect")
    if hundreds in (2, 4, 5):
        return (str(event), f"{hundreds}xx")
    return (str(event), f"{hundreds}xx", "nonsense")


CLASSES = frozenset(
    {*(f"{hundred}xx" for hundred in _HUNDREDS)}
    | {failure.value for failure in Failure}
    | {"redirect", "network", "nonsense"}
    | {AccessResult.UNAVAILABLE.value, AccessResult.UNREACHABLE.value}
)
"""The names that an override can have, in addition to status codes from 100 to 999."""


def _is_status(name: str) -> bool:
    return len(name) == 3 and name.isascii() and name.isdigit() and name[0] != "0"  # noqa: PLR2004


@dataclass(frozen=True, slots=True)
class AccessPolicy:
    """The meaning of events: a preset, and a user's overrides that come before it.

    Raises:
        ConfigurationError: the preset, an override's name or its meaning is unknown, or an override
            would read an answer without rules as rules.
    """

    preset: str = "rfc9309"
    overrides: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.preset not in PRESETS:
            raise ConfigurationError(
                f"{self.preset!r} is not a policy: choose one of {', '.join(PRESETS)}"
            )
        for name, meaning in self.overrides.items():
            if not (_is_status(name) or name in CLASSES):
                raise ConfigurationError(
                    f"{name!r} is not a class of events: use a status such as '403', or one of "
                    f"{', '.join(sorted(CLASSES))}"
                )
            has_body = name[0] == "2" or name == Failure.HTML.value
            permitted = ("allow", "disallow", "rules") if has_body else ("allow", "disallow")
            if meaning not in permitted:
                raise ConfigurationError(
                    f"{name!r} can't mean {meaning!r}: choose one of {', '.join(permitted)}"
                )

    def meaning(self, event: Event, status: Event | None = None) -> Meaning:
        """The meaning of the event: the narrowest override, otherwise the preset's row.

        `status` is the status of the answer if the event is an HTML page or a challenge. Google's
        documentation knows no challenges: "google" reads their status, unless it is a success. An
        override of the status that disallows holds for a challenge, too.
        """
        if self.reads_status(event, status) and status is not None:
            return self.meaning(status)
        overridden = self.override(event, status) if self.overrides else None
        if overridden is not None:
            return overridden
        return next(PRESETS[self.preset][name] for name in _narrow_to_wide(event) if name in _ROWS)

    def reads_status(self, event: Event, status: Event | None) -> bool:
        """Whether a challenge counts as an answer with its status: by "google", without a file."""
        is_named = Failure.CHALLENGE.value in self.overrides
        if event is not Failure.CHALLENGE or status is None or is_named:
            return False
        is_google = self.preset == "google" and access_result(status) is AccessResult.UNAVAILABLE
        return is_google or self.override(status) is Meaning.DISALLOW

    def override(self, event: Event, status: Event | None = None) -> Meaning | None:
        """The narrowest of the user's overrides for the event, or None."""
        names = _narrow_to_wide(event)
        if event is Failure.HTML and status is not None:
            names = (event.value, *_narrow_to_wide(status))
        for name in (*names, access_result(event).value):
            if name in self.overrides:
                return Meaning(self.overrides[name])
        return None

"""The outcome of an attempt to fetch a robots.txt, and what that means (RFC 9309, 2.3.1).

First an event, what happened, is given its access result, the RFC's word for it; then a policy
says what the event means. Both are tables: a preset is a column, a user's override an entry in
front of it. There is no default that allows: an event without a row would raise, and a test asks
for every one there is.

An event is named as users name it in overrides, and belongs to classes, narrow to wide:
``404`` is a ``404``, a ``4xx`` and an ``unavailable``; ``dns`` is a ``dns``, a ``network`` and an
``unreachable``. The narrowest entry decides.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import lru_cache

from scrapy_rep.protocol.errors import ConfigurationError
from scrapy_rep.protocol.lines import KNOWN_KEYS, PARSE_LIMIT_OCTETS, Kind, Record, clean, records
from scrapy_rep.protocol.units import DAY_SECONDS


class AccessResult(Enum):
    """The access results of RFC 9309, 2.3.1; the value is the widest class of their events."""

    SUCCESSFUL = "successful"
    UNAVAILABLE = "unavailable"
    UNREACHABLE = "unreachable"


class Meaning(Enum):
    """What an event means for the origin's other URIs."""

    RULES = "rules"
    ALLOW = "allow"
    DISALLOW = "disallow"


class Failure(Enum):
    """What else can happen than what a status says; the value is the event's name."""

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


Event = int | Failure
"""The status code of the last answer, or what happened beside it or instead of it."""

_REDIRECTS = frozenset({Failure.REDIRECT_LIMIT, Failure.REDIRECT_LOOP, Failure.REDIRECT_TARGET})
_HUNDREDS = range(1, 10)
_DOCTYPE = b"<!doctype html"
_HTML = re.compile(r"[ \t]*text/html[ \t]*(?:[;,]|\Z)", re.IGNORECASE)
NOT_MODIFIED = 304
"""The status of an answer that says: what you have is still the file."""


# Rows of semantics by class of event. RFC 9309 makes 4xx "unavailable" (2.3.1.3) and 5xx and
# network errors "unreachable" (2.3.1.4), and redirects that lead nowhere may be taken as
# unavailable (2.3.1.2). A page of HTML is an answer that succeeded and holds no rules; what shuts
# crawlers out answers so too, and "strict" does not take it for permission. Deviation: 429 asks us
# to wait, so it is no "there is no file", and we do not use the RFC's "MAY access": with Google's
# documentation we put it with the 5xx. What no standard knows (1xx, 6xx, an answer that is no HTTP)
# is unreachable: the reading that obeys more.
_RULES, _ALLOW, _DISALLOW = Meaning.RULES, Meaning.ALLOW, Meaning.DISALLOW
_COLUMNS = ("rfc9309", "google", "strict", "lenient", "scrapy")
_ROWS: dict[str, tuple[AccessResult, tuple[Meaning, Meaning, Meaning, Meaning, Meaning]]] = {
    "html": (AccessResult.SUCCESSFUL, (_RULES, _RULES, _DISALLOW, _RULES, _RULES)),
    "2xx": (AccessResult.SUCCESSFUL, (_RULES, _RULES, _RULES, _RULES, _RULES)),
    "redirect": (AccessResult.UNAVAILABLE, (_ALLOW, _ALLOW, _DISALLOW, _ALLOW, _ALLOW)),
    "401": (AccessResult.UNAVAILABLE, (_ALLOW, _ALLOW, _DISALLOW, _ALLOW, _ALLOW)),
    "403": (AccessResult.UNAVAILABLE, (_ALLOW, _ALLOW, _DISALLOW, _ALLOW, _ALLOW)),
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
"""The presets: what each class of event means under each. ``rfc9309`` is the default."""


FOREVER = float("inf")


class Remedy(Enum):
    """What an unreachable file means in one phase of its outage."""

    COPY = "the copy's policy"
    ALLOW = "allow"
    DISALLOW = "disallow"
    IF_ANSWERING = "allow if other pages of the origin answer, otherwise disallow"
    AFTER_30_DAYS = "what REP_UNREACHABLE_AFTER_30_DAYS says"


_MONTH = 30 * DAY_SECONDS

# Per preset: until how many seconds after the outage began, what is done with a usable copy, and
# what without one. RFC 9309, 2.3.1.4 knows the copy and the 30 days; Google's documentation the
# twelve hours in which nothing is crawled; the draft of 1994, as "strict" reads it, neither.
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


def seen_with_body(event: Event, content_type: str, body: bytes) -> Event:
    """What an answer comes to once its body is known: a page of HTML is no robots.txt.

    Sites answer so to what they do not know, or want to keep out. Linear in the octets.
    """
    if access_result(event) is not AccessResult.SUCCESSFUL:
        return event
    octets = clean(body, max(len(body), PARSE_LIMIT_OCTETS))[0]  # a page may be a single line
    if octets.lstrip()[: len(_DOCTYPE)].lower().startswith((_DOCTYPE, b"<html")):
        return Failure.HTML
    is_page = (
        _HTML.match(content_type) and octets.strip() and not any(map(_is_known, records(octets)))
    )
    return Failure.HTML if is_page else event


def _is_known(record: Record) -> bool:
    _, kind, key, _ = record
    return kind is not Kind.OTHER or key.lower() in KNOWN_KEYS


def name_of(event: Event) -> str:
    """The event's own name: ``404``, ``timeout``."""
    return event.value if isinstance(event, Failure) else str(event)


@lru_cache(maxsize=1 << 10)  # asked several times of each answer; there are no more events
def access_result(event: Event) -> AccessResult:
    """Which of the RFC's access results an event is."""
    for name in _narrow_to_wide(event):
        if name in _ROWS:
            return _ROWS[name][0]
    raise AssertionError(f"no row for {event!r}")  # pragma: no cover - see the module's contract


def _narrow_to_wide(event: Event) -> tuple[str, ...]:
    """The names under which the event can stand in the table of rows."""
    if event is Failure.HTML:
        return (event.value, "2xx")
    if isinstance(event, Failure):
        return (event.value, "redirect" if event in _REDIRECTS else "network")
    hundreds = event // 100
    if hundreds == 3:  # noqa: PLR2004
        # A redirect that leads nowhere. 304 is no redirect: nobody asked whether a copy holds.
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
"""What an override can name besides a status code from 100 to 999."""


def _is_status(name: str) -> bool:
    return len(name) == 3 and name.isascii() and name.isdigit() and name[0] != "0"  # noqa: PLR2004


@dataclass(frozen=True, slots=True)
class AccessPolicy:
    """What events mean: a preset, and a user's overrides in front of it.

    Raises:
        ConfigurationError: the preset, an override's name or its meaning is not known, or an
            override would have an answer that holds no rules read as rules.
    """

    preset: str = "rfc9309"
    overrides: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.preset not in PRESETS:
            raise ConfigurationError(
                f"{self.preset!r} is no policy: choose one of {', '.join(PRESETS)}"
            )
        for name, meaning in self.overrides.items():
            if not (_is_status(name) or name in CLASSES):
                raise ConfigurationError(
                    f"{name!r} is no class of events: use a status such as '403', or one of "
                    f"{', '.join(sorted(CLASSES))}"
                )
            has_body = name[0] == "2" or name == Failure.HTML.value
            permitted = ("allow", "disallow", "rules") if has_body else ("allow", "disallow")
            if meaning not in permitted:
                raise ConfigurationError(
                    f"{name!r} can't mean {meaning!r}: choose one of {', '.join(permitted)}"
                )

    def meaning(self, event: Event, status: Event | None = None) -> Meaning:
        """What the event means: by the narrowest override, otherwise by the preset's row.

        `status` is that of the answer, where the event does not tell it: of a page of HTML.
        """
        overridden = self.override(event, status) if self.overrides else None
        if overridden is not None:
            return overridden
        return next(PRESETS[self.preset][name] for name in _narrow_to_wide(event) if name in _ROWS)

    def override(self, event: Event, status: Event | None = None) -> Meaning | None:
        """What the user's overrides say of the event, the narrowest first; None if nothing."""
        names = _narrow_to_wide(event)
        if event is Failure.HTML and status is not None:
            names = (event.value, *_narrow_to_wide(status))
        for name in (*names, access_result(event).value):
            if name in self.overrides:
                return Meaning(self.overrides[name])
        return None

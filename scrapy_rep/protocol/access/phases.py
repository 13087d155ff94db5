"""What an unreachable file means while its outage lasts (RFC 9309, 2.3.1.4), by preset."""

from __future__ import annotations

from enum import Enum

from scrapy_rep.protocol.units import DAY_SECONDS

from .events import AccessPolicy
from .knowledge import Outage

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


def remedy_at(
    now: float, outage: Outage, access: AccessPolicy, *, has_copy: bool
) -> tuple[float, Remedy]:
    """What the outage means at `now`, and until when. A user's override knows no phases."""
    overridden = access.override(outage.event)
    if overridden is not None:
        return FOREVER, Remedy(overridden.value)
    lasted = now - outage.since
    for seconds, with_copy, without_copy in PHASES[access.preset]:
        if lasted < seconds:
            return outage.since + seconds, with_copy if has_copy else without_copy
    raise AssertionError("every preset's last phase is without end")  # pragma: no cover

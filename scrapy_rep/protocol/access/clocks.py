"""Instants that a wrong clock recorded: those that cannot be are not believed.

A store outlives clocks that are set, and is shared by machines whose clocks differ. An instant
that lies farther ahead than any could, counted from now, says nothing; the file is due instead.
"""

from __future__ import annotations

from dataclasses import replace

from scrapy_rep.protocol.units import DAY_SECONDS

from .knowledge import Copy, Knowledge, Outage
from .lifetime import LEAST_SECONDS, Limits

_SKEW_SECONDS = 300.0  # by which the clocks of machines that share a store may well differ
_SPREAD = 1.25  # retries are put off by up to a quarter, by chance


def believable(known: Knowledge, now: float, limits: Limits) -> Knowledge:
    """What is known; the file is due now where an instant lies farther ahead than any could.

    A copy or an outage of a day to come stays as it is: `standing` does not go by it.
    """
    copy, outage = known.copy, known.outage
    if copy is not None and _is_wrong(copy, now, limits):
        confirmed_at = min(copy.confirmed_at, now - LEAST_SECONDS)
        copy = replace(copy, confirmed_at=confirmed_at, fresh_until=now)
    if outage is not None and outage.failed_at <= now + DAY_SECONDS:
        retry_at = now if _is_far(outage, now, limits) else outage.retry_at
        outage = replace(outage, since=min(outage.since, now), retry_at=retry_at)
    return Knowledge(copy, outage)


def _is_wrong(copy: Copy, now: float, limits: Limits) -> bool:
    if copy.confirmed_at > now + DAY_SECONDS:
        return False
    longest = max(limits.max_seconds, limits.asked_max_seconds)
    return (
        copy.confirmed_at > now + _SKEW_SECONDS or copy.fresh_until > now + longest + _SKEW_SECONDS
    )


def _is_far(outage: Outage, now: float, limits: Limits) -> bool:
    longest = _SPREAD * max(
        limits.retry_first_seconds, limits.retry_max_seconds, limits.retry_after_max_seconds
    )
    recorded = outage.retry_at - outage.failed_at
    return outage.retry_at > now + min(recorded, longest) + _SKEW_SECONDS

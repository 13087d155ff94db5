"""Versions of a file over time: which copies are one, and which are kept."""

from __future__ import annotations

from dataclasses import replace

from scrapy_rep.protocol.access.knowledge import Copy


def is_same_version(one: Copy, other: Copy) -> bool:
    """Whether two answers say the same: that there is this file, or that there is none."""
    return one.event == other.event and one.body == other.body


def confirmed(version: Copy, copy: Copy) -> Copy:
    """A version that a later answer says again: it is as old as it was, and holds longer."""
    return replace(copy, fetched_at=min(version.fetched_at, copy.fetched_at))


def as_of(versions: list[Copy], instant: float) -> Copy | None:
    """The version that was there at an instant; None if none is known of then.

    Args:
        versions: the newest first.
        instant: POSIX seconds.
    """
    return next((version for version in versions if version.fetched_at <= instant), None)

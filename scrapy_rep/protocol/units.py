"""Amounts in words: time spans, and numbers of things."""

from __future__ import annotations

DAY_SECONDS = 86_400.0
_UNITS = ((DAY_SECONDS, "d"), (3600.0, "h"), (60.0, "min"))


def age_words(seconds: float) -> str:
    """A time span in its largest unit: ``3 min``."""
    seconds = max(seconds, 0)
    for unit, word in _UNITS:
        if seconds >= unit:
            return f"{seconds / unit:.0f} {word}"
    return f"{seconds:.0f} s"


def counted(count: int, noun: str, plural: str = "") -> str:
    """A number of things: ``1 host``, ``2,000 hosts``."""
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}"

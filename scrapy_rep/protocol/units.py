"""Amounts in words: time spans, and numbers of things."""

from __future__ import annotations

DAY_SECONDS = 86_400.0
_UNITS = (
    *((int(DAY_SECONDS), "d", "day"), (3600, "h", "hour")),
    *((60, "min", "minute"), (1, "s", "second")),
)


def age_words(seconds: float, parts: int = 1, *, is_long: bool = False) -> str:
    """A time span in its largest units: ``3 min``, ``1 h 25 min`` in two parts, ``3 minutes``."""
    if seconds < 1:
        return "0 seconds" if is_long else f"{round(max(seconds, 0), 2):g} s"
    left, words = int(seconds), list[str]()
    largest = next(at for at, (unit, *_) in enumerate(_UNITS) if left >= unit)
    for unit, short, noun in _UNITS[largest : largest + parts]:
        count, left = divmod(left, unit)
        if count:
            words.append(counted(count, noun) if is_long else f"{count:,} {short}")
    return " ".join(words)


def rate_words(per_second: float) -> str:
    """A rate of requests: ``4.2 requests a second``, ``1 request in 2.5 s``."""
    if per_second < 1:
        return f"1 request in {1 / per_second:.2g} s"
    return f"{round(per_second, 1):,g} requests a second"


def counted(count: int, noun: str, plural: str = "") -> str:
    """A number of things: ``1 host``, ``2,000 hosts``."""
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}"

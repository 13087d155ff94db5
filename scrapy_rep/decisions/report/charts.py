"""The charts of a report: coordinates and paths for the templates."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from .report_values import Paced
from .tallies import Moment, Times
from .verdict_words import when

_HEIGHT = 100
_COLOURS = ("one", "two", "alarm", "three")
_DAY_SECONDS = 86_400
_MOST_SECONDS = 1e9  # a site's delay may have 300 digits
_LEFT, _RIGHT, _TOP, _BOTTOM = 60, 380, 10, 250


def columns(times: Times) -> dict[str, Any] | None:
    """Decisions over time, as stacked columns; None with fewer than two moments."""
    moments = times.moments
    if not moments or moments[-1].at == moments[0].at:
        return None
    first = moments[0].at
    width = round((moments[-1].at - first) / times.seconds) + 1
    highest = max(sum(_parts(moment)) for moment in moments)
    paths = ["", "", "", ""]
    for moment in moments:
        x = round((moment.at - first) / times.seconds)
        floor = 0.0
        for number, count in enumerate(_parts(moment)):
            top = floor + count * _HEIGHT / highest
            if count:
                low, high = _HEIGHT - floor, _HEIGHT - top
                paths[number] += f"M{x} {low:.4g}V{high:.4g}h.9V{low:.4g}z"
            floor = top
    is_short = moments[-1].at - first < _DAY_SECONDS
    return {
        "width": width,
        "height": _HEIGHT,
        "paths": [one for one in zip(_COLOURS, paths, strict=True) if one[1]],
        "first": when(first, is_short=is_short),
        "middle": f"at most {highest:,} in {_span_words(times.seconds)}",
        "last": when(moments[-1].at + times.seconds, is_short=is_short),
    }


def _parts(moment: Moment) -> tuple[int, int, int, int]:
    return moment.allowed, moment.held_back, moment.went_on, moment.exempt


def _span_words(seconds: float) -> str:
    for unit, name in ((86_400, "day"), (3600, "hour"), (60, "minute"), (1, "second")):
        if seconds >= unit:
            count = round(seconds / unit)
            return f"a {name}" if count == 1 else f"{count:,} {name}s"
    return f"{seconds:g} seconds"


def plot(paces: Sequence[Paced]) -> dict[str, Any] | None:
    """A plot of the requested delay against the shortest gap, one dot per origin; None if empty."""
    dots = [
        (min(asked, _MOST_SECONDS), min(row.least_seconds, _MOST_SECONDS), row.word)
        for row in paces
        if row.least_seconds is not None and (asked := row.asked_seconds or row.kept_seconds)
    ]
    if not dots:
        return None
    least = min(min(asked, kept or asked) for asked, kept, _ in dots)
    most = max(max(asked, kept) for asked, kept, _ in dots)
    low = math.floor(math.log10(max(least, 0.001)))
    high = max(math.ceil(math.log10(max(most, 0.01))), low + 1)

    def part(seconds: float) -> float:
        shown = math.log10(max(seconds, 10.0**low))
        return min(1.0, max(0.0, (shown - low) / (high - low)))

    def x_of(seconds: float) -> float:
        return round(_LEFT + part(seconds) * (_RIGHT - _LEFT), 1)

    def y_of(seconds: float) -> float:
        return round(_BOTTOM - part(seconds) * (_BOTTOM - _TOP), 1)

    ticks = [10.0**power for power in range(low, high + 1)]
    return {
        "ticks": [{"x": x_of(tick), "y": y_of(tick), "name": f"{tick:g} s"} for tick in ticks],
        "dots": [
            {"x": x_of(asked), "y": y_of(kept), "colour": "alarm" if word == "not-kept" else "one"}
            for asked, kept, word in dots
        ],
        "across": "delay in robots.txt",
        "up": "shortest gap",
    }

"""What the records of a trail rest on, while it is read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from . import trail_records as records
from .trail_reading import Place


class Grounds:
    """The policies of the segment that is read: each segment repeats those that it needs.

    One of another segment never counts, even if the first line of this one is damaged: what a
    number stood for there may be another policy here, and verify tells of it as missing.
    """

    def __init__(self) -> None:
        """Nothing is read yet."""
        self._segment = ""
        self._policies: dict[Any, dict[str, Any]] = {}

    def __len__(self) -> int:
        """How many policies are held."""
        return len(self._policies)

    def take(self, place: Place, record: dict[str, Any]) -> None:
        """Note a record, of whichever kind; call it for each, in order."""
        kind = record["t"]
        if place.segment != self._segment or kind == records.RUN:
            self._segment = place.segment
            self._policies.clear()
        if kind == records.POLICY:
            self._policies[record["p"]] = record

    def policy_of(self, record: Mapping[str, Any]) -> dict[str, Any] | None:
        """The record of the policy that a record rests on; None if this segment has none."""
        return self._policies.get(record.get("p"))

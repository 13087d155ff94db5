"""A survey as a JSON document: what it says, and the sums by which it can be added to others."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from .aggregate import FORMAT, VERSION, Aggregate
from .statistics import report

_INPUTS_NAMED = 1000


@dataclass(frozen=True, slots=True)
class Survey:
    """A survey.

    Attributes:
        aggregate: the sums.
        inputs: what it is of, in words.
        is_partial: whether it was interrupted, so that a part of the inputs is missing.
    """

    aggregate: Aggregate = field(default_factory=Aggregate)
    inputs: tuple[str, ...] = ()
    is_partial: bool = False

    def __add__(self, other: Survey) -> Survey:
        """Both together."""
        return Survey(
            self.aggregate + other.aggregate,
            tuple(dict.fromkeys((*self.inputs, *other.inputs))),
            self.is_partial or other.is_partial,
        )

    def report(
        self, agents: Sequence[str] | None = None, keys: Sequence[str] | None = None
    ) -> dict[str, Any]:
        """All that it says: ``definitions`` and ``statistics``, by the same names.

        Of crawlers and of other records, those that are given, or the most usual ones.
        """
        return report(self.aggregate, agents, keys)

    def to_json(self, agents: Sequence[str] | None = None) -> str:
        """As a document; the same for equal sums."""
        document = {
            "format": FORMAT,
            "version": VERSION,
            "is_partial": self.is_partial,
            "inputs": [*self.inputs[:_INPUTS_NAMED]],
            **self.report(agents),
            "sums": self.aggregate.to_dict(),
        }
        return json.dumps(document, indent=1, sort_keys=True, ensure_ascii=True)

    @classmethod
    def from_json(cls, text: str) -> Survey:
        """From a document.

        Raises:
            ValueError: it is none of this version.
        """
        try:
            found = json.loads(text)
            sums, inputs, is_partial = found["sums"], tuple(found["inputs"]), found["is_partial"]
        except (KeyError, RecursionError, TypeError, json.JSONDecodeError) as error:
            raise ValueError("it holds no survey") from error
        return cls(Aggregate.from_dict(sums), inputs, is_partial)

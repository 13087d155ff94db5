"""A survey as a JSON document: its statistics, and the sums that allow adding it to others."""

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
        inputs: the names of the inputs.
        is_partial: whether a part of the inputs is missing: an interrupt, or a damaged file.
    """

    aggregate: Aggregate = field(default_factory=Aggregate)
    inputs: tuple[str, ...] = ()
    is_partial: bool = False

    def __add__(self, other: Survey) -> Survey:
        """The sum of both."""
        return Survey(
            self.aggregate + other.aggregate,
            tuple(dict.fromkeys((*self.inputs, *other.inputs))),
            self.is_partial or other.is_partial,
        )

    def report(
        self, agents: Sequence[str] | None = None, keys: Sequence[str] | None = None
    ) -> dict[str, Any]:
        """The report of the survey: ``definitions`` and ``statistics``, by the same names.

        `agents` and `keys` are the crawlers and the other records to report; None stands for the
        most usual ones.
        """
        return report(self.aggregate, agents, keys)

    def to_json(self, agents: Sequence[str] | None = None) -> str:
        """The survey as a document; equal sums give equal text."""
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
        """Read a document.

        Raises:
            ValueError: the text is not a survey of this version.
        """
        try:
            found = json.loads(text)
            sums, inputs, is_partial = found["sums"], tuple(found["inputs"]), found["is_partial"]
        except (KeyError, RecursionError, TypeError, json.JSONDecodeError) as error:
            raise ValueError("it does not hold a survey") from error
        return cls(Aggregate.from_dict(sums), inputs, is_partial)

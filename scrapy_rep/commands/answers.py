"""What sites answer: from the store while that is fresh, as in a crawl, or asked now; and which.

Every command takes its answers here or from a crawl's policies, so all have one default.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from scrapy_rep.protocol.units import age_words

from .running import CommandError

if TYPE_CHECKING:
    from scrapy.settings import Settings

    from scrapy_rep.protocol.access.knowledge import Answer
    from scrapy_rep.protocol.access.origin import Origin


@dataclass(frozen=True, slots=True)
class Freshness:
    """When an answer came, POSIX seconds, and whether it was in the store."""

    asked_at: float
    is_stored: bool

    def __str__(self) -> str:
        """Where the answer is from, and how old it is: ``from the store, 3 min old``."""
        if not self.is_stored:
            return "asked now"
        return f"from the store, {age_words(time.time() - self.asked_at)} old"


@dataclass(frozen=True, slots=True)
class Told:
    """An answer, and how fresh it is."""

    answer: Answer
    freshness: Freshness


def add_refresh_option(parser: argparse.ArgumentParser) -> None:
    """The option of all commands that take URLs."""
    parser.add_argument(
        "--refresh",
        action="store_true",
        help="fetch now, though the store holds a fresh copy",
    )


def answers_of(
    settings: Settings, origins: Iterable[Origin], *, is_refresh: bool = False
) -> dict[Origin, Told]:
    """The answers of origins: fresh ones of the store, and the others fetched now.

    With `is_refresh`, all are fetched.
    """
    wanted = list(dict.fromkeys(origins))
    found = {} if is_refresh else stored(settings, wanted)
    left = [origin for origin in wanted if origin not in found]
    if left:
        from .asking import ask

        answers = ask(settings, left)
        now = Freshness(time.time(), is_stored=False)
        found.update({origin: Told(answers[origin], now) for origin in left})
    return found


def stored(settings: Settings, origins: Sequence[Origin]) -> dict[Origin, Told]:
    """The answers of the store that a crawl would use without asking."""
    from scrapy_rep.cache.base import StoreError
    from scrapy_rep.protocol.access.knowledge import Answer

    from .kept import asker_of, entries_of, kept_store, standing_of

    found: dict[Origin, Told] = {}
    now = time.time()
    try:
        asker = asker_of(settings)
        with kept_store(settings) as store:
            for origin in origins:
                entry = next(entries_of(store, [asker.key(origin)]), None)
                copy = entry.known.copy if entry is not None else None
                if entry is None or copy is None or entry.known.outage is not None:
                    continue
                stands = standing_of(origin, entry.known, settings)
                if stands.meaning is not None and now < min(stands.due_at, copy.fresh_until):
                    answer = Answer(
                        copy.event,
                        copy.body,
                        copy.hops,
                        dict(copy.headers),
                        steps=(*copy.steps, *copy.confirmed_by),
                    )
                    found[origin] = Told(answer, Freshness(copy.confirmed_at, is_stored=True))
    except (CommandError, StoreError):
        return {}  # there is no store: everything is fetched
    return found

"""Asking origins again, and keeping what they answer: an exchange that does not wait to be due."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

from scrapy_rep.cache.base import Browsable
from scrapy_rep.cache.entry import Entry
from scrapy_rep.protocol.access import AccessResult, Failure, name_of
from scrapy_rep.protocol.exchange import learn
from scrapy_rep.protocol.knowledge import Answer, Knowledge
from scrapy_rep.settings import RepSettings

from .asking import ask
from .kept import kept_store
from .running import CommandError

if TYPE_CHECKING:
    from scrapy.settings import Settings

    from scrapy_rep.cache.base import Store
    from scrapy_rep.protocol.origin import Origin


def refresh(named: list[Origin], settings: Settings) -> Iterator[tuple[Origin, str, bool]]:
    """Ask some origins, or all that are kept; tells of each what came of it, and if it is down.

    What a site answers is learnt as a crawl would learn it, so a failure leaves the copy that
    there is. A failure of our own says nothing of the site, and is not kept.
    """
    with kept_store(settings, must_exist=not named) as store:
        origins = named or _all(store)
        known = {origin: _known(store, origin) for origin in origins}
        copies = {origin: known[origin].copy for origin in origins}
        answers = ask(settings, origins, copies) if origins else {}
        limits = RepSettings.of(settings).rules.limits
        for origin in origins:
            answer = answers[origin]
            is_ours = answer.event in (Failure.LOCAL, Failure.GUARD)
            if not is_ours:
                chance = random.random()  # noqa: S311 - no secret
                learnt = learn(known[origin], answer, time.time(), limits, chance=chance)
                store.commit(Entry(origin, learnt), None).result()
            yield origin, _words(answer), answer.access_result is AccessResult.UNREACHABLE


def _all(store: Store) -> list[Origin]:
    if not isinstance(store, Browsable):
        raise CommandError(
            f"--all: {type(store).__qualname__} can't list its entries; name origins"
        )
    return store.origins()


def _known(store: Store, origin: Origin) -> Knowledge:
    entry = store.peek(origin)
    return Knowledge() if entry is None else entry.known


def _words(answer: Answer) -> str:
    if answer.is_confirmation:
        return "unchanged (304)"
    return f"{name_of(answer.event)} ({answer.access_result.value})"

"""Refreshing entries of the store: exchanges that do not wait until they are due."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

from scrapy_rep.cache.base import Browsable
from scrapy_rep.cache.entry import Entry
from scrapy_rep.protocol.access.events import AccessResult, Failure, name_of
from scrapy_rep.protocol.access.exchange import learn
from scrapy_rep.protocol.access.knowledge import Answer, Knowledge
from scrapy_rep.settings import RepSettings

from .asking import ask
from .kept import asker_of, entries_of, kept_store
from .running import CommandError

if TYPE_CHECKING:
    from scrapy.settings import Settings

    from scrapy_rep.cache.base import Store
    from scrapy_rep.cache.entry import Key
    from scrapy_rep.fetching.askers import Asker
    from scrapy_rep.protocol.access.origin import Origin


def refresh(named: list[Origin], settings: Settings) -> Iterator[tuple[Origin, str, bool]]:
    """Fetch the files of some origins, or of all in the store; yields words, and if a site is down.

    An answer counts as in a crawl, so a failure leaves the copy in place. A failure of our own says
    nothing about the site, and is not stored.
    """
    for origin, answer, _ in refreshed(named, settings):
        yield origin, answer_words(answer), answer.access_result is AccessResult.UNREACHABLE


def refreshed(
    named: list[Origin], settings: Settings
) -> Iterator[tuple[Origin, Answer, Knowledge | None]]:
    """The same; yields each answer, and what is known since; None if that says nothing."""
    asker = asker_of(settings)
    with kept_store(settings, must_exist=not named) as store:
        origins = named or _all(store, asker)
        known = {origin: _known(store, asker.key(origin)) for origin in origins}
        copies = {origin: known[origin].copy for origin in origins}
        answers = ask(settings, origins, copies) if origins else {}
        limits = RepSettings.of(settings).rules.limits
        for origin in origins:
            answer = answers[origin]
            learnt = None
            is_ours = answer.event in (Failure.LOCAL, Failure.GUARD)
            if not is_ours:
                chance = random.random()  # noqa: S311 - no secret
                learnt = learn(known[origin], answer, time.time(), limits, chance=chance)
                key = asker.key_as_sent(asker.key(origin), answer.user_agent)
                store.commit(Entry(key, learnt), None).result()
            yield origin, answer, learnt


def _all(store: Store, asker: Asker) -> list[Origin]:
    """The origins whose files were fetched as this project's crawls fetch them."""
    if not isinstance(store, Browsable):
        raise CommandError(
            f"--all: {type(store).__qualname__} cannot list its entries; name origins"
        )
    keys = store.keys()
    return [key.origin for key in keys if key == asker.key(key.origin)]


def _known(store: Store, key: Key) -> Knowledge:
    entry = next(entries_of(store, [key]), None)
    return Knowledge() if entry is None else entry.known


def answer_words(answer: Answer) -> str:
    """An answer in words."""
    if answer.is_confirmation:
        return "unchanged (304)"
    return f"{name_of(answer.event)} ({answer.access_result.value})"

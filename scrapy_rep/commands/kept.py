"""The configured store of answers, outside of a crawl."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from scrapy import Spider
from scrapy.crawler import Crawler

from scrapy_rep.cache.sqlite import SqliteStore
from scrapy_rep.policy import Policy, Reading
from scrapy_rep.protocol.access import Meaning
from scrapy_rep.protocol.document import parse
from scrapy_rep.protocol.exchange import Standing, standing
from scrapy_rep.protocol.knowledge import Knowledge
from scrapy_rep.protocol.origin import Origin
from scrapy_rep.robotparser import ParserChoice
from scrapy_rep.settings import RepSettings
from scrapy_rep.stores import default_path, own_store

from .running import CommandError

if TYPE_CHECKING:
    from scrapy.settings import Settings

    from scrapy_rep.cache.base import Store


@contextmanager
def kept_store(settings: Settings, *, must_exist: bool = True) -> Iterator[Store]:
    """The store that this project's crawls keep answers in.

    Raises:
        CommandError: there is none that outlives a crawl, or none yet.
        StoreError: it can't be opened.
    """
    ours = RepSettings.of(settings)
    if ours.store == "memory":
        raise CommandError(
            "REP_STORE = 'memory' keeps answers for one crawl only; set it to 'auto' or 'sqlite'"
        )
    if ours.store in ("auto", "sqlite"):
        path = Path(ours.store_path) if ours.store_path else default_path()
        if must_exist and not path.exists():
            raise CommandError(f"nothing is kept yet: there is no {path}")
        store: Store = SqliteStore(path, ours.store_max_octets)
    else:
        store = own_store(Crawler(Spider, settings), ours.store)
    try:
        yield store
    finally:
        store.close()


def standing_of(origin: Origin, known: Knowledge, settings: Settings) -> Standing:
    """How things stand with an origin, by this project's settings."""
    ours = RepSettings.of(settings)
    override = ours.overrides.match(origin)
    preset = override.preset if override is not None else None
    rules = ours.rules if preset is None else ours.rules_under(preset)
    return standing(known, time.time(), rules)


def policies_of(settings: Settings, origins: Sequence[Origin]) -> dict[Origin, Policy | None]:
    """The policies that the store comes to; None where it knows nothing that could be used."""
    overrides = RepSettings.of(settings).overrides
    parser = ParserChoice(Crawler(Spider, settings))
    found: dict[Origin, Policy | None] = {}
    with kept_store(settings) as store:
        for origin in origins:
            override = overrides.match(origin)
            if override is not None and override.preset is None:
                meaning = Meaning.ALLOW if override.ignore else Meaning.RULES
                robots_txt = parse(override.text or b"", origin.robots_txt_uri)
                reading = Reading(robots_txt, robots_txt)
                found[origin] = Policy(origin, None, meaning, reading, ())
                continue
            entry = store.peek(origin)
            found[origin] = (
                None if entry is None else _policy(origin, entry.known, settings, parser)
            )
    return found


def _policy(
    origin: Origin, known: Knowledge, settings: Settings, parser: ParserChoice
) -> Policy | None:
    stands = standing_of(origin, known, settings)
    if stands.meaning is None:
        return None
    reading = Reading.of_nothing(origin)
    if stands.meaning is Meaning.RULES and known.copy is not None:
        reading = _read(known.copy.body, origin, parser, settings)
    return Policy.standing(origin, known, stands, reading, ())


def _read(body: bytes, origin: Origin, parser: ParserChoice, settings: Settings) -> Reading:
    """A file as a crawl reads it.

    Raises:
        CommandError: the class of `ROBOTSTXT_PARSER` raised, which in a crawl is a failure.
    """
    limit_octets = RepSettings.of(settings).parse_limit_octets
    robots_txt = parse(body, origin.robots_txt_uri, limit_octets=limit_octets)
    try:
        rules, _ = parser.read(robots_txt, body)
    except Exception as error:
        raise CommandError(
            f"ROBOTSTXT_PARSER = {settings['ROBOTSTXT_PARSER']} can't read the file of {origin}: "
            f"{error!r}"
        ) from error
    return Reading(robots_txt, rules)

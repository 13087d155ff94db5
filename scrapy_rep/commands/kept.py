"""The store that this project's crawls use, outside of a crawl."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import ExitStack, contextmanager
from datetime import datetime, timezone
from itertools import islice
from threading import Thread
from typing import TYPE_CHECKING

from scrapy import Spider
from scrapy.crawler import Crawler

from scrapy_rep.cache.base import Browsable, Remembering, StoreError
from scrapy_rep.cache.entry import as_of, is_same_version, key_of
from scrapy_rep.fetching.askers import Asker
from scrapy_rep.fetching.chosen_store import (
    keep_seconds,
    kind_of,
    own_store,
    sqlite_path,
    sqlite_store,
)
from scrapy_rep.identity import Identity
from scrapy_rep.policy import OVERRIDE, Policy
from scrapy_rep.protocol.access.events import Meaning
from scrapy_rep.protocol.access.exchange import Standing, standing
from scrapy_rep.protocol.access.knowledge import Knowledge
from scrapy_rep.protocol.access.origin import ROBOTS_TXT_PATH, Origin
from scrapy_rep.protocol.document import parse
from scrapy_rep.reading import Reading, digest_of
from scrapy_rep.reservations import rules_of as tdmrep_rules
from scrapy_rep.robotparser import ParserChoice
from scrapy_rep.settings import RepSettings

from .running import UNREACHABLE, CommandError

if TYPE_CHECKING:
    from scrapy.settings import Settings

    from scrapy_rep.cache.base import Store
    from scrapy_rep.cache.entry import Entry, Key
    from scrapy_rep.protocol.access.knowledge import Copy

_CLOSE_SECONDS = 10.0
_READ_AT_A_TIME = 64


@contextmanager
def kept_store(settings: Settings, *, must_exist: bool = True) -> Iterator[Store]:
    """The store of this project's crawls.

    Raises:
        CommandError: it does not outlive a crawl, does not exist yet, or has no place.
        StoreError: it cannot be opened.
    """
    ours = RepSettings.of(settings)
    kind = kind_of(ours)
    if kind == "memory":
        raise CommandError(
            "REP_STORE = 'memory' keeps answers for one crawl only; set it to 'auto', 'sqlite' or "
            "'redis'"
        )
    if kind == "sqlite" and must_exist:
        _check_that_it_exists(ours)
    with ExitStack() as undo:
        if kind == "redis":
            store = _redis_store(ours, undo.enter_context(_loop()))
        elif kind == "sqlite":
            store = sqlite_store(ours)
        else:
            store = own_store(Crawler(Spider, settings), ours.store)
        undo.callback(_close, store)
        yield store


def _close(store: Store) -> None:
    closing = store.close()
    if isinstance(closing, Future):
        closing.result(_CLOSE_SECONDS)


def _redis_store(ours: RepSettings, loop: asyncio.AbstractEventLoop) -> Store:
    """The store in Redis, behind this machine's file if there is one: to purge that, too."""
    from scrapy_rep.cache.link import Link
    from scrapy_rep.cache.redis import RedisStore

    local = None
    if ours.store_local == "sqlite":
        try:
            local = sqlite_store(ours) if sqlite_path(ours).exists() else None
        except (OSError, StoreError):
            local = None  # crawls use memory here, then
    return RedisStore(Link(ours.redis_url), local, keep_seconds(ours), loop)


@contextmanager
def _loop() -> Iterator[asyncio.AbstractEventLoop]:
    """An event loop that runs in a thread."""
    loop = asyncio.new_event_loop()
    thread = Thread(target=loop.run_forever, name="rep-redis", daemon=True)
    thread.start()
    try:
        yield loop
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


def entries_of(store: Store, keys: Iterable[Key]) -> Iterator[Entry]:
    """The entries of some keys; of a store that can't look, those that it has at hand."""
    left = iter(keys)
    while some := list(islice(left, _READ_AT_A_TIME)):
        if isinstance(store, Browsable):
            looks = [store.look(key) for key in some]  # so that they share a round trip
            found = [look.result() for look in looks]
        else:
            found = [store.peek(key) for key in some]
        yield from filter(None, found)


def versions_of(store: Store, key: Key) -> list[Copy]:
    """The versions of a file that are known, the newest first; that in use is one of them."""
    versions = store.versions(key).result() if isinstance(store, Remembering) else []
    entry = next(entries_of(store, [key]), None)
    copy = None if entry is None else entry.known.copy
    if copy is not None and not (versions and is_same_version(versions[0], copy)):
        versions.insert(0, copy)
    return versions


def version_of(settings: Settings, origin: Origin, instant: float) -> Copy:
    """The version of an origin's file at an instant, as this project's crawls fetched it.

    Raises:
        CommandError: none is known of then.
        StoreError: the store cannot be read.
    """
    with kept_store(settings) as store:
        versions = versions_of(store, asker_of(settings).key(origin))
    found = as_of(versions, instant)
    if found is not None:
        return found
    if not versions:
        raise CommandError(f"nothing is stored of {origin}", UNREACHABLE)
    oldest = datetime.fromtimestamp(versions[-1].fetched_at, timezone.utc)
    raise CommandError(
        f"nothing is known of {origin} before {oldest:%Y-%m-%d %H:%M:%S} UTC; the store keeps "
        f"REP_STORE_VERSIONS = {RepSettings.of(settings).store_versions} versions of each file",
        UNREACHABLE,
    )


def _check_that_it_exists(ours: RepSettings) -> None:
    try:
        path = sqlite_path(ours)
    except StoreError as error:
        raise CommandError(f"nothing is stored, because crawls use memory here: {error}") from error
    try:
        is_there = path.exists()
    except OSError as error:  # we may not search the folder
        raise CommandError(f"the store cannot be read: {error}") from error
    if not is_there:
        raise CommandError(f"nothing is stored yet: there is no {path}")


def asker_of(settings: Settings) -> Asker:
    """As whom this project's crawls fetch robots.txt, unless a spider changes that."""
    crawler = Crawler(Spider, settings)
    return Asker(crawler, RepSettings.of(settings), Identity(crawler))


def keys_in(store: Browsable, origins: Sequence[Origin], agent: str | None) -> list[Key]:
    """The keys of a store: of some origins, or all; of some User-Agents, or all.

    Args:
        store: the store.
        origins: the origins; none for all.
        agent: a part of the User-Agent, in any letter case; None for all.
    """
    wanted = frozenset(origins)
    return [
        key
        for key in store.keys()  # noqa: SIM118 - no dict
        if (not wanted or key.origin in wanted)
        and (agent is None or agent.lower() in key.user_agent.lower())
    ]


def standing_of(origin: Origin, known: Knowledge, settings: Settings) -> Standing:
    """The state of an origin, by this project's settings."""
    ours = RepSettings.of(settings)
    override = ours.overrides.match(origin)
    preset = override.preset if override is not None else None
    rules = ours.rules if preset is None else ours.rules_under(preset)
    return standing(known, time.time(), rules)


def standing_of_entry(entry: Entry, settings: Settings) -> Standing:
    """The same of a file in the store, which may be a tdmrep.json."""
    key = key_of(entry.origin)
    if key.path == ROBOTS_TXT_PATH:
        return standing_of(key.origin, entry.known, settings)
    return standing(entry.known, time.time(), tdmrep_rules(RepSettings.of(settings)))


def policies_of(settings: Settings, origins: Sequence[Origin]) -> dict[Origin, Policy | None]:
    """The policies that follow from the store; None where it holds nothing usable."""
    overrides = RepSettings.of(settings).overrides
    parser = ParserChoice(Crawler(Spider, settings))
    asker = asker_of(settings)
    found: dict[Origin, Policy | None] = {}
    with kept_store(settings) as store:
        for origin in origins:
            override = overrides.match(origin)
            if override is not None and override.preset is None:
                meaning = Meaning.ALLOW if override.ignore else Meaning.RULES
                body = override.text or b""
                robots_txt = parse(body, origin.robots_txt_uri)
                reading = Reading(robots_txt, robots_txt, digest_of(body))
                found[origin] = Policy(origin, None, meaning, reading, (), source=OVERRIDE)
                continue
            entry = next(entries_of(store, [asker.key(origin)]), None)
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
        CommandError: the class of `ROBOTSTXT_PARSER` raised; in a crawl, that is a failure.
    """
    limit_octets = RepSettings.of(settings).parse_limit_octets
    robots_txt = parse(body, origin.robots_txt_uri, limit_octets=limit_octets)
    try:
        rules, _ = parser.read(robots_txt, body)
    except Exception as error:
        raise CommandError(
            f"ROBOTSTXT_PARSER = {settings['ROBOTSTXT_PARSER']} cannot read the file of {origin}: "
            f"{error!r}"
        ) from error
    return Reading(robots_txt, rules, digest_of(body))

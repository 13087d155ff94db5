"""The store of this project's crawls, used outside of a crawl."""

from __future__ import annotations

import random
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from itertools import islice

from scrapy import Spider
from scrapy.crawler import Crawler
from scrapy.settings import Settings

from scrapy_rep.cache.base import Browsable, Remembering, Store, StoreError
from scrapy_rep.cache.entry import Entry, Key, as_of, is_same_version
from scrapy_rep.crawl import Crawl
from scrapy_rep.extras import part
from scrapy_rep.fetch.chosen_store import (
    FILES,
    FileStore,
    kind_of,
    own_store,
)
from scrapy_rep.fetch.reading import Reading, digest_of
from scrapy_rep.fetch.requesters import Requester
from scrapy_rep.policy import OVERRIDE, Policy
from scrapy_rep.protocol.access.events import Failure, Meaning, name_of
from scrapy_rep.protocol.access.knowledge import Answer, Copy, Knowledge
from scrapy_rep.protocol.access.origin import ROBOTS_TXT_PATH, Origin
from scrapy_rep.protocol.access.states import Standing, learn, standing
from scrapy_rep.protocol.document import parse
from scrapy_rep.protocol.lines import PARSE_LIMIT_OCTETS
from scrapy_rep.robotparser import ParserChoice
from scrapy_rep.settings import RepSettings

from . import engine_work
from .running import UNREACHABLE, Call, CommandError
from .terminal import moment

_CLOSE_SECONDS = 10.0
_READ_AT_A_TIME = 64
_WATCH_VARIANT = "watch"


class ProjectStore:
    """An open store, and the identity with which this project's crawls fetch by default.

    Attributes:
        store: the store.
    """

    def __init__(self, store: Store, settings: Settings) -> None:
        self.store = store
        self._ours = RepSettings.of(settings)
        self._settings = settings
        crawler = Crawler(Spider, settings)
        self._requester = Requester(Crawl.of(crawler))
        self._parser = ParserChoice(crawler)

    def key(self, origin: Origin) -> Key:
        """The key of an origin's file, as this project's crawls fetch it."""
        return self._requester.key_by(self.known, self._requester.key(origin))

    def browsable(self, action: str) -> Browsable:
        """The store, if it can list its entries.

        Raises:
            CommandError: it cannot list them.
        """
        if not isinstance(self.store, Browsable):
            kind = type(self.store)
            raise CommandError(
                f"{action}: {kind.__module__}.{kind.__qualname__} cannot list or delete its "
                "entries; implement scrapy_rep.cache.base.Browsable (show works with named origins)"
            )
        return self.store

    def entries(self, keys: Iterable[Key]) -> Iterator[Entry]:
        """Yield the entries of some keys; a store without look-up yields those in memory."""
        left = iter(keys)
        while some := list(islice(left, _READ_AT_A_TIME)):
            if isinstance(self.store, Browsable):
                looks = [self.store.look(key) for key in some]  # together, for one round trip
                found = [look.result() for look in looks]
            else:
                found = [self.store.peek(key) for key in some]
            yield from filter(None, found)

    def known(self, key: Key) -> Knowledge:
        """The knowledge about a file."""
        entry = next(self.entries([key]), None)
        return Knowledge() if entry is None else entry.known

    def put(self, key: Key, known: Knowledge) -> None:
        """Replace an entry."""
        self.store.commit(Entry(key, known), None).result()

    def learn(self, origin: Origin, answer: Answer, before: Knowledge) -> Knowledge:
        """Store an answer as a crawl would, and return the knowledge since."""
        chance = random.random()  # noqa: S311 - no secret
        learnt = learn(before, answer, time.time(), self._ours.options.limits, chance=chance)
        self.put(self._requester.key_as_sent(self.key(origin), answer), learnt)
        return learnt

    def absence_words(self, origin: Origin) -> str:
        """That nothing is stored for an origin, with the other origins of its host, if any are."""
        keys = self.store.keys() if isinstance(self.store, Browsable) else ()
        others = {key.origin for key in keys if key.origin.host == origin.host} - {origin}
        but = f", but for {', '.join(sorted(map(str, others)))}" if others else ""
        return f"nothing is stored for {origin}{but}"

    def versions(self, key: Key) -> list[Copy]:
        """The known versions of a file, the newest first; the one in use is the first."""
        is_kept = isinstance(self.store, Remembering)
        versions = self.store.versions(key).result() if is_kept else []  # type: ignore[attr-defined]
        copy = self.known(key).copy
        if copy is not None and not (versions and is_same_version(versions[0], copy)):
            versions.insert(0, copy)
        return versions

    def policy(self, origin: Origin) -> Policy | None:
        """The policy that follows from the store; None without a usable entry.

        Raises:
            CommandError: the class of `ROBOTSTXT_PARSER` raised; a crawl treats that as a failure.
        """
        override = self._ours.overrides.match(origin, time.time())
        uri = origin.robots_txt_uri
        if override is not None and override.preset is None:
            meaning = Meaning.ALLOW if override.ignore else Meaning.RULES
            reading = reading_of(override.text or b"", uri)
            return Policy(origin, None, meaning, reading, (), source=OVERRIDE)
        known = self.known(self.key(origin))
        stands = self.standing_of(self.key(origin), known)
        if stands.meaning is None:
            return None
        reading = Reading.of_nothing(origin)
        if stands.meaning is Meaning.RULES and known.copy is not None:
            body = known.copy.body
            robots_txt = parse(body, uri, limit_octets=self._ours.parse_limit_octets)
            try:
                rules, _ = self._parser.read(robots_txt, body)
            except Exception as error:
                name = self._settings["ROBOTSTXT_PARSER"]
                words = f"ROBOTSTXT_PARSER = {name} cannot read the file of {origin}: {error!r}"
                raise CommandError(words) from error
            reading = Reading(robots_txt, rules, digest_of(body))
        return Policy.learnt(origin, known, stands, reading, ())

    def standing_of(self, key: Key, known: Knowledge) -> Standing:
        """The state of a robots.txt or tdmrep.json, by this project's settings."""
        if key.path != ROBOTS_TXT_PATH:
            options_of = part("times of tdmrep.json", lambda ours: ours.options)
            return standing(known, time.time(), options_of(self._ours))
        now = time.time()
        override = self._ours.overrides.match(key.origin, now)
        preset = override.preset if override is not None else None
        options = self._ours.options if preset is None else self._ours.options_under(preset)
        return standing(known, now, options)


@contextmanager
def project_store(settings: Settings, *, must_exist: bool = True) -> Iterator[ProjectStore]:
    """The store of this project's crawls.

    Raises:
        CommandError: the store does not outlive a crawl, does not exist yet, or has no path.
        StoreError: it cannot be opened.
    """
    ours = RepSettings.of(settings)
    kind = kind_of(ours)
    if kind == "memory":
        raise CommandError(
            "REP_STORE = 'memory' keeps answers for one crawl only; set it to 'auto'"
        )
    file = FILES.get(kind)
    if file is not None and must_exist:
        _check_that_it_exists(file, ours)
    with ExitStack() as undo:
        if kind == "redis":
            store = undo.enter_context(part("REP_STORE = 'redis' in commands")(ours))
        elif file is not None:
            store = file.open(ours)
        else:
            store = own_store(Crawler(Spider, settings), ours.store)
        undo.callback(_close, store)
        yield ProjectStore(store, settings)


def _close(store: Store) -> None:
    closing = store.close()
    if isinstance(closing, Future):
        closing.result(_CLOSE_SECONDS)


def _check_that_it_exists(file: FileStore, ours: RepSettings) -> None:
    try:
        path = file.path(ours)
        if path.exists():
            return
    except StoreError as error:
        raise CommandError(f"nothing is stored, because crawls use memory here: {error}") from error
    except OSError as error:  # no permission for the folder
        raise CommandError(f"the store cannot be read: {error}") from error
    raise CommandError(f"nothing is stored yet: {path} does not exist")


def versions_of(settings: Settings, origin: Origin) -> list[Copy]:
    """The versions of an origin's file that this project's crawls fetched, the newest first.

    Raises:
        CommandError: no version is known.
        StoreError: the store cannot be read.
    """
    with project_store(settings) as stored:
        versions = stored.versions(stored.key(origin))
        if not versions:
            raise CommandError(stored.absence_words(origin), UNREACHABLE)
    return versions


def version_of(settings: Settings, origin: Origin, instant: float) -> Copy:
    """The version of an origin's file at an instant, as this project's crawls fetched it.

    Raises:
        CommandError: no version of that time is known.
        StoreError: the store cannot be read.
    """
    versions = versions_of(settings, origin)
    found = as_of(versions, instant)
    if found is not None:
        return found
    raise CommandError(
        f"no version for {origin} before {moment(versions[-1].fetched_at)} is stored; the store "
        f"keeps the last REP_STORE_VERSIONS = {RepSettings.of(settings).store_versions} of a file",
        UNREACHABLE,
    )


def fresh_copies(settings: Settings, origins: Sequence[Origin]) -> dict[Origin, Copy]:
    """The copies in the store that a crawl would use without a request."""
    found: dict[Origin, Copy] = {}
    try:
        with project_store(settings) as stored:
            for key in map(stored.key, origins):
                known = stored.known(key)
                stands, copy = stored.standing_of(key, known), known.copy
                if copy is None or known.outage is not None or stands.meaning is None:
                    continue
                if time.time() < min(stands.due_at, copy.fresh_until):
                    found[key.origin] = copy
    except (CommandError, StoreError):
        return {}  # there is no store: everything is fetched
    return found


def refreshed(named: list[Origin], call: Call) -> Iterator[tuple[Origin, Answer, Knowledge | None]]:
    """Fetch the files of some origins, or of all in the store; yields the knowledge since.

    An answer counts as in a crawl, so a failure leaves the copy in place. A local failure says
    nothing about the site, and is not stored: then None is yielded.
    """
    with project_store(call.settings, must_exist=not named) as stored:
        origins = named
        if not named:  # all that this project's crawls fetched
            keys = stored.browsable("refresh --all").keys()
            origins = [key.origin for key in keys if key == stored.key(key.origin)]
        known = {origin: stored.known(stored.key(origin)) for origin in origins}
        copies = {origin: known[origin].copy for origin in origins}
        answers = engine_work.fetch_now(call, origins, copies) if origins else {}
        for origin in origins:
            answer, learnt = answers[origin], None
            if answer.event not in (Failure.LOCAL, Failure.GUARD):
                learnt = stored.learn(origin, answer, known[origin])
            yield origin, answer, learnt


def answer_words(answer: Answer) -> str:
    """An answer in words."""
    if answer.is_confirmation:
        return "unchanged (304)"
    return f"{name_of(answer.event)} ({answer.access_result.value})"


def reading_of(body: bytes, uri: str, limit_octets: int = PARSE_LIMIT_OCTETS) -> Reading:
    """Read a file with this package's parser."""
    robots_txt = parse(body, uri, limit_octets=limit_octets)
    return Reading(robots_txt, robots_txt, digest_of(body))


def is_watched(key: Key) -> bool:
    """Whether an entry belongs to `watch`, not to a crawl."""
    return key.variant.rpartition("+")[2] == _WATCH_VARIANT


def watch_key(key: Key) -> Key:
    """The key under which `watch` remembers a file."""
    return replace(key, variant="+".join(filter(None, (key.variant, _WATCH_VARIANT))))

"""What `watch` saw last: a copy under a key of its own.

Crawls and other commands replace the entry of an origin as they fetch it. A watcher that compared
with that would miss what changed in between.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from scrapy_rep.cache.entry import Entry, Key
from scrapy_rep.protocol.access.knowledge import Answer, Copy, Knowledge

from .answers import Freshness
from .kept import asker_of, entries_of, kept_store
from .refreshing import refreshed
from .sources import Source

if TYPE_CHECKING:
    from scrapy.settings import Settings

    from scrapy_rep.protocol.access.origin import Origin

_VARIANT = "watch"


@dataclass(frozen=True, slots=True)
class Seen:
    """One look at an origin.

    Attributes:
        origin: the origin.
        answer: what it answered.
        before: what was seen last; None at the first look.
        now: what it has now; None if it does not answer.
    """

    origin: Origin
    answer: Answer
    before: Copy | None
    now: Copy | None

    @property
    def is_changed(self) -> bool:
        """Whether the file, or that there is one, is not what it was."""
        from scrapy_rep.cache.entry import is_same_version

        return not (
            self.before is None or self.now is None or is_same_version(self.before, self.now)
        )


def look(origins: list[Origin], settings: Settings) -> Iterator[Seen]:
    """Fetch the files of some origins now, as `refresh` does, and remember what was seen."""
    asker = asker_of(settings)
    keys = {origin: _watch_key(asker.key(origin)) for origin in origins}
    with kept_store(settings, must_exist=False) as store:
        before = {entry.origin: entry.known.copy for entry in entries_of(store, keys.values())}
    found: list[Seen] = []
    for origin, answer, known in refreshed(origins, settings):
        is_up = known is not None and known.outage is None
        now = known.copy if known is not None and is_up else None
        found.append(Seen(origin, answer, before.get(keys[origin]), now))
    with kept_store(settings, must_exist=False) as store:
        for seen in found:
            yield seen  # before it is remembered: what could not be told is told at the next look
            if seen.now is not None:  # also if it is the same: stores let go of what is old
                store.commit(Entry(keys[seen.origin], Knowledge(seen.now)), None).result()


def source_of(origin: Origin, copy: Copy, *, is_stored: bool) -> Source:
    """A copy as a source of `diff`; where there is no file, an empty one."""
    uri = origin.robots_txt_uri
    return Source(uri, copy.body, uri, freshness=Freshness(copy.confirmed_at, is_stored=is_stored))


def is_watched(key: Key) -> bool:
    """Whether an entry is a watcher's, and no crawl's."""
    return key.variant.rpartition("+")[2] == _VARIANT


def _watch_key(key: Key) -> Key:
    return replace(key, variant="+".join(filter(None, (key.variant, _VARIANT))))

"""What is kept of a file of an origin, its robots.txt above all, and under which key."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from scrapy_rep.protocol.access.knowledge import Copy, Knowledge, Step
from scrapy_rep.protocol.access.origin import ROBOTS_TXT_PATH, Origin


@dataclass(frozen=True, slots=True)
class Key(Origin):
    """An origin, as whom a file of it was fetched, and which: sites answer crawlers differently.

    It is an origin itself: a store that knows origins alone can use it as one. It equals no plain
    origin, and no key of another asker; its text is different from theirs too.

    Attributes:
        user_agent: the User-Agent header that was sent.
        variant: a digest of what else of the fetch changes the answer; empty if nothing does.
        path: the path of the file.
    """

    user_agent: str = ""
    variant: str = ""
    path: str = ROBOTS_TXT_PATH

    @classmethod
    def under(
        cls, origin: Origin, user_agent: str = "", variant: str = "", path: str = ROBOTS_TXT_PATH
    ) -> Key:
        """The key of a file of an origin for one asker."""
        return cls(origin.scheme, origin.host, origin.port, user_agent, variant, path)

    @classmethod
    def read(cls, fields: Sequence[object]) -> Key | None:
        """The key that `written` wrote; None for what it did not write.

        Raises:
            InvalidUri, TypeError, ValueError: these are no fields of a key.
        """
        uri, user_agent, variant, *rest = fields
        (path,) = rest or (ROBOTS_TXT_PATH,)
        origin = Origin.of(str(uri))
        if origin is None:
            return None
        return cls.under(origin, str(user_agent), str(variant), str(path))

    @property
    def written(self) -> list[str]:
        """The fields as stores write them: those of a robots.txt as ever, without its path."""
        path = [] if self.path == ROBOTS_TXT_PATH else [self.path]
        return [str(self.origin), self.user_agent, self.variant, *path]

    @property
    def origin(self) -> Origin:
        """The origin alone."""
        return Origin(self.scheme, self.host, self.port)

    @property
    def robots_txt_uri(self) -> str:
        """Where this origin's rules are."""
        return self.origin.robots_txt_uri

    @property
    def uri(self) -> str:
        """Where the file is."""
        return f"{self.origin}{self.path}"

    @property
    def file_name(self) -> str:
        """The name of the file: ``robots.txt``."""
        return self.path.rpartition("/")[2]

    @property
    def asker(self) -> str:
        """As whom the file was fetched, in words."""
        return " ".join(filter(None, (self.user_agent, self.variant and f"[{self.variant}]")))

    def __str__(self) -> str:
        """The origin, the path of another file than robots.txt, and the asker."""
        place = self.origin if self.path == ROBOTS_TXT_PATH else self.uri
        return f"{place} {self.asker}".rstrip()


def key_of(origin: Origin) -> Key:
    """An origin as a key: that of no asker in particular, where it is an origin alone."""
    return origin if isinstance(origin, Key) else Key.under(origin)


@dataclass(frozen=True, slots=True)
class Entry:
    """The last answer and the outage since, if any, of one origin.

    Attributes:
        origin: whose it is; a `Key` wherever crawls keep it.
        known: all that is known.
    """

    origin: Origin
    known: Knowledge

    @property
    def changed_at(self) -> float:
        """When the newest of it was learnt, POSIX seconds; 0 if nothing is known."""
        copy, outage = self.known.copy, self.known.outage
        return max(copy.confirmed_at if copy else 0.0, outage.failed_at if outage else 0.0)

    @property
    def fresh_until(self) -> float:
        """Until when nobody needs to ask, POSIX seconds; 0 if nothing is known."""
        copy, outage = self.known.copy, self.known.outage
        if outage is not None:
            return outage.retry_at
        return copy.fresh_until if copy else 0.0

    def shifted(self, seconds: float) -> Entry:
        """The same entry by a clock that is ahead by so many seconds."""
        copy, outage = self.known.copy, self.known.outage
        if copy is not None:
            copy = replace(
                copy,
                fetched_at=copy.fetched_at + seconds,
                confirmed_at=copy.confirmed_at + seconds,
                fresh_until=copy.fresh_until + seconds,
                steps=_shifted(copy.steps, seconds),
                confirmed_by=_shifted(copy.confirmed_by, seconds),
            )
        if outage is not None:
            outage = replace(
                outage,
                since=outage.since + seconds,
                failed_at=outage.failed_at + seconds,
                retry_at=outage.retry_at + seconds,
                steps=_shifted(outage.steps, seconds),
            )
        return Entry(self.origin, Knowledge(copy, outage))


def _shifted(steps: tuple[Step, ...], seconds: float) -> tuple[Step, ...]:
    return tuple(
        step if step.sent_at is None else replace(step, sent_at=step.sent_at + seconds)
        for step in steps
    )


def is_same_version(one: Copy, other: Copy) -> bool:
    """Whether two answers say the same: that there is this file, or that there is none."""
    return one.event == other.event and one.body == other.body


def confirmed(version: Copy, copy: Copy) -> Copy:
    """A version that a later answer says again: it is as old as it was, and holds longer."""
    return replace(copy, fetched_at=min(version.fetched_at, copy.fetched_at))


def as_of(versions: list[Copy], instant: float) -> Copy | None:
    """The version that was there at an instant; None if none is known of then.

    Args:
        versions: the newest first.
        instant: POSIX seconds.
    """
    return next((version for version in versions if version.fetched_at <= instant), None)

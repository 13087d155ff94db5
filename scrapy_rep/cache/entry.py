"""The entry of a fetched file, usually a robots.txt, and its key."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from scrapy_rep.protocol.access.knowledge import Copy, Knowledge
from scrapy_rep.protocol.access.origin import ROBOTS_TXT_PATH, Origin

# Memory without the texts, roughly.
_ENTRY_OCTETS = 800
_FIELD_OCTETS = 180  # of the answer's header
_STEP_OCTETS = 350  # with its URI among the hops


@dataclass(frozen=True, slots=True)
class Key(Origin):
    """An origin, the identity that fetched its file, and the path of the file.

    Sites answer crawlers differently. A key is an origin itself, so that a store of origins can use
    it. It does not equal a plain origin. Keys that differ have texts that differ.

    Attributes:
        user_agent: the User-Agent header that was sent.
        variant: a digest of all else in the fetch that may change the answer; may be empty.
        path: the path of the file, as in a URL.
    """

    user_agent: str = ""
    variant: str = ""
    path: str = ROBOTS_TXT_PATH

    @classmethod
    def under(
        cls, origin: Origin, user_agent: str = "", variant: str = "", path: str = ROBOTS_TXT_PATH
    ) -> Key:
        """The key of a file of an origin for one requester."""
        return cls(origin.scheme, origin.host, origin.port, user_agent, variant, path)

    @classmethod
    def read(cls, fields: Sequence[object]) -> Key | None:
        """The key that `written` wrote; None for other fields.

        Raises:
            InvalidUri, TypeError, ValueError: these are not fields of a key.
        """
        uri, user_agent, variant, path = map(str, fields)
        origin = Origin.of(uri)
        return None if origin is None else cls.under(origin, user_agent, variant, path)

    @property
    def written(self) -> list[str]:
        """The fields as stores write them."""
        return [str(self.origin), self.user_agent, self.variant, self.path]

    @property
    def origin(self) -> Origin:
        """The origin alone."""
        return Origin(self.scheme, self.host, self.port)

    @property
    def robots_txt_uri(self) -> str:
        """The URI of this origin's robots.txt."""
        return self.origin.robots_txt_uri

    @property
    def uri(self) -> str:
        """The URI of the file."""
        return f"{self.origin}{self.path}"

    @property
    def file_name(self) -> str:
        """The name of the file: ``robots.txt``."""
        return self.path.rpartition("/")[2]

    @property
    def requester(self) -> str:
        """The identity that fetched the file, in words."""
        return " ".join(filter(None, (self.user_agent, self.variant and f"[{self.variant}]")))

    def __str__(self) -> str:
        """The origin, the path of another file than robots.txt, and the requester.

        A bracket of the User-Agent is escaped, so that keys that differ have texts that differ.
        """
        place = str(self.origin) if self.path == ROBOTS_TXT_PATH else self.uri
        agent = self.user_agent.replace("%", "%25").replace("[", "%5B")
        return " ".join(filter(None, (place, agent, self.variant and f"[{self.variant}]")))


def key_of(origin: Origin) -> Key:
    """An origin as a key; a plain origin becomes a key without a requester."""
    return origin if isinstance(origin, Key) else Key.under(origin)


@dataclass(frozen=True, slots=True)
class Entry:
    """The last answer and the outage since, if any, of one origin.

    Attributes:
        origin: its key; a `Key` in crawls.
        known: the last answer, and the outage since.
    """

    origin: Origin
    known: Knowledge

    @property
    def changed_at(self) -> float:
        """When the entry last changed, POSIX seconds; 0 if nothing is known."""
        return self.known.changed_at

    @property
    def fresh_until(self) -> float:
        """Until when the entry is fresh, POSIX seconds; 0 if nothing is known."""
        copy, outage = self.known.copy, self.known.outage
        if outage is not None:
            return outage.retry_at
        return copy.fresh_until if copy else 0.0

    @property
    def octets(self) -> int:
        """The memory that it takes, roughly."""
        copy, outage = self.known.copy, self.known.outage
        octets, steps = _ENTRY_OCTETS, () if outage is None else outage.steps
        if copy is not None:
            octets += len(copy.body)
            octets += sum(_FIELD_OCTETS + len(name) + len(value) for name, value in copy.headers)
            steps = (*steps, *copy.steps, *copy.confirmed_by)
        return octets + sum(_STEP_OCTETS + 2 * len(one.uri) + len(one.location) for one in steps)


def is_same_version(one: Copy, other: Copy) -> bool:
    """Whether two answers have the same file, or both have no file."""
    return one.event == other.event and one.body == other.body


def as_of(versions: list[Copy], instant: float) -> Copy | None:
    """The version in force at `instant`, or None.

    Args:
        versions: the newest first.
        instant: POSIX seconds.
    """
    return next((version for version in versions if version.fetched_at <= instant), None)

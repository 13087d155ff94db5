"""Preferences about the use of content: values, statements, and their combination.

Silence and errors mean unknown: only a statement that permits gives a permission
(draft-ietf-aipref-vocab). All sources have the same rank: any statement that forbids decides.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import Enum

from scrapy_rep.protocol.fields.remarks import Remark, Remarks, Source, excerpt

from .categories import AI_INPUT, CATEGORIES, SEARCH, TDM, TRAIN_AI, USE, USES

_STATEMENTS_KEPT = 100


class Preference(Enum):
    """A site's preference; the value is that of Content-Usage."""

    ALLOWED = "y"
    DISALLOWED = "n"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement of one source about one category.

    Attributes:
        category: one of `CATEGORIES`; ``use`` if `REP_USE_LEVEL` finds no statement.
        preference: the preference; unknown if this statement does not count in this source.
        source: the source.
        text: the text of the source, at most 200 characters.
    """

    category: str
    preference: Preference
    source: Source
    text: str = ""

    def __str__(self) -> str:
        """In words: ``train-ai=n by Content-Usage, line 14 of https://...: train-ai=n``."""
        return f"{self.category}={self.preference.value} by {self.source}: {self.text}"


def statements_of(
    said: Mapping[str, Preference], source: Source, text: bytes | str
) -> tuple[Statement, ...]:
    """The statements of a source about some categories."""
    shown = excerpt(text)
    return tuple(Statement(category, one, source, shown) for category, one in said.items())


@dataclass(frozen=True, slots=True)
class UseLevel:
    """A statement of one source about how much of the content may be used (Content Signals).

    Attributes:
        level: immediate, reference or full.
        source: the source.
        text: the text of the source, at most 200 characters.
    """

    level: str
    source: Source
    text: str = ""

    @property
    def category(self) -> str:
        """The name of this statement in decisions."""
        return USE

    def __str__(self) -> str:
        """In words: ``use=reference by Content-Signal, line 2 of https://...: use=reference``."""
        return f"{USE}={self.level} by {self.source}: {self.text}"

    def covers(self, level: str) -> bool:
        """Whether as much may be used."""
        return USES.index(level) <= USES.index(self.level)


@dataclass(frozen=True, slots=True)
class Licence:
    """A licence of the content; it changes no preference.

    Attributes:
        uri: its URI.
        media_type: its type in lower case; empty if unknown.
        source: the source that names it.
    """

    uri: str
    media_type: str
    source: Source


def combined(statements: Iterable[Statement], category: str) -> Preference:
    """The preference of all statements: n if any says n, otherwise y if any says y."""
    said = {one.preference for one in statements if one.category == category}
    for preference in (Preference.DISALLOWED, Preference.ALLOWED):
        if preference in said:
            return preference
    return Preference.UNKNOWN


def first_of(statements: Iterable[Statement]) -> tuple[Statement, ...]:
    """The first statements, and at least one for each category and preference."""
    kept: list[Statement] = []
    said: set[tuple[str, Preference]] = set()
    for one in statements:
        key = one.category, one.preference
        if len(kept) < _STATEMENTS_KEPT or key not in said:
            said.add(key)
            kept.append(one)
    return tuple(kept)


def least_use(uses: Iterable[UseLevel | None]) -> UseLevel | None:
    """The smallest of some levels, or None."""
    return min(filter(None, uses), key=lambda one: USES.index(one.level), default=None)


def _preference(category: str) -> property:
    return property(
        lambda usage: usage.preference(category),
        doc=f"Whether the site permits {category}: ALLOWED, DISALLOWED or UNKNOWN.",
    )


@dataclass(frozen=True, slots=True)
class UsagePreferences:
    """The preferences of one page, or of a robots.txt for one URL, about the use of content.

    Attributes:
        statements: each with its source and text, in the order in which they were read.
        licences: those of the robots.txt and of the page, each once.
        tdm_policy: the URL of the policy of a TDM reservation, or empty.
        use_level: how much may be used (Content Signals); None if unknown.
        remarks: remarks on unusual text.
        robots_txt: the URI of the robots.txt that was read, or empty.
        fetched_at: when that file was fetched, POSIX seconds, or 0.
        digest: SHA-256 of its parseable octets, or empty.
        is_stale: whether robots.txt or ``tdmrep.json`` is an old copy because it is unreachable.
        is_complete: whether robots.txt, and ``tdmrep.json`` if `REP_TDMREP` is on, answered or had
            a copy. Otherwise a preference may be unknown only because it could not be read.
    """

    statements: tuple[Statement, ...] = ()
    licences: tuple[Licence, ...] = ()
    tdm_policy: str = ""
    use_level: UseLevel | None = None
    remarks: tuple[Remark, ...] = ()
    robots_txt: str = ""
    fetched_at: float = 0.0
    digest: str = ""
    is_stale: bool = False
    is_complete: bool = True

    train_ai = _preference(TRAIN_AI)
    search = _preference(SEARCH)
    ai_input = _preference(AI_INPUT)
    tdm = _preference(TDM)

    @property
    def use(self) -> str:
        """How much may be used: immediate, reference, full, or empty."""
        return "" if self.use_level is None else self.use_level.level

    def preference(self, category: str) -> Preference:
        """The preference of all statements about a category.

        Raises:
            ValueError: the category is unknown.
        """
        if category not in CATEGORIES:
            raise ValueError(f"{category!r} is not a category: they are {', '.join(CATEGORIES)}")
        return combined(self.statements, category)

    def decided_by(self, category: str) -> tuple[Statement, ...]:
        """The statements that decided about a category; empty if it is unknown."""
        decision = self.preference(category)
        return tuple(
            one
            for one in self.statements
            if one.category == category and one.preference is decision is not Preference.UNKNOWN
        )

    def to_dict(self) -> dict[str, str]:
        """The preferences by category, for items: ``y``, ``n`` or ``unknown``."""
        return {category: self.preference(category).value for category in CATEGORIES}

    def joined(self, other: UsagePreferences) -> UsagePreferences:
        """These preferences with those of another source; no statement is lost or outranked."""
        remarks = Remarks([*self.remarks])
        remarks.extend(other.remarks)
        return replace(
            self,
            statements=first_of((*self.statements, *other.statements)),
            licences=each_once((*self.licences, *other.licences)),
            tdm_policy=other.tdm_policy or self.tdm_policy,
            use_level=least_use((self.use_level, other.use_level)),
            remarks=tuple(remarks.kept),
        )


_LICENCES_KEPT = 100


def each_once(licences: Iterable[Licence]) -> tuple[Licence, ...]:
    """The licences, the first of equal URIs; no more are read after the first hundred."""
    kept: dict[str, Licence] = {}
    for one in licences:
        kept.setdefault(one.uri, one)
        if len(kept) == _LICENCES_KEPT:
            break
    return tuple(kept.values())

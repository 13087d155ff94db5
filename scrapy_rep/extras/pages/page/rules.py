"""The rules of one page, merged from its whole response.

Takes the lines of fields and the meta elements, gives `PageRules`. The rules for everyone and for
the crawler are merged. Each rule is kept once, in its most restrictive form, with the first source
of that form. So the memory of a page is bounded, whatever it contains. Linear in the input, up to
`PAGE_STEPS`: longer rules count as cut.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from scrapy_rep.extras.structured import (
    BareItem,
    Date,
    InnerList,
    Item,
    Member,
    member_list,
)
from scrapy_rep.protocol.fields.remarks import (
    Problem,
    Remark,
    Remarks,
    Source,
    excerpt,
    octets_of,
    text_of,
)
from scrapy_rep.protocol.tokens import Names, ProductTokens, names_of
from scrapy_rep.protocol.wildcards import OutOfWork, Work

from .directives import PAGE_STEPS, Directive, RuleLine, is_everyone
from .page_elements import Meta
from .rule_words import RULES, SPELLINGS, UNAVAILABLE_AFTER, VALUED, WORDS, Value, lowered

X_ROBOTS_TAG = "x-robots-tag"
ROBOTS_TAG = "robots-tag"
_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - in UTC
_FIRST_SECOND, _LAST_SECOND = -62_135_596_800, 253_402_300_799  # of the years 1 and 9999

Fields = Mapping[str, Sequence[bytes]]
"""The lines of fields, in order, by field name in lower case."""


@dataclass(frozen=True, slots=True)
class PageRule:
    """One rule of a page.

    Attributes:
        name: the word, such as ``noindex``.
        value: True; the number or the size that it sets; POSIX seconds of ``unavailable_after``.
        source: its first source.
        text: the text of the source, at most 200 characters.
    """

    name: str
    value: Value
    source: Source
    text: str = ""

    def __str__(self) -> str:
        """The rule in words: ``noindex by meta 1, line 14``."""
        value = "" if self.value is True else f": {self.value}"
        return f"{self.name}{value} by {self.source}"


def _flag(name: str) -> property:
    return property(lambda rules: name in rules, doc=f"Whether the page says {name}.")


def _value(name: str) -> property:
    return property(lambda rules: rules.value(name), doc=f"The {name}; None if there is none.")


@dataclass(frozen=True, slots=True)
class PageRules:
    """The rules of a page for one crawler.

    Attributes:
        rules: each rule once, in the order in which they were found.
        remarks: remarks on unusual text.
        now: when the page was read, POSIX seconds; None if it does not matter.
        is_cut: whether its rules are too long to be read to their end. Then a crawl obeys every
            rule that it knows, as if the page had said it.

    A property for each rule tells whether the page has it, or its value: `nofollow`,
    `max_snippet`, ...
    """

    rules: tuple[PageRule, ...] = ()
    remarks: tuple[Remark, ...] = ()
    now: float | None = None
    is_cut: bool = False

    def __contains__(self, name: object) -> bool:
        return any(rule.name == name for rule in self.rules)

    def rule(self, name: str) -> PageRule | None:
        """The rule with this name, or None.

        Raises:
            ValueError: the name is not a rule.
        """
        if name not in RULES:
            raise ValueError(f"{name!r} is not a rule of pages: they are {', '.join(RULES)}")
        return next((rule for rule in self.rules if rule.name == name), None)

    def value(self, name: str) -> Value | None:
        """The value of the rule with this name, or None."""
        rule = self.rule(name)
        return None if rule is None else rule.value

    def is_unavailable(self, now: float | None = None) -> bool:
        """Whether `unavailable_after` has passed, by default at the time of reading."""
        instant = self.now if now is None else now
        after = self.value(UNAVAILABLE_AFTER)
        return instant is not None and after is not None and float(after) < instant

    def says(self, name: str, now: float | None = None) -> PageRule | None:
        """The rule that has the effect of `name`: a page past its date counts as ``noindex``.

        So ``noindex`` may return a passed ``unavailable_after``; a date in the future is never
        returned.
        """
        if name in ("noindex", UNAVAILABLE_AFTER):
            passed = self.rule(UNAVAILABLE_AFTER) if self.is_unavailable(now) else None
            return passed if name == UNAVAILABLE_AFTER else self.rule(name) or passed
        return self.rule(name)

    def to_dict(self) -> dict[str, Value]:
        """The rules by name, for items: dates as ``2025-12-03T13:09:53Z``."""
        return {
            rule.name: _utc(int(rule.value)) if rule.name == UNAVAILABLE_AFTER else rule.value
            for rule in self.rules
        }

    noindex = property(
        lambda rules: rules.says("noindex") is not None,
        doc="Whether the page says noindex, or the date of its unavailable_after has passed.",
    )
    nofollow = _flag("nofollow")
    nosnippet = _flag("nosnippet")
    noarchive = _flag("noarchive")
    nocache = _flag("nocache")
    noimageindex = _flag("noimageindex")
    notranslate = _flag("notranslate")
    indexifembedded = _flag("indexifembedded")
    noai = _flag("noai")
    noimageai = _flag("noimageai")
    noml = _flag("noml")
    notrain = _flag("notrain")
    disallowaitraining = _flag("disallowaitraining")
    max_snippet = _value("max-snippet")
    max_image_preview = _value("max-image-preview")
    max_video_preview = _value("max-video-preview")
    unavailable_after = _value(UNAVAILABLE_AFTER)


_NO_FIELDS: Fields = {}


def page_rules_of(
    fields: Fields = _NO_FIELDS,
    metas: Sequence[Meta] = (),
    product_tokens: ProductTokens = (),
    *,
    only_head: bool = False,
    is_cut: bool = False,
    now: float | None = None,
) -> PageRules:
    """Read the rules of a response for a crawler.

    Args:
        fields: the lines of `X_ROBOTS_TAG` and `ROBOTS_TAG`.
        metas: the meta elements of a page, in order.
        product_tokens: all names of the crawler; rules for each of them count.
        only_head: whether elements outside of the head are ignored.
        is_cut: whether the body is truncated, so that elements may be missing.
        now: POSIX seconds.

    Raises:
        InvalidProductToken: no user-agent line could name one of the tokens.
    """
    tokens = product_tokens if isinstance(product_tokens, str) else tuple(product_tokens)
    names = names_of(tokens)
    page = _FoundRules(names)
    number, is_too_long = 0, False
    try:
        for line_number, line in enumerate(fields.get(X_ROBOTS_TAG, ()), start=1):
            page.line(Source("X-Robots-Tag", line_number), text_of(line))
        page.robots_tag(fields.get(ROBOTS_TAG, ()))
        for meta in metas:
            if meta.in_head or not only_head:
                number += page.meta(meta, number + 1)
    except OutOfWork:
        is_too_long = True
        page.remarks.add(Problem.TOO_LONG, Source("page"))
    if is_cut:
        page.remarks.add(Problem.CUT_BODY, Source("page"))
    return PageRules(tuple(page.found.values()), tuple(page.remarks.kept), now, is_too_long)


class _FoundRules:
    """The rules found so far, by name, and remarks on unusual text."""

    def __init__(self, names: Names) -> None:
        self._names = names
        self.found: dict[str, PageRule] = {}
        self.remarks = Remarks()
        self._work = Work(PAGE_STEPS)

    def _speaks_to_us(self, name: str) -> bool:
        """Whether a name applies to this crawler: everyone's, or as a user-agent line names it."""
        if is_everyone(name):
            return True
        return bool(self._names.tokens) and bool(self._names.ranks(octets_of(name)))

    def line(self, source: Source, text: str) -> None:
        """Read one line of X-Robots-Tag, or the content of one element."""
        for rule, value in self._reader(source).rules(text):
            self._take(rule, value, source, text)

    def _reader(self, source: Source) -> RuleLine:
        return RuleLine(self._speaks_to_us, source, self.remarks, self._work)

    def _take(self, name: str, value: Value, source: Source, text: str) -> None:
        """Keep a rule, unless the known one with its name is as restrictive."""
        known, valued = self.found.get(name), VALUED.get(name)
        is_stricter = known and valued and valued.rank(value) < valued.rank(known.value)
        if known is None or is_stricter:
            self.found[name] = PageRule(name, value, source, excerpt(text))

    def meta(self, meta: Meta, number: int) -> bool:
        """Read an element; return whether it is for this crawler."""
        subject = meta.subject
        if not subject or not self._speaks_to_us(subject):
            return False
        source = Source("meta", number, meta.line)
        if not meta.is_named:
            self.remarks.add(Problem.NO_NAME, source, meta.content or "")
        self.line(source, meta.content or "")
        return True

    def robots_tag(self, lines: Sequence[bytes]) -> None:
        """Read all lines of Robots-Tag as one List, otherwise each line like X-Robots-Tag."""
        value = b", ".join(filter(None, lines))
        members = member_list(value)
        if members is None or not all(map(_is_agent, members)):
            for number, line in enumerate(lines, start=1):
                source = Source("Robots-Tag", number)
                self.remarks.add(Problem.NO_LIST, source, line)
                self.line(source, text_of(line))
            return
        source, text = Source("Robots-Tag", int(len(lines) == 1)), text_of(value)
        for member in members:
            self._work.take(1)
            if self._names_us(member):
                for rule, found in self._parameters(member.parameters, source):
                    self._take(rule, found, source, text)

    def _names_us(self, member: Member) -> bool:
        items = member.items if isinstance(member, InnerList) else (member,)
        return any(self._speaks_to_us(str(item.value)) for item in items)

    def _parameters(
        self, parameters: Mapping[str, BareItem], source: Source
    ) -> Iterator[Directive]:
        """The rules among the parameters of an item."""
        line = self._reader(source)
        for name, value in parameters.items():
            if value is False:
                continue
            valued = SPELLINGS.get(name)
            if valued is None:
                yield from line.rules(name)
            elif valued == UNAVAILABLE_AFTER and isinstance(value, Date):
                yield UNAVAILABLE_AFTER, value.seconds
            else:
                yield from line.rules(f"{name}: {value!s}")


def _is_agent(member: Member) -> bool:
    """Whether a member of the List names crawlers, and is not a rule itself."""
    items: tuple[Item, ...] = member.items if isinstance(member, InnerList) else (member,)
    return all(
        isinstance(item.value, str)
        and lowered(item.value) not in WORDS
        and not item.value.endswith(":")
        for item in items
    )


def _utc(seconds: int) -> str:
    """An instant in ISO 8601; years beyond 9999 count as the last instant of it."""
    instant = _EPOCH + timedelta(seconds=min(max(seconds, _FIRST_SECOND), _LAST_SECOND))
    return f"{instant.isoformat()}Z"

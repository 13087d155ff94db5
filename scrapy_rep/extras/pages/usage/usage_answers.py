"""The usage preferences of one response, from all sources.

Takes the lines of its fields, its elements, its page rules, and the robots.txt's preferences for
its URL.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

from scrapy_rep.extras.pages.page.page_elements import Meta, PageLink
from scrapy_rep.extras.pages.page.rule_words import UNAVAILABLE_AFTER
from scrapy_rep.extras.pages.page.rules import Fields, PageRules
from scrapy_rep.protocol.fields.remarks import Problem, Remarks, Source, excerpt, text_of

from . import licences, tdmrep
from .categories import SEARCH, TRAIN_AI, USES
from .content_fields import content_signal, content_usage
from .preference import (
    Preference,
    Statement,
    UsagePreferences,
    UseLevel,
    each_once,
    first_of,
    least_use,
    statements_of,
)

CONTENT_USAGE = "content-usage"
CONTENT_SIGNAL = "content-signal"
LINK = "link"
USAGE_FIELDS = (CONTENT_USAGE, CONTENT_SIGNAL, tdmrep.RESERVATION, tdmrep.POLICY, LINK)
"""The fields that are read, in lower case."""

# The category that a page rule disallows. Google and Bing have their own meanings for nosnippet,
# noarchive and nocache, so these are missing here.
_BY_RULE = {
    "noai": TRAIN_AI,
    "noml": TRAIN_AI,
    "notrain": TRAIN_AI,
    "disallowaitraining": TRAIN_AI,
    "noindex": SEARCH,
    UNAVAILABLE_AFTER: SEARCH,
}
_BY_RULE_OF_IMAGES = {**_BY_RULE, "noimageai": TRAIN_AI}


def usage_of_answer(
    url: str,
    fields: Fields,
    rules: PageRules,
    robots_txt: UsagePreferences,
    *,
    metas: Sequence[Meta] = (),
    links: Sequence[PageLink] = (),
    base_url: str = "",
    is_image: bool = False,
    tdmrep_file: tdmrep.TdmFile | None = None,
) -> UsagePreferences:
    """The usage preferences of a response, from all sources.

    Args:
        url: its URL.
        fields: the lines of `USAGE_FIELDS`.
        rules: its page rules, for our crawler.
        robots_txt: the preferences in robots.txt for its URL.
        metas: the meta elements of a page, in order.
        links: the ``link`` elements of a page, in order.
        base_url: the base of relative references in the page.
        is_image: whether its content is an image.
        tdmrep_file: the ``tdmrep.json`` of its origin, or None.
    """
    remarks = Remarks()
    uses: list[UseLevel] = []
    statements = [
        *_of_usage(fields, remarks),
        *_of_signal(fields, uses, remarks),
        *_of_rules(rules, _BY_RULE_OF_IMAGES if is_image else _BY_RULE),
    ]
    base_url = base_url or url
    reservations = [
        None if tdmrep_file is None else tdmrep_file.reservation(url, remarks),
        tdmrep.of_field(
            fields.get(tdmrep.RESERVATION, ()),
            fields.get(tdmrep.POLICY, ()),
            url,
            remarks,
        ),
        tdmrep.of_metas(metas, base_url, remarks),
    ]
    present = [one for one in reservations if one is not None]
    policy = ""
    if present:
        statements += present[-1].statements()
        if present[-1].is_reserved:
            reserving = (one for one in reversed(present) if one.is_reserved)
            policy = next((one.policy for one in reserving if one.policy), "")
    named = chain(
        licences.of_fields(fields.get(LINK, ()), url),
        licences.of_elements(links, base_url),
    )
    own = UsagePreferences(
        statements=first_of(statements),
        licences=each_once(named),
        tdm_policy=policy,
        use_level=least_use(uses),
        remarks=tuple(remarks.kept),
    )
    return robots_txt.joined(own)


def _of_usage(fields: Fields, remarks: Remarks) -> list[Statement]:
    """The statements of Content-Usage: all lines form one Dictionary."""
    lines = fields.get(CONTENT_USAGE, ())
    if not lines:
        return []
    source = Source("Content-Usage")
    value = b", ".join(filter(None, (line.strip() for line in lines)))
    return [*statements_of(content_usage(value, source, remarks) or {}, source, value)]


def _of_signal(fields: Fields, uses: list[UseLevel], remarks: Remarks) -> list[Statement]:
    """The statements of Content-Signal; its levels are added to `uses`.

    Only restrictions count, because a large CDN adds yes by default.
    """
    statements = []
    for number, line in enumerate(fields.get(CONTENT_SIGNAL, ()), start=1):
        source = Source("Content-Signal", number)
        said = content_signal(text_of(line), source, remarks)
        if said.use and said.use != USES[-1]:
            uses.append(UseLevel(said.use, source, excerpt(line)))
        for category, preference in said.preferences.items():
            counts = preference is Preference.DISALLOWED
            heard = preference if counts else Preference.UNKNOWN
            statements.append(Statement(category, heard, source, excerpt(line)))
            if not counts:
                remarks.add(Problem.UNHEARD_PERMISSION, source, line)
    return statements


def _of_rules(rules: PageRules, categories: dict[str, str]) -> list[Statement]:
    """The statements of page rules."""
    said = []
    for name, category in categories.items():
        rule = rules.says(name)
        if rule is not None and rule.name == name:
            said.append(Statement(category, Preference.DISALLOWED, rule.source, rule.text))
    return said

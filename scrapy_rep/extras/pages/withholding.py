"""Drops requests and items of callbacks that pages or sites withhold, and marks items."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary, WeakSet

from scrapy import Request
from scrapy.http import Response

from scrapy_rep.decisions.decisions import Decisions
from scrapy_rep.extras.pages import page_stats as stats
from scrapy_rep.extras.pages.page.rule_words import REL_NOFOLLOW
from scrapy_rep.extras.pages.page.rules import PageRule, PageRules
from scrapy_rep.extras.pages.usage.categories import CATEGORIES, USE
from scrapy_rep.extras.pages.usage.preference import (
    Preference,
    Statement,
    UsagePreferences,
    UseLevel,
)
from scrapy_rep.protocol.fields.remarks import Source
from scrapy_rep.signals import DONT_OBEY_PAGE_RULES
from scrapy_rep.stats import Journal

from .page_html import has_unread_links, is_unreadable, origin_of_page, without_fragment
from .readings import page_rules, read_ahead, refused_links, usage_as_known

if TYPE_CHECKING:
    from scrapy_rep.crawl import Crawl

_NOFOLLOW = "nofollow"
_OF_REQUESTS = (_NOFOLLOW, REL_NOFOLLOW)

_UNREAD = Source("page, which cannot be read to its end")

Because = PageRule | Statement | UseLevel
"""The statement that decided to withhold something."""


class Withholding:
    """Decides about requests and items as the settings say, and marks items.

    It reads only the needed parts of a page: links only if a callback yields requests and
    `rel-nofollow` is obeyed, for example.
    """

    def __init__(self, crawl: Crawl) -> None:
        self._settings = settings = crawl.settings
        self._decisions = crawl.part(Decisions)
        self._journal = Journal(crawl.crawler, __name__)
        obeyed = settings.page_obey
        self._of_items = tuple(rule for rule in obeyed if rule not in _OF_REQUESTS)
        self._of_requests = frozenset(obeyed) & frozenset(_OF_REQUESTS)
        self._read_rules: WeakSet[Response] = WeakSet()
        self._usages: WeakKeyDictionary[Response, UsagePreferences] = WeakKeyDictionary()
        self._unannotated: set[type] = set()

    async def read_ahead(self, response: Response) -> None:
        """Read a large page in a thread, before its first request or item is decided."""
        await read_ahead(response, with_links=REL_NOFOLLOW in self._of_requests)

    def request(self, request: Request, response: Response) -> Request | None:
        """The request of a callback; None if the page forbids following it."""
        if not self._of_requests or not self._governs(response):
            return request
        because = self._against_request(request, response)
        if because is None:
            return request
        is_withheld = self._decisions.withheld(response, request, because, stats.PAGE_REQUESTS)
        return None if is_withheld else request

    def item(self, item: Any, response: Response) -> Any:
        """The item of a callback, marked if a setting says so; None if it is withheld."""
        because, stat = self._against_item(response)
        if because is not None and self._decisions.withheld(response, item, because, stat):
            return None
        if self._settings.item_field:
            self._annotate(item, response)
        return item

    def _governs(self, response: Response) -> bool:
        """Whether pages of this host are obeyed: not if `REP_OVERRIDES` ignores its robots.txt."""
        origin = origin_of_page(response)
        if origin is None:
            return True
        override = self._settings.overrides.match(origin, time.time())
        return override is None or not override.ignore

    def _against_request(self, request: Request, response: Response) -> Because | None:
        if request.meta.get(DONT_OBEY_PAGE_RULES):
            return None
        url = without_fragment(request.url)
        own = [response.url, *([response.request.url] if response.request is not None else [])]
        if url in map(without_fragment, own):  # a retry
            return None
        if _NOFOLLOW in self._of_requests:
            rule = self._rules(response).says(_NOFOLLOW) or _rule_if(
                is_unreadable(response), _NOFOLLOW
            )
            if rule is not None:
                return rule
        if REL_NOFOLLOW in self._of_requests:
            if url in refused_links(response):
                return PageRule(REL_NOFOLLOW, value=True, source=Source("link"), text=request.url)
            return _rule_if(has_unread_links(response), REL_NOFOLLOW)
        return None

    def _against_item(self, response: Response) -> tuple[Because | None, str]:
        settings = self._settings
        is_needed = self._of_items or settings.uses or settings.use_level
        if not is_needed or not self._governs(response):
            return None, ""
        if self._of_items:
            rules = self._rules(response)
            for name in self._of_items:
                rule = rules.says(name) or _rule_if(is_unreadable(response), name)
                if rule is not None:
                    return rule, stats.PAGE_ITEMS
        if settings.uses or settings.use_level:
            because = self._against_uses(self._usage(response), response)
            if because is not None:
                return because, stats.USAGE_ITEMS
        return None, ""

    def _against_uses(self, usage: UsagePreferences, response: Response) -> Because | None:
        for use in self._settings.uses:
            because = self._against_use(usage, use)
            if because is None and is_unreadable(response):
                because = Statement(use, Preference.UNKNOWN, _UNREAD)
            if because is not None:
                return because
        level = self._settings.use_level
        if not level:
            return None
        if usage.use_level is not None and not usage.use_level.covers(level):
            return usage.use_level
        return self._against_unknown(usage, USE, is_known=usage.use_level is not None)

    def _against_use(self, usage: UsagePreferences, use: str) -> Statement | None:
        preference = usage.preference(use)
        if preference is Preference.DISALLOWED:
            return usage.decided_by(use)[0]
        return self._against_unknown(usage, use, is_known=preference is Preference.ALLOWED)

    def _against_unknown(
        self, usage: UsagePreferences, use: str, *, is_known: bool
    ) -> Statement | None:
        if (is_known and usage.is_complete) or self._settings.uses_unknown == "keep":
            return None
        kind = "no statement" if usage.is_complete else "robots.txt, which could not be fetched"
        return Statement(use, Preference.UNKNOWN, Source(kind, uri=usage.robots_txt))

    def _rules(self, response: Response) -> PageRules:
        rules = page_rules(response)
        if response not in self._read_rules:
            self._read_rules.add(response)
            self._journal.count(stats.PAGE_READ)
            self._journal.count(stats.PAGE_REMARKS, len(rules.remarks))
            for rule in rules.rules:
                self._journal.count(stats.PAGE_RULE.format(rule.name))
        return rules

    def _usage(self, response: Response) -> UsagePreferences:
        usage = self._usages.get(response)
        if usage is None:
            usage = self._usages[response] = usage_as_known(response)
            for category in CATEGORIES:
                value = usage.preference(category).value
                self._journal.count(stats.USAGE.format(category, value))
        return usage

    def _annotate(self, item: Any, response: Response) -> None:
        # Imported here, because it imports pydantic if that is installed.
        from itemadapter import ItemAdapter

        if not ItemAdapter.is_item(item):
            return
        usage = self._usage(response)
        said = {
            "rules": self._rules(response).to_dict(),
            "usage": usage.to_dict(),
            "is_complete": usage.is_complete,
        }
        try:
            ItemAdapter(item)[self._settings.item_field] = said
        # The item has no such field, is frozen, or its class checks values (attrs, pydantic).
        except (KeyError, AttributeError, TypeError, ValueError):
            self._journal.count(stats.UNANNOTATED)
            kind = type(item)
            if kind not in self._unannotated:
                self._unannotated.add(kind)
                self._journal.error(
                    "REP_ITEM_FIELD = %r: items of %s do not have this field. Add it to the class",
                    self._settings.item_field,
                    kind.__qualname__,
                )


def _rule_if(is_unread: bool, name: str) -> PageRule | None:
    """A rule that the unread part of a page may have: a failure to read is not a permission."""
    return PageRule(name, value=True, source=_UNREAD) if is_unread else None

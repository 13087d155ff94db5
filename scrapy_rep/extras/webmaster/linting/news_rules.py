"""Rules that matter for a news service, such as Google News.

Such a service shows articles. It shows no search pages, forms or scripts, so rules for these change
nothing there. A group for its name that disallows pages says what it should not show, but its
author may forget single articles and paid content.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from scrapy_rep.extras.webmaster.outline import Line
from scrapy_rep.protocol.lines import Kind

_NO_ARTICLE = re.compile(
    r"""[?=&]|\.(?!s?html?\b)\w{2,5}[*$]*$
    |(?<![a-z])(?:
        ads?|admin|ajax|api|apps?|assets?|beta|cache|cgi|errors?|esi|feeds?|includes?|json|layout
        |media|misc|modules?|php|plugins?|rss|scripts?|services?|static|stats|tests?|themes?|tools?
        |tracking|wp|ws|xml
        |buscador|buscar|cerca|find|query|recherche|ricerca|search|suche|typeahead|zoeken
        |account|auth|compte|konto|log(?:in|out)|members?|profiles?|regist(?:er|ration)|sign(?:in|up)
        |sso|users?
        |basket|cart|checkout|orders?|(?:un)?subscri(?:be|ptions?)
        |comments?|contact|e?mail|embed|feedback|follow(?:ing)?|iframe|newsletters?|preview|print
        |share|webview|widgets?
    )(?![a-z])""",
    re.IGNORECASE | re.VERBOSE,
)
_PAID = re.compile(
    r"advertori|impact-feature|paid-?(?:content|post)|partner-?content|press-?release|prnewswire"
    r"|publireda|publireport|sponsor",
    re.IGNORECASE,
)
_DATE = re.compile(r"/(?:19|20)\d\d/\d\d?/")
_FEWEST_WORDS, _FEWEST_DIGITS = 6, 6  # at the end of an article's address


def rules_for_news(rules: Iterable[Line], own: Iterable[Line]) -> list[Line]:
    """The rules that matter for a news service with a group of its own.

    Args:
        rules: Disallow rules for ``*``.
        own: the rules of the group.
    """
    if any(line.kind is Kind.DISALLOW and line.value for line in own):
        return [one for one in rules if _is_article(one.pattern) or _PAID.search(one.pattern)]
    return [one for one in rules if not _NO_ARTICLE.search(one.pattern)]


def _is_article(pattern: str) -> bool:
    last = pattern.rstrip("/*$").rpartition("/")[2].partition(".")[0]
    has_words = len(last.replace("_", "-").split("-")) >= _FEWEST_WORDS
    end = last[-_FEWEST_DIGITS:]
    has_number = end.isdigit() and len(end) == _FEWEST_DIGITS
    return has_words or has_number or _DATE.search(pattern) is not None

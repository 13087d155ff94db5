"""The section of `check --page` on page rules: fields, elements, links, and what they mean.

What each agent is told is read as a crawl reads it; what this project would do about it follows
from `REP_PAGE_OBEY`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

from scrapy_rep.pages import page_html, readings
from scrapy_rep.protocol.fields.remarks import excerpt
from scrapy_rep.protocol.page.rule_words import REL_NOFOLLOW, UNAVAILABLE_AFTER, lowered
from scrapy_rep.settings import PageSettings

from .running import FOUND, OK, UNREACHABLE

if TYPE_CHECKING:
    from scrapy.http import Response

    from scrapy_rep.protocol.page.rules import PageRule, PageRules

    from .judging import Agent
    from .seen_page import SeenPage
    from .terminal import Terminal

MEANINGS = {
    "noindex": "not to be found in search",
    "nofollow": "its links are not to be followed",
    "nosnippet": "no excerpt of it is to be shown",
    "noarchive": "no copy of it is to be offered",
    "nocache": "no copy of it is to be offered",
    "noimageindex": "its images are not to be found in search",
    "notranslate": "no translation is to be offered",
    "indexifembedded": "may be found where another page embeds it, despite noindex",
    "noai": "not for training",
    "noimageai": "its images are not for training",
    "noml": "not for training",
    "notrain": "not for training",
    "disallowaitraining": "not for training",
    "max-snippet": "so many characters of it may be shown; -1 is no limit",
    "max-image-preview": "so large may previews of its images be",
    "max-video-preview": "so many seconds of its videos may be shown; -1 is no limit",
    UNAVAILABLE_AFTER: "from then on not to be found in search",
}
"""What each rule asks for, in words."""

_SHOWN = 20  # fields, elements and links; JSON has all
_SUBJECTS = frozenset(["robots", "x-robots-tag", "tdm-reservation", "tdm-policy"])


async def show(page: SeenPage, terminal: Terminal, is_json: bool) -> int:
    """Show them; FOUND if any agent is restricted."""
    response, settings = page.response, PageSettings.of(page.crawler.settings)
    refused = sorted(readings.refused_links(response, settings.link_rels))
    said = {
        agent.name: readings.page_rules(response, agent.tokens, meta=settings.page_meta)
        for agent in page.agents
    }
    notes = list(_notes(response, said.values()))
    if is_json:
        _show_json(page, said, refused, notes, terminal)
    else:
        _show_text(page, settings, said, refused, terminal)
        for note in notes:
            terminal.line(f"  {terminal.paint('note:', 'yellow')} {note}")
    if page_html.is_unreadable(response):
        return UNREACHABLE
    return FOUND if refused or any(rules.rules for rules in said.values()) else OK


def _fields(response: Response) -> Iterator[str]:
    """The lines of fields that speak of rules or use, as they were sent."""
    found = {**page_html.page_fields_of(response), **page_html.usage_fields_of(response)}
    for name, lines in found.items():
        for line in lines:
            yield f"{name}: {excerpt(line)}"


def _metas(response: Response, agents: Sequence[Agent]) -> Iterator[str]:
    """The meta elements that speak of rules or use, to everyone or to an agent."""
    tokens = {lowered(token) for agent in agents for token in agent.tokens}
    for meta in page_html.metas_of(response):
        subject = lowered(meta.subject)
        if subject in _SUBJECTS or subject in tokens:
            place = "" if meta.in_head else ", not in the head"
            yield f"line {meta.line}{place}: {excerpt(f'{meta.subject}: {meta.content}')}"


def _notes(response: Response, said: Any) -> Iterator[str]:
    if page_html.is_unreadable(response):
        yield "its elements cannot be read, so nobody knows what they say"
    elif not page_html.is_html(response):
        yield "it is no HTML page, so only its fields speak"
    yield from dict.fromkeys(str(remark) for rules in said for remark in rules.remarks)


def _value(rule: PageRule) -> str:
    if rule.value is True:
        return ""
    if rule.name != UNAVAILABLE_AFTER:
        return f": {rule.value}"
    try:
        return f": {datetime.fromtimestamp(float(rule.value), timezone.utc):%Y-%m-%d %H:%M:%S} UTC"
    except (OverflowError, OSError, ValueError):
        return f": {rule.value}"


def _show_text(
    page: SeenPage,
    settings: PageSettings,
    said: dict[str, PageRules],
    refused: list[str],
    terminal: Terminal,
) -> None:
    response = page.response
    _list("fields", list(_fields(response)), terminal)
    _list("elements", list(_metas(response, page.agents)), terminal)
    for name, rules in said.items():
        terminal.line(f"  for {name}: {'' if rules.rules else 'no rules'}".rstrip())
        for rule in rules.rules:
            word = terminal.paint(f"{rule.name}{_value(rule)}", "red")
            terminal.line(f"    {word} by {rule.source}: {MEANINGS[rule.name]}")
        for text in _consequences(rules, settings):
            terminal.line(f"    this project: {text}")
    relations = ", ".join(settings.link_rels)
    _list(
        f"links not to be followed (rel: {relations})", [excerpt(url) for url in refused], terminal
    )


def _list(title: str, lines: list[str], terminal: Terminal) -> None:
    terminal.line(f"  {title}: {len(lines) or 'none'}")
    for line in lines[:_SHOWN]:
        terminal.line(f"    {line}")
    if len(lines) > _SHOWN:
        terminal.line(f"    and {len(lines) - _SHOWN:,} more")


def _consequences(rules: PageRules, settings: PageSettings) -> Iterator[str]:
    """What `REP_PAGE_OBEY` makes of rules."""
    obeyed = [name for name in settings.page_obey if name != REL_NOFOLLOW and rules.says(name)]
    links = [name for name in obeyed if name == "nofollow"]
    items = [name for name in obeyed if name != "nofollow"]
    if links:
        yield "requests for its links are dropped (nofollow)"
    if items:
        yield f"its items are dropped ({', '.join(items)})"
    if rules.rules and not obeyed:
        yield "none of this is in REP_PAGE_OBEY, so nothing is dropped"


def _show_json(
    page: SeenPage,
    said: dict[str, PageRules],
    refused: list[str],
    notes: list[str],
    terminal: Terminal,
) -> None:
    for name, rules in said.items():
        row = {
            "page": page.response.url,
            "section": "rules",
            "agent": name,
            "rules": rules.to_dict(),
            "sources": {rule.name: [str(rule.source), rule.text] for rule in rules.rules},
            "fields": list(_fields(page.response)),
            "elements": list(_metas(page.response, page.agents)),
            "refused_links": refused,
            "notes": notes,
        }
        terminal.line(json.dumps(row))

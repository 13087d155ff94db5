"""``scrapy rep check --usage``: what content may be used for, by every statement of site and page.

robots.txt, tdmrep.json if `REP_TDMREP` is on, fields and elements: each statement with its text and
the place where it stands, and which of them decide.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from scrapy_rep.crawl import policy_for
from scrapy_rep.pages.readings import usage_of
from scrapy_rep.protocol.document import RobotsTxt
from scrapy_rep.protocol.usage.categories import CATEGORIES
from scrapy_rep.protocol.usage.preference import Preference, UsagePreferences
from scrapy_rep.settings import PageSettings

from .entries import when
from .running import FOUND, OK, UNREACHABLE

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from scrapy.settings import Settings

    from scrapy_rep.policy import Policy

    from .judging import Agent
    from .terminal import Terminal

_COLOURS = {
    Preference.ALLOWED: "green",
    Preference.DISALLOWED: "red",
    Preference.UNKNOWN: "yellow",
}


async def show(
    response: Response,
    agents: Sequence[Agent],
    crawler: Crawler,
    terminal: Terminal,
    *,
    is_json: bool,
) -> int:
    """Show what is said of the use of a page; the worst status of all agents."""
    policy = await policy_for(crawler, response.url)
    settings = PageSettings.of(crawler.settings)
    status = OK
    for agent in agents:
        usage = usage_of(
            response,
            policy,
            product_tokens=agent.tokens,
            usage_tokens=settings.usage_tokens,
        )
        told = tell(response.url, agent, usage, terminal, is_json=is_json)
        status = max(status, told)
    return status


def of_policy(policy: Policy, url: str, agent: Agent, settings: Settings) -> UsagePreferences:
    """What robots.txt alone says of a URL."""
    return policy.usage(url, agent.tokens, PageSettings.of(settings).usage_tokens)


def of_file(file: RobotsTxt, url: str, agent: Agent, settings: Settings) -> UsagePreferences:
    """What a file that the user names says of a URL."""
    return file.usage(url, agent.tokens, PageSettings.of(settings).usage_tokens)


def tell(
    url: str, agent: Agent, usage: UsagePreferences, terminal: Terminal, *, is_json: bool
) -> int:
    """Show preferences; UNREACHABLE if they are not complete, FOUND if any use is forbidden."""
    if is_json:
        terminal.line(json.dumps({"page": url, "agent": agent.name, **as_dict(usage)}))
    else:
        for line in _lines(agent, usage, terminal):
            terminal.line(line)
    if not usage.is_complete:
        return UNREACHABLE
    says_no = any(usage.preference(one) is Preference.DISALLOWED for one in CATEGORIES)
    return FOUND if says_no else OK


def as_dict(usage: UsagePreferences) -> dict[str, object]:
    """Preferences for programs."""
    return {
        "section": "usage",
        "preferences": usage.to_dict(),
        "statements": [
            {
                "category": one.category,
                "preference": one.preference.value,
                "source": str(one.source),
                "text": one.text,
                "decides": one in usage.decided_by(one.category),
            }
            for one in usage.statements
        ],
        "use": usage.use,
        "tdm_policy": usage.tdm_policy,
        "licences": [[one.uri, one.media_type, str(one.source)] for one in usage.licences],
        "robots_txt": usage.robots_txt,
        "fetched_at": usage.fetched_at,
        "digest": usage.digest,
        "is_stale": usage.is_stale,
        "is_complete": usage.is_complete,
        "notes": list(map(str, usage.remarks)),
    }


def _lines(agent: Agent, usage: UsagePreferences, terminal: Terminal) -> Iterator[str]:
    yield f"  for {agent.name}:"
    for category in CATEGORIES:
        preference = usage.preference(category)
        word = terminal.paint(preference.name.lower(), _COLOURS[preference])
        decisive = usage.decided_by(category)
        yield f"    {category}: {word}" + ("" if decisive else ": nothing is said that counts")
        for one in usage.statements:
            if one.category == category:
                mark = "decides:" if one in decisive else "also:"
                yield f"      {mark} {one}"
    if usage.use:
        yield f"    use: {usage.use}"
    if usage.tdm_policy:
        yield f"    policy of the reservation: {_safe(usage.tdm_policy)}"
    for licence in usage.licences:
        kind = f" ({licence.media_type})" if licence.media_type else ""
        yield f"    licence: {_safe(licence.uri)}{kind} by {licence.source}"
    yield from _file_lines(usage, terminal)
    for remark in usage.remarks:
        yield f"    {terminal.paint('note:', 'yellow')} {remark}"


def _file_lines(usage: UsagePreferences, terminal: Terminal) -> Iterator[str]:
    if usage.robots_txt and usage.fetched_at:
        digest = f", SHA-256 {usage.digest[:16]}..." if usage.digest else ""
        yield f"    {usage.robots_txt}: {when(usage.fetched_at)}{digest}"
    if usage.is_stale:
        yield f"    {terminal.paint('note:', 'yellow')} a stale copy was read"
    if not usage.is_complete:
        words = "not complete: a file of the site could not be asked, and may say more"
        yield f"    {terminal.paint('note:', 'yellow')} {words}"


def _safe(text: str) -> str:
    from scrapy_rep.protocol.verdict import shown

    return shown(text.encode("utf-8", "backslashreplace"))

"""``scrapy rep check --usage``: what the content of pages may be used for.

A page is fetched as a crawl would, if a crawl of this project may fetch it; otherwise the files of
its site speak alone. So they do with ``--robots`` and ``--cached``, which fetch no page.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from scrapy_rep.crawl import policy_for
from scrapy_rep.protocol.verdict import shown

from . import kept, page_usage
from .asking import in_engine
from .page_check import fetched
from .running import OK, UNREACHABLE, CommandError
from .sources import is_url, origin_of, read

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.settings import Settings

    from .judging import Agent
    from .terminal import Terminal


def run(
    options: argparse.Namespace, agents: Sequence[Agent], settings: Settings, terminal: Terminal
) -> int:
    """Show what is said of the use of all pages that the options name; the worst status."""
    if options.robots:
        return _by_file(options, agents, settings, terminal)
    for url in options.usage:
        origin_of(url)
    if options.cached:
        return _by_store(options, agents, settings, terminal)

    async def work(crawler: Crawler) -> int:
        status = OK
        for url in options.usage:
            told = await _of_page(url, agents, crawler, terminal, is_json=options.json)
            status = max(status, told)
        return status

    return in_engine(settings, work)


async def _of_page(
    url: str, agents: Sequence[Agent], crawler: Crawler, terminal: Terminal, *, is_json: bool
) -> int:
    """What is said of one page; without the page, what robots.txt says of its use."""
    try:
        response = await fetched(url, crawler)
    except CommandError as error:
        terminal.complain(f"scrapy rep check: {error}")
        policy = await policy_for(crawler, url)
        for agent in agents:
            usage = page_usage.of_policy(policy, url, agent, crawler.settings)
            page_usage.tell(url, agent, usage, terminal, is_json=is_json)
        return error.status
    if not is_json:
        title = shown(response.url.encode("utf-8", "backslashreplace"))
        terminal.line(terminal.paint(title, "bold"))
    return await page_usage.show(response, agents, crawler, terminal, is_json=is_json)


def _by_file(
    options: argparse.Namespace, agents: Sequence[Agent], settings: Settings, terminal: Terminal
) -> int:
    from scrapy_rep.protocol.document import parse

    for url in options.usage:
        if not is_url(url) and not url.startswith("/"):
            raise CommandError(f"{url!r}: give a URL, or a path that begins with /")
    source = read(options.robots, settings, is_refresh=options.refresh)
    robots_txt = parse(source.body, source.uri)
    status = OK
    for url in options.usage:
        for agent in agents:
            usage = page_usage.of_file(robots_txt, url, agent, settings)
            status = max(status, page_usage.tell(url, agent, usage, terminal, is_json=options.json))
    return status


def _by_store(
    options: argparse.Namespace, agents: Sequence[Agent], settings: Settings, terminal: Terminal
) -> int:
    origins = {url: origin_of(url) for url in options.usage}
    policies = kept.policies_of(settings, list(dict.fromkeys(origins.values())))
    status = OK
    for url, origin in origins.items():
        policy = policies[origin]
        if policy is None:
            terminal.complain(f"scrapy rep check: the store holds nothing usable of {origin}")
            status = UNREACHABLE
            continue
        for agent in agents:
            usage = page_usage.of_policy(policy, url, agent, settings)
            status = max(status, page_usage.tell(url, agent, usage, terminal, is_json=options.json))
    return status

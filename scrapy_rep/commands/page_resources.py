"""The section of `check --page` on what a page is drawn with: blocked CSS, JavaScript and images.

A search engine that draws pages sees a page without what it may not fetch.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING

from scrapy_rep.pages.page_html import is_html, is_unreadable
from scrapy_rep.pages.subresources import resources_of
from scrapy_rep.protocol.verdict import shown

from .judges import as_row, is_refused
from .running import FOUND, OK, UNREACHABLE
from .terminal import count_of

if TYPE_CHECKING:
    from scrapy_rep.pages.subresources import Resource

    from .judging import Judgement
    from .seen_page import SeenPage
    from .terminal import Terminal

_RESOURCES = 10_000
"""How many resources of a page are judged; hostile pages name millions."""


async def show(page: SeenPage, terminal: Terminal, is_json: bool) -> int:
    """Show which resources are blocked, and for whom."""
    found = list(islice(resources_of(page.response), _RESOURCES + 1))
    is_cut = len(found) > _RESOURCES
    blocked: Counter[str] = Counter({agent.name: 0 for agent in page.agents})
    before, status = page.judges.left_count, OK
    await page.judges.prepare((resource.url for resource in found[:_RESOURCES]), page.crawler)
    for resource in found[:_RESOURCES]:
        judge = await page.judges.of(resource.url, page.crawler)
        if judge is None:
            continue
        for agent in page.agents:
            judgement = judge.judge(resource.url, agent, explains=False)
            if not is_refused(judgement):
                continue
            blocked[agent.name] += 1
            status = max(status, UNREACHABLE if judgement.is_unreachable else FOUND)
            _show(page, resource, judgement, terminal, is_json=is_json)
    left = page.judges.left_count - before
    notes = list(_notes(page, left, is_cut=is_cut))
    kinds = Counter(resource.kind for resource in found[:_RESOURCES])
    if is_json:
        row = {
            "page": page.response.url,
            "section": "resources",
            "count": dict(kinds),
            "blocked": dict(blocked),
            "not_judged": left,
            "notes": notes,
        }
        terminal.line(json.dumps(row))
        return status
    _show_summary(kinds, blocked, terminal)
    for note in notes:
        terminal.line(f"  {terminal.paint('note:', 'yellow')} {note}")
    return status


def _show(
    page: SeenPage,
    resource: Resource,
    judgement: Judgement,
    terminal: Terminal,
    *,
    is_json: bool,
) -> None:
    if is_json:
        row = {
            "page": page.response.url,
            "section": "resources",
            "kind": resource.kind,
            "page_line": resource.line or None,
            **as_row(judgement),
        }
        terminal.line(json.dumps(row))
        return
    url = shown(resource.url.encode("utf-8", "backslashreplace"))
    terminal.line(f"  {resource.kind:<6}{url}")
    word = terminal.paint("disallowed", "red")
    terminal.line(f"        {word} for {judgement.agent.name}: {judgement.why}")


def _show_summary(kinds: Counter[str], blocked: Counter[str], terminal: Terminal) -> None:
    told = ", ".join(f"{count:,} {kind}" for kind, count in kinds.most_common())
    of_kinds = f" ({told})" if told else ""
    terminal.line(f"  resources: {kinds.total():,}{of_kinds}")
    for agent, count in blocked.items():
        terminal.line(f"  blocked for {agent}: {f'{count:,}' if count else 'none'}")


def _notes(page: SeenPage, left: int, *, is_cut: bool) -> Iterator[str]:
    if not is_html(page.response):
        yield "it is no HTML page, so nothing is known of its resources"
    elif is_unreadable(page.response):
        yield "its elements cannot be read, so nothing is known of its resources"
    if is_cut:
        yield f"only the first {_RESOURCES:,} resources are judged"
    if left:
        what = count_of(left, "resource")
        yield f"{what} of other sites, beyond the first {page.judges.limit}, are not judged"

"""``scrapy rep check --page``: what is said of a page, in sections.

A section is a function that takes a `SeenPage` and shows what it finds; its status is one of
`running`. To add one, write it in a file of its own and name it in `SECTIONS`.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING

from scrapy import Request
from scrapy.exceptions import IgnoreRequest

from scrapy_rep.crawl import policy_for
from scrapy_rep.exceptions import RobotsTxtDisallowed, RobotsTxtUnreachable
from scrapy_rep.meta import QUEUE
from scrapy_rep.middleware import RepMiddleware
from scrapy_rep.protocol.verdict import shown

from . import page_resources, page_rules
from .asking import in_engine
from .judges import Judges
from .running import FOUND, OK, UNREACHABLE, CommandError
from .seen_page import SeenPage
from .sources import origin_of

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from scrapy.settings import Settings

    from .judging import Agent
    from .terminal import Terminal

_ORIGINS = 32  # of what a page is drawn with; all are asked at once
_PAGE_OCTETS = 32 * 1024 * 1024


Section = Callable[[SeenPage, "Terminal", bool], Awaitable[int]]
"""Shows one part; the last argument is whether JSON is wanted."""

SECTIONS: tuple[Section, ...] = (page_rules.show, page_resources.show)


def run(
    urls: Sequence[str],
    robots: str,
    agents: Sequence[Agent],
    settings: Settings,
    terminal: Terminal,
    *,
    is_json: bool,
) -> int:
    """Fetch pages as a crawl would, and show all sections of each; the worst status of all."""
    for url in urls:
        origin_of(url)

    async def work(crawler: Crawler) -> int:
        judges = Judges(settings, robots, _ORIGINS)
        status = OK
        for url in urls:
            try:
                response = await fetched(url, crawler)
            except CommandError as error:
                terminal.complain(f"scrapy rep check: {error}")
                status = max(status, error.status)
                continue
            seen = SeenPage(response, agents, judges, crawler)
            if not is_json:
                terminal.line(terminal.paint(_text(response.url), "bold"))
            for section in SECTIONS:
                status = max(status, await section(seen, terminal, is_json))
        judges.tell_files(terminal, is_json=is_json)
        return status

    return in_engine(settings, work)


async def fetched(url: str, crawler: Crawler) -> Response:
    """The page at a URL, or where it redirects to.

    Raises:
        CommandError: there is none, or a crawl of this project may not fetch it.
    """
    engine = crawler.engine
    assert engine is not None  # noqa: S101 - this runs in it
    await _refuse_out_of_hours(url, crawler)
    meta = {"download_maxsize": _PAGE_OCTETS, QUEUE: True}
    try:
        response = await engine.download_async(Request(url, meta=meta))
    except RobotsTxtUnreachable as error:
        raise CommandError(f"{_text(url)}: {_text(str(error))}", UNREACHABLE) from error
    except RobotsTxtDisallowed as error:
        words = f"{_text(url)} is not fetched, as in a crawl of this project: {error.verdict}"
        raise CommandError(words, FOUND) from error
    except IgnoreRequest as error:
        raise CommandError(f"{_text(url)}: a middleware drops it: {error}", UNREACHABLE) from error
    except Exception as error:
        words = f"{_text(url)} cannot be fetched: {type(error).__name__}: {_text(str(error))}"
        raise CommandError(words, UNREACHABLE) from error
    if response.status >= 400:  # noqa: PLR2004 - client and server errors
        raise CommandError(f"{_text(url)} answers {response.status}", UNREACHABLE)
    return response


async def _refuse_out_of_hours(url: str, crawler: Crawler) -> None:
    """See that the site may be visited now: a crawl would wait, perhaps for hours.

    Raises:
        CommandError: it may not.
    """
    middleware = crawler.get_downloader_middleware(RepMiddleware)
    if middleware is None:
        return
    opens_at = middleware.pacing.opens_at(await policy_for(crawler, url))
    if opens_at > time.time():
        minutes = (opens_at - time.time()) / 60
        words = f"{_text(url)} is not fetched: its Visit-time begins in {minutes:.0f} minutes"
        raise CommandError(words, UNREACHABLE)


def _text(text: str) -> str:
    return shown(text.encode("utf-8", "backslashreplace"))

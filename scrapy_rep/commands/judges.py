"""Judges while the engine runs: one for each origin that comes up, up to a bound."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING

from scrapy_rep.crawl import policies_of
from scrapy_rep.engine.loops import as_they_come
from scrapy_rep.protocol.access.origin import Origin
from scrapy_rep.sitemaps.web_addresses import origin_of

from .judging import Judge, Judgement
from .sources import is_url, read
from .sources import origin_of as site_of

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.settings import Settings

    from .answers import Freshness
    from .terminal import Terminal


class Judges:
    """The judges of URLs: one file for all, or the policy of each origin.

    Attributes:
        only: the judge by the one file; None if there is a policy for each origin.
        limit: how many origins are asked for their robots.txt.
        left_count: how many URLs were not judged, being of more origins than that.
    """

    def __init__(self, settings: Settings, robots: str, limit: int) -> None:
        """Take the settings of the project, and the file that judges all URLs, if there is one.

        A page or a sitemap may name thousands of origins, and each may keep us waiting: `limit` is
        how many are asked.

        Raises:
            CommandError: that file cannot be read, or its URL is none.
        """
        self._settings = settings
        self._since = time.time()
        self.only: Judge | None = None
        self.limit = limit
        self.left_count = 0
        self._file_origin: Origin | None = None
        if robots and is_url(robots):
            self._file_origin = site_of(robots)
        elif robots:
            self.only = Judge.of_source(read(robots, settings), settings)
        self._by_origin: dict[Origin, Judge] = {}

    async def prepare(self, urls: Iterable[str], crawler: Crawler) -> None:
        """Fetch the files that judge some URLs, several at a time."""
        found = filter(None, map(origin_of, urls))
        origins = list(islice(dict.fromkeys(found), self.limit)) if self.only is None else []
        policies = policies_of(crawler, "check")
        async for _ in as_they_come(map(policies.get, origins), len(origins) or 1):
            pass

    async def of(self, url: str, crawler: Crawler) -> Judge | None:
        """The judge of a URL; None if it is not the web's, or of one origin too many."""
        origin = origin_of(url)
        if origin is None:
            return None
        if self.only is not None:
            return self.only
        origin = self._file_origin or origin
        judge = self._by_origin.get(origin)
        if judge is None:
            if len(self._by_origin) >= self.limit:
                self.left_count += 1
                return None
            policy = await policies_of(crawler, "check").get(origin)
            judge = Judge.of_policy(origin, policy, self._settings, asked_since=self._since)
            self._by_origin[origin] = judge
        return judge

    def files(self) -> Iterator[tuple[str, Freshness]]:
        """The files that judged, and how fresh they are, as far as sites were asked."""
        for origin, judge in self._by_origin.items():
            if judge.freshness is not None:
                yield origin.robots_txt_uri, judge.freshness

    def tell_files(self, terminal: Terminal, *, is_json: bool) -> None:
        """Say which files judged, and how fresh they are; for programs, as a row of its own."""
        files = list(self.files())
        if is_json and files:
            rows = [
                {
                    "robots_txt": uri,
                    "source": "store" if freshness.is_stored else "site",
                    "asked_at": freshness.asked_at,
                }
                for uri, freshness in files
            ]
            terminal.line(json.dumps({"files": rows}))
        for uri, freshness in () if is_json else files:
            more = "; --refresh fetches it now" if freshness.is_stored else ""
            terminal.complain(f"scrapy rep check: {uri}: {freshness}{more}")


def is_refused(judgement: Judgement) -> bool:
    """Whether a URL must not be fetched."""
    return judgement.verdict is None or not judgement.verdict.allowed


def as_row(judgement: Judgement) -> dict[str, object]:
    """A judgement for programs, in few words: the origin's file is told once, elsewhere."""
    verdict = judgement.verdict
    return {
        "url": judgement.url,
        "agent": judgement.agent.name,
        "allowed": None if verdict is None else verdict.allowed,
        "reason": "unknown" if verdict is None else verdict.reason.name.lower(),
        "group": (verdict.product_token if verdict is not None else "") or None,
        "rule": str(verdict.rule) if verdict is not None and verdict.rule else None,
        "line": verdict.line if verdict is not None else 0,
    }

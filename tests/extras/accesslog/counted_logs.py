"""Requests of crawlers over five days and three versions of a robots.txt, and a count of them.

The count is made of what was sent, not of what was logged, with the slow model of the protocol.
"""

from __future__ import annotations

import itertools
import math
import random
import time
from bisect import bisect_right, insort
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from tests.protocol import model

MINUTE, DAY = 60, 86_400
BEGIN = 1_790_812_800  # 2026-10-01
FILES = {
    "2026-10-01": b"User-agent: *\nDisallow: /private\nCrawl-delay: 5\n",
    "2026-10-03": (
        b"User-agent: GPTBot\nUser-agent: MJ12bot\nDisallow: /\nAllow: /open\n\n"
        b"User-agent: *\nDisallow: /*.pdf$\nDisallow: /a%20b/\nAllow: /private/x\n"
    ),
    "2026-10-04": b"User-agent: Googlebot\nDisallow:\n\nUser-agent: *\nDisallow: /p\n",
}
_BODIES = [*FILES.values()]
_STARTS = [BEGIN, BEGIN + 2 * DAY, BEGIN + 3 * DAY]
AGENTS = {
    "Googlebot": "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)",
    "GPTBot": "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; GPTBot/1.2)",
    "MJ12bot": "Mozilla/5.0 (compatible; MJ12bot/v1.4.8; http://mj12bot.com/)",
    "Applebot": (
        "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_5) AppleWebKit/605.1.15 (KHTML, like Gecko) "
        "Version/13.1.1 Safari/605.1.15 (Applebot/0.1; +http://www.apple.com/go/applebot)"
    ),
    "Quote": 'Quote/1.0 "\\" \\x22',
    "": "Mozilla/5.0 (X11; Linux x86_64; rv:130.0) Gecko/20100101 Firefox/130.0",
}
TARGETS = (
    *("/", "/open/1", "/private/1", "/private/x", "/x.pdf", "/x.pdf?y", "/a%20b/c", "/p", "//p"),
    *("/a/../private/2", "/%70rivate/3", "/caf%C3%A9", "http://localhost/private/4", '/"quoted"'),
)
_ANSWERS = {301: "redirected", 403: "refused", 429: "refused"}
_TOKENS = {"Applebot": ("applebot", "googlebot")}  # its operator documents that


@dataclass(frozen=True)
class Sent:
    """A request: its time, its crawler, target and status."""

    at: int
    name: str
    target: str
    status: int

    @property
    def logged_at(self) -> str:
        return time.strftime("%d/%b/%Y:%H:%M:%S +0000", time.gmtime(self.at))

    @property
    def line(self) -> str:
        """The line that nginx would log."""
        agent = AGENTS[self.name].replace("\\", "\\x5C").replace('"', "\\x22")
        target = self.target.replace('"', "\\x22")
        answer = f'"GET {target} HTTP/1.1" {self.status} 4'
        return f'192.0.2.1 - - [{self.logged_at}] {answer} "-" "{agent}"'


def sent(count: int, seed: int = 0) -> Iterator[Sent]:
    """Requests, nearly in the order of their times."""
    chance = random.Random(seed)
    names = [*AGENTS]
    for number in range(count):
        at = BEGIN - DAY // 2 + number * 5 * DAY // count - chance.randrange(4)
        is_fetch = chance.random() < 20 / count or chance.random() < 0.0005
        target = "/robots.txt" if is_fetch else chance.choice(TARGETS)
        statuses = (200, 200, 304, 404, 503) if is_fetch else (200, 200, 304, 301, 403, 404, 429)
        yield Sent(at, chance.choice(names), target, chance.choice(statuses))


@dataclass
class Count:
    """What the log should show of a crawler."""

    requests: int = 0
    robots_txt_fetches: int = 0
    against: int = 0
    redirected: int = 0
    refused: int = 0
    unjudged: int = 0
    visits: list[int] = field(default_factory=list)
    files: list[tuple[int, bool]] = field(default_factory=list)

    def row(self) -> dict[str, Any]:
        """The fields as in a row of the command."""
        times = sorted(self.visits)
        pairs = itertools.pairwise(times)
        told = {name: value for name, value in vars(self).items() if isinstance(value, int)}
        return told | {"smallest_gap_seconds": min((b - a for a, b in pairs), default=math.inf)}


def counts(requests: Iterator[Sent]) -> dict[str, dict[str, Any]]:
    """The rows of all crawlers, by name."""
    found: dict[str, Count] = defaultdict(Count)
    for one in requests:
        if not one.name:
            continue
        count = found[one.name]
        count.requests += 1
        if one.target == "/robots.txt":
            count.robots_txt_fetches += 1
            if one.status != 503:
                insort(count.files, (one.at, one.status == 404))
            continue
        count.visits.append(one.at)
        # It may have been sent in the minute before its line, and so may the fetches.
        known_at = one.at - MINUTE - DAY
        certain = [file for file in count.files if file[0] <= one.at - MINUTE][-1:]
        possible = [file for file in count.files if one.at - MINUTE < file[0] <= one.at]
        if any(has_none and at >= known_at for at, has_none in certain + possible):
            continue
        known_at = max([known_at, *(at - MINUTE for at, _ in certain)])
        first, last = (bisect_right(_STARTS, at) - 1 for at in (known_at, one.at))
        if first < 0:
            count.unjudged += 1
        elif not any(_allows(at, one.name, one.target) for at in range(first, last + 1)):
            word = _ANSWERS.get(one.status, "against")
            setattr(count, word, getattr(count, word) + 1)
    return {name: count.row() for name, count in found.items()}


@cache
def _allows(version: int, name: str, target: str) -> bool:
    path = target.removeprefix("http://localhost").encode()
    tokens = _TOKENS.get(name, (name.lower(),))
    named = [one for one in tokens if _names(_BODIES[version], one)]
    rules = model.rules_for(_BODIES[version], named[0] if named else "nothing-of-this-name")
    return model.allows(rules or [], path)


def _names(body: bytes, token: str) -> bool:
    return f"user-agent: {token}\n".encode() in body.lower()


def written_files(folder: Path) -> list[str]:
    """The options for the versions of the file."""
    found = []
    for date, body in FILES.items():
        (folder / f"{date}.txt").write_bytes(body)
        found += ["--robots", f"{date}T00:00={folder}/{date}.txt"]
    return found

"""What a project does in its own way, as public projects do: middlewares, items, feeds, queues.

Drawn after the rest of a project, which stays the same without them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from tests.ordinary.projects import Project

_STYLES = ("Old", "New", "OldAsync", "NewAsync")
_FEEDS = ("jsonlines", "json", "pickle", "csv", "marshal")
_QUEUES = ("PickleFifo", "PickleLifo", "MarshalFifo", "MarshalLifo")
_RETRIED_SECONDS = 0.05
"""The longest delay of a project with dead proxies, which often retries errors of pages, too."""
STOPS = "NewStops"
"""The middleware that ends its process with SIGTERM."""


class Use(NamedTuple):
    """How a middleware is used.

    Attributes:
        orders: its places among the middlewares.
        fits: whether Scrapy's own crawl of a project works with it.
        blocks: kinds of robots.txt that it may make impossible to fetch.
        styles: how its methods are written.
    """

    orders: tuple[int, ...]
    fits: Callable[[Project], bool] = lambda _: True
    blocks: tuple[str, ...] = ()
    styles: tuple[str, ...] = _STYLES


def _gives_account(project: Project) -> bool:
    others = {"rules", "sitemap", "feed", "login"}
    return project.spider not in others and project.pipeline == "none"


def _has_rules(project: Project, name: str) -> bool:
    return any(origin.robots.rules == name for origin in project.origins)


def _starts_with_pages(project: Project) -> bool:
    return project.spider != "sitemap" or project.sitemap != "robots.txt"


def _retries_fast(project: Project) -> bool:
    names = ("DOWNLOAD_DELAY", "AUTOTHROTTLE_MAX_DELAY")
    longest_seconds = max(project.settings.get(name, 0) for name in names)
    return longest_seconds <= _RETRIED_SECONDS and project.refusal is None


_EVERY = ("plain", "missing", "empty", "short", "late", "redirected", "slow", "paced")
USES = {
    "AddsQuery": Use(
        (60, 543), lambda one: _starts_with_pages(one) and not _has_rules(one, "wildcards")
    ),
    "AsksApi": Use((200, 543)),
    "NeedsAccount": Use((50, 543), _gives_account),
    "ReturnsTrue": Use((50, 543), _gives_account),
    "ReturnsText": Use((50, 543), _gives_account),
    "WantsStatus200": Use(
        (90, 543), lambda one: one.spider != "download", ("missing", "late", "redirected")
    ),
    "Ignores404": Use((90, 543), blocks=("missing",)),
    "IgnoresText": Use((50, 543), _starts_with_pages, _EVERY),
    "ShowsInBrowser": Use((543, 980), lambda one: one.spider != "login"),
    "DrawsUserAgent": Use((50, 543), lambda one: not _has_rules(one, "named")),
    "LogsInFirst": Use((90, 543), styles=("OldAsync", "NewAsync")),
    "PoolsProxies": Use((350, 543), _retries_fast),
}


@dataclass(frozen=True, kw_only=True)
class Habits:
    """What a project does in its own way; nothing by default.

    Attributes:
        middlewares: its downloader middlewares, each a style and a name, and their orders.
        item: how items hold the meta of their response: "dict", "deep copy" or "text".
        follow: how requests are made from a response: with its "meta" or with "replace".
        feed: the format of the feed, if items are exported.
        settings: more settings of Scrapy's.
    """

    middlewares: Mapping[str, int] = field(default_factory=dict)
    item: str = ""
    follow: str = ""
    feed: str = "jsonlines"
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def words(self) -> list[str]:
        """A word for each habit."""
        words = [f"{name} at {order}" for name, order in self.middlewares.items()]
        words += [f"items with meta ({self.item})"] if self.item else []
        return words + ([f"follows with {self.follow}"] if self.follow else [])

    def has(self, *names: str) -> bool:
        """Whether it has one of some middlewares, in whatever style."""
        return any(one.endswith(names) for one in self.middlewares)

    def culprits(self, robots: str) -> set[str]:
        """The middlewares that may make a kind of robots.txt impossible to fetch."""
        return {name for name, use in USES.items() if robots in use.blocks and self.has(name)}


def draw_habits(project: Project) -> Habits:
    """The habits of a project; three of five have a middleware of their own."""
    draw = Random(f"habits of {project.seed}")
    fitting = [name for name, use in USES.items() if use.fits(project)]
    names = draw.sample(fitting, draw.choice((0, 0, 1, 1, 2)))
    uses = [(name, USES[name]) for name in names]
    middlewares = {draw.choice(use.styles) + name: draw.choice(use.orders) for name, use in uses}
    if project.stops_after and draw.choice((True, False)):
        middlewares[STOPS] = 999
    # Marshal cannot write the texts of links, which are in the meta of a CrawlSpider's requests.
    is_plain = project.spider != "rules"
    feeds, queues = (_FEEDS, _QUEUES) if is_plain else (_FEEDS[:-1], _QUEUES[:2])
    settings: dict[str, Any] = {}
    if project.has_jobdir and draw.choice((True, False)):
        for name in ("SCHEDULER_DISK_QUEUE", "SCHEDULER_START_DISK_QUEUE"):
            settings[name] = f"scrapy.squeues.{draw.choice(queues)}DiskQueue"
    follow = draw.choice(("", "", "", "", "meta", "replace"))
    if "PoolsProxies" in names:  # up to three dead ones for a page, and as many for its redirect
        settings |= {"RETRY_ENABLED": True, "RETRY_TIMES": draw.randint(6, 8)}
        follow = ""  # it would inherit the count of retries
    return Habits(
        middlewares=middlewares,
        item=draw.choice(("", "", "", "", "dict", "deep copy", "text")),
        follow=follow,
        feed=draw.choice(feeds),
        settings=settings,
    )

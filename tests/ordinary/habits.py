"""What a project does in its own way, as public projects do: middlewares, items, feeds, queues.

Drawn after everything else of a project, which stays the same without them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from tests.ordinary.projects import Project

FEEDS = ("jsonlines", "json", "marshal", "pickle", "csv")
_STYLES = ("Old", "New", "OldAsync", "NewAsync")
_QUEUES = tuple(
    f"scrapy.squeues.{form}{order}DiskQueue"
    for form in ("Pickle", "Marshal")
    for order in ("Fifo", "Lifo")
)
_MOST_RETRIES_SECONDS = 0.1
"""The longest delay of a project with dead proxies, which retries errors of pages often, too."""


class Use(NamedTuple):
    """How a kind of middleware is used.

    Attributes:
        orders: its places among the middlewares.
        fits: whether Scrapy's own crawl of a project works with it.
        blocks: kinds of robots.txt that it may make impossible to fetch.
        styles: how its methods are written.
    """

    orders: tuple[int, ...]
    fits: Callable[[Project], bool] = lambda _: True
    blocks: frozenset[str] = frozenset()
    styles: tuple[str, ...] = _STYLES


def _gives_account(project: Project) -> bool:
    return (
        project.spider not in {"rules", "sitemap", "feed", "login"} and project.pipeline == "none"
    )


def _has_rules(project: Project, *names: str) -> bool:
    return any(origin.robots.rules in names for origin in project.origins)


def _starts_with_robots(project: Project) -> bool:
    return project.spider == "sitemap" and project.sitemap == "robots.txt"


def _retries_fast(project: Project) -> bool:
    names = ("DOWNLOAD_DELAY", "AUTOTHROTTLE_MAX_DELAY")
    is_fast = max(project.settings.get(name, 0) for name in names) <= _MOST_RETRIES_SECONDS
    return is_fast and project.refusal is None


_EVERY = frozenset({"plain", "missing", "empty", "short", "late", "redirected", "slow", "paced"})
USES: dict[str, Use] = {
    "AddsQuery": Use(
        (60, 543), lambda one: not (_starts_with_robots(one) or _has_rules(one, "wildcards"))
    ),
    "AsksApi": Use((200, 543)),
    "NeedsAccount": Use((50, 543), _gives_account),
    "ReturnsTrue": Use((50, 543), _gives_account),
    "ReturnsText": Use((50, 543), _gives_account),
    "WantsStatus200": Use(
        (90, 543),
        lambda one: one.spider != "download",
        frozenset({"missing", "late", "redirected"}),
    ),
    "Ignores404": Use((90, 543), blocks=frozenset({"missing"})),
    "IgnoresText": Use((50, 543), lambda one: not _starts_with_robots(one), _EVERY),
    "ShowsInBrowser": Use((543, 980), lambda one: one.spider != "login"),
    "DrawsUserAgent": Use((50, 543), lambda one: not _has_rules(one, "named")),
    "LogsInFirst": Use((90, 543), styles=("OldAsync", "NewAsync")),
    "PoolsProxies": Use((350, 543), _retries_fast),
}


class Middleware(NamedTuple):
    """A middleware of a project: the name in `USES`, the style of its methods, and its order."""

    kind: str
    style: str
    order: int


@dataclass(frozen=True, kw_only=True)
class Habits:
    """What a project does in its own way; nothing by default.

    Attributes:
        middlewares: its downloader middlewares.
        item: how items hold the meta of their response: "dict", "deep copy", "text" or not.
        follow: how requests are made from a response: with its "meta", with "replace" or anew.
        feed: the format of the feed, if items are exported.
        is_killed: whether SIGTERM stops it, and not an extension.
        settings: more settings of Scrapy's.
    """

    middlewares: tuple[Middleware, ...] = ()
    item: str = ""
    follow: str = ""
    feed: str = "jsonlines"
    is_killed: bool = False
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def words(self) -> list[str]:
        """A word for each habit."""
        words = [f"{one.style}{one.kind} at {one.order}" for one in self.middlewares]
        choices: dict[str, object] = {f"items with meta ({self.item})": self.item}
        choices[f"follows with {self.follow}"] = self.follow
        choices["SIGTERM"] = self.is_killed
        return [*words, *(word for word, is_on in choices.items() if is_on)]

    def culprits(self, robots: str) -> list[str]:
        """The middlewares that may make a kind of robots.txt impossible to fetch."""
        return [one.kind for one in self.middlewares if robots in USES[one.kind].blocks]


def draw_habits(project: Project) -> Habits:
    """The habits of a project; half of all projects have a middleware of their own."""
    draw = Random(f"habits of {project.seed}")
    fitting = [name for name, use in USES.items() if use.fits(project)]
    names = draw.sample(fitting, draw.choice((0, 0, 0, 1, 1, 2)))
    middlewares = tuple(
        Middleware(name, draw.choice(USES[name].styles), draw.choice(USES[name].orders))
        for name in names
    )
    item = draw.choice(("", "", "", "dict", "deep copy", "text"))
    follow = draw.choice(("", "", "", "", "meta", "replace"))
    settings: dict[str, Any] = {}
    if project.has_jobdir and draw.random() < 0.7:  # noqa: PLR2004
        settings["SCHEDULER_DISK_QUEUE"] = draw.choice(_QUEUES)
        settings["SCHEDULER_START_DISK_QUEUE"] = draw.choice(_QUEUES)
    if "PoolsProxies" in names:
        settings |= {"RETRY_ENABLED": True, "RETRY_TIMES": draw.randint(4, 8)}
    return Habits(
        middlewares=middlewares,
        item=item,
        follow=follow,
        feed=draw.choice(FEEDS),
        is_killed=project.stops_after > 0 and draw.choice((True, False)),
        settings=settings,
    )

"""Scrapy projects from seeds: a seed always gives the same project, and a project is plain data.

A project has origins with a robots.txt each, pages that form one tree for each origin, a spider and
settings. A page that is disallowed or answers with an error has no links. So each crawler that is
polite and patient fetches the same pages, in whatever order.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from random import Random
from typing import Any, Literal, NamedTuple

from tests.crawling import Loop
from tests.ordinary.habits import Habits, draw_habits

SpiderKind = Literal[
    "links",  # follows all links
    "rules",  # a CrawlSpider
    "sitemap",  # a SitemapSpider
    "feed",  # an XMLFeedSpider
    "slow start",  # pauses between its start requests
    "idle",  # gives most of its start requests to the engine when it is idle
    "download",  # its callbacks await some of the pages
    "login",  # sends a form first, and needs its cookie
    "attributes",  # its requests are a subclass with attributes
    "waits",  # its callbacks pause
    "all at once",  # has a start request for each page
]
RobotsKind = Literal[
    "plain",
    "missing",  # answers 404
    "empty",
    "short",  # is fresh for a second
    "late",  # answers 503 at first
    "redirected",  # to another path
    "slow",
    "paced",  # has a Crawl-delay
]
RulesName = Literal["folder", "wildcards", "named"]
PageKind = Literal["plain", "slow", "missing", "broken", "moved", "refusing"]
Pipeline = Literal["none", "files", "images"]
SitemapKind = Literal["file", "index", "robots.txt"]

SPIDERS: tuple[SpiderKind, ...] = (
    *("links", "rules", "sitemap", "feed", "slow start", "idle"),
    *("download", "login", "attributes", "waits", "all at once"),
)
_RESUMED = {"links", "rules", "feed", "attributes", "waits", "slow start", "all at once"}
"""Spiders that lose nothing if they are stopped and resumed."""
ROBOTS: tuple[RobotsKind, ...] = (
    *("plain", "missing", "empty", "short", "short", "late", "redirected", "slow", "paced"),
)
HOSTS = ("127.0.0.1", "localhost", "127.0.0.2", "127.0.3.1")
CRAWL_DELAY_SECONDS = 0.1
_LOOPS: tuple[Loop, ...] = ("asyncio", "select", "asyncio", "reactorless")
_LONGEST_SECONDS = 2.5
"""About how long the delays of a project last in total."""


class Rules(NamedTuple):
    """Rules, and paths that they allow and disallow; each path has a place for a number."""

    agent: str
    lines: tuple[str, ...]
    allowed: tuple[str, ...]
    disallowed: tuple[str, ...]


RULES: dict[RulesName, Rules] = {
    "folder": Rules("*", ("Disallow: /private/",), ("/page/{}", "/private{}"), ("/private/{}",)),
    "wildcards": Rules(
        "*",
        ("Disallow: /*.php$", "Disallow: /shop/", "Allow: /shop/open/", "Disallow: /*?sort="),
        ("/page/{}", "/shop/open/{}", "/{}.php/more", "/page/{}?view=1"),
        ("/{}.php", "/shop/{}", "/page/{}?sort=1"),
    ),
    "named": Rules("scrapy", ("Disallow: /private/",), ("/page/{}", "/{}"), ("/private/{}",)),
}
OTHER_GROUP = "User-agent: *\nDisallow: /\n\n"
"""Comes before a group that names the crawler."""


@dataclass(frozen=True, kw_only=True)
class RobotsTxt:
    """The robots.txt of an origin.

    Attributes:
        kind: how it is answered.
        rules: the name of its rules; they do not count if it is missing or empty.
        refusals: how often it answers 503 first.
        cache_control: the field of this name.
    """

    kind: RobotsKind
    rules: RulesName
    refusals: int = 0
    cache_control: str = ""

    @property
    def has_rules(self) -> bool:
        """Whether anything is disallowed."""
        return self.kind not in {"missing", "empty"}


@dataclass(frozen=True, kw_only=True)
class Origin:
    """A host, and which one of the project's ports."""

    host: str
    port: int
    robots: RobotsTxt


class Place(NamedTuple):
    """The number of an origin, and a path with its query."""

    origin: int
    path: str


@dataclass(frozen=True, kw_only=True)
class Refusal:
    """How a page refuses each request."""

    status: int
    retry_after: str = ""


@dataclass(frozen=True, kw_only=True)
class Page:
    """A page.

    Attributes:
        place: where it is.
        kind: how it answers.
        parent: the number of the page that links to it; None for a root.
        is_disallowed: by the robots.txt of its origin.
        target: where it redirects to.
        is_target_disallowed: the same for the target.
        files: the files that it shows, and whether each is disallowed.
    """

    place: Place
    kind: PageKind
    parent: int | None
    is_disallowed: bool = False
    target: Place | None = None
    is_target_disallowed: bool = False
    files: tuple[tuple[Place, bool], ...] = ()

    @property
    def places(self) -> set[Place | None]:
        """Its place, and those that it leads to by itself."""
        return {self.place, self.target, *(place for place, _ in self.files)}


@dataclass(frozen=True, kw_only=True)
class Project:
    """A project.

    Attributes:
        seed: gives the same project again.
        loop: what the crawl runs in.
        spider: what the spider does.
        sitemap: where a SitemapSpider begins.
        has_allowed_domains: whether the spider names its hosts.
        has_priorities: whether its requests have priorities.
        pipeline: what downloads the files of pages.
        has_feed: whether items are exported to a file.
        has_jobdir: whether requests are kept on disk.
        stops_after: after how many pages it is stopped and resumed; 0 if it is not.
        has_middleware: whether a middleware of its own pauses before each request.
        has_cache: whether answers are kept by Scrapy's HTTP cache.
        settings: Scrapy's other settings.
        origins: where the pages are.
        pages: the pages; each comes after its parent, and the first are the roots.
        refusal: how the page refuses, if there is such a page.
        habits: what it does in its own way.
    """

    seed: int
    loop: Loop
    spider: SpiderKind
    sitemap: SitemapKind
    has_allowed_domains: bool
    has_priorities: bool
    pipeline: Pipeline
    has_feed: bool
    has_jobdir: bool
    stops_after: int
    has_middleware: bool
    has_cache: bool
    settings: Mapping[str, Any]
    origins: tuple[Origin, ...]
    pages: tuple[Page, ...]
    refusal: Refusal | None
    habits: Habits = field(default_factory=Habits)

    @property
    def entries(self) -> list[Place]:
        """Where the spider begins: at the roots, or everywhere."""
        every = self.spider == "all at once"
        return [page.place for page in self.pages if every or page.parent is None]

    @property
    def disallowed(self) -> set[Place]:
        """All that no polite crawler fetches."""
        found = {page.place for page in self.pages if page.is_disallowed}
        for page in self.pages:
            if page.target is not None and page.is_target_disallowed:
                found.add(page.target)
            found |= {place for place, is_disallowed in page.files if is_disallowed}
        return found

    @property
    def refusing(self) -> set[Place]:
        """The page that refuses each request, if there is one."""
        return {page.place for page in self.pages if page.kind == "refusing"}

    def culprits(self, origin: int) -> set[str]:
        """The middlewares that may make the robots.txt of an origin impossible to fetch."""
        return self.habits.culprits(self.origins[origin].robots.kind)

    def may_lack(self, place: Place) -> bool:
        """Whether a crawl need not come to a place: a robots.txt on the way may be blocked."""
        origins = (
            {place.origin, 0} if self.spider in {"sitemap", "feed", "login"} else {place.origin}
        )
        page = next((one for one in self.pages if place in one.places), None)
        while page is not None:
            origins.add(page.place.origin)
            page = None if page.parent is None else self.pages[page.parent]
        return any(self.culprits(origin) for origin in origins)

    @property
    def allowed(self) -> set[Place]:
        """All pages and files that a polite crawler without a limit of depth fetches."""
        pages = [page for page in self.pages if not page.is_disallowed]
        found = {page.place for page in pages}
        found |= {page.target for page in pages if page.target is not None}
        if self.pipeline != "none":
            found |= {place for page in pages for place, _ in page.files}
        return found - self.disallowed


def describe(project: Project) -> str:
    """A project in a line."""
    origins = (f"{one.host}:{one.port} {one.robots.kind}" for one in project.origins)
    refusal = project.refusal
    choices = {
        f"sitemap {project.sitemap}": project.spider == "sitemap",
        "allowed_domains": project.has_allowed_domains,
        "priorities": project.has_priorities,
        project.pipeline: project.pipeline != "none",
        f"{project.habits.feed} feed": project.has_feed,
        "JOBDIR": project.has_jobdir,
        f"stops after {project.stops_after}": project.stops_after > 0,
        "middleware": project.has_middleware,
        "HTTP cache": project.has_cache,
        f"refuses {refusal and refusal.status} {refusal and refusal.retry_after}": bool(refusal),
    }
    words = [f"{project.spider} spider", project.loop, *origins, f"{len(project.pages)} pages"]
    words += [name for name, is_on in choices.items() if is_on] + project.habits.words
    words += [
        f"{name}={value}" for name, value in {**project.settings, **project.habits.settings}.items()
    ]
    return f"seed {project.seed}: {', '.join(words)}"


def draw_project(seed: int) -> Project:
    """The project of a seed."""
    project = draw_plain_project(seed)
    habits = draw_habits(project)
    return replace(project, habits=habits, has_feed=project.has_feed or habits.item != "")


def draw_plain_project(seed: int) -> Project:
    """The same without habits."""
    draw = Random(seed)
    spider = draw.choice(SPIDERS)
    settings = _settings(draw, spider)
    origins = _origins(draw)
    pipeline: Pipeline = draw.choice(("none",) * 5 + ("files", "files", "images"))
    if pipeline == "images" and find_spec("PIL") is None:
        pipeline = "files"
    refusal = _refusal(draw) if _happens(draw, 0.15) else None
    has_cache = _happens(draw, 0.12)
    has_jobdir = _happens(draw, 0.3)
    may_stop = has_jobdir and not has_cache and not refusal and pipeline == "none"
    stops_after = draw.randint(2, 8) if may_stop and spider in _RESUMED else 0
    return Project(
        seed=seed,
        loop=_LOOPS[seed % len(_LOOPS)],
        spider=spider,
        sitemap=_sitemap(draw, origins[0]),
        has_allowed_domains=_happens(draw, 0.3),
        has_priorities=_happens(draw, 0.2),
        pipeline=pipeline,
        has_feed=_happens(draw, 0.3),
        has_jobdir=has_jobdir,
        stops_after=stops_after,
        has_middleware=_happens(draw, 0.12),
        has_cache=has_cache,
        settings=settings,
        origins=origins,
        pages=_pages(draw, origins, settings, refusal, has_files=pipeline != "none"),
        refusal=refusal,
    )


def _happens(draw: Random, probability: float) -> bool:
    return draw.random() < probability


def _settings(draw: Random, spider: SpiderKind) -> dict[str, Any]:
    settings = _pace(draw)
    if _happens(draw, 0.2):
        settings |= {"AUTOTHROTTLE_ENABLED": True, "AUTOTHROTTLE_START_DELAY": 0.1}
        settings |= {"AUTOTHROTTLE_MAX_DELAY": 0.3}
        settings["AUTOTHROTTLE_TARGET_CONCURRENCY"] = draw.choice((1.0, 2.0))
    if _happens(draw, 0.2) and spider != "all at once":
        settings["DEPTH_LIMIT"] = draw.choice((1, 2, 3))
    if _happens(draw, 0.2):
        settings["DEPTH_PRIORITY"] = draw.choice((1, -1))
    if _happens(draw, 0.2):
        settings["SCHEDULER_DISK_QUEUE"] = "scrapy.squeues.PickleFifoDiskQueue"
        settings["SCHEDULER_MEMORY_QUEUE"] = "scrapy.squeues.FifoMemoryQueue"
    if _happens(draw, 0.15):
        queues = ("ScrapyPriorityQueue", "DownloaderAwarePriorityQueue")
        settings["SCHEDULER_PRIORITY_QUEUE"] = f"scrapy.pqueues.{draw.choice(queues)}"
    if _happens(draw, 0.2) and spider != "login":
        settings["COOKIES_ENABLED"] = False
    if _happens(draw, 0.3):
        settings |= draw.choice(({"RETRY_ENABLED": False}, {"RETRY_TIMES": 1}, {"RETRY_TIMES": 0}))
    return settings


def _pace(draw: Random) -> dict[str, Any]:
    """How fast a project crawls: as a new one, which has a longer delay, or otherwise."""
    style = draw.choice(("template", "template", "defaults", "drawn", "drawn"))
    if style == "template":
        delay_seconds = draw.choice((0.05, 0.1, 0.2, 0.3))
        return {"CONCURRENT_REQUESTS_PER_DOMAIN": 1, "DOWNLOAD_DELAY": delay_seconds}
    if style == "defaults":
        return {}
    settings: dict[str, Any] = {"CONCURRENT_REQUESTS": draw.choice((1, 2, 3, 4, 8, 16))}
    settings["CONCURRENT_REQUESTS_PER_DOMAIN"] = draw.choice((1, 2, 4, 8))
    settings["DOWNLOAD_DELAY"] = draw.choice((0, 0, 0.05, 0.1, 0.15))
    settings["RANDOMIZE_DOWNLOAD_DELAY"] = draw.choice((True, False))
    if _happens(draw, 0.2):
        slot = {"concurrency": draw.choice((1, 2)), "delay": draw.choice((0.05, 0.1))}
        settings["DOWNLOAD_SLOTS"] = {draw.choice(HOSTS): slot}
    return settings


def _origins(draw: Random) -> tuple[Origin, ...]:
    count = draw.choice((1, 1, 2, 2, 3, 4))
    every = [(host, port) for host in HOSTS for port in range(2)]
    return tuple(
        Origin(host=host, port=port, robots=_robots(draw))
        for host, port in draw.sample(every, count)
    )


def _robots(draw: Random) -> RobotsTxt:
    kind = draw.choice(ROBOTS)
    rules: RulesName = draw.choice(tuple(RULES))
    if kind == "late":
        return RobotsTxt(kind=kind, rules=rules, refusals=draw.choice((1, 2)))
    if kind == "short":
        cache_control = draw.choice(("max-age=1", "max-age=1", "no-store"))
        return RobotsTxt(kind=kind, rules=rules, cache_control=cache_control)
    return RobotsTxt(kind=kind, rules=rules)


def _refusal(draw: Random) -> Refusal:
    return Refusal(status=draw.choice((503, 429)), retry_after=draw.choice(("", "1")))


def _sitemap(draw: Random, origin: Origin) -> SitemapKind:
    kinds: list[SitemapKind] = ["file", "index"]
    if origin.robots.kind in {"plain", "short", "slow"}:
        kinds.append("robots.txt")
    return draw.choice(kinds)


def _pages(
    draw: Random,
    origins: tuple[Origin, ...],
    settings: Mapping[str, Any],
    refusal: Refusal | None,
    *,
    has_files: bool,
) -> tuple[Page, ...]:
    delays = [settings.get("DOWNLOAD_DELAY", 0), settings.get("AUTOTHROTTLE_MAX_DELAY", 0)]
    delays += [CRAWL_DELAY_SECONDS for origin in origins if origin.robots.kind == "paced"]
    most = min(40, int(_LONGEST_SECONDS / (max(delays) or 0.01)))
    pages = [_page(Place(number, "/"), "plain", None) for number in range(len(origins))]
    parents = list(range(len(origins)))
    for number in range(len(origins), max(draw.randint(most // 2, most), len(origins) + 4)):
        page = _child(draw, origins, number, draw.choice(parents), has_files=has_files)
        if page.kind in {"plain", "slow"} and not page.is_disallowed:
            parents.append(number)
        pages.append(page)
    if refusal is not None:
        origin = draw.randrange(len(origins))
        page = _page(Place(origin, "/busy"), "refusing", draw.choice(parents))
        pages.insert(draw.randint(max(parents) + 1, len(pages)), page)
    return tuple(pages)


def _page(place: Place, kind: PageKind, parent: int | None) -> Page:
    return Page(place=place, kind=kind, parent=parent)


def _child(
    draw: Random, origins: tuple[Origin, ...], number: int, parent: int, *, has_files: bool
) -> Page:
    place, is_disallowed = _place(draw, origins, str(number))
    kinds: tuple[PageKind, ...] = ("plain",) * 9 + ("slow", "missing", "broken", "moved", "moved")
    kind = "plain" if is_disallowed else draw.choice(kinds)
    target, is_target_disallowed = None, False
    if kind == "moved":
        target, is_target_disallowed = _place(draw, origins, f"{number}-new")
    files = []
    if has_files and kind == "plain" and not is_disallowed and _happens(draw, 0.4):
        names = [f"{number}-file-{index}" for index in range(draw.choice((1, 2)))]
        files = [_place(draw, origins, name) for name in names]
    return Page(
        place=place,
        kind=kind,
        parent=parent,
        is_disallowed=is_disallowed,
        target=target,
        is_target_disallowed=is_target_disallowed,
        files=tuple(files),
    )


def _place(draw: Random, origins: tuple[Origin, ...], name: str) -> tuple[Place, bool]:
    """A place for something new, and whether it is disallowed."""
    number = draw.randrange(len(origins))
    rules = RULES[origins[number].robots.rules]
    is_matched = _happens(draw, 0.25)
    path = draw.choice(rules.disallowed if is_matched else rules.allowed).format(name)
    return Place(number, path), is_matched and origins[number].robots.has_rules

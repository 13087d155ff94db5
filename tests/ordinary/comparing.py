"""Crawls a project twice, and finds where the two crawls differ in a way that they may not."""

from __future__ import annotations

import json
import re
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, get_args

from tests.crawling import Crawl, crawl
from tests.ordinary.habits import STOPS
from tests.ordinary.projects import CRAWL_DELAY_SECONDS, Place, Project
from tests.ordinary.sites import (
    API_HOST,
    FEED,
    LOGIN,
    MOVED_ROBOTS,
    SITEMAP,
    SITEMAP_INDEX,
    Seen,
    Sites,
)
from tests.ordinary.spiders import SPIDERS

Kind = Literal["hung", "lost", "fetched too much", "too soon", "slow", "other", "wrong test"]
KINDS: tuple[Kind, ...] = get_args(Kind)
STOCK: dict[str, Any] = {"ROBOTSTXT_OBEY": True}
OURS: dict[str, Any] = {
    "ROBOTSTXT_OBEY": True,
    "ADDONS": {"scrapy_rep.Addon": 500},
    "REP_STORE": "memory",
    "REP_CACHE_MIN_SECONDS": 1,
    "REP_QUICK_RETRY_SECONDS": [0.2, 0.5],
    "REP_UNREACHABLE_HOLD_SECONDS": 1,
}
_MOST_TIMES = 3
_MOST_BLOCKED_TIMES = 6
"""Three quick tries, and each again with the meta of a page."""
_NOISE_SECONDS = 8.0
_FIRST_REST_SECONDS = 2.0
_TOLERANCE_SECONDS = 0.02
_GRACE_SECONDS = 60.0
"""After it, a crawl that is too slow counts as hung."""
_STOCK_LIMIT_SECONDS = 180.0


class Killed(NamedTuple):
    """A process that did not end."""

    seconds: float
    log: str


class Finding(NamedTuple):
    """The kind of failure; `wrong test` if Scrapy's own crawl was wrong."""

    kind: Kind
    words: str


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """A crawl of a project, in one process, or in two if it is stopped and resumed.

    Attributes:
        crawl: what its last process reports; None if it was killed.
        seconds: how long it took, without the start of its processes.
        fetched: how often each page and file was requested, without robots.txt.
        robots: how often each robots.txt was requested, by its origin.
        seen: all requests, in the order of arrival.
        items: the items, as text, without those of disallowed pages.
        missing_files: files that items name, and that are not on disk.
        not_exported: how many items are not in the feed.
        not_kept: how many requests could not be kept on disk.
        log: the log of the crawl.
    """

    crawl: Crawl | None
    seconds: float
    fetched: Counter[Place]
    robots: Counter[int]
    seen: list[Seen]
    items: Counter[str]
    missing_files: list[str]
    not_exported: int
    not_kept: int
    log: str


class Examination(NamedTuple):
    """Both crawls of a project, and the failures."""

    findings: list[Finding]
    stock: Outcome
    ours: Outcome | None


def examine(
    project: Project, middleware: Mapping[str, Any] = MappingProxyType(OURS)
) -> Examination:
    """Crawl a project with Scrapy's own middleware, then with ours, or with other settings."""
    with Sites(project) as sites:
        stock = _run(project, sites, STOCK, _STOCK_LIMIT_SECONDS)
        findings = list(_wrong_with_stock(project, stock))
        if findings:
            return Examination(findings, stock, None)
        most_seconds = _most_seconds(project, stock)
        ours = _run(project, sites, middleware, most_seconds + _GRACE_SECONDS)
    return Examination(list(_wrong(project, stock, ours, most_seconds)), stock, ours)


def _most_seconds(project: Project, stock: Outcome) -> float:
    """How long our crawl may take."""
    seconds = _MOST_TIMES * stock.seconds + _NOISE_SECONDS
    if any(origin.robots.kind == "paced" for origin in project.origins):
        seconds += sum(stock.fetched.values()) * CRAWL_DELAY_SECONDS
    if project.refusal is not None:
        tries = 1 + _retry_times(project)
        seconds += _FIRST_REST_SECONDS * (2**tries - 1)  # each rest is twice as long
    return seconds


def _retry_times(project: Project) -> int:
    settings = {**project.settings, **project.habits.settings}
    return int(settings.get("RETRY_TIMES", 2)) if settings.get("RETRY_ENABLED", True) else 0


def _run(
    project: Project, sites: Sites, middleware: Mapping[str, Any], limit_seconds: float
) -> Outcome:
    sites.forget()
    with tempfile.TemporaryDirectory(prefix="ordinary-") as name:
        folder = Path(name)
        ended: list[Crawl | Killed] = []
        settings = {**_settings(project, sites, folder), **middleware}
        for more in [*_stops(project), {}]:
            ended.append(_crawl(project, sites, {**settings, **more}, limit_seconds))
            if isinstance(ended[-1], Killed):
                break
        return _outcome(sites, folder, ended)


def _stops(project: Project) -> list[dict[str, Any]]:
    """The settings that end the first process of a crawl early, if there are two."""
    name = "ORDINARY_STOPS_AFTER" if project.habits.has(STOPS) else "CLOSESPIDER_PAGECOUNT"
    return [{name: project.stops_after}] if project.stops_after else []


def _crawl(
    project: Project, sites: Sites, settings: Mapping[str, Any], limit_seconds: float
) -> Crawl | Killed:
    try:
        return crawl(
            f"tests.ordinary.spiders:{SPIDERS[project.spider].__name__}",
            loop=project.loop,
            settings=settings,
            timeout_seconds=limit_seconds,
            **_arguments(project, sites),
        )
    except AssertionError as error:
        return Killed(limit_seconds, str(error))


def _settings(project: Project, sites: Sites, folder: Path) -> dict[str, Any]:
    habits = project.habits
    settings = {**project.settings, **habits.settings, "ORDINARY_ADDRESSES": sites.addresses}
    settings["DOWNLOADER_MIDDLEWARES"] = {
        f"tests.ordinary.middlewares.{name}": order for name, order in habits.middlewares.items()
    }
    if project.pipeline != "none":
        name = project.pipeline.capitalize()
        settings["ITEM_PIPELINES"] = {f"scrapy.pipelines.{project.pipeline}.{name}Pipeline": 1}
        settings[f"{project.pipeline.upper()}_STORE"] = str(folder / "files")
    if project.has_feed:
        settings["FEEDS"] = {str(folder / "feed"): {"format": habits.feed}}
    if project.has_jobdir:
        settings["JOBDIR"] = str(folder / "job")
    if project.has_middleware:
        settings["DOWNLOADER_MIDDLEWARES"]["tests.ordinary.spiders.PausingMiddleware"] = 543
    if project.has_cache:
        settings |= {"HTTPCACHE_ENABLED": True, "HTTPCACHE_DIR": str(folder / "cache")}
    return settings


def _arguments(project: Project, sites: Sites) -> dict[str, Any]:
    homes = {"feed": FEED, "login": LOGIN}
    sitemaps = {"file": SITEMAP, "index": SITEMAP_INDEX, "robots.txt": "/robots.txt"}
    home = homes.get(project.spider, sitemaps[project.sitemap])
    hosts = sorted({*(origin.host for origin in project.origins), API_HOST})
    return {
        "entries": [sites.url(place) for place in project.entries],
        "home": sites.url(Place(0, home)),
        "allowed_domains": hosts if project.has_allowed_domains else [],
        "file_field": {"none": "", "files": "file_urls", "images": "image_urls"}[project.pipeline],
        "has_priorities": project.has_priorities,
        "item_habit": project.habits.item,
        "follow_habit": project.habits.follow,
    }


def _outcome(sites: Sites, folder: Path, ended: Sequence[Crawl | Killed]) -> Outcome:
    """The results of all processes of a crawl."""
    last, log = ended[-1], "\n".join(one.log for one in ended)
    whole = [one for one in ended if isinstance(one, Crawl)]
    visits = sorted(sites.seen(), key=lambda one: one.at)
    seen = [one.place for one in visits]
    items = [item for one in whole for item in one.items]
    stored = [file["path"] for item in items for file in _files(item)]
    texts = [_as_text(sites, item) for item in items]
    return Outcome(
        crawl=last if isinstance(last, Crawl) else None,
        seconds=sum(_seconds(one) for one in ended),
        fetched=Counter(place for place in seen if not _is_robots(place)),
        robots=Counter(place.origin for place in seen if place.path == "/robots.txt"),
        seen=visits,
        items=Counter(text for text in texts if text),
        missing_files=[path for path in stored if not (folder / "files" / path).exists()],
        not_exported=len(items) - _exported(log) if sites.project.has_feed else 0,
        not_kept=sum(one.stats.get("scheduler/unserializable", 0) for one in whole),
        log=log,
    )


def _seconds(ended: Crawl | Killed) -> float:
    if isinstance(ended, Killed):
        return ended.seconds
    return float(ended.stats.get("elapsed_time_seconds", 0.0))


def _exported(log: str) -> int:
    """How many items are in the feeds of all processes of a crawl."""
    return sum(int(count) for count in re.findall(r"Stored \w+ feed \((\d+) items\)", log))


def _is_robots(place: Place) -> bool:
    return place.path in {"/robots.txt", MOVED_ROBOTS}


def _files(item: Mapping[str, Any]) -> list[dict[str, Any]]:
    return list(item.get("files") or item.get("images") or [])


def _as_text(sites: Sites, item: Mapping[str, Any]) -> str:
    """The part of an item that both crawls share; empty for the item of a disallowed page."""
    project = sites.project
    place = sites.place(item["url"])
    if place in project.disallowed or project.may_lack(place):
        return ""
    if place in project.refusing:
        return f"{place.origin} {place.path}: refused"
    if item.get("error") == "ignored":
        return ""  # it may have been redirected to a disallowed page
    files = {sites.place(file["url"]): file["checksum"] for file in _files(item)}
    allowed = sorted((*file, value) for file, value in files.items() - _disallowed(project, files))
    values = [item.get(name) for name in ("status", "error", "note")]
    return json.dumps([place.origin, place.path, *values, *allowed])


def _disallowed(project: Project, files: Mapping[Place, str]) -> set[tuple[Place, str]]:
    return {
        (place, value)
        for place, value in files.items()
        if place in project.disallowed or project.may_lack(place)
    }


def _wrong_with_stock(project: Project, stock: Outcome) -> Iterator[Finding]:
    if stock.crawl is None:
        yield Finding("wrong test", "Scrapy's own crawl hung")
        return
    if stock.crawl.exit_code or stock.crawl.finish_reason != "finished":
        how = f"exit code {stock.crawl.exit_code}, {stock.crawl.finish_reason!r}"
        yield Finding("wrong test", f"Scrapy's own crawl failed: {how} {stock.crawl.error[-500:]}")
    lacking = project.allowed - set(stock.fetched)
    if lacking and "DEPTH_LIMIT" not in project.settings:
        yield Finding("wrong test", f"Scrapy's own crawl lost {_list(lacking)}")


def _wrong(
    project: Project, stock: Outcome, ours: Outcome, most_seconds: float
) -> Iterator[Finding]:
    yield from _wrong_end(stock, ours, most_seconds)
    due = set(stock.fetched) - project.disallowed
    missing = due - set(ours.fetched)
    blocked = {place for place in missing if project.may_lack(place)}
    if lost := missing - blocked:
        yield Finding("lost", f"pages {_list(lost)}")
    if blocked and not _names_culprit(project, ours):
        yield Finding("lost", f"pages {_list(blocked)}, and no warning names a middleware")
    if ours.not_kept > stock.not_kept:
        yield Finding("lost", f"{ours.not_kept} requests were not kept on disk")
    too_many = set(ours.fetched) - due
    if too_many:
        yield Finding("fetched too much", f"pages {_list(too_many)}")
    more = (ours.fetched - stock.fetched).keys() - too_many - project.refusing
    if more:
        yield Finding("fetched too much", f"more often {_list(more)}")
    yield from _wrong_robots(project, ours)
    yield from _wrong_pace(project, ours)
    if ours.crawl is not None:
        yield from _wrong_items(stock, ours)


def _names_culprit(project: Project, ours: Outcome) -> bool:
    """Whether a warning or an error names a middleware that may have blocked a robots.txt."""
    names = set().union(*(project.culprits(number) for number in range(len(project.origins))))
    lines = (line for line in ours.log.splitlines() if re.search(r"\] (WARNING|ERROR): ", line))
    return any(name in line for line in lines for name in names)


def _wrong_end(stock: Outcome, ours: Outcome, most_seconds: float) -> Iterator[Finding]:
    took = f"{ours.seconds:.1f} s, Scrapy's own {stock.seconds:.1f} s"
    if ours.crawl is None:
        yield Finding("hung", f"killed after {took}")
        return
    if ours.seconds > most_seconds:
        yield Finding("slow", f"{took}, limit {most_seconds:.1f} s")
    if ours.crawl.exit_code:
        yield Finding("other", f"it failed: {ours.crawl.error[-500:]}")
    if ours.crawl.finish_reason != "finished":
        yield Finding("other", f"finish reason {ours.crawl.finish_reason!r}")
    if ours.crawl.deprecations:
        yield Finding("other", f"deprecated: {ours.crawl.deprecations[0]}")


def _wrong_items(stock: Outcome, ours: Outcome) -> Iterator[Finding]:
    if lost := stock.items - ours.items:
        yield Finding("lost", f"items {sorted(lost)[:5]}")
    if more := ours.items - stock.items:
        yield Finding("fetched too much", f"items {sorted(more)[:5]}")
    if ours.missing_files:
        yield Finding("lost", f"files {ours.missing_files[:5]}")
    if ours.not_exported:
        yield Finding("lost", f"the feed lacks {ours.not_exported} items")


def _wrong_robots(project: Project, ours: Outcome) -> Iterator[Finding]:
    for number, origin in enumerate(project.origins):
        most = 1.0 + origin.robots.refusals + (project.stops_after > 0)
        if origin.robots.kind == "short":
            most += 1 + 2 * ours.seconds  # a refresh begins after half of a second
        if project.spider == "sitemap" and project.sitemap == "robots.txt":
            most += 1
        if project.habits.has("ReturnsText"):
            most *= 2  # again with the meta of a page
        if project.culprits(number):
            most *= _MOST_BLOCKED_TIMES
        if ours.robots[number] > most:
            words = f"the robots.txt of {origin.host}:{origin.port}, {ours.robots[number]} times"
            yield Finding("fetched too much", words)


def _wrong_pace(project: Project, ours: Outcome) -> Iterator[Finding]:
    """The delay of an origin is kept, and the time after which a page may be requested again.

    An API visits its pages when it likes. The delay is unknown when a project logs in first, when a
    middleware hides the first robots.txt, and when a crawl that was stopped begins again.
    """
    early = {LOGIN} if project.habits.has("LogsInFirst") else set()
    is_fetched_again = project.habits.has("ReturnsText") or project.stops_after
    early |= {"/robots.txt"} if is_fetched_again else set()
    for number, origin in enumerate(project.origins):
        if origin.robots.kind == "paced" and not project.habits.has("AsksApi"):
            seen = [one for one in ours.seen if one.place.path not in early]
            times = [one.at for one in seen if one.place.origin == number]
            yield from _too_soon(f"{origin.host}:{origin.port}", times, CRAWL_DELAY_SECONDS)
    if project.refusal is not None and project.refusal.retry_after:
        times = [one.at for one in ours.seen if one.place in project.refusing]
        yield from _too_soon("the page that refuses", times, float(project.refusal.retry_after))


def _too_soon(name: str, times: list[float], seconds: float) -> Iterator[Finding]:
    gap = min((after - before for before, after in pairwise(times)), default=seconds)
    if gap < seconds - _TOLERANCE_SECONDS:
        yield Finding("too soon", f"{name}, after {gap:.3f} s of {seconds:g}")


def _list(places: set[Place]) -> str:
    names = [f"{place.origin}{place.path}" for place in sorted(places)]
    return ", ".join([*names[:6], *(["..."] if len(names) > 6 else [])])

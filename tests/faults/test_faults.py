"""Every fault, with a file never fetched and with a stale copy, under three presets.

One crawl for each, in an event loop of its own, goes to all sites of `table` at once. What counts
is what reached the sites.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from scrapy_rep.cache.entry import Entry
from scrapy_rep.cache.sqlite import SqliteStore
from scrapy_rep.protocol.access.knowledge import Copy, Knowledge
from scrapy_rep.protocol.access.origin import Origin
from tests.cache.samples import usual_key
from tests.crawling import LOOPS, Crawl, Loop, crawl
from tests.crawls.settings import ADDON, URLS_SPIDER
from tests.faults.sites import Plan, Sites
from tests.faults.table import (
    FAULTS,
    KEPT,
    KEPT_ETAG,
    OUTCOMES,
    PAGES,
    PRESETS,
    STATES,
    expected,
    is_failure,
)

pytestmark = [pytest.mark.long, pytest.mark.timed]

_DAY = 86_400.0
_TIMEOUT_SECONDS = 6
_RUNS: list[tuple[str, Loop]] = [*zip(PRESETS, LOOPS, strict=True)]

SETTINGS: dict[str, Any] = {
    **ADDON,
    "REP_STORE": "sqlite",
    "REP_FETCH_TIMEOUT_SECONDS": _TIMEOUT_SECONDS,
    "REP_REDIRECT_GUARD": "public",  # other ports of a host are no other hosts
    "CONCURRENT_REQUESTS": 64,
    "CONCURRENT_REQUESTS_PER_DOMAIN": 64,
    "RETRY_ENABLED": False,
    "REP_RETRY_FIRST_SECONDS": 600,  # no retry is due before the crawl ends, however late it is
    "REP_MEMORY_OCTETS": 1 << 26,  # no policy is evicted: the counts below depend on that
}

SILENT = {"refused", "no such host", "TLS with a server of plain HTTP"}
HUNG_UP = {"empty reply", "reset before the answer", "reset in the headers"}


def site_of(fault: str, state: str) -> str:
    return f"{fault} / {state}"


class Cell(NamedTuple):
    """The result of one fault in one state."""

    let_through: set[str]
    reached: list[str]
    errors: set[str]


class Run(NamedTuple):
    """One crawl, by fault and state."""

    cells: dict[tuple[str, str], Cell]
    crawl: Crawl


@pytest.fixture(scope="module")
def sites() -> Iterator[Sites]:
    plans: dict[str, Plan] = {}
    for name, fault in FAULTS.items():
        for state in STATES:
            second = f"{site_of(name, state)} (second)"
            plans[site_of(name, state)] = fault.plan(second)
            if fault.other is not None:
                plans[second] = fault.other
    with Sites(plans) as running:
        yield running


def keep_copies(path: Path, sites: Sites) -> None:
    """Write what earlier crawls would have kept."""
    store = SqliteStore(path, 1 << 30)
    now = time.time()
    for fault in FAULTS:
        origin = Origin.of(sites.url(site_of(fault, "stale copy")))
        assert origin is not None
        copy = Copy(
            event=200,
            body=KEPT,
            hops=(origin.robots_txt_uri,),
            headers=(("etag", KEPT_ETAG),),
            fetched_at=now - 2 * _DAY,
            confirmed_at=now - 2 * _DAY,
            fresh_until=now - _DAY,
        )
        store.commit(Entry(usual_key(origin), Knowledge(copy)), None).result()
    store.close()


def run(sites: Sites, folder: Path, preset: str, loop: Loop) -> Run:
    sites.forget()
    path = folder / "robots.sqlite"
    keep_copies(path, sites)
    places = {
        sites.url(site_of(fault, state), page): (fault, state, page)
        for page in PAGES
        for fault in FAULTS
        for state in STATES
    }
    result = crawl(
        URLS_SPIDER,
        loop=loop,
        settings={**SETTINGS, "REP_POLICY": preset, "REP_STORE_PATH": str(path)},
        urls=list(places),
        timeout_seconds=120,
    )
    reached = sites.paths()
    cells = {
        (fault, state): Cell(set(), reached[site_of(fault, state)], set())
        for fault in FAULTS
        for state in STATES
    }
    for item in result.items:
        fault, state, page = places.pop(item["url"])
        error = item.get("error", "")
        if error.startswith("RobotsTxt"):
            cells[fault, state].errors.add(error)
        else:
            cells[fault, state].let_through.add(page)
    assert places == {}, f"no outcome of {sorted(places)}\n{result.log}"
    return Run(cells, result)


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(run, marks=pytest.mark.slow if number else (), id="-".join(run))
        for number, run in enumerate(_RUNS)
    ],
)
def done(
    request: pytest.FixtureRequest, sites: Sites, tmp_path_factory: pytest.TempPathFactory
) -> tuple[str, Run]:
    preset, loop = request.param
    return preset, run(sites, tmp_path_factory.mktemp("store"), preset, loop)


def test_every_cell_of_the_table(done: tuple[str, Run], record_property: Any) -> None:
    preset, (cells, _) = done
    wrong = []
    forbidden_count = 0
    for (fault, state), cell in cells.items():
        pages = OUTCOMES[expected(fault, state, preset)]
        forbidden = [path for path in cell.reached if path in PAGES and path not in pages]
        forbidden_count += len(forbidden)
        if cell.let_through != pages or forbidden:
            wrong.append(f"{fault} / {state}: {cell}, not {sorted(pages)}")
    record_property("cells", len(cells))
    record_property("disallowed_pages_that_reached_a_server", forbidden_count)
    assert wrong == []
    assert forbidden_count == 0


def test_every_file_is_fetched_once(done: tuple[str, Run]) -> None:
    _, (cells, result) = done
    wrong = []
    for (fault, state), cell in cells.items():
        asked = cell.reached.count("/robots.txt")
        times = {0} if fault in SILENT else {1}
        if result.loop.startswith("none/") and fault in HUNG_UP and times == {1}:
            times = {1, 2}  # aiohttp itself asks again where a connection ends without an answer
        if asked not in times:
            wrong.append(f"{fault} / {state}: {asked} times")
    assert wrong == []
    assert result.stats["robotstxt/request_count"] == len(FAULTS) * 2


def test_failures_are_reported_as_unreachable(done: tuple[str, Run]) -> None:
    preset, (cells, result) = done
    wrong = []
    for (fault, state), cell in cells.items():
        failed = is_failure(fault, state) and expected(fault, state, preset) == "disallow"
        error = "RobotsTxtUnreachable" if failed else "RobotsTxtDisallowed"
        if cell.errors - {error}:
            wrong.append(f"{fault} / {state}: {cell.errors}")
    assert wrong == []
    failures = [state for fault, state in cells if is_failure(fault, state)]
    assert result.stats["rep/access/unreachable"] == len(failures)
    stale = failures.count("stale copy") if preset == "rfc9309" else 0
    assert result.stats.get("rep/stale", 0) == stale


def test_nothing_else_went_wrong(done: tuple[str, Run]) -> None:
    _, (_, result) = done
    assert result.exit_code == 0, result.error
    assert result.finish_reason == "finished"
    assert result.deprecations == []
    assert "rep/store/failed" not in result.stats
    assert result.stats.get("log_count/ERROR", 0) == 0, result.log
    assert "rep/asked_twice" not in result.stats


def test_memory_is_flat(done: tuple[str, Run]) -> None:
    """The bombs alone would come to some 20 MB each, the endless ones to any size."""
    _, (_, result) = done
    assert result.stats["test/peak_octets"] < 160 << 20

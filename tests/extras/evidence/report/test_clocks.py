"""Crawls during which the wall clock is set: no false accusation, no hidden violation."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from scrapy_rep.extras.evidence.trail_reading import Run
from tests.commands.calling import rep
from tests.extras.evidence.audit.crawled import audited, of_kind
from tests.servers.handle import Answer, Site

FILE = "User-agent: *\nDisallow: /private\nCrawl-delay: 0.3\n"
CAPPED = {"REP_CRAWL_DELAY_MAX_SECONDS": 0.2, "REP_CRAWL_DELAY_EXCESS": "cap"}


def stepped(
    root: Path, step_seconds: float, settings: dict[str, Any] | None = None
) -> tuple[dict[str, Any], list[float], Run]:
    """The report of a crawl, the gaps that its server saw, and its trail."""
    wanted = {
        "EXTENSIONS": {"tests.crawls.stepping.StepsClock": 0},
        "STEP_SECONDS": step_seconds,
        "CONCURRENT_REQUESTS": 1,
        **(settings or {}),
    }
    fresh = Answer(body=FILE, headers=[("Cache-Control", "max-age=90000")])
    with Site({"/robots.txt": fresh}) as site:
        urls = [site.url(f"/{number}") for number in range(5)]
        _, run = audited(urls, root, settings=wanted)
        times = [seen.at for seen in site.requests()][1:]  # the delay is unknown before
    assert rep("audit", "verify", run.path).status == 0
    assert rep("audit", "replay", run.path).status == 0
    done = rep("report", run.path, "--json")
    found = json.loads(done.out)
    assert done.status == (5 if found["paces"]["rows"][0]["word"] == "not-kept" else 0)
    return found, [after - before for before, after in pairwise(times)], run


@pytest.mark.parametrize("step_seconds", [0.05, -3600.0, 3600.0])
def test_kept_delay_counts_as_kept(step_seconds: float, tmp_path: Path) -> None:
    found, gaps, run = stepped(tmp_path, step_seconds)
    assert min(gaps) >= 0.29
    (pace,) = found["paces"]["rows"]
    assert (pace["visits"], pace["too_soon"], pace["word"]) == (len(gaps) + 1, 0, "kept")
    assert 0.298 <= pace["least_seconds"] <= min(gaps) + 0.02
    assert all("too soon" not in text or "no request" in text for text in found["limits"])
    times = [record["at"] for record in of_kind(run, "decision", "sent", "clock", "end")]
    assert 0 < max(times) - min(times) < 60, "the time of a record knows no step"
    steps = of_kind(run, "clock")
    limits = [text for text in found["limits"] if "clock" in text and "was set" in text]
    if abs(step_seconds) < 0.1:
        assert (steps, limits) == ([], [])
    else:
        (step,) = steps
        assert step["step_seconds"] == pytest.approx(step_seconds, abs=0.1)
        (limit,) = limits
        way, shift = ("back", "later") if step_seconds < 0 else ("forward", "earlier")
        assert f"was set {way} by 60.0 min at " in limit
        assert f"Later times in this report are 60.0 min {shift} than by the new clock." in limit


def test_broken_delay_counts_as_broken(tmp_path: Path) -> None:
    """The crawl keeps 0.2 of 0.3 seconds."""
    found, gaps, _ = stepped(tmp_path, -3600.0, settings=CAPPED)
    (pace,) = found["paces"]["rows"]
    assert pace["word"] == "not-kept"
    assert pace["too_soon"] >= sum(gap < 0.29 for gap in gaps) > 0
    assert pace["least_seconds"] <= min(gaps) + 0.02


def test_each_fetch_counts_once_and_no_copy_looks_old(tmp_path: Path) -> None:
    """The file is fetched again after the step."""
    short = Answer(body=FILE, headers=[("Cache-Control", "max-age=0"), ("ETag", '"1"')])
    with Site({"/robots.txt": short}) as site, Site() as late:
        urls = [*(site.url(f"/{number}") for number in range(8)), late.url("/a")]
        settings = {
            "EXTENSIONS": {"tests.crawls.stepping.StepsClock": 0},
            "STEP_SECONDS": -3600.0,
            "CONCURRENT_REQUESTS": 1,
            "REP_CACHE_MIN_SECONDS": 1,
            "REP_CACHE_MAX_SECONDS": 1,
        }
        _, run = audited(urls, tmp_path, settings=settings)
        asked = len([path for path in site.paths() + late.paths() if path == "/robots.txt"])
    found = json.loads(rep("report", run.path, "--json").out)
    assert found["fetches"]["requests"] == asked > 2
    hops = [hop for record in of_kind(run, "policy") for hop in record["hops"]]
    times = [hop["at"] for hop in hops]
    assert 0 < max(times) - min(times) < 60
    assert all(0 <= hop["seconds"] < 60 for hop in hops)

"""A few projects of all kinds; ``python -m tests.ordinary`` runs as many as you like."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, replace
from typing import Any

import pytest

from tests.ordinary.comparing import STOCK, examine
from tests.ordinary.habits import STOPS, USES, Habits
from tests.ordinary.projects import (
    ROBOTS,
    SPIDERS,
    Origin,
    Page,
    Place,
    Project,
    RobotsTxt,
    draw_project,
)
from tests.ordinary.running import explain

SEEDS = (2, 6, 12, 16, 17, 20, 22, 23, 26, 27, 28, 31, 33, 44)
SOON = frozenset({2, 12, 22, 23, 26, 44})
"""Those that the README's command runs."""
_EARLY = {"CLOSESPIDER_PAGECOUNT": 2, "CONCURRENT_REQUESTS": 1}


def _marked(seed: int) -> Any:
    return pytest.param(seed, marks=() if seed in SOON else pytest.mark.slow)


@pytest.mark.parametrize("seed", [_marked(seed) for seed in SEEDS])
def test_the_same_crawl_as_with_scrapys_own(seed: int) -> None:
    """How long each takes depends on the machine, too; the command compares that."""
    found = examine(draw_project(seed)).findings
    findings = [finding for finding in found if finding.kind != "slow"]
    assert not findings, explain(seed, findings)


def test_a_seed_gives_one_project() -> None:
    assert draw_project(7) == draw_project(7)
    with pytest.raises(FrozenInstanceError):
        draw_project(7).seed = 8  # type: ignore[misc]


def test_the_projects_of_ci_are_of_all_kinds() -> None:
    projects = [draw_project(seed) for seed in SEEDS]
    assert {project.spider for project in projects} == set(SPIDERS)
    assert {origin.robots.kind for one in projects for origin in one.origins} == set(ROBOTS)
    assert {project.loop for project in projects} == {"asyncio", "select", "reactorless"}
    used = {name for name in (*USES, STOPS) if any(one.habits.has(name) for one in projects)}
    assert used == {*USES, STOPS}


class TestFindings:
    """A crawl that goes wrong does not pass."""

    @pytest.fixture
    def project(self) -> Project:
        """Many pages of one origin are queued before its robots.txt has come."""
        drawn = draw_project(11)
        robots = RobotsTxt(kind="slow", rules="folder")
        root = Page(place=Place(0, "/"), kind="plain", parent=None)
        private = [
            replace(root, place=Place(0, f"/private/{number}"), parent=0, is_disallowed=True)
            for number in range(9)
        ]
        pages = [replace(root, place=Place(0, f"/{number}"), parent=0) for number in range(9)]
        return replace(
            drawn,
            spider="all at once",
            settings={},
            pipeline="none",
            has_cache=False,
            refusal=None,
            origins=(Origin(host="127.0.0.1", port=0, robots=robots),),
            pages=(root, *private, *pages),
            stops_after=0,
            habits=Habits(),
        )

    def test_a_disallowed_page(self, project: Project) -> None:
        """Scrapy's own middleware fetches some, if many are queued at once."""
        findings = examine(project, STOCK).findings
        assert {finding.kind for finding in findings} == {"fetched too much"}

    def test_a_crawl_that_ends_early(self, project: Project) -> None:
        findings = examine(project, {**STOCK, **_EARLY}).findings
        assert {finding.kind for finding in findings} >= {"lost", "other"}

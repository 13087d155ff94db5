"""Forty projects; ``python -m tests.ordinary`` runs as many as you like."""

from __future__ import annotations

from dataclasses import FrozenInstanceError
from typing import Any

import pytest

from tests.ordinary.comparing import examine
from tests.ordinary.projects import ROBOTS, SPIDERS, draw_project
from tests.ordinary.running import explain

SEEDS = range(40)
SOON = frozenset(range(6))
"""Those that the README's command runs."""


def _marked(seed: int) -> Any:
    return pytest.param(seed, marks=() if seed in SOON else pytest.mark.slow)


@pytest.mark.parametrize("seed", [_marked(seed) for seed in SEEDS])
def test_the_same_crawl_as_with_scrapys_own(seed: int) -> None:
    findings = examine(draw_project(seed)).findings
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

"""What ``scrapy rep check`` prints for real files is what two independent readings say of them."""

from __future__ import annotations

import base64
import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from tests.commands.calling import rep
from tests.shared import SHARED, needs_shared

pytestmark = pytest.mark.slow

_VERDICTS = {1: 207_411, 4: 51_807}
"""How many there are: of all files, and of every fourth."""


def _rows(name: str) -> list[dict[str, Any]]:
    assert SHARED is not None
    with gzip.open(SHARED / "corpus" / f"{name}.jsonl.gz", "rb") as file:
        return [json.loads(line) for line in file]


@needs_shared
@pytest.mark.parametrize("step", [4, pytest.param(1, marks=pytest.mark.at_length)])
def test_every_verdict_and_line(step: int, tmp_path: Path) -> None:
    """Through the command line, a file at a time."""
    bodies = {row["host"]: base64.b64decode(row["body_b64"]) for row in _rows("robots")}
    robots = tmp_path / "robots.txt"
    wrong: list[tuple[str, str, str]] = []
    asked = 0
    for row in _rows("verdicts")[::step]:
        robots.write_bytes(bodies[row["host"]])
        agents = list(row["allowed"])
        urls = "\n".join(row["urls"]).encode("utf-8", "surrogateescape")
        options = [part for agent in agents for part in ("--agent", agent)]
        done = rep("check", "-", "--robots", robots, "--json", *options, stdin=urls)
        printed = [json.loads(line) for line in done.out.splitlines()]
        expected = [
            (url, agent, row["allowed"][agent][number] == "1", row["line"][agent][number])
            for number, url in enumerate(row["urls"])
            for agent in agents
        ]
        asked += len(expected)
        if len(printed) != len(expected):
            wrong.append((row["host"], "lines", f"{len(printed)} {len(expected)}"))
        for one, (url, agent, is_allowed, line) in zip(printed, expected, strict=False):
            if (one["url"], one["agent"]) != (url, agent):
                wrong.append((row["host"], url, one["url"]))
            elif (one["allowed"], one["line"]) != (is_allowed, line):
                wrong.append((row["host"], agent, url))
    assert wrong == []
    assert asked == _VERDICTS[step]

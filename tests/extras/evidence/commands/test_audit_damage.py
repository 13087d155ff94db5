"""``scrapy rep audit`` and ``report`` over changed trails: messages, and no crash."""

from __future__ import annotations

import copy
import gzip
import json
import os
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from scrapy_rep.extras.evidence import trail_records as records
from scrapy_rep.extras.evidence.spool import MANIFEST
from scrapy_rep.extras.evidence.trail_check import check
from scrapy_rep.extras.evidence.trail_reading import Run
from scrapy_rep.extras.evidence.trail_shapes import SHAPES, problem_of
from tests.commands.calling import Done, rep
from tests.extras.evidence.audit.making import Judged

URL = "https://a.example/private/x?q=1"
_GONE = object()
_VALUES: tuple[Any, ...] = (
    *[None, True, -1, 0, 1.5, 10**30, -(10**30), 2**63, 1e308, "x", "9" * 500, "\ud800\x1b[31m<b>"],
    *[[], {}, ["x"], {"a": 1}, [None], [{}], _GONE],
)


def _made(root: Path) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """The records of a trail with every kind of record, and its manifest."""
    crawl = Judged(root)
    crawl.know("a.example")
    crawl.know("b.example", b"User-agent: TestBot\nDisallow: /\xff\n")
    crawl.judge([URL, *(f"https://{h}.example/{p}" for h in "ab" for p in ("", "private/open"))])
    crawl.judge(["https://a.example/x"], dont_obey_robotstxt=True)
    run = crawl.end()
    (segment,) = run.segments
    lines = gzip.decompress(segment.path.read_bytes()).splitlines()
    return [json.loads(text) for text in lines], json.loads((run.path / MANIFEST).read_bytes())


def _write(at: Path, held: list[dict[str, Any]], manifest: Any) -> Path:
    at.mkdir()
    (at / "1-00001.jsonl").write_text("".join(json.dumps(one) + "\n" for one in held))
    (at / MANIFEST).write_text(json.dumps(manifest))
    return at


def _places(found: Any, before: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    pairs = found.items() if isinstance(found, dict) else enumerate(found)
    for name, one in pairs:
        yield (*before, name)
        if isinstance(one, (dict, list)):
            yield from _places(one, (*before, name))


def _change(found: Any, draw: random.Random) -> None:
    """Put something else in one place."""
    *way, name = draw.choice([*_places(found)])
    for step in way:
        found = found[step]
    value = draw.choice(_VALUES)
    if value is _GONE:
        del found[name]
    else:
        found[name] = value


def _all(at: Path, redacted: Path) -> dict[str, Done]:
    """The output of every command for a trail."""
    return {
        **{name: rep("audit", name, at) for name in ("verify", "replay", "export")},
        "list": rep("audit", "list", at.parent),
        "explain": rep("audit", "explain", at, URL),
        "redact": rep("audit", "redact", at, "--query", "drop", "-o", redacted),
        "report": rep("report", at, "--json"),
        "survey": rep("survey", at, "--jobs", 1, "--json"),
    }


def test_any_changed_value_is_survived(tmp_path: Path) -> None:
    held, manifest = _made(tmp_path / "made")
    draw = random.Random(1)
    for number in range(12):
        parts = copy.deepcopy((held, manifest))
        for _ in range(draw.choice((1, 1, 2))):
            _change(draw.choice([*parts[0], parts[1]]), draw)
        at = _write(tmp_path / f"changed-{number}", *parts)
        for name, done in _all(at, tmp_path / f"redacted-{number}").items():
            assert done.status in (0, 1, 2, 3, 4), name
            assert "\x1b" not in done.out + done.err, name


def test_records_of_crawls_have_their_shape(tmp_path: Path) -> None:
    held, _ = _made(tmp_path)
    assert {one["t"] for one in held} >= {records.RUN, records.POLICY, records.BODY, records.MARK}
    assert [problem_of(one) for one in held] == [""] * len(held)


@pytest.mark.parametrize("kind", SHAPES)
def test_wrong_or_missing_field_is_named(kind: str) -> None:
    shape = SHAPES[kind]
    for name in shape.checks:
        assert problem_of({"t": kind, name: ...}) == f"{name} cannot be Ellipsis"
    for name in shape.needed:
        assert name in shape.checks
    if shape.needed:
        assert problem_of({"t": kind}) == f"{min(shape.needed)} is missing"


class TestDamagedDecision:
    """A decision with an impossible URL."""

    @pytest.fixture
    def at(self, tmp_path: Path) -> Path:
        held, manifest = _made(tmp_path / "made")
        decision = next(one for one in held if one["t"] == records.DECISION and one["url"] == URL)
        decision["url"] = [f"{URL}&token=s3cr3t"]
        return _write(tmp_path / "changed", held, manifest)

    def test_damaged_record_is_not_a_success(self, at: Path) -> None:
        done = rep("audit", "replay", at)
        assert done.status == 4
        assert "1 not replayable: damaged records" in done.out
        for arguments in (["explain", at, "https://a.example/"], ["export", at]):
            done = rep("audit", *arguments)
            assert done.status == 4, done.out
            assert "1 damaged place: scrapy rep audit verify tells where" in done.err

    def test_damaged_record_is_not_redacted(self, at: Path, tmp_path: Path) -> None:
        rep("audit", "redact", at, "--query", "drop", "-o", tmp_path / "new")
        for path in (tmp_path / "new").rglob("*"):
            octets = path.read_bytes() if path.is_file() else b""
            octets = gzip.decompress(octets) if path.suffix == ".gz" else octets
            assert b"s3cr3t" not in octets


def test_segment_that_is_a_pipe_is_a_problem(tmp_path: Path) -> None:
    held, manifest = _made(tmp_path / "made")
    at = _write(tmp_path / "changed", held, manifest)
    os.mkfifo(at / "1-00002.jsonl")
    found = check(Run(at))
    assert any("not a regular file" in problem for problem in found.problems)

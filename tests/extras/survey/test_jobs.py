"""Surveys on many processes: the same bits as on one."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from scrapy_rep.extras.survey.aggregate import SurveyPart, SurveyReader
from scrapy_rep.extras.survey.inputs import tasks
from scrapy_rep.extras.survey.inputs.json_lines import captures_in
from scrapy_rep.extras.survey.inputs.tasks import Task, tasks_of
from scrapy_rep.extras.survey.jobs import parts_of
from scrapy_rep.extras.survey.saved import Survey
from tests.extras.survey import inputs
from tests.extras.survey.files import SMALL


def _whole(found: Iterator[Task], jobs: int, reader: SurveyReader | None = None) -> SurveyPart:
    whole = SurveyPart()
    for part in parts_of(found, reader or SurveyReader(), jobs):
        whole.aggregate.update(part.aggregate)
        whole.rows += part.rows
    return whole


def test_two_processes_make_the_same_as_one(tmp_path: Path) -> None:
    files = [(f"{n}.{host}", body) for n in range(30) for host, body in SMALL.items()]
    lines = inputs.lines(files, tmp_path).read_bytes().splitlines(keepends=True)
    pieces = [lines[start : start + 20] for start in range(0, len(lines), 20)]
    reader = SurveyReader(with_lint=True, with_rows=True)
    one, two = (
        _whole((partial(captures_in, piece) for piece in pieces), jobs, reader) for jobs in (1, 2)
    )
    assert one.aggregate == two.aggregate
    assert Survey(one.aggregate).to_json() == Survey(two.aggregate).to_json()
    assert one.rows == two.rows
    assert [row["host"] for row in two.rows] == [host for host, _ in files]


def test_failed_input_ends_all_processes(tmp_path: Path) -> None:
    def some() -> Iterator[Task]:
        yield from tasks_of(inputs.lines(SMALL.items(), tmp_path))
        raise tasks.InputError("gone")

    with pytest.raises(tasks.InputError, match="gone"):
        _whole(some(), 2)


def test_few_tasks_are_under_way(tmp_path: Path) -> None:
    """Memory does not grow with the input: it is read as it is worked on."""
    read = 0

    def some() -> Iterator[Task]:
        nonlocal read
        for number in range(100):
            read += 1
            yield partial(captures_in, [f'{{"host": "h{number}", "body": ""}}'])

    parts = parts_of(some(), SurveyReader(), 2)
    next(parts)
    assert read <= 6
    assert len([*parts]) == 99

"""Surveys on many processes: the same bits as on one."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from scrapy_rep.survey.aggregate import Aggregate
from scrapy_rep.survey.captures import Capture
from scrapy_rep.survey.facts import facts
from scrapy_rep.survey.inputs import tasks
from scrapy_rep.survey.inputs.tasks import Task, tasks_of
from scrapy_rep.survey.jobs import SurveyPart, SurveyWanted, parts_of
from scrapy_rep.survey.methods import METHODS, Differences, compared
from scrapy_rep.survey.saved import Survey
from tests.shared import needs_shared
from tests.survey import inputs
from tests.survey.files import SMALL, corpus


def _whole(found: Iterator[Task], jobs: int, wanted: SurveyWanted | None = None) -> SurveyPart:
    whole = SurveyPart()
    for part in parts_of(found, wanted or SurveyWanted(), jobs):
        whole.update(part)
        whole.rows += part.rows
    return whole


def test_two_processes_make_the_same_as_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tasks, "_AT_ONCE", 20)
    files = [(f"{n}.{host}", body) for n in range(30) for host, body in SMALL.items()]
    path = inputs.lines(files, tmp_path)
    wanted = SurveyWanted(lint=True, rows=True, methods=True, strata={"3.ai.example": "third"})
    one, two = _whole(tasks_of(path), 1, wanted), _whole(tasks_of(path), 2, wanted)
    assert one.aggregate == two.aggregate
    assert Survey(one.aggregate, one.differences).to_json() == (
        Survey(two.aggregate, two.differences).to_json()
    )
    assert one.rows == two.rows
    assert [row["host"] for row in two.rows] == [host for host, _ in files]
    assert one.aggregate.counts["stratum:third:files"] == 1


def test_an_input_that_fails_leaves_no_process_behind(tmp_path: Path) -> None:
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
            yield Task("lines", "", (f'{{"host": "h{number}", "body": ""}}'.encode(),))

    parts = parts_of(some(), SurveyWanted(), 2)
    next(parts)
    assert read <= 6
    assert len([*parts]) == 99


@needs_shared
@pytest.mark.slow
def test_the_corpus_on_one_process_and_on_many(tmp_path: Path) -> None:
    path = inputs.packed_lines(corpus(), tmp_path)
    one, three = _whole(tasks_of(path), 1), _whole(tasks_of(path), 3)
    assert one.aggregate.to_json() == three.aggregate.to_json()
    assert one.aggregate == Aggregate.of(Capture(host, body=body) for host, body in corpus())


class TestMethods:
    """What published methods say, from descriptions of how they read."""

    RUN = b"User-agent: *\nDisallow: /x\nUser-agent: GPTBot\nUser-agent: CCBot\nDisallow: /\n"

    def _classes(self, body: bytes, method: str) -> dict[str, str]:
        said = compared(body, facts(body))[method]
        return {name: theirs for name, (_, theirs) in said.items()}

    def test_names_that_are_dropped(self) -> None:
        assert self._classes(self.RUN, "common-crawl") == {"gptbot": "part", "ccbot": "full"}
        assert self._classes(self.RUN, "consent-in-crisis") == {"gptbot": "none", "ccbot": "full"}
        assert self._classes(self.RUN, "http-archive") == {"gptbot": "full", "ccbot": "full"}

    def test_names_as_written(self) -> None:
        body = b"User-agent: gptbot\nDisallow: /\n"
        assert self._classes(body, "common-crawl") == {"gptbot": "none"}
        assert self._classes(body, "http-archive") == {"gptbot": "full"}

    def test_records_that_split(self) -> None:
        body = b"User-agent: GPTBot\nCrawl-delay: 1\nUser-agent: CCBot\nDisallow: /\n"
        assert self._classes(body, "http-archive") == {"gptbot": "none", "ccbot": "full"}
        assert self._classes(body, "common-crawl") == {"gptbot": "full", "ccbot": "full"}

    def test_whole_values(self) -> None:
        body = b"User-agent: GPTBot/1.0\nDisallow: /\n"
        assert self._classes(body, "http-archive") == {"gptbot": "none"}

    @pytest.mark.parametrize("method", METHODS)
    def test_a_group_without_rules_restricts_nothing(self, method: str) -> None:
        """No study is said to read that otherwise: such a crawler does not fall back to `*`."""
        body = b"User-agent: *\nDisallow: /\n\nUser-agent: GPTBot\nCrawl-delay: 1\n"
        assert self._classes(body, method) == {"gptbot": "none"}

    def test_lone_carriage_returns(self) -> None:
        body = b"User-agent: GPTBot\rDisallow: /\r"
        assert self._classes(body, "common-crawl") == {"gptbot": "none"}
        assert self._classes(body, "http-archive") == {"gptbot": "full"}

    def test_many_names_take_bounded_time(self) -> None:
        body = b"User-agent: x\n" * 30_000 + b"User-agent: GPTBot\n" + b"Disallow: /a\n" * 8000
        began_at = time.process_time()
        assert self._classes(body, "http-archive") == {"gptbot": "part"}
        assert time.process_time() - began_at < 20

    def test_they_add_up(self) -> None:
        found = Differences()
        assert not found
        found.add("a.example", compared(self.RUN, facts(self.RUN)))
        other = Differences()
        other.add("b.example", compared(self.RUN, facts(self.RUN)))
        found.update(other)
        said = found.report()
        assert {*said} == {*METHODS}
        crawl = said["common-crawl"]
        assert (crawl["pairs"], crawl["differing"], crawl["files_with"]) == (4, 2, 2)
        assert (crawl["full_as_part"], crawl["shut_out"], crawl["shut_out_by_method"]) == (2, 4, 2)
        assert min(crawl["samples"]) == "a.example: gptbot full -> part"
        assert Differences.from_dict(found.to_dict()).report() == said

    @needs_shared
    def test_the_corpus(self) -> None:
        """As many as others found, roughly: 18 and 9 % of the pairs of 48 names that they chose.

        `benchmarks/methods.py` tells why, pair by pair.
        """
        found = Differences()
        for host, body in corpus():
            found.add(host, compared(body, facts(body)))
        said = found.report()
        shares = {name: one["differing"] / one["pairs"] for name, one in said.items()}
        assert 0.18 < shares["common-crawl"] < 0.24
        assert 0.08 < shares["http-archive"] < 0.10

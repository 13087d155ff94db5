"""``scrapy rep survey``: what it shows and writes, its exit statuses, merging and comparing."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from scrapy_rep.extras.survey.aggregate import Aggregate
from scrapy_rep.extras.survey.captures import ANSWER_FACTS, BODY_FACTS
from tests.at_length import at_length
from tests.commands.calling import rep
from tests.crawling import REPOSITORY
from tests.extras.survey import inputs
from tests.extras.survey.files import SMALL

_MANY = 100_000  # files
_PART = 500  # files that one task reads
_WORK_SECONDS = 2.0  # what a process takes to begin is less


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return inputs.folder(SMALL.items(), tmp_path)


def _is_worker(pid: str) -> bool:
    return b"spawn_main" in Path(f"/proc/{pid}/cmdline").read_bytes()


def _json(*arguments: object) -> Any:
    done = rep("survey", *arguments, "--jobs", 1, "--json")
    assert done.status == 0, done.err
    return json.loads(done.out)


class TestText:
    def test_text_has_all_tables(self, folder: Path) -> None:
        done = rep("survey", folder, "--jobs", 1, "--lint")
        assert (done.status, done.err) == (0, "")
        assert done.out.startswith("9 captures of 9 hosts; 9 robots.txt files, 8 different ones\n")
        lines = done.out.splitlines()
        assert any(line.split()[:4] == ["full", "2", "9", "22.2%"] for line in lines)
        assert any(line.startswith("gptbot") and "OpenAI" in line for line in lines)
        for title in ("All other crawlers", "Distributions", "Use of content", "Lint"):
            assert title in lines

    def test_bad_records_are_counted(self, tmp_path: Path) -> None:
        path = tmp_path / "x.jsonl"
        path.write_text('{"host": "a", "body": ""}\n{broken\n{"host": "b"}\n')
        done = rep("survey", path, "--jobs", 1)
        assert done.status == 0
        assert "no-json  1" in done.out
        assert "no-body  1" in done.out


class TestJson:
    def test_json_has_definitions_and_statistics(self, folder: Path) -> None:
        found = _json(folder, "--lint")
        assert found["definitions"].keys() == found["statistics"].keys()
        assert {*ANSWER_FACTS, *BODY_FACTS} <= {*found["statistics"]}
        rules = found["statistics"]["rules"]
        names = {"sum", "files_with", "min", "p10", "p25", "p50", "p75", "p90", "p99", "max"}
        assert names | {"mean", "share", "low", "high", "of", "denominator"} == {*rules}
        assert found["is_partial"] is False
        assert found["inputs"] == [str(folder)]

    def test_agents_select_crawlers(self, folder: Path) -> None:
        agents = _json(folder, "--agents", "ai-training,foobot")["statistics"]["agents"]
        assert {"gptbot", "ccbot", "foobot", "google-extended"} <= {*agents}
        assert "googlebot" not in agents

    def test_inputs_of_all_kinds_agree(self, folder: Path, tmp_path: Path) -> None:
        one = _json(folder)["statistics"]
        two = _json(folder, inputs.warc(SMALL.items(), tmp_path))["statistics"]
        assert two["files"]["files_with"] == 2 * one["files"]["files_with"]
        assert two["sha256"] == one["sha256"]


class TestFiles:
    def test_merged_parts_equal_the_whole(self, tmp_path: Path) -> None:
        halves = [*SMALL.items()][:4], [*SMALL.items()][4:]
        names = []
        for number, half in enumerate(halves):
            (tmp_path / str(number)).mkdir()
            source = inputs.folder(half, tmp_path / str(number))
            names.append(tmp_path / f"{number}.json")
            arguments = ("--jobs", 1, "--lint", "-o", names[-1])
            assert rep("survey", source, *arguments).status == 0
        whole = inputs.folder(SMALL.items(), tmp_path)
        done = rep("survey", whole, "--jobs", 1, "--lint", "--json")
        merged = rep("survey", "merge", *names, "--json")
        found, expected = json.loads(merged.out), json.loads(done.out)
        for part in ("statistics", "definitions", "sums"):
            assert found[part] == expected[part]
        assert rep("survey", "merge", *reversed(names), "-o", tmp_path / "m.json").status == 0
        assert json.loads((tmp_path / "m.json").read_text())["sums"] == expected["sums"]
        done = rep("survey", "merge", *names, "-o", tmp_path / "none" / "m.json")
        assert (done.status, "No such file" in done.err) == (2, True)

    def test_diff_shows_clear_changes(self, tmp_path: Path) -> None:
        names = []
        for year, body in (("2025", b"User-agent: *\nDisallow:\n"), ("2026", SMALL["ai.example"])):
            (tmp_path / year).mkdir()
            files = [(f"h{n}.example", body) for n in range(40)]
            names.append(tmp_path / f"{year}.json")
            source = inputs.folder(files, tmp_path / year)
            assert rep("survey", source, "--jobs", 1, "-o", names[-1]).status == 0
        done = rep("survey", "diff", *names)
        assert done.status == 0
        assert "purposes.ai" in done.out
        assert "+100.00" in done.out
        found = json.loads(rep("survey", "diff", *names, "--json").out)
        assert found["agents.gptbot"]["is_clear"] is True
        same = rep("survey", "diff", names[0], names[0])
        assert same.out.startswith("0 shares changed")

    def test_diff_shows_each_name_in_one_line(self, tmp_path: Path) -> None:
        """A saved survey may come from others, and have any text as a name."""
        names = [tmp_path / "2025.json", tmp_path / "2026.json"]
        for name, key in zip(names, ("ordinary", "forged\nline"), strict=True):
            body = b"User-agent: *\nDisallow:\nforged-line: x\n"
            (tmp_path / key[:6]).mkdir()
            files = [(f"h{n}.example", body) for n in range(40)]
            source = inputs.folder(files, tmp_path / key[:6])
            assert rep("survey", source, "--jobs", 1, "-o", name).status == 0
            text = name.read_text().replace('"forged-line"', json.dumps(key))
            name.write_text(text)
        done = rep("survey", "diff", *names)
        assert (done.status, done.err) == (0, "")
        assert "other_keys.forged\\nline" in done.out

    @pytest.mark.slow  # it needs a package of others
    def test_facts_are_written_to_parquet(self, folder: Path, tmp_path: Path) -> None:
        pytest.importorskip("pyarrow", reason="needs pyarrow")
        from pyarrow import parquet

        path = tmp_path / "facts.parquet"
        assert rep("survey", folder, "--jobs", 1, "--lint", "--facts", path).status == 0
        table = parquet.read_table(path)
        assert {*table.column_names} == {*ANSWER_FACTS, *BODY_FACTS}
        assert len(table.column_names) == 49
        rows = {row["host"]: row for row in table.to_pylist()}
        assert rows["ai.example"]["agents"] == [("gptbot", "full"), ("ccbot", "full")]
        assert rows["ai.example"]["crawl_delay_star"] == 10.0
        assert rows["closed.example"]["star_class"] == "full"
        assert len(rows["open.example"]["sha256"]) == 32
        assert not [*tmp_path.glob(".*")]

    @pytest.mark.slow  # it needs a package of others
    def test_failed_survey_leaves_no_file(self, tmp_path: Path) -> None:
        pytest.importorskip("pyarrow", reason="needs pyarrow")
        assert rep("survey", tmp_path / "nowhere", "--facts", tmp_path / "f.parquet").status == 2
        assert not [*tmp_path.iterdir()]


class TestDamage:
    """Damaged parts of inputs are reported, and the survey is partial."""

    @pytest.mark.parametrize(("kind", "jobs"), [(inputs.warc, 1), (inputs.resources, 2)])
    def test_damaged_file_is_read_as_far_as_possible(
        self, kind: Any, jobs: int, tmp_path: Path
    ) -> None:
        files = [(f"h{n}.example", random.Random(n).randbytes(500)) for n in range(500)]
        path = kind(files, tmp_path)
        octets = bytearray(path.read_bytes())
        place = octets.index(b"WARC/", 10_000) if kind is inputs.resources else 10_000
        octets[place] ^= 1
        path.write_bytes(octets)
        done = rep("survey", path, "--json", "--jobs", jobs)
        found = json.loads(done.out)
        assert (done.status, found["is_partial"]) == (4, True)
        assert 0 < found["statistics"]["captures"]["sum"] < 100
        told = re.search(r"([0-9,]+) of ([0-9,]+) octets", done.err)
        assert told is not None, done.err
        read, of = (int(number.replace(",", "")) for number in told.groups())
        assert of == len(octets)
        assert 9_000 < read < 20_000, "gzip reads ahead a little"
        assert path.name in done.err
        assert "shares are of what was read" in done.err


class TestInterrupts:
    @pytest.mark.slow  # it needs a package of others
    def test_interrupt_does_not_split_a_part(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        pq = pytest.importorskip("pyarrow.parquet")
        folder = inputs.folder(((f"h{n}", b"User-agent: *") for n in range(600)), tmp_path)
        update = Aggregate.update

        def interrupted(self: Aggregate, other: Aggregate) -> None:
            os.kill(os.getpid(), signal.SIGINT)
            update(self, other)

        monkeypatch.setattr(Aggregate, "update", interrupted)
        rows = tmp_path / "facts.parquet"
        done = rep(*["survey", folder, "--jobs", 1, "--json", "--facts", rows])
        assert done.status == 130
        assert json.loads(done.out)["statistics"]["captures"]["sum"] == _PART
        assert pq.read_table(rows).num_rows == _PART

    @pytest.mark.slow
    def test_killed_process_ends_the_survey(self, tmp_path: Path) -> None:
        with _survey_of_many(tmp_path) as process:
            os.kill(_workers_at_work(process)[0], signal.SIGKILL)
            out, err = process.communicate(timeout=60)
        assert process.returncode == 130, err
        assert b"a process was killed" in err
        assert json.loads(out)["is_partial"] is True
        assert b"Traceback" not in err

    @pytest.mark.slow
    @pytest.mark.parametrize("seconds", [0.0, *at_length([None])])  # as they begin, and at work
    def test_ctrl_c_ends_all_processes(self, tmp_path: Path, seconds: float | None) -> None:
        with _survey_of_many(tmp_path) as process:
            children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
            while children.exists() and len(children.read_text().split()) < 2:
                assert process.poll() is None
                time.sleep(0.05)
            if seconds is None:
                _workers_at_work(process)
            else:
                time.sleep(seconds)
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=60)
        assert process.returncode == 130, err
        found = json.loads(out)
        assert found["is_partial"] is True
        assert found["statistics"]["captures"]["sum"] < _MANY
        assert b"Traceback" not in err


def _survey_of_many(folder: Path) -> subprocess.Popen[bytes]:
    """A survey by two processes that takes minutes."""
    files = ((f"{n}.example", b"User-agent: *\nDisallow: /%d\n" % n) for n in range(_MANY))
    path = str(inputs.lines(files, folder))
    arguments = ["rep", "survey", path, "--jobs", "2", "--lint", "--json"]
    return subprocess.Popen(
        [sys.executable, "-m", "scrapy", *arguments],
        cwd=REPOSITORY,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def _workers_at_work(process: subprocess.Popen[bytes]) -> list[int]:
    """The two workers of a survey, once each has used more time than its imports take."""
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    while True:
        assert process.poll() is None
        workers = [int(pid) for pid in children.read_text().split() if _is_worker(pid)]
        if len(workers) == 2 and min(map(_cpu_seconds, workers)) > _WORK_SECONDS:
            return workers
        time.sleep(0.05)


def _cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def test_sentences_fit_the_terminal(tmp_path: Path) -> None:
    narrow = {"COLUMNS": "80", "NO_COLOR": "1"}
    path = tmp_path / "files.jsonl"
    path.write_text(json.dumps({"host": "a.example", "body": "User-agent: *\nDisallow: /\n"}))
    shown = rep("survey", path, is_terminal=True, environment=narrow)
    assert shown.status == 0
    assert "The restriction of '*' by verdicts" in shown.out
    assert max(map(len, shown.out.splitlines())) <= 80
    assert max(map(len, rep("survey", path, environment=narrow).out.splitlines())) > 80

"""Inputs and surveys that were made to break a survey: a reason is counted, or words are said."""

from __future__ import annotations

import gzip
import json
import os
import sqlite3
import tracemalloc
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from scrapy_rep.extras.survey.aggregate import Aggregate
from scrapy_rep.extras.survey.captures import Bad, Capture
from scrapy_rep.extras.survey.changes import changes_between
from scrapy_rep.extras.survey.inputs import json_lines
from scrapy_rep.extras.survey.inputs.tasks import tasks_of
from scrapy_rep.extras.survey.saved import Survey
from tests.commands.calling import Done, rep
from tests.extras.survey import inputs
from tests.extras.survey.files import SMALL, captures

BIG = 10**400
RULES = "User-agent: *\nDisallow: /\n"


def _found(path: Path) -> list[Capture | Bad]:
    return [one for task in tasks_of(path) for one in task()]


def _reasons(found: list[Capture | Bad]) -> Counter[str]:
    return Counter(one.reason for one in found if isinstance(one, Bad))


def _everything(path: Path, at: Path) -> Done:
    """A survey with every kind of output."""
    rows = ["--facts", str(at / "facts.parquet"), "--lint"]
    for output in ("o.json", "o.html"):
        done = rep("survey", path, "--jobs", 1, *rows, "-o", at / output)
        assert done.status == 0, done.err
    return rep("survey", path, "--jobs", 1)


def _lines(at: Path, *lines: Any) -> Path:
    path = at / "x.jsonl"
    texts = (line if isinstance(line, str) else json.dumps(line) for line in lines)
    path.write_text("".join(f"{text}\n" for text in texts))
    return path


def _exported(**facts: Any) -> dict[str, Any]:
    copy = {"event": "200", "headers": {}, "hops": [], "fetched_at": 1.0, "body": "", **facts}
    return {"origin": "http://a.example", "copy": copy, "outage": None}


class TestNumbersOutOfRange:
    def test_numbers_out_of_range_in_lines_are_ignored(self, tmp_path: Path) -> None:
        pytest.importorskip("pyarrow")
        names = ("hops", "max_age", "status", "port")
        rows = [(name, number) for name in names for number in (BIG, 2**63, -1, 1e999, True)]
        lines = [{"host": "a", "body": RULES, name: number} for name, number in rows]
        greatest = {"host": "a", "body": RULES, "hops": 2**63 - 1, "port": 2**63 - 1}
        path = _lines(tmp_path, *lines, greatest)
        assert _everything(path, tmp_path).out.startswith("21 captures of 1 host; 21 robots.txt")
        *found, last = _found(path)
        assert [getattr(one, name) for one, (name, _) in zip(found, rows, strict=True)] == [
            None
        ] * 20
        assert isinstance(last, Capture)
        assert last.hops == 2**63 - 1

    def test_numbers_in_an_exported_cache(self, tmp_path: Path) -> None:
        pytest.importorskip("pyarrow")
        path = _lines(
            tmp_path,
            _exported(fetched_at=BIG),
            _exported(event="9" * 400),
            _exported(event="\ud800"),
            _exported(headers={"cache-control": f"max-age={'9' * 18}"}),
        )
        done = _everything(path, tmp_path)
        assert done.out.startswith("3 captures")
        assert _reasons(_found(path)) == {"bad-field": 1}


class TestNamesThatAreNotText:
    def test_lone_surrogates_reach_no_output(self, tmp_path: Path) -> None:
        pytest.importorskip("pyarrow")
        fields = ("host", "failure", "scheme", "media_type", "date", "body")
        lines = [{"host": "a", "body": RULES, field: "a\ud800/b"} for field in fields]
        done = _everything(_lines(tmp_path, *lines), tmp_path)
        assert done.out.startswith("6 captures")
        assert "\ud800" not in (tmp_path / "o.html").read_text()

    def test_names_of_files_that_are_not_utf_8(self, tmp_path: Path) -> None:
        pytest.importorskip("pyarrow")
        folder = tmp_path / "folder"
        folder.mkdir()
        with open(os.fsencode(folder) + b"/\xff\xfe.example", "wb") as file:
            file.write(RULES.encode())
        assert _everything(folder, tmp_path).out.startswith("1 capture ")

    def test_markup_stays_text(self, tmp_path: Path) -> None:
        pytest.importorskip("pyarrow")
        name = '"><img src=x onerror=alert(1)>\x1b[31m'
        line = {"host": name, "failure": name, "scheme": name}
        rules = {"host": name, "body": f"User-agent: {name}\n{name}: x\n{RULES}"}
        done = _everything(_lines(tmp_path, line, rules), tmp_path)
        assert "\x1b" not in done.out
        assert "<img" not in (tmp_path / "o.html").read_text()


class TestPipes:
    """A pipe or a device is not opened: reading it might never end."""

    @pytest.mark.parametrize("name", ["pipe", "/dev/zero"])
    def test_as_an_input(self, name: str, tmp_path: Path) -> None:
        os.mkfifo(tmp_path / "pipe")
        done = rep("survey", tmp_path / name, "--jobs", 1)
        assert done.status == 2
        assert "not a regular file" in done.err

    def test_in_a_trail(self, tmp_path: Path) -> None:
        (tmp_path / "manifest.json").write_text('{"segments": []}')
        os.mkfifo(tmp_path / "1-00001.jsonl")
        assert _reasons(_found(tmp_path)) == {"damaged": 1}
        (tmp_path / "manifest.json").unlink()
        os.mkfifo(tmp_path / "manifest.json")
        assert _reasons(_found(tmp_path)) == {"damaged": 1}


class TestBombs:
    def _peak(self, path: Path) -> tuple[list[Capture | Bad], float]:
        tracemalloc.start()
        try:
            return _found(path), tracemalloc.get_traced_memory()[1] / 1e6
        finally:
            tracemalloc.stop()

    def test_declared_gigabyte_takes_no_memory(self, tmp_path: Path) -> None:
        head = b"WARC/1.0\r\nWARC-Type: response\r\nContent-Length: 1000000000\r\n"
        head += b"WARC-Target-URI: http://a.example/robots.txt\r\n\r\nHTTP/1.1 200 OK\r\n\r\n"
        path = tmp_path / "x.warc.gz"
        path.write_bytes(gzip.compress(head + b"x: y"))
        found, peak = self._peak(path)
        assert _reasons(found) == {"damaged": 1}
        assert peak < 40

    def test_unpacked_record_is_cut(self, tmp_path: Path) -> None:
        """A few kilobytes that unpack to 150 MB: 16 are kept, and what follows is read."""
        octets = 150_000_000
        body = inputs.answer(RULES.encode()) + b"\n" * octets
        uri = "http://a.example/robots.txt"
        path = tmp_path / "x.warc.gz"
        last = inputs.record("resource", b"x: y", "http://b.example/robots.txt")
        with path.open("wb") as file:
            file.write(gzip.compress(inputs.record("response", body, uri), 1) + gzip.compress(last))
        del body
        found, peak = self._peak(path)
        assert [one.host for one in found if isinstance(one, Capture)] == ["a.example", "b.example"]
        assert peak < 120

    def test_endless_line_is_skipped(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        monkeypatch.setattr(json_lines, "LINE_OCTETS", 1 << 20)
        path = tmp_path / "x.jsonl.gz"
        with gzip.open(path, "wb", 1) as file:
            file.write(b'{"host": "' + b"a" * 40_000_000 + b'"}\n{"host": "a", "body": ""}\n')
        found, peak = self._peak(path)
        assert _reasons(found) == {"too-long": 1}
        assert len(found) == 2
        assert peak < 20


class TestStores:
    def test_rows_far_apart_are_read(self, tmp_path: Path) -> None:
        """A store that is old, or made up: rows between that are not there cost nothing."""
        path = inputs.store(SMALL.items(), tmp_path)
        with sqlite3.connect(path) as connection:
            rows = connection.execute("select rowid from files_3 order by rowid").fetchall()
            for place, (row,) in enumerate(rows):
                connection.execute(
                    "update files_3 set rowid = ? where rowid = ?", ((place - 2) << 60, row)
                )
        connection.close()
        tasks = [*tasks_of(path)]
        assert len(tasks) == len(SMALL)
        assert len(_found(path)) == len(SMALL)

    def test_damaged_page_loses_only_its_rows(self, tmp_path: Path) -> None:
        """The rows on other pages are read."""
        path = inputs.store([(f"h{n}.example", b"x: y" * 400) for n in range(3000)], tmp_path)
        with sqlite3.connect(path) as connection:
            connection.execute("pragma wal_checkpoint(truncate)")
            (size,) = connection.execute("pragma page_size").fetchone()
        connection.close()
        octets = bytearray(path.read_bytes())
        pages = len(octets) // size
        for page in range(pages // 2, pages // 2 + 4):
            octets[page * size : (page + 1) * size] = b"\xff" * size
        path.write_bytes(octets)
        found = _found(path)
        whole = [one for one in found if isinstance(one, Capture)]
        assert 0 < _reasons(found)["damaged"] < 1500
        assert len(whole) > 2000
        assert len({one.host for one in whole}) == len(whole)

    def test_rows_of_other_types_are_damaged(self, tmp_path: Path) -> None:
        path = inputs.store(SMALL.items(), tmp_path)
        with sqlite3.connect(path) as connection:
            for key, record in (
                ("cast(x'fffe' as text)", "x'00'"),
                ("x'ff'", "x'00'"),
                ("'[]'", "x'00'"),
                ("7", "'x'"),
            ):
                connection.execute(
                    f"insert into files_3 (key, changed_at, record) values ({key}, 1, {record})"
                )
        connection.close()
        found = _found(path)
        assert _reasons(found) == {"damaged": 4}
        assert len(found) == len(SMALL) + 4


def _document() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(Survey(Aggregate.of(captures(), with_lint=True)).to_json())
    return found


_NO_SUMS = '{"sums": 3, "inputs": [], "is_partial": false}'


class TestInvalidSurveys:
    """They are refused in words, whatever is made of them."""

    @pytest.mark.parametrize("action", ["merge", "diff"])
    def test_sums_of_another_version(self, action: str, tmp_path: Path) -> None:
        good, bad = _document(), _document()
        bad["sums"].update(version=2)
        for document, path in ((good, "good.json"), (bad, "bad.json")):
            (tmp_path / path).write_text(json.dumps(document))
        done = rep("survey", action, tmp_path / "good.json", tmp_path / "bad.json")
        assert done.status == 2
        assert "bad.json" in done.err

    @pytest.mark.parametrize("text", ['{"sums":' + "[" * 100_000, "[]", _NO_SUMS, "", "\0"])
    def test_document_that_is_no_survey_is_refused(self, text: str, tmp_path: Path) -> None:
        (tmp_path / "bad.json").write_text(text)
        done = rep("survey", "merge", tmp_path / "bad.json")
        assert done.status == 2
        assert "Expecting value" not in done.err
        assert "bad.json: it does not hold a survey; " in done.err

    def test_names_are_text_everywhere(self, tmp_path: Path) -> None:
        name = "\x1b[31m<img src=x>\ud800"
        document = _document()
        document["sums"]["names"]["counts"][name] = [3, 0, 0]
        document["sums"]["other_keys"]["counts"][name] = [3, 3]
        document["sums"]["counts"][f"status:{name}"] = 3
        document["inputs"] = [name]
        (tmp_path / "bad.json").write_text(json.dumps(document))
        good = tmp_path / "good.json"
        good.write_text(json.dumps(_document()))
        for arguments in (["merge", tmp_path / "bad.json"], ["diff", good, tmp_path / "bad.json"]):
            done = rep("survey", *arguments)
            assert done.status == 0, done.err
            assert "\x1b" not in done.out
            assert rep("survey", *arguments, "-o", tmp_path / "o.html").status == 0
            assert "<img" not in (tmp_path / "o.html").read_text(encoding="utf-8")


def _survey(bodies: list[bytes], *, with_lint: bool = False, **facts: Any) -> Survey:
    some = [Capture(f"h{n}.example", body=body, **facts) for n, body in enumerate(bodies)]
    return Survey(Aggregate.of(some, with_lint=with_lint))


class TestUnequalSurveys:
    """Two surveys are compared in what both of them tell."""

    _BODIES = (b"Disallow /x\n", RULES.encode()) * 200

    def test_lint_is_compared_only_if_both_have_it(self) -> None:
        plain, linted = (_survey([*self._BODIES], with_lint=lint) for lint in (False, True))
        assert changes_between(plain, linted) == changes_between(linted, plain) == []
        clean = _survey([RULES.encode() + b"Sitemap: https://a/\n"] * 400, with_lint=True)
        names = {one.name for one in changes_between(clean, linted)}
        assert any(name.startswith("lint.") for name in names)

    def test_answers_are_compared_only_if_both_have_them(self) -> None:
        told = _survey([*self._BODIES], status=200, media_type="text/plain", scheme="http", port=80)
        names = {one.name for one in changes_between(_survey([*self._BODIES]), told)}
        assert names == {"scheme.http", "scheme.unknown"}

    def test_new_failures_are_changes(self) -> None:
        up = Survey(Aggregate.of(Capture(f"h{n}", status=404) for n in range(400)))
        down = Survey(Aggregate.of(Capture(f"h{n}", failure="timeout") for n in range(400)))
        found = {one.name: one for one in changes_between(up, down)}
        assert found["failure.timeout"].before == (0, 400)
        assert found["failure.timeout"].is_clear
        assert found["status.404"].after == (0, 400)

    def test_rare_names_and_keys_are_looked_up(self) -> None:
        """A name that is not among the most usual ones of a survey may still be in it."""
        many = b"".join(b"User-agent: bot%d\nkey%d: x\n" % (n, n) for n in range(100, 400))
        rare = b"User-agent: zbot\nzkey: x\nDisallow: /\n"
        before = _survey([many + RULES.encode()] * 4 + [rare] * 2)
        after = _survey([RULES.encode()] * 4 + [rare] * 2)
        said = before.report()["statistics"]
        assert "zbot" not in said["agents"]
        assert "zkey" not in said["other_keys"]
        names = {one.name for one in changes_between(before, after)}
        assert "agents.bot100" in names
        assert "other_keys.key100" in names
        assert "agents.zbot" not in names
        assert "other_keys.zkey" not in names

"""Every kind of input: the same facts for the same files, and nothing in it that is fatal."""

from __future__ import annotations

import base64
import gzip
import json
import os
from collections import Counter
from collections.abc import Callable
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_rep.cache.base import StoreError
from scrapy_rep.extras.survey.aggregate import Aggregate
from scrapy_rep.extras.survey.captures import Bad, Capture, row_of
from scrapy_rep.extras.survey.facts import facts
from scrapy_rep.extras.survey.inputs import json_lines
from scrapy_rep.extras.survey.inputs import warc_input as warc
from scrapy_rep.extras.survey.inputs.answer_facts import date_at, decoded, unchunked
from scrapy_rep.extras.survey.inputs.tasks import InputError, tasks_of
from scrapy_rep.protocol.access.events import Failure
from tests.extras.survey import inputs
from tests.extras.survey.files import SMALL, captures, corpus
from tests.shared import needs_shared


def _captures(path: Path) -> list[Capture | Bad]:
    return [capture for task in tasks_of(path) for capture in task()]


def _of_octets(found: Aggregate) -> dict[str, Any]:
    """The counts that do not depend on the kind of input."""
    said = found.to_dict()
    answers = ("scheme", "port", "status", "media_type", "cross_host")
    said["counts"] = {n: c for n, c in said["counts"].items() if not n.startswith(answers)}
    said["distributions"] = {
        n: d for n, d in said["distributions"].items() if n not in ("hops", "max_age")
    }
    return {**said, "first_date": "", "last_date": ""}


@pytest.mark.parametrize("kind", inputs.KINDS)
def test_all_kinds_of_input_give_the_same_survey(
    kind: Callable[[inputs.Files, Path], Path], tmp_path: Path
) -> None:
    found = Aggregate.of(_captures(kind(SMALL.items(), tmp_path)), with_lint=True)
    assert _of_octets(found) == _of_octets(Aggregate.of(captures(), with_lint=True))


@needs_shared
@pytest.mark.slow
@pytest.mark.at_length
@pytest.mark.parametrize("kind", inputs.KINDS)
def test_all_kinds_of_input_give_the_same_survey_of_real_files(
    kind: Callable[[inputs.Files, Path], Path], tmp_path: Path
) -> None:
    found = Aggregate.of(_captures(kind(corpus(), tmp_path)))
    assert _of_octets(found) == _said_by_real_files()


@cache
def _said_by_real_files() -> dict[str, Any]:
    return _of_octets(Aggregate.of(Capture(host, body=body) for host, body in corpus()))


def _reasons(found: list[Capture | Bad]) -> Counter[str]:
    return Counter(one.reason for one in found if isinstance(one, Bad))


class TestFolder:
    def test_entries_that_are_not_files_are_counted(self, tmp_path: Path) -> None:
        (tmp_path / "A.example").write_bytes(b"x: y")
        (tmp_path / ".hidden").write_bytes(b"")
        (tmp_path / "folder").mkdir()
        os.mkfifo(tmp_path / "pipe")
        (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
        found = _captures(tmp_path)
        assert [one.host for one in found if isinstance(one, Capture)] == ["a.example"]
        assert _reasons(found) == {"no-file": 2, "unreadable": 1}


class TestLines:
    @pytest.mark.parametrize(
        ("line", "reason"),
        [
            ("nothing", "no-json"),
            ("[" * 100_000, "no-json"),
            ("[]", "no-object"),
            ("{}", "no-host"),
            ('{"host": 3, "body": ""}', "no-host"),
            ('{"host": "a"}', "no-body"),
            ('{"host": "a", "body_b64": "!"}', "no-base64"),
            ('{"host": "a", "body_base64": 3}', "no-base64"),
            ('{"origin": "x", "copy": null, "outage": null}', "no-body"),
            ('{"origin": "http://", "copy": null, "outage": null}', "bad-field"),
        ],
    )
    def test_bad_line_has_a_reason(self, line: str, reason: str) -> None:
        assert [*json_lines.captures_in([line, "", " \n"])] == [Bad(reason)]

    def test_line_can_have_all_fields(self) -> None:
        line = {
            "host": "A.Example",
            "scheme": "HTTPS",
            "port": 444,
            "date": "2026-01-02T03:04:05.678Z",
            "status": 200,
            "hops": 1,
            "cross_host": True,
            "media_type": "Text/Plain; charset=x",
            "max_age": 60,
            "body": "Disallow: /ä",
        }
        (found,) = json_lines.captures_in([json.dumps(line)])
        assert found == Capture(
            "a.example",
            "https",
            444,
            "2026-01-02T03:04:05Z",
            200,
            "",
            1,
            True,
            "text/plain",
            60,
            "Disallow: /ä".encode(),
        )

    def test_answer_without_a_file_is_a_capture(self) -> None:
        (found,) = json_lines.captures_in(
            ['{"host": "a", "status": 404, "port": -1, "hops": true}']
        )
        assert found == Capture("a", status=404)

    def test_exported_cache_is_read(self) -> None:
        copy = {
            "event": "200",
            "hops": ["http://a.example/robots.txt", "https://b.example/robots.txt"],
            "headers": {"content-type": "text/plain", "cache-control": "public, max-age=60"},
            "fetched_at": 1767323045.5,
            "body_base64": base64.b64encode(b"\xff").decode(),
        }
        outage = {"event": "dns", "hops": [], "failed_at": 1e300}
        one, other = json_lines.captures_in(
            [
                json.dumps({"origin": "http://a.example", "copy": copy, "outage": outage}),
                json.dumps({"origin": "https://c.example:1", "copy": None, "outage": outage}),
            ]
        )
        assert one == Capture(
            *("a.example", "http", 80, "2026-01-02T03:04:05Z", 200, "", 1),
            *(True, "text/plain", 60, b"\xff"),
        )
        assert other == Capture("c.example", "https", 1, failure="dns", hops=0, cross_host=False)

    def test_too_long_line_is_skipped(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        monkeypatch.setattr(json_lines, "LINE_OCTETS", 50)
        path = tmp_path / "x.jsonl"
        long = '{"host": "b", "body": "' + "x" * 400 + '"}'
        path.write_text(f'{{"host": "a", "body": ""}}\n{long}\n{{"host": "c", "body": ""}}\n{long}')
        found = _captures(path)
        assert [one.host for one in found if isinstance(one, Capture)] == ["a", "c"]
        assert _reasons(found) == {"too-long": 2}

    def test_truncated_file_is_damaged(self, tmp_path: Path) -> None:
        path = tmp_path / "x.jsonl.gz"
        lines = [f'{{"host": "{os.urandom(20).hex()}", "body": ""}}\n' for _ in range(3000)]
        path.write_bytes(gzip.compress("".join(lines).encode())[:-5000])
        found = _captures(path)
        assert 500 < sum(isinstance(one, Capture) for one in found) < 3000
        assert _reasons(found)["damaged"] == 1

    @given(st.binary(max_size=80))
    def test_any_line_is_read_without_an_error(self, line: bytes) -> None:
        assert len([*json_lines.captures_in([line])]) <= 1


def _of_warc(*records: bytes) -> list[Capture | Bad]:
    return [*warc.captures_of_stream(BytesIO(b"".join(records)))]


_URI = "https://a.example/robots.txt"


class TestWarc:
    @pytest.mark.parametrize(
        ("kind", "uri", "reason"),
        [
            ("response", "https://a.example/", "not-robots-txt"),
            ("response", "https://a.example/robots.txt?x", "not-robots-txt"),
            ("response", "https://a.example/x/robots.txt", "not-robots-txt"),
            ("response", "https://a.example/login?next=/robots.txt", "not-robots-txt"),
            ("response", "mailto:robots.txt", "no-origin"),
            ("response", "http:///robots.txt", "no-origin"),
            ("response", "", "no-origin"),
            ("revisit", _URI, "revisit"),
            ("conversion", _URI, "other-record"),
        ],
    )
    def test_unusable_record_has_a_reason(self, kind: str, uri: str, reason: str) -> None:
        assert _of_warc(inputs.record(kind, inputs.answer(b""), uri)) == [Bad(reason)]

    @pytest.mark.parametrize("kind", ["warcinfo", "request", "metadata"])
    def test_records_about_records_are_skipped(self, kind: str) -> None:
        assert _of_warc(inputs.record(kind, b"x", _URI)) == []

    def test_redirect_is_a_capture_without_a_file(self) -> None:
        redirect = inputs.answer(b"<html>", "301 Moved", "Location: /x\r\n")
        (found,) = _of_warc(inputs.record("response", redirect, f"<{_URI}>"))
        assert isinstance(found, Capture)
        assert (found.status, found.is_file, found.host, found.port) == (
            301,
            False,
            "a.example",
            443,
        )
        assert (found.date, found.media_type) == ("2026-01-02T03:04:05Z", "text/plain")

    @pytest.mark.parametrize("more", ["Content-Encoding: br\r\n", "Transfer-Encoding: chunked\r\n"])
    def test_coding_of_a_decoded_body_is_ignored(self, more: str) -> None:
        block = inputs.answer(b"User-agent: *\nDisallow: /", more=more)
        (found,) = _of_warc(inputs.record("response", block, _URI))
        assert isinstance(found, Capture)
        assert found.body == b"User-agent: *\nDisallow: /"

    def test_coded_body_is_decoded(self) -> None:
        body = b"User-agent: *\nDisallow: /"
        packed = gzip.compress(body)
        chunked = b"%x;x=y\r\n%s\r\n5\r\n%s\r\n0\r\n\r\n" % (
            len(packed) - 5,
            packed[:-5],
            packed[-5:],
        )
        more = (
            "Content-Encoding: gzip\r\nTransfer-Encoding: chunked\r\nCache-Control: max-age=9\r\n"
        )
        (found,) = _of_warc(
            inputs.record("response", inputs.answer(chunked, more=more), _URI),
        )
        assert isinstance(found, Capture)
        assert (found.body, found.max_age) == (body, 9)

    @pytest.mark.parametrize(
        ("block", "reason"),
        [
            (b"", "no-http"),
            (b"HTTP/1.1 200 OK\r\nX: y", "no-http"),
            (b"nothing\r\n\r\n", "no-http"),
            (
                inputs.answer(b"\x1f\x8b\x00broken", more="Content-Encoding: gzip\r\n"),
                "undecodable",
            ),
        ],
    )
    def test_unreadable_block_has_a_reason(self, block: bytes, reason: str) -> None:
        assert _of_warc(inputs.record("response", block, _URI)) == [Bad(reason)]

    def test_only_files_must_be_decoded(self) -> None:
        answer = inputs.answer(b"\x00broken", more="Content-Encoding: br\r\n")
        (found,) = _of_warc(inputs.record("response", answer.replace(b"200", b"404", 1), _URI))
        assert isinstance(found, Capture)
        assert (found.status, found.body) == (404, None)

    def test_records_behind_damage_are_not_read(self) -> None:
        good = inputs.record("response", inputs.answer(b""), _URI)
        assert [type(one) for one in _of_warc(good, b"damage\r\n", good)] == [Capture, Bad]
        assert _reasons(_of_warc(good, good[:40])) == {"damaged": 1}
        assert _reasons(_of_warc(good, b"WARC/1.0\r\nContent-Length: x\r\n\r\n")) == {"damaged": 1}
        assert _reasons(_of_warc(good, b"WARC/1.0\r\nContent-Length: 9\r\n\r\nx")) == {"damaged": 1}
        assert _reasons(_of_warc(b"WARC/1.0\r\n" + b"a: b\r\n" * 20_000)) == {"damaged": 1}
        packed = gzip.compress(good)
        assert _reasons(_of_warc(packed, packed[:-9])) == {"damaged": 1}
        assert _reasons(_of_warc(packed, b"\x1f\x8b" + b"x" * 50)) == {"damaged": 1}

    def test_folded_fields_of_warc_are_read(self) -> None:
        block = inputs.record(
            "resource", b"x: y", more="WARC-Target-URI:\r\n https://a/robots.txt\r\n"
        )
        (found,) = _of_warc(block)
        assert isinstance(found, Capture)
        assert found.host == "a"

    @given(st.binary(max_size=300))
    def test_any_warc_is_read_without_an_error(self, octets: bytes) -> None:
        assert len(_of_warc(octets)) <= 3
        _of_warc(inputs.record("response", octets, _URI))
        _of_warc(b"\x1f\x8b" + octets)


class TestAnswers:
    @pytest.mark.parametrize(
        ("body", "joined"),
        [
            (b"3\r\nabc\r\n0\r\n\r\n", b"abc"),
            (b"3\nabc\r\n2\r\nde\r\n", b"abcde"),
            (b"3\r\nabcde", b"3\r\nabcde"),
            (b"User-agent: *", b"User-agent: *"),
            (b"", b""),
            (b"0\r\n\r\n", b""),
        ],
    )
    def test_chunked_body_is_joined(self, body: bytes, joined: bytes) -> None:
        assert unchunked(body) == joined

    @pytest.mark.parametrize("named", ["gzip", "br", "aws-chunked"])
    def test_plain_text_ignores_its_coding_field(self, named: str) -> None:
        for body in (b"# Rules\nUser-agent: *\n", b"# R\xe8gles\n", "# Rules".encode("utf-16")):
            assert decoded(body, named) == body
        assert decoded(bytes(40), named) is None

    def test_beginning_of_a_body_counts(self) -> None:
        body = b"User-agent: *\n" * 10
        assert decoded(gzip.compress(body)[:-1], "gzip") == body, "archives cut what they keep"
        assert len(decoded(gzip.compress(bytes(1 << 25), 1), "gzip") or b"") == 1 << 24
        assert decoded(b"\x00\x01broken", "gzip") is None

    def test_instants_of_wrong_clocks(self) -> None:
        assert date_at(1e300) == date_at(float("nan")) == ""


class TestStore:
    def test_entries_of_a_store_are_surveyed(self, tmp_path: Path) -> None:
        hops = ("http://b.example/robots.txt", "https://c.example/robots.txt")
        path = inputs.store_of(
            [
                inputs.entry("a.example", 404, b""),
                inputs.entry("b.example", 200, b"x", hops=hops),
                inputs.outage("d.example", Failure.DNS),
                inputs.outage("e.example", 503),
            ],
            tmp_path,
        )
        before = path.read_bytes()
        found = {one.host: one for one in _captures(path) if isinstance(one, Capture)}
        assert path.read_bytes() == before
        assert (found["a.example"].status, found["a.example"].is_file) == (404, False)
        assert (found["b.example"].hops, found["b.example"].cross_host) == (1, True)
        assert (found["b.example"].max_age, found["b.example"].date[:10]) == (60, "2026-01-02")
        assert (found["d.example"].failure, found["d.example"].status) == ("dns", None)
        assert (found["e.example"].failure, found["e.example"].status) == ("", 503)

    def test_while_a_crawl_writes(self, tmp_path: Path) -> None:
        from scrapy_rep.cache.sqlite import SqliteStore

        path = inputs.store(SMALL.items(), tmp_path)
        store = SqliteStore(path, 1 << 30)
        try:
            store.commit(inputs.entry("new.example", 200, b""), None).result()
            assert len(_captures(path)) == len(SMALL) + 1
        finally:
            store.close()

    def test_other_databases_are_no_store(self, tmp_path: Path) -> None:
        import sqlite3

        path = tmp_path / "x.sqlite"
        with sqlite3.connect(path) as connection:
            connection.execute("create table x (y)")
        connection.close()
        with pytest.raises(StoreError, match="not a store of this version"):
            _captures(path)
        path.write_bytes(b"SQLite format 3\0" + b"x" * 500)
        with pytest.raises(StoreError):
            _captures(path)


class TestKinds:
    def test_missing_input_raises(self, tmp_path: Path) -> None:
        with pytest.raises(InputError, match="No such file"):
            _captures(tmp_path / "nowhere")

    @pytest.mark.parametrize(
        "octets", [b"User-agent: *", b"\x1f\x8bbroken", gzip.compress(b"x", mtime=0)]
    )
    def test_unknown_input_raises(self, octets: bytes, tmp_path: Path) -> None:
        (tmp_path / "x").write_bytes(octets)
        with pytest.raises(InputError, match=r"x: (not a|the file is)"):
            _captures(tmp_path / "x")

    def test_empty_file_has_no_captures(self, tmp_path: Path) -> None:
        (tmp_path / "x").write_bytes(b"")
        assert _captures(tmp_path / "x") == []

    def test_tasks_are_small(self, tmp_path: Path) -> None:
        path = inputs.lines(((f"h{n}", b"x: y") for n in range(1200)), tmp_path)
        assert [len([*task()]) for task in tasks_of(path)] == [500, 500, 200]
        assert row_of(Capture("a", body=b""), facts(b""))["host"] == "a"

"""The adapters for suites of HTTP caches and of structured fields, on cases of our own."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.outside import Case, Checkout, caches, structured_fields

_NO_COMMIT = "0" * 40


def _vectors(folder: Path, *vectors: dict[str, object]) -> dict[str, Case]:
    (folder / "some.json").write_text(json.dumps(vectors))
    return {case.name: case for case in structured_fields.cases(Checkout(folder, _NO_COMMIT))}


class TestStructuredFields:
    def test_a_vector_is_read_and_written(self, tmp_path: Path) -> None:
        expected = [[[[["a", []], [{"__type": "token", "value": "a"}, []]], [["b", 1]]]]]
        vector = {"name": "two items", "header_type": "list", "raw": ['("a"  a);b=1']}
        found = _vectors(
            tmp_path, {**vector, "expected": expected[0], "canonical": ['("a" a);b=1']}
        )
        assert list(found) == ["some:two-items", "write:some:two-items"]
        assert [structured_fields.answered(case.given) for case in found.values()] == [
            case.expected for case in found.values()
        ]

    def test_token_is_not_equal_to_a_string(self, tmp_path: Path) -> None:
        vector: dict[str, object] = {
            "name": "x",
            "header_type": "item",
            "raw": ["a"],
            "expected": ["a", []],
        }
        read = _vectors(tmp_path, vector)["some:x"]
        assert structured_fields.answered(read.given) != read.expected

    def test_vector_that_must_fail_is_refused(self, tmp_path: Path) -> None:
        vectors: list[dict[str, object]] = [
            {"name": raw, "header_type": kind, "raw": [raw], "must_fail": True}
            for kind, raw in [("item", "1, 2"), ("item", ""), ("dictionary", "A=1"), ("list", "1,")]
        ]
        found = _vectors(tmp_path, *vectors)
        answers = {structured_fields.answered(case.given) for case in found.values()}
        assert answers == {case.expected for case in found.values()}
        assert len(answers) == 1


class TestCaches:
    @pytest.mark.parametrize(
        ("age", "second", "is_equal"),
        [(9, "cached", True), (9, "not_cached", False), (2, "not_cached", True)],
    )
    def test_freshness_of_a_second_request_is_judged(
        self, age: int, second: str, is_equal: bool
    ) -> None:
        requests: list[dict[str, Any]] = [
            {"response_headers": [["Cache-Control", f"max-age={age}"]], "pause_after": True},
            {"expected_type": second},
        ]
        told = caches.answered(requests)
        assert (told[1]["from"] == second) is is_equal

    def test_a_304_changes_fields(self) -> None:
        old = [["Cache-Control", "max-age=2"], ["ETag", '"1"'], ["X", "1"]]
        new = [["X", "2"]]
        requests: list[dict[str, Any]] = [
            {"response_headers": old, "pause_after": True},
            {
                "expected_type": "etag_validated",
                "response_headers": new,
                "expected_response_headers": new,
            },
        ]
        assert caches.answered(requests)[1] == {"from": "validated", "fields": {"x": "2"}}

    @pytest.mark.skipif(not shutil.which("node"), reason="Node.js is not installed")
    def test_cases_of_others_are_left_out(self, tmp_path: Path) -> None:
        plain: list[dict[str, Any]] = [
            {"response_headers": [["Expires", -1]]},
            {"expected_type": "not_cached"},
        ]
        asking = [plain[0], {**plain[1], "request_headers": [["Pragma", "no-cache"]]}]
        tests = [
            {"id": "ours", "requests": plain},
            {"id": "shared", "requests": plain, "browser_skip": True},
            {"id": "open", "requests": plain, "kind": "check"},
            {"id": "asking", "requests": asking},
        ]
        (tmp_path / "tests").mkdir()
        (tmp_path / "tests" / "index.mjs").write_text(
            f"export default [{{tests: {json.dumps(tests)}}}]"
        )
        (case,) = caches.cases(Checkout(tmp_path, _NO_COMMIT))
        assert case.name == "ours"
        assert caches.answered(case.given) == case.expected

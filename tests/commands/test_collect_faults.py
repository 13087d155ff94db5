"""``scrapy rep collect`` over sites with every kind of answer, stopped and called again."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.commands.collected import collect, crawled, differences, fault_sites

_AT_ONCE = 32
_TIMEOUT_SECONDS = 6


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize("copies", [1, pytest.param(10, marks=pytest.mark.at_length)])
def test_stored_answers_equal_those_of_a_crawl(copies: int, tmp_path: Path) -> None:
    with fault_sites() as sites:
        found = collect(sites, copies, tmp_path, at_once=_AT_ONCE, timeout_seconds=_TIMEOUT_SECONDS)
        assert found.wrong == []
        assert found.again_count == 0, "a stop finishes open fetches"
        of_a_crawl = crawled(sites, copies, tmp_path, timeout_seconds=_TIMEOUT_SECONDS)
    assert differences(found.known, of_a_crawl) == []

"""The page of a survey: what it shows, that nothing in it runs, and how a browser takes it."""

from __future__ import annotations

from pathlib import Path

import pytest

from scrapy_rep.extras.survey.aggregate import Aggregate
from scrapy_rep.extras.survey.captures import Bad, Capture
from scrapy_rep.extras.survey.saved import Survey
from tests.commands.calling import rep
from tests.extras.evidence.html_pages import (
    assert_inert,
    assert_readable_in_a_browser,
    needs_browser,
)
from tests.extras.survey import inputs
from tests.extras.survey.files import SMALL, captures

pytest.importorskip("jinja2", reason="needs Jinja")

HOSTILE = '"><script>alert(1)</script><img src=x onerror=alert(2)>\u202e\x1b'
# A name of these characters is counted, and a host may hold any.
BODY = b"User-agent: --><!--\nUser-agent: {{7*7}}\nDisallow: /\nUser-agent: gptbot\nDisallow: /\n"


def _survey() -> Survey:
    some = [*captures(), Capture(HOSTILE, body=BODY, status=200, media_type="text/html", hops=1)]
    aggregate = Aggregate.of([*some, Bad("no-json")], with_lint=True)
    return Survey(aggregate, (HOSTILE,), is_partial=True)


def _page(before: Survey | None = None) -> str:
    from scrapy_rep.extras.survey.survey_tables import page

    return page(_survey(), None, before)


def test_page_of_a_survey_runs_and_loads_nothing() -> None:
    assert_inert(_page())


def test_page_shows_the_survey() -> None:
    text = _page()
    for words in (
        *["Survey of 10 robots.txt files", "interrupted", "Crawlers by purpose", "GPTBot".lower()],
        *["Distributions", "95&nbsp;%", "no-json"],
    ):
        assert words in text


def test_page_shows_changes_since_another_survey() -> None:
    before = Survey(Aggregate.of([Capture(f"h{n}", body=b"x: y") for n in range(400)]))
    text = _page(before)
    assert "Changes" in text
    assert "files_with_rules" in text
    assert "nothing" in _page(_survey())


def test_command_writes_the_page(tmp_path: Path) -> None:
    folder = inputs.folder(SMALL.items(), tmp_path)
    one, page = tmp_path / "one.json", tmp_path / "page.html"
    assert rep("survey", folder, "--jobs", 1, "-o", one).status == 0
    assert rep("survey", folder, "--jobs", 1, "-o", page).status == 0
    assert "Survey of 9 robots.txt files" in page.read_text()
    assert rep("survey", "diff", one, one, "-o", page).status == 0
    assert "Changes" in page.read_text()


@pytest.mark.slow
@pytest.mark.at_length
@needs_browser
def test_page_of_a_survey_reads_well_in_chromium(tmp_path: Path) -> None:
    """As people see it: light and dark, on paper, on a telephone, with a screen reader."""
    path = tmp_path / "page.html"
    path.write_text(_page(), encoding="utf-8")
    assert_readable_in_a_browser(path)

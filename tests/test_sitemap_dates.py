"""The dates of sitemaps, the date of the user, and the file of the last run."""

from __future__ import annotations

import json
from datetime import date, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scrapy.utils.test import get_crawler

from scrapy_rep import ConfigurationError
from scrapy_rep.sitemaps.entry_dates import Period, period_of, seconds_of, values_of
from scrapy_rep.sitemaps.last_runs import LastRuns
from tests.crawls.sitemap_spider import DatesSpider

DAY = 86_400.0
HALF_DAY = 43_200.0
NOON = datetime(2024, 5, 1, 12, tzinfo=timezone.utc).timestamp()
MIDNIGHT = NOON - HALF_DAY


@pytest.mark.parametrize(
    ("text", "start", "seconds"),
    [
        ("2024-05-01T12:00:00Z", NOON, 1),
        ("2024-05-01T12:00:00.25Z", NOON + 0.25, 1),
        ("2024-05-01t14:00:00+02:00", NOON, 1),
        ("2024-05-01T06:30-0530", NOON, 60),
        (" 2024-05-01 12:00:00 Z\n", NOON, 1),
        ("Wed, 01 May 2024 14:00:00 +0200", NOON, 1),
        ("1 May 2024 12:00:00 GMT", NOON, 1),
        ("Wed, 01 May 24 12:00:00 GMT", NOON, 1),
        ("1 May 24 12:00:00 GMT", NOON, 1),
        ("2024-05-01T12:00:00", NOON, 1 + HALF_DAY),
        ("2024-05-01 12:00", NOON, 60 + HALF_DAY),
        ("2024-05-01", MIDNIGHT, DAY + HALF_DAY),
        ("2024-5-1", MIDNIGHT, DAY + HALF_DAY),
        ("2024-05", MIDNIGHT, 31 * DAY + HALF_DAY),
        ("2024", MIDNIGHT - 121 * DAY, 366 * DAY + HALF_DAY),
    ],
)
def test_date_is_a_period(text: str, start: float, seconds: float) -> None:
    """A date without a time means any time of the day; without a zone, any zone."""
    assert period_of(text) == Period(start, start + seconds)


@pytest.mark.parametrize(
    "text",
    [
        *[
            "",
            "yesterday",
            "2024-13-01",
            "2024-02-30",
            "2024-05-01T25:00Z",
            "0000-00-00",
            "20240501",
        ],
        *["01.05.2024", "2024-05-01T12:00:00+99:00", "2024-05-01T12:00:00Z and", "\u0662024-05-01"],
        *[
            "Wed, 31 Feb 2024 14:00:00 GMT",
            "1 May 024 12:00:00 GMT",
            "1 May 99999 12:00:00 GMT",
            "2024-05-01" + "0" * 5000,
        ],
    ],
)
def test_other_text_is_not_a_date(text: str) -> None:
    assert period_of(text) is None


@given(st.text(max_size=200) | st.text("0123456789-:TZ+. ,MayWed", max_size=40))
def test_no_text_raises(text: str) -> None:
    period = period_of(text)
    assert period is None or period.start < period.end


@pytest.mark.parametrize(
    ("lastmod", "is_unchanged"),
    [
        ("2024-04-30T23:59:58Z", True),
        ("2024-05-01T11:59:59Z", True),
        ("2024-05-01T12:00:00Z", False),
        ("2024-04-30", True),
        ("2024-05-01", False),
        ("2024-04", False),
        ("2023", True),
        ("0001-01-01T00:00:00+00:00", False),
        ("1970-01-01T00:00:00Z", False),
        ("2099-01-01", False),
    ],
)
def test_entry_is_unchanged_only_if_that_is_certain(lastmod: str, is_unchanged: bool) -> None:
    """A date that software writes for "unknown" does not count."""
    period = period_of(lastmod)
    assert period is not None
    assert period.is_before(NOON) is is_unchanged


def test_entry_has_values() -> None:
    entry: dict[str, Any] = {"loc": "/1", "lastmod": "2024-05-01T12:00:00Z", "changefreq": "daily"}
    entry |= {"priority": "0.8", "alternate": ["/de", "//[", "http://b/fr"]}
    values, period = values_of(entry, "http://a/x/s.xml")
    assert period == Period(NOON, NOON + 1)
    assert values == {
        "lastmod": "2024-05-01T12:00:00Z",
        "lastmod_time": NOON,
        "changefreq": "daily",
        "priority": 0.8,
        "alternates": ["http://a/de", "http://b/fr"],
    }
    assert json.loads(json.dumps(values)) == values


@pytest.mark.parametrize(
    "entry",
    [
        {},
        {"priority": "nan", "lastmod": "", "alternate": []},
        {"priority": "7", "lastmod": "x" * 101, "changefreq": "x" * 101},
        {"priority": "\u0661", "lastmod": date(2024, 5, 1), "alternate": None},
    ],
)
def test_missing_values_are_empty(entry: dict[str, Any]) -> None:
    values, period = values_of(entry, "http://a/")
    names = ("lastmod", "lastmod_time", "changefreq", "priority")
    assert values == {**dict.fromkeys(names), "alternates": []}
    assert period is None


def test_alternates_are_bounded() -> None:
    """Each request of an entry holds them, so their sizes would be multiplied."""
    values, _ = values_of({"alternate": [f"http://a/{number:04}" for number in range(1000)]}, "")
    assert len(values["alternates"]) == 8192 // len("http://a/0000")


@pytest.mark.parametrize(
    ("since", "seconds"),
    [
        (None, None),
        ("", None),
        ("2024-05-01T12:00:00Z", NOON),
        (" 2024-05-01 ", MIDNIGHT),
        (date(2024, 5, 1), MIDNIGHT),
        (datetime.fromisoformat("2024-05-01T12:00"), NOON),
        (datetime(2024, 5, 1, 14, tzinfo=timezone(timedelta(hours=2))), NOON),
    ],
)
def test_dates_of_the_user(since: Any, seconds: float | None) -> None:
    assert seconds_of(since) == seconds


@pytest.mark.parametrize("since", ["yesterday", "last week", 5, True, ["2024"]])
def test_wrong_date_of_the_user_stops_the_crawl(since: Any) -> None:
    with pytest.raises(ConfigurationError, match=r"since: .* is not a date; give .*'2024-05-31'"):
        DatesSpider.from_crawler(get_crawler(), since=since)


def test_last_run_needs_a_jobdir() -> None:
    with pytest.raises(ConfigurationError, match=r"since = 'last run' needs a JOBDIR; set .* date"):
        DatesSpider.from_crawler(get_crawler(), since="last run")


def test_last_run_is_stored(tmp_path: Path) -> None:
    """Each sitemap has its own time; a run that did not end cleanly does not count."""
    seen = tmp_path / "requests.seen"
    first = LastRuns(tmp_path)
    first.begin()
    assert first.since("http://a/1") is None
    first.note("http://a/1")
    first.end("shutdown")
    seen.touch()

    resumed = LastRuns(tmp_path)
    assert seen.exists(), "the run goes on"
    resumed.begin()
    resumed.note("http://a/2")
    resumed.end("finished")

    killed = LastRuns(tmp_path)
    assert not seen.exists(), "a new run begins"
    times = [killed.since(f"http://a/{number}") for number in (1, 2)]
    killed.begin()
    killed.note("http://a/1")
    seen.touch()

    last = LastRuns(tmp_path)
    assert not seen.exists()
    assert [last.since(f"http://a/{number}") for number in (1, 2)] == times
    assert times[0] is not None
    assert times[1] is not None
    assert times[0] < times[1]


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"read": 5}', '{"read": {"a": "b"}}', "\0"])
def test_damaged_file_of_the_last_run_means_a_first_run(text: str, tmp_path: Path) -> None:
    LastRuns(tmp_path).begin()
    (file,) = tmp_path.iterdir()
    file.write_text(text)
    assert LastRuns(tmp_path).since("http://a/") is None

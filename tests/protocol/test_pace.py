"""Crawl-delay, Request-rate and Visit-time as seconds and times."""

from __future__ import annotations

from calendar import timegm

import pytest

from scrapy_rep.protocol.extensions.pace import Excess, Pace, SitePace, opens_at, pace
from scrapy_rep.protocol.extensions.records import RequestRate, VisitTime

FOREVER = float("inf")


def at(hour: int, minute: int = 0, second: int = 0) -> float:
    return timegm((2026, 11, 21, hour, minute, second))


def found(site_pace: SitePace, now: float = 0.0, excess: Excess = Excess.SKIP) -> Pace:
    return pace(site_pace, now, 300.0, excess)


class TestDelay:
    @pytest.mark.parametrize(
        ("site_pace", "seconds"),
        [
            (SitePace(), 0.0),
            (SitePace(crawl_delay=2.5), 2.5),
            (SitePace(crawl_delay=300.0), 300.0),
            (SitePace(request_rate=RequestRate(1, 5)), 5.0),
            (SitePace(request_rate=RequestRate(4, 60)), 15.0),
            (SitePace(crawl_delay=1.0, request_rate=RequestRate(1, 5)), 1.0),
            (SitePace(crawl_delay=0.0, request_rate=RequestRate(1, 5)), 0.0),
        ],
    )
    def test_the_crawl_delay_decides_else_the_request_rate(
        self, site_pace: SitePace, seconds: float
    ) -> None:
        assert found(site_pace) == Pace(seconds, FOREVER, seconds)

    @pytest.mark.parametrize(
        ("window", "now", "seconds", "until"),
        [
            (VisitTime(360, 525), at(6), 2.0, at(8, 45)),
            (VisitTime(360, 525), at(8, 44, 59), 2.0, at(8, 45)),
            (VisitTime(360, 525), at(8, 45), 0.0, at(30)),
            (VisitTime(360, 525), at(5, 59, 59), 0.0, at(6)),
            (VisitTime(1320, 120), at(23), 2.0, at(26)),
            (VisitTime(1320, 120), at(1), 2.0, at(2)),
            (VisitTime(1320, 120), at(12), 0.0, at(22)),
            (VisitTime(0, 1440), at(12), 2.0, FOREVER),
            (VisitTime(600, 600), at(12), 2.0, FOREVER),
            (VisitTime(1440, 60), at(0, 30), 2.0, at(1)),
        ],
    )
    def test_a_request_rate_holds_in_its_window(
        self, window: VisitTime, now: float, seconds: float, until: float
    ) -> None:
        site_pace = SitePace(request_rate=RequestRate(1, 2, window))
        assert found(site_pace, now) == Pace(seconds, until, seconds)


class TestExcess:
    @pytest.mark.parametrize(
        ("excess", "seconds", "is_skipped"),
        [(Excess.CAP, 300.0, False), (Excess.SKIP, 300.0, True), (Excess.IGNORE, 0.0, False)],
    )
    def test_is_a_table(self, excess: Excess, seconds: float, is_skipped: bool) -> None:
        result = found(SitePace(crawl_delay=86400.0), excess=excess)
        assert result == Pace(seconds, FOREVER, 86400.0, excess, limit_seconds=300.0)
        assert result.is_skipped is is_skipped


class TestVisitTime:
    @pytest.mark.parametrize(
        ("window", "now", "opens"),
        [
            (None, at(12), at(12)),
            (VisitTime(360, 525), at(7), at(7)),
            (VisitTime(360, 525), at(5), at(6)),
            (VisitTime(360, 525), at(9), at(30)),
            (VisitTime(1320, 120), at(12), at(22)),
            (VisitTime(1320, 120), at(1), at(1)),
            (VisitTime(0, 1440), at(3), at(3)),
        ],
    )
    def test_visit_time_opens_when_it_says(
        self, window: VisitTime | None, now: float, opens: float
    ) -> None:
        assert opens_at(window, now) == opens

    def test_it_opens_within_a_day_wherever_one_stands(self) -> None:
        for start in range(0, 1441, 97):
            for stop in range(0, 1441, 89):
                window = VisitTime(start, stop)
                for minute in range(0, 1440, 61):
                    now = at(0, minute)
                    opens = opens_at(window, now)
                    assert now <= opens <= now + 86400
                    assert opens_at(window, opens) == opens

"""Lifetimes of answers, and waits after failures: RFC 9309, 2.4; RFC 9111, 4.2; RFC 9110."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from email.utils import formatdate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_rep.protocol.access.lifetime import (
    Limits,
    lifetime_seconds,
    retry_after_seconds,
    retry_seconds,
)
from scrapy_rep.protocol.units import DAY_SECONDS

NOW = 1_800_000_000.0
HOUR = 3600.0
DAY = 24 * HOUR
LIMITS = Limits()
GOOGLE = Limits(headers_max_seconds=30 * DAY)


def at(seconds: float) -> str:
    """The HTTP date this many seconds from now."""
    return formatdate(NOW + seconds, usegmt=True)


def holds(headers: dict[str, str], limits: Limits = LIMITS) -> float:
    return lifetime_seconds(headers, NOW, limits)


class TestLifetime:
    """2.4: "Crawlers SHOULD NOT use the cached version for more than 24 hours"."""

    def test_defaults_are_those_of_semantics_md(self) -> None:
        assert DAY_SECONDS == DAY
        assert Limits(60, DAY, DAY, 30 * DAY, 30, HOUR, HOUR) == LIMITS

    @pytest.mark.parametrize(
        ("headers", "expected"),
        [
            ({}, DAY),
            ({"cache-control": "max-age=600"}, 600),
            ({"cache-control": "public, Max-Age=600, immutable"}, 600),
            ({"cache-control": 'max-age="600"'}, 600),
            ({"cache-control": "max-age = 600"}, 600),
            ({"cache-control": "max-age=7200, max-age=600"}, 600),
            ({"cache-control": "max-age=600,,\tpublic,max-age=7200"}, 600),
            ({"cache-control": 'a="x, y", max-age="6\\00"'}, 600),
            ({"cache-control": "x-max-age=5, max-age=600"}, 600),
            ({"cache-control": "max-age=600", "age": "100, 500"}, 500),
            ({"cache-control": "max-age=7200", "age": "0, 7200"}, 7200),
            ({"cache-control": "max-age=7200", "age": "7100 , 0"}, 100),
            ({"cache-control": "max-age=7200", "age": "soon, 7200"}, 7200),
            ({"cache-control": "max-age=600", "expires": "0"}, 600),
            ({"cache-control": "max-age=600", "expires": at(7200), "date": at(0)}, 600),
            ({"cache-control": "max-age=600", "age": "500"}, 100),
            ({"expires": at(7200), "date": at(0)}, 7200),
            ({"expires": at(7200)}, 7200),
            ({"expires": at(7200), "date": at(3600)}, 3600),
            ({"expires": at(7200), "date": "rubbish"}, 7200),
            ({"cache-control": "s-maxage=600"}, DAY),  # for shared caches; ours is private
            ({"cache-control": "public"}, DAY),
        ],
    )
    def test_headers_set_the_lifetime(self, headers: dict[str, str], expected: float) -> None:
        assert holds(headers) == expected

    @pytest.mark.parametrize(
        "headers",
        [
            {"cache-control": "max-age=0"},
            {"cache-control": "max-age=59"},
            {"cache-control": "no-store"},
            {"cache-control": "no-cache"},
            {"cache-control": "No-Store, max-age=7200"},
            {"cache-control": "max-age=7200, no-cache"},
            {"cache-control": "max-age=600", "age": "600"},
            {"cache-control": "max-age=600", "age": "600, 0"},
            {"cache-control": "max-age=600", "age": "9999999"},
            {"cache-control": "max-age=600", "age": "9" * 20},
            {"cache-control": f"max-age={'9' * 400}", "age": "9" * 4000},
            {"cache-control": "max-age"},
            {"cache-control": "max-age="},
            {"cache-control": 'max-age=""'},
            {"cache-control": "max-age=soon"},
            {"cache-control": "max-age=-1"},
            {"cache-control": "max-age=1.5e9"},
            {"cache-control": "max-age=7200; public"},
            {"cache-control": "max-age=7200 7200"},
            {"cache-control": "max-age=١٢"},  # digits, but none of HTTP's
            {"cache-control": "max-age=-1", "expires": at(7200), "date": at(0)},
            {"cache-control": "max-age=7200, max-age=abc"},
            {"cache-control": "NO-CACHE"},
            {"cache-control": 'no-cache="set-cookie", max-age=7200'},
            {"expires": "0"},
            {"expires": "-1"},
            {"expires": ""},
            {"expires": at(-7200), "date": at(0)},
            {"expires": at(0), "date": at(0)},
        ],
    )
    def test_short_lifetimes_are_the_minimum(self, headers: dict[str, str]) -> None:
        assert holds(headers) == 60
        if "max-age=59" not in headers.values():
            assert holds(headers, Limits(min_seconds=0)) == 0

    @pytest.mark.parametrize(
        "headers",
        [
            {"cache-control": "max-age=86401"},
            {"cache-control": "max-age=31536000"},
            {"cache-control": "max-age=999999999999999999"},
            {"cache-control": "max-age=" + "9" * 400},
            {"expires": at(365 * DAY), "date": at(0)},
            # Nothing is said.
            {"cache-control": "\x00\xff"},
            {"cache-control": ""},
            {"cache-control": "x-max-age=600"},
            {"cache-control": "max-age-x=600, maxage=600, x-no-store, no-storeroom"},
            {"cache-control": 'community="a, max-age=600, no-store"'},
            {"cache-control": 'community="a\\", max-age=600"'},
            {"cache-control": 'community="never closed, max-age=600'},
            {"cache-control": "s-maxage=0, stale-while-revalidate=9, must-revalidate"},
            {"age": "600"},
        ],
    )
    def test_long_or_missing_lifetimes_are_a_day(self, headers: dict[str, str]) -> None:
        assert holds(headers) == DAY

    def test_google_s_reading_lets_headers_lengthen(self) -> None:
        assert holds({"cache-control": "max-age=172800"}, GOOGLE) == 2 * DAY
        assert holds({"expires": at(3 * DAY), "date": at(0)}, GOOGLE) == 3 * DAY
        assert holds({"cache-control": "max-age=31536000"}, GOOGLE) == 30 * DAY
        assert holds({}, GOOGLE) == DAY, "a file that says nothing is no exception"
        assert holds({"cache-control": "no-store"}, GOOGLE) == 60

    @pytest.mark.parametrize("age", ["soon", "-5", "", "1.5"])
    def test_an_age_that_cannot_be_read_is_none(self, age: str) -> None:
        assert holds({"cache-control": "max-age=600", "age": age}) == 600

    def test_expires_is_less_the_age_as_well(self) -> None:
        """RFC 9111, 4.2: fresh while freshness_lifetime > current_age, whichever header said it."""
        assert holds({"expires": at(7200), "date": at(0), "age": "3600"}) == 3600

    @pytest.mark.slow
    @given(
        st.dictionaries(
            st.sampled_from(["cache-control", "expires", "age", "date"]),
            st.one_of(
                st.text(max_size=30),
                st.from_regex(r"(no-cache|max-age=[0-9]{1,9}|,| ){1,4}", fullmatch=True),
                st.integers(-(10**12), 10**12).map(str),
                st.integers(-(10**9), 10**9).map(at),
            ),
        )
    )
    def test_always_within_its_bounds(self, headers: dict[str, str]) -> None:
        assert 60 <= holds(headers) <= DAY
        assert 60 <= holds(headers, GOOGLE) <= 30 * DAY


class TestDates:
    """RFC 9110, 5.6.7: recipients accept all three formats, and all are in GMT."""

    @pytest.fixture(params=["UTC", "Asia/Tokyo", "America/New_York"])
    def _zone(self, request: pytest.FixtureRequest) -> Iterator[None]:
        before = os.environ.get("TZ")
        os.environ["TZ"] = request.param
        time.tzset()
        yield
        if before is None:
            del os.environ["TZ"]
        else:
            os.environ["TZ"] = before
        time.tzset()

    @pytest.mark.parametrize(
        "expires",
        [
            "Fri, 15 Jan 2027 10:00:00 GMT",
            "Friday, 15-Jan-27 10:00:00 GMT",
            "Fri Jan 15 10:00:00 2027",
            "\tFri, 15 Jan 2027 10:00:00 GMT ",
            "FRI, 15 jan 2027 10:00:00 gmt",  # RFC 9111, 4.2
            "Mon, 15 Jan 2027 10:00:00 GMT",  # the weekday is not checked
        ],
    )
    def test_forms_of_expires(self, expires: str) -> None:
        assert holds({"expires": expires, "date": at(0)}) == 7200

    @pytest.mark.parametrize(
        "expires",
        [
            "Fri, 15 Jan 2027 10:00:00 UTC",
            "Fri, 15 Jan 2027 10:00:00 AEST",
            "Fri, 15 Jan 2027 10:00:00 +0000",
            "Fri, 15 Jan 2027 10:00:00",
            "Fri, 15 Jan 2027 10:00 GMT",
            "Fri, 15 Jan 2027 10.00.00 GMT",
            "Thu, 14 Jan 2027 9:00:00 GMT",
            "Fri, 15 Jan 27 10:00:00 GMT",
            "Fri, 15-Jan-2027 10:00:00 GMT",
            "Fri, 15  Jan 2027 10:00:00 GMT",
            "Fri 15 Jan 2027 10:00:00 GMT",
            "15 Jan 2027 10:00:00 GMT",
            "Friday, 15 Jan 2027 10:00:00 GMT",
            "Fri, 15-Jan-27 10:00:00 GMT",
            "Fri Jan 15 10:00:00 2027 GMT",
            "Mon Feb 1 10:00:00 2027",
            "Fri, 15 Jan 2027 24:00:00 GMT",
            "Fri, 15 Jan 2027 10:00:61 GMT",
            "Wed, 31 Feb 2027 10:00:00 GMT",
            "Sat, 00 Jan 2028 10:00:00 GMT",
            "Sat, 15 Jan 0027 10:00:00 GMT",
            "Fri Jan 15 10:00:00 0027",
            "Fri, 15 Jan 2027 10:00:00 GMT, Fri, 15 Jan 2027 10:00:00 GMT",
            "2027-01-15T10:00:00Z",
            '"Fri, 15 Jan 2027 10:00:00 GMT"',
            "1800007200",
        ],
    )
    def test_any_other_form_of_expires_is_in_the_past(self, expires: str) -> None:
        """RFC 9111, 5.3."""
        assert holds({"expires": expires, "date": at(0)}) == 60

    @pytest.mark.parametrize("date", ["Fri, 15 Jan 2027 08:00:00 UTC", "15 Jan 27 8:00 +0000"])
    def test_other_dates_are_read_leniently(self, date: str) -> None:
        assert retry_after_seconds({"retry-after": date}, NOW - 100) == 100
        assert holds({"expires": at(7200), "date": date}) == 7200

    @pytest.mark.usefixtures("_zone")
    @pytest.mark.parametrize(
        "date",
        [
            "Sun, 06 Nov 1994 08:49:37 GMT",
            "Sunday, 06-Nov-94 08:49:37 GMT",
            "Sun Nov  6 08:49:37 1994",
        ],
    )
    def test_the_machine_s_time_zone_plays_no_part(self, date: str) -> None:
        instant = 784_111_777.0
        assert retry_after_seconds({"retry-after": date}, instant - 100) == 100


class TestRetryAfter:
    """RFC 9110, 10.2.3: a date, or seconds."""

    @pytest.mark.parametrize(
        ("value", "expected"),
        [
            ("120", 120),
            (" 120 ", 120),
            ("0", 0),
            ("999999999999", 999999999999),
            ("9" * 30, 1e18),
            (at(300), 300),
            (at(-300), 0),
            ("", None),
            ("soon", None),
            ("-5", None),
            ("1.5", None),
            ("٣", None),
            ("Mon, 99 Foo 2026 99:99:99 GMT", None),
            ("\x00", None),
        ],
    )
    def test_retry_after_is_read_in_both_forms(self, value: str, expected: float | None) -> None:
        assert retry_after_seconds({"retry-after": value}, NOW) == expected

    @pytest.mark.parametrize("ahead", [-86400, -3600, 3600, 86400])
    def test_a_date_by_the_clock_of_the_site(self, ahead: float) -> None:
        headers = {"retry-after": at(300), "date": at(0)}
        assert retry_after_seconds(headers, NOW + ahead) == 300
        assert retry_after_seconds({**headers, "age": "100"}, NOW + ahead) == 200, "from a cache"
        assert retry_after_seconds({**headers, "date": "soon"}, NOW) == 300
        assert retry_after_seconds({**headers, "retry-after": "120"}, NOW + ahead) == 120

    def test_missing_retry_after_says_nothing(self) -> None:
        assert retry_after_seconds({}, NOW) is None

    @given(st.text(max_size=40))
    def test_never_raises_and_is_never_negative(self, value: str) -> None:
        seconds = retry_after_seconds({"retry-after": value}, NOW)
        assert seconds is None or seconds >= 0


class TestBackoff:
    """semantics.md, 6: after 30 s, doubling to 1 h, Retry-After obeyed up to 1 h."""

    def test_doubles_to_an_hour(self) -> None:
        waits = [retry_seconds({}, NOW, LIMITS, count=count) for count in range(1, 11)]
        assert waits == [30, 60, 120, 240, 480, 960, 1920, 3600, 3600, 3600]

    @pytest.mark.parametrize("count", [33, 1000, 10**9])
    def test_any_number_of_failures(self, count: int) -> None:
        assert retry_seconds({}, NOW, LIMITS, count=count) == 3600

    def test_the_first_may_be_longer_than_the_longest(self) -> None:
        limits = Limits(retry_first_seconds=100, retry_max_seconds=10)
        assert retry_seconds({}, NOW, limits, count=1) == 10

    @pytest.mark.parametrize(
        ("value", "count", "expected"),
        [
            ("600", 1, 600),
            (at(600), 1, 600),
            ("3601", 1, 3600),
            ("999999999999", 1, 3600),
            ("1", 1, 30),  # a site can't make us ask sooner
            ("0", 3, 120),
            ("600", 7, 1920),
            ("soon", 2, 60),
        ],
    )
    def test_retry_after_stays_within_the_limits(
        self, value: str, count: int, expected: float
    ) -> None:
        assert retry_seconds({"retry-after": value}, NOW, LIMITS, count=count) == expected

    def test_retry_after_may_be_obeyed_for_longer_than_the_backoff_or_not_at_all(self) -> None:
        headers = {"retry-after": "7200"}
        longer = Limits(retry_after_max_seconds=86_400)
        assert retry_seconds(headers, NOW, longer, count=1) == 7200
        never = Limits(retry_after_max_seconds=0)
        assert retry_seconds(headers, NOW, never, count=1) == 30

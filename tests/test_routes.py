"""Which failures are those of a proxy, and which are those of the origin."""

from __future__ import annotations

import pytest
from scrapy import Request

from scrapy_rep.pace.routes import Routes
from scrapy_rep.protocol.access.origin import Origin
from scrapy_rep.protocol.extensions.rest import NO_ANSWER, PageAnswer

URL = "http://site.example/"
ORIGIN = Origin.of(URL)


class Visits:
    """Answers through proxies, each a second after the one before."""

    def __init__(self) -> None:
        self.routes, self.now = Routes(), 0.0

    def has_failed(
        self, proxy: str, status: int, seconds: float = 0.5, retry_after: float | None = None
    ) -> bool:
        """Whether the next answer is a failure of its proxy."""
        self.now += 1
        assert ORIGIN is not None
        request = Request(URL, meta={"proxy": proxy} if proxy else {})
        answer = PageAnswer(status, retry_after, self.now - seconds, self.now, URL)
        return self.routes.has_failed([ORIGIN], request, answer)


@pytest.mark.parametrize("status", [429, 502, 503, NO_ANSWER])
def test_a_proxy_that_fails_while_another_is_well_fails_alone(status: int) -> None:
    visits = Visits()
    for proxy in ("http://a", "http://b"):
        assert not visits.has_failed(proxy, 200)
    assert visits.has_failed("http://a", status)
    assert not visits.has_failed("http://a", 200, seconds=2.5), "it was sent before the failure"
    assert [visits.has_failed("http://a", status) for _ in range(300)] == [True] * 300


def test_a_failure_through_all_proxies_is_that_of_the_origin() -> None:
    visits = Visits()
    for proxy in ("http://a", ""):
        visits.has_failed(proxy, 200)
    assert visits.has_failed("http://a", 503)
    assert not visits.has_failed("", 503)
    assert not visits.has_failed("http://a", 503)


def test_many_proxies_that_fail_one_after_the_other_show_that_the_origin_is_down() -> None:
    visits = Visits()
    for number in range(100):
        visits.has_failed(f"http://{number}", 200)
    failed = [visits.has_failed(f"http://{number}", 502) for number in range(100)]
    assert not any(failed[20:])


def test_a_limit_for_each_address_is_that_of_the_origin() -> None:
    visits = Visits()
    for status in (200, 429, 200):
        for proxy in ("http://a", "http://b"):
            visits.has_failed(proxy, status)
    assert not visits.has_failed("http://a", 429)


def test_a_refusal_without_a_proxy_or_with_a_time_is_that_of_the_origin() -> None:
    visits = Visits()
    for proxy in ("http://a", ""):
        visits.has_failed(proxy, 200)
    assert not visits.has_failed("", 429)
    visits.has_failed("", 200)
    assert not visits.has_failed("http://a", 429, retry_after=60.0)
    assert visits.has_failed("http://a", 429)


def test_a_new_one_of_many_proxies_shows_nothing_although_others_bring_good_answers() -> None:
    visits = Visits()
    failed = [visits.has_failed(f"http://{one}", 429 if one % 2 else 200) for one in range(100)]
    assert not any(failed[20:])


@pytest.mark.parametrize("proxy", ["", "http://a"])
def test_the_only_way_to_an_origin_never_fails_alone(proxy: str) -> None:
    visits = Visits()
    assert not any(visits.has_failed(proxy, status) for status in (200, 503, 200, 429, 502))


def test_a_proxy_that_is_used_no_more_shows_nothing() -> None:
    visits = Visits()
    for proxy in ("http://a", "http://b"):
        visits.has_failed(proxy, 200)
    visits.now += 1000
    assert not visits.has_failed("http://a", 503)

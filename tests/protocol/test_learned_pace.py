"""Tests for the learned pace, against simulated limiters."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable

import pytest

from scrapy_rep.protocol.extensions.learned_pace import Accepted, Learning, Quota, learned
from scrapy_rep.protocol.extensions.rest import NO_ANSWER, PageAnswer, Rest

from .limiters import (
    GOOD,
    Answer,
    Crawler,
    Site,
    at_once,
    bucket,
    fixed_window,
    flaky,
    queue,
    sliding_window,
)

_MANY = 1000


def _paths(count: int) -> list[str]:
    return [f"/{number}" for number in range(count)]


def _limiter(dice: random.Random) -> tuple[str, Site, Callable[[int], float]]:
    """A limiter with usual numbers: its kind, and the least seconds that some pages take."""
    rate, burst, seconds = 10 ** dice.uniform(-0.5, 1.7), int(10 ** dice.uniform(0, 1.5)), 0.0
    kind = dice.choice(["429", "503", "Retry-After", "window", "blind window", "sliding window"])
    if "window" not in kind:
        retry = 2.0 if kind == "Retry-After" else None
        site = bucket(rate, burst, 503 if kind == "503" else 429, retry)
        return kind, site, lambda pages: (pages - burst) / rate
    seconds = float(dice.choice([1, 5, 10, 60]))
    count = max(1, int(rate * seconds))
    made = {
        "window": lambda: fixed_window(count, seconds),
        "blind window": lambda: fixed_window(count, seconds, tells=False),
        "sliding window": lambda: sliding_window(count, seconds),
    }
    return kind, made[kind](), lambda pages: (pages - 1) // count * seconds


def _crawled(seed: int) -> tuple[Crawler, int, str, Callable[[int], float]]:
    """A crawl of a random site: its crawler, its pages, and the limiter with the least seconds."""
    dice = random.Random(seed)
    kind, site, least = _limiter(dice)
    pages, concurrency = dice.choice([100, 300, 1000]), dice.choice([1, 2, 4, 8])
    crawler = Crawler(site, concurrency, 10 ** dice.uniform(-2, 0), seed)
    return crawler.crawl(_paths(pages)), pages, kind, least


def test_no_page_is_lost_with_a_thousand_random_limiters() -> None:
    """And most crawls cause few refusals, and take little more than the least time."""
    good, kinds = Counter[str](), Counter[str]()
    for seed in range(_MANY):
        crawler, pages, kind, least = _crawled(seed)
        assert (crawler.served, crawler.lost) == (pages, 0), (seed, kind)
        assert crawler.refused <= 0.02 * pages + 80, (seed, kind)
        least_seconds = max(least(pages), pages * crawler.latency * 1.1 / crawler.concurrency)
        is_quick = crawler.now <= 1.3 * least_seconds + 10
        good[kind] += is_quick and crawler.refused <= 0.02 * pages + 10
        kinds[kind] += 1
    assert good.total() >= 0.85 * _MANY
    assert all(good[kind] >= 0.65 * count for kind, count in kinds.items()), (good, kinds)


@pytest.mark.parametrize("seed", [1754, 2467, 2861, 6109, 7711])
def test_last_pages_are_not_lost_if_the_site_refuses_them_twice(seed: int) -> None:
    """Nothing else is left that the site could answer well."""
    crawler, pages, *_ = _crawled(seed)
    assert (crawler.served, crawler.lost) == (pages, 0)


@pytest.mark.at_length
def test_only_a_last_page_without_a_learned_pace_is_lost_with_ten_thousand_random_limiters() -> (
    None
):
    """It is refused alone, as a broken page is."""
    for seed in range(_MANY, 11 * _MANY):
        crawler, pages, *_ = _crawled(seed)
        if crawler.learning.pace is not None:
            assert (crawler.served, crawler.lost) == (pages, 0), seed
        else:
            assert crawler.lost <= 1, seed


@pytest.mark.parametrize("status", [429, 503])
@pytest.mark.parametrize("share", [0.001, 0.003])
def test_a_site_with_few_random_refusals_keeps_its_speed(share: float, status: int) -> None:
    plain = Crawler(flaky(share, status), learns=False).crawl(_paths(5000))
    crawler = Crawler(flaky(share, status)).crawl(_paths(5000))
    assert crawler.now <= 1.1 * plain.now
    assert crawler.lost == 0


@pytest.mark.parametrize("share", [0.01, 0.02])
def test_a_site_that_refuses_at_any_pace_is_forgiven(share: float) -> None:
    plain = Crawler(flaky(share, 503), learns=False).crawl(_paths(5000))
    crawler = Crawler(flaky(share, 503)).crawl(_paths(5000))
    assert crawler.learning.pace is None
    assert crawler.now <= plain.now + 25
    assert crawler.lost == 0


def test_a_short_outage_leaves_no_slow_pace() -> None:
    def site(now: float, _path: str) -> Answer:
        return (503, None) if 10 < now < 40 else GOOD

    plain = Crawler(site, learns=False).crawl(_paths(5000))
    assert Crawler(site).crawl(_paths(5000)).now <= plain.now + 5


def test_a_broken_page_stays_with_itself() -> None:
    def site(_now: float, path: str) -> Answer:
        return (503, None) if path == "/7" else GOOD

    crawler = Crawler(site).crawl(_paths(1000))
    assert (crawler.served, crawler.refused, crawler.lost) == (999, 3, 1)
    assert crawler.learning.pace is None


def test_a_path_with_a_limit_of_its_own_loses_no_page() -> None:
    limit = bucket(0.5, 3)

    def site(now: float, path: str) -> Answer:
        return limit(now, path) if path.endswith("0") else GOOD

    crawler = Crawler(site).crawl(_paths(1000))
    assert (crawler.served, crawler.lost) == (1000, 0)
    assert crawler.now <= 1.3 * 100 / 0.5


def test_a_changed_limit_is_learned_anew() -> None:
    limits = {8: bucket(8, 5), 2: bucket(2, 5), 20: bucket(20, 5)}

    def site(now: float, path: str) -> Answer:
        return limits[8 if now < 60 else 2 if now < 200 else 20](now, path)

    crawler = Crawler(site).crawl(_paths(4000))
    assert crawler.lost == 0
    assert crawler.refused <= 0.02 * 4000
    assert crawler.learning.pace is not None
    assert 15 < crawler.learning.pace.per_second < 21


@pytest.mark.parametrize("seed", range(1, 6))
def test_a_limit_on_requests_at_the_same_time_is_kept(seed: int) -> None:
    crawler = Crawler(at_once(2, 0.1), latency=0.1, seed=seed).crawl(_paths(1000))
    assert crawler.lost == 0
    assert crawler.refused <= 0.02 * 1000 + 10
    assert crawler.now <= 1.6 * 1000 * 0.11 / 2


def test_another_crawler_leaves_its_share() -> None:
    limit, other_at = bucket(10, 5), 0.0

    def site(now: float, path: str) -> Answer:
        nonlocal other_at
        while other_at < now:  # it sends four requests a second
            limit(other_at, path)
            other_at += 0.25
        return limit(now, path)

    crawler = Crawler(site).crawl(_paths(1000))
    assert crawler.lost == 0
    assert crawler.refused <= 0.02 * 1000 + 10
    assert crawler.now <= 1.3 * 1000 / 6


def test_the_next_crawl_begins_with_the_pace_and_is_refused_rarely() -> None:
    site = bucket(4, 5)
    first = Crawler(site).crawl(_paths(100))
    second = Crawler(site, learning=first.learning, now=first.now).crawl(_paths(100))
    assert second.refused <= 3


def test_a_site_without_limits_gets_no_pace() -> None:
    crawler = Crawler(lambda _now, _path: GOOD).crawl(_paths(1000))
    assert (crawler.learning.pace, crawler.refused) == (None, 0)


def test_a_site_in_trouble_gets_one_request_at_a_time_until_it_is_well() -> None:
    """Its errors are not refusals: no page is requested again because of them."""
    dice = random.Random(1)

    def site(now: float, _path: str) -> Answer:
        return (502, None) if 10 < now < 30 and dice.random() < 0.7 else GOOD

    seen: list[float] = []

    def seen_site(now: float, path: str) -> Answer:
        seen.append(now)
        return site(now, path)

    crawler = Crawler(seen_site).crawl(_paths(8000))
    assert (crawler.served, crawler.refused) == (8000, 0)
    while_in_trouble = sum(12 < at < 30 for at in seen)
    assert while_in_trouble <= 1.5 * 18 / crawler.latency
    assert sum(36 < at < 40 for at in seen) >= 0.8 * sum(4 < at < 8 for at in seen)


def test_a_site_that_is_down_rests_and_loses_no_speed_after_it() -> None:
    seen: list[float] = []

    def site(now: float, _path: str) -> Answer:
        seen.append(now)
        return (502, None) if 10 < now < 70 else GOOD

    crawler = Crawler(site).crawl(_paths(8000))
    assert (crawler.served, crawler.refused, crawler.lost) == (8000, 0, 0)
    assert sum(15 < at < 70 for at in seen) <= 10
    assert crawler.now <= Crawler(lambda _now, _path: GOOD).crawl(_paths(8000)).now + 60 + 60


def test_a_silent_outage_delays_pages_for_a_minute_more_than_it_lasts() -> None:
    """A request without an answer tells no time that the site needs for a page."""

    def is_silent(now: float) -> bool:
        return 10 < now < 190

    crawler = Crawler(
        lambda now, _path: (NO_ANSWER, None) if is_silent(now) else GOOD,
        delay=lambda now: 180.0 if is_silent(now) else 0.0,
    )
    plain = Crawler(crawler.site, delay=crawler.delay, learns=False).crawl(_paths(8000))
    assert crawler.crawl(_paths(8000)).now <= plain.now + 60


@pytest.mark.parametrize("seconds", [5, 20, 60])
def test_a_site_has_its_speed_again_soon_after_a_silence(seconds: int) -> None:
    def is_silent(now: float) -> bool:
        return 10 < now < 10 + seconds

    crawler = Crawler(
        lambda now, _path: (NO_ANSWER, None) if is_silent(now) else GOOD,
        delay=lambda now: 10.0 if is_silent(now) else 0.0,
    )
    plain = Crawler(crawler.site, delay=crawler.delay, learns=False).crawl(_paths(4000))
    assert crawler.crawl(_paths(4000)).now <= plain.now + 25


def test_many_broken_pages_in_a_row_cost_three_minutes() -> None:
    def site(_now: float, path: str) -> Answer:
        return GOOD if int(path[1:]) < 100 else (500, None)

    crawler = Crawler(site).crawl(_paths(1100))
    assert crawler.served == 1100
    assert crawler.now <= 1100 * crawler.latency * 1.2 + 180


@pytest.mark.parametrize("retry_after", [None, 120.0])
@pytest.mark.parametrize("share", [0.01, 0.05, 0.1, 0.2])
def test_a_site_where_most_pages_are_broken_takes_a_few_minutes_more(
    share: float, retry_after: float | None
) -> None:
    """As a site that answers 500 for each number that is no product."""
    dice = random.Random(1)

    def site(_now: float, path: str) -> Answer:
        is_good = int(path[1:]) < 100 or dice.random() < share
        return GOOD if is_good else (500, retry_after)

    crawler = Crawler(site).crawl(_paths(4000))
    assert crawler.served == 4000
    most_seconds = 6 * 1.25 * (retry_after or 21)
    assert crawler.now <= 4000 * crawler.latency * 1.2 + 2 * most_seconds


def test_late_answers_do_not_show_that_a_site_is_well_again() -> None:
    """Their requests were sent before it went down."""
    learning = learned(Learning(), PageAnswer(200, None, 0.0, 1.0, "/"), None, 1.0)
    for number in range(30):
        learning = learned(learning, PageAnswer(502, None, 2.0, 3.0, f"/{number}"), None, 1.0)
    assert learning.is_down
    rest = Rest(3.0, 3.0, 5.0, seconds=2.0, status=502, count=1)
    for number in range(8):
        late = PageAnswer(200, None, 1.0, 4.0, f"/late/{number}")
        learning = learned(learning, late, rest, 1.0)
    assert learning.is_down
    learning = learned(learning, PageAnswer(200, None, 5.0, 6.0, "/probe"), None, 1.0)
    assert not learning.is_down


def test_a_site_that_becomes_many_times_slower_gets_one_request_at_a_time() -> None:
    seen: list[float] = []

    def site(now: float, _path: str) -> Answer:
        seen.append(now)
        return GOOD

    crawler = Crawler(site, delay=lambda now: 3.0 if 10 < now < 100 else 0.0).crawl(_paths(8000))
    assert crawler.refused == 0
    assert sum(20 < at < 100 for at in seen) <= 80 / 3 * 1.5
    assert crawler.learning.pace is not None


def test_pages_that_are_always_slower_than_others_get_their_speed_back() -> None:
    crawler = Crawler(lambda _now, _path: GOOD, delay=lambda now: 3.0 if now > 10 else 0.0)
    plain = Crawler(crawler.site, delay=crawler.delay, learns=False).crawl(_paths(4000))
    assert crawler.crawl(_paths(4000)).now <= plain.now + 300


def test_one_slow_page_in_ten_changes_nothing() -> None:
    slow = random.Random(1)
    crawler = Crawler(
        lambda _now, _path: GOOD, delay=lambda _now: 5.0 if slow.random() < 0.1 else 0.0
    )
    assert crawler.crawl(_paths(1000)).learning.pace is None


@pytest.mark.parametrize("length", [5, 20, 60])
@pytest.mark.parametrize("rate", [1, 4, 20])
def test_a_site_that_lets_requests_wait_is_used_up_to_its_limit(rate: int, length: int) -> None:
    site, delay = queue(rate, length)
    crawler = Crawler(site, delay=delay).crawl(_paths(600))
    assert (crawler.served, crawler.lost) == (600, 0)
    assert crawler.refused <= 0.02 * 600 + 10
    assert crawler.now <= 1.3 * 600 / rate


def test_an_outage_leaves_the_pace_of_a_limited_site_as_it_was() -> None:
    limit = bucket(20, 5)

    def site(now: float, path: str) -> Answer:
        return (503, None) if 100 < now < 160 else limit(now, path)

    crawler = Crawler(site).crawl(_paths(4000))
    assert (crawler.served, crawler.lost) == (4000, 0)
    assert crawler.now <= 1.3 * (4000 / 20 + 60)


def test_a_broken_page_of_a_limited_site_delays_the_end_for_a_minute() -> None:
    limit = bucket(20, 5)

    def site(now: float, path: str) -> Answer:
        return (503, None) if path == "/7" else limit(now, path)

    crawler = Crawler(site).crawl(_paths(1000))
    assert (crawler.served, crawler.lost) == (999, 1)
    assert crawler.now <= 1000 / 20 + 60


@pytest.mark.parametrize("status", [500, 502, 504])
def test_a_site_that_answers_all_pages_with_errors_keeps_its_speed(status: int) -> None:
    crawler = Crawler(lambda _now, _path: (status, None)).crawl(_paths(100))
    assert crawler.learning.pace is None


def test_a_few_pages_that_fail_change_nothing() -> None:
    def site(_now: float, path: str) -> Answer:
        return (500, None) if path.endswith("0") else GOOD

    assert Crawler(site).crawl(_paths(1000)).learning.pace is None


def test_nothing_is_learned_while_nothing_was_accepted() -> None:
    refusal = PageAnswer(429, None, 0.0, 1.0, "/")
    assert learned(Learning(), refusal, None, 1.0) == Learning()


@pytest.mark.parametrize("status", [429, 502, 503, NO_ANSWER])
def test_failures_of_a_proxy_teach_nothing(status: int) -> None:
    known = Crawler(lambda _now, _path: GOOD).crawl(_paths(50)).learning
    learning = known
    for number in range(50):
        failure = PageAnswer(status, None, 9.0, 9.1, f"/{number}", is_of_proxy=True)
        learning = learned(learning, failure, None, 1.0)
    assert learning == known


def test_a_pause_begins_the_count_of_accepted_requests_anew() -> None:
    accepted = Accepted(50, since_at=0.0, sent_at=10.0).and_one(100.0)
    assert accepted == Accepted(1, 100.0, 100.0)


def test_a_quota_holds_requests_until_it_is_renewed() -> None:
    known = Learning(quota=Quota(left=2, resets_at=10.0))
    assert known.ready_at(count=1) < 0
    known = known.taken(1.0).taken(1.0)
    assert known.ready_at() == 10.0
    assert known.taken(10.0).quota == Quota(4, 12.0, is_told=False)


def test_a_site_that_always_says_that_nothing_is_left_is_not_believed() -> None:
    assert Learning().with_quota(Quota(0, resets_at=10.0), 1.0).quota is None
    known = Learning(quota=Quota(1, resets_at=10.0)).taken(11.0)
    assert known.with_quota(Quota(0, resets_at=20.0), 11.0).quota is None


def test_the_quota_of_a_window_only_falls() -> None:
    known = Learning().with_quota(Quota(3, resets_at=10.0), 1.0)
    known = known.with_quota(Quota(5, resets_at=10.9), 2.0)
    assert known.quota == Quota(3, 10.0)
    assert known.with_quota(Quota(9, resets_at=20.0), 3.0).quota == Quota(9, 20.0)
    assert known.with_quota(Quota(9, resets_at=20.0), 11.0).quota == Quota(9, 20.0)

"""The requests of each slot: counted once each, from the queue to the end of their download."""

from __future__ import annotations

from scrapy import Request

from scrapy_rep.engine.under_way import UnderWay

FIRST, SECOND, THIRD = (Request(f"https://example.com/{number}") for number in range(3))


def test_requests_count_from_the_queue_to_their_end() -> None:
    under_way = UnderWay()
    for request in (FIRST, SECOND):
        under_way.hand_out(request, "slot")
    assert (under_way.count("slot"), under_way.count("other")) == (2, 0)
    assert under_way.is_out(FIRST)
    assert not under_way.is_out(THIRD)
    under_way.begin(FIRST, "another, chosen behind the queue")
    assert under_way.count("slot") == 3, "until it has left the middlewares"
    assert (under_way.end(FIRST), under_way.is_out(FIRST)) == ("slot", True)
    under_way.begin(FIRST, "another, chosen behind the queue")
    assert under_way.come_back(FIRST) == "slot"
    assert under_way.count("slot") == 2
    assert not under_way.is_out(FIRST)
    assert under_way.out_counts == {"slot": 1}
    under_way.begin(FIRST, "slot")
    assert under_way.count("slot") == 2, "each counts once"
    assert under_way.end(FIRST) == "slot"
    assert under_way.end(FIRST) is None
    assert under_way.count("slot") == 1
    assert under_way.come_back(SECOND) == "slot"
    assert (under_way.count("slot"), under_way.out, under_way.out_counts) == (0, {}, {})


def test_requests_that_no_queue_handed_out_count_for_their_own_slot() -> None:
    under_way = UnderWay()
    for request in (FIRST, SECOND):
        under_way.begin(request, "slot")
    assert under_way.key_of(FIRST, "slot") == "slot"
    assert under_way.count("slot") == 2
    assert under_way.end(FIRST) == "slot"
    assert under_way.count("slot") == 1
    assert under_way.end(SECOND) == "slot"
    assert under_way.count("slot") == 0
    assert under_way._inside_counts == {}


def test_those_that_the_engine_does_not_know_any_more_have_ended() -> None:
    under_way = UnderWay()
    for request in (FIRST, SECOND):
        under_way.hand_out(request, "slot")
    assert under_way.key_of(FIRST, "another") == "slot"
    assert under_way.ended({FIRST, THIRD}) == [SECOND]
    assert under_way.ended([]) == [FIRST, SECOND]


def test_those_that_arrive_leave_the_middlewares_one_by_one() -> None:
    under_way = UnderWay()
    requests = (FIRST, SECOND, THIRD)
    for request in requests:
        under_way.hand_out(request, "slot")
    left = []
    for request in requests:
        under_way.arrive(request, "slot")
        left.append(dict(under_way.out_counts))
    assert left == [{"slot": 2}, {"slot": 1}, {}]
    assert under_way.count("slot") == 3

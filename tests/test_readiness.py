"""What a queue is told of an origin: its requests are handed out, or wait, and for what."""

from __future__ import annotations

import time
from types import SimpleNamespace
from typing import Any

import pytest
from scrapy.utils.test import get_crawler

from scrapy_rep import RepMiddleware
from scrapy_rep.engine.floors import Ask
from scrapy_rep.engine.slots import Slots
from scrapy_rep.policy import Policy
from scrapy_rep.protocol.access.events import Meaning
from scrapy_rep.protocol.access.origin import Origin
from scrapy_rep.queue.readiness import OriginState, Outlook, Readiness
from scrapy_rep.reading import Reading
from scrapy_rep.settings import RepSettings
from tests.crawls.settings import ADDON

ORIGIN = Origin("https", "example.com", 443)
HOLD_SECONDS = 100.0
READY, UNASKED, ASKED = (
    Outlook(OriginState.READY),
    Outlook(OriginState.UNASKED),
    Outlook(OriginState.ASKED),
)


class Known:
    """The policies and paces of a crawl that has met one origin."""

    def __init__(self, policy: Policy | None, *, is_asking: bool = False) -> None:
        self.policy = policy
        self._is_asking = is_asking
        self.opens = 0.0
        self.paced: list[str] = []

    def peek(self, _: Origin, *, renew: bool) -> Policy | None:
        assert not renew
        return self.policy

    def is_asking(self, _: Origin) -> bool:
        return self._is_asking

    def apply(self, _: Policy, key: str) -> None:
        self.paced.append(key)

    def opens_at(self, _: Policy) -> float:
        return self.opens


def policy(
    event: int = 503,
    meaning: Meaning = Meaning.DISALLOW,
    *,
    due_in: float = 30.0,
    usable_for: float = 1e6,
    is_stale: bool = False,
) -> Policy:
    now = time.time()
    return Policy(
        ORIGIN,
        event,
        meaning,
        Reading.of_nothing(ORIGIN),
        ("*",),
        is_stale=is_stale,
        due_at=now + due_in,
        usable_until=now + usable_for,
    )


def readiness(known: Known, *, is_by_hand: bool = False) -> Readiness:
    crawler = get_crawler(settings_dict={"REP_UNREACHABLE_HOLD_SECONDS": HOLD_SECONDS})
    slot = SimpleNamespace(close_if_idle=not is_by_hand)
    crawler.engine = SimpleNamespace(downloader=None, _slot=slot)  # type: ignore[assignment]
    both: Any = known
    settings = RepSettings.of(crawler.settings)
    return Readiness(crawler, Slots(crawler), settings, both, both)


def held_count(found: Readiness) -> int:
    count: int = found._crawler.stats.get_value("rep/queue/held", 0)
    return count


class TestUnreachable:
    """Requests that only a failure disallows wait for the next attempt, if that is soon enough."""

    @pytest.mark.parametrize(
        "of",
        [{}, {"event": 429}, {"due_in": HOLD_SECONDS - 9}, {"due_in": 1e6, "usable_for": 20.0}],
    )
    def test_held(self, of: dict[str, Any]) -> None:
        kept = policy(**of)
        found = readiness(Known(kept))
        for _ in range(2):
            until = min(kept.due_at, kept.usable_until)
            assert found.of(ORIGIN, "slot") == Outlook(OriginState.HELD, until)
        assert held_count(found) == 1

    @pytest.mark.parametrize(
        "of",
        [
            {"due_in": HOLD_SECONDS + 99},
            {"event": 200, "meaning": Meaning.RULES},
            {"event": 200, "meaning": Meaning.RULES, "is_stale": True},
            {"meaning": Meaning.ALLOW},
            {"event": 404, "meaning": Meaning.ALLOW},
            {"event": 403},
        ],
    )
    def test_not_held(self, of: dict[str, Any]) -> None:
        known = Known(policy(**of))
        found = readiness(known)
        assert found.of(ORIGIN, "slot") == READY
        assert known.paced == ["slot"]
        assert held_count(found) == 0

    def test_nobody_sits_and_waits(self) -> None:
        assert readiness(Known(policy()), is_by_hand=True).of(ORIGIN, "slot") == READY

    def test_the_time_counts_from_the_first_failure(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Or a site that is down for days would keep its requests for as long."""
        now = time.time()
        monkeypatch.setattr("scrapy_rep.queue.readiness.time.time", lambda: now)
        known = Known(policy(due_in=30))
        found = readiness(known)
        assert found.of(ORIGIN, "slot").state is OriginState.HELD
        now += HOLD_SECONDS - 40
        known.policy = policy(due_in=30)
        assert found.of(ORIGIN, "slot").state is OriginState.HELD
        now += 20
        known.policy = policy(due_in=30)
        assert found.of(ORIGIN, "slot") == READY

    def test_the_time_ends_for_each_of_many_sites(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """One that is forgotten would begin anew, and so would keep its requests for ever."""
        now = time.time()
        monkeypatch.setattr("scrapy_rep.queue.readiness.time.time", lambda: now)
        origins = [Origin("http", f"{number}.example", 80) for number in range(20_000)]
        known = Known(None)
        found = readiness(known)
        for passed, state in [(0, OriginState.HELD), (HOLD_SECONDS, OriginState.READY)]:
            now += passed
            for origin in origins:
                known.policy = policy(due_in=30)
                known.policy.origin = origin
                assert found.of(origin, "slot").state is state
        assert held_count(found) == len(origins)

    def test_the_time_ends_though_the_clock_is_set_back(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        now = time.time()
        monkeypatch.setattr("scrapy_rep.queue.readiness.time.time", lambda: now)
        known = Known(policy(due_in=30))
        found = readiness(known)
        assert found.of(ORIGIN, "slot").state is OriginState.HELD
        now -= 1e6
        for passed, state in [(0, OriginState.HELD), (HOLD_SECONDS, OriginState.READY)]:
            now += passed
            known.policy = policy(due_in=30)
            assert found.of(ORIGIN, "slot").state is state

    def test_an_answer_ends_the_time(self) -> None:
        known = Known(policy())
        found = readiness(known)
        for kept in (policy(), policy(200, Meaning.RULES), policy()):
            known.policy = kept
            found.of(ORIGIN, "slot")
        assert held_count(found) == 2

    @pytest.mark.parametrize(("is_asking", "outlook"), [(False, UNASKED), (True, ASKED)])
    def test_once_it_is_due_it_is_asked_for(self, is_asking: bool, outlook: Outlook) -> None:
        found = readiness(Known(policy(due_in=-1), is_asking=is_asking))
        assert found.of(ORIGIN, "slot") == outlook


class TestOthers:
    @pytest.mark.parametrize(("is_asking", "outlook"), [(False, UNASKED), (True, ASKED)])
    def test_nothing_is_known(self, is_asking: bool, outlook: Outlook) -> None:
        assert readiness(Known(None, is_asking=is_asking)).of(ORIGIN, "slot") == outlook

    def test_what_nobody_judges_is_ready(self) -> None:
        assert readiness(Known(None)).of(None, "slot") == READY
        crawler = get_crawler()
        assert Readiness(crawler, Slots(crawler)).of(ORIGIN, "slot") == READY

    @pytest.mark.parametrize("is_asked", [False, True])
    def test_a_policy_that_asks_for_nothing_is_looked_at_no_closer(self, *, is_asked: bool) -> None:
        known = Known(kept := policy(200, Meaning.RULES))
        if is_asked:
            assert kept.asked_of().is_nothing
        assert readiness(known).of(ORIGIN, "slot") == READY
        assert known.paced == ([] if is_asked else ["slot"])

    def test_but_where_it_is_held_or_a_slot_keeps_a_pace(self) -> None:
        known = Known(kept := policy())
        assert kept.asked_of().is_nothing
        assert readiness(known).of(ORIGIN, "slot").state is OriginState.HELD
        known = Known(kept := policy(200, Meaning.RULES))
        assert kept.asked_of().is_nothing
        found = readiness(known)
        found.slots.set_floor("another", Ask(ORIGIN, 1.0))
        assert found.of(ORIGIN, "slot") == READY
        assert known.paced == ["slot"], "what stands may have to go"

    @pytest.mark.parametrize(
        ("opens_in", "state"), [(-1, OriginState.READY), (60, OriginState.SHUT)]
    )
    def test_visit_times(self, opens_in: float, state: OriginState) -> None:
        known = Known(policy(200, Meaning.RULES))
        known.opens = time.time() + opens_in
        found = readiness(known).of(ORIGIN, "slot")
        assert found.state is state
        assert found.until == (known.opens if state is OriginState.SHUT else 0.0)

    def test_without_a_limit_nobody_is_asked_for(self) -> None:
        crawler = get_crawler()
        found = Readiness(crawler, Slots(crawler))
        assert (found.prefetch_origins, found.concurrent_fetches) == (0, 0)
        assert not found.is_queued(ORIGIN)
        found.ask(ORIGIN, None)


class TestOfACrawl:
    """Which policies a queue goes by."""

    def test_those_of_the_middleware(self) -> None:
        crawler = get_crawler(settings_dict=ADDON)
        middleware = RepMiddleware.from_crawler(crawler)
        found_by: Any = lambda _: middleware  # noqa: E731
        crawler.get_downloader_middleware = found_by  # type: ignore[method-assign]
        found = Readiness.from_crawler(crawler)
        assert (found.policies, found.slots) == (middleware.policies, middleware.slots)
        assert found.pacing is middleware.pacing
        assert found.concurrent_fetches == middleware.settings.concurrent_fetches

    @pytest.mark.parametrize("error", [None, AttributeError])
    def test_none(self, error: type[Exception] | None) -> None:
        """Without the middleware, or with a downloader that hides it."""

        def none(_: object) -> None:
            if error is not None:
                raise error

        crawler = get_crawler()
        crawler.get_downloader_middleware = none  # type: ignore[method-assign, assignment]
        found = Readiness.from_crawler(crawler)
        assert found.policies is None
        assert found.of(ORIGIN, "slot") == READY

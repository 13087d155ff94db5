"""The tdmrep.json of origins beside their policies, over exchanges that a test directs."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from scrapy import Request

from scrapy_rep.engine.slots import Slots
from scrapy_rep.fetching.exchanges import LateError, NotNeededError
from scrapy_rep.fetching.resources import ROBOTS_TXT, TDMREP, Resource
from scrapy_rep.pacing import Pacing
from scrapy_rep.policy import Policy
from scrapy_rep.protocol.access.events import Failure
from scrapy_rep.protocol.access.exchange import PolicyOptions, learn
from scrapy_rep.protocol.access.knowledge import Answer, Knowledge, Step
from scrapy_rep.protocol.access.origin import Origin
from scrapy_rep.reservations import Tdmrep
from scrapy_rep.settings import RepSettings

from .test_policies import BODY, ORIGIN, OTHER, Directed, file, turns
from .test_policies import Crawl as PlainCrawl

FILE = b'[{"location": "/a", "tdm-reservation": 1}]'
URI = f"{ORIGIN}{TDMREP.path}"


class Both(Directed):
    """Exchanges for both files."""

    def __init__(self) -> None:
        super().__init__()
        self.files: list[str] = []
        self.tdmrep: Knowledge | BaseException = file(FILE)
        self.outcome = file(lifetime=3600)
        self.leads_to: dict[Origin, list[str]] = {}
        self.was_permitted: dict[str, bool] = {}

    async def settle(
        self,
        origin: Origin,
        rules: PolicyOptions,
        request: Request | None,
        *,
        is_refresh: bool,
        is_awaited: Callable[[], bool],
        steps: list[Step] | None = None,
        resource: Resource = ROBOTS_TXT,
        permits: Callable[[str], Awaitable[bool]] | None = None,
    ) -> Knowledge:
        self.files.append(f"{origin}{resource.path}")
        if resource is ROBOTS_TXT:
            assert permits is None, "nothing governs robots.txt"
            return await super().settle(
                origin,
                rules,
                request,
                is_refresh=is_refresh,
                is_awaited=is_awaited,
                steps=[] if steps is None else steps,
            )
        assert permits is not None
        for url in self.leads_to.get(origin, ()):
            self.was_permitted[url] = await permits(url)
        if isinstance(self.tdmrep, BaseException):
            raise self.tdmrep
        return self.tdmrep


class Crawl(PlainCrawl):
    """A crawl that asks for both files."""

    def __init__(self, settings: dict[str, Any]) -> None:
        super().__init__({"REP_TDMREP": True, **settings})
        self.both = Both()
        self.policies._exchanges = self.both  # type: ignore[assignment]
        reservations = self.policies._reservations
        assert reservations is not None
        reservations._exchanges = self.both  # type: ignore[assignment]

    async def tdmrep(self, origin: Origin = ORIGIN) -> Tdmrep:
        found = (await self.policies.get(origin)).tdmrep
        assert found is not None
        return found


async def renewed(crawl: Crawl) -> tuple[Policy, Policy]:
    """The policy of the origin, and the next one, which is fetched in the background."""
    before = await crawl.policies.get(ORIGIN)
    before.due_at = 0.0
    crawl.policies.peek(ORIGIN)
    await turns()
    after = await crawl.policies.get(ORIGIN)
    assert after is not before
    return before, after


def in_a_crawl(
    work: Callable[[Crawl], Coroutine[Any, Any, None]], settings: dict[str, Any] | None = None
) -> None:
    """In a loop of its own: this thread has one already."""

    async def main() -> None:
        await asyncio.wait_for(work(Crawl({"REP_STORE": "memory", **(settings or {})})), 20)

    with ThreadPoolExecutor(1) as thread:
        thread.submit(asyncio.run, main()).result(timeout=30)


def down(before: Knowledge | None = None, *, event: int | Failure = 503) -> Knowledge:
    """The file is unreachable, perhaps with a copy from before."""
    limits = RepSettings.of(PlainCrawl({}).crawler.settings).rules.limits
    answer = Answer(event, hops=(URI,))
    return learn(before or Knowledge(), answer, time.time(), limits)


class TestFile:
    def test_what_is_known(self) -> None:
        async def work(crawl: Crawl) -> None:
            found = await crawl.tdmrep()
            assert crawl.both.files == [ORIGIN.robots_txt_uri, URI]
            assert found.file is not None
            assert (found.file.uri, len(found.file.rules)) == (URI, 1)
            assert found.is_complete
            assert not found.is_stale
            assert crawl.policies._kept.octets > found.octets > 0

        in_a_crawl(work)

    def test_what_expires_first_expires_the_policy(self) -> None:
        async def work(crawl: Crawl) -> None:
            crawl.both.tdmrep = file(FILE, lifetime=100)
            policy = await crawl.policies.get(ORIGIN)
            assert policy.usable_until == pytest.approx(time.time() + 100, abs=10)
            assert policy.due_at < policy.usable_until

        in_a_crawl(work)

    def test_a_file_that_was_not_fetched_again_is_not_read_again(self) -> None:
        async def work(crawl: Crawl) -> None:
            before = (await crawl.tdmrep()).file
            _, after = await renewed(crawl)
            assert after.tdmrep is not None
            assert after.tdmrep.file is before

        in_a_crawl(work)

    def test_while_it_is_fetched_the_new_policy_is_the_newest_that_is_known(self) -> None:
        """By its pace, and not by that of the one before, the file is asked for."""

        async def work(crawl: Crawl) -> None:
            known: list[Policy | None] = []
            settle = crawl.both.settle

            async def noted(*arguments: Any, **named: Any) -> Knowledge:
                known.append(crawl.policies.known(ORIGIN))
                return await settle(*arguments, **named)

            crawl.both.settle = noted  # type: ignore[method-assign]
            before, after = await renewed(crawl)
            assert known == [None, before, before, after]
            assert crawl.policies.known(ORIGIN) is after

        in_a_crawl(work)

    def test_ftp_has_none(self) -> None:
        async def work(crawl: Crawl) -> None:
            origin = Origin("ftp", "example.com", 21)
            assert (await crawl.policies.get(origin)).tdmrep is None
            assert crawl.both.files == [origin.robots_txt_uri]

        in_a_crawl(work)

    def test_nothing_is_asked_by_default(self) -> None:
        async def work(crawl: PlainCrawl) -> None:
            assert crawl.policies._reservations is None
            assert (await crawl.policies.get(ORIGIN)).tdmrep is None

        async def main() -> None:
            await work(PlainCrawl({"REP_STORE": "memory"}))

        with ThreadPoolExecutor(1) as thread:
            thread.submit(asyncio.run, main()).result(timeout=30)


class TestFailures:
    """Nobody waits for a file again that is down, and no failure stops what robots.txt allows."""

    @pytest.mark.parametrize("event", [503, Failure.DNS, Failure.GUARD, 429])
    def test_down(self, event: int | Failure) -> None:
        async def work(crawl: Crawl) -> None:
            crawl.both.tdmrep = down(event=event)
            policy = await crawl.policies.get(ORIGIN)
            assert policy.tdmrep is not None
            assert policy.tdmrep.file is None
            assert not policy.tdmrep.is_complete
            assert policy.verdict(f"{ORIGIN}/x").allowed
            assert policy.usable_until > time.time() + 1000, "by robots.txt alone"
            assert policy.due_at < time.time() + 100, "it is tried again in the background"

        in_a_crawl(work)

    @pytest.mark.parametrize("preset", ["rfc9309", "google", "strict", "lenient"])
    def test_a_copy_counts_under_every_policy(self, preset: str) -> None:
        async def work(crawl: Crawl) -> None:
            crawl.both.tdmrep = down(file(FILE))
            found = await crawl.tdmrep()
            assert found.file is not None
            assert (found.is_stale, found.is_complete) == (True, True)
            assert found.usable_until == math.inf

        in_a_crawl(work, {"REP_POLICY": preset})

    def test_that_there_was_none_says_nothing_of_an_outage(self) -> None:
        async def work(crawl: Crawl) -> None:
            limits = crawl.policies._settings.rules.limits
            none = learn(Knowledge(), Answer(404, hops=(URI,)), time.time(), limits)
            crawl.both.tdmrep = none
            assert (await crawl.tdmrep()).is_complete
            crawl.both.tdmrep = down(none)
            assert not (await crawl.tdmrep(OTHER)).is_complete

        in_a_crawl(work)

    @pytest.mark.parametrize("error", [OSError("no"), NotNeededError("the crawl is closing")])
    def test_whatever_is_raised(self, error: Exception) -> None:
        async def work(crawl: Crawl) -> None:
            crawl.both.tdmrep = error
            policy = await crawl.policies.get(ORIGIN)
            assert policy.tdmrep is not None
            assert not policy.tdmrep.is_complete
            assert policy.verdict(f"{ORIGIN}/x").allowed
            assert not policy.verdict(f"{ORIGIN}/private").allowed
            assert crawl.counted("tdmrep/failed") == 1

        in_a_crawl(work)

    @pytest.mark.parametrize("error", [OSError("no"), NotNeededError("only this fetch")])
    def test_what_was_known_stays_known(self, error: Exception) -> None:
        """A crawl that is idle may go on: it asks again, and forgets no reservation meanwhile."""

        async def work(crawl: Crawl) -> None:
            policy = await crawl.policies.get(ORIGIN)
            before = policy.tdmrep
            assert before is not None
            policy.due_at = 0.0
            crawl.both.tdmrep = error
            crawl.policies.peek(ORIGIN)
            await turns()
            policy = await crawl.policies.get(ORIGIN)
            assert policy.tdmrep is not None
            assert (policy.tdmrep.file, policy.tdmrep.is_complete) == (before.file, True)
            assert policy.due_at < time.time() + 100
            assert not (await crawl.tdmrep(OTHER)).is_complete
            assert (await crawl.policies.get(OTHER)).due_at < time.time() + 100

        in_a_crawl(work)

    def test_what_was_known_expires(self) -> None:
        async def work(crawl: Crawl) -> None:
            policy = await crawl.policies.get(ORIGIN)
            assert policy.tdmrep is not None
            policy.tdmrep = replace(policy.tdmrep, usable_until=time.time())
            policy.due_at = 0.0
            crawl.both.tdmrep = OSError("no")
            crawl.policies.peek(ORIGIN)
            await turns()
            assert not (await crawl.tdmrep()).is_complete

        in_a_crawl(work)

    def test_late(self) -> None:
        async def work(crawl: Crawl) -> None:
            crawl.both.tdmrep = LateError(down(event=Failure.LOCAL))
            assert not (await crawl.tdmrep()).is_complete

        in_a_crawl(work)


class TestGoverned:
    def test_disallowed(self) -> None:
        async def work(crawl: Crawl) -> None:
            crawl.both.outcome = file(b"User-agent: *\nDisallow: /.well-known/\n")
            assert not (await crawl.tdmrep()).is_complete
            assert crawl.both.files == [ORIGIN.robots_txt_uri]
            assert crawl.counted("tdmrep/disallowed") == 1

        in_a_crawl(work)

    def test_what_it_is_redirected_to(self) -> None:
        async def work(crawl: Crawl) -> None:
            permitted = [f"{ORIGIN}/tdm", f"{OTHER}/tdm"]
            refused = [f"{ORIGIN}/private/tdm", f"{OTHER}/private", "http://", "data:,x"]
            crawl.both.leads_to = {ORIGIN: [*permitted, *refused], OTHER: [f"{ORIGIN}/a"]}
            await asyncio.gather(crawl.tdmrep(), crawl.tdmrep(OTHER))
            assert crawl.both.was_permitted == {
                **dict.fromkeys([*permitted, f"{ORIGIN}/a"], True),
                **dict.fromkeys(refused, False),
            }

        in_a_crawl(work)

    def test_a_chain_of_origins(self) -> None:
        """One page leads to two origins, and not to as many as somebody has names."""

        async def work(crawl: Crawl) -> None:
            chain = [Origin("https", f"host{number}.example", 443) for number in range(10)]
            leads_to = {a: [f"{b}{TDMREP.path}"] for a, b in pairwise(chain)}
            crawl.both.leads_to = leads_to
            assert (await crawl.tdmrep(chain[0])).is_complete
            await turns()
            first, second = chain[:2]
            fetched = [f"{first}/robots.txt", f"{first}{TDMREP.path}", f"{second}/robots.txt"]
            assert crawl.both.files == fetched
            assert (await crawl.tdmrep(second)).is_complete, "once a page of it is wanted"

        in_a_crawl(work)

    def test_a_policy_that_is_due_is_not_renewed_for_a_redirect(self) -> None:
        """That would ask for its tdmrep.json too, which may lead to a third origin."""

        async def work(crawl: Crawl) -> None:
            (await crawl.policies.get(OTHER)).due_at = 0.0
            crawl.both.files.clear()
            crawl.both.leads_to = {ORIGIN: [f"{OTHER}/a"]}
            await crawl.tdmrep()
            await turns()
            assert crawl.both.was_permitted == {f"{OTHER}/a": True}
            assert crawl.both.files == [ORIGIN.robots_txt_uri, URI]

        in_a_crawl(work)

    def test_a_page_that_waits_for_what_began_for_a_redirect(self) -> None:
        async def work(crawl: Crawl) -> None:
            crawl.both.leads_to = {ORIGIN: [f"{OTHER}/a"]}
            settle = crawl.both.settle
            wanted: list[Any] = []

            async def slow(origin: Origin, *values: Any, **named: Any) -> Knowledge:
                if origin == OTHER and not wanted:
                    wanted.append(asyncio.ensure_future(crawl.tdmrep(OTHER)))
                    await turns()
                return await settle(origin, *values, **named)

            crawl.both.settle = slow  # type: ignore[method-assign]
            await crawl.tdmrep()
            found = await wanted[0]
            assert found.is_complete
            assert found.file is not None

        in_a_crawl(work)

    @pytest.mark.parametrize("seconds", [1000.0, math.inf])
    def test_an_origin_that_may_not_be_visited_now(self, seconds: float) -> None:
        async def work(crawl: Crawl) -> None:
            opens_at = time.time() + seconds
            crawl.policies.visitable_at = lambda _: opens_at
            policy = await crawl.policies.get(ORIGIN)
            assert crawl.both.files == [ORIGIN.robots_txt_uri]
            assert policy.tdmrep is not None
            assert not policy.tdmrep.is_complete
            assert policy.usable_until <= opens_at
            assert policy.due_at <= opens_at

        in_a_crawl(work)

    def test_when_an_origin_may_be_visited(self) -> None:
        async def work(crawl: Crawl) -> None:
            pacing = Pacing(crawl.crawler, crawl.policies._settings, Slots(crawl.crawler))
            asked: list[str] = []
            pacing.apply = lambda policy, key: _noted(asked, key)  # type: ignore[method-assign]
            policy = await crawl.policies.get(ORIGIN)
            assert pacing.visitable_at(policy) == 0.0
            assert asked == [ORIGIN.host], "its pace holds from now on"
            pacing.apply = lambda policy, key: _pace(is_skipped=True)  # type: ignore[method-assign]
            assert pacing.visitable_at(policy) == math.inf
            pacing.opens_at = lambda *_: 4e9  # type: ignore[method-assign]
            assert pacing.visitable_at(policy) == 4e9

        in_a_crawl(work)


def _noted(asked: list[str], key: str) -> Any:
    asked.append(key)
    return _pace(is_skipped=False)


def _pace(*, is_skipped: bool) -> Any:
    class Found:
        pass

    found: Any = Found()
    found.is_skipped = is_skipped
    return found


def test_rules_of_robots_txt_are_as_before() -> None:
    async def work(crawl: Crawl) -> None:
        policy: Policy = await crawl.policies.get(ORIGIN)
        assert policy.robots_txt.octets == BODY

    in_a_crawl(work)

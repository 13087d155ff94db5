"""Verdicts with their explanations, for `check`."""

from __future__ import annotations

import queue
import sys
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain, islice
from threading import Thread
from typing import Any

from scrapy.crawler import Crawler
from scrapy.utils.defer import deferred_from_coro

from scrapy_rep.checks import Override
from scrapy_rep.engine.loops import as_they_come, sleep
from scrapy_rep.extras import nothing, part
from scrapy_rep.policies import policies_of, policy_for
from scrapy_rep.policy import Policy
from scrapy_rep.protocol.access.events import AccessResult, Meaning
from scrapy_rep.protocol.access.knowledge import Answer, status_of
from scrapy_rep.protocol.access.origin import Origin, origin_or_none
from scrapy_rep.protocol.paths import uri_without_dots
from scrapy_rep.protocol.tokens import EVERYONE
from scrapy_rep.protocol.units import counted
from scrapy_rep.protocol.verdict import Reason, Rule, Verdict

from .engine_work import in_engine
from .inputs import Freshness, Input, is_url, origin_of, read
from .named_agents import Agent
from .project_store import reading_of
from .running import FOUND, OK, UNREACHABLE, Call
from .terminal import moment, safe, step_dict, way_words

_NO_ORIGIN = Origin("https", "robots.txt.invalid", 443)


@dataclass
class Judge:
    """Judges URLs by one policy; it reads the lines and the groups of the file once.

    Attributes:
        origin: the origin of the file.
        policy: the policy; None if unknown.
        call: the call, for its settings.
        body: the file as it was sent; None if unknown.
        freshness: the source and the age of the answer; None without one.
        has_answer: whether the file was fetched, now or before.
    """

    origin: Origin
    policy: Policy | None
    call: Call
    body: bytes | None = None
    freshness: Freshness | None = None
    has_answer: bool = True
    _matchers: dict[tuple[str, ...], Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        octets = self.policy.robots_txt.octets if self.policy is not None else b""
        self.lines = octets.split(b"\n")
        self.body = octets if self.body is None else self.body

    @classmethod
    def of_policy(
        cls,
        origin: Origin,
        policy: Policy | None,
        call: Call,
        since: float,
        body: bytes | None = None,
    ) -> Judge:
        """The judge for one origin; an answer older than `since` is from the store."""
        freshness = None
        if policy is not None and policy.asked_at:
            freshness = Freshness(policy.asked_at, is_stored=policy.asked_at < since)
        return cls(origin, policy, call, body, freshness)

    @classmethod
    def of_input(cls, file: Input, call: Call) -> Judge:
        """The judge by a file that the user names."""
        is_file = file.access_result is AccessResult.SUCCESSFUL
        body = file.body if is_file else b""
        reading = reading_of(body, file.uri, call.ours.parse_limit_octets)
        origin, answer = Origin.of(file.uri) or _NO_ORIGIN, file.answer or Answer(200)
        at = file.freshness.asked_at if file.freshness is not None else 0.0
        policy = Policy(
            origin,
            answer.event,
            call.ours.options.access.meaning(answer.event, status_of(answer.steps)),
            reading,
            (),
            hops=answer.hops,
            steps=answer.steps,
            fetched_at=at,
            asked_at=at,
        )
        has_answer = file.answer is not None
        return cls(origin, policy, call, file.body, file.freshness, has_answer)

    @property
    def has_rules(self) -> bool:
        """Whether the rules of a file decide."""
        return self.policy is not None and self.policy.meaning is Meaning.RULES

    @property
    def is_unreachable(self) -> bool:
        """Whether there is no file to judge by, because of a failure."""
        return self.policy is None or (self.policy.is_unreachable and not self.policy.is_stale)

    @property
    def remarks(self) -> list[str]:
        """Problems of the file as a whole: it is markup, or is not read to its end."""
        if self.policy is None or not self.has_rules:
            return []
        found: list[str] = part("doubts about files", lambda _: [])(self.policy)
        return found

    def judge(self, url: str, agent: Agent) -> Judgement:
        """The verdict on a URL."""
        verdict = None if self.policy is None else self.policy.verdict(url, agent.tokens)
        if verdict is not None and self.has_answer and self._is_skipped(verdict, agent):
            uri = verdict.robots_txt
            verdict = Verdict(allowed=False, reason=Reason.CRAWL_DELAY, robots_txt=uri)
        return Judgement(self, url, agent, verdict)

    def opinions(self, opinions: Any, url: str, agent: Agent) -> tuple[Any, ...]:
        """The answers of other parsers (`--like`); empty if no file decides."""
        if not self.has_rules:
            return ()
        absolute = f"{self.origin}{url}" if url.startswith("/") else url
        token = agent.tokens[0] if agent.tokens else EVERYONE
        found: tuple[Any, ...] = opinions.of(self.body or b"", token, absolute)
        return found

    def _is_skipped(self, verdict: Verdict, agent: Agent) -> bool:
        """Whether a crawl drops an allowed URL, because the site's delay is too long."""
        if not verdict.allowed or verdict.reason is Reason.IMPLICITLY_ALLOWED or not self.policy:
            return False
        return self.call.ours.pace(self.policy, time.time(), agent.tokens).is_skipped

    def matching(self, url: str, agent: Agent) -> list[Rule]:
        """All rules that match a URL, most specific first; empty if only the first is known."""
        if self.policy is None or not self.has_rules:
            return []
        if agent.tokens not in self._matchers:
            group = self.policy.robots_txt.group(agent.tokens)
            matcher_of = part("lost rules", nothing)
            self._matchers[agent.tokens] = matcher_of(() if group is None else group.rules)
        matcher = self._matchers[agent.tokens]
        return [] if matcher is None else list(matcher.matching(url))

    def access_lines(self) -> list[str]:
        """Describe how the file was fetched."""
        policy = self.policy
        if policy is None or not self.has_answer:
            return []
        result = policy.access_result
        word = result.value if result is not None else "not fetched"
        stale = ", a stale copy, because the site is unreachable now" if policy.is_stale else ""
        at = f"of {moment(policy.fetched_at)}" if policy.fetched_at else "not fetched"
        source = f"; {self.freshness}" if self.freshness else ""
        hops = policy.hops or (self.origin.robots_txt_uri,)
        way = map("  {}".format, way_words(policy.steps, hops))
        grant = self._override.grant_words if self._override is not None else ""
        told = [f"REP_OVERRIDES: {safe(grant)}"] if grant else []
        return [f"robots.txt: {policy.event} ({word}{stale}), {at}{source}", *way, *told]

    def access_dict(self) -> dict[str, Any] | None:
        """The same as JSON."""
        policy, freshness = self.policy, self.freshness
        if policy is None:
            return None
        result, override = policy.access_result, self._override
        until = override.until if override is not None else None
        return {
            "robots_txt": self.origin.robots_txt_uri,
            "event": policy.event,
            "result": None if result is None else result.value,
            "hops": list(policy.hops),
            "steps": list(map(step_dict, policy.steps)),
            "sha256": policy.sha256 or None,
            "fetched_at": policy.fetched_at or None,
            "asked_at": policy.asked_at or None,
            "source": None if freshness is None else freshness.source,
            "is_stale": policy.is_stale,
            "until": None if until is None else str(until),
            "why": (override.why if override is not None else "") or None,
        }

    @property
    def _override(self) -> Override | None:
        """The user's own policy for the origin, if it is applied now."""
        if self.policy is None or not self.policy.source:  # a file that was named judges
            return None
        return self.call.ours.overrides.match(self.origin, time.time())


@dataclass(frozen=True)
class Judgement:
    """A verdict on one URL for one agent; the verdict is None if nothing is known.

    Attributes:
        expected: whether the URL must be allowed by the table of --expect; None without one.
    """

    judge: Judge
    url: str
    agent: Agent
    verdict: Verdict | None
    expected: bool | None = None

    @property
    def is_as_expected(self) -> bool:
        """Whether the verdict is known, and the table of --expect says the same."""
        if self.verdict is None or self.judge.is_unreachable:
            return False
        return self.verdict.allowed is self.expected

    @property
    def is_refused(self) -> bool:
        """Whether the URL must not be fetched."""
        return self.verdict is None or not self.verdict.allowed

    @property
    def status(self) -> int:
        """The exit status for this verdict."""
        if self.judge.is_unreachable:
            return UNREACHABLE
        is_good = not self.is_refused if self.expected is None else self.is_as_expected
        return OK if is_good else FOUND

    @property
    def line(self) -> int:
        """The number of the deciding line; 0 without one."""
        return 0 if self.verdict is None else self.verdict.line

    @property
    def why(self) -> str:
        """The reason in words."""
        if self.verdict is None:
            return f"the store has nothing usable for {self.judge.origin}"
        if self.verdict.rule is not None and self.verdict.rule.octets:
            return f"line {self.verdict.line}, {self.verdict.rule}"
        return self.verdict.reason.value

    @property
    def note(self) -> str:
        """Why the deciding rule is below another user-agent line; empty if it is not."""
        policy = self.judge.policy
        return "" if policy is None or self.verdict is None else policy.note_on(self.verdict)

    @property
    def text(self) -> str:
        """The text of the deciding line."""
        return safe(self.judge.lines[self.line - 1]) if self.line else ""

    @property
    def lost(self) -> list[Rule]:
        """The other rules that match, most specific first."""
        found = self.judge.matching(self.url, self.agent) if self.verdict is not None else []
        return [rule for rule in found if rule.line != self.line]

    @property
    def bare(self) -> str:
        """The URL without its dot segments, which is also judged; empty if it has none."""
        bare = uri_without_dots(self.url)
        return "" if bare == self.url else bare

    def as_dict(self) -> dict[str, Any]:
        """The verdict as JSON."""
        verdict = self.verdict
        return {
            "url": self.url,
            "agent": self.agent.name,
            "allowed": None if verdict is None else verdict.allowed,
            "reason": "unknown" if verdict is None else verdict.reason.name.lower(),
            "group": (verdict.product_token if verdict is not None else "") or None,
            "rule": str(verdict.rule) if verdict is not None and verdict.rule else None,
            "line": self.line,
            **({} if self.expected is None else {"expected": self.expected}),
        }


_AHEAD = 64  # URLs
_MOST_JUDGES = 2000
_LOOK_SECONDS = 0.02
_AT_ONCE = 200  # URLs to judge before other work of the event loop gets a turn


class Judges:
    """The judges of the URLs in pages and sitemaps.

    Attributes:
        only: the judge by the given file; None if each origin has a policy.
        limit: the most origins whose robots.txt is fetched.
        left_count: the number of URLs beyond that limit, which were not judged.
    """

    def __init__(self, call: Call, limit: int) -> None:
        """Read the file that judges all URLs, if the call names one.

        A page or a sitemap may name thousands of slow origins, so `limit` restricts their number.

        Raises:
            CommandError: that file cannot be read, or its URL is invalid.
        """
        robots = call.options.robots
        self._call = call
        self._since = time.time()
        self.only: Judge | None = None
        self.limit = limit
        self.left_count = 0
        self._file_origin: Origin | None = None
        if robots and is_url(robots):
            self._file_origin = origin_of(robots)
        elif robots:
            self.only = Judge.of_input(read(robots, call), call)
        self._by_origin: dict[Origin, Judge] = {}

    async def prepare(self, urls: Iterable[str], crawler: Crawler) -> None:
        """Fetch the files that judge some URLs, several at a time."""
        found = filter(None, map(origin_or_none, urls))
        origins = list(islice(dict.fromkeys(found), self.limit)) if self.only is None else []
        policies = policies_of(crawler, "check")
        async for _ in as_they_come(map(policies.get, origins), len(origins) or 1):
            pass

    async def of(self, url: str, crawler: Crawler) -> Judge | None:
        """The judge of a URL; None without an http(s) origin, or beyond the limit."""
        origin = origin_or_none(url)
        if origin is None or self.only is not None:
            return None if origin is None else self.only
        origin = self._file_origin or origin
        if origin not in self._by_origin:
            if len(self._by_origin) >= self.limit:
                self.left_count += 1
                return None
            policy = await policies_of(crawler, "check").get(origin)
            self._by_origin[origin] = Judge.of_policy(origin, policy, self._call, self._since)
        return self._by_origin[origin]

    def tell_files(self) -> None:
        """Report the files that judged and their age; in JSON, as a row."""
        call, rows = self._call, []
        for origin, judge in self._by_origin.items():
            uri, freshness = origin.robots_txt_uri, judge.freshness
            if freshness is None:
                continue
            told = {"source": freshness.source, "asked_at": freshness.asked_at}
            rows.append({"robots_txt": uri, **told})
            if not call.is_json:
                call.complain(f"{uri}: {freshness.words}")
        if call.is_json and rows:
            call.row({"files": rows})


class JudgedStream:
    """Judges URLs in order, each as soon as it is read and its policy is there.

    A thread reads. The engine fetches the robots.txt of the next `_AHEAD` URLs at the same time, so
    that a slow site delays the answers after it, but not the fetches.
    """

    def __init__(
        self,
        first: str,
        urls: Iterator[str],
        call: Call,
        since: float,
        tell: Callable[[str, Judge], None],
    ) -> None:
        """Take the URLs, the time of the call, and the function that gets each result."""
        self._first = origin_of(first).robots_txt_uri
        self._call = call
        self._since = since
        self._tell = tell
        self._read: queue.Queue[str | Exception | None] = queue.Queue(_AHEAD)
        self._is_over = False
        self._waiting: deque[tuple[str, Origin]] = deque()
        self._judges: dict[Origin, Judge | Exception | None] = {}  # None: under way
        self._count = 0
        Thread(
            target=self._read_all, args=(chain([first], urls),), name="rep-urls", daemon=True
        ).start()

    def run(self) -> None:
        """Judge all URLs.

        Raises:
            CommandError: the crawl could not run, or standard input cannot be read.
        """
        # Where users type URLs, a progress line would be in their way.
        is_typed = "-" in self._call.options.urls and sys.stdin is not None and sys.stdin.isatty()
        in_engine(self._call, self._work, None if is_typed else self._words)

    def _words(self) -> str:
        """The progress, for the terminal."""
        under_way = [origin for origin, judge in self._judges.copy().items() if judge is None]
        if not self._count and len(under_way) < 2:  # noqa: PLR2004
            return f"fetching {self._first}"
        left = f"{len(under_way):,} robots.txt under way" if under_way else "waiting for more"
        return f"{counted(self._count, 'URL')} judged, {left}"

    def _read_all(self, urls: Iterator[str]) -> None:
        try:
            for url in urls:
                self._read.put(url)
            self._read.put(None)
        except Exception as error:  # noqa: BLE001 - raised again by the judging code
            self._read.put(error)

    async def _work(self, crawler: Crawler) -> None:
        while self._waiting or not self._is_over:
            self._take(crawler)
            if all(self._judge_next() for _ in range(_AT_ONCE)):
                await sleep(0)
            elif self._read.empty() or len(self._waiting) >= _AHEAD:
                self._call.terminal.flush()
                await sleep(_LOOK_SECONDS)

    def _take(self, crawler: Crawler) -> None:
        """Take the URLs read so far, and fetch their files."""
        while len(self._waiting) < _AHEAD and not self._read.empty():
            url = self._read.get()
            if url is None:
                self._is_over = True
                return
            if isinstance(url, Exception):
                raise url
            origin = origin_of(url)
            self._waiting.append((url, origin))
            if origin not in self._judges:
                self._judges[origin] = None
                deferred_from_coro(self._fetch(origin, crawler))

    async def _fetch(self, origin: Origin, crawler: Crawler) -> None:
        try:
            policy = await policy_for(crawler, origin.robots_txt_uri)
            body = _body_as_sent(origin, crawler)
            self._judges[origin] = Judge.of_policy(origin, policy, self._call, self._since, body)
        except Exception as error:  # noqa: BLE001 - raised again by the judging code
            self._judges[origin] = error

    def _judge_next(self) -> bool:
        """Judge the next URL, if its policy is there."""
        judge = self._judges[self._waiting[0][1]] if self._waiting else None
        if isinstance(judge, Exception):
            raise judge
        if judge is None:
            return False
        self._tell(self._waiting.popleft()[0], judge)
        self._count += 1
        if len(self._judges) > _MOST_JUDGES:
            oldest = next(iter(self._judges))
            if all(origin != oldest for _, origin in self._waiting):
                del self._judges[oldest]
        return True


def _body_as_sent(origin: Origin, crawler: Crawler) -> bytes | None:
    """The file that a policy of this crawl was read from, for other parsers; None if unknown.

    The crawl's own store has it at once. In the file, it may come a moment later.
    """
    fetching = policies_of(crawler, "this command").fetching
    key = fetching.requester.key_by(fetching.keeper.peek, fetching.requester.key(origin))
    known = fetching.keeper.peek(key)
    return None if known.copy is None or known.outage is not None else known.copy.body

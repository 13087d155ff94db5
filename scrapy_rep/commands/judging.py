"""Verdicts with their explanations, as `check` shows them."""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

from scrapy import Spider
from scrapy.crawler import Crawler

from scrapy_rep.analysis.checks.codes import Code
from scrapy_rep.analysis.effect.matching_rules import Matcher
from scrapy_rep.identity import Identity
from scrapy_rep.policy import Policy
from scrapy_rep.protocol.access.events import AccessResult, Meaning, access_result
from scrapy_rep.protocol.access.knowledge import status_of
from scrapy_rep.protocol.access.origin import Origin
from scrapy_rep.protocol.document import parse
from scrapy_rep.protocol.extensions.headers import token_from_user_agent
from scrapy_rep.protocol.extensions.pace import Asked, pace
from scrapy_rep.protocol.paths import uri_without_dots
from scrapy_rep.protocol.tokens import EVERYONE, as_product_tokens
from scrapy_rep.protocol.verdict import Reason, Rule, Verdict, shown
from scrapy_rep.reading import Reading
from scrapy_rep.settings import RepSettings

from .answers import Freshness
from .entries import step_dict, step_words
from .running import CommandError

if TYPE_CHECKING:
    from scrapy.settings import Settings

    from .opinions import Opinion, Opinions
    from .sources import Source

_DOUBTS = (Code.MARKUP, Code.UTF16, Code.PARSE_LIMIT)
_NO_ORIGIN = Origin("https", "robots.txt.invalid", 443)


@dataclass(frozen=True, slots=True)
class Agent:
    """A crawler: a name for people, and product tokens."""

    name: str
    tokens: tuple[str, ...]


def agents_of(settings: Settings, arguments: list[str]) -> list[Agent]:
    """The agents of the command line, or that of this project's crawls.

    Raises:
        CommandError: one of them cannot name a crawler.
    """
    if not arguments:
        identity = Identity(Crawler(Spider, settings))
        identity.settle()
        return [Agent(" or ".join(identity.tokens) or EVERYONE, identity.tokens)]
    return [_agent(argument) for argument in arguments]


def _agent(argument: str) -> Agent:
    if argument == EVERYONE:
        return Agent(EVERYONE, ())
    token = token_from_user_agent(argument)
    if token is None:
        raise CommandError(
            f"--agent {argument!r} names no crawler: give a product token such as 'ExampleBot', a "
            "User-Agent header that holds one, or '*'"
        )
    as_product_tokens(token)
    return Agent(token, (token,))


@dataclass(frozen=True, slots=True)
class Judgement:
    """A verdict on one URL for one agent, and what it is based on.

    Attributes:
        url: as given.
        agent: the crawler.
        verdict: None if nothing is known.
        text: the text of the deciding line.
        lost: the other rules that match, most specific first, if they were requested.
        policy: the policy that gave the verdict; None if nothing is known.
        origin: the origin of the file.
        is_explained: whether `lost` was requested.
        has_answer: whether the file was fetched, now or before.
        bare: the URL without its dot segments, which is judged too; empty if it has none.
        freshness: where the answer is from, and how old it is; None if there is none.
        opinions: what other parsers say, if they were asked.
    """

    url: str
    agent: Agent
    verdict: Verdict | None
    text: str
    lost: tuple[Rule, ...]
    policy: Policy | None
    origin: Origin
    is_explained: bool
    has_answer: bool
    bare: str
    freshness: Freshness | None
    opinions: tuple[Opinion, ...] = ()

    @property
    def is_unreachable(self) -> bool:
        """Whether there is no file to judge by, because of a failure."""
        return self.policy is None or (self.policy.is_unreachable and not self.policy.is_stale)

    @property
    def why(self) -> str:
        """The reason in words."""
        if self.verdict is None:
            return f"the store holds nothing usable of {self.origin}"
        if self.verdict.rule is not None and self.verdict.rule.octets:
            return f"line {self.verdict.line}, {self.verdict.rule}"
        return self.verdict.reason.value

    def access_lines(self) -> list[str]:
        """How the file was fetched."""
        policy = self.policy
        if policy is None or not self.has_answer:
            return []
        result = policy.access_result
        word = result.value if result is not None else "not fetched"
        stale = ", an old copy because it is unreachable now" if policy.is_stale else ""
        source = f"; {self.freshness}" if self.freshness else ""
        lines = [f"robots.txt: {policy.event} ({word}{stale}), {_time(policy.fetched_at)}{source}"]
        if policy.steps:
            return lines + [f"  {words}" for words in step_words(policy.steps)]
        hops = policy.hops or (self.origin.robots_txt_uri,)
        return lines + [
            f"  {'from' if not number else '->'} {hop}" for number, hop in enumerate(hops)
        ]

    @property
    def remarks(self) -> list[str]:
        """What makes the file doubtful as a whole: that it is markup, or is not read to its end."""
        if self.policy is None or self.policy.meaning is not Meaning.RULES:
            return []
        return [found.message for found in self.policy.findings if found.code in _DOUBTS]

    def as_dict(self) -> dict[str, Any]:
        """What ``--json`` shows."""
        verdict = self.verdict
        rule = verdict.rule if verdict is not None else None
        found: dict[str, Any] = {
            "url": self.url,
            "agent": self.agent.name,
            "allowed": None if verdict is None else verdict.allowed,
            "reason": "unknown" if verdict is None else verdict.reason.name.lower(),
            "group": (verdict.product_token if verdict is not None else "") or None,
            "rule": None if rule is None else str(rule),
            "line": verdict.line if verdict is not None else 0,
            "text": self.text or None,
        }
        if self.is_explained:
            found["lost"] = [
                {"rule": str(lost), "line": lost.line, "octets": lost.octets} for lost in self.lost
            ]
        if self.bare:
            found["without_dot_segments"] = self.bare
        if self.remarks:
            found["remarks"] = self.remarks
        if self.opinions:
            found["like"] = {one.parser: one.allowed for one in self.opinions}
            failures = {one.parser: one.failure for one in self.opinions if one.failure}
            found.update({"like_failures": failures} if failures else {})
        if self.has_answer:
            found["access"] = _access(self.policy, self.origin, self.freshness)
        return found


def _access(
    policy: Policy | None, origin: Origin, freshness: Freshness | None
) -> dict[str, Any] | None:
    if policy is None:
        return None
    result = policy.access_result
    return {
        "robots_txt": origin.robots_txt_uri,
        "event": policy.event,
        "result": None if result is None else result.value,
        "hops": list(policy.hops),
        "steps": list(map(step_dict, policy.steps)),
        "sha256": policy.sha256 or None,
        "fetched_at": policy.fetched_at or None,
        "asked_at": policy.asked_at or None,
        "source": None if freshness is None else "store" if freshness.is_stored else "site",
        "is_stale": policy.is_stale,
    }


def _time(instant: float) -> str:
    if not instant:
        return "not fetched"
    return f"of {datetime.fromtimestamp(instant, timezone.utc):%Y-%m-%d %H:%M:%S} UTC"


class Judge:
    """Judges URLs by one policy; it reads the lines and the groups of the file once.

    Attributes:
        policy: the policy; None if nothing is known.
        freshness: where the answer is from, and how old it is; None if there is none.
    """

    def __init__(
        self,
        origin: Origin,
        policy: Policy | None,
        settings: Settings,
        *,
        has_answer: bool,
        freshness: Freshness | None = None,
        body: bytes | None = None,
    ) -> None:
        self.freshness = freshness
        self._origin = origin
        self._settings = RepSettings.of(settings)
        self._skipped: dict[tuple[str, ...], bool] = {}
        self.policy = policy
        self._has_answer = has_answer
        octets = policy.robots_txt.octets if policy is not None else b""
        self._lines = octets.split(b"\n")
        self._body = octets if body is None else body
        self._matchers: dict[tuple[str, ...], Matcher] = {}

    @classmethod
    def of_policy(
        cls,
        origin: Origin,
        policy: Policy | None,
        settings: Settings,
        *,
        asked_since: float,
        body: bytes | None = None,
    ) -> Judge:
        """The judge for one origin; `policy` None if nothing is known.

        What was answered before `asked_since` is from the store. `body` is the file as it was sent,
        if that is known.
        """
        freshness = None
        if policy is not None and policy.asked_at:
            freshness = Freshness(policy.asked_at, is_stored=policy.asked_at < asked_since)
        return cls(origin, policy, settings, has_answer=True, freshness=freshness, body=body)

    @classmethod
    def of_source(cls, source: Source, settings: Settings) -> Judge:
        """The judge by a file that the user names."""
        if source.answer is None:
            reading = _reading(source.body, source.uri, settings)
            policy = Policy(_NO_ORIGIN, 200, Meaning.RULES, reading, ())
            return cls(_NO_ORIGIN, policy, settings, has_answer=False, body=source.body)
        origin = Origin.of(source.uri) or _NO_ORIGIN
        event = source.answer.event
        meaning = RepSettings.of(settings).rules.access.meaning(
            event, status_of(source.answer.steps)
        )
        is_file = access_result(event) is AccessResult.SUCCESSFUL
        reading = _reading(source.body if is_file else b"", source.uri, settings)
        at = source.freshness.asked_at if source.freshness is not None else 0.0
        policy = Policy(
            origin,
            event,
            meaning,
            reading,
            (),
            hops=source.answer.hops,
            steps=source.answer.steps,
            fetched_at=at,
            asked_at=at,
        )
        return cls(
            origin, policy, settings, has_answer=True, freshness=source.freshness, body=source.body
        )

    def judge(self, url: str, agent: Agent, *, explains: bool) -> Judgement:
        """The verdict on a URL; with `explains`, also the rules that lost."""
        policy = self.policy
        verdict = None if policy is None else policy.verdict(url, agent.tokens)
        if verdict is not None and self._has_answer and self._is_skipped(verdict, agent):
            reason, uri = Reason.CRAWL_DELAY, verdict.robots_txt
            verdict = Verdict(allowed=False, reason=reason, robots_txt=uri)
        text = ""
        if verdict is not None and verdict.line:
            text = shown(self._lines[verdict.line - 1])
        return Judgement(
            url,
            agent,
            verdict,
            text,
            self._lost(url, agent, verdict) if explains and verdict is not None else (),
            policy,
            self._origin,
            explains,
            self._has_answer,
            bare if (bare := uri_without_dots(url)) != url else "",
            self.freshness,
        )

    def opinions(self, opinions: Opinions, url: str, agent: Agent) -> tuple[Opinion, ...]:
        """What other parsers say; nothing where no file decides."""
        if self.policy is None or self.policy.meaning is not Meaning.RULES:
            return ()
        absolute = f"{self._origin}{url}" if url.startswith("/") else url
        return opinions.of(self._body, agent.tokens[0] if agent.tokens else EVERYONE, absolute)

    def _is_skipped(self, verdict: Verdict, agent: Agent) -> bool:
        """Whether a crawl drops an allowed URL, because the site asks for too long a delay."""
        if not verdict.allowed or verdict.reason is Reason.IMPLICITLY_ALLOWED or not self.policy:
            return False
        if agent.tokens not in self._skipped:
            file = self.policy.robots_txt
            asked = Asked(file.crawl_delay(agent.tokens), file.request_rate(agent.tokens))
            limit, excess = (
                self._settings.crawl_delay_max_seconds,
                self._settings.crawl_delay_excess,
            )
            self._skipped[agent.tokens] = pace(asked, time.time(), limit, excess).is_skipped
        return self._skipped[agent.tokens]

    def _lost(self, url: str, agent: Agent, verdict: Verdict) -> tuple[Rule, ...]:
        if self.policy is None or self.policy.meaning is not Meaning.RULES:
            return ()
        if agent.tokens not in self._matchers:
            group = self.policy.robots_txt.group(agent.tokens)
            self._matchers[agent.tokens] = Matcher(() if group is None else group.rules)
        matching = self._matchers[agent.tokens].matching(url)
        return tuple(rule for rule in matching if rule.line != verdict.line)


def _reading(body: bytes, uri: str, settings: Settings) -> Reading:
    limit_octets = RepSettings.of(settings).parse_limit_octets
    robots_txt = parse(body, uri, limit_octets=limit_octets)
    return Reading(robots_txt, robots_txt)

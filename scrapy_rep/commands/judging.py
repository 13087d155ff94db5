"""Verdicts with all that can be said of them: what `check` shows."""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

from scrapy import Spider
from scrapy.crawler import Crawler

from scrapy_rep.identity import Identity
from scrapy_rep.policy import Policy, Reading
from scrapy_rep.protocol.access import AccessResult, Meaning, access_result
from scrapy_rep.protocol.document import parse
from scrapy_rep.protocol.effect.matching_rules import Matcher
from scrapy_rep.protocol.findings import shown
from scrapy_rep.protocol.origin import Origin
from scrapy_rep.protocol.pace import Asked, pace
from scrapy_rep.protocol.tokens import EVERYONE, as_product_tokens, token_from_user_agent
from scrapy_rep.protocol.verdict import Reason, Rule, Verdict
from scrapy_rep.robotparser import tokens_of
from scrapy_rep.settings import RepSettings

from .running import CommandError

if TYPE_CHECKING:
    from scrapy.settings import Settings

    from .sources import Source

_NO_ORIGIN = Origin("https", "robots.txt.invalid", 443)


@dataclass(frozen=True, slots=True)
class Agent:
    """Who asks: a name for people, and product tokens."""

    name: str
    tokens: tuple[str, ...]


def agents_of(settings: Settings, arguments: list[str]) -> list[Agent]:
    """The agents of the command line, else whom this project's crawls are judged as.

    Raises:
        CommandError: one of them could name no crawler.
    """
    if not arguments:
        identity = Identity(Crawler(Spider, settings))
        tokens = identity.tokens or tokens_of(identity.header)
        return [Agent(" or ".join(tokens) or EVERYONE, tokens)]
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
    """A verdict on one URL for one agent, and where it comes from.

    Attributes:
        url: as given.
        agent: who asks.
        verdict: None if nothing is known.
        text: the text of the deciding line.
        lost: rules that match too, most specific first; only if they were asked for.
        policy: what it rests on; None if nothing is known.
        origin: whose file it is.
        is_explained: whether `lost` was asked for.
        has_answer: whether a site was asked for the file, now or before.
        in_crawl: what a crawl would go by, if that is another verdict than the file's own: one on
            the URL without its dot segments.
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
    in_crawl: Verdict | None

    @property
    def is_unreachable(self) -> bool:
        """Whether there is no file to go by, because of a failure."""
        return self.policy is None or (self.policy.is_unreachable and not self.policy.is_stale)

    @property
    def why(self) -> str:
        """The reason in words."""
        if self.verdict is None:
            return f"the store knows nothing of {self.origin} that could be used"
        if self.verdict.rule is not None and self.verdict.rule.octets:
            return f"line {self.verdict.line}, {self.verdict.rule}"
        return self.verdict.reason.value

    def access_lines(self) -> list[str]:
        """How the file was had."""
        policy = self.policy
        if policy is None or not self.has_answer:
            return []
        result = policy.access_result
        word = result.value if result is not None else "not asked for"
        stale = ", an old copy since it is unreachable now" if policy.is_stale else ""
        lines = [f"robots.txt: {policy.event} ({word}{stale}), {_time(policy.fetched_at)}"]
        hops = policy.hops or (self.origin.robots_txt_uri,)
        return lines + [
            f"  {'from' if not number else '->'} {hop}" for number, hop in enumerate(hops)
        ]

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
        if self.in_crawl is not None:
            found["in_crawl"] = {"allowed": self.in_crawl.allowed, "line": self.in_crawl.line}
        if self.has_answer:
            found["access"] = _access(self.policy, self.origin)
        return found


def _access(policy: Policy | None, origin: Origin) -> dict[str, Any] | None:
    if policy is None:
        return None
    result = policy.access_result
    return {
        "robots_txt": origin.robots_txt_uri,
        "event": policy.event,
        "result": None if result is None else result.value,
        "hops": list(policy.hops),
        "fetched_at": policy.fetched_at or None,
        "is_stale": policy.is_stale,
    }


def _time(instant: float) -> str:
    if not instant:
        return "not asked for"
    return f"of {datetime.fromtimestamp(instant, timezone.utc):%Y-%m-%d %H:%M:%S} UTC"


class Judge:
    """Judges URLs by one policy; reads the text of lines and the rules of groups once."""

    def __init__(
        self, origin: Origin, policy: Policy | None, settings: Settings, *, has_answer: bool
    ) -> None:
        self._origin = origin
        self._settings = RepSettings.of(settings)
        self._skipped: dict[tuple[str, ...], bool] = {}
        self._policy = policy
        self._has_answer = has_answer
        octets = policy.robots_txt.octets if policy is not None else b""
        self._lines = octets.split(b"\n")
        self._matchers: dict[tuple[str, ...], Matcher] = {}

    @classmethod
    def of_policy(cls, origin: Origin, policy: Policy | None, settings: Settings) -> Judge:
        """The judge for one origin; `policy` None if nothing is known."""
        return cls(origin, policy, settings, has_answer=True)

    @classmethod
    def of_source(cls, source: Source, settings: Settings) -> Judge:
        """The judge by a file that was given.

        Raises:
            CommandError: it was to be asked for, and there is none to go by.
        """
        if source.answer is None:
            reading = _reading(source.body, source.uri, settings)
            policy = Policy(_NO_ORIGIN, 200, Meaning.RULES, reading, ())
            return cls(_NO_ORIGIN, policy, settings, has_answer=False)
        origin = Origin.of(source.uri) or _NO_ORIGIN
        event = source.answer.event
        meaning = RepSettings.of(settings).rules.access.meaning(event)
        is_file = access_result(event) is AccessResult.SUCCESSFUL
        reading = _reading(source.body if is_file else b"", source.uri, settings)
        policy = Policy(origin, event, meaning, reading, (), hops=source.answer.hops)
        return cls(origin, policy, settings, has_answer=True)

    def judge(self, url: str, agent: Agent, *, explains: bool) -> Judgement:
        """The verdict on a URL, with the rules that lost if they are asked for."""
        policy = self._policy
        verdict = in_crawl = None if policy is None else policy.verdict(url, agent.tokens)
        if verdict is not None and self._has_answer and self._is_skipped(verdict, agent):
            reason, uri = Reason.CRAWL_DELAY, verdict.robots_txt
            verdict = in_crawl = Verdict(allowed=False, reason=reason, robots_txt=uri)
        if policy is not None and not self._has_answer:
            verdict = policy.robots_txt.verdict(agent.tokens, url)  # what the file itself says
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
            in_crawl if in_crawl != verdict else None,
        )

    def _is_skipped(self, verdict: Verdict, agent: Agent) -> bool:
        """Whether a crawl drops what is allowed, for the long delay that the site asks for."""
        if not verdict.allowed or verdict.reason is Reason.IMPLICITLY_ALLOWED or not self._policy:
            return False
        if agent.tokens not in self._skipped:
            file = self._policy.robots_txt
            asked = Asked(file.crawl_delay(agent.tokens), file.request_rate(agent.tokens))
            limit, excess = (
                self._settings.crawl_delay_max_seconds,
                self._settings.crawl_delay_excess,
            )
            self._skipped[agent.tokens] = pace(asked, time.time(), limit, excess).is_skipped
        return self._skipped[agent.tokens]

    def _lost(self, url: str, agent: Agent, verdict: Verdict) -> tuple[Rule, ...]:
        if self._policy is None or self._policy.meaning is not Meaning.RULES:
            return ()
        if agent.tokens not in self._matchers:
            group = self._policy.robots_txt.group(agent.tokens)
            self._matchers[agent.tokens] = Matcher(() if group is None else group.rules)
        matching = self._matchers[agent.tokens].matching(url)
        return tuple(rule for rule in matching if rule.line != verdict.line)


def _reading(body: bytes, uri: str, settings: Settings) -> Reading:
    limit_octets = RepSettings.of(settings).parse_limit_octets
    robots_txt = parse(body, uri, limit_octets=limit_octets)
    return Reading(robots_txt, robots_txt)

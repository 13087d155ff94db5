"""Makes every decision of a trail again, from the trail alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

from scrapy_rep.cache.memory import Lru
from scrapy_rep.decisions.occasions import DONT_OBEY, OFF
from scrapy_rep.extras.evidence import trail_records as records
from scrapy_rep.extras.evidence.trail_reading import Run
from scrapy_rep.fetch.reading import Reading
from scrapy_rep.policy import Policy
from scrapy_rep.protocol.access.events import AccessPolicy, Event, Failure, Meaning, Remedy
from scrapy_rep.protocol.access.knowledge import Outage
from scrapy_rep.protocol.access.origin import Origin
from scrapy_rep.protocol.access.states import remedy_at
from scrapy_rep.protocol.document import parse
from scrapy_rep.protocol.errors import InvalidUri, RepError
from scrapy_rep.protocol.lines import PARSE_LIMIT_OCTETS
from scrapy_rep.protocol.tokens import as_product_tokens
from scrapy_rep.protocol.units import counted
from scrapy_rep.protocol.verdict import Reason, Verdict
from scrapy_rep.settings import PaceSettings

CONFIRMED, DIFFERS, _REDACTED = "confirmed", "differs", "redacted"

_FILES_OCTETS = 1 << 28
_RECORD_OCTETS = 2500  # of a policy in memory, also without a file
_MOST_EARLY = 10_000  # requests kept until the file of their origin comes
_OVERRIDE = "override"
_ISSUES = "https://github.com/scrapy-rep/scrapy-rep/issues"


@dataclass(frozen=True, slots=True)
class Replayed:
    """The result of judging a decision again.

    Attributes:
        word: confirmed, differs, redacted, or the reason why it cannot be judged again.
        now: the new verdict, if it differs.
    """

    word: str
    now: Verdict | None = None


def tokens_of(record: Mapping[str, Any], head: Mapping[str, Any]) -> tuple[str, ...]:
    """The product tokens that judged a request: its own, perhaps none, or those of the run."""
    return tuple(record["tokens"] if "tokens" in record else head.get("tokens") or ())


def difference_words(run: Run, count: int, unmarked: int) -> str:
    """The words for decisions that differ although all digests of the trail are right.

    `unmarked` is the number of lines that no digest covers.
    """
    then = (run.head.get("software") or {}).get("scrapy_rep", "of another version")
    differ = f"{counted(count, 'decision differs', 'decisions differ')} when made again"
    ours = (
        f"scrapy-rep {version('scrapy-rep')} decides differently today than scrapy-rep {then} did "
        f"in the crawl. Please report it: {_ISSUES}"
    )
    if not unmarked:
        return f"{differ}, although every digest in the trail is right: {ours}"
    lines = counted(unmarked, "line")
    return f"{differ}. They may be in {lines} that no digest covers, and were changed; or {ours}"


class NotReplayableError(Exception):
    """A decision cannot be made again; the message tells why."""


def with_grounds(
    run: Run, *, needs_bodies: bool = True
) -> Iterator[tuple[dict[str, Any], dict[str, Any] | None, bytes | None]]:
    """Yield each record but those of files, with its policy and the octets of its file.

    The policy of a `policy` record is the record itself. Policies of other segments never count,
    even if the first line of this one is damaged: the same number may mean another policy here,
    and verify reports it as missing.

    Memory: the policies of one segment, and up to 256 MB of files.
    """
    segment, policies = "", dict[int, dict[str, Any]]()
    bodies: Lru[str, bytes] = Lru(_FILES_OCTETS)
    for place, record in run.records():
        kind = record["t"]
        if place.segment != segment or kind == records.RUN:
            segment = place.segment
            policies.clear()  # each segment repeats the policies that it needs
        if kind == records.POLICY:
            policies[record["p"]] = record
        if kind != records.BODY:
            is_based = "p" in record and kind in (*records.NUMBERED, records.POLICY)
            policy = policies.get(record["p"]) if is_based else None
            yield record, policy, bodies.get((policy or {}).get("body", ""))
        elif needs_bodies:
            with suppress(ValueError):
                body = records.octets_of(record)
                bodies.put(f"sha256:{record.get('sha256')}", body, len(body))


class Replayer:
    """Makes the decisions of a run again, with the same or another policy and agent."""

    def __init__(self, run: Run, *, preset: str | None = None, agent: str | None = None) -> None:
        """Take the run, and the policy and agent to use instead.

        Raises:
            RepError: the policy or the agent is invalid.
        """
        self._run = run
        self._access = None if preset is None else AccessPolicy(preset)
        self._agent = None if agent is None else as_product_tokens(agent)
        # With the record behind each policy: another segment may use the number for another policy.
        self._made: Lru[int, tuple[dict[str, Any], Policy]] = Lru(_FILES_OCTETS)
        head = run.head
        self._settings: dict[str, Any] = head.get("settings") or {}
        self._tokens = tokens_of({}, head)

    def outcomes(self) -> Iterator[tuple[dict[str, Any], Replayed, int]]:
        """Yield each record with its result, and the number of decisions it stands for."""
        for record, told, body in with_grounds(self._run):
            if record["t"] == records.DECISION:
                yield record, self._outcome(record, told, body), 1
            elif record["t"] == records.GAP:
                lost = int(record.get("allowed", 0)) + int(record.get("disallowed", 0))
                yield record, Replayed("lost in a gap"), lost
        if self._run.damaged_count:
            yield {}, Replayed("not replayable: damaged records"), self._run.damaged_count

    def afterwards(self) -> Iterator[tuple[dict[str, Any], Verdict | None]]:
        """Yield the requests that no robots.txt decided, with the verdict by that of their origin.

        A request is judged by the last file before it, or by the first file after it. Without a
        file, or if its URL is redacted, the verdict is None.
        """
        files: Lru[str, tuple[dict[str, Any], bytes | None]] = Lru(_FILES_OCTETS)
        early: dict[str, list[dict[str, Any]]] = {}
        early_count = 0
        for record, told, body in with_grounds(self._run):
            if record["t"] == records.POLICY and record.get("source") != _OVERRIDE:
                files.put(record["origin"], (record, body), _RECORD_OCTETS + len(body or b""))
                for one in early.pop(record["origin"], ()):
                    early_count -= 1
                    yield one, self._afterwards(one, record, body)
            elif _is_undecided(record, told):
                origin = "" if record.get("redacted") else _origin_in(record["url"])
                found = files.get(origin)
                if found is not None:
                    yield record, self._afterwards(record, *found)
                elif origin and early_count < _MOST_EARLY:
                    early_count += 1
                    early.setdefault(origin, []).append(record)
                else:
                    yield record, None
        for ones in early.values():
            yield from ((one, None) for one in ones)

    def _afterwards(
        self, record: dict[str, Any], told: dict[str, Any], body: bytes | None
    ) -> Verdict | None:
        with suppress(NotReplayableError, RepError, KeyError, TypeError, ValueError):
            policy = self._policy(told, body, float(record["at"]))
            return policy.verdict(record["url"], self._tokens)
        return None

    def _outcome(
        self, record: dict[str, Any], told: dict[str, Any] | None, body: bytes | None
    ) -> Replayed:
        if record.get("redacted"):
            return Replayed(_REDACTED)
        try:
            now = self._verdict(record, told, body)
        except NotReplayableError as error:
            return Replayed(f"not replayable: {error}")
        except (RepError, KeyError, TypeError, ValueError) as error:
            return Replayed(f"not replayable: {type(error).__name__}")
        return Replayed(CONFIRMED if self._is_same(record, now) else DIFFERS, now)

    def _is_same(self, record: dict[str, Any], now: Verdict) -> bool:
        if self._access is not None or self._agent is not None:
            return bool(record["allowed"] == now.allowed)
        told = [record.get(name) for name in ("allowed", "reason", "line", "rule", "group")]
        rule = None if now.rule is None else str(now.rule)
        held = now.allowed, now.reason.name, now.line or None, rule, now.product_token or None
        return told == [*held]

    def _verdict(
        self, record: dict[str, Any], told: dict[str, Any] | None, body: bytes | None
    ) -> Verdict:
        reason, url = record["reason"], record["url"]
        if reason == Reason.INVALID_URI.name:
            return _of_invalid(url)
        if reason == Reason.DROPPED.name:
            raise NotReplayableError("an operator dropped its origin")
        if reason == Reason.GUARDED.name:
            raise NotReplayableError("REP_REDIRECT_GUARD refused it")
        if "p" not in record:
            raise NotReplayableError("there was no policy")
        if told is None:
            raise NotReplayableError("its policy is missing")
        policy = self._policy(told, body, float(record["at"]))
        tokens = tokens_of(record, self._run.head) if self._agent is None else self._agent
        verdict = policy.verdict(url, tokens)
        if verdict.allowed and reason in (Reason.CRAWL_DELAY.name, Reason.VISIT_TIME.name):
            return self._pace_verdict(policy, tokens, record) or verdict
        return verdict

    def _pace_verdict(
        self, policy: Policy, tokens: tuple[str, ...], record: dict[str, Any]
    ) -> Verdict | None:
        """The verdict that follows from the site's pace rules; None without one."""
        if record["reason"] == Reason.VISIT_TIME.name:
            is_refused = policy.site_pace(tokens).visit_time is not None
        else:
            settings = PaceSettings.of_trail(self._settings)
            is_refused = settings.pace(policy, float(record["at"]), tokens).is_skipped
        return Verdict(allowed=False, reason=Reason[record["reason"]]) if is_refused else None

    def _policy(self, told: dict[str, Any], body: bytes | None, at: float) -> Policy:
        """The policy behind a decision at an instant."""
        made = self._made.get(told["p"])
        if made is not None and made[0] is told:
            return made[1]
        policy = self._rebuilt(told, body, at)
        self._made.put(told["p"], (told, policy), policy.octets)
        return policy

    def _rebuilt(self, record: dict[str, Any], body: bytes | None, at: float) -> Policy:
        """A policy from its record and the octets of its file."""
        if "parser" in record:
            raise NotReplayableError("another parser was used")
        origin = Origin.of(record["origin"])
        if origin is None:
            raise NotReplayableError("its origin is invalid")
        event = _event(record["event"])
        meaning = self._meaning(record, event, at)
        reading = Reading.of_nothing(origin)
        if meaning is Meaning.RULES:
            if body is None:
                raise NotReplayableError("the octets of its file are missing")
            limit = int(self._settings.get("REP_PARSE_LIMIT_OCTETS", PARSE_LIMIT_OCTETS))
            file = parse(body, limit_octets=max(limit, PARSE_LIMIT_OCTETS))
            reading = Reading(file, file)
        return Policy(
            origin, event, meaning, reading, self._tokens, is_stale=bool(record.get("is_stale"))
        )

    def _meaning(self, record: dict[str, Any], event: Event | None, at: float) -> Meaning:
        """The meaning of the file; under another policy, the meaning that it would have had."""
        if self._access is None or event is None:
            return Meaning(record["meaning"])
        outage = record.get("outage")
        if outage is None:
            hops: list[dict[str, Any]] = record.get("hops") or [{}]
            return self._access.meaning(event, hops[-1].get("status"))
        told = Outage(_event(outage["event"]) or Failure.LOCAL, (), outage["since"], at, 1, at)
        _, remedy = remedy_at(at, told, self._access, has_copy="body" in record)
        if remedy is Remedy.COPY:
            return Meaning.RULES
        # The rest depends on facts that the trail does not have; the more restrictive reading
        # counts.
        return Meaning.ALLOW if remedy is Remedy.ALLOW else Meaning.DISALLOW


def _is_undecided(record: dict[str, Any], told: dict[str, Any] | None) -> bool:
    """Whether a request was sent without a robots.txt, by a setting or the code of the crawl."""
    if record["t"] == records.EXEMPT:
        return record["why"] in (DONT_OBEY, OFF)
    is_allowed = record["t"] == records.DECISION and record["allowed"]
    return is_allowed and told is not None and told.get("source") == _OVERRIDE


def _origin_in(url: str) -> str:
    with suppress(InvalidUri):
        return str(Origin.of(url) or "")
    return ""


def _event(name: str) -> Event | None:
    if name == _OVERRIDE:
        return None
    return int(name) if name.isdigit() else Failure(name)


def _of_invalid(url: str) -> Verdict:
    try:
        Origin.of(url)
    except InvalidUri:
        return Verdict(allowed=False, reason=Reason.INVALID_URI)
    raise NotReplayableError("its URL had userinfo, which trails leave out")

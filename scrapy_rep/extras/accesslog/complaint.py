"""Answers a complaint: the requests in the log of a site that a crawl sent, by its audit trail.

The clocks of both differ, and a request is logged some time after its decision. So the times of the
same targets in the log and in the trail are compared first: for most requests of the crawl, they
differ by nearly the same time. Each request in the trail explains one line. A line is not ours only
if the trail is complete and has no request for its target.

An excerpt of the trail has its records on one site, as lines of JSON. The last line signs all
octets before it (Ed25519), so a reader needs only the public key.
"""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import IO, Any, NamedTuple
from urllib.parse import unquote, unquote_plus

from scrapy_rep.commands.inputs import octets_of
from scrapy_rep.commands.running import FOUND, CommandError
from scrapy_rep.commands.terminal import date, moment
from scrapy_rep.extras.evidence import trail_records as records
from scrapy_rep.extras.evidence.trail_check import check
from scrapy_rep.extras.evidence.trail_reading import Run
from scrapy_rep.extras.identity.keys import KeyPair, is_signed
from scrapy_rep.extras.identity.signatures import thumbprint
from scrapy_rep.protocol.access.origin import known_origin, origin_from
from scrapy_rep.protocol.extensions.headers import tokens_from_user_agent
from scrapy_rep.protocol.paths import END, is_robots_txt, normal_path, path_of, without_dots
from scrapy_rep.protocol.units import counted
from scrapy_rep.protocol.verdict import Verdict

from .log_lines import LogLine
from .obedience import AGAINST

HEAD = ("outcome", "at", "target", "address", "why")
"""The facts of a line that claims to be from the crawl."""

OURS, UNKNOWN, NOT_OURS = "ours", "ours, rules unknown", "not ours"
UNTOLD, BEYOND = "cannot be told", "beyond"
"""The outcomes, with `AGAINST`: a line beyond is of another time than the trail."""

_OUTCOMES = {True: OURS, False: AGAINST, None: UNKNOWN}
_REDACTED = records.redaction(records.Query.DROP)
_EXCERPTED = (records.POLICY, records.DECISION, records.EXEMPT, records.DROP)
_SPREADS_SECONDS = (5, 600)  # of most requests; of those with slow answers, or that waited
_STEPS_SECONDS = (0, -1, 1, -2, 2)  # each request also counts for the differences next to its own
_FARTHEST_SECONDS = 15 * 3600  # between clocks, if one has a wrong time zone

Record = dict[str, Any]
Sent = tuple[float, str, str]
"""A request of the crawl: the time, the outcome, and why."""

_Found = dict[tuple[str, str], dict[tuple[float, int | None], Sent]]


def site_of(url: str) -> str:
    """The host and perhaps the port of a URL; empty without a host."""
    return str(known_origin(url) or origin_from(url) or "").partition("://")[2]


def _is_kin(one: str, other: str) -> bool:
    """Whether a host is that of the other or below it, such as www.example.com, on any port."""
    return f".{one.partition(':')[0]}".endswith(f".{other.partition(':')[0]}")


class _Span(NamedTuple):
    """A run, its time, and its flaws."""

    run: Run
    begin_at: float
    end_at: float
    flaws: list[str]

    def covers(self, at: float) -> bool:
        """Whether a request of this run may be logged at a time."""
        late = _SPREADS_SECONDS[-1]
        return self.begin_at - late <= at <= self.end_at + late


class Complaint:
    """Compares the lines of a log that claim to be from a crawl with the trails of its runs.

    Attributes:
        counts: the lines by outcome, once `settle` was called.
    """

    def __init__(self, runs: Iterable[Run], site: str, spool: IO[str]) -> None:
        """Read the trails; `spool` is an empty file for lines of the log."""
        self.counts: Counter[str] = Counter()
        self._site, self._spool, self._difference = site, spool, 0
        self._agents, self._told = set[str](), set[str]()
        self._names: dict[str, str] = {}
        self._differences: Counter[int] = Counter()
        self._outcomes: list[tuple[str, str]] = []
        found: _Found = defaultdict(dict)
        self._spans = [self._read(run, found) for run in runs]
        self._sent = {place: sorted(sent.values()) for place, sent in found.items()}

    def _read(self, run: Run, found: _Found) -> _Span:
        """Note the requests of a run, by their times and numbers: a trail repeats its files."""
        from scrapy_rep.extras.evidence.replay import Replayer, with_grounds  # loads Scrapy

        begin_at = end_at = float(run.head.get("at") or 0.0)
        self._agents.add(run.head.get("user_agent", "-").lower())
        self._names.update((name.lower(), name) for name in run.head.get("tokens") or ())
        undecided = {one["n"]: verdict for one, verdict in Replayer(run).afterwards()}
        for record, policy, _ in with_grounds(run, needs_bodies=False):
            end_at = record.get("at", end_at)
            for one in _requests(record):
                site = site_of(url := one.get("url") or one["uri"])
                if not (_is_kin(site, self._site) or _is_kin(self._site, site)):
                    continue
                target = _target(url, is_redacted="redacted" in one)
                sent = found[site, target]
                if sent and (record["t"] == records.DROP or records.is_again(record)):
                    sent.popitem()
                if one is not record or records.is_sent(record):
                    judged: Any = undecided.get(one.get("n"), one.get("allowed", True))
                    outcome = _OUTCOMES[getattr(judged, "allowed", judged)]
                    sent[one["at"], one.get("n")] = one["at"], outcome, _why(one, judged, policy)
                    self._names.update((name.lower(), name) for name in one.get("tokens", ()))
                    self._told.add(target)  # of kin, too: many logs do not have the host
        checked = check(run)
        return _Span(run, begin_at, end_at, [*checked.problems, *checked.missing])

    def take(self, line: LogLine, text: str) -> None:
        """Note a line if it claims to be from the crawl."""
        names = map(str.lower, tokens_from_user_agent(line.user_agent))
        if line.user_agent.lower() in self._agents or any(name in self._names for name in names):
            self._spool.write(json.dumps([line, text]) + "\n")
            sent = self._sent_for(line)
            place = bisect_left(sent, (line.at, "", ""))
            found = (line.at - one[0] for one in sent[max(place - 2, 0) : place + 2])
            near = (round(one) for one in found if abs(one) <= _FARTHEST_SECONDS)
            self._differences.update(one + step for one in near for step in _STEPS_SECONDS)

    def _sent_for(self, line: LogLine) -> list[Sent]:
        found = (self._sent.get((self._site, target)) for target in _targets(line))
        return next(filter(None, found), [])

    def settle(self) -> list[str]:
        """Find the difference of the clocks, and the request of the trail behind each line.

        Returns why the trails of that time are damaged or not complete.
        """
        (close, far), seconds = _SPREADS_SECONDS, self._differences
        weights = {one: count << (abs(one) <= far) for one, count in seconds.items()}
        self._difference = max(weights, key=weights.__getitem__, default=0)
        times = [line.at - self._difference for line, _ in self._lines()]
        covering = [span for span in self._spans if any(map(span.covers, times))]
        self._spans = covering or self._spans
        found = [self._match(line, close) for line, _ in self._lines()]
        self._outcomes = [
            own or self._match(line, far) or self._without_match(line)
            for own, (line, _) in zip(found, self._lines(), strict=True)
        ]
        self.counts.update(outcome for outcome, _ in self._outcomes)
        return [f"{span.run.name}: {flaw}" for span in self._spans for flaw in span.flaws]

    def _match(self, line: LogLine, spread: float) -> tuple[str, str] | None:
        """The outcome of the request behind a line, which explains no other one."""
        sent, sent_at = self._sent_for(line), line.at - self._difference
        first, end = (bisect_left(sent, (sent_at + one, "", "")) for one in (-spread, spread))
        return sent.pop(first)[1:] if first < end else None

    def _without_match(self, line: LogLine) -> tuple[str, str]:
        if not any(span.covers(line.at - self._difference) for span in self._spans):
            return BEYOND, ""
        is_told = not self._told.isdisjoint(_targets(line))
        doubts = {
            "other runs and commands fetch this, too": is_robots_txt(line.url),
            "the log does not have its target": not line.target,
            "the trail has this target at another time, or for another line": is_told,
            "the trail of that time is not complete": any(span.flaws for span in self._spans),
        }
        why = next(filter(doubts.get, doubts), "")
        return UNTOLD if why else NOT_OURS, why

    def _lines(self) -> Iterator[tuple[LogLine, str]]:
        self._spool.seek(0)
        for line, text in map(json.loads, self._spool):
            yield LogLine(*line), text

    def rows(self) -> Iterator[Record]:
        """Yield the facts of each line that claims to be from the crawl."""
        for (outcome, why), (line, text) in zip(self._outcomes, self._lines(), strict=True):
            facts = (outcome, date(line.at), line.target, line.address, why, text)
            yield dict(zip((*HEAD, "text"), facts, strict=True))

    def sentence(self) -> str:
        """The answer to the site."""
        counts, spans = self.counts, self._spans
        name = " or ".join(self._names.values() or self._agents)
        _, begins, ends, _ = zip(*spans, strict=True)
        return (
            f"Of {counted(counts.total(), 'request')} to {self._site} that name {name}, our crawl "
            f"sent {counts[OURS] + counts[UNKNOWN] + counts[AGAINST]:,}, {counts[AGAINST]:,} of "
            f"them against the robots.txt that it had, and {counts[UNKNOWN]:,} without a known one;"
            f" {counts[NOT_OURS]:,} are not ours, because our audit trail "
            f"({counted(len(spans), 'run')}, {moment(min(begins))} to {moment(max(ends))}) does "
            f"not have them; for {counts[UNTOLD]:,}, the trail cannot tell; "
            f"{counts[BEYOND]:,} are from other times. "
            f"The clock of the log is {self._difference} s ahead of ours."
        )

    def excerpt(self, key: KeyPair, agent: str) -> str:
        """A signed excerpt of the trails of that time."""
        head = {"t": "excerpt", "site": self._site, "agent": agent, "sentence": self.sentence()}
        lines = [records.line(head)]
        for run in (span.run for span in self._spans):
            told = {"t": records.RUN, "run": run.name, "manifest_sha256": run.manifest_sha256}
            found = (record for _, record in run.records() if record["t"] in _EXCERPTED)
            own = (one for one in found if site_of(one.get("url") or one["origin"]) == self._site)
            lines += map(records.line, (told, *own))
        signed = "".join(lines)
        end = {"signature": b64encode(key.signing.sign(signed.encode())).decode(), "jwk": key.jwk}
        return signed + records.line({"t": "signature", **end})


def verified(path: str) -> list[str]:
    """The key that signed an excerpt, by its thumbprint, and the sentence in it.

    Raises:
        CommandError: the signature does not verify.
    """
    signed, _, last = octets_of(path, 1 << 30).rstrip(b"\n").rpartition(b"\n")
    with suppress(KeyError, TypeError, ValueError, RecursionError):
        end, head, *found = map(json.loads, (last, *signed.splitlines()))
        if is_signed(signed + b"\n", b64decode(end["signature"]), end["jwk"]):
            verifies = f"The excerpt verifies, with {counted(len(found), 'record')}. Its key is "
            return [f"{verifies}{thumbprint(end['jwk'])}, of {head['agent']}", head["sentence"]]
    raise CommandError(f"{path} does not verify", FOUND)


def _requests(record: Record) -> list[Record]:
    """The requests that a record tells of: its own, or those for a robots.txt."""
    if record["t"] in (records.DECISION, records.EXEMPT, records.DROP):
        return [record]
    return [hop for hop in record.get("hops", ()) if hop["source"] == "network" and "at" in hop]


def _targets(line: LogLine) -> tuple[str, str]:
    return _target(line.url), _target(line.url, is_redacted=True)


def _target(url: str, *, is_redacted: bool = False) -> str:
    """The target of a URL; if the trail hides queries and parameters, without them, marked."""
    path = path_of(_REDACTED(url).removesuffix("?") if is_redacted else url)
    target = without_dots(normal_path(path).removesuffix(END))
    return "?" * is_redacted + unquote_plus(unquote(target))  # IIS decodes, CloudFront encodes


def _why(own: Record, judged: Verdict | bool | None, policy: Record | None) -> str:
    """The decision on a request of the crawl, or what its trail says of an exempt one."""
    if "n" not in own:
        return f"fetch of robots.txt at {date(own['at'])}"
    if not isinstance(judged, bool):
        return str(judged or "exempt")
    why = f"line {own['line']}: {own['rule']}" if "line" in own else own.get("reason", "exempt")
    file = (policy or {}).get("body", "no file")
    return f"decision {own['n']} at {date(own['at'])}: {why}, by {file[:19]}"

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
from base64 import b64decode, b64encode, urlsafe_b64decode
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import IO, Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from scrapy_rep.commands.inputs import octets_of
from scrapy_rep.commands.running import FOUND, CommandError
from scrapy_rep.commands.terminal import date, moment
from scrapy_rep.decisions.occasions import AGAIN, PASSED, SLIPPED, WOULD_DROP
from scrapy_rep.extras.evidence import trail_records as records
from scrapy_rep.extras.evidence.trail_check import Checking
from scrapy_rep.extras.evidence.trail_reading import Run
from scrapy_rep.extras.identity.keys import KeyPair
from scrapy_rep.extras.identity.signatures import thumbprint
from scrapy_rep.protocol.access.origin import known_origin, origin_from
from scrapy_rep.protocol.extensions.headers import tokens_from_user_agent
from scrapy_rep.protocol.paths import END, is_robots_txt, normal_path, path_of, without_dots
from scrapy_rep.protocol.secrecy import PATH_VALUE
from scrapy_rep.protocol.units import counted

from .log_formats import LogLine
from .obedience import AGAINST

HEAD = ("outcome", "at", "target", "address", "why")
"""The facts of a line that claims to be from the crawl."""

OURS, UNKNOWN, NOT_OURS = "ours", "ours, rules unknown", "not ours"
UNTOLD, BEYOND = "cannot be told", "beyond"
"""The outcomes, with `AGAINST`: a line beyond is of another time than the trail."""

_SENT = (PASSED, WOULD_DROP, SLIPPED)
_EXCERPTED = (records.POLICY, records.DECISION, records.EXEMPT, records.DROP)
_SPREADS_SECONDS = (5.0, 600.0)  # of most requests; of those with slow answers, or that waited
_FARTHEST_SECONDS = 15 * 3600.0  # between clocks, if one has a wrong time zone
_DIFFERENCES_KEPT = 1 << 18

Record = dict[str, Any]


def site_of(url: str) -> str:
    """The host and perhaps the port of a URL; empty without a host."""
    return str(known_origin(url) or origin_from(url) or "").partition("://")[2]


def _is_kin(one: str, other: str) -> bool:
    """Whether a host is that of the other or below it, such as www.example.com."""
    return f".{one}".endswith(f".{other}")


@dataclass(eq=False)
class _Span:
    """The time of a run, its flaws, and whether a line of the log is from then."""

    run: Run
    begin_at: float
    end_at: float
    flaws: list[str]
    is_used: bool = False


class Complaint:
    """Compares the lines of a log that claim to be from a crawl with the trails of its runs.

    Attributes:
        flaws: why the trails of that time are damaged or not complete; see `settle`.
        counts: the lines by outcome, once `settle` was called.
    """

    def __init__(self, runs: Iterable[Run], site: str, spool: IO[str]) -> None:
        """Read the trails; `spool` is an empty file for lines of the log."""
        self.counts: Counter[str] = Counter()
        self.flaws: list[str] = []
        self._site, self._spool, self._difference = site, spool, 0.0
        self._names, self._agents, self._told = set[str](), set[str](), set[str]()
        self._own: dict[str, list[Record]] = {}
        self._differences: list[float] = []
        self._found: list[Record | None] = []
        self._spans = [*map(self._read, runs)]

    def _read(self, run: Run) -> _Span:
        """Note the requests of a run."""
        from scrapy_rep.extras.evidence.replay import Replayer  # loads Scrapy

        begin_at = end_at = float(run.head.get("at") or 0.0)
        self._names |= {token.lower() for token in run.head.get("tokens") or ()}
        self._agents |= {run.head.get("user_agent", "-")}
        undecided = Replayer(run).afterwards()
        verdicts = {one["n"]: word for one, word in undecided}
        files: dict[Any, str] = {}
        own: dict[str, list[Record]] = {}
        checking = Checking(run)
        for record in checking.records():
            end_at = record.get("at", end_at)
            if record["t"] == records.POLICY:
                files[record["p"]] = record.get("body", "")
            for key, one in self._requests(record, own):
                verdict = verdicts.get(one.get("n"), one.get("allowed", True))
                is_allowed = getattr(verdict, "allowed", verdict)
                word = UNKNOWN if verdict is None else OURS if is_allowed else AGAINST
                why = _ground(one, files) if isinstance(verdict, bool) else str(verdict or "exempt")
                outcome = word, why
                own.setdefault(key, []).append({"at": one["at"], "outcome": outcome})
        for key, found in own.items():
            self._own.setdefault(key, []).extend(found)
        self._told |= own.keys()
        late = _SPREADS_SECONDS[1]
        flaws = [*checking.outcome.problems, *checking.outcome.missing]
        return _Span(run, begin_at - late, end_at + late, flaws)

    def _requests(self, record: Record, known: dict[str, list[Record]]) -> Iterator[Any]:
        """Yield the requests that a record shows, with their targets. `known` are earlier ones."""
        kind, sent = record["t"], [record]
        if kind not in (records.DECISION, records.EXEMPT, records.DROP):
            sent = [hop for hop in record.get("hops") or () if hop["source"] != "store"]
        for one in (one for one in sent if "at" in one):
            url = one.get("url") or one["uri"]
            key, site = _key(url, is_redacted="redacted" in one), site_of(url)
            own = known.get(key, []) if site == self._site else []
            if own and (kind == records.DROP or record.get("by") == AGAIN):
                own.pop()
            is_told = one is not record and one["at"] in [other["at"] for other in own]
            if is_told or kind == records.DROP or one.get("outcome", PASSED) not in _SENT:
                continue
            if site == self._site:
                yield key, one
            elif _is_kin(site, self._site) or _is_kin(self._site, site):
                self._told.add(key)  # many logs do not have the host

    def take(self, line: LogLine, text: str) -> None:
        """Note a line if it claims to be from the crawl."""
        names = map(str.lower, tokens_from_user_agent(line.user_agent))
        if line.user_agent in self._agents or not self._names.isdisjoint(names):
            self._spool.write(json.dumps([line, text]) + "\n")
            if len(self._differences) < _DIFFERENCES_KEPT:
                found = (line.at - one["at"] for one in self._own_of(line)[:4])
                self._differences += [one for one in found if abs(one) <= _FARTHEST_SECONDS]

    def _own_of(self, line: LogLine) -> list[Record]:
        return next(filter(None, (self._own.get(key) for key in _keys(line))), [])

    def settle(self) -> None:
        """Find the difference of the clocks, and the request of the trail behind each line."""
        self._difference = _most_common(sorted(self._differences) or [0.0])
        self._found = [None for _ in self._lines()]
        for spread in _SPREADS_SECONDS:
            for place, (line, _) in enumerate(self._lines()):
                self._found[place] = self._found[place] or self._match(line, spread)
        self.counts.update(row["outcome"] for row in self.rows())
        self._spans = [span for span in self._spans if span.is_used] or self._spans
        self.flaws = [f"{span.run.name}: {one}" for span in self._spans for one in span.flaws]

    def _match(self, line: LogLine, spread: float) -> Record | None:
        own, sent_at = self._own_of(line), line.at - self._difference
        fits = (place for place, one in enumerate(own) if abs(sent_at - one["at"]) <= spread)
        return None if (place := next(fits, None)) is None else own.pop(place)

    def _lines(self) -> Iterator[tuple[LogLine, str]]:
        self._spool.seek(0)
        for line, text in map(json.loads, self._spool):
            yield LogLine(*line), text

    def rows(self) -> Iterator[Record]:
        """Yield the facts of each line that claims to be from the crawl."""
        for own, (line, text) in zip(self._found, self._lines(), strict=True):
            outcome, why = self._outcome(own, line)
            facts = (outcome, date(line.at), line.target, line.address, why, text)
            yield dict(zip((*HEAD, "text"), facts, strict=True))

    def _outcome(self, own: Any, line: LogLine) -> Any:
        """The outcome of a line, and why."""
        sent_at = line.at - self._difference
        spans = [span for span in self._spans if span.begin_at <= sent_at <= span.end_at]
        for span in spans:
            span.is_used = True
        if own is not None:
            return own["outcome"]
        if not spans:
            return BEYOND, ""
        if is_robots_txt(line.url):
            return UNTOLD, "other runs and commands fetch this, too"
        if not self._told.isdisjoint(_keys(line)):
            return UNTOLD, "the trail has this target at another time, or for another line"
        if any(span.flaws for span in spans):
            return UNTOLD, "the trail of that time is not complete"
        return NOT_OURS, ""

    def sentence(self) -> str:
        """The answer to the site."""
        counts, spans, late = self.counts, self._spans, _SPREADS_SECONDS[1]
        head = spans[0].run.head
        name = " or ".join(head.get("tokens") or ()) or head.get("user_agent")
        runs = spans[0].run.name if len(spans) == 1 else counted(len(spans), "run")
        begin = moment(min(span.begin_at for span in spans) + late)
        end = moment(max(span.end_at for span in spans) - late)
        return (
            f"Of {counted(counts.total(), 'request')} to {self._site} that name {name}, our crawl "
            f"sent {counts[OURS] + counts[UNKNOWN] + counts[AGAINST]:,}, {counts[AGAINST]:,} of "
            f"them against the robots.txt that it had, and {counts[UNKNOWN]:,} without a known one;"
            f" {counts[NOT_OURS]:,} are not ours, because our audit trail ({runs}, {begin} to {end}"
            f") does not have them; for {counts[UNTOLD]:,}, the trail cannot tell; "
            f"{counts[BEYOND]:,} are from other times. "
            f"The clock of the log is {round(self._difference)} s ahead of ours."
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


def verified(path: str) -> tuple[str, Record, list[Record]]:
    """The key that signed an excerpt, by its thumbprint, and the head and the records of it.

    Raises:
        CommandError: the signature does not verify.
    """
    signed, _, last = octets_of(path).rstrip(b"\n").rpartition(b"\n")
    try:
        end, head, *found = map(json.loads, (last, *signed.splitlines()))
        public = Ed25519PublicKey.from_public_bytes(urlsafe_b64decode(end["jwk"]["x"] + "=="))
        public.verify(b64decode(end["signature"]), signed + b"\n")
        return thumbprint(end["jwk"]), {"agent": head["agent"], "sentence": head["sentence"]}, found
    except (InvalidSignature, KeyError, TypeError, ValueError, RecursionError) as error:
        raise CommandError(f"{path} does not verify: {error!r}", FOUND) from error


def _most_common(found: list[float]) -> float:
    """The difference near which most are, of sorted ones; a small one, unless it is much rarer."""
    near_seconds, far_seconds = _SPREADS_SECONDS
    sizes = [bisect_right(found, at + near_seconds) - place for place, at in enumerate(found)]
    near = [abs(one) <= far_seconds for one in found]
    first = max(range(len(found)), key=lambda place: sizes[place] * (1 + near[place]))
    return found[first + sizes[first] // 2]


def _keys(line: LogLine) -> tuple[str, str]:
    return _key(line.url), _key(line.url, is_redacted=True)


def _key(url: str, *, is_redacted: bool = False) -> str:
    """The target of a URL; if the trail hides queries and parameters, without them, marked."""
    if is_redacted:
        url = PATH_VALUE.sub(r"\1", url.partition("?")[0])
    return "?" * is_redacted + without_dots(normal_path(path_of(url)).removesuffix(END))


def _ground(own: Record, files: dict[Any, str]) -> str:
    """The decision on a request of the crawl."""
    if "n" not in own:
        return f"fetch of robots.txt at {date(own['at'])}"
    why = f"line {own['line']}: {own['rule']}" if "line" in own else own.get("reason", "exempt")
    file = files.get(own.get("p")) or "no file"
    return f"decision {own['n']} at {date(own['at'])}: {why}, by {file[:19]}"

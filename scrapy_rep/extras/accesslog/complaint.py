"""Answers a complaint: the requests in the log of a site that a crawl sent, by its audit trail.

The clocks of both differ, and a request is logged some time after its decision. So the times of the
same targets in the log and in the trail are compared first: for most requests of the crawl, they
differ by nearly the same time. Each request in the trail explains one line.

An excerpt of the trail has its records on one site, as lines of JSON. The last line signs all
octets before it (Ed25519), so a reader needs only the public key.
"""

from __future__ import annotations

import json
from base64 import b64decode, b64encode, urlsafe_b64decode
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator
from typing import Any, TextIO

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
from scrapy_rep.protocol.paths import normal_path, path_of
from scrapy_rep.protocol.units import counted

from .log_formats import LogLine
from .obedience import AGAINST, claim_of

HEAD = ("outcome", "at", "target", "address", "why")
"""The facts of a line that claims to be from the crawl."""

OURS, NOT_OURS, BEYOND = "ours", "not ours", "beyond"
"""The outcomes, with `AGAINST`: a line beyond is of another time than the trail."""

_SENT = (PASSED, WOULD_DROP, SLIPPED)
_EXCERPTED = (records.POLICY, records.DECISION, records.EXEMPT, records.DROP)
_SPREADS_SECONDS = (5.0, 600.0)  # of most requests; of those with slow answers, or that waited
_DIFFERENCES_KEPT = 1 << 18

Record = dict[str, Any]


def site_of(url: str) -> str:
    """The host and perhaps the port of a URL; empty without a host."""
    return str(known_origin(url) or origin_from(url) or "").partition("://")[2]


class Complaint:
    """Compares the lines of a log that claim to be from a crawl with its trail.

    Attributes:
        flaws: why the trail is damaged or not complete.
        counts: the lines by outcome, once `settle` was called.
    """

    def __init__(self, run: Run, site: str, spool: TextIO) -> None:
        """Read the trail; `spool` is an empty file for lines of the log."""
        from scrapy_rep.extras.evidence.replay import Replayer  # loads Scrapy

        self.counts: Counter[str] = Counter()
        self._run, self._site, self._spool, self._difference = run, site, spool, 0.0
        self._begin_at = self._end_at = float(run.head.get("at") or 0.0)
        self._names = {token.lower() for token in run.head.get("tokens") or ()}
        self._own: dict[str, list[Record]] = {}
        self._files: dict[Any, str] = {}
        self._differences: list[float] = []
        self._found: list[Record | None] = []
        undecided = Replayer(run).afterwards()
        self._against = {
            one["n"]: str(word) for one, word in undecided if word and not word.allowed
        }
        checking = Checking(run)
        for record in checking.records():
            self._end_at = record.get("at", self._end_at)
            self._note(record)
        self.flaws = [*checking.outcome.problems, *checking.outcome.missing]

    def _note(self, record: Record) -> None:
        """Note the requests that a record of the trail shows."""
        kind, sent = record["t"], [record]
        if kind not in (records.DECISION, records.EXEMPT, records.DROP):
            sent = [hop for hop in record.get("hops") or () if hop["source"] != "store"]
        if kind == records.POLICY:
            self._files[record["p"]] = record.get("body", "")
        for one in sent:
            url = one.get("url") or one["uri"]
            if site_of(url) == self._site and "at" in one:
                own = self._own.setdefault(_key(url, is_redacted="redacted" in one), [])
                if own and (kind == records.DROP or record.get("by") == AGAIN):
                    own.pop()
                is_told = one is not record and one["at"] in [other["at"] for other in own]
                if not is_told and kind != records.DROP and one.get("outcome", PASSED) in _SENT:
                    own.append({**one, "file": self._files.get(one.get("p"))})

    def _own_of(self, line: LogLine) -> list[Record]:
        return self._own.get(_key(line.url)) or self._own.get(_key(line.url, is_redacted=True), [])

    def take(self, line: LogLine, text: str) -> None:
        """Note a line if it claims to be from the crawl."""
        claim = claim_of(line.user_agent)
        is_named = claim is not None and not self._names.isdisjoint(claim.tokens)
        if is_named or line.user_agent == self._run.head.get("user_agent"):
            self._spool.write(json.dumps([line, text]) + "\n")
            if len(self._differences) < _DIFFERENCES_KEPT:
                self._differences += [line.at - one["at"] for one in self._own_of(line)[:4]]

    def settle(self) -> None:
        """Find the difference of the clocks, and the request of the trail behind each line."""
        found = sorted(self._differences) or [0.0]
        ends = [bisect_right(found, one + _SPREADS_SECONDS[0]) for one in found]
        first = max(range(len(found)), key=lambda place: ends[place] - place)
        self._difference = found[(first + ends[first]) // 2]
        self._found = [None for _ in self._lines()]
        for spread in _SPREADS_SECONDS:
            for place, (line, _) in enumerate(self._lines()):
                self._found[place] = self._found[place] or self._match(line, spread)
        self.counts.update(row["outcome"] for row in self.rows())

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
            sent_at, late = line.at - self._difference, _SPREADS_SECONDS[1]
            is_within = self._begin_at - late <= sent_at <= self._end_at + late
            outcome, why = NOT_OURS if is_within else BEYOND, ""
            if own is not None:
                against = self._against.get(own.get("n", 0))
                outcome = OURS if own.get("allowed", True) and not against else AGAINST
                why = against or _ground(own)
            facts = (outcome, date(line.at), line.target, line.address, why, text)
            yield dict(zip((*HEAD, "text"), facts, strict=True))

    def sentence(self) -> str:
        """The answer to the site."""
        counts, run = self.counts, self._run
        name = " or ".join(run.head.get("tokens") or ()) or run.head.get("user_agent")
        return (
            f"Of {counted(counts.total(), 'request')} to {self._site} that name {name}, our crawl "
            f"sent {counts[OURS] + counts[AGAINST]:,}, {counts[AGAINST]:,} of them against the "
            f"robots.txt that it had; {counts[NOT_OURS]:,} are not ours, because our audit trail "
            f"({run.name}, {moment(self._begin_at)} to {moment(self._end_at)}) does not have them; "
            f"{counts[BEYOND]:,} are from other times. The clock of the log is "
            f"{round(self._difference)} s ahead of ours."
        )

    def excerpt(self, key: KeyPair, agent: str) -> str:
        """A signed excerpt of the trail."""
        head = {"t": "excerpt", "site": self._site, "run": self._run.name, "agent": agent}
        head |= {"manifest_sha256": self._run.manifest_sha256, "sentence": self.sentence()}
        found = (record for _, record in self._run.records() if record["t"] in _EXCERPTED)
        own = (one for one in found if site_of(one.get("url") or one["origin"]) == self._site)
        signed = "".join(map(records.line, (head, *own)))
        end = {"signature": b64encode(key.signing.sign(signed.encode())).decode(), "jwk": key.jwk}
        return signed + records.line({"t": "signature", **end})


def verified(path: str) -> tuple[str, list[Record]]:
    """The key that signed an excerpt, by its thumbprint, and the records of the excerpt.

    Raises:
        CommandError: the signature does not verify.
    """
    signed, _, last = octets_of(path).rstrip(b"\n").rpartition(b"\n")
    try:
        end, *found = map(json.loads, (last, *signed.splitlines()))
        public = Ed25519PublicKey.from_public_bytes(urlsafe_b64decode(end["jwk"]["x"] + "=="))
        public.verify(b64decode(end["signature"]), signed + b"\n")
        return thumbprint(end["jwk"]), found
    except (InvalidSignature, KeyError, TypeError, ValueError, RecursionError) as error:
        raise CommandError(f"{path} does not verify: {error!r}", FOUND) from error


def _key(url: str, *, is_redacted: bool = False) -> str:
    """The target of a URL; if the trail hides queries, the path alone, marked."""
    path = normal_path(path_of(url))
    return f"?{path.partition('?')[0].strip('$')}" if is_redacted else path


def _ground(own: Record) -> str:
    """The decision on a request of the crawl."""
    if "n" not in own:
        return f"fetch of robots.txt at {date(own['at'])}"
    why = f"line {own['line']}: {own['rule']}" if "line" in own else own.get("reason", "exempt")
    return f"decision {own['n']} at {date(own['at'])}: {why}, by {(own['file'] or 'no file')[:23]}"

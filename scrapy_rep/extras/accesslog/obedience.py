"""Judges each request of a log by the files that its crawler could know then.

A request is against the rules only if all these files disallow it: the file that the crawler got
by its last fetch in the log, or the one of 24 hours before the request if that is newer, and each
later file up to the request (RFC 9309, 2.4). After an answer of 4xx, the crawler has no file, and
may fetch everything for 24 hours (2.3.1.3). Logs have whole seconds: Apache writes that in which a
request began, nginx that in which it ended. In a doubt, the request is not against the rules.

A User-Agent proves nothing, because any client can send that of a known crawler. Memory is bounded:
beyond a limit, unknown crawlers are counted as one.
"""

from __future__ import annotations

import math
from bisect import bisect_right, insort
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from operator import attrgetter
from typing import NamedTuple

from scrapy_rep.extras.webmaster.agents.claims import CrawlerClaim, Identify, Names, claim_of
from scrapy_rep.protocol.paths import is_robots_txt
from scrapy_rep.protocol.units import DAY_SECONDS
from scrapy_rep.protocol.verdict import Verdict

from .file_versions import FileVersion, index_at, selection_of
from .log_lines import AUTHORITY, LogLine

AGAINST, REDIRECTED, REFUSED = "against", "redirected", "refused"
"""The answer to a disallowed request: it was served, redirected, or refused (403, 429)."""

REQUESTS, FETCHES, UNJUDGED = "requests", "robots_txt_fetches", "unjudged"
COUNTS = (REQUESTS, FETCHES, AGAINST, REDIRECTED, REFUSED, UNJUDGED)
"""The counts of a crawler: all requests; those for robots.txt; disallowed ones by their answers;
those without a path, before the first known file, or with too many rules to match."""

MOST_CRAWLERS = 1000
"""The number of unknown crawlers that have a row of their own."""

_OTHERS = CrawlerClaim("(others)", ())  # those beyond the limit
_ANSWERS = {**dict.fromkeys(range(300, 400), REDIRECTED), 304: AGAINST, 403: REFUSED, 429: REFUSED}
# Whether a fetch of robots.txt with this status shows that there is no file.
_HAS_NONE = {**dict.fromkeys({*range(400, 500)} - {429}, True), 200: False, 304: False}
_CLAIMS_KEPT = _VERDICTS_KEPT = 1 << 12
_ANSWER_SECONDS = 60.0  # by default, nginx and Apache give up a slower one
_TIMES_KEPT = 32  # lines of a log are nearly in the order of their times


class Offence(NamedTuple):
    """A request that its crawler should not have sent.

    Attributes:
        crawler: the name of the crawler.
        line: the line of the log.
        verdict: that of the oldest file that the crawler could have, with the name of this file.
        answer: `AGAINST`, `REDIRECTED` or `REFUSED`.
    """

    crawler: str
    line: LogLine
    verdict: Verdict
    answer: str


@dataclass(slots=True)
class CrawlerTally:
    """The requests of one crawler.

    Attributes:
        claim: the crawler; without tokens, it stands for all further ones.
        identity: genuine, claimed or unknown; empty without a list of addresses.
        counts: the numbers of requests, by the names in `COUNTS`.
        smallest_gap: the shortest time between two requests for other URLs, in seconds.
        example: the first request that was served against the rules, or the first offence.
    """

    claim: CrawlerClaim
    identity: str = ""
    counts: Counter[str] = field(default_factory=Counter)
    smallest_gap: float = math.inf
    example: Offence | None = None
    _visits: list[float] = field(default_factory=list)
    _files: list[tuple[float, bool]] = field(default_factory=list)

    def add_fetch(self, line: LogLine) -> None:
        """Note a request for robots.txt, and whether its answer was that there is no file."""
        self.counts[FETCHES] += 1
        has_none, shows_file = _HAS_NONE.get(line.status), line.method in ("", "GET")
        if has_none or (has_none is False and shows_file and self.claim.tokens):
            insort(self._files, (line.at, has_none))
            del self._files[:-_TIMES_KEPT]

    def known_since(self, sent_at: float, at: float) -> float:
        """The time of the oldest file that it could have in a span; inf if perhaps none."""
        expired_at = sent_at - DAY_SECONDS
        begin, end = (bisect_right(self._files, (one, True)) for one in (sent_at, at))
        possible = self._files[max(begin - 1, 0) : end]
        if any(has_none and one >= expired_at for one, has_none in possible):
            return math.inf
        return max(expired_at, possible[0][0] - _ANSWER_SECONDS) if begin else expired_at

    def add_visit(self, at: float) -> None:
        """Note the time of another request; times may be slightly out of order."""
        visits = self._visits
        place = bisect_right(visits, at)
        for near in visits[max(place - 1, 0) : place + 1]:
            self.smallest_gap = min(self.smallest_gap, abs(at - near))
        visits.insert(place, at)
        del visits[:-_TIMES_KEPT]


class Obedience:
    """Tallies the crawlers of a log.

    Attributes:
        versions: those of the file, in the order of their times.
        unnamed_count: the requests of browsers, and of clients without a name.
    """

    def __init__(self, versions: Iterable[FileVersion], identities: Mapping[str, Identify]) -> None:
        """Take the versions, and what tells genuine addresses, by names in lower case."""
        self.versions = sorted(versions, key=attrgetter("since"))
        self.unnamed_count = 0
        self._identities = identities
        self._tallies: dict[tuple[str, str], CrawlerTally] = {}
        self._claim_of = lru_cache(_CLAIMS_KEPT)(claim_of)

    def tallies(self) -> list[CrawlerTally]:
        """All tallies, the worst first."""
        found = self._tallies.values()
        return sorted(found, key=lambda one: (-one.counts[AGAINST], -one.counts[REQUESTS]))

    def take(self, line: LogLine) -> Offence | None:
        """Count a request; return its offence, if there is one."""
        claim = self._claim_of(line.user_agent)
        if claim is None:
            self.unnamed_count += 1
            return None
        tally, at, url = self._tally(claim, line.address), line.at, line.url
        tally.counts[REQUESTS] += 1
        if is_robots_txt(url):
            tally.add_fetch(line)
            return None
        tally.add_visit(at)
        known_at = tally.known_since(at - _ANSWER_SECONDS, at)
        if known_at == math.inf:
            return None
        first = index_at(self.versions, known_at, is_certain=True)
        # A target without a path is malformed, or of CONNECT or OPTIONS.
        is_known = first >= 0 and AUTHORITY.match(url)
        possible = self.versions[first : index_at(self.versions, at) + 1] if is_known else ()
        verdicts = [_verdict(one, claim.tokens, claim.others, url) for one in possible]
        if any(verdict.allowed for verdict in verdicts):
            return None
        if not verdicts or any(verdict.rule is None for verdict in verdicts):  # too much work
            tally.counts[UNJUDGED] += 1
            return None
        answer = _ANSWERS.get(line.status, AGAINST)
        offence = Offence(tally.claim.name, line, verdicts[0], answer)
        tally.counts[answer] += 1
        if tally.example is None or tally.example.answer != AGAINST == answer:
            tally.example = offence
        return offence

    def _tally(self, claim: CrawlerClaim, address: str) -> CrawlerTally:
        name = claim.name.lower()
        key = name, self._identities[name](address) if name in self._identities else ""
        if key not in self._tallies:
            if claim.crawler is None and len(self._tallies) >= MOST_CRAWLERS:
                claim, key = _OTHERS, ("", "")
            self._tallies.setdefault(key, CrawlerTally(claim, key[1]))
        return self._tallies[key]


@lru_cache(_VERDICTS_KEPT)
def _verdict(version: FileVersion, tokens: Names, others: Names, url: str) -> Verdict:
    """The verdict on a crawler that may take the group of its tokens, or of any other name."""
    found = [selection_of(version, one).verdict(url) for one in (tokens, *zip(others))]
    return next((one for one in found if one.allowed), found[0])

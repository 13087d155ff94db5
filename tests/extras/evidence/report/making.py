"""Trails made record by record, with the times and facts of a test."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from scrapy_rep.extras.evidence import trail_records as records
from scrapy_rep.extras.evidence.trail_reading import Run
from scrapy_rep.extras.evidence.trail_records import line
from scrapy_rep.extras.evidence.trail_writer import TrailWriter

BEGAN = 1_800_000_000.0

HOSTILE = '"><script>alert(1)</script><img src=x onerror=alert(2)>{{7*7}}\u202e\x1b'
PIECES = (
    *("<script>alert(1)</script>", "<img src=x onerror=alert(2)>", "<svg/onload=alert(3)>"),
    *("</style><style>*{display:none}", "<link rel=stylesheet href=//evil.example/x>"),
    *("javascript:alert(4)", "{{7*7}}", "{% raw %}", "--><!--", "</table></main>"),
    *("<iframe src=//evil.example>", "<base href=//evil.example>", "&lt;b&gt;", "\u202etxt.exe"),
    *("\x1b[31m", "\x00", "<form action=//evil.example>", "' onclick='alert(5)", "`${1}`"),
    *("<meta http-equiv=refresh content=0;url=//evil.example>", "a" * 3000, "\ud800"),
    *("<details open ontoggle=alert(6)>", "<math><mi xlink:href=//evil.example>", "😀" * 90),
)


def hostile_urls() -> list[str]:
    """50 of them."""
    paths = [f"https://h{n}.example/{piece}" for n, piece in enumerate(PIECES)]
    hosts = [f"https://{piece}.example/x?y={n}" for n, piece in enumerate(PIECES)]
    return [*paths, *hosts]


class Made:
    """A trail without a crawl; `at` counts from its beginning."""

    def __init__(
        self,
        root: Path,
        name: str = "run-1",
        *,
        began: float = BEGAN,
        segment_octets: int = 1 << 26,
        **settings: Any,
    ) -> None:
        self.folder = root / name
        self.now = began
        self.n = 0
        self._p = 0
        self._policies: dict[int, str] = {}
        self._written: set[tuple[int, int]] = set()
        self._name, self._settings = name, {"ROBOTSTXT_OBEY": True, **settings}
        self.writer = TrailWriter(
            self.folder, self._head, segment_octets=segment_octets, clock=lambda: self.now
        )

    def _head(self, segment: int) -> Mapping[str, Any]:
        return {
            "t": records.RUN,
            "v": records.VERSION,
            "run": self._name,
            "at": self.now,
            "segment": segment,
            "software": {"scrapy_rep": "1.0", "scrapy": "2.19.0"},
            "spider": "made",
            "tokens": ["MadeBot"],
            "user_agent": "MadeBot/1.0",
            "settings": self._settings,
            "previous": None,
        }

    def put(self, kind: str, **facts: Any) -> None:
        """A record that has no number."""
        self.writer.ready(self.now)
        self.writer.put(line({"t": kind, **facts}), self.now)

    def policy(self, origin: str, **facts: Any) -> int:
        """A policy, by default of a file that came from the network; its number."""
        self._p += 1
        hop = {
            "uri": f"{origin}/robots.txt",
            "at": self.now,
            "seconds": 0.25,
            "status": 200,
            "octets": 100,
            "source": "network",
        }
        held = {
            "origin": origin,
            "source": "network",
            "event": "200",
            "access_result": "successful",
            "meaning": "rules",
            "hops": [hop],
            "fetched_at": self.now,
            **facts,
        }
        self.put(records.POLICY, p=self._p, **held)
        return self._p

    def _numbered(self, kind: str, counted: str, facts: Mapping[str, Any]) -> None:
        self.n += 1
        self.writer.ready(self.now)
        record = {"t": kind, "n": self.n, "at": self.now, **facts}
        self.writer.put(line(record), self.now, self.n, counted)

    def decide(self, url: str, p: int | None, **facts: Any) -> None:
        """A decision, by default that no rule matches."""
        held: dict[str, Any] = {
            "url": url,
            "p": p,
            "allowed": True,
            "reason": "NO_RULE_MATCHES",
            "by": "request",
            **facts,
        }
        held.setdefault("outcome", "passed" if held["allowed"] else "dropped")
        kind = records.ALLOWED if held["allowed"] else records.DISALLOWED
        self._numbered(records.DECISION, kind, held)

    def forbid(self, url: str, p: int | None, rule: str = "Disallow: /x", **facts: Any) -> None:
        """A decision by a rule that forbids."""
        held = {"allowed": False, "reason": "RULE", "line": 2, "rule": rule, "group": "*", **facts}
        self.decide(url, p, **held)

    def exempt(self, url: str, why: str = "dont_obey") -> None:
        """An exemption."""
        held = {"url": url, "why": why, "by": "request"}
        self._numbered(records.EXEMPT, records.EXEMPT, held)

    def withhold(self, page: str, text: str = "nofollow by meta 1", **facts: Any) -> None:
        """A request that a page withheld."""
        because = {"name": "nofollow", "text": text}
        held = {"page": page, "what": "request", "because": because, "outcome": "withheld", **facts}
        self._numbered(records.WITHHELD, records.WITHHELD, held)

    def send(self, origin: str, at: float, left_by: float, kept: float) -> None:
        """A request to an origin with a delay."""
        self.put(
            records.SENT,
            at=BEGAN + at,
            left_by=BEGAN + left_by,
            origin=origin,
            kept_seconds=kept,
        )

    def end(self, reason: str = "finished") -> Run:
        """End it, and read it."""
        self.writer.close(reason).result(20)
        return Run(self.folder)

"""What the robots.txt of one origin means for this crawl, for a while."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from .protocol.access import AccessResult, Event, Meaning, access_result, name_of
from .protocol.clean_params import CleanParams
from .protocol.document import RobotsTxt, parse
from .protocol.exchange import Standing
from .protocol.findings import Finding
from .protocol.knowledge import Copy, Knowledge
from .protocol.lint.codes import Code
from .protocol.origin import Origin
from .protocol.pace import Asked
from .protocol.paths import path_of
from .protocol.records import OtherRecord, host
from .protocol.verdict import Reason, Verdict
from .robotparser import Rules

_POLICY_OCTETS = 2500  # what a policy costs besides its file, roughly

_VIEWED_OCTETS = 150  # what each value of a view costs, roughly

_OK = 200

_REASONS = {
    AccessResult.SUCCESSFUL: Reason.OVERRIDDEN,
    AccessResult.UNAVAILABLE: Reason.UNAVAILABLE,
    AccessResult.UNREACHABLE: Reason.UNREACHABLE,
}


@dataclass(frozen=True, slots=True)
class Reading:
    """A file as a value, and what decides by it: the value itself, or another parser.

    What else is asked of the file, its *views*, is read once and kept: reading a hostile file of
    500 KiB takes up to a second. Such a file's views take up to 40 times its octets; typical ones
    take a kilobyte or two.
    """

    robots_txt: RobotsTxt
    rules: Rules
    _views: dict[str, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    @classmethod
    def of_nothing(cls, origin: Origin) -> Reading:
        """That of an empty file."""
        empty = parse(b"", origin.robots_txt_uri)
        return cls(empty, empty)

    def view(self, name: str, grown: Callable[[], None]) -> Any:
        """What one of `_VIEWS` reads from the file; `grown` is told that it is kept from now on."""
        if name not in self._views:
            self._views[name] = _VIEWS[name](self)
            grown()
        return self._views[name]

    @property
    def octets(self) -> int:
        """Roughly what is kept: the file, its rules ready for use, and its views."""
        views = sum(_VIEWED_OCTETS * len(view) for view in self._views.values())
        return 3 * len(self.robots_txt.octets) + views


_VIEWS: dict[str, Callable[[Reading], Any]] = {
    "sitemaps": lambda reading: reading.robots_txt.sitemaps,
    "findings": lambda reading: reading.robots_txt.findings,
    "other_records": lambda reading: reading.robots_txt.records,
    "clean_params": lambda reading: CleanParams.of(reading.robots_txt.records),
}


# Dot segments, plain or escaped (RFC 3986, 5.2.4). Rules are matched against the path as it is
# written; but some clients resolve such a path before they send it, and most servers after.
_DOTS = re.compile(r"/(?:\.|%2e){1,2}(?:[/?#]|$)", re.IGNORECASE)
_DOT = re.compile("%2e", re.IGNORECASE)


def _without_dots(url: str) -> str:
    """The path and query of a URL, dot segments resolved."""
    path, mark, query = path_of(url).partition("?")
    kept: list[str] = []
    segments = _DOT.sub(".", path.partition("#")[0]).split("/")[1:]
    for segment in segments:
        if segment == "..":
            del kept[-1:]
        elif segment != ".":
            kept.append(segment)
    if segments[-1] in (".", ".."):
        kept.append("")
    return "/" + "/".join(kept) + mark + query


class Policy:
    """What the robots.txt of one origin means for this crawl, for a while.

    Attributes:
        origin: whose policy it is.
        meaning: whether the rules decide, or everything is allowed or disallowed.
        robots_txt: the file as a value, with sitemaps, groups, other records and findings; an
            empty file where there is none.
        is_stale: whether it rests on an old copy, since the file is unreachable.
        content_type: what the answer said the file is; empty if it said nothing.
        hops: the URLs that were asked, in order.
        reading: the file and what decides by it.
        grown: called with this once it has read, and keeps, more of its file.
        fetched_at: when the octets of the file came, or the failure; POSIX seconds.
        due_at: when the file should be asked for again; POSIX seconds.
        usable_until: until when this holds; POSIX seconds.
    """

    __slots__ = (
        "_asked",
        "_event",
        "_rules",
        "_tokens",
        "_verdict",
        "content_type",
        "due_at",
        "fetched_at",
        "grown",
        "hops",
        "is_stale",
        "meaning",
        "origin",
        "reading",
        "robots_txt",
        "usable_until",
    )

    def __init__(
        self,
        origin: Origin,
        event: Event | None,
        meaning: Meaning,
        reading: Reading,
        tokens: tuple[str, ...],
        *,
        hops: tuple[str, ...] = (),
        content_type: str = "",
        fetched_at: float = 0.0,
        is_stale: bool = False,
        due_at: float = float("inf"),
        usable_until: float = float("inf"),
    ) -> None:
        """Take the facts; `event` None where nothing was asked for, by the user's override."""
        self.origin = origin
        self.meaning = meaning
        self.reading = reading
        self.robots_txt = reading.robots_txt
        self.grown: Callable[[Policy], None] = _ignore
        self.hops = hops
        self.content_type = content_type
        self.fetched_at = fetched_at
        self.is_stale = is_stale
        self.due_at = due_at
        self.usable_until = usable_until
        self._asked: Asked | None = None
        self._event = event
        self._rules = reading.rules
        self._tokens = tokens
        self._verdict = Verdict(
            allowed=meaning is Meaning.ALLOW,
            reason=Reason.OVERRIDDEN if event is None else _REASONS[access_result(event)],
            robots_txt=origin.robots_txt_uri,
            is_stale=is_stale,
        )

    @classmethod
    def standing(
        cls,
        origin: Origin,
        known: Knowledge,
        stands: Standing,
        reading: Reading,
        tokens: tuple[str, ...],
    ) -> Policy:
        """The policy that what is known of an origin comes to."""
        rests_on_copy = known.copy is not None and (known.outage is None or stands.is_stale)
        basis: Copy | None = known.copy if rests_on_copy else None
        outage = known.outage
        return cls(
            origin,
            stands.event,
            stands.meaning or Meaning.DISALLOW,
            reading,
            tokens,
            hops=basis.hops if basis else outage.hops if outage else (),
            content_type=dict(basis.headers).get("content-type", "") if basis else "",
            fetched_at=basis.fetched_at if basis else outage.failed_at if outage else 0.0,
            is_stale=stands.is_stale,
            due_at=stands.due_at,
            usable_until=stands.usable_until,
        )

    def verdict(self, url: str, product_tokens: tuple[str, ...] | None = None) -> Verdict:
        """Whether a URL of this origin may be asked for, by this crawl or by other tokens."""
        if self.meaning is not Meaning.RULES:
            return self._verdict
        tokens = self._tokens if product_tokens is None else product_tokens
        verdict = self._rules.verdict(tokens, url)
        if verdict.allowed and _DOTS.search(url):
            verdict = self._rules.verdict(tokens, _without_dots(url))
        return replace(verdict, is_stale=True) if self.is_stale else verdict

    @property
    def access_result(self) -> AccessResult | None:
        """What RFC 9309, 2.3.1 calls the outcome; None where nothing was asked for."""
        return None if self._event is None else access_result(self._event)

    @property
    def event(self) -> str:
        """What happened: the status of the last answer, or the failure's name."""
        return "override" if self._event is None else name_of(self._event)

    @property
    def status(self) -> int | None:
        """The status of the last answer; None if there was none that counts."""
        return self._event if isinstance(self._event, int) else None

    @property
    def is_unreachable(self) -> bool:
        """Whether this rests on a failure."""
        return self.access_result is AccessResult.UNREACHABLE

    @property
    def final_url(self) -> str:
        """The URL that was asked last."""
        return self.hops[-1] if self.hops else self.origin.robots_txt_uri

    @property
    def sitemaps(self) -> tuple[str, ...]:
        """The absolute http(s) URLs of the file's Sitemap lines, in order, each once."""
        found: tuple[str, ...] = self._view("sitemaps")
        return found

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What is odd in the answer and in the file."""
        is_odd = self.access_result is AccessResult.SUCCESSFUL and self.status != _OK
        odd = (Finding(Code.ODD_STATUS, octets=self.event.encode()),) if is_odd else ()
        return (*odd, *self._view("findings"))

    @property
    def other_records(self) -> tuple[OtherRecord, ...]:
        """Every record of the file that is no user-agent line, rule or Sitemap, in file order."""
        found: tuple[OtherRecord, ...] = self._view("other_records")
        return found

    @property
    def crawl_delay(self) -> float | None:
        """Seconds between requests that the site asks this crawl for."""
        return self._rules.crawl_delay(self._tokens)

    @property
    def asked(self) -> Asked:
        """How fast and when the site asks this crawl to come; read once.

        Where another parser stands in for our reading and knows no Crawl-delay, ours counts.
        """
        if self._asked is None:
            tokens, file = self._tokens, self.robots_txt
            delay = self.crawl_delay
            self._asked = Asked(
                file.crawl_delay(tokens) if delay is None else delay,
                file.request_rate(tokens),
                file.visit_time(tokens),
            )
        return self._asked

    @property
    def host(self) -> str | None:
        """The main mirror by the file's first valid Host record (Yandex), in lower case."""
        values = (one.value for one in self.other_records if one.key.lower() == b"host")
        return next(filter(None, map(host, values)), None)

    def clean_params(self, url: str) -> frozenset[str]:
        """The query parameters that do not change the page of a URL: Clean-param (Yandex)."""
        found: CleanParams = self._view("clean_params")
        return found.parameters(url)

    def canonical(self, url: str) -> str:
        """The URL without these parameters: one URL for what is one page."""
        found: CleanParams = self._view("clean_params")
        return found.canonical(url)

    @property
    def octets(self) -> int:
        """Roughly what keeping this policy costs."""
        return _POLICY_OCTETS + self.reading.octets

    def _view(self, name: str) -> Any:
        return self.reading.view(name, lambda: self.grown(self))

    def __repr__(self) -> str:
        """The origin, what came of its robots.txt, and what that means."""
        return f"<Policy {self.origin} {self.event} {self.meaning.value}>"


def _ignore(policy: Policy) -> None:
    pass

"""The policy of one origin: what its robots.txt means to this crawl, until it expires."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeVar

from scrapy_rep.extras import part
from scrapy_rep.fetch.faults import Fault
from scrapy_rep.fetch.reading import Reading
from scrapy_rep.protocol.access.events import (
    AccessResult,
    Event,
    Failure,
    Meaning,
    access_result,
    name_of,
)
from scrapy_rep.protocol.access.knowledge import REMARK, Copy, Knowledge, Outage, Step
from scrapy_rep.protocol.access.origin import Origin
from scrapy_rep.protocol.access.states import Standing
from scrapy_rep.protocol.extensions.pace import SitePace
from scrapy_rep.protocol.extensions.records import OtherRecord, host
from scrapy_rep.protocol.paths import is_robots_txt
from scrapy_rep.protocol.tokens import ProductTokens, refuse_url
from scrapy_rep.protocol.verdict import Reason, Verdict, implicit_verdict

if TYPE_CHECKING:
    from scrapy_rep.protocol.document import RobotsTxt
    from scrapy_rep.protocol.extensions.clean_params import CleanParams
    from scrapy_rep.robotparser import Decider

Kept = TypeVar("Kept")

_POLICY_OCTETS = 2500  # the memory of a policy without its file, roughly

_KEPT_COUNT = 16  # the number of values that extras keep with a policy

_STEP_OCTETS = 200  # the memory of a step without its addresses, roughly

_KEPT = ("cache-control", "expires", "etag", "last-modified", "retry-after")
_HEADER_CHARACTERS = 1000  # longer header fields are cut to this

_OK = 200

NETWORK, STORE, OVERRIDE, GAVE_UP = "network", "store", "override", "gave-up"
"""Where a policy comes from."""

_REASONS = {
    AccessResult.SUCCESSFUL: Reason.OVERRIDDEN,
    AccessResult.UNAVAILABLE: Reason.UNAVAILABLE,
    AccessResult.UNREACHABLE: Reason.UNREACHABLE,
}


def _ignore(policy: Policy) -> None:
    pass


@dataclass(eq=False, repr=False, slots=True)
class Policy:
    """What the robots.txt of one origin means to this crawl, until it expires.

    Attributes:
        origin: the origin.
        meaning: whether the rules decide, or everything is allowed or disallowed.
        robots_txt: the file as a value, with sitemaps, groups and other records; an
            empty file if the site has no file.
        is_stale: whether it is an old copy, used because the file is unreachable.
        is_unreachable: whether the last fetch failed.
        tokens: the product tokens of this crawl.
        content_type: the Content-Type of the answer; empty without one.
        remark: an unusual encoding of the answer's body, in words; empty otherwise.
        hops: the URLs on the way to the file, in order.
        steps: the requests on that way, in order, with their outcomes; they include retries and
            the last confirmation. Steps that were taken from another origin's copy are marked.
            Empty if an older version stored the answer.
        source: the source of the policy: ``network`` (this crawl fetched the file), ``store``,
            ``override`` (``REP_OVERRIDES``) or ``gave-up`` (no answer came in time).
        fetched_at: when the octets of the file came, or the failure; POSIX seconds.
        confirmed_at: when the site last confirmed the file; POSIX seconds, 0 if never.
        headers: some header fields of the answer, by name in lower case: validators and cache
            lifetimes.
        outage: the failures since the file became unreachable; None if it is reachable.
        fault: the failure on the crawl's own side that prevented the last fetch: that of a
            middleware of the project or of a proxy; None without one. `str(fault)` names it.
        asked_at: when the site last answered, or failed to; POSIX seconds, 0 if no request was
            sent.
        due_at: when the file should be fetched again; POSIX seconds.
        usable_until: when the policy expires; POSIX seconds.
        grown: called with this policy after it has read more of its file and takes more memory.
        tdmrep: the content of the origin's tdmrep.json, once a page of the origin is fetched or a
            spider has the policy; None without `REP_TDMREP`.
    """

    origin: Origin
    _event: Event | None  # None if the user's override replaces the fetch
    meaning: Meaning
    _reading: Reading
    tokens: tuple[str, ...]
    _: KW_ONLY
    hops: tuple[str, ...] = ()
    steps: tuple[Step, ...] = ()
    source: str = ""
    content_type: str = ""
    remark: str = ""
    fetched_at: float = 0.0
    confirmed_at: float = 0.0
    headers: Mapping[str, str] = field(default_factory=dict)
    outage: Outage | None = None
    fault: Fault | None = None
    asked_at: float = 0.0
    is_stale: bool = False
    due_at: float = float("inf")
    usable_until: float = float("inf")
    grown: Callable[[Policy], None] = _ignore
    tdmrep: Any = field(default=None, init=False)  # a `Tdmrep` of extras/pages
    audit: Any = field(default=None, init=False)  # used by the audit trail
    is_unreachable: bool = field(init=False)
    robots_txt: RobotsTxt = field(init=False)
    _rules: Decider = field(init=False)
    _verdict: Verdict = field(init=False)
    _kept: dict[Hashable, Any] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        self.is_unreachable = self.access_result is AccessResult.UNREACHABLE
        self.robots_txt, self._rules = self._reading.robots_txt, self._reading.rules
        result = self.access_result
        reason = Reason.OVERRIDDEN if result is None else _REASONS[result]
        self._verdict = Verdict(
            allowed=self.meaning is Meaning.ALLOW,
            reason=Reason.HTML if self._event is Failure.HTML else reason,
            robots_txt=self.origin.robots_txt_uri,
            is_stale=self.is_stale,
            why="" if self.fault is None else str(self.fault),
        )

    @classmethod
    def learnt(
        cls,
        origin: Origin,
        known: Knowledge,
        stands: Standing,
        reading: Reading,
        tokens: tuple[str, ...],
        *,
        source: str = STORE,
        fault: Fault | None = None,
        grown: Callable[[Policy], None] = _ignore,
    ) -> Policy:
        """Build the policy that follows from the stored knowledge of an origin."""
        rests_on_copy = known.copy is not None and (known.outage is None or stands.is_stale)
        basis: Copy | None = known.copy if rests_on_copy else None
        outage = known.outage
        headers = dict(basis.headers) if basis else {}
        return cls(
            origin,
            stands.event,
            stands.meaning or Meaning.DISALLOW,
            reading,
            tokens,
            hops=basis.hops if basis else outage.hops if outage else (),
            steps=_steps_of(known, basis),
            source=source,
            fault=fault,
            content_type=headers.get("content-type", ""),
            remark=headers.get(REMARK, ""),
            confirmed_at=basis.confirmed_at if basis else 0.0,
            headers={name: headers[name][:_HEADER_CHARACTERS] for name in _KEPT if name in headers},
            outage=outage,
            fetched_at=basis.fetched_at if basis else outage.failed_at if outage else 0.0,
            asked_at=known.changed_at,
            is_stale=stands.is_stale,
            due_at=stands.due_at,
            usable_until=stands.usable_until,
            grown=grown,
        )

    def verdict(self, url: str, product_tokens: ProductTokens | None = None) -> Verdict:
        """Whether a URL of this origin may be fetched, by this crawl or by other product tokens.

        Args:
            url: as `RobotsTxt.verdict` takes it.
            product_tokens: as `RobotsTxt.verdict` takes them; None for those of this crawl.

        Raises:
            InvalidProductToken: a token holds what no user-agent line could name.
            TypeError: the tokens are a URL.
        """
        if isinstance(product_tokens, str):
            refuse_url(product_tokens)
        if self.meaning is not Meaning.RULES:
            if is_robots_txt(url):
                return implicit_verdict(self.origin.robots_txt_uri)
            return self._verdict
        tokens = self.tokens if product_tokens is None else product_tokens
        verdict = self._rules.verdict(url, tokens)
        return replace(verdict, is_stale=True) if self.is_stale else verdict

    def says_the_same_as(self, other: Policy) -> bool:
        """Whether another policy of the origin has the same meaning and the same file."""
        return self.meaning is other.meaning and self.sha256 == other.sha256

    @property
    def may_change_soon(self) -> bool:
        """Whether another fetch in a moment may succeed: not if a middleware broke the last one."""
        return self.fault is None or self.fault.may_pass

    @property
    def access_result(self) -> AccessResult | None:
        """The access result (RFC 9309, 2.3.1); None if nothing was fetched."""
        return None if self._event is None else access_result(self._event)

    @property
    def event(self) -> str:
        """The status of the last answer, or the failure's name."""
        return "override" if self._event is None else name_of(self._event)

    @property
    def status(self) -> int | None:
        """The status of the last answer; None if the last fetch failed or got an HTML page."""
        return self._event if isinstance(self._event, int) else None

    @property
    def final_url(self) -> str:
        """The URL that was fetched last."""
        return self.hops[-1] if self.hops else self.origin.robots_txt_uri

    @property
    def sitemaps(self) -> tuple[str, ...]:
        """The absolute http(s) URLs of the file's Sitemap lines, in order, without duplicates."""
        found: tuple[str, ...] = self._view("sitemaps")
        return found

    @property
    def findings(self) -> tuple[Any, ...]:
        """The unusual things in the answer and in the file, as `Finding` values."""
        is_odd = self.access_result is AccessResult.SUCCESSFUL and self.status != _OK
        of_answer = part("Policy.findings")(self.event if is_odd else "", self.remark)
        return (*of_answer, *self._view("findings"))

    def note_on(self, verdict: Verdict) -> str:
        """Why a verdict is by a rule below another user-agent line; empty if it is not.

        Also empty if the code for it is not installed, or no file is left to load it.
        """
        try:
            words_on = part("notes on verdicts", lambda *_: "")
        except OSError:
            return ""
        words: str = words_on(self.robots_txt.octets, verdict)
        return words

    @property
    def other_records(self) -> tuple[OtherRecord, ...]:
        """Every record of the file except user-agent lines, rules and Sitemaps, in file order."""
        found: tuple[OtherRecord, ...] = self._view("other_records")
        return found

    @property
    def crawl_delay(self) -> float | None:
        """The Crawl-delay that the site sets for this crawl, in seconds."""
        return self._rules.crawl_delay(self.tokens)

    @property
    def is_read_by_us(self) -> bool:
        """Whether our own parser decides, and not the parser in `ROBOTSTXT_PARSER`."""
        return self._rules is self.robots_txt

    def keep(self, key: Hashable, read: Callable[[], Kept]) -> Kept:
        """A value that an extra reads from the file, read once and kept for as long as this policy.

        Its memory counts as that of the policy.
        """
        found: Kept | None = self._kept.get(key)
        if found is None:
            if len(self._kept) >= _KEPT_COUNT:
                self._kept.clear()
            found = self._kept[key] = read()
            self.grown(self)
        return found

    def site_pace(self, product_tokens: tuple[str, ...] | None = None) -> SitePace:
        """The pace and the visit time that the site sets for this crawl, or for other tokens.

        If `ROBOTSTXT_PARSER` does not know Crawl-delay, the delay that our parser reads applies.
        """
        return self._reading.site_pace(self.tokens if product_tokens is None else product_tokens)

    @property
    def host(self) -> str | None:
        """The main mirror in the file's first valid Host record (Yandex), in lower case."""
        values = (one.value for one in self.other_records if one.key.lower() == b"host")
        return next(filter(None, map(host, values)), None)

    def clean_params(self, url: str) -> frozenset[str]:
        """The query parameters that do not change the page of a URL, by Clean-param (Yandex)."""
        found: CleanParams = self._view("clean_params")
        return found.parameters(url)

    def canonical(self, url: str) -> str:
        """The URL without these parameters, so that one page has one URL."""
        found: CleanParams = self._view("clean_params")
        return found.canonical(url)

    @property
    def sha256(self) -> str:
        """The SHA-256 of the body, decoded and cut to the parse limit, in hex.

        Empty if there is no file.
        """
        return self._reading.sha256

    @property
    def octets(self) -> int:
        """The memory that this policy takes, roughly."""
        read: int = sum(one.kept_octets for one in self._kept.values())
        steps = sum(_STEP_OCTETS + len(step.uri) + len(step.location) for step in self.steps)
        answer = (self.origin.host, self.content_type, self.remark, *self.hops)
        kept = _POLICY_OCTETS + sum(map(len, answer)) + self._reading.octets
        return kept + read + steps

    def _view(self, name: str) -> Any:
        return self._reading.view(name, lambda: self.grown(self))

    def __repr__(self) -> str:
        """The origin, the event of its last fetch, and what that means."""
        return f"<Policy {self.origin} {self.event} {self.meaning.value}>"


def _steps_of(known: Knowledge, basis: Copy | None) -> tuple[Step, ...]:
    """The requests for the copy that a policy uses, and the failed requests since."""
    of_copy = () if basis is None else (*basis.steps, *basis.confirmed_by)
    return of_copy if known.outage is None else (*of_copy, *known.outage.steps)


def reading_of(policy: Policy) -> Reading:
    """The reading behind a policy, which is not public."""
    return policy._reading  # noqa: SLF001


def reading_if_of(policy: Policy, copy: Copy) -> Reading | None:
    """The reading of a policy if it read the same copy, so that the copy is not parsed again."""
    is_same = policy.meaning is Meaning.RULES and policy.fetched_at == copy.fetched_at
    return reading_of(policy) if is_same else None

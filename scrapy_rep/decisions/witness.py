"""The data and the methods of an audit trail: each decision of a crawl, and its outcome."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

from scrapy_rep.protocol.access.knowledge import Step
from scrapy_rep.protocol.access.origin import Origin
from scrapy_rep.protocol.extensions.rest import Rest
from scrapy_rep.protocol.verdict import Verdict

if TYPE_CHECKING:
    from scrapy_rep.policy import Policy
    from scrapy_rep.protocol.usage.licences import PaymentRequired

REQUEST, REDIRECT, FILTER, BROWSER = "request", "redirect", "queue-filter", "browser"
AGAIN, CAME_BACK = "user-agent", "put-back"
"""The occasion of a decision: a request on its way, the target of a redirect, a request before it
was queued, a request of a page in a browser, an allowed request that then got another User-Agent,
or an allowed request that was put back into the queue."""

PASSED, DROPPED, WOULD_DROP = "passed", "dropped", "would-drop"
ABORTED, SLIPPED = "aborted", "slipped"
"""The outcome of a decision. In a dry run, a disallowed request would be dropped. A browser aborts
a disallowed request, or has already followed a redirect to it that could not be stopped."""

DONT_OBEY, SCHEME, ITSELF, OFF = "dont_obey", "scheme", "robots-txt-itself", "off"
"""Why robots.txt does not apply: the request is exempt, its scheme is not judged, it is for a
robots.txt itself, or `ROBOTSTXT_OBEY` is off."""


class Decision(NamedTuple):
    """One decision and its outcome; a tuple, because every request gets one.

    Attributes:
        url: the URL that was judged.
        verdict: the verdict.
        by: the occasion, such as `REQUEST` or `REDIRECT`.
        outcome: the outcome, such as `PASSED` or `DROPPED`.
        policy: the policy that decided; None if no policy was needed or available.
        tokens: the product tokens by which the request was judged.
        waited_seconds: how long the request waited for its policy.
    """

    url: str
    verdict: Verdict
    by: str
    outcome: str
    policy: Policy | None
    tokens: tuple[str, ...]
    waited_seconds: float = 0.0


class Witness:
    """Gets every decision of a crawl as it is made; does nothing, unless it is the audit trail."""

    def decided(self, decision: Decision) -> None:
        """A request was judged."""

    def exempted(self, url: str, why: str, by: str) -> None:
        """A request goes on without being judged."""

    def dropped_later(self, url: str, verdict: Verdict | None, service: str = "") -> None:
        """A request that had passed was dropped.

        Its browser was redirected to a URL with this verdict. Without a verdict, its origin was
        given up after 429 or 503 answers, or after challenges of a `service`.
        """

    def withheld(self, page: str, what: str, because: Any, *, is_dry_run: bool) -> None:
        """A request or an item of a page was dropped; `what` is the request's URL, or empty."""

    def learnt(self, policy: Policy) -> None:
        """A policy came into memory, possibly again."""

    def read(self, body: bytes, sha256: str) -> None:
        """A file was read."""

    def open(self) -> None:
        """The spider is open."""

    async def close(self, reason: str) -> None:
        """The spider is closed, and no decision follows."""

    def sent_in_vain(self, origin: Origin, steps: Iterable[Step]) -> None:
        """Requests for a robots.txt were sent, but brought no usable result."""

    def visited(self, origin: Hashable, sent_at: float, left_by: float, seconds: float) -> None:
        """An origin with a delay was visited between these times, in monotonic seconds."""

    def rested(self, origin: Origin, status: int, rest: Rest) -> None:
        """A rest began, became longer, or ended because the origin was given up."""

    def probed(self, origin: Origin) -> None:
        """A request is sent to an origin that has not answered well since it rested."""

    def priced(self, url: str, terms: PaymentRequired) -> None:
        """A page answered 402."""

"""The listener of a crawl, which hears of its decisions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable

    from scrapy import Request

    from scrapy_rep.crawl import Crawl
    from scrapy_rep.policy import Policy
    from scrapy_rep.protocol.access.knowledge import Step
    from scrapy_rep.protocol.access.origin import Origin
    from scrapy_rep.protocol.extensions.rest import Rest
    from scrapy_rep.protocol.verdict import Verdict


class Listener:
    """Hears of each decision before its request continues; this class ignores it, for most crawls.

    Attributes:
        hears: whether it uses what it is told, so that nothing is prepared for it in vain.
    """

    hears = False

    def __init__(self, crawl: Crawl) -> None:
        """Take the settings."""

    def open(self) -> None:
        """Begin, because the spider opens."""

    async def close(self, reason: str) -> None:
        """End, after the last decision of the crawl."""

    def decided(  # noqa: PLR0917 - called for every request
        self,
        url: str,
        verdict: Verdict,
        by: str,
        outcome: str,
        policy: Policy | None = None,
        tokens: tuple[str, ...] | None = None,
        waited_seconds: float = 0.0,
        request: Request | None = None,
    ) -> None:
        """Hear of a decision on a request, which waited `waited_seconds` for its policy."""

    def exempted(self, url: str, why: str, by: str, request: Request | None = None) -> None:
        """Hear of a request that robots.txt does not govern."""

    def dropped_later(self, url: str, verdict: Verdict | None, service: str = "") -> None:
        """Hear that an allowed request was dropped later."""

    def withheld(self, page: str, what: str, because: Any, *, is_dry_run: bool) -> None:
        """Hear that a page withheld a request or an item, and of the statement that decided."""

    def learnt(self, policy: Policy) -> None:
        """Hear of a policy that came into memory, possibly again."""

    def read(self, body: bytes, sha256: str) -> None:
        """Hear of the octets of a file that was read."""

    def sent_in_vain(self, origin: Origin, steps: Iterable[Step]) -> None:
        """Hear of the requests for a file that had no result."""

    def visited(self, origin: Hashable, sent_at: float, left_by: float, seconds: float) -> None:
        """Hear when a request left for an origin with a delay."""

    def rested(
        self, origin: Origin, status: int, rest: Rest, per_second: float | None = None
    ) -> None:
        """Hear that an origin rests, until when, and at which learned pace it goes on."""

    def probed(self, origin: Origin) -> None:
        """Hear of a request to an origin that has not answered well since it rested."""

    def priced(self, url: str, terms: Any) -> None:
        """Hear that a page answered 402, and of the terms in its answer."""

    def covered(self, state: int, keys: list[int], secret: bytes, urls: list[str]) -> None:
        """Hear of the digests of pages with the same state, perhaps with their URLs.

        A listener that hides the queries of URLs hides them in the digests with `secret`.
        """

    def not_followed(self, count: int) -> None:
        """Hear how many entries of sitemaps were not followed, to bound memory."""

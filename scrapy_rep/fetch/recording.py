"""The recorder of the requests that the fetches of a crawl send, and of their answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scrapy.http import Response

    from scrapy_rep.crawl import Crawl
    from scrapy_rep.engine.transfer import Transfer
    from scrapy_rep.protocol.access.knowledge import Answer, Copy, Knowledge, Step
    from scrapy_rep.protocol.access.origin import Origin

    from .fetch_state import FetchState


class Recorder:
    """Records the requests and answers of fetches; this class records none, for most crawls."""

    def __init__(self, crawl: Crawl) -> None:
        """Take the settings."""

    async def close(self) -> None:
        """End the record."""

    def saw(
        self, course: FetchState, step: Step, transfer: Transfer, response: Response | None
    ) -> str | None:
        """Record a request that is done, and return the id of its record, if there is one.

        `response` is its answer, if one came; the octets that we parse are in `transfer.body`.
        """

    def repeats(self, course: FetchState, copy: Copy) -> None:
        """Record that the copy of another origin was used for a redirect to its file."""

    def end(
        self, course: FetchState, answer: Answer | None = None, known: Knowledge | None = None
    ) -> None:
        """Record the end of a fetch, or of a try.

        `answer` is its outcome, and `known` the resulting knowledge, if the outcome counts.
        """

    def knows(self, course: FetchState, known: Knowledge) -> None:
        """Record the knowledge about a file, which may come from the store."""

    def overridden(self, origin: Origin, path: str, body: bytes | None) -> None:
        """Record the file that the user sets for an origin; None without a file."""

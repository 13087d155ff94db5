"""What a crawl knows of each request on its way, in one place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from scrapy import Request

if TYPE_CHECKING:
    from scrapy.http import Response

    from scrapy_rep.crawl import Crawl
    from scrapy_rep.policy import Policy
    from scrapy_rep.protocol.verdict import Verdict


@dataclass(slots=True, eq=False)
class RequestRecord:
    """One request on its way through a crawl.

    Attributes:
        run: the run of the crawl.
        policy: the policy that judged it; None where robots.txt does not apply.
        tokens: the product tokens by which that policy judged it.
        verdict: the last verdict that let it pass.
        waited_seconds: how long it waited for its policy, until that is told to the listener.
        came_back: whether it came from the queue, into which it was put back.
        came_at_close: whether the crawl was closing then.
        is_retold: whether this run let it go on before it was put back, by its meta.
        sent_at: when it went to the downloader, by `time.monotonic`; None before, and after the
            answer.
        marks: the meta keys to send it again after a refusal; None for another answer.
        service: the service that answered it with a challenge; empty for other answers.
    """

    run: str
    policy: Policy | None = None
    tokens: tuple[str, ...] = ()
    verdict: Verdict | None = None
    waited_seconds: float = 0.0
    came_back: bool = False
    came_at_close: bool = False
    is_retold: bool = False
    sent_at: float | None = None
    marks: dict[str, Any] | None = None
    service: str = ""


# Of all crawls of this process, for `verdict_of`, which gets no crawl. `meta` has words only: it
# may be copied to items, and written to disk queues, and their formats do not know our classes.
_records: WeakKeyDictionary[Request, RequestRecord] = WeakKeyDictionary()


class RequestRecords:
    """The records of the requests of one crawl."""

    def __init__(self, crawl: Crawl) -> None:
        self._run = crawl.run

    def of(self, request: Request) -> RequestRecord:
        """The record of a request, which is made on first use."""
        record = self.find(request)
        if record is None:
            record = _records[request] = RequestRecord(self._run)
        return record

    def find(self, request: Request) -> RequestRecord | None:
        """The record of a request; None if this crawl has not seen it.

        A spider may yield a request again that an earlier crawl of this process has sent.
        """
        record = _records.get(request)
        return record if record is not None and record.run == self._run else None


def verdict_of(response: Response) -> Verdict | None:
    """The verdict that let the request of a response pass; None if it was not judged.

    In a dry run, the verdict may disallow the page.
    """
    record = None if response.request is None else _records.get(response.request)
    return None if record is None else record.verdict

"""The record of each request of a crawl, in one place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from scrapy import Request
from scrapy.signals import response_received

from scrapy_rep.signals import MARKS

if TYPE_CHECKING:
    from scrapy.http import Response

    from scrapy_rep.crawl import Crawl
    from scrapy_rep.policy import Policy
    from scrapy_rep.protocol.verdict import Verdict


@dataclass(slots=True, eq=False)
class RequestRecord:
    """One request on its way through a crawl.

    Attributes:
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


# For `verdict_of`, which gets no crawl. It keeps no policy: a policy keeps its crawl alive.
# `meta` has words only: it may be copied to items, and written to disk queues, and their formats
# do not know our classes.
_verdicts: WeakKeyDictionary[Request, Verdict] = WeakKeyDictionary()


class RequestRecords:
    """The records of the requests of one crawl; another crawl may have the same requests."""

    def __init__(self, crawl: Crawl) -> None:
        self._records: WeakKeyDictionary[Request, RequestRecord] = WeakKeyDictionary()
        crawl.crawler.signals.connect(_remove_marks, signal=response_received)

    def of(self, request: Request) -> RequestRecord:
        """The record of a request, which is made on first use."""
        record = self._records.get(request)
        if record is None:
            record = self._records[request] = RequestRecord()
        return record

    def find(self, request: Request) -> RequestRecord | None:
        """The record of a request; None if this crawl has not seen it."""
        return self._records.get(request)

    def passed(self, request: Request, verdict: Verdict) -> None:
        """Note the verdict that let a request pass."""
        self.of(request).verdict = _verdicts[request] = verdict


def _remove_marks(request: Request) -> None:
    """Remove our marks from the meta of a request that is answered: callbacks may copy it."""
    if not MARKS.isdisjoint(request.meta):
        for mark in MARKS:
            request.meta.pop(mark, None)


def verdict_of(response: Response) -> Verdict | None:
    """The verdict that let the request of a response pass; None if it was not judged.

    In a dry run, the verdict may disallow the page.
    """
    return None if response.request is None else _verdicts.get(response.request)

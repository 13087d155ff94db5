"""What the archives of our own crawls tell beside the answers: whose file it was, and what counted.

Each request has a `metadata` record of its own. The last one for a file tells the outcome. The
others were on the way to it, or tried in vain. So an archive says of an origin what the store of
the same crawl says.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace

from scrapy_rep.protocol.access.events import AccessResult, Failure, access_result
from scrapy_rep.protocol.access.origin import ROBOTS_TXT_PATH, Origin
from scrapy_rep.protocol.errors import InvalidUri
from scrapy_rep.survey.captures import Bad, Capture
from scrapy_rep.survey.facts import host_of

from .answer_facts import date_of, max_age_of, media_type_of, outcome_of

Fields = dict[str, str]
Place = tuple[str, str, int, str]
"""Host, scheme, port and date of a capture."""

_NUMBER = re.compile(r"[0-9]{1,9}")


def told_by(fields: Fields, block: bytes) -> Fields | None:
    """What a record of ours tells of an exchange; None if it is another one."""
    if fields.get("warc-type", "").lower() != "metadata" or b"rep-origin:" not in block:
        return None
    told: Fields = {}
    for line in block.decode("utf-8", "replace").splitlines():
        name, _, value = line.partition(":")
        told.setdefault(name.strip().lower(), value.strip())
    return told


def belong(answer: Fields, metadata: Fields) -> bool:
    """Whether a metadata record is about an answer."""
    return metadata.get("warc-concurrent-to", "") == answer.get("warc-record-id")


def capture_of(
    told: Fields,
    answer: tuple[Fields, bytes] | None,
    body_of: Callable[[Place, Fields, bytes], Capture | Bad],
) -> Iterator[Capture | Bad]:
    """What an exchange says, if it was the last for a robots.txt.

    Args:
        told: what its metadata record tells.
        answer: the record of its answer, if one came.
        body_of: reads that.
    """
    if told.get("rep-file") != ROBOTS_TXT_PATH or "rep-outcome" not in told:
        return
    status, failure = outcome_of(told["rep-outcome"])
    try:
        origin = Origin.of(told.get("rep-origin", ""))
        result = access_result(Failure(failure) if status is None else status)
    except (InvalidUri, ValueError):
        origin = None
    if origin is None:
        yield Bad("no-origin")
        return
    if answer is not None and answer[0].get("warc-type", "").lower() == "revisit":
        yield Bad("revisit")
        return
    place = (origin.host, origin.scheme, origin.port, date_of(told.get("rep-outcome-at", "")))
    found: Capture | Bad = Capture(*place)
    if answer is not None and result is not AccessResult.UNREACHABLE:
        found = body_of(place, *answer)
    if isinstance(found, Capture):
        found = replace(
            found,
            status=status,
            failure=failure,
            hops=_number(told.get("rep-outcome-hops", "")),
            cross_host=host_of(told.get("rep-outcome-uri", "")) != found.host,
            # An archive holds what came after the octets that were judged, too.
            body=found.body and found.body[: _number(told.get("rep-body-octets", ""))],
        )
        if failure:
            found = replace(found, body=None)
        elif "rep-source" in told and result is not AccessResult.UNREACHABLE:
            # The octets were not fetched: what was known of them is told here.
            kind, control = told.get("rep-content-type", ""), told.get("rep-cache-control", "")
            found = replace(found, media_type=media_type_of(kind), max_age=max_age_of(control))
    yield found


def _number(text: str) -> int | None:
    return int(text) if _NUMBER.fullmatch(text) else None

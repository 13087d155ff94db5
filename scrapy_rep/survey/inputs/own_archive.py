"""What the archives of our own crawls tell beside the answers: whose file it was, and what counted.

Each request has a `metadata` record of its own. The last one for a file tells the outcome. The
others were on the way to it, or tried in vain. So an archive says of an origin what the store of
the same crawl says.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace

from scrapy_rep.protocol.access.events import AccessResult, Event, Failure, access_result, name_of
from scrapy_rep.protocol.access.origin import ROBOTS_TXT_PATH, Origin
from scrapy_rep.protocol.errors import InvalidUri
from scrapy_rep.survey.captures import Bad, Capture
from scrapy_rep.survey.facts import host_of

from .answer_facts import date_of, max_age_of, media_type_of, outcome_of

Fields = dict[str, str]
Place = tuple[str, str, int, str]
"""Host, scheme, port and date of a capture."""

_STATUS = re.compile(r"[1-9][0-9]{2}")
_NUMBER = re.compile(r"[0-9]{1,9}")
_FAILURES = frozenset(failure.value for failure in Failure)


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
    origin, event = _origin_of(told), _event_of(told["rep-outcome"])
    if origin is None or event is None:
        yield Bad("no-origin")
        return
    if answer is not None and answer[0].get("warc-type", "").lower() == "revisit":
        yield Bad("revisit")
        return
    place = (origin.host, origin.scheme, origin.port, date_of(told.get("rep-outcome-at", "")))
    found: Capture | Bad = Capture(*place)
    if access_result(event) is not AccessResult.UNREACHABLE:
        if answer is not None:
            found = body_of(place, *answer)
        if isinstance(found, Capture) and "rep-source" in told:
            found = _with_fields(found, told)
    yield found if isinstance(found, Bad) else _with_outcome(found, told, event)


def _origin_of(told: Fields) -> Origin | None:
    try:
        return Origin.of(told["rep-origin"])
    except (InvalidUri, KeyError):
        return None


def _event_of(name: str) -> Event | None:
    if _STATUS.fullmatch(name):
        return int(name)
    return Failure(name) if name in _FAILURES else None


def _with_fields(found: Capture, told: Fields) -> Capture:
    """A capture of octets that were not fetched, with what was known of them."""
    kind, control = told.get("rep-content-type", ""), told.get("rep-cache-control", "")
    return replace(found, media_type=media_type_of(kind), max_age=max_age_of(control))


def _with_outcome(found: Capture, told: Fields, event: Event) -> Capture:
    status, failure = outcome_of(name_of(event))
    return replace(
        found,
        status=status,
        failure=failure,
        hops=_number(told.get("rep-outcome-hops", "")),
        cross_host=host_of(told.get("rep-outcome-uri", "")) != found.host,
        body=None if failure else _judged(found.body, told),
    )


def _judged(body: bytes | None, told: Fields) -> bytes | None:
    """The octets of a body that were judged: an archive holds what came after these too."""
    octets = _number(told.get("rep-body-octets", ""))
    return body if body is None or octets is None else body[:octets]


def _number(text: str) -> int | None:
    return int(text) if _NUMBER.fullmatch(text) else None

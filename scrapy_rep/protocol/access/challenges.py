"""Challenges: answers by which an edge in front of a site asks whether the client is a person.

They are not the answer of the site. Each row of the table is a marker that its service documents.
Nothing else counts: a page may name a captcha service in its body or in its header fields.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import NamedTuple

SIGNATURE = "a request for a signature"
"""The name of the service where an edge wants signed requests."""


class _Marker(NamedTuple):
    """The mark of a service: a header field, its values, and the statuses; empty means any."""

    service: str
    field: str
    values: frozenset[str] = frozenset()
    statuses: frozenset[int] = frozenset()


_MARKERS = (
    _Marker("Cloudflare", "cf-mitigated", frozenset({"challenge"})),
    _Marker("AWS WAF", "x-amzn-waf-action", frozenset({"challenge", "captcha"})),
    _Marker("Vercel", "x-vercel-mitigated", frozenset({"challenge"})),
    _Marker("DataDome", "x-dd-b", statuses=frozenset({401, 403})),
    _Marker(SIGNATURE, "accept-signature", statuses=frozenset({403, 429})),
)
MARKING_FIELDS: Collection[str] = frozenset(marker.field for marker in _MARKERS)
"""The names of the header fields that may mark a challenge, in lower case."""


def challenge_in(status: int, headers: Mapping[str, str]) -> str:
    """The service that answers with a challenge; empty if the answer is the site's.

    `headers` are by name in lower case.
    """
    for service, field, values, statuses in _MARKERS:
        value = headers.get(field)
        if value is None or (statuses and status not in statuses):
            continue
        # A proxy may repeat a field, and a value may have parameters.
        words = {word.partition(";")[0].strip().lower() for word in value.split(",")}
        if not values or words & values:
            return service
    return ""

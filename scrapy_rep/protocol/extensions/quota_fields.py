"""How many more requests a site accepts, by the fields of its answers.

``RateLimit: "default";r=50;t=30`` is the field of draft-ietf-httpapi-ratelimit-headers-10: a list
of policies, each with the remaining requests `r` and the seconds `t` until there are more. If
`RateLimit-Policy` gives a policy another unit than requests (`qu`), or a partition of its own
(`pk`), it is ignored. Earlier drafts and many sites send `RateLimit-Remaining` and
`RateLimit-Reset`, or the same with ``X-``. Their reset is a number of seconds, or POSIX seconds.
A field that cannot be read, or that has no time, says nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from scrapy_rep.protocol.units import DAY_SECONDS

from .learned_pace import Quota

QUOTA_FIELDS = ("ratelimit", "ratelimit-remaining", "x-ratelimit-remaining")
"""One of these is in each answer that tells a quota, in lower case."""

_MOST_OCTETS = 1000
_ITEM = re.compile(r'"(?P<name>[^"]*)"(?P<parameters>(?:[^,"]|"[^"]*")*)')
_PARAMETER = re.compile(r";\s*([a-z]+)=([^;,\s]+)")
_NUMBER = re.compile(r"[0-9]{1,12}")


def quota_in(fields: Mapping[str, str], now: float, posix_now: float) -> Quota | None:
    """The quota in the fields of an answer, by their names in lower case; None without one.

    Args:
        fields: the fields; the values of a field that came several times are joined by commas.
        now: the time of the answer, by the clock of the quota.
        posix_now: the same time in POSIX seconds.
    """
    found = [Quota(left, now + seconds) for left, seconds in _policies(fields)]
    for prefix in ("", "x-"):
        left = _number(fields.get(f"{prefix}ratelimit-remaining", ""))
        reset = _number(fields.get(f"{prefix}ratelimit-reset", ""))
        if left is None or reset is None:
            continue
        seconds = reset - posix_now if reset > DAY_SECONDS else reset
        if 0 <= seconds <= DAY_SECONDS:
            found.append(Quota(left, now + seconds))
    return min(found, key=lambda quota: (quota.left, -quota.resets_at), default=None)


def _policies(fields: Mapping[str, str]) -> Iterable[tuple[int, float]]:
    others = {
        name
        for name, parameters in _items(fields.get("ratelimit-policy", ""))
        if parameters.get("qu", '"requests"').strip('"') != "requests" or "pk" in parameters
    }
    for name, parameters in _items(fields.get("ratelimit", "")):
        left, seconds = _number(parameters.get("r", "")), _number(parameters.get("t", ""))
        if name not in others and left is not None and seconds is not None:
            yield left, float(seconds)


def _items(value: str) -> Iterable[tuple[str, dict[str, str]]]:
    for item in _ITEM.finditer(value[:_MOST_OCTETS]):
        yield item["name"], dict(_PARAMETER.findall(item["parameters"]))


def _number(text: str) -> int | None:
    return int(text) if _NUMBER.fullmatch(text.strip()) else None

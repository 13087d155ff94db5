"""Explains, as plain data, how a running crawl treats a URL: for consoles and notebooks."""

from __future__ import annotations

import time
from collections import Counter
from typing import TYPE_CHECKING, Any

from scrapy_rep.crawl import Crawl
from scrapy_rep.engine.downloader import EVENT
from scrapy_rep.engine.state import queues_of
from scrapy_rep.pace.pacing import Pacing
from scrapy_rep.policies import policies_of
from scrapy_rep.policy import Policy
from scrapy_rep.protocol.access.origin import Origin
from scrapy_rep.protocol.errors import InvalidUri

from .priority_queue import RepPriorityQueue

if TYPE_CHECKING:
    from scrapy.crawler import Crawler


def explain(crawler: Crawler, url: str) -> dict[str, Any]:
    """The knowledge of a running crawl about a URL, as plain data. Fetches nothing.

    Returns:
        JSON values by name: `url` and `origin`; `robots_txt` (its `uri`, `event`, `access_result`,
        `meaning`, `source`, `is_stale`, `age_seconds` and `usable_seconds`; None while it is
        not in memory); `verdict` (`allowed`, `reason`, `line`, `rule`, `group`; None without
        robots_txt); `pace` (`delay_seconds`, `next_seconds` until the host may be visited, which
        is None while another request has its turn, and `learned_per_second`; None if no pace was
        learned); `rest` (`seconds` until one request may be sent, and
        `is_given_up`; None if the origin does not rest); `queued` (the requests of the origin in
        `RepPriorityQueue`, by what they wait for, as in `pace.waits.Why`; None with
        another queue).

    Raises:
        ConfigurationError: this crawl does not obey robots.txt through `RepMiddleware`.
        InvalidUri: robots.txt does not govern the scheme of the URL, or the URL has no host.
    """
    origin = Origin.of(url)
    if origin is None:
        raise InvalidUri(f"{url!r}: robots.txt governs http, https and ftp URLs only")
    policy = policies_of(crawler, "explain").known(origin)
    pacing = Crawl.of(crawler).part(Pacing)
    return {
        "url": url,
        "origin": str(origin),
        "robots_txt": None if policy is None else _file(policy),
        "verdict": None if policy is None else _verdict(policy, url),
        "pace": _pace(pacing, origin, policy),
        "rest": _rest(pacing, origin),
        "queued": _queued(crawler, origin),
    }


def _file(policy: Policy) -> dict[str, Any]:
    now, result = time.time(), policy.access_result
    left_seconds = policy.usable_until - now
    return {
        "uri": policy.origin.robots_txt_uri,
        "event": policy.event,
        "access_result": None if result is None else result.value,
        "meaning": policy.meaning.value,
        "source": policy.source,
        "is_stale": policy.is_stale,
        "age_seconds": round(now - policy.fetched_at, 3) if policy.fetched_at else None,
        "usable_seconds": round(left_seconds, 3) if left_seconds < EVENT else None,
    }


def _verdict(policy: Policy, url: str) -> dict[str, Any]:
    found = policy.verdict(url)
    return {
        "allowed": found.allowed,
        "reason": found.reason.name,
        "line": found.line or None,
        "rule": None if found.rule is None else str(found.rule),
        "group": found.product_token or None,
    }


def _pace(pacing: Pacing, origin: Origin, policy: Policy | None) -> dict[str, Any]:
    at = pacing.visits.ready_at(origin.host)
    seconds = 0.0 if policy is None else pacing.delay_of(policy).seconds
    left_seconds = None if at == EVENT else round(max(0.0, at - time.monotonic()), 3)
    is_skipped = policy is not None and pacing.of(policy).is_skipped
    learned = pacing.backoff.paces.of(origin)
    return {
        "delay_seconds": seconds,
        "next_seconds": left_seconds,
        "is_skipped": is_skipped,
        "learned_per_second": None if learned is None else round(learned.per_second, 3),
    }


def _rest(pacing: Pacing, origin: Origin) -> dict[str, Any] | None:
    rest = pacing.backoff.rests.of(origin)
    if rest is None or not rest.seconds:
        return None
    until_at = rest.given_up_until or rest.until_at
    left_seconds = round(max(0.0, until_at - time.monotonic()), 3)
    return {"seconds": left_seconds, "is_given_up": rest.given_up_until > 0}


def _queued(crawler: Crawler, origin: Origin) -> dict[str, int] | None:
    queues = [queue for queue in queues_of(crawler) if isinstance(queue, RepPriorityQueue)]
    counts = Counter[str]()
    for queue in queues:
        for one, _, count, wait in queue.waiting():
            if one == origin:
                counts[wait.why.name] += count
    return dict(counts) if queues else None

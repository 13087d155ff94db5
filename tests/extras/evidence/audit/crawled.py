"""Crawls with a trail, and the records in it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from scrapy_rep.extras.evidence.trail_reading import Run, run_at
from tests.crawling import Crawl, Loop, crawl
from tests.crawls.settings import ADDON, URLS_SPIDER


def audited(
    urls: Sequence[str],
    root: Path,
    *,
    loop: Loop = "asyncio",
    spider: str = URLS_SPIDER,
    settings: dict[str, Any] | None = None,
    **arguments: Any,
) -> tuple[Crawl, Run]:
    """A crawl of some URLs, and its trail."""
    wanted = {**ADDON, "REP_AUDIT_DIR": str(root), "LOG_LEVEL": "INFO", **(settings or {})}
    result = crawl(spider, loop=loop, settings=wanted, urls=list(urls), **arguments)
    assert result.exit_code == 0, result.error
    return result, run_at(root / "latest")


def of_kind(run: Run, *kinds: str) -> list[dict[str, Any]]:
    return [record for _, record in run.records() if record["t"] in kinds]


def fetched(run: Run) -> Counter[str]:
    """The URIs that were requested for robots.txt files, by the trail."""
    told: Counter[str] = Counter()
    seen = set()
    for record in of_kind(run, "policy", "fetch"):
        if record.get("source", "network") != "network" or record.get("p") in seen:
            continue
        seen.add(record.get("p"))
        told.update(hop["uri"] for hop in record.get("hops", ()) if hop["source"] == "network")
    return told


def passed(run: Run) -> Counter[str]:
    """The URLs that were sent to the site, by the trail."""
    return Counter(
        record["url"]
        for record in of_kind(run, "decision", "exempt")
        if record.get("outcome", "passed") in ("passed", "would-drop")
    )
